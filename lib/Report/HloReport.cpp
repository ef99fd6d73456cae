//===- HloReport.cpp - The report over HLO modules ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value has a buffer for each leaf of its shape, numbered in order. A
// view has the numbers of other values' buffers; what is known to happen in
// place unites numbers. A buffer lives from the first definition to the last
// use of any value that has its number.
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/HloReport.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/Layout/Bitcast.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::ArrayRef;
using llvm::StringRef;

/// Leaves of a shape: everything that is no tuple.
static void appendLeaves(const Shape &shape,
                         llvm::SmallVectorImpl<const Shape *> &leaves) {
  if (!shape.isTuple()) {
    leaves.push_back(&shape);
    return;
  }
  for (const Shape &element : shape.elements())
    appendLeaves(element, leaves);
}

static llvm::SmallVector<const Shape *, 4> getLeaves(const Shape &shape) {
  llvm::SmallVector<const Shape *, 4> leaves;
  appendLeaves(shape, leaves);
  return leaves;
}

/// Number of the first leaf of the part of `shape` at `index`.
static size_t getLeafOffset(const Shape &shape, ArrayRef<int64_t> index) {
  size_t offset = 0;
  const Shape *part = &shape;
  for (int64_t i : index) {
    for (const Shape &before : part->elements().take_front(i))
      offset += getLeaves(before).size();
    part = &part->elements()[i];
  }
  return offset;
}

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

/// Builds the timeline of one computation.
class TimelineBuilder {
public:
  TimelineBuilder(const Computation &computation, ReportInput &input,
                  SharedShapes &shapes,
                  const llvm::DenseMap<const Computation *, size_t> &timelines)
      : computation(computation), input(input), shapes(shapes),
        timelines(timelines) {}

  ReportTimeline build(const Module &module);

private:
  Storage allocate(const Shape &shape, int64_t step);
  Storage getStorage(const Instruction &instruction, int64_t step);
  Storage getPart(const Instruction &tuple, ArrayRef<int64_t> index) const;
  Storage concatOperands(const Instruction &instruction) const;
  Storage startTransfer(const Instruction &instruction, int64_t step);
  Storage reuseOperands(const Instruction &instruction, int64_t step);
  bool isUpdateInPlace(const Instruction &instruction) const;
  std::string getPin(const Instruction &instruction) const;
  void addChildren(const Instruction &instruction, int64_t step);
  void addValue(const Module &module, const Instruction &instruction,
                const Storage &storage);
  void unite(unsigned to, unsigned from);
  void finishEntry(const Module &module);
  void dropBoundary();

  unsigned find(unsigned buffer) const {
    while (united[buffer] != buffer)
      buffer = united[buffer];
    return buffer;
  }

  const Computation &computation;
  ReportInput &input;
  SharedShapes &shapes;
  const llvm::DenseMap<const Computation *, size_t> &timelines;
  llvm::DenseMap<const Instruction *, Storage> storages;
  /// Last direct use of each instruction.
  llvm::DenseMap<const Instruction *, int64_t> lastUses;
  /// Instructions whose layout another one fixes.
  llvm::DenseMap<const Instruction *, const Instruction *> pins;
  std::vector<ReportBuffer> buffers;
  /// A buffer that is the same as another has that one's number.
  std::vector<unsigned> united;
  ReportTimeline timeline;
};
} // namespace

//===----------------------------------------------------------------------===//
// Which buffers a value has
//===----------------------------------------------------------------------===//

Storage TimelineBuilder::allocate(const Shape &shape, int64_t step) {
  Storage storage;
  const ShapePtr &whole = shapes.get(&shape);
  for (const Shape *leaf : getLeaves(*whole)) {
    storage.push_back(buffers.size());
    united.push_back(buffers.size());
    buffers.push_back({ShapePtr(whole, leaf), step, step, input.values.size()});
  }
  return storage;
}

Storage TimelineBuilder::getPart(const Instruction &tuple,
                                 ArrayRef<int64_t> index) const {
  const Storage &whole = storages.find(&tuple)->second;
  const Shape *part = getSubshape(*tuple.shape, index);
  size_t offset = getLeafOffset(*tuple.shape, index);
  size_t count = getLeaves(*part).size();
  return Storage(whole.begin() + offset, whole.begin() + offset + count);
}

