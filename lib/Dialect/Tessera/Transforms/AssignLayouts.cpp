//===- AssignLayouts.cpp - Layouts that a target chooses ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A default layout is a function of element type and dimensions alone. So when
// all types of a module change by it at once, types that were equal stay equal,
// and the verifiers of nearly all operations still succeed. Operations whose
// verifier fails get their old types back, between relayouts.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Layout/Target.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace tessera {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
/// The types of tensors under a rule, each found once.
class TypeAssignment {
public:
  explicit TypeAssignment(LayoutRule rule) : rule(rule) {}

  /// The type with its layout, or `type` itself where it is pinned, has no
  /// default, or has the layout that it would be given already.
  Type convert(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getEncoding())
      return type;
    Type &converted = types[tensor];
    if (!converted)
      converted = choose(tensor);
    return converted;
  }

private:
  Type choose(RankedTensorType type) {
    llvm::Expected<Shape> shape = getShape(type);
    if (shape)
      shape = chooseDefaultLayout(rule, std::move(*shape));
    if (!shape) {
      llvm::consumeError(shape.takeError());
      return type;
    }
    if (shape->layout() == Layout::descending(type.getRank()))
      return type;
    return getTensorType(type.getContext(), *shape);
  }

  LayoutRule rule;
  llvm::DenseMap<Type, Type> types;
};

/// The types of an operation before the change.
struct OldTypes {
  SmallVector<Type> operands, results;
  SmallVector<Type> arguments; ///< Of the entry blocks of all regions.
  Attribute value;             ///< Of a constant.
};

struct AssignLayoutsPass : tessera::impl::AssignLayoutsBase<AssignLayoutsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  FailureOr<LayoutRule> getRule();
  void findFixedFunctions();
  bool mayChange(Operation *op);
  OldTypes getTypes(Operation *op);
  void convert(Operation *op, TypeAssignment &assignment);
  void restore(Operation *op, const OldTypes &old);
  bool inferResults(Operation *op);
  void restoreOperand(OpBuilder &builder, OpOperand &operand, Type type);
  void restoreResults(Operation *op, ArrayRef<Type> types);
  void restoreValue(OpBuilder &builder, Value value, Type type);
  Value relayout(OpBuilder &builder, Location loc, Value value, Type type);

  /// Functions whose signature others know.
  llvm::DenseSet<Operation *> fixedFunctions;
  /// Operations that have their old types again.
  llvm::DenseSet<Operation *> restored;
  /// Of the current run.
  SymbolTableCollection *symbolTables = nullptr;
};
} // namespace

FailureOr<LayoutRule> AssignLayoutsPass::getRule() {
  ModuleOp module = getOperation();
  if (!target.empty()) {
    llvm::Expected<const Target *> preset = getTarget(target.getValue());
    if (!preset)
      return emitLayoutError([&] { return module.emitError(); },
                             preset.takeError());
    module->setAttr(TargetAttr::kAttrName,
                    TargetAttr::get(&getContext(), target.getValue(), {}));
    return (*preset)->layoutRule;
  }
  if (TargetAttr attribute = TargetAttr::lookup(module))
    return attribute.getLayoutRule();
  return emitLayoutError(
      [&] { return module.emitError(); },
      invalidError("", "target", "one by the option or of the module", "none",
                   "say target=tpu_v5e, or put tessera.target on the module"));
}

//===----------------------------------------------------------------------===//
// What may change
//===----------------------------------------------------------------------===//

/// Declarations, and functions that are used other than by a call.
void AssignLayoutsPass::findFixedFunctions() {
  fixedFunctions.clear();
  getOperation()->walk([&](Operation *op) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (function && function.isExternal())
      fixedFunctions.insert(op);
  });
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&getOperation()->getRegion(0));
  if (!uses)
    return;
  for (SymbolTable::SymbolUse use : *uses)
    if (!isa<CallOpInterface>(use.getUser()))
      if (Operation *symbol = symbolTables->lookupNearestSymbolFrom(
              use.getUser(), use.getSymbolRef()))
        fixedFunctions.insert(symbol);
}

