//===- Evaluate.cpp - The terms of a module -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through the instructions in order and gives each value its terms. What
// an opcode means stands in visit(); anything that is not known there is an
// operation of its name, attributes and sizes.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"

#include "Axes.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Leaves.h"
#include "tessera/HLO/Literal.h"
#include "tessera/Layout/Bitcast.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

#include <deque>

using namespace tessera;
using namespace tessera::hlo;
using llvm::ArrayRef;
using llvm::StringRef;

using Terms = llvm::SmallVector<Term, 2>;

namespace {
struct LoopState;

/// Goes through one module.
class Evaluator {
public:
  Evaluator(unsigned side, TermTable &terms, ExactTable &exactNumbers)
      : side(side), terms(terms), exactNumbers(exactNumbers) {}

  TermFunction getFunction(const Computation &computation);
  bool isOverBudget() const { return budget < 0; }

private:
  /// A run of a computation; effects are those of the function that it is part
  /// of.
  struct Frame {
    explicit Frame(std::vector<Term> &effects) : effects(effects) {}

    std::vector<Term> &effects;
    llvm::DenseMap<const Instruction *, TermValue> values;
  };

  TermValue run(const Computation &computation, ArrayRef<TermValue> arguments,
                std::vector<Term> &effects);
  TermValue getParameter(const Computation &computation, size_t number);
  Terms visit(const Instruction &instruction, Frame &frame);
  std::optional<Terms> visitTuple(const Instruction &instruction, Frame &frame);
  std::optional<Terms> visitTransfer(const Instruction &instruction,
                                     Frame &frame);
  std::optional<TermValue> visitCall(const Instruction &instruction,
                                     Frame &frame);
  std::optional<Terms> visitWrapped(const Instruction &start, Frame &frame);
  Terms makeStart(const Instruction &start, ArrayRef<Term> operands,
                  ArrayRef<Term> result);
  unsigned getNumber(const llvm::Twine &text);
  /// The instruction of the module that `instruction` is, or is of.
  const Instruction *getWritten(const Instruction &instruction) {
    const Instruction *wrapper = wrappers.lookup(&instruction);
    return wrapper ? wrapper : &instruction;
  }
  TermValue getValue(const Instruction &instruction, Frame &frame);
  std::optional<Term> visitMove(const Instruction &instruction, Frame &frame);
  std::optional<Term> visitMoveAs(const Instruction &instruction, Frame &frame);
  Term visitBitcast(const Instruction &instruction, Frame &frame);
  Term visitElementwise(const Instruction &instruction, Frame &frame);
  Terms visitOperation(const Instruction &instruction, Frame &frame,
                       StringRef name, const Shape &shape);
  std::optional<Terms> visitAxes(const Instruction &instruction, Frame &frame,
                                 StringRef name, const Shape &shape);
  std::optional<Term> visitSplat(const Instruction &constant);
  std::optional<Term> visitJoin(const Instruction &instruction, Frame &frame);
  std::optional<TermValue> visitWhile(const Instruction &loop, Frame &frame);
  bool runLoop(const Instruction &loop, Frame &frame, LoopState &state);
  Terms getResults(unsigned node, const Shape &shape);
  Term getResult(unsigned node, size_t number, const Shape &leaf);
  Terms getPart(const Instruction &tuple, int64_t index, Frame &frame);
  Terms concatOperands(const Instruction &instruction, Frame &frame);
  std::vector<Term> getFunctions(const Instruction &instruction,
                                 bool &haveEffects);
  unsigned getExact(const Instruction &instruction, Frame &frame);
  bool mayBitcastElements(const Shape &from, const Shape &to);

  unsigned side;
  TermTable &terms;
  ExactTable &exactNumbers;
  /// Instructions that may still be gone through.
  int64_t budget = 4'000'000;
  /// Instructions that others are wrapped around, and these.
  std::deque<Instruction> unwrapped;
  llvm::DenseMap<const Instruction *, const Instruction *> wrappers;
  /// Loops that are being gone through, one in another.
  unsigned loopDepth = 0;
  /// Computations that are being gone through, one in another.
  unsigned depth = 0;
  llvm::DenseMap<const Computation *, TermFunction> functions;
  LeafCounter leaves;
  llvm::DenseMap<std::pair<const Shape *, const Shape *>, bool> bitcasts;
};
} // namespace

/// In front of the name of what fits nothing.
static constexpr StringRef kUnknown = "unknown ";

/// Calls within calls that are followed.
static constexpr unsigned kMaxDepth = 100;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Elements of an array; 1 for tokens and the like, and where sizes are
/// unknown.
static int64_t countElements(const Shape &shape) {
  return shape.isArray()
             ? tessera::countElements(shape.dimensions()).value_or(1)
             : 1;
}

