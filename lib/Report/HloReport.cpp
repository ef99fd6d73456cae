//===- HloReport.cpp - The report over HLO modules ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value has a buffer for each leaf of its shape, numbered in order. A
// view has the numbers of other values' buffers. A buffer lives from the first
// definition to the last use of any value that has its number. Once all uses
// are known, results that are written over operands take their buffers.
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/HloReport.h"

#include "InPlace.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"
#include "tessera/Report/BufferAssignment.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::ArrayRef;

namespace {
/// Gives shapes of a module to a report that outlives it.
class SharedShapes {
public:
  const ShapePtr &get(const Shape *shape) {
    ShapePtr &shared = known[shape];
    if (!shared)
      shared = std::make_shared<Shape>(*shape);
    return shared;
  }

private:
  llvm::DenseMap<const Shape *, ShapePtr> known;
};

/// Buffers of one value, one for each leaf.
using Storage = llvm::SmallVector<unsigned, 2>;

/// What is known of a module, of use to all of its computations.
struct ModuleFacts {
  ModuleFacts(const Module &module, const BufferAssignment *assignment)
      : module(module), assignment(assignment), writes(leaves) {}

  const Module &module;
  /// May be null.
  const BufferAssignment *assignment;
  SharedShapes shapes;
  LeafCounter leaves;
  InPlaceWrites writes;
  /// The timelines that are done.
  llvm::DenseMap<const Computation *, size_t> timelines;
  /// The buffers of the leaves of their results.
  llvm::DenseMap<const Computation *, std::vector<ReportBuffer>> results;
  /// How many instructions run a computation.
  llvm::DenseMap<const Computation *, unsigned> numCallers;
};

/// Builds the timeline of one computation.
class TimelineBuilder {
public:
  TimelineBuilder(const Computation &computation, ReportInput &input,
                  ModuleFacts &facts)
      : computation(computation), input(input), facts(facts) {}

  ReportTimeline build();

private:
  Storage allocate(const Instruction &instruction, int64_t step);
  void assign(const Instruction &instruction, const Storage &storage);
  Storage getStorage(const Instruction &instruction, int64_t step);
  std::optional<Storage> getViewed(const Instruction &instruction);
  Storage getPart(const Instruction &tuple, ArrayRef<int64_t> index);
  Storage concatOperands(const Instruction &instruction) const;
  void shareOperands(const Instruction &instruction, const Storage &storage);
  void addInPlace(const Instruction &instruction, const Storage &storage,
                  int64_t step);
  void addJoin(const Instruction &instruction, const Storage &storage);
  void addUses(const Instruction &instruction, const Storage &storage,
               int64_t step);
  std::string getPin(const Instruction &instruction) const;
  void addChildren(const Instruction &instruction, int64_t step);
  void addEstimate(const Instruction &instruction, ReportValue &value);
  void addValue(const Instruction &instruction);
  void addNeighbours(size_t firstValue);
  ReportRole getRole(const Instruction &instruction, size_t value);
  void unite(unsigned to, unsigned from);
  void uniteAll(const Storage &to, const Storage &from);
  void extend(unsigned buffer, int64_t step);
  void findPins();
  void finishEntry();
  void finishJoins();
  bool arePlacedApart(unsigned lhs, unsigned rhs) const;
  void writeInPlace();
  void setOffsets();
  void markBoundary();
  void takeBoundary();
  void handOver(const Instruction &instruction);

  /// The buffer that stands for all that are the same as this one.
  unsigned find(unsigned buffer) {
    return united.getOrInsertLeaderValue(buffer);
  }

  /// The result's buffer may be the operand's, if that ends at `step`.
  struct InPlaceWrite {
    unsigned operand, result;
    int64_t step;
  };
  /// Buffers that lie side by side, and the one that they are together.
  struct Join {
    unsigned whole;
    Storage pieces;
  };

  const Computation &computation;
  ReportInput &input;
  ModuleFacts &facts;
  llvm::DenseMap<const Instruction *, Storage> storages;
  /// Instructions whose layout another one fixes.
  llvm::DenseMap<const Instruction *, const Instruction *> pins;
  std::vector<ReportBuffer> buffers;
  /// Where the compiler put a buffer, where that is known.
  llvm::DenseMap<unsigned, const BufferAssignment::Place *> assigned;
  /// Buffers that are the same.
  llvm::EquivalenceClasses<unsigned> united;
  /// Arguments and constants, and what is joined of others: never written over.
  llvm::DenseSet<unsigned> readOnly;
  std::vector<InPlaceWrite> inPlaceWrites;
  std::vector<Join> joins;
  /// The caller's buffers.
  llvm::DenseSet<unsigned> ofCaller;
  ReportTimeline timeline;
};
} // namespace

