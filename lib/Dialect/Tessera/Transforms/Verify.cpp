//===- Verify.cpp - Rules about layouts of a whole module -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "PeakMemory.h"
#include "tessera/Dialect/Tessera/IR/CopyUtils.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Layout/Bitcast.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFY
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// verify_c3: the end of a buffer with a tail.
static llvm::Error checkTail(const Layout &layout, int64_t storageBits,
                             std::optional<MemorySpace> space) {
  int64_t alignment = layout.tailPaddingAlignment, bits = 0;
  if (alignment == 1)
    return llvm::Error::success();
  if (llvm::MulOverflow(alignment, storageBits, bits) || bits % 8 != 0)
    return invalidError(
        "verify_c3", "tail padding L", "a multiple of whole bytes",
        Twine(alignment) + " elements of " + Twine(storageBits) + " bits",
        "make L a multiple of 8");
  int64_t bytes = bits / 8;
  if (!space || bytes % space->alignment == 0 || space->alignment % bytes == 0)
    return llvm::Error::success();
  return invalidError("verify_c3", "tail padding L",
                      "a multiple or divisor of the " +
                          Twine(space->alignment) + " bytes that space " +
                          Twine(space->number) + " aligns to",
                      Twine(bytes) + " bytes");
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// What may be wrong with a type alone; verify_c2 and what is unsupported.
static llvm::Error checkType(ShapedType type, TargetAttr target) {
  llvm::Expected<int64_t> number = getMemorySpaceNumber(type);
  if (!number)
    return number.takeError();
  std::optional<MemorySpace> space;
  if (target && !(space = target.findSpace(*number)))
    return invalidError("verify_c2", "memory space",
                        "a space of the target \"" + target.getName() + "\"",
                        Twine(*number));
  LayoutAttrInterface attr = getLayoutAttr(type);
  auto layout = attr ? attr.asLayout(type.getRank()) : std::nullopt;
  if (!layout)
    return llvm::Error::success();
  llvm::Expected<PrimitiveType> elementType =
      getPrimitiveType(type.getElementType());
  if (!elementType)
    return elementType.takeError();
  if (llvm::Error error = checkSupported(*layout, *elementType))
    return error;
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (!axes)
    return axes.takeError();
  return checkTail(*layout, attr.getStorageBits(*elementType), space);
}

/// The value that `memref` is a view of.
static Value getUnderlying(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

namespace {
struct VerifyPass : tessera::impl::VerifyBase<VerifyPass> {
  void runOnOperation() override;

private:
  /// A diagnostic that makes the pass fail.
  InFlightDiagnostic report(Location location, const Twine &message);
  InFlightDiagnostic report(Location location, llvm::Error error);

  void checkTypeOfValue(Type type, Location location);
  void checkTypes(Operation *op);
  void checkCast(memref::CastOp op);
  void checkCopy(CopyStartOp op);
  void checkBitcast(BitcastOp op);
  void checkTranspose(linalg::TransposeOp op);
  void checkConcat(tensor::ConcatOp op);
  void checkOneType(Operation *op);
  void checkCapacity(FunctionOpInterface function);

  TargetAttr target;
  bool hasReported = false;
};
} // namespace

InFlightDiagnostic VerifyPass::report(Location location, const Twine &message) {
  hasReported = true;
  ++numReports;
  return emitError(location, message);
}

InFlightDiagnostic VerifyPass::report(Location location, llvm::Error error) {
  return report(location, takeDiagnostic(std::move(error)).message());
}

void VerifyPass::checkTypeOfValue(Type type, Location location) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!isa<RankedTensorType, MemRefType>(type))
    return;
  // verify_c1
  auto emit = [&] { return report(location, ""); };
  if (failed(verifyLayout(shaped, emit)))
    return;
  if (llvm::Error error = checkType(shaped, target))
    report(location, std::move(error));
}

void VerifyPass::checkTypes(Operation *op) {
  for (Value result : op->getResults())
    checkTypeOfValue(result.getType(), op->getLoc());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        checkTypeOfValue(argument.getType(), argument.getLoc());
  // Functions without a body have types only.
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || !function.isExternal())
    return;
  for (Type type : function.getArgumentTypes())
    checkTypeOfValue(type, op->getLoc());
  for (Type type : function.getResultTypes())
    checkTypeOfValue(type, op->getLoc());
}

void VerifyPass::checkCast(memref::CastOp op) {
  auto from = dyn_cast<MemRefType>(op.getSource().getType());
  auto to = dyn_cast<MemRefType>(op.getType());
  if (!from || !to)
    return;
  // verify_c4
  if (auto value = getPaddingValue(to); value && getPaddingValue(from) != value)
    report(op.getLoc(),
           invalidError("verify_c4", "cast", "no promise about padding",
                        "PV(" + ::tessera::getName(*value) + ")",
                        "tessera.relayout fills padding"));
  llvm::Expected<int64_t> fromBytes = getStorageBytes(from);
  llvm::Expected<int64_t> toBytes = getStorageBytes(to);
  if (fromBytes && toBytes && *fromBytes != kDynamic && *fromBytes < *toBytes)
    report(op.getLoc(), invalidError("verify_c4", "cast",
                                     "at most the " + Twine(*fromBytes) +
                                         " bytes of the operand",
                                     Twine(*toBytes) + " bytes"));
  llvm::consumeError(fromBytes.takeError());
  llvm::consumeError(toBytes.takeError());
}