Storage TimelineBuilder::concatOperands(const Instruction &instruction) const {
  Storage storage;
  for (const Instruction *operand : instruction.operands)
    llvm::append_range(storage, storages.find(operand)->second);
  return storage;
}

/// A start of a transfer gives a tuple that has its operands in it: behind the
/// destination for copies, in front of the result otherwise.
Storage TimelineBuilder::startTransfer(const Instruction &instruction,
                                       int64_t step) {
  Storage storage = allocate(*instruction.shape, step);
  int64_t position = instruction.opcode == Opcode::CopyStart ? 1 : 0;
  const Shape *part = getSubshape(*instruction.shape, {position});
  Storage sources = concatOperands(instruction);
  if (!part || getLeaves(*part).size() != sources.size())
    return storage;
  size_t offset = getLeafOffset(*instruction.shape, {position});
  for (auto [i, source] : llvm::enumerate(sources))
    unite(source, storage[offset + i]);
  return storage;
}

/// Results that are said to alias operands do.
Storage TimelineBuilder::reuseOperands(const Instruction &instruction,
                                       int64_t step) {
  Storage storage = allocate(*instruction.shape, step);
  for (const Alias &alias :
       getAliases(instruction.getAttribute("output_to_operand_aliasing"))) {
    Storage source =
        getPart(*instruction.operands[alias.number], alias.inputIndex);
    size_t offset = getLeafOffset(*instruction.shape, alias.outputIndex);
    for (auto [i, buffer] : llvm::enumerate(source))
      unite(buffer, storage[offset + i]);
  }
  return storage;
}

/// A dynamic-update-slice whose operand nobody needs afterwards writes into it.
bool TimelineBuilder::isUpdateInPlace(const Instruction &instruction) const {
  const Instruction *target = instruction.operands[0];
  return target->opcode != Opcode::Parameter &&
         target->opcode != Opcode::Constant &&
         lastUses.lookup(target) == static_cast<int64_t>(instruction.index);
}

Storage TimelineBuilder::getStorage(const Instruction &instruction,
                                    int64_t step) {
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
  case Opcode::CopyStart:
  case Opcode::AsyncStart:
  case Opcode::AllGatherStart:
  case Opcode::CollectivePermuteStart:
  case Opcode::Send:
    return startTransfer(instruction, step);
  case Opcode::CopyDone:
  case Opcode::RecvDone:
    return getPart(*instruction.operands[0], {0});
  case Opcode::AsyncDone:
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return getPart(*instruction.operands[0], {1});
  case Opcode::DynamicUpdateSlice:
    if (isUpdateInPlace(instruction))
      return storages.find(instruction.operands[0])->second;
    break;
  default:
    break;
  }
  return reuseOperands(instruction, step);
}

void TimelineBuilder::unite(unsigned to, unsigned from) {
  to = find(to);
  from = find(from);
  if (to == from)
    return;
  united[from] = to;
  buffers[to].begin = std::min(buffers[to].begin, buffers[from].begin);
  buffers[to].end = std::max(buffers[to].end, buffers[from].end);
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

void TimelineBuilder::addValue(const Module &module,
                               const Instruction &instruction,
                               const Storage &storage) {
  ReportValue &value = input.values.emplace_back();
  value.name = instruction.name.str();
  value.operation = instruction.opcodeName();
  value.scope = computation.name().str();
  const Attribute *metadata = instruction.getAttribute("metadata");
  value.origin = getMetadata(metadata, "op_name").value_or("");
  SourceLocation location = module.getLocation(instruction.name);
  value.line = location.line;
  value.column = location.column;
  value.shape = shapes.get(instruction.shape);
  value.move = getMove(instruction, shapes);
  value.pinnedBy = getPin(instruction);
  // One that has a buffer of its own is no view.
  size_t number = input.values.size() - 1;
  bool allocates = llvm::any_of(storage, [&](unsigned buffer) {
    return united[buffer] == buffer && buffers[buffer].value == number;
  });
  if (!allocates && !storage.empty())
    value.role = ReportRole::View;
  else if (instruction.opcode == Opcode::Parameter)
    value.role =
        computation.isEntry() ? ReportRole::Argument : ReportRole::View;
  else if (instruction.opcode == Opcode::Constant)
    value.role = ReportRole::Constant;
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
    auto found = timelines.find(callee);
    if (found != timelines.end())
      timeline.children.emplace_back(step, found->second);
  }
}

