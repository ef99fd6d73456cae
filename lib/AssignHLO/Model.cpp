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
#include "tessera/Layout/Size.h"

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
class ModelBuilder {
public:
  static constexpr size_t kMaxValues = 1000000;

  ModelBuilder(Model &model, const AssignOptions &options)
      : model(model), options(options) {}

  /// Runs the entry, whose parameters and results keep their layouts.
  void runEntry(const Computation &entry);
  bool isTooLarge() const {
    return model.values.size() > kMaxValues || model.frames.size() > kMaxValues;
  }

private:
  using Frame = ModelFrame;
  /// Costs of what runs more often exceed int64.
  static constexpr int64_t kMaxRuns = INT64_MAX;

  Frame &addFrame(const Computation &computation, Frame::Kind kind,
                  int64_t runs);
  Frame &addCallee(Frame &caller, const Instruction &instruction,
                   const Computation &computation, Frame::Kind kind,
                   int64_t runs);
  unsigned addValue(const Instruction &instruction, size_t leaf,
                    const Frame &frame);
  Values addValues(const Instruction &instruction, const Frame &frame);
  void pin(const Values &values);
  ModelUse &addUse(unsigned from, unsigned to, Relation::Kind kind,
                   const Frame &frame);
  void addUses(const Values &from, const Values &to, const Frame &frame,
               const Instruction &user, unsigned operand, bool isRead = false);
  void write(const Values &values, LeafRange range);

  Values run(Frame &frame);
  Values visit(const Instruction &instruction, Frame &frame);
  Values visitPart(const Instruction &instruction, Frame &frame,
                   llvm::ArrayRef<int64_t> index);
  Values visitFusion(const Instruction &instruction, Frame &frame);
  void addAliases(const Instruction &fusion, const Frame &inside,
                  const Values &results);
  Values visitLoop(const Instruction &instruction, Frame &frame);
  Values addState(const Instruction &loop, const Values &results,
                  const Frame &body);
  Values visitCall(const Instruction &instruction, Frame &frame);
  Values visitCopyStart(const Instruction &instruction, Frame &frame);
  Values visitPinned(const Instruction &instruction, Frame &frame);
  Values visitOther(const Instruction &instruction, Frame &frame);
  bool isWrittenByProducer(const Instruction &instruction,
                           const Frame &frame) const;
  bool isKept(const Instruction &instruction, const Frame &frame) const;

  Model &model;
  const AssignOptions &options;
  LeafCounter leaves;
};
} // namespace

ModelFrame &ModelBuilder::addFrame(const Computation &computation,
                                   Frame::Kind kind, int64_t runs) {
  Frame &frame = model.frames.emplace_back();
  frame.computation = &computation;
  frame.kind = kind;
  frame.runs = runs;
  frame.number = model.frames.size() - 1;
  return frame;
}

ModelFrame &ModelBuilder::addCallee(Frame &caller,
                                    const Instruction &instruction,
                                    const Computation &computation,
                                    Frame::Kind kind, int64_t runs) {
  Frame &frame = addFrame(computation, kind, runs);
  caller.callees[&instruction].push_back(frame.number);
  return frame;
}

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
  value.isInMemory = !frame.isFused();
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
  use.isHomeOnly = frame.isFused();
  return use;
}

void ModelBuilder::addUses(const Values &from, const Values &to,
                           const Frame &frame, const Instruction &user,
                           unsigned operand, bool isRead) {
  if (from.size() != to.size())
    return;
  for (unsigned leaf = 0; leaf < from.size(); ++leaf) {
    if (from[leaf] == kNone || to[leaf] == kNone || from[leaf] == to[leaf])
      continue;
    ModelUse &use = addUse(from[leaf], to[leaf], Relation::Kind::Equal, frame);
    use.isRead = isRead;
    use.site = {frame.number, &user, operand, leaf};
  }
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

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Whether the compiler has code of its own for a fusion.
static bool isCustom(const Instruction &fusion) {
  const Attribute *kind = fusion.getAttribute("kind");
  return kind && kind->text == "kCustom";
}

/// Inside a fusion, values are in registers: their layouts fit without help. A
/// fusion within one is a part of it.
Values ModelBuilder::visitFusion(const Instruction &instruction, Frame &frame) {
  const Computation &body = *instruction.getComputation("calls");
  Frame &inside =
      addCallee(frame, instruction, body, Frame::Kind::Fusion, frame.runs);
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    if (frame.isFused()) {
      inside.parameters.push_back(frame.values[operand]);
      continue;
    }
    inside.parameters.push_back(addValues(*body.parameters()[i], inside));
    addUses(frame.values[operand], inside.parameters.back(), frame, instruction,
            i, /*isRead=*/true);
  }
  Values results = run(inside);
  if (frame.isFused() || isTooLarge())
    return results;
  for (auto [leaf, value] : llvm::enumerate(results)) {
    if (value == kNone)
      continue;
    ModelValue &result = model.values[value];
    result.instruction = &instruction;
    result.leaf = leaf;
    result.isInMemory = true;
    // The text may give the root inside another layout or space.
    const Shape &shape = *getLeaves(*instruction.shape)[leaf];
    result.own.setLayout(shape.layoutOrDefault());
  }
  addAliases(instruction, inside, results);
  write(results, {0, results.size()});
  return results;
}