/// Whether the operation means the same for all layouts of its tensors.
bool AssignLayoutsPass::mayChange(Operation *op) {
  if (isa<FunctionOpInterface>(op))
    return !fixedFunctions.contains(op);
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    Operation *callee = call.resolveCallableInTable(symbolTables);
    return isa_and_present<FunctionOpInterface>(callee) &&
           !fixedFunctions.contains(callee);
  }
  // What ends a region has the types of what the region is of.
  if (op->hasTrait<OpTrait::IsTerminator>() && op->getNumSuccessors() == 0)
    return !restored.contains(op->getParentOp());
  if (isa<ReshapeOp, EmptyOp, AssumeLayoutOp>(op))
    return true;
  static constexpr StringLiteral kDialects[] = {
      "arith", "cf", "complex", "linalg", "math", "scf", "tensor", "ub"};
  return llvm::is_contained(kDialects, op->getName().getDialectNamespace()) &&
         !isa<tensor::CastOp>(op);
}

//===----------------------------------------------------------------------===//
// The change and the way back
//===----------------------------------------------------------------------===//

OldTypes AssignLayoutsPass::getTypes(Operation *op) {
  OldTypes types;
  llvm::append_range(types.operands, op->getOperandTypes());
  llvm::append_range(types.results, op->getResultTypes());
  for (Region &region : op->getRegions())
    if (!region.empty())
      llvm::append_range(types.arguments, region.front().getArgumentTypes());
  types.value = op->getAttr("value");
  return types;
}

static Attribute withType(Attribute value, Type type) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(value);
  return elements ? elements.reshape(cast<ShapedType>(type)) : value;
}

/// Functions of other dialects have types that only they can make: a signature
/// in which nothing changes stays as it is.
static void convertSignature(FunctionOpInterface function,
                             TypeAssignment &assignment) {
  auto convertTypes = [&](ArrayRef<Type> types) {
    return llvm::map_to_vector(
        types, [&](Type type) { return assignment.convert(type); });
  };
  auto arguments = convertTypes(function.getArgumentTypes());
  auto results = convertTypes(function.getResultTypes());
  if (ArrayRef(arguments) != function.getArgumentTypes() ||
      ArrayRef(results) != function.getResultTypes())
    function.setType(function.cloneTypeWith(arguments, results));
}

void AssignLayoutsPass::convert(Operation *op, TypeAssignment &assignment) {
  auto convertValue = [&](Value value) {
    Type type = assignment.convert(value.getType());
    numAssigned += type != value.getType();
    value.setType(type);
  };
  llvm::for_each(op->getResults(), convertValue);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::for_each(block.getArguments(), convertValue);
  if (auto function = dyn_cast<FunctionOpInterface>(op);
      function && mayChange(op))
    convertSignature(function, assignment);
  if (op->hasTrait<OpTrait::ConstantLike>() && op->getNumResults() == 1)
    if (isa<RankedTensorType>(op->getResult(0).getType()))
      if (Attribute value = op->getAttr("value"))
        op->setAttr("value", withType(value, op->getResult(0).getType()));
}

Value AssignLayoutsPass::relayout(OpBuilder &builder, Location loc, Value value,
                                  Type type) {
  ++numRelayouts;
  return RelayoutOp::create(builder, loc, cast<RankedTensorType>(type), value)
      .getResult();
}

/// Gives `value` its old type, and its users a relayout to the new one. Users
/// that are relayouts take any layout: one more in front of them would move the
/// array twice, and once more in every run of the pass.
void AssignLayoutsPass::restoreValue(OpBuilder &builder, Value value,
                                     Type type) {
  Type newType = value.getType();
  if (newType == type)
    return;
  value.setType(type);
  auto needsNewType = [](OpOperand &use) {
    return !isa<RelayoutOp>(use.getOwner());
  };
  if (llvm::none_of(value.getUses(), needsNewType))
    return;
  Value laidOut = relayout(builder, value.getLoc(), value, newType);
  value.replaceUsesWithIf(laidOut, needsNewType);
}