void VerifyPass::checkCopy(CopyStartOp start) {
  if (start.isTensorForm())
    return;
  // verify_c5
  Value source = getUnderlying(start.getSource());
  Value destination = getUnderlying(start.getDestination());
  auto check = [&](Operation *op) {
    auto interface = dyn_cast<MemoryEffectOpInterface>(op);
    if (!interface)
      return;
    SmallVector<MemoryEffects::EffectInstance> effects;
    interface.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (!effect.getValue())
        continue;
      Value memory = getUnderlying(effect.getValue());
      bool isWrite = isa<MemoryEffects::Write>(effect.getEffect());
      if (memory != destination && !(memory == source && isWrite))
        continue;
      report(op->getLoc(),
             invalidError("verify_c5", "use before the copy is done",
                          "the source unwritten and the destination untouched",
                          isWrite ? "a write" : "another effect",
                          "move it behind the copy_done"))
              .attachNote(start.getLoc())
          << "the copy starts here";
      return;
    }
  };
  for (Operation *op : getOperationsUnderWay(start))
    op->walk(check);
}

void VerifyPass::checkBitcast(BitcastOp op) {
  llvm::Expected<Shape> from = getShape(op.getSource().getType());
  llvm::Expected<Shape> to = getShape(op.getType());
  if (!from || !to) {
    llvm::consumeError(from.takeError());
    llvm::consumeError(to.takeError());
    return;
  }
  BitcastOptions options;
  options.ignoreMemorySpace = true;
  BitcastAnswer answer = mayBitcast(*from, *to, options);
  if (answer.answer == Answer::No)
    report(op.getLoc(), "invalid bitcast: " + answer.reason + " [bitcast_c1]");
}

/// Upstream folds a transposition that moves no dimension, alone or with those
/// before it, to its operand, also where that has another encoding. A folder
/// runs before all patterns, so nothing can be put in front of it.
void VerifyPass::checkTranspose(linalg::TransposeOp op) {
  if (op->getNumResults() == 0)
    return;
  Type type = op->getResult(0).getType();
  SmallVector<int64_t> permutation(op.getPermutation());
  for (linalg::TransposeOp first = op;;) {
    Value source = first.getInput();
    if (isIdentityPermutation(permutation) && source.getType() != type) {
      report(op.getLoc(),
             unsupportedError("linalg.transpose that moves no dimension",
                              "one type of the input and the result",
                              toText(source.getType()) + " and " + toText(type),
                              "canonicalization makes invalid IR of it; use "
                              "tessera.relayout"));
      return;
    }
    first = source.getDefiningOp<linalg::TransposeOp>();
    if (!first)
      return;
    permutation = applyPermutation(first.getPermutation(), permutation);
  }
}

/// Upstream canonicalizes a concatenation of fills with one value to one fill
/// of a tensor without an encoding.
void VerifyPass::checkConcat(tensor::ConcatOp op) {
  auto getFillValue = [](Value value) {
    auto fill = value.getDefiningOp<linalg::FillOp>();
    return fill ? fill.value() : Value();
  };
  if (!op.getType().getEncoding() ||
      !llvm::all_of(op.getInputs(), getFillValue) ||
      !llvm::all_equal(llvm::map_range(op.getInputs(), getFillValue)))
    return;
  report(op.getLoc(),
         unsupportedError("tensor.concat of linalg.fill with one value",
                          "a result without a layout", toText(op.getType()),
                          "canonicalization makes invalid IR of it; use "
                          "tessera.relayout behind it"));
}

/// Upstream's verifiers compare shapes, and the text has one type for all.
void VerifyPass::checkOneType(Operation *op) {
  if (!op->hasTrait<OpTrait::SameOperandsAndResultType>())
    return;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return;
  // verify_c7
  for (Type other : op->getOperandTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(other);
    if (!tensor || tensor.getEncoding() == type.getEncoding())
      continue;
    report(op->getLoc(),
           invalidError("verify_c7",
                        "operand of " + op->getName().getStringRef(),
                        "the layout of the result, " + toText(type),
                        toText(other), "put tessera.relayout in front"));
    return;
  }
}

void VerifyPass::checkCapacity(FunctionOpInterface function) {
  if (!target || function.isExternal())
    return;
  // verify_c6
  for (const MemorySpace &space : target.getMemorySpaces()) {
    if (space.capacity == 0)
      continue;
    PeakMemory peak = getPeakMemory(function, space);
    if (peak.bytes <= space.capacity)
      continue;
    InFlightDiagnostic diagnostic =
        report(function.getLoc(),
               invalidError("verify_c6",
                            "use of space " + Twine(space.number) + " (" +
                                space.name + ")",
                            "at most its capacity of " + Twine(space.capacity) +
                                " bytes live at once",
                            Twine(peak.bytes) + " bytes"));
    if (peak.operation)
      diagnostic.attachNote(peak.operation->getLoc())
          << "most is live at this operation";
  }
}

void VerifyPass::runOnOperation() {
  target = TargetAttr::lookup(getOperation());
  hasReported = false;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    checkTypes(op);
    if (auto cast = dyn_cast<memref::CastOp>(op))
      checkCast(cast);
    if (auto start = dyn_cast<CopyStartOp>(op))
      checkCopy(start);
    if (auto bitcast = dyn_cast<BitcastOp>(op))
      checkBitcast(bitcast);
    if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
      checkTranspose(transpose);
    if (auto concat = dyn_cast<tensor::ConcatOp>(op))
      checkConcat(concat);
    checkOneType(op);
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      checkCapacity(function);
  });
  if (hasReported)
    signalPassFailure();
  markAllAnalysesPreserved();
}