/// A result that is written over an operand has its layout.
void ModelBuilder::addAliases(const Instruction &fusion, const Frame &inside,
                              const Values &results) {
  for (const Alias &alias :
       getAliases(fusion.getAttribute("output_to_operand_aliasing"))) {
    const Instruction &operand = *fusion.operands[alias.number];
    auto from = leaves.getRange(*operand.shape, alias.inputIndex);
    auto to = leaves.getRange(*fusion.shape, alias.outputIndex);
    if (!from || !to || from->count != to->count)
      continue;
    const Values &parameter = inside.parameters[alias.number];
    for (size_t i = 0; i < from->count; ++i) {
      unsigned source = parameter[from->begin + i],
               target = results[to->begin + i];
      bool agree = source != kNone && target != kNone && source != target &&
                   model.values[source].own.dimensions() ==
                       model.values[target].own.dimensions();
      if (agree)
        addUse(source, target, Relation::Kind::Equal, inside);
    }
  }
}

/// Whether the body of a loop gives the part of its parameter at `path` back.
static bool isHandedOn(const Computation &body, llvm::ArrayRef<int64_t> path) {
  const Instruction *value = body.root();
  llvm::SmallVector<int64_t, 4> rest(llvm::reverse(path));
  while (true) {
    if (value->opcode == Opcode::Tuple && !rest.empty()) {
      value = value->operands[rest.pop_back_val()];
    } else if (value->opcode == Opcode::GetTupleElement) {
      rest.push_back(getInt(value->getAttribute("index")).value_or(-1));
      value = value->operands[0];
    } else {
      break;
    }
  }
  return value->opcode == Opcode::Parameter &&
         llvm::equal(llvm::reverse(rest), path);
}

/// Appends for each leaf whether it is handed on.
static void findHandedOn(const Computation &body, const Shape &shape,
                         llvm::SmallVectorImpl<int64_t> &path,
                         std::vector<bool> &answers) {
  if (!shape.isTuple()) {
    answers.push_back(!path.empty() && isHandedOn(body, path));
    return;
  }
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    path.push_back(i);
    findHandedOn(body, shape.elements()[i], path, answers);
    path.pop_back();
  }
}

/// The state in a loop: what is handed on is that behind it, the rest is made
/// anew each time.
Values ModelBuilder::addState(const Instruction &loop, const Values &results,
                              const Frame &body) {
  llvm::SmallVector<int64_t, 4> path;
  std::vector<bool> isHandedOn;
  findHandedOn(*body.computation, *loop.shape, path, isHandedOn);
  Values state = addValues(*body.computation->parameters()[0], body);
  for (auto [inside, result, isSame] :
       llvm::zip_equal(state, results, isHandedOn)) {
    if (inside == kNone || result == kNone)
      continue;
    if (isSame) {
      inside = result;
      model.values[result].isCarried = true;
      continue;
    }
    addUse(inside, result, Relation::Kind::Equal, body).isHomeOnly = true;
  }
  return state;
}

