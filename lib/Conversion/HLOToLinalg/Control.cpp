//===- Control.cpp - Tuples, calls, loops and branches --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

//===----------------------------------------------------------------------===//
// Values that are other values
//===----------------------------------------------------------------------===//

/// `tuple` and what else hands its operands on.
LogicalResult hlo::convertForward(HLOConverter &c, InstructionOp op) {
  SmallVector<Value> leaves = c.getAllLeaves(op.getOperands());
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (leaves.size() != types.size())
    return emitUnsupported(op, "result", "the operands");
  for (auto [leaf, type] : llvm::zip(leaves, types))
    if (!c.isScalar())
      leaf = c.relayout(leaf, type);
  c.setLeaves(op.getResult(), leaves);
  return success();
}

static LogicalResult convertGetTupleElement(HLOConverter &c, InstructionOp op) {
  auto tuple = dyn_cast<TupleType>(op.getOperand(0).getType());
  int64_t number = getInteger(op, "index", -1);
  if (!tuple || number < 0 || size_t(number) >= tuple.size())
    return emitUnsupported(op, "index", "one of a tuple", Twine(number));
  size_t first = getSignlessLeaves(tuple.getTypes().take_front(number)).size();
  size_t count = getLeafTypes(tuple.getType(number)).size();
  SmallVector<Value> leaves(c.getLeaves(op.getOperand(0)));
  c.setLeaves(op.getResult(), ArrayRef(leaves).slice(first, count));
  return success();
}

/// `copy-start` whose result is used by more than a `copy-done`: the copy, the
/// operand, and a context that nothing reads.
static LogicalResult convertCopyStart(HLOConverter &c, InstructionOp op) {
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  SmallVector<Value> source(c.getLeaves(op.getOperand(0)));
  if (source.size() != 1 || types.size() < 2)
    return emitUnsupported(op, "operand", "an array");
  SmallVector<Value> leaves{c.relayout(source[0], types[0]), source[0]};
  for (Type type : ArrayRef(types).drop_front(2))
    leaves.push_back(EmptyOp::create(c.b, type, ValueRange()));
  c.setLeaves(op.getResult(), leaves);
  return success();
}

static LogicalResult convertCopyDone(HLOConverter &c, InstructionOp op) {
  SmallVector<Value> leaves(c.getLeaves(op.getOperand(0)));
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (leaves.empty() || types.size() != 1)
    return emitUnsupported(op, "operand", "a copy-start");
  c.setLeaves(op.getResult(), c.relayout(leaves.front(), types.front()));
  return success();
}

//===----------------------------------------------------------------------===//
// Calls, loops, branches
//===----------------------------------------------------------------------===//

LogicalResult hlo::convertCallOf(HLOConverter &c, InstructionOp op,
                                 func::FuncOp computation) {
  SmallVector<Value> arguments = c.getAllLeaves(op.getOperands());
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  if (c.isScalar()) {
    Elements results = c.apply(computation, arguments);
    if (failed(results))
      return failure();
    c.setLeaves(op.getResult(), *results);
    return success();
  }
  if (getSignlessLeaves(computation.getArgumentTypes()).size() !=
          arguments.size() ||
      getSignlessLeaves(computation.getResultTypes()).size() != types.size())
    return emitUnsupported(op, "computation", "one for these operands",
                           computation.getSymName());
  c.setLeaves(op.getResult(), c.call(computation, arguments, types));
  return success();
}

static LogicalResult convertCall(HLOConverter &c, InstructionOp op,
                                 StringRef attribute) {
  func::FuncOp computation = c.getComputation(op, attribute);
  return computation ? convertCallOf(c, op, computation) : failure();
}

static LogicalResult convertFusion(HLOConverter &c, InstructionOp op) {
  return convertCall(c, op, "calls");
}

static LogicalResult convertToApply(HLOConverter &c, InstructionOp op) {
  return convertCall(c, op, "to_apply");
}

/// The scalar of an array without dimensions.
static Value getScalar(HLOConverter &c, Value array) {
  return tensor::ExtractOp::create(c.b, array, ValueRange());
}

/// The state of a loop at its end. What the body hands on is not carried from
/// step to step.
static SmallVector<Value> emitLoop(HLOConverter &c, func::FuncOp condition,
                                   func::FuncOp body, SmallVector<Value> state,
                                   TypeRange types) {
  SmallVector<unsigned> carried;
  for (auto [number, type] : llvm::enumerate(types)) {
    state[number] = c.relayout(state[number], type);
    if (!c.isInvariant(body, number))
      carried.push_back(number);
  }
  auto select = [&](ValueRange values) {
    return llvm::map_to_vector(carried,
                               [&](unsigned number) { return values[number]; });
  };
  auto setCarried = [&](ValueRange values) {
    for (auto [number, value] : llvm::zip(carried, values))
      state[number] = value;
  };
  auto at = [&](OpBuilder &builder, ValueRange values,
                llvm::function_ref<void()> emit) {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.restoreInsertionPoint(builder.saveInsertionPoint());
    setCarried(values);
    emit();
  };
  SmallVector<Type> flag = getSignlessLeaves(condition.getResultTypes());
  SmallVector<Value> inits = select(state);
  auto loop = scf::WhileOp::create(
      c.b, ValueRange(inits).getTypes(), inits,
      [&](OpBuilder &builder, Location, ValueRange values) {
        at(builder, values, [&] {
          Value goesOn = c.call(condition, state, flag).front();
          scf::ConditionOp::create(c.b, getScalar(c, goesOn), values);
        });
      },
      [&](OpBuilder &builder, Location, ValueRange values) {
        at(builder, values, [&] {
          scf::YieldOp::create(c.b, select(c.call(body, state, types)));
        });
      });
  setCarried(loop.getResults());
  return state;
}