static bool hasSizesOf(const Shape &lhs, const Shape &rhs) {
  return lhs.isStaticArray() && rhs.isStaticArray() &&
         lhs.dimensions() == rhs.dimensions();
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

/// Attributes that say where a value comes from, where it is to be and how it
/// is to be computed, but not what it is.
static bool isRemark(const Instruction &instruction,
                     const Attribute &attribute) {
  if (attribute.name == "backend_config")
    return instruction.opcode != Opcode::CustomCall;
  return llvm::StringSwitch<bool>(attribute.name)
      .Cases({"metadata", "sharding", "frontend_attributes", "statistics",
              "origin", "control-predecessors", "parameter_replication"},
             true)
      .Default(false);
}

/// Attributes in the order of their names, but those that are `said`; those
/// that name computations stand for themselves.
static std::string describeAttributes(const Instruction &instruction,
                                      ArrayRef<StringRef> said = {}) {
  std::vector<std::string> texts;
  for (const Attribute &attribute : instruction.attributes) {
    if (isRemark(instruction, attribute) ||
        llvm::is_contained(said, attribute.name))
      continue;
    bool isCall = !attribute.computations.empty();
    texts.push_back(
        (attribute.name + "=" + (isCall ? "" : attribute.text)).str());
  }
  llvm::sort(texts);
  return llvm::join(texts, ",");
}

/// Nobody but who made it knows what a custom call reads, so it has layouts.
static std::string describeShape(const Instruction &instruction,
                                 const Shape &shape) {
  if (instruction.opcode != Opcode::CustomCall)
    return shape.toString(/*printLayout=*/false);
  std::string text;
  for (const Shape *leaf : getLeaves(shape)) {
    Shape array = *leaf;
    if (array.isArray() && array.hasLayout())
      array.mutableLayout().memorySpace = 0;
    text += array.toString() + ";";
  }
  return text;
}

static std::string getElementwiseLabel(StringRef name, StringRef attributes,
                                       PrimitiveType type) {
  return (name + " " + attributes + " " + getName(type)).str();
}

static bool isElementwise(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Abs:
  case Opcode::Clamp:
  case Opcode::Complex:
  case Opcode::Imag:
  case Opcode::IsFinite:
  case Opcode::Real:
  case Opcode::ReducePrecision:
  case Opcode::StochasticConvert:
    return true;
  case Opcode::BitcastConvert:
    return hasSizesOf(*instruction.shape, *instruction.operands[0]->shape);
  default: {
    LayoutTrait trait = getLayoutTrait(instruction.opcode);
    return trait == LayoutTrait::Elementwise ||
           trait == LayoutTrait::KeepsButElementSize;
  }
  }
}

/// What moves data, so that it may change places with other moves.
static bool isMove(Opcode opcode) {
  switch (opcode) {
  case Opcode::Bitcast:
  case Opcode::Broadcast:
  case Opcode::Concatenate:
  case Opcode::DynamicReshape:
  case Opcode::DynamicSlice:
  case Opcode::DynamicUpdateSlice:
  case Opcode::Gather:
  case Opcode::Iota:
  case Opcode::Pad:
  case Opcode::Reshape:
  case Opcode::Reverse:
  case Opcode::SetDimensionSize:
  case Opcode::Slice:
  case Opcode::Transpose:
    return true;
  default:
    return false;
  }
}

