//===- Model.cpp - Values of a module and what joins them -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Loops.h"
#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::hlo;

//===----------------------------------------------------------------------===//
// What is read and written
//===----------------------------------------------------------------------===//

static bool movesNothing(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::AddDependency:
  case Opcode::AfterAll:
  case Opcode::AllGatherDone:
  case Opcode::AllReduceDone:
  case Opcode::AsyncDone:
  case Opcode::AsyncUpdate:
  case Opcode::Bitcast:
  case Opcode::Call:
  case Opcode::CollectivePermuteDone:
  case Opcode::Conditional:
  case Opcode::Constant:
  case Opcode::CopyDone:
  case Opcode::Domain:
  case Opcode::GetTupleElement:
  case Opcode::OptimizationBarrier:
  case Opcode::Parameter:
  case Opcode::RecvDone:
  case Opcode::SendDone:
  case Opcode::Tuple:
  case Opcode::While:
    return true;
  default:
    return false;
  }
}

Traffic tessera::getTraffic(const Instruction &instruction,
                            LeafCounter &leaves) {
  if (movesNothing(instruction))
    return {};
  LeafRange all{0, leaves.count(*instruction.shape)};
  // What starts a transfer gives its operands back beside the result.
  std::optional<LeafRange> part;
  if (instruction.opcode == Opcode::CopyStart)
    part = leaves.getRange(*instruction.shape, {0});
  if (instruction.opcode == Opcode::AsyncStart ||
      instruction.opcode == Opcode::AllGatherStart ||
      instruction.opcode == Opcode::CollectivePermuteStart)
    part = leaves.getRange(*instruction.shape, {1});
  return {true, part.value_or(all)};
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {
/// The values of an instruction's leaves; kNone for what is no array.
using Values = llvm::SmallVector<unsigned, 2>;
constexpr unsigned kNone = ~0u;

/// A computation where it runs.
struct Frame {
  int64_t runs = 1;
  bool isFused = false;
  std::vector<Values> parameters;
  llvm::DenseMap<const Instruction *, Values> values;
};

class ModelBuilder {
public:
  ModelBuilder(Model &model, int64_t unknownTrips)
      : model(model), unknownTrips(unknownTrips) {}

  /// Runs a computation whose parameters and results keep their layouts.
  void runPinned(const Computation &computation, int64_t runs);
  bool isTooLarge() const { return model.values.size() > kMaxValues; }

private:
  static constexpr size_t kMaxValues = 1000000;
  /// Costs of what runs more often exceed int64.
  static constexpr int64_t kMaxRuns = INT64_MAX;

  unsigned addValue(const Instruction &instruction, size_t leaf,
                    const Frame &frame);
  Values addValues(const Instruction &instruction, const Frame &frame);
  void pin(const Values &values);
  ModelUse &addUse(unsigned from, unsigned to, Relation::Kind kind,
                   const Frame &frame);
  void addUses(const Values &from, const Values &to, const Frame &frame,
               bool isRead);
  void write(const Values &values, LeafRange range);

  Values run(const Computation &computation, Frame &frame);
  Values visit(const Instruction &instruction, Frame &frame);
  Values visitPart(const Instruction &instruction, Frame &frame,
                   llvm::ArrayRef<int64_t> index);
  Values visitFusion(const Instruction &instruction, Frame &frame);
  Values visitLoop(const Instruction &instruction, Frame &frame);
  Values visitCopyStart(const Instruction &instruction, Frame &frame);
  Values visitPinned(const Instruction &instruction, Frame &frame);
  Values visitOther(const Instruction &instruction, Frame &frame);

  Model &model;
  int64_t unknownTrips;
  LeafCounter leaves;
};
} // namespace

unsigned ModelBuilder::addValue(const Instruction &instruction, size_t leaf,
                                const Frame &frame) {
  const Shape &shape = *getLeaves(*instruction.shape)[leaf];
  if (!shape.isArray())
    return kNone;
  ModelValue value;
  value.instruction = &instruction;
  value.leaf = leaf;
  value.own = shape;
  value.own.setLayout(shape.layoutOrDefault());
  value.runs = frame.runs;
  value.isInMemory = !frame.isFused;
  model.values.push_back(std::move(value));
  return model.values.size() - 1;
}

Values ModelBuilder::addValues(const Instruction &instruction,
                               const Frame &frame) {
  Values values;
  for (size_t leaf = 0; leaf < leaves.count(*instruction.shape); ++leaf)
    values.push_back(addValue(instruction, leaf, frame));
  return values;
}

void ModelBuilder::pin(const Values &values) {
  for (unsigned value : values)
    if (value != kNone)
      model.values[value].isPinned = true;
}

ModelUse &ModelBuilder::addUse(unsigned from, unsigned to, Relation::Kind kind,
                               const Frame &frame) {
  ModelUse &use = model.uses.emplace_back();
  use.from = from;
  use.to = to;
  use.relation.kind = kind;
  use.runs = frame.runs;
  return use;
}

void ModelBuilder::addUses(const Values &from, const Values &to,
                           const Frame &frame, bool isRead) {
  if (from.size() != to.size())
    return;
  for (auto [source, target] : llvm::zip_equal(from, to))
    if (source != kNone && target != kNone && source != target)
      addUse(source, target, Relation::Kind::Equal, frame).isRead = isRead;
}

void ModelBuilder::write(const Values &values, LeafRange range) {
  for (unsigned value : llvm::ArrayRef(values).slice(range.begin, range.count))
    if (value != kNone)
      ++model.values[value].writes;
}

Values ModelBuilder::visitPart(const Instruction &instruction, Frame &frame,
                               llvm::ArrayRef<int64_t> index) {
  const Instruction &operand = *instruction.operands[0];
  auto range = leaves.getRange(*operand.shape, index);
  const Values &whole = frame.values[&operand];
  if (!range || range->begin + range->count > whole.size())
    return Values(leaves.count(*instruction.shape), kNone);
  return Values(llvm::ArrayRef(whole).slice(range->begin, range->count));
}

/// Whether the compiler has code of its own for a fusion.
static bool isCustom(const Instruction &fusion) {
  const Attribute *kind = fusion.getAttribute("kind");
  return kind && kind->text == "kCustom";
}

/// Inside a fusion, values are in registers: their layouts fit without help. A
/// fusion within one is a part of it.
Values ModelBuilder::visitFusion(const Instruction &instruction, Frame &frame) {
  const Computation &body = *instruction.getComputation("calls");
  Frame inside;
  inside.runs = frame.runs;
  inside.isFused = true;
  for (auto [parameter, operand] :
       llvm::zip_equal(body.parameters(), instruction.operands)) {
    if (frame.isFused) {
      inside.parameters.push_back(frame.values[operand]);
      continue;
    }
    inside.parameters.push_back(addValues(*parameter, inside));
    addUses(frame.values[operand], inside.parameters.back(), frame, true);
  }
  Values results = run(body, inside);
  if (frame.isFused)
    return results;
  for (auto [leaf, value] : llvm::enumerate(results)) {
    if (value == kNone)
      continue;
    ModelValue &result = model.values[value];
    result.instruction = &instruction;
    result.leaf = leaf;
    result.isInMemory = true;
    const Shape &shape = *getLeaves(*instruction.shape)[leaf];
    result.own.mutableLayout().memorySpace =
        shape.layoutOrDefault().memorySpace;
  }
  write(results, {0, results.size()});
  return results;
}

/// The state has one layout before, in and behind the loop.
Values ModelBuilder::visitLoop(const Instruction &instruction, Frame &frame) {
  Values state = addValues(instruction, frame);
  addUses(frame.values[instruction.operands[0]], state, frame, false);
  Frame inside;
  int64_t trips = hlo::getTripCount(instruction).value_or(unknownTrips);
  inside.runs = llvm::checkedMul(frame.runs, trips).value_or(kMaxRuns);
  inside.parameters = {state};
  addUses(run(*instruction.getComputation("body"), inside), state, inside,
          false);
  Frame test;
  test.runs = inside.runs;
  test.parameters = {state};
  run(*instruction.getComputation("condition"), test);
  return state;
}

/// Moves to another space keep the layout.
Values ModelBuilder::visitCopyStart(const Instruction &instruction,
                                    Frame &frame) {
  const Values &operand = frame.values[instruction.operands[0]];
  Values values = addValues(instruction, frame);
  auto target = leaves.getRange(*instruction.shape, {0});
  if (!target || target->count != operand.size())
    return visitPinned(instruction, frame);
  // g++ takes `Values copies(llvm::ArrayRef(values)...)` for a function.
  Values copies =
      Values(llvm::ArrayRef(values).slice(target->begin, target->count));
  pin(Values(llvm::ArrayRef(values).drop_front(target->begin + target->count)));
  addUses(operand, copies, frame, true);
  write(values, *target);
  return values;
}

void ModelBuilder::runPinned(const Computation &computation, int64_t runs) {
  Frame frame;
  frame.runs = runs;
  for (const Instruction *parameter : computation.parameters()) {
    frame.parameters.push_back(addValues(*parameter, frame));
    pin(frame.parameters.back());
  }
  Values results = run(computation, frame);
  Values pinned = addValues(*computation.root(), frame);
  pin(pinned);
  addUses(results, pinned, frame, false);
}

/// What takes and gives the layouts that the module has.
Values ModelBuilder::visitPinned(const Instruction &instruction, Frame &frame) {
  Traffic traffic = getTraffic(instruction, leaves);
  for (const Instruction *operand : instruction.operands) {
    Values pinned = addValues(*operand, frame);
    pin(pinned);
    for (unsigned value : pinned)
      if (value != kNone)
        model.values[value].isInMemory = false;
    addUses(frame.values[operand], pinned, frame,
            traffic.reads && !frame.isFused);
  }
  if (instruction.opcode == Opcode::Call ||
      instruction.opcode == Opcode::Conditional)
    for (const Attribute &attribute : instruction.attributes)
      for (const Computation *callee : attribute.computations)
        runPinned(*callee, frame.runs);
  Values results = addValues(instruction, frame);
  pin(results);
  if (!frame.isFused)
    write(results, traffic.written);
  return results;
}

Values ModelBuilder::visitOther(const Instruction &instruction, Frame &frame) {
  std::vector<Relation> relations;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    std::optional<Relation> relation = getRelation(instruction, i);
    if (!relation || frame.values[instruction.operands[i]].front() == kNone)
      return visitPinned(instruction, frame);
    relations.push_back(std::move(*relation));
  }
  bool isFree = instruction.opcode == Opcode::Constant ||
                instruction.opcode == Opcode::Iota;
  if (!instruction.shape->isArray() || (relations.empty() && !isFree))
    return visitPinned(instruction, frame);
  unsigned result = addValue(instruction, 0, frame);
  bool view = isView(instruction);
  bool moves = instruction.opcode != Opcode::Bitcast;
  if (view && frame.isFused)
    moves = movesBytes(instruction);
  for (auto [i, relation] : llvm::enumerate(relations)) {
    unsigned operand = frame.values[instruction.operands[i]].front();
    ModelUse &use = addUse(operand, result, relation.kind, frame);
    use.relation = std::move(relation);
    use.isRead = !frame.isFused && !view;
    use.mayMove = view && (moves || !frame.isFused);
    use.movesFree = frame.isFused;
  }
  if (!frame.isFused && !view)
    write({result}, getTraffic(instruction, leaves).written);
  return {result};
}

