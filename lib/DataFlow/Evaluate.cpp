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
  Terms getResults(unsigned node, const Shape &shape);
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

/// Attributes in the order of their names; those that name computations stand
/// for themselves.
static std::string describeAttributes(const Instruction &instruction) {
  std::vector<std::string> texts;
  for (const Attribute &attribute : instruction.attributes) {
    if (isRemark(instruction, attribute))
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

/// The leaves of what a node gives.
Terms Evaluator::getResults(unsigned node, const Shape &shape) {
  if (!shape.isTuple())
    return {terms.getWhole(node)};
  Terms results;
  for (const Shape *leaf : getLeaves(shape)) {
    std::string label = "result " + llvm::utostr(results.size()) + " " +
                        leaf->toString(/*printLayout=*/false);
    results.push_back(terms.getWhole(
        terms.getNode(TermNode::Kind::Operation, label, {Term{node, 0}},
                      countElements(*leaf), nullptr, side)));
  }
  return results;
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
  std::string text = "bits";
  for (uint64_t bits : literal->components)
    text += " " + llvm::utohexstr(bits);
  return text;
}

/// An operation `name` that gives `shape`.
Terms Evaluator::visitOperation(const Instruction &instruction, Frame &frame,
                                StringRef name, const Shape &shape) {
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