/// What gives another value each time, or does more than give one.
static bool hasEffect(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Infeed:
  case Opcode::Outfeed:
  case Opcode::Recv:
  case Opcode::RecvDone:
  case Opcode::Rng:
  case Opcode::RngGetAndUpdateState:
  case Opcode::Send:
  case Opcode::SendDone:
    return true;
  default:
    return getBool(instruction.getAttribute("custom_call_has_side_effect"));
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Terms Evaluator::concatOperands(const Instruction &instruction, Frame &frame) {
  Terms all;
  for (const Instruction *operand : instruction.operands)
    llvm::append_range(all, frame.values[operand].leaves);
  return all;
}

/// The computations that attributes name, in the order of the attributes'
/// names.
std::vector<Term> Evaluator::getFunctions(const Instruction &instruction,
                                          bool &haveEffects) {
  std::vector<const Attribute *> named;
  for (const Attribute &attribute : instruction.attributes)
    if (!attribute.computations.empty())
      named.push_back(&attribute);
  llvm::sort(named, [](const Attribute *lhs, const Attribute *rhs) {
    return lhs->name < rhs->name;
  });
  std::vector<Term> result;
  for (const Attribute *attribute : named)
    for (const Computation *callee : attribute->computations) {
      TermFunction function = getFunction(*callee);
      result.push_back(terms.getWhole(function.node));
      haveEffects |= function.hasEffects;
    }
  return result;
}

/// One of several things that a node gives.
Term Evaluator::getResult(unsigned node, size_t number, const Shape &leaf) {
  std::string label = "result " + llvm::utostr(number) + " " +
                      leaf.toString(/*printLayout=*/false);
  return terms.getWhole(terms.getNode(TermNode::Kind::Operation, label,
                                      {Term{node, 0}}, countElements(leaf),
                                      nullptr, side));
}

/// The leaves of what a node gives.
Terms Evaluator::getResults(unsigned node, const Shape &shape) {
  if (!shape.isTuple())
    return {terms.getWhole(node)};
  Terms results;
  for (const Shape *leaf : getLeaves(shape))
    results.push_back(getResult(node, results.size(), *leaf));
  return results;
}

static std::string describeBits(ArrayRef<uint64_t> components) {
  std::string text = "bits";
  for (uint64_t bits : components)
    text += " " + llvm::utohexstr(bits);
  return text;
}

/// What stands in brackets in place of operands. Of constants it is the bits of
/// the elements, which may be written in several ways, if they are written.
static std::string describePayload(const Instruction &instruction) {
  if (instruction.opcode != Opcode::Constant || !instruction.shape->isArray())
    return instruction.payload.str();
  llvm::Expected<Literal> literal =
      readLiteral(instruction.payload, *instruction.shape);
  if (!literal) {
    llvm::consumeError(literal.takeError());
    return instruction.payload.str();
  }
  // Two of a module need not be equal, those of one name are taken to be.
  if (literal->elided)
    return kElided.str() + instruction.name.str();
  return describeBits(literal->components);
}

/// A constant whose elements are all alike: a scalar that was broadcast.
std::optional<Term> Evaluator::visitSplat(const Instruction &constant) {
  const Shape &shape = *constant.shape;
  if (constant.opcode != Opcode::Constant || !shape.isStaticArray() ||
      shape.rank() == 0 || countElements(shape) == 0)
    return std::nullopt;
  llvm::Expected<Literal> literal = readLiteral(constant.payload, shape);
  if (!literal) {
    llvm::consumeError(literal.takeError());
    return std::nullopt;
  }
  int64_t count = countElements(shape);
  ArrayRef<uint64_t> bits = literal->components;
  if (literal->elided || bits.size() % count != 0 || bits.empty())
    return std::nullopt;
  ArrayRef<uint64_t> first = bits.take_front(bits.size() / count);
  for (; !bits.empty(); bits = bits.drop_front(first.size()))
    if (bits.take_front(first.size()) != first)
      return std::nullopt;
  // As visitOperation has it.
  std::string label = "constant " + describeAttributes(constant) + " " +
                      describeBits(first) + " -> " +
                      Shape::array(shape.elementType(), {}).toString();
  unsigned node =
      terms.getNode(TermNode::Kind::Leaf, label, {}, 1, &constant, side);
  return Term{node, terms.getMap(IndexMap::get(MapDigit{count, 0}, 0))};
}

/// Of what moves elements: how many operands, in front, they come from.
static unsigned countMoved(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Concatenate:
  case Opcode::CustomCall:
    return instruction.operands.size();
  case Opcode::DynamicUpdateSlice:
  case Opcode::Pad:
    return 2;
  case Opcode::DynamicSlice:
  case Opcode::Gather:
    return 1;
  default:
    return 0;
  }
}

/// An operation that does the same however the dimensions of its operands are
/// ordered, split and merged.
std::optional<Terms> Evaluator::visitAxes(const Instruction &instruction,
                                          Frame &frame, StringRef name,
                                          const Shape &shape) {
  if (hasEffect(instruction) || name.starts_with(kUnknown))
    return std::nullopt;
  std::optional<AxisForm> form = getAxisForm(instruction, shape);
  if (!form)
    return std::nullopt;
  bool haveEffects = false;
  std::vector<Term> calls = getFunctions(instruction, haveEffects);
  Terms operands = concatOperands(instruction, frame);
  if (haveEffects || operands.size() != instruction.operands.size())
    return std::nullopt;
  unsigned numMoved = countMoved(instruction);
  std::string label = form->name.empty() ? name.str() : form->name;
  label += " " + describeAttributes(instruction, form->said);
  llvm::SmallVector<const Shape *, 4> results = getLeaves(shape);
  // Elements that are moved say their type themselves.
  if (numMoved == 0)
    for (const Shape *leaf : results)
      label += (" " + getName(leaf->elementType())).str();
  auto kind = isMove(instruction.opcode) || numMoved != 0
                  ? TermNode::Kind::Move
                  : TermNode::Kind::Operation;
  auto framed = terms.getFramed(kind, label, calls, operands, *form,
                                getWritten(instruction), side);
  if (!framed)
    return std::nullopt;
  terms.setMoved(framed->node, numMoved);
  if (!shape.isTuple())
    return Terms{*framed};
  Terms parts;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string part = "result " + llvm::utostr(i) + " " +
                       getName(results[i]->elementType()).str();
    unsigned node = terms.getNode(
        TermNode::Kind::Operation, part, terms.getWhole(framed->node),
        terms.node(framed->node).count, nullptr, side);
    parts.push_back({node, framed->map});
  }
  return parts;
}