//===----------------------------------------------------------------------===//
// Which buffers a value has
//===----------------------------------------------------------------------===//

Storage TimelineBuilder::allocate(const Instruction &instruction,
                                  int64_t step) {
  Storage storage;
  const ShapePtr &whole = facts.shapes.get(instruction.shape);
  for (const Shape *leaf : getLeaves(*whole)) {
    storage.push_back(buffers.size());
    buffers.push_back({ShapePtr(whole, leaf), step, step, input.values.size()});
  }
  assign(instruction, storage);
  return storage;
}

/// Notes where the compiler put these buffers. Tables of tuples are no leaves.
void TimelineBuilder::assign(const Instruction &instruction,
                             const Storage &storage) {
  if (!facts.assignment)
    return;
  for (const auto &place : facts.assignment->getPlaces(instruction.name)) {
    const Shape *part = getSubshape(*instruction.shape, place.index);
    if (part && part->isArray())
      assigned[storage[facts.leaves.getRange(*instruction.shape, place.index)
                           ->begin]] = &place;
  }
}

/// Empty where there is no such part.
Storage TimelineBuilder::getPart(const Instruction &tuple,
                                 ArrayRef<int64_t> index) {
  const Storage &whole = storages.find(&tuple)->second;
  std::optional<LeafRange> range = facts.leaves.getRange(*tuple.shape, index);
  if (!range)
    return {};
  return Storage(ArrayRef(whole).slice(range->begin, range->count));
}

Storage TimelineBuilder::concatOperands(const Instruction &instruction) const {
  Storage storage;
  for (const Instruction *operand : instruction.operands)
    llvm::append_range(storage, storages.find(operand)->second);
  return storage;
}

/// The buffers that a view is of; nothing where the instruction is none.
std::optional<Storage>
TimelineBuilder::getViewed(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Bitcast:
  case Opcode::OptimizationBarrier:
  case Opcode::While:
  case Opcode::Domain:
  case Opcode::AllReduceDone:
  case Opcode::AsyncUpdate:
  case Opcode::AddDependency:
    return storages.find(instruction.operands[0])->second;
  case Opcode::Tuple:
    return concatOperands(instruction);
  case Opcode::GetTupleElement:
    return getPart(*instruction.operands[0],
                   {*getInt(instruction.getAttribute("index"))});
  case Opcode::CopyDone:
    return getPart(*instruction.operands[0], {0});
  case Opcode::AsyncDone:
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return getPart(*instruction.operands[0], {1});
  default:
    return std::nullopt;
  }
}

/// Unites parts of the result with what they are said to be: the start of a
/// transfer gives a tuple that has its operands in it (behind the destination
/// for copies, in front of the result otherwise), and its end what arrived.
void TimelineBuilder::shareOperands(const Instruction &instruction,
                                    const Storage &storage) {
  auto getResult = [&](ArrayRef<int64_t> index) -> Storage {
    auto range = facts.leaves.getRange(*instruction.shape, index);
    return range ? Storage(ArrayRef(storage).slice(range->begin, range->count))
                 : Storage();
  };
  switch (instruction.opcode) {
  case Opcode::CopyStart:
    uniteAll(concatOperands(instruction), getResult({1}));
    break;
  case Opcode::AsyncStart:
  case Opcode::AllGatherStart:
  case Opcode::CollectivePermuteStart:
    uniteAll(concatOperands(instruction), getResult({0}));
    break;
  case Opcode::Send:
  case Opcode::RecvDone:
    uniteAll(getPart(*instruction.operands[0],
                     instruction.opcode == Opcode::Send ? ArrayRef<int64_t>()
                                                        : ArrayRef<int64_t>(0)),
             getResult({0}));
    break;
  default:
    break;
  }
  bool isStart = instruction.opcode == Opcode::AsyncStart;
  for (Alias &alias :
       getAliases(instruction.getAttribute("output_to_operand_aliasing"))) {
    // Those of a start are about its result.
    if (isStart)
      alias.outputIndex.insert(alias.outputIndex.begin(), 1);
    uniteAll(getPart(*instruction.operands[alias.number], alias.inputIndex),
             getResult(alias.outputIndex));
  }
}

