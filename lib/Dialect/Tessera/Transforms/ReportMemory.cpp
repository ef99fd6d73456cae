//===- ReportMemory.cpp - Where memory and bytes go in IR -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the values of a module to the report of lib/Report. The steps of a
// function are the operations of its block; what is nested in one of them is
// live while it runs.
//
//===----------------------------------------------------------------------===//

#include "LayoutProblem.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Report/Report.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_REPORT
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
/// Builds the input of the report, function by function, callees first.
class ReportBuilder {
public:
  explicit ReportBuilder(ModuleOp module) : module(module), asmState(module) {
    input.name = module.getName().value_or("module").str();
  }

  /// Adds `function` and what it calls; the last one added is the program.
  void addProgram(FunctionOpInterface function);

  ReportInput takeInput() { return std::move(input); }

private:
  std::optional<size_t> addFunction(FunctionOpInterface function,
                                    bool isProgram = false);
  void addValue(Value value, StringRef scope, ReportRole role);
  void addMove(Operation *op, ReportValue &value);
  void addBuffers(Block &block, ReportTimeline &timeline, bool isProgram);
  ShapePtr getShapePtr(Type type);
  std::string getName(Value value);

  ModuleOp module;
  AsmState asmState;
  ReportInput input;
  llvm::DenseMap<Type, ShapePtr> shapes;
  llvm::DenseMap<Value, size_t> numbers;
  /// Timelines of functions; nothing while a function is being added, which
  /// ends recursion.
  llvm::DenseMap<Operation *, std::optional<size_t>> timelines;
};
} // namespace

/// The shape of a tensor or memref that has one in XLA's notation, else null.
ShapePtr ReportBuilder::getShapePtr(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || !isa<RankedTensorType, MemRefType>(type))
    return nullptr;
  auto [known, isNew] = shapes.try_emplace(type);
  if (!isNew)
    return known->second;
  llvm::Expected<Shape> shape = getShape(shaped);
  if (shape)
    known->second = std::make_shared<const Shape>(std::move(*shape));
  else
    llvm::consumeError(shape.takeError());
  return known->second;
}

/// The name without its `%`, which the report prints itself.
std::string ReportBuilder::getName(Value value) {
  std::string name;
  llvm::raw_string_ostream os(name);
  value.printAsOperand(os, asmState);
  return name.substr(1);
}

/// The value whose memory `value` is: of a view, what is viewed.
static Value getViewed(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto bitcast = dyn_cast_or_null<BitcastOp>(op))
    return bitcast.getSource();
  if (auto view = dyn_cast_or_null<ViewLikeOpInterface>(op))
    return view.getViewSource();
  return Value();
}

static Value getBase(Value value) {
  while (Value viewed = getViewed(value))
    value = viewed;
  return value;
}

/// Operations between the start of a copy and the one that awaits it; 0 where
/// none in the same block does.
static int64_t countOverlap(CopyStartOp start) {
  int64_t count = 0;
  for (Operation *op = start->getNextNode(); op; op = op->getNextNode()) {
    if (llvm::is_contained(op->getOperands(), start.getToken()))
      return count;
    ++count;
  }
  return 0;
}

/// What `op` moves, if it moves an array and does nothing else.
void ReportBuilder::addMove(Operation *op, ReportValue &value) {
  Value source;
  ReportMove move;
  if (auto relayout = dyn_cast_or_null<RelayoutOp>(op)) {
    source = relayout.getSource();
  } else if (auto start = dyn_cast_or_null<CopyStartOp>(op)) {
    source = start.getSource();
    move.kind = ReportMove::Kind::Async;
    move.overlap = countOverlap(start);
  }
  move.from = source ? getShapePtr(source.getType()) : nullptr;
  if (!move.from)
    return;
  move.to = value.shape;
  move.source = getName(source);
  move.sourceIsArgument = isa<BlockArgument>(source);
  move.isAvoidable = move.kind == ReportMove::Kind::Relayout &&
                     move.from->layoutOrDefault().memorySpace ==
                         move.to->layoutOrDefault().memorySpace;
  value.move = std::move(move);
}

void ReportBuilder::addValue(Value value, StringRef scope, ReportRole role) {
  ReportValue entry;
  entry.shape = getShapePtr(value.getType());
  if (!entry.shape)
    return;
  entry.name = getName(value);
  entry.scope = scope.str();
  entry.role = getViewed(value) ? ReportRole::View : role;
  if (Operation *op = value.getDefiningOp()) {
    entry.operation = op->getName().getStringRef().str();
    if (op->hasTrait<OpTrait::ConstantLike>())
      entry.role = ReportRole::Constant;
  } else {
    entry.operation = "argument";
  }
  if (auto position = value.getLoc()->findInstanceOf<FileLineColLoc>()) {
    entry.line = position.getLine();
    entry.column = position.getColumn();
  }
  if (auto name = value.getLoc()->findInstanceOf<NameLoc>())
    entry.origin = name.getName().str();
  entry.isOutput = llvm::any_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::ReturnLike>() &&
           isa<FunctionOpInterface>(user->getParentOp());
  });
  addMove(value.getDefiningOp(), entry);
  numbers[value] = input.values.size();
  input.values.push_back(std::move(entry));
}

/// Calls `visit` with the operations that use the memory of `value`: its users
/// and, of a copy that goes on besides others, what awaits it.
static void forEachUse(Value value, function_ref<void(Operation *)> visit) {
  auto visitAwaiting = [&](Operation *op) {
    if (auto start = dyn_cast_or_null<CopyStartOp>(op))
      llvm::for_each(start.getToken().getUsers(), visit);
  };
  visitAwaiting(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    visit(user);
    visitAwaiting(user);
  }
}