/// An operation `name` that gives `shape`.
Terms Evaluator::visitOperation(const Instruction &instruction, Frame &frame,
                                StringRef name, const Shape &shape) {
  if (auto results = visitAxes(instruction, frame, name, shape))
    return *results;
  bool isEffect = hasEffect(instruction);
  std::vector<Term> operands = getFunctions(instruction, isEffect);
  llvm::append_range(operands, concatOperands(instruction, frame));
  std::string label = (name + " " + describeAttributes(instruction) + " " +
                       describePayload(instruction))
                          .str();
  for (const Instruction *operand : instruction.operands)
    label += " " + describeShape(instruction, *operand->shape);
  label += " -> " + describeShape(instruction, shape);
  // The second one of two is not the first.
  if (isEffect)
    label += " effect " + llvm::utostr(frame.effects.size());
  // What was moved at compile time is a constant of other elements.
  bool isOfMoves =
      isMove(instruction.opcode) || name.starts_with(kUnknown) ||
      (instruction.opcode == Opcode::Constant && countElements(shape) != 1);
  auto kind = isOfMoves          ? TermNode::Kind::Move
              : operands.empty() ? TermNode::Kind::Leaf
                                 : TermNode::Kind::Operation;
  int64_t count = shape.isTuple() ? 1 : countElements(shape);
  unsigned node = terms.getNode(kind, label, operands, count,
                                getWritten(instruction), side);
  if (isEffect)
    frame.effects.push_back(terms.getWhole(node));
  return getResults(node, shape);
}

Term Evaluator::visitElementwise(const Instruction &instruction, Frame &frame) {
  Terms operands;
  int64_t count = countElements(*instruction.shape);
  for (const Instruction *operand : instruction.operands) {
    Term term = frame.values[operand].leaves[0];
    // The bounds of clamp may be scalars.
    if (operand->shape->rank() == 0 && instruction.shape->rank() > 0)
      term.map = terms.getMap(
          IndexMap::get(MapDigit{count, 0}, terms.map(term.map).offset()));
    operands.push_back(term);
  }
  std::string label = getElementwiseLabel(instruction.opcodeName(),
                                          describeAttributes(instruction),
                                          instruction.shape->elementType());
  return terms.getElementwise(label, operands, count, getWritten(instruction),
                              side);
}