void TimelineBuilder::addInPlace(const Instruction &instruction,
                                 const Storage &storage, int64_t step) {
  Storage operands = concatOperands(instruction);
  for (InPlacePair pair : facts.writes.get(instruction))
    if (pair.operand < operands.size() && pair.result < storage.size())
      inPlaceWrites.push_back(
          {operands[pair.operand], storage[pair.result], step});
  // The compiler may write over any operand.
  std::map<std::pair<size_t, int64_t>, unsigned> byPlace;
  for (unsigned operand : operands)
    if (const auto *place = assigned.lookup(operand))
      byPlace[{place->allocation, place->offset}] = operand;
  for (unsigned result : storage)
    if (const auto *place = assigned.lookup(result))
      if (auto operand = byPlace.find({place->allocation, place->offset});
          operand != byPlace.end())
        inPlaceWrites.push_back({operand->second, result, step});
}

/// The TPU compiler lets pieces of an array arrive side by side, and then takes
/// them as a whole.
void TimelineBuilder::addJoin(const Instruction &instruction,
                              const Storage &storage) {
  const Attribute *target = instruction.getAttribute("custom_call_target");
  if (!target || target->text != "\"ConcatBitcast\"" || storage.size() != 1)
    return;
  joins.push_back({storage[0], concatOperands(instruction)});
  readOnly.insert(storage[0]);
}

/// A view must have the leaves of its result, else the text is not to be
/// trusted, and the value has buffers of its own.
Storage TimelineBuilder::getStorage(const Instruction &instruction,
                                    int64_t step) {
  std::optional<Storage> viewed = getViewed(instruction);
  if (viewed && viewed->size() == facts.leaves.count(*instruction.shape))
    return *viewed;
  Storage storage = allocate(instruction, step);
  bool isArgument =
      instruction.opcode == Opcode::Parameter && computation.isEntry();
  if (isArgument || instruction.opcode == Opcode::Constant)
    readOnly.insert(storage.begin(), storage.end());
  shareOperands(instruction, storage);
  addInPlace(instruction, storage, step);
  addJoin(instruction, storage);
  return storage;
}

void TimelineBuilder::extend(unsigned buffer, int64_t step) {
  int64_t &end = buffers[find(buffer)].end;
  end = std::max(end, step);
}

/// An element of a tuple that is taken out is no use of the others.
void TimelineBuilder::addUses(const Instruction &instruction,
                              const Storage &storage, int64_t step) {
  if (instruction.opcode == Opcode::GetTupleElement) {
    for (unsigned buffer : storage)
      extend(buffer, step);
    return;
  }
  for (const Instruction *operand : instruction.operands)
    for (unsigned buffer : storages.find(operand)->second)
      extend(buffer, step);
}

void TimelineBuilder::unite(unsigned to, unsigned from) {
  to = find(to);
  from = find(from);
  if (to == from)
    return;
  united.unionSets(to, from);
  if (!assigned.contains(to))
    if (const auto *place = assigned.lookup(from))
      assigned[to] = place;
  buffers[to].begin = std::min(buffers[to].begin, buffers[from].begin);
  buffers[to].end = std::max(buffers[to].end, buffers[from].end);
}