/// Gives the results their old types. What a copy writes can be read from where
/// the copy is done.
void AssignLayoutsPass::restoreResults(Operation *op, ArrayRef<Type> types) {
  OpBuilder builder(op->getContext());
  auto copy = dyn_cast<CopyStartOp>(op);
  Operation *done = copy ? copy.getDone().getOperation() : nullptr;
  builder.setInsertionPointAfter(done ? done : op);
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    restoreValue(builder, result, type);
}

/// Gives the operand a value of its old type: what a relayout of ours reads, if
/// it has that type, or a relayout of its own.
void AssignLayoutsPass::restoreOperand(OpBuilder &builder, OpOperand &operand,
                                       Type type) {
  if (operand.get().getType() == type)
    return;
  auto producer = operand.get().getDefiningOp<RelayoutOp>();
  if (!producer || producer.getSource().getType() != type)
    return operand.set(
        relayout(builder, operand.getOwner()->getLoc(), operand.get(), type));
  operand.set(producer.getSource());
  if (producer.use_empty()) {
    producer.erase();
    --numRelayouts;
  }
}

void AssignLayoutsPass::restore(Operation *op, const OldTypes &old) {
  restored.insert(op);
  OpBuilder builder(op);
  for (auto [operand, type] :
       llvm::zip_equal(op->getOpOperands(), old.operands))
    restoreOperand(builder, operand, type);
  restoreResults(op, old.results);
  ArrayRef<Type> types = old.arguments;
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    builder.setInsertionPointToStart(&region.front());
    for (BlockArgument argument : region.getArguments()) {
      restoreValue(builder, argument, types.front());
      types = types.drop_front();
    }
  }
  if (old.value)
    op->setAttr("value", old.value);
}

/// Whether the operation itself, not what is inside, is content.
static bool isContent(Operation *op) {
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](mlir::Diagnostic &) { return success(); });
  return succeeded(op->getName().verifyInvariants(op));
}

/// Gives the results the types that follow from the new operands, if they do:
/// a comparison of laid-out tensors has a result of the same layout.
bool AssignLayoutsPass::inferResults(Operation *op) {
  auto infer = dyn_cast<InferTypeOpInterface>(op);
  SmallVector<Type> inferred, chosen(op->getResultTypes());
  if (!infer || failed(infer.inferReturnTypes(
                    op->getContext(), op->getLoc(), op->getOperands(),
                    op->getDiscardableAttrDictionary(),
                    op->getPropertiesStorage(), op->getRegions(), inferred)))
    return false;
  auto setTypes = [&](ArrayRef<Type> types) {
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
      result.setType(type);
  };
  setTypes(inferred);
  bool content = isContent(op);
  setTypes(chosen);
  if (content)
    restoreResults(op, inferred);
  return content;
}

void AssignLayoutsPass::runOnOperation() {
  FailureOr<LayoutRule> rule = getRule();
  if (failed(rule))
    return signalPassFailure();
  SymbolTableCollection tables;
  symbolTables = &tables;
  restored.clear();
  findFixedFunctions();
  TypeAssignment assignment(*rule);
  SmallVector<std::pair<Operation *, OldTypes>> ops;
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != getOperation())
      ops.emplace_back(op, getTypes(op));
  });
  for (auto &[op, old] : ops)
    convert(op, assignment);
  for (auto &[op, old] : ops) {
    // The types of a relayout are pinned, even one without a layout.
    if (isa<RelayoutOp>(op))
      restoreResults(op, old.results);
    else if (!mayChange(op) || (!isContent(op) && !inferResults(op)))
      restore(op, old);
  }
}