/// Whether operands are arrays that visitElementwise can take.
static bool isElementwiseOfArrays(const Instruction &instruction) {
  if (!isElementwise(instruction) || !instruction.shape->isStaticArray() ||
      instruction.operands.empty())
    return false;
  return llvm::all_of(instruction.operands, [&](const Instruction *operand) {
    bool isBound = instruction.opcode == Opcode::Clamp &&
                   operand->shape->isStaticArray() &&
                   operand->shape->rank() == 0;
    return isBound || hasSizesOf(*operand->shape, *instruction.shape);
  });
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Whether the elements of `from` say those of `to`.
bool Evaluator::mayBitcastElements(const Shape &from, const Shape &to) {
  auto [entry, isNew] = bitcasts.try_emplace({&from, &to}, false);
  if (isNew) {
    BitcastOptions options;
    options.ignoreMemorySpace = true;
    entry->second = static_cast<bool>(mayBitcast(from, to, options));
  }
  return entry->second;
}

Term Evaluator::visitBitcast(const Instruction &instruction, Frame &frame) {
  const Shape &from = *instruction.operands[0]->shape, &to = *instruction.shape;
  TermValue &value = frame.values[instruction.operands[0]];
  Term term = value.leaves[0];
  std::string label = "bitcast " + from.toString() + " -> " + to.toString();
  if (!from.isStaticArray() || !to.isStaticArray() ||
      !mayBitcastElements(from, to))
    // It reads padding too, or so it seems: equal if all of it is.
    label += " of value " + llvm::utostr(value.exact);
  else if (std::optional<IndexMap> permutation = getBitcastMap(from, to))
    if (auto map = terms.map(term.map).after(*permutation))
      return Term{term.node, terms.getMap(*map)};
  return terms.getWhole(terms.getNode(TermNode::Kind::Move, label, {term},
                                      countElements(to),
                                      getWritten(instruction), side));
}

/// What `slice` takes of each dimension; empty where it does not fit.
static Box getBox(const Instruction &slice) {
  Box box;
  ArrayRef<int64_t> sizes = slice.operands[0]->shape->dimensions();
  ArrayRef<int64_t> results = slice.shape->dimensions();
  auto ranges = getIntLists(slice.getAttribute("slice"));
  if (ranges.size() != sizes.size() || results.size() != sizes.size())
    return {};
  for (auto [range, size, result] : llvm::zip_equal(ranges, sizes, results)) {
    if (range.size() < 2 || range[0] < 0 || range[0] > range[1] ||
        range[1] > size)
      return {};
    int64_t step = range.size() > 2 ? range[2] : 1;
    if (step < 1 || result != (range[1] - range[0] + step - 1) / step)
      return {};
    box.push_back({range[0], result, step});
  }
  return box;
}

/// Whether `dims` are different dimensions below `rank`.
static bool areDimensions(ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallVector<int64_t, 6> sorted(dims);
  llvm::sort(sorted);
  return llvm::all_of(sorted,
                      [&](int64_t dim) { return dim >= 0 && dim < rank; }) &&
         llvm::adjacent_find(sorted) == sorted.end();
}

/// The map of the result's elements to the operand's, and on through `map`.
static std::optional<IndexMap> getMovedMap(const Instruction &instruction,
                                           const IndexMap &map) {
  ArrayRef<int64_t> from = instruction.operands[0]->shape->dimensions();
  ArrayRef<int64_t> to = instruction.shape->dimensions();
  auto rank = static_cast<int64_t>(from.size());
  auto dims = getInts(instruction.getAttribute("dimensions"));
  switch (instruction.opcode) {
  case Opcode::Copy:
  case Opcode::Reshape:
    return map;
  case Opcode::Transpose:
    if (dims.size() != from.size() || !areDimensions(dims, rank))
      return std::nullopt;
    return map.transpose(from, dims);
  case Opcode::Reverse:
    if (from != to || !areDimensions(dims, rank))
      return std::nullopt;
    return map.reverse(from, dims);
  case Opcode::Broadcast:
    if (dims.size() != from.size() ||
        !areDimensions(dims, static_cast<int64_t>(to.size())))
      return std::nullopt;
    for (auto [dim, size] : llvm::zip_equal(dims, from))
      if (to[dim] != size)
        return std::nullopt;
    return map.broadcast(from, to, dims);
  case Opcode::Slice: {
    Box box = getBox(instruction);
    // Without dimensions there is nothing to take.
    if (box.empty())
      return std::nullopt;
    return map.slice(from, box);
  }
  default:
    return std::nullopt;
  }
}

/// A move that a map stands for, without a conversion that is part of it.
std::optional<Term> Evaluator::visitMove(const Instruction &instruction,
                                         Frame &frame) {
  const Shape &from = *instruction.operands[0]->shape, &to = *instruction.shape;
  Term term = frame.values[instruction.operands[0]].leaves[0];
  if (instruction.opcode == Opcode::Bitcast)
    return visitBitcast(instruction, frame);
  // What is in a buffer whose sizes vary is copied as it is.
  if (instruction.opcode == Opcode::Copy &&
      from.elementType() == to.elementType())
    return term;
  if (!from.isStaticArray() || !to.isStaticArray())
    return std::nullopt;
  std::optional<IndexMap> map = getMovedMap(instruction, terms.map(term.map));
  if (!map || map->count() != countElements(to))
    return std::nullopt;
  return Term{term.node, terms.getMap(*map)};
}

/// Parts of one array that lie as they did before.
std::optional<Term> Evaluator::visitJoin(const Instruction &instruction,
                                         Frame &frame) {
  auto dim = getConcatenatedDimension(instruction, *instruction.shape);
  Terms parts = concatOperands(instruction, frame);
  if (!dim || parts.size() != instruction.operands.size())
    return std::nullopt;
  std::vector<IndexMap> maps;
  std::vector<ArrayRef<int64_t>> sizes;
  for (auto [part, operand] : llvm::zip_equal(parts, instruction.operands)) {
    if (part.node != parts.front().node)
      return std::nullopt;
    maps.push_back(terms.map(part.map));
    sizes.push_back(operand->shape->dimensions());
  }
  auto map = IndexMap::concatenate(maps, sizes, *dim);
  if (!map)
    return std::nullopt;
  return Term{parts.front().node, terms.getMap(*map)};
}

/// A move of one array, and the conversion of its elements.
std::optional<Term> Evaluator::visitMoveAs(const Instruction &instruction,
                                           Frame &frame) {
  if (instruction.operands.size() != 1 || !instruction.shape->isArray() ||
      !instruction.operands[0]->shape->isArray())
    return std::nullopt;
  std::optional<Term> moved = visitMove(instruction, frame);
  PrimitiveType type = instruction.shape->elementType();
  if (!moved || type == instruction.operands[0]->shape->elementType())
    return moved;
  bool isBitcast = instruction.opcode == Opcode::Bitcast;
  // A bitcast that no map stands for has its result's type already.
  if (isBitcast && terms.node(moved->node).kind == TermNode::Kind::Move)
    return moved;
  return terms.getElementwise(
      getElementwiseLabel(isBitcast ? "bitcast-convert" : "convert", "", type),
      {*moved}, countElements(*instruction.shape), getWritten(instruction),
      side);
}

//===----------------------------------------------------------------------===//
// Tuples, transfers, calls
//===----------------------------------------------------------------------===//

Terms Evaluator::getPart(const Instruction &tuple, int64_t index,
                         Frame &frame) {
  const Terms &all = frame.values[&tuple].leaves;
  auto range = leaves.getRange(*tuple.shape, {index});
  if (!range || all.size() != leaves.count(*tuple.shape))
    return {};
  return Terms(ArrayRef(all).slice(range->begin, range->count));
}

/// What puts values together and takes them apart.
std::optional<Terms> Evaluator::visitTuple(const Instruction &instruction,
                                           Frame &frame) {
  switch (instruction.opcode) {
  case Opcode::Tuple:
    return concatOperands(instruction, frame);
  case Opcode::GetTupleElement:
    return getPart(*instruction.operands[0],
                   getInt(instruction.getAttribute("index")).value_or(-1),
                   frame);
  case Opcode::OptimizationBarrier:
  case Opcode::Domain:
  case Opcode::AddDependency:
  case Opcode::AsyncUpdate:
  case Opcode::AllReduceDone:
    return frame.values[instruction.operands[0]].leaves;
  case Opcode::CopyDone:
    return getPart(*instruction.operands[0], 0, frame);
  case Opcode::AsyncDone:
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return getPart(*instruction.operands[0], 1, frame);
  default:
    return std::nullopt;
  }
}

/// The starts of transfers: tuples with the operands, the result, and more.
std::optional<Terms> Evaluator::visitTransfer(const Instruction &instruction,
                                              Frame &frame) {
  const Shape &shape = *instruction.shape;
  Terms operands = concatOperands(instruction, frame);
  switch (instruction.opcode) {
  case Opcode::CopyStart:
    return makeStart(instruction, operands, operands);
  case Opcode::AllReduceStart:
    return visitOperation(instruction, frame, "all-reduce", shape);
  case Opcode::AllGatherStart:
  case Opcode::CollectivePermuteStart: {
    if (!shape.isTuple() || shape.elements().size() < 2)
      return std::nullopt;
    StringRef name = getName(instruction.opcode);
    return makeStart(instruction, operands,
                     visitOperation(instruction, frame,
                                    name.drop_back(strlen("-start")),
                                    shape.elements()[1]));
  }
  default:
    return visitWrapped(instruction, frame);
  }
}

/// The leaves of the start of a transfer that takes `operands` and gives
/// `result`.
Terms Evaluator::makeStart(const Instruction &start, ArrayRef<Term> operands,
                           ArrayRef<Term> result) {
  Terms parts(operands);
  llvm::append_range(parts, result);
  // What comes behind is of no use but to the transfer.
  unsigned context =
      terms.getNode(TermNode::Kind::Leaf, "context", {}, 1, &start, side);
  while (parts.size() < leaves.count(*start.shape))
    parts.push_back(terms.getWhole(context));
  return parts;
}

/// A call or fusion that is followed; nothing where there is none to follow.
std::optional<TermValue> Evaluator::visitCall(const Instruction &instruction,
                                              Frame &frame) {
  StringRef name = instruction.opcode == Opcode::Call ? "to_apply" : "calls";
  const Computation *callee = instruction.getComputation(name);
  std::vector<TermValue> arguments;
  for (const Instruction *operand : instruction.operands)
    arguments.push_back(frame.values[operand]);
  if (!callee || callee->parameters().size() != arguments.size())
    return std::nullopt;
  TermValue value = run(*callee, arguments, frame.effects);
  if (instruction.opcode == Opcode::AsyncStart)
    value.leaves = makeStart(instruction, concatOperands(instruction, frame),
                             value.leaves);
  return value;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// The state of a loop: what it begins with, what stands for it in body and
/// condition, and what these give. Leaves that the body hands on as they are
/// are what they were before the loop.
struct LoopState {
  TermValue begin, inside, next, condition;
  std::vector<bool> isKept;
  bool hasEffects = false;
};
} // namespace

/// Goes through the body and the condition; leaves that are not kept are
/// named by how many loops they are in and their number among these.
bool Evaluator::runLoop(const Instruction &loop, Frame &frame,
                        LoopState &state) {
  const Computation *body = loop.getComputation("body");
  const Computation *condition = loop.getComputation("condition");
  std::vector<Term> effects;
  llvm::SaveAndRestore deeper(loopDepth, loopDepth + 1);
  state.inside = state.begin;
  size_t number = 0;
  for (auto [i, leaf] : llvm::enumerate(getLeaves(*loop.shape))) {
    if (state.isKept[i])
      continue;
    std::string label = "state " + llvm::utostr(loopDepth) + " " +
                        llvm::utostr(number++) + " " +
                        leaf->toString(/*printLayout=*/false);
    unsigned node = terms.getNode(TermNode::Kind::Leaf, label, {},
                                  countElements(*leaf), &loop, side);
    state.inside.leaves[i] = terms.getWhole(node);
  }
  state.inside.exact = getNumber("state " + llvm::Twine(loopDepth) + " from " +
                                 llvm::Twine(state.begin.exact));
  state.next = run(*body, state.inside, effects);
  state.condition = run(*condition, state.inside, effects);
  state.hasEffects = !effects.empty();
  return !isOverBudget() && !state.hasEffects &&
         state.next.leaves.size() == state.begin.leaves.size() &&
         state.condition.leaves.size() == 1;
}

/// A loop as the function of its state; nothing where it does more.
std::optional<TermValue> Evaluator::visitWhile(const Instruction &loop,
                                               Frame &frame) {
  const Computation *body = loop.getComputation("body");
  const Computation *condition = loop.getComputation("condition");
  if (!body || !condition || loop.operands.size() != 1 ||
      body->parameters().size() != 1 || condition->parameters().size() != 1)
    return std::nullopt;
  LoopState state;
  state.begin = frame.values[loop.operands[0]];
  size_t numLeaves = leaves.count(*loop.shape);
  state.isKept.assign(numLeaves, false);
  if (state.begin.leaves.size() != numLeaves || !runLoop(loop, frame, state))
    return std::nullopt;
  for (size_t i = 0; i < numLeaves; ++i)
    state.isKept[i] = state.next.leaves[i] == state.inside.leaves[i];
  // What is kept is now known in the loop, and the others count without it.
  if (!runLoop(loop, frame, state))
    return std::nullopt;

  std::vector<Term> next, operands;
  std::string label = "while";
  llvm::SmallVector<const Shape *, 4> shapes = getLeaves(*loop.shape);
  for (size_t i = 0; i < numLeaves; ++i) {
    if (state.isKept[i])
      continue;
    next.push_back(state.next.leaves[i]);
    operands.push_back(state.begin.leaves[i]);
    label += " " + shapes[i]->toString(/*printLayout=*/false);
  }
  auto getBody = [&](StringRef name, ArrayRef<Term> results,
                     const Computation &callee) {
    return terms.getWhole(terms.getNode(TermNode::Kind::Function, name, results,
                                        1, callee.root(), side));
  };
  operands.insert(
      operands.begin(),
      {getBody("body of a loop", next, *body),
       getBody("condition of a loop", state.condition.leaves, *condition)});
  unsigned node =
      terms.getNode(TermNode::Kind::Operation, label, operands, 1, &loop, side);
  TermValue value;
  value.leaves = state.begin.leaves;
  size_t number = 0;
  for (size_t i = 0; i < numLeaves; ++i)
    if (!state.isKept[i])
      value.leaves[i] = getResult(node, number++, *shapes[i]);
  value.exact = getNumber("loop " + llvm::Twine(getExact(loop, frame)) + " " +
                          llvm::Twine(state.next.exact) + " " +
                          llvm::Twine(state.condition.exact));
  return value;
}

/// `slice-start`: an instruction that runs on its own.
std::optional<Terms> Evaluator::visitWrapped(const Instruction &start,
                                             Frame &frame) {
  if (start.opcode != Opcode::AsyncStart || !start.asyncWrapped ||
      !start.shape->isTuple() || start.shape->elements().size() < 2)
    return std::nullopt;
  Instruction &wrapped = unwrapped.emplace_back(start);
  wrappers[&wrapped] = &start;
  wrapped.opcode = *start.asyncWrapped;
  wrapped.asyncWrapped = std::nullopt;
  wrapped.shape = &start.shape->elements()[1];
  return makeStart(start, concatOperands(start, frame), visit(wrapped, frame));
}

//===----------------------------------------------------------------------===//
// Instructions and computations
//===----------------------------------------------------------------------===//

Terms Evaluator::visit(const Instruction &instruction, Frame &frame) {
  if (std::optional<Terms> parts = visitTuple(instruction, frame))
    return *parts;
  if (std::optional<Terms> started = visitTransfer(instruction, frame))
    return *started;
  if (std::optional<Term> moved = visitMoveAs(instruction, frame))
    return {*moved};
  if (isElementwiseOfArrays(instruction))
    return {visitElementwise(instruction, frame)};
  if (instruction.opcode == Opcode::Copy)
    return concatOperands(instruction, frame);
  if (std::optional<Term> scalar = visitSplat(instruction))
    return {*scalar};
  if (std::optional<Term> whole = visitJoin(instruction, frame))
    return {*whole};
  return visitOperation(instruction, frame, instruction.opcodeName(),
                        *instruction.shape);
}

unsigned Evaluator::getNumber(const llvm::Twine &text) {
  auto number = static_cast<unsigned>(exactNumbers.size() + 1);
  return exactNumbers.try_emplace(text.str(), number).first->second;
}

/// A number of the instruction as it is written, and of what its operands are.
unsigned Evaluator::getExact(const Instruction &instruction, Frame &frame) {
  std::string text =
      instruction.opcodeName() + " " + describeAttributes(instruction) + " " +
      describePayload(instruction) + " " + instruction.shape->toString();
  for (const Instruction *operand : instruction.operands)
    text += " " + llvm::utostr(frame.values[operand].exact);
  for (const Attribute &attribute : instruction.attributes)
    for (const Computation *callee : attribute.computations)
      text += " function " + llvm::utostr(functions.lookup(callee).exact);
  return getNumber(text);
}

/// The value of anything but a parameter.
TermValue Evaluator::getValue(const Instruction &instruction, Frame &frame) {
  switch (instruction.opcode) {
  case Opcode::Call:
  case Opcode::Fusion:
  case Opcode::AsyncStart:
    if (std::optional<TermValue> value = visitCall(instruction, frame)) {
      // The call's own text, and what is computed in it.
      value->exact =
          getNumber("call " + llvm::Twine(getExact(instruction, frame)) + " " +
                    llvm::Twine(value->exact));
      return std::move(*value);
    }
    break;
  case Opcode::While:
    if (std::optional<TermValue> value = visitWhile(instruction, frame))
      return std::move(*value);
    break;
  default:
    break;
  }
  TermValue value;
  value.leaves = visit(instruction, frame);
  value.exact = getExact(instruction, frame);
  return value;
}

TermValue Evaluator::run(const Computation &computation,
                         ArrayRef<TermValue> arguments,
                         std::vector<Term> &effects) {
  Frame frame(effects);
  llvm::SaveAndRestore deeper(depth, depth + 1);
  for (const Instruction *instruction : computation.instructions()) {
    if (--budget < 0 || depth > kMaxDepth) {
      budget = -1;
      return {};
    }
    TermValue value = instruction->opcode == Opcode::Parameter
                          ? arguments[instruction->parameterNumber()]
                          : getValue(*instruction, frame);
    // Where parts do not fit together, the result is the instruction's own.
    if (value.leaves.size() != leaves.count(*instruction->shape))
      value.leaves = visitOperation(
          *instruction, frame,
          (kUnknown + instruction->name + " " + llvm::Twine(side)).str(),
          *instruction->shape);
    frame.values[instruction] = std::move(value);
  }
  return frame.values[computation.root()];
}

TermValue Evaluator::getParameter(const Computation &computation,
                                  size_t number) {
  const Instruction *parameter = computation.parameters()[number];
  TermValue value;
  for (const Shape *leaf : getLeaves(*parameter->shape)) {
    std::string label = "parameter " + llvm::utostr(number) + " " +
                        llvm::utostr(value.leaves.size()) + " " +
                        leaf->toString(/*printLayout=*/false);
    value.leaves.push_back(
        terms.getWhole(terms.getNode(TermNode::Kind::Leaf, label, {},
                                     countElements(*leaf), parameter, side)));
  }
  std::string text =
      "parameter " + llvm::utostr(number) + " " + parameter->shape->toString();
  value.exact = getNumber(text);
  return value;
}

TermFunction Evaluator::getFunction(const Computation &computation) {
  auto known = functions.find(&computation);
  if (known != functions.end())
    return known->second;
  std::vector<TermValue> arguments;
  for (size_t i = 0; i < computation.parameters().size(); ++i)
    arguments.push_back(getParameter(computation, i));
  std::vector<Term> effects;
  // Nothing of the loops around it is in a function.
  llvm::SaveAndRestore outside(loopDepth, 0u);
  TermValue result = run(computation, arguments, effects);
  TermFunction function;
  function.exact = result.exact;
  function.hasEffects = !effects.empty();
  std::string label = "function of " + llvm::utostr(result.leaves.size()) +
                      " results and " + llvm::utostr(effects.size()) +
                      " effects";
  std::vector<Term> operands(result.leaves.begin(), result.leaves.end());
  llvm::append_range(operands, effects);
  function.node = terms.getNode(TermNode::Kind::Function, label, operands, 1,
                                computation.root(), side);
  return functions[&computation] = function;
}

std::optional<TermFunction> tessera::evaluateModule(const Module &module,
                                                    unsigned side,
                                                    TermTable &terms,
                                                    ExactTable &exact) {
  Evaluator evaluator(side, terms, exact);
  TermFunction function = evaluator.getFunction(*module.entry());
  if (evaluator.isOverBudget())
    return std::nullopt;
  return function;
}