/// Arguments live throughout, results to the end; donated arguments are
/// results.
void TimelineBuilder::finishEntry(const Module &module) {
  const Instruction &root = *computation.root();
  auto last = static_cast<int64_t>(computation.instructions().size()) - 1;
  for (const Alias &alias :
       getAliases(module.getAttribute("input_output_alias"))) {
    Storage from =
        getPart(*computation.parameters()[alias.number], alias.inputIndex);
    Storage to = getPart(root, alias.outputIndex);
    for (auto [source, result] : llvm::zip_equal(from, to))
      unite(source, result);
  }
  for (const Instruction *parameter : computation.parameters())
    for (unsigned buffer : storages[parameter]) {
      buffers[find(buffer)].begin = 0;
      buffers[find(buffer)].end = last;
    }
  for (unsigned buffer : storages[&root])
    buffers[find(buffer)].end = last;
}

/// Parameters and result of a computation that is called are the caller's
/// buffers: those of a loop are its state, before and after.
void TimelineBuilder::dropBoundary() {
  llvm::SmallVector<unsigned, 8> boundary;
  for (const Instruction *parameter : computation.parameters())
    llvm::append_range(boundary, storages[parameter]);
  llvm::append_range(boundary, storages[computation.root()]);
  for (unsigned buffer : boundary)
    buffers[find(buffer)].begin = -1;
}

ReportTimeline TimelineBuilder::build(const Module &module) {
  timeline.scope = computation.name().str();
  for (const Instruction *instruction : computation.instructions())
    for (const Instruction *operand : instruction->operands)
      lastUses[operand] = instruction->index;
  for (const Instruction *instruction : computation.instructions())
    if (instruction->getAttribute("operand_layout_constraints"))
      for (const Instruction *operand : instruction->operands)
        pins[operand] = instruction;
  for (const Instruction *instruction : computation.instructions())
    timeline.steps.push_back(instruction->name.str());
  size_t firstValue = input.values.size();
  for (const Instruction *instruction : computation.instructions()) {
    auto step = static_cast<int64_t>(instruction->index);
    Storage storage = getStorage(*instruction, step);
    for (const Instruction *operand : instruction->operands)
      for (unsigned buffer : storages[operand]) {
        ReportBuffer &used = buffers[find(buffer)];
        used.end = std::max(used.end, step);
      }
    addChildren(*instruction, step);
    addValue(module, *instruction, storage);
    storages[instruction] = std::move(storage);
  }
  input.values[firstValue + computation.root()->index].isOutput =
      computation.isEntry();
  if (computation.isEntry())
    finishEntry(module);
  else
    dropBoundary();
  for (unsigned i = 0; i < buffers.size(); ++i)
    if (united[i] == i && buffers[i].begin >= 0)
      timeline.buffers.push_back(std::move(buffers[i]));
  return std::move(timeline);
}

/// The entry and all that it runs.
static llvm::DenseMap<const Computation *, bool>
findRunning(const Module &module) {
  llvm::DenseMap<const Computation *, bool> runs;
  runs[module.entry()] = true;
  // Callees stand before their callers.
  for (const Computation *caller : llvm::reverse(module.computations()))
    if (runs.contains(caller))
      for (const Instruction *instruction : caller->instructions())
        for (const Computation *callee : getCallees(*instruction))
          runs[callee] = true;
  return runs;
}

ReportInput tessera::makeReportInput(const Module &module) {
  ReportInput input;
  input.name = module.name().str();
  input.isScheduled = module.isScheduled();
  auto runs = findRunning(module);
  llvm::DenseMap<const Computation *, size_t> timelines;
  SharedShapes shapes;
  for (const Computation *computation : module.computations()) {
    if (!runs.contains(computation) || computation->isEntry())
      continue;
    timelines[computation] = input.timelines.size();
    input.timelines.push_back(
        TimelineBuilder(*computation, input, shapes, timelines).build(module));
  }
  const Computation &entry = *module.entry();
  input.timelines.push_back(
      TimelineBuilder(entry, input, shapes, timelines).build(module));
  for (const Instruction *parameter : entry.parameters())
    input.arguments.push_back(shapes.get(parameter->shape));
  input.result = shapes.get(entry.root()->shape);
  return input;
}