void TimelineBuilder::uniteAll(const Storage &to, const Storage &from) {
  if (to.size() == from.size())
    for (auto [source, result] : llvm::zip_equal(to, from))
      unite(source, result);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether `instruction` moves bytes to bring its operand into another layout.
static bool isRelayout(const Instruction &instruction) {
  const Shape &to = *instruction.shape;
  if (!to.isArray() || instruction.operands.size() != 1 ||
      !instruction.operands[0]->shape->isArray())
    return false;
  const Shape &from = *instruction.operands[0]->shape;
  switch (instruction.opcode) {
  case Opcode::Copy:
    return from.elementType() != to.elementType() ||
           !isRelayoutBitcast(from, to);
  case Opcode::Reshape:
    return !isReshapeBitcast(from, to);
  case Opcode::Transpose:
    return !isTransposeBitcast(from, to,
                               getInts(instruction.getAttribute("dimensions")));
  default:
    return false;
  }
}

static std::optional<ReportMove> getMove(const Instruction &instruction,
                                         SharedShapes &shapes) {
  ReportMove move;
  const Instruction *source = nullptr;
  if (instruction.opcode == Opcode::CopyDone) {
    const Instruction &start = *instruction.operands[0];
    source = start.operands[0];
    move.kind = ReportMove::Kind::Async;
    move.overlap = instruction.index - start.index - 1;
  } else if (isRelayout(instruction)) {
    source = instruction.operands[0];
  } else {
    return std::nullopt;
  }
  move.from = shapes.get(source->shape);
  move.to = shapes.get(instruction.shape);
  move.source = source->name.str();
  move.sourceIsArgument =
      source->opcode == Opcode::Parameter && source->parent->isEntry();
  move.isAvoidable = instruction.opcode == Opcode::Copy &&
                     move.from->elementType() == move.to->elementType() &&
                     move.from->layoutOrDefault().memorySpace ==
                         move.to->layoutOrDefault().memorySpace;
  return move;
}

/// Custom calls fix the layouts of what they give, and, where they say so, of
/// what they take.
std::string TimelineBuilder::getPin(const Instruction &instruction) const {
  const Instruction *pin = pins.lookup(&instruction);
  if (instruction.opcode == Opcode::CustomCall)
    pin = &instruction;
  return pin ? "custom-call %" + pin->name.str() : "";
}

void TimelineBuilder::addEstimate(const Instruction &instruction,
                                  ReportValue &value) {
  CompilerEstimate estimate = getCompilerEstimate(instruction);
  value.cycles = std::max<int64_t>(estimate.cycles.value_or(0), 0);
  value.scopedMemory = std::move(estimate.scopedMemory);
  if (value.cycles > 0)
    for (const Instruction *operand : instruction.operands)
      value.operands.push_back(facts.shapes.get(operand->shape));
}

void TimelineBuilder::addValue(const Instruction &instruction) {
  ReportValue &value = input.values.emplace_back();
  value.name = instruction.name.str();
  value.operation = instruction.opcodeName();
  value.scope = computation.name().str();
  const Attribute *metadata = instruction.getAttribute("metadata");
  value.origin = getMetadata(metadata, "op_name").value_or("");
  value.source = getSourceLine(facts.module, instruction);
  addEstimate(instruction, value);
  SourceLocation location = facts.module.getLocation(instruction.name);
  value.line = location.line;
  value.column = location.column;
  value.shape = facts.shapes.get(instruction.shape);
  value.move = getMove(instruction, facts.shapes);
  value.pinnedBy = getPin(instruction);
}

/// Whether two arrays have the same dimensions in different orders.
static bool differInOrder(const Shape &lhs, const Shape &rhs) {
  return lhs.isArray() && rhs.isArray() &&
         lhs.dimensions() == rhs.dimensions() &&
         lhs.layoutOrDefault().minorToMajor !=
             rhs.layoutOrDefault().minorToMajor;
}

/// A few are enough: they are there to choose between orders.
void TimelineBuilder::addNeighbours(size_t firstValue) {
  constexpr size_t kMost = 4;
  auto add = [&](ReportValue &value, const ReportValue &neighbour) {
    if (value.neighbours.size() < kMost)
      value.neighbours.push_back({neighbour.name, neighbour.shape});
  };
  for (const Instruction *user : computation.instructions())
    for (const Instruction *operand : user->operands)
      if (differInOrder(*user->shape, *operand->shape)) {
        ReportValue &result = input.values[firstValue + user->index];
        ReportValue &source = input.values[firstValue + operand->index];
        add(result, source);
        add(source, result);
      }
}

/// One that has a buffer of its own is no view.
ReportRole TimelineBuilder::getRole(const Instruction &instruction,
                                    size_t value) {
  const Storage &storage = storages[&instruction];
  bool allocates = llvm::any_of(storage, [&](unsigned buffer) {
    return find(buffer) == buffer && buffers[buffer].value == value;
  });
  if (!allocates && !storage.empty())
    return ReportRole::View;
  if (instruction.opcode == Opcode::Parameter)
    return computation.isEntry() ? ReportRole::Argument : ReportRole::View;
  if (instruction.opcode == Opcode::Constant)
    return ReportRole::Constant;
  return ReportRole::Value;
}

//===----------------------------------------------------------------------===//
// Timelines
//===----------------------------------------------------------------------===//

/// Computations that run as steps of their own within `instruction`.
static llvm::SmallVector<Computation *, 4>
getCallees(const Instruction &instruction) {
  llvm::SmallVector<Computation *, 4> callees;
  bool isControlFlow = instruction.opcode == Opcode::While ||
                       instruction.opcode == Opcode::Conditional ||
                       instruction.opcode == Opcode::Call ||
                       instruction.opcode == Opcode::AsyncStart;
  if (isControlFlow)
    for (const Attribute &attribute : instruction.attributes)
      llvm::append_range(callees, attribute.computations);
  return callees;
}

void TimelineBuilder::addChildren(const Instruction &instruction,
                                  int64_t step) {
  for (const Computation *callee : getCallees(instruction)) {
    auto found = facts.timelines.find(callee);
    if (found != facts.timelines.end())
      timeline.children.emplace_back(step, found->second);
  }
}

void TimelineBuilder::findPins() {
  for (const Instruction *instruction : computation.instructions())
    if (instruction->getAttribute("operand_layout_constraints"))
      for (const Instruction *operand : instruction->operands)
        pins[operand] = instruction;
}

/// Arguments live throughout, results to the end; donated arguments are
/// results.
void TimelineBuilder::finishEntry() {
  const Instruction &root = *computation.root();
  auto last = static_cast<int64_t>(computation.instructions().size()) - 1;
  for (const Alias &alias :
       getAliases(facts.module.getAttribute("input_output_alias")))
    uniteAll(getPart(*computation.parameters()[alias.number], alias.inputIndex),
             getPart(root, alias.outputIndex));
  for (const Instruction *parameter : computation.parameters())
    for (unsigned buffer : storages[parameter]) {
      buffers[find(buffer)].begin = 0;
      extend(buffer, last);
    }
  for (unsigned buffer : storages[&root])
    extend(buffer, last);
}

/// What is joined lives as long as the whole, which takes no memory beside it.
/// Pieces may be wholes themselves, made before.
void TimelineBuilder::finishJoins() {
  for (const Join &join : llvm::reverse(joins))
    for (unsigned piece : join.pieces)
      extend(piece, buffers[find(join.whole)].end);
  for (const Join &join : joins)
    if (find(join.whole) == join.whole)
      buffers[join.whole].begin = -1;
}

/// Whether one can be written over the other: equally large, in one space.
static bool haveEqualPositions(const Shape &lhs, const Shape &rhs) {
  if (!lhs.isArray() || !rhs.isArray() ||
      lhs.layoutOrDefault().memorySpace != rhs.layoutOrDefault().memorySpace)
    return false;
  llvm::Expected<ShapeSize> left = getSizeOnCore(lhs);
  llvm::Expected<ShapeSize> right = getSizeOnCore(rhs);
  bool areEqual = left && right && left->bytes == right->bytes;
  for (auto *size : {&left, &right})
    if (!*size)
      llvm::consumeError(size->takeError());
  return areEqual;
}

/// Whether the compiler has said that these do not lie at one place.
bool TimelineBuilder::arePlacedApart(unsigned lhs, unsigned rhs) const {
  const auto *left = assigned.lookup(lhs), *right = assigned.lookup(rhs);
  return left && right &&
         (left->allocation != right->allocation ||
          left->offset != right->offset);
}

/// Results take the buffers of operands that are dead. Writes
/// stand in the order of steps, so a buffer may pass on through many.
void TimelineBuilder::writeInPlace() {
  for (const InPlaceWrite &write : inPlaceWrites) {
    unsigned operand = find(write.operand), result = find(write.result);
    if (!readOnly.contains(operand) && buffers[operand].end <= write.step &&
        buffers[result].begin == write.step &&
        !arePlacedApart(operand, result) &&
        haveEqualPositions(*buffers[operand].shape, *buffers[result].shape))
      unite(operand, result);
  }
}

/// Of temporaries. The allocations of a space stand one behind the other.
void TimelineBuilder::setOffsets() {
  for (auto [buffer, place] : assigned) {
    const auto &allocation = facts.assignment->allocations()[place->allocation];
    if (allocation.isTemporary)
      buffers[buffer].offset = allocation.base + place->offset;
  }
}

/// Memory for arguments and results is there before the program runs. Pieces
/// of a whole that is a result are results.
void TimelineBuilder::markBoundary() {
  auto mark = [&](const Storage &storage) {
    for (unsigned buffer : storage)
      buffers[find(buffer)].isBoundary = true;
  };
  for (const Instruction *parameter : computation.parameters())
    mark(storages[parameter]);
  mark(storages[computation.root()]);
  for (const Join &join : llvm::reverse(joins))
    if (buffers[find(join.whole)].isBoundary)
      mark(join.pieces);
}

/// Parameters and result of a computation that is called are the caller's
/// buffers: those of a loop are its state, before and after.
void TimelineBuilder::takeBoundary() {
  for (const Instruction *parameter : computation.parameters())
    for (unsigned buffer : storages[parameter])
      ofCaller.insert(find(buffer));
  std::vector<ReportBuffer> &results = facts.results[&computation];
  for (unsigned buffer : storages[computation.root()]) {
    ReportBuffer &result = results.emplace_back(buffers[find(buffer)]);
    result.isCallers = true;
    // What is passed through is an operand of the caller's.
    if (!ofCaller.insert(find(buffer)).second)
      result.begin = -1;
  }
}

/// Results of calls and branches live from where the callee makes them: until
/// the call is done they are counted there.
void TimelineBuilder::handOver(const Instruction &instruction) {
  if (instruction.opcode != Opcode::Call &&
      instruction.opcode != Opcode::Conditional)
    return;
  auto callees = getCallees(instruction);
  Storage results = storages[&instruction];
  for (const Computation *callee : callees)
    if (facts.numCallers.lookup(callee) != 1 ||
        facts.results[callee].size() != results.size())
      return;
  auto step = static_cast<int64_t>(instruction.index);
  for (auto [i, leaf] : llvm::enumerate(results)) {
    ReportBuffer &result = buffers[find(leaf)];
    if (result.begin != step || ofCaller.contains(find(leaf)))
      continue;
    result.begin = step + 1;
    for (const Computation *callee : callees)
      if (ReportBuffer &inside = facts.results[callee][i]; inside.begin >= 0) {
        inside.isBoundary = result.isBoundary;
        input.timelines[facts.timelines[callee]].buffers.push_back(inside);
      }
  }
}

ReportTimeline TimelineBuilder::build() {
  timeline.scope = computation.name().str();
  findPins();
  size_t firstValue = input.values.size();
  for (const Instruction *instruction : computation.instructions()) {
    auto step = static_cast<int64_t>(instruction->index);
    timeline.steps.push_back(instruction->name.str());
    Storage storage = getStorage(*instruction, step);
    addUses(*instruction, storage, step);
    addChildren(*instruction, step);
    timeline.stepValues.push_back(input.values.size());
    addValue(*instruction);
    storages[instruction] = std::move(storage);
  }
  addNeighbours(firstValue);
  input.values[firstValue + computation.root()->index].isOutput =
      computation.isEntry();
  if (computation.isEntry())
    finishEntry();
  finishJoins();
  writeInPlace();
  setOffsets();
  for (const Instruction *instruction : computation.instructions()) {
    size_t number = firstValue + instruction->index;
    input.values[number].role = getRole(*instruction, number);
  }
  if (computation.isEntry())
    markBoundary();
  else
    takeBoundary();
  for (const Instruction *instruction : computation.instructions())
    handOver(*instruction);
  for (unsigned i = 0; i < buffers.size(); ++i)
    if (find(i) == i && buffers[i].begin >= 0 && !ofCaller.contains(i))
      timeline.buffers.push_back(std::move(buffers[i]));
  return std::move(timeline);
}

/// The entry and all that it runs, and how many instructions run each.
static llvm::DenseMap<const Computation *, unsigned>
countCallers(const Module &module) {
  llvm::DenseMap<const Computation *, unsigned> callers;
  callers[module.entry()] = 0;
  // Callees stand before their callers.
  for (const Computation *caller : llvm::reverse(module.computations()))
    if (callers.contains(caller))
      for (const Instruction *instruction : caller->instructions())
        for (const Computation *callee : getCallees(*instruction))
          ++callers[callee];
  return callers;
}

ReportInput tessera::makeReportInput(const Module &module,
                                     const BufferAssignment *assignment) {
  ReportInput input;
  input.name = module.name().str();
  input.isScheduled = module.isScheduled();
  if (assignment)
    input.assigned = assignment->sums();
  ModuleFacts facts(module, assignment);
  facts.numCallers = countCallers(module);
  auto add = [&](const Computation &computation) {
    facts.timelines[&computation] = input.timelines.size();
    input.timelines.push_back(
        TimelineBuilder(computation, input, facts).build());
  };
  for (const Computation *computation : module.computations())
    if (facts.numCallers.contains(computation) && !computation->isEntry())
      add(*computation);
  const Computation &entry = *module.entry();
  add(entry);
  for (const Instruction *parameter : entry.parameters())
    input.arguments.push_back(facts.shapes.get(parameter->shape));
  input.result = facts.shapes.get(entry.root()->shape);
  return input;
}