/// Whether the result is one number of one bit.
static bool givesPred(func::FuncOp condition) {
  SmallVector<Type> types = getSignlessLeaves(condition.getResultTypes());
  auto type = types.size() == 1 ? cast<RankedTensorType>(types.front())
                                : RankedTensorType();
  return type && type.getRank() == 0 && type.getElementType().isInteger(1);
}

static LogicalResult convertWhile(HLOConverter &c, InstructionOp op) {
  func::FuncOp condition = c.getComputation(op, "condition");
  func::FuncOp body = c.getComputation(op, "body");
  if (!condition || !body)
    return failure();
  SmallVector<Value> inits = c.getAllLeaves(op.getOperands());
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  auto hasLeaves = [&](TypeRange list) {
    return getSignlessLeaves(list).size() == types.size();
  };
  if (c.isScalar() || inits.size() != types.size() ||
      !hasLeaves(condition.getArgumentTypes()) ||
      !hasLeaves(body.getArgumentTypes()) ||
      !hasLeaves(body.getResultTypes()) || !givesPred(condition))
    return emitUnsupported(op, "computations", "ones for the loop's state");
  SmallVector<Value> results =
      emitLoop(c, condition, body, SmallVector<Value>(inits), types);
  c.setLeaves(op.getResult(), results);
  return success();
}

/// The computations of a conditional, first the one for true or 0.
static SmallVector<func::FuncOp> getBranches(HLOConverter &c,
                                             InstructionOp op) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  SmallVector<func::FuncOp> branches;
  if (auto list = attributes
                      ? attributes.getAs<ArrayAttr>("branch_computations")
                      : ArrayAttr()) {
    for (auto name : list.getAsRange<FlatSymbolRefAttr>())
      branches.push_back(c.getComputation(op, name));
    return branches;
  }
  return {c.getComputation(op, "true_computation"),
          c.getComputation(op, "false_computation")};
}

/// Branches from `number` on; the last one takes every number that is left.
static SmallVector<Value> emitBranches(HLOConverter &c, InstructionOp op,
                                       ArrayRef<func::FuncOp> branches,
                                       Value selector, unsigned number) {
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  auto emit = [&](unsigned branch) {
    return c.call(branches[branch], c.getAllLeaves(op.getOperand(branch + 1)),
                  types);
  };
  if (number + 1 == branches.size())
    return emit(number);
  Value isHere = selector;
  if (!selector.getType().isInteger(1))
    isHere =
        arith::CmpIOp::create(c.b, arith::CmpIPredicate::eq, selector,
                              createScalar(c.b, selector.getType(), number));
  return *buildIf(
      c.b, isHere, [&]() -> Elements { return emit(number); },
      [&]() -> Elements {
        return emitBranches(c, op, branches, selector, number + 1);
      });
}

static LogicalResult convertConditional(HLOConverter &c, InstructionOp op) {
  SmallVector<func::FuncOp> branches = getBranches(c, op);
  if (llvm::is_contained(branches, func::FuncOp()))
    return failure();
  auto isFor = [&](unsigned number) {
    return getSignlessLeaves(branches[number].getArgumentTypes()).size() ==
               getSignlessLeaves(op.getOperand(number + 1).getType()).size() &&
           getSignlessLeaves(branches[number].getResultTypes()).size() ==
               getSignlessLeaves(op.getType()).size();
  };
  // Each stands in the branch of the one before.
  if (c.isScalar() || branches.empty() || branches.size() > 256 ||
      op.getOperands().size() != branches.size() + 1 ||
      !llvm::all_of(llvm::seq<unsigned>(0, branches.size()), isFor) ||
      getArrayType(op.getOperand(0)).getRank() != 0)
    return emitUnsupported(op, "computations", "ones for the operands");
  Value selector = getScalar(c, c.getLeaves(op.getOperand(0)).front());
  c.setLeaves(op.getResult(), emitBranches(c, op, branches, selector, 0));
  return success();
}

void hlo::populateControlConversions(InstructionConversions &conversions) {
  llvm::StringMap<ConvertInstruction> &table = conversions.instructions;
  for (StringRef opcode :
       {"tuple", "opt-barrier", "after-all", "add-dependency", "domain"})
    table[opcode] = convertForward;
  table["get-tuple-element"] = convertGetTupleElement;
  table["copy-start"] = convertCopyStart;
  table["copy-done"] = convertCopyDone;
  table["fusion"] = convertFusion;
  table["call"] = convertToApply;
  table["while"] = convertWhile;
  table["conditional"] = convertConditional;
}