/// A buffer for every value with memory of its own: from the step that makes
/// it to the last that uses it or a view of it. Those of a program's arguments
/// are there throughout; a callee's arguments and results are its caller's.
void ReportBuilder::addBuffers(Block &block, ReportTimeline &timeline,
                               bool isProgram) {
  llvm::DenseMap<Operation *, int64_t> steps;
  for (Operation &op : block) {
    steps[&op] = timeline.steps.size();
    timeline.steps.push_back(op.getNumResults()
                                 ? getName(op.getResult(0))
                                 : op.getName().getStringRef().str());
  }
  auto getStep = [&](Operation *op) {
    return steps.lookup(block.findAncestorOpInBlock(*op));
  };
  llvm::MapVector<Value, ReportBuffer> buffers;
  llvm::DenseSet<Value> ofBoundary(block.args_begin(), block.args_end());
  auto extend = [&](Value value) {
    if (!numbers.count(value))
      return;
    Value base = getBase(value);
    Operation *op = base.getDefiningOp();
    int64_t begin = op ? getStep(op) : 0;
    auto [entry, isNew] = buffers.insert({base, ReportBuffer()});
    ReportBuffer &buffer = entry->second;
    if (isNew)
      buffer = {getShapePtr(base.getType()), begin, begin, numbers[base]};
    forEachUse(value, [&](Operation *user) {
      buffer.end = std::max(buffer.end, getStep(user));
      if (user == block.getTerminator())
        ofBoundary.insert(base);
    });
  };
  llvm::for_each(block.getArguments(), extend);
  block.walk([&](Operation *op) { llvm::for_each(op->getResults(), extend); });
  for (auto &[base, buffer] : buffers) {
    if (!buffer.shape || !numbers.count(base) ||
        (!isProgram && ofBoundary.contains(base)))
      continue;
    if (llvm::is_contained(block.getArguments(), base))
      buffer.end = static_cast<int64_t>(timeline.steps.size()) - 1;
    buffer.isBoundary = isProgram && ofBoundary.contains(base);
    timeline.buffers.push_back(buffer);
  }
}

std::optional<size_t> ReportBuilder::addFunction(FunctionOpInterface function,
                                                 bool isProgram) {
  auto [known, isNew] = timelines.try_emplace(function);
  if (!isNew)
    return known->second;
  if (function.isExternal())
    return std::nullopt;
  ReportTimeline timeline;
  timeline.scope = function.getName().str();
  Block &entry = function.getFunctionBody().front();
  input.isScheduled &= function.getFunctionBody().hasOneBlock();

  for (auto [step, op] : llvm::enumerate(entry))
    op.walk([&, step = step](CallOpInterface call) {
      auto callee =
          dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
      if (!callee)
        return;
      if (std::optional<size_t> child = addFunction(callee))
        timeline.children.emplace_back(step, *child);
    });
  for (Value argument : entry.getArguments())
    addValue(argument, timeline.scope, ReportRole::Argument);
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      addValue(result, timeline.scope, ReportRole::Value);
  });
  addBuffers(entry, timeline, isProgram);
  input.timelines.push_back(std::move(timeline));
  return timelines[function] = input.timelines.size() - 1;
}

void ReportBuilder::addProgram(FunctionOpInterface function) {
  addFunction(function, /*isProgram=*/true);
  std::vector<Shape> results;
  for (Type type : function.getResultTypes())
    if (ShapePtr shape = getShapePtr(type))
      results.push_back(*shape);
  for (Type type : function.getArgumentTypes())
    if (ShapePtr shape = getShapePtr(type))
      input.arguments.push_back(shape);
  bool isTuple = results.size() != 1;
  input.result = std::make_shared<const Shape>(
      isTuple ? Shape::tuple(std::move(results)) : results.front());
}

/// The function of that name; without one `main`, or the last public function.
static FunctionOpInterface findProgram(ModuleOp module, StringRef name) {
  FunctionOpInterface found;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    if (function.getName() == (name.empty() ? "main" : name))
      return function;
    if (name.empty() && function.isPublic())
      found = function;
  }
  return found;
}

namespace {
struct ReportPass : tessera::impl::ReportBase<ReportPass> {
  using ReportBase::ReportBase;

  void runOnOperation() override {
    FunctionOpInterface program = findProgram(getOperation(), function);
    if (!program) {
      getOperation()->emitError()
          << "invalid function: expected "
          << (function.empty() ? "a public function with a body"
                               : "a function named `" + function + "`")
          << ", found none; name one with the option `function`";
      return signalPassFailure();
    }
    ReportBuilder builder(getOperation());
    builder.addProgram(program);
    llvm::Expected<Report> report = makeReport(builder.takeInput());
    if (!report) {
      (void)emitLayoutError([&] { return program->emitError(); },
                            report.takeError());
      return signalPassFailure();
    }
    if (bound && failed(addBound(*report)))
      return signalPassFailure();
    if (json)
      printReportJSON(*report, llvm::outs());
    else
      printReport(*report, llvm::outs());
    markAllAnalysesPreserved();
  }

private:
  /// What --tessera-propagate-layouts counts and finds.
  LogicalResult addBound(Report &report) {
    LayoutProblemOptions options;
    options.target = TargetAttr::lookup(getOperation());
    LayoutProblem problem(getOperation(), options);
    llvm::Expected<Solution> solution = problem.solve();
    if (!solution)
      return emitLayoutError([&] { return getOperation()->emitError(); },
                             solution.takeError());
    report.bound = {*problem.countBytes(), solution->lowerBound};
    return success();
  }
};
} // namespace