/// The state has one layout before, in and behind the loop.
Values ModelBuilder::visitLoop(const Instruction &instruction, Frame &frame) {
  int64_t trips = hlo::getTripCount(instruction).value_or(options.unknownTrips);
  int64_t runs = llvm::checkedMul(frame.runs, trips).value_or(kMaxRuns);
  Frame &condition =
      addCallee(frame, instruction, *instruction.getComputation("condition"),
                Frame::Kind::Condition, runs);
  Frame &body =
      addCallee(frame, instruction, *instruction.getComputation("body"),
                Frame::Kind::Body, runs);
  Values results = addValues(instruction, frame);
  Values state = addState(instruction, results, body);
  addUses(frame.values[instruction.operands[0]], state, frame, instruction, 0);
  body.parameters = {state};
  addUses(run(body), state, body, *body.computation->root(), UseSite::kResult);
  condition.parameters = {state};
  run(condition);
  return results;
}

/// The computations that a call or conditional may run, each with the number of
/// its first operand.
static llvm::SmallVector<std::pair<const Computation *, unsigned>, 2>
getBranches(const Instruction &instruction) {
  llvm::SmallVector<std::pair<const Computation *, unsigned>, 2> branches;
  bool isCall = instruction.opcode == Opcode::Call;
  for (const Attribute &attribute : instruction.attributes) {
    unsigned first = isCall ? 0 : attribute.name == "false_computation" ? 2 : 1;
    for (const Computation *callee : attribute.computations)
      branches.emplace_back(callee, first++);
  }
  return branches;
}

/// Parameters and results are of any layouts, but the same for each branch.
Values ModelBuilder::visitCall(const Instruction &instruction, Frame &frame) {
  Values results = addValues(instruction, frame);
  for (auto [callee, first] : getBranches(instruction)) {
    Frame &inside =
        addCallee(frame, instruction, *callee, Frame::Kind::Callee, frame.runs);
    for (const Instruction *parameter : callee->parameters()) {
      unsigned number = first + parameter->parameterNumber();
      inside.parameters.push_back(addValues(*parameter, inside));
      addUses(frame.values[instruction.operands[number]],
              inside.parameters.back(), frame, instruction, number);
    }
    addUses(run(inside), results, inside, *callee->root(), UseSite::kResult);
  }
  return results;
}

/// The boundary of the program is fixed.
void ModelBuilder::runEntry(const Computation &entry) {
  Frame &frame = addFrame(entry, Frame::Kind::Callee, /*runs=*/1);
  for (const Instruction *parameter : entry.parameters()) {
    frame.parameters.push_back(addValues(*parameter, frame));
    llvm::append_range(model.arguments, frame.parameters.back());
  }
  pin(model.arguments);
  Values results = run(frame);
  model.results = addValues(*entry.root(), frame);
  pin(model.results);
  addUses(results, model.results, frame, *entry.root(), UseSite::kResult);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

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
  // It gives its operand back.
  auto source = leaves.getRange(*instruction.shape, {1});
  if (source && source->count == operand.size())
    llvm::copy(operand, values.begin() + source->begin);
  addUses(operand, copies, frame, instruction, 0, /*isRead=*/true);
  write(values, *target);
  return values;
}

/// What takes and gives the layouts that the module has.
Values ModelBuilder::visitPinned(const Instruction &instruction, Frame &frame) {
  Traffic traffic = getTraffic(instruction, leaves);
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    Values pinned = addValues(*operand, frame);
    pin(pinned);
    for (unsigned value : pinned)
      if (value != kNone)
        model.values[value].isInMemory = false;
    addUses(frame.values[operand], pinned, frame, instruction, i,
            traffic.reads && !frame.isFused());
  }
  Values results = addValues(instruction, frame);
  pin(results);
  if (!frame.isFused())
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
  bool isResult = isWrittenByProducer(instruction, frame);
  if (isResult)
    relations[0].kind = Relation::Kind::Equal;
  bool view = isView(instruction) || isResult;
  bool moves = instruction.opcode != Opcode::Bitcast;
  if (view && frame.isFused())
    moves = movesBytes(instruction);
  for (unsigned i = 0; i < relations.size(); ++i) {
    unsigned operand = frame.values[instruction.operands[i]].front();
    ModelUse &use = addUse(operand, result, relations[i].kind, frame);
    use.relation = std::move(relations[i]);
    use.isRead = !frame.isFused() && !view;
    use.mayMove = view && (moves || !frame.isFused());
    use.movesFree = frame.isFused();
    use.site = {frame.number, &instruction, i, 0};
  }
  if (!frame.isFused() && !view)
    write({result}, getTraffic(instruction, leaves).written);
  return {result};
}