Values ModelBuilder::visit(const Instruction &instruction, Frame &frame) {
  switch (instruction.opcode) {
  case Opcode::Parameter:
    return frame.parameters[instruction.parameterNumber()];
  case Opcode::Tuple: {
    Values values;
    for (const Instruction *operand : instruction.operands)
      llvm::append_range(values, frame.values[operand]);
    return values;
  }
  case Opcode::GetTupleElement:
    return visitPart(instruction, frame,
                     {getInt(instruction.getAttribute("index")).value_or(-1)});
  case Opcode::CopyDone:
    return visitPart(instruction, frame, {0});
  case Opcode::AddDependency:
  case Opcode::Domain:
  case Opcode::OptimizationBarrier:
    return frame.values[instruction.operands[0]];
  case Opcode::Fusion:
    return isCustom(instruction) ? visitPinned(instruction, frame)
                                 : visitFusion(instruction, frame);
  case Opcode::While:
    return visitLoop(instruction, frame);
  case Opcode::CopyStart:
    return visitCopyStart(instruction, frame);
  default:
    return visitOther(instruction, frame);
  }
}

Values ModelBuilder::run(const Computation &computation, Frame &frame) {
  for (const Instruction *instruction : computation.instructions()) {
    if (isTooLarge())
      return {};
    Values values = visit(*instruction, frame);
    frame.values[instruction] = std::move(values);
  }
  return frame.values[computation.root()];
}

llvm::Expected<Model> tessera::buildModel(const Module &module,
                                          int64_t unknownTrips) {
  Model model;
  ModelBuilder builder(model, unknownTrips);
  builder.runPinned(*module.entry(), /*runs=*/1);
  if (builder.isTooLarge())
    return unsupportedError("module", "fewer values", "too many to assign");
  return model;
}