static bool isMoveOpcode(Opcode opcode) {
  return opcode == Opcode::Bitcast || opcode == Opcode::Copy ||
         opcode == Opcode::Reshape || opcode == Opcode::Transpose;
}

/// Whether nothing is computed.
static bool isMove(const Instruction &instruction) {
  if (instruction.opcode != Opcode::Fusion)
    return isMoveOpcode(instruction.opcode);
  const Computation &body = *instruction.getComputation("calls");
  return llvm::all_of(body.instructions(), [](const Instruction *inside) {
    return inside->opcode == Opcode::Parameter ||
           inside->opcode == Opcode::Tuple || isMoveOpcode(inside->opcode);
  });
}

/// Whether a copy makes a result of the program: where it changes no more than
/// the space, what makes its operand can write the result.
bool ModelBuilder::isWrittenByProducer(const Instruction &instruction,
                                       const Frame &frame) const {
  const Instruction &root = *frame.computation->root();
  return options.keepsComputation && instruction.opcode == Opcode::Copy &&
         frame.computation->isEntry() &&
         (&instruction == &root ||
          (root.opcode == Opcode::Tuple &&
           llvm::is_contained(root.operands, &instruction)));
}

/// Whether the instruction stays what it is.
bool ModelBuilder::isKept(const Instruction &instruction,
                          const Frame &frame) const {
  return options.keepsComputation && !frame.isFused() && !isMove(instruction);
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
    return isCustom(instruction) || isKept(instruction, frame)
               ? visitPinned(instruction, frame)
               : visitFusion(instruction, frame);
  case Opcode::While:
    return visitLoop(instruction, frame);
  case Opcode::Call:
  case Opcode::Conditional:
    return visitCall(instruction, frame);
  case Opcode::CopyStart:
    return visitCopyStart(instruction, frame);
  default:
    return isKept(instruction, frame) ? visitPinned(instruction, frame)
                                      : visitOther(instruction, frame);
  }
}

/// What is read of another value while a loop is tested is as the body has it.
Values ModelBuilder::run(Frame &frame) {
  size_t first = model.uses.size();
  for (const Instruction *instruction : frame.computation->instructions()) {
    if (isTooLarge())
      return {};
    Values values = visit(*instruction, frame);
    frame.values[instruction] = std::move(values);
  }
  if (frame.kind == Frame::Kind::Condition)
    for (size_t i = first; i < model.uses.size(); ++i) {
      ModelUse &use = model.uses[i];
      if (llvm::is_contained(frame.parameters[0], use.from) &&
          !model.values[use.from].isCarried)
        use.isHomeOnly = true;
    }
  return frame.values[frame.computation->root()];
}

static bool hasFrames(Opcode opcode) {
  return opcode == Opcode::Call || opcode == Opcode::Conditional ||
         opcode == Opcode::Fusion || opcode == Opcode::While;
}

/// How often computations stand in the model of the entry, kMax and above being
/// too often: each call has a frame of its own.
static size_t countFrames(const Module &module, size_t max) {
  llvm::DenseMap<const Computation *, size_t> counts;
  for (const Computation *computation : module.computations()) {
    size_t &count = counts[computation];
    count = 1;
    for (const Instruction *instruction : computation->instructions()) {
      if (!hasFrames(instruction->opcode))
        continue;
      for (const Attribute &attribute : instruction->attributes)
        for (const Computation *callee : attribute.computations)
          count = std::min(max, count + counts.lookup(callee));
    }
  }
  return counts.lookup(module.entry());
}

llvm::Expected<Model> tessera::buildModel(const Module &module,
                                          const AssignOptions &options) {
  Model model;
  ModelBuilder builder(model, options);
  bool isTooLarge =
      countFrames(module, ModelBuilder::kMaxValues) == ModelBuilder::kMaxValues;
  if (!isTooLarge)
    builder.runEntry(*module.entry());
  if (isTooLarge || builder.isTooLarge())
    return unsupportedError("module", "fewer values", "too many to assign");
  // What nothing reads or writes has to have a size too.
  for (const ModelValue &value : model.values)
    if (llvm::Expected<ShapeSize> size = getSizeOnCore(value.own); !size)
      return size.takeError();
  return model;
}
