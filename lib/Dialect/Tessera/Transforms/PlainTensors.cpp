//===- PlainTensors.cpp - Where upstream lays out buffers -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of a tensor survives bufferization where a value is handed on, or
// written in place. An operation that makes a new buffer, or a view with
// strides, does so as if tensors had no layouts; so it gets tensors without.
//
//===----------------------------------------------------------------------===//

#include "PlainTensors.h"

#include "tessera/Dialect/Tessera/IR/LayOutElements.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/VectorInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace tessera;

/// The type of a tensor that has a layout; null for others.
static RankedTensorType getLaidOutTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && getLayoutAttr(tensor) ? tensor : RankedTensorType();
}

static RankedTensorType dropLayout(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

static Value createRelayout(OpBuilder &builder, Location loc,
                            RankedTensorType type, Value source) {
  return RelayoutOp::create(builder, loc, type, source).getResult();
}

static bool hasLaidOutTensor(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), getLaidOutTensor) ||
         llvm::any_of(op->getResultTypes(), getLaidOutTensor);
}

//===----------------------------------------------------------------------===//
// Which operations
//===----------------------------------------------------------------------===//

/// Whether the operation hands tensors on, to its regions, other blocks or
/// functions, or says itself which buffers it makes.
static bool handsTensorsOn(Operation *op) {
  return isa<AllocTensorOp, BranchOpInterface, CallOpInterface,
             RegionBranchOpInterface, arith::SelectOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>() ||
         isa_and_nonnull<TesseraDialect>(op->getDialect());
}

/// Whether the operation reads or writes a part of a tensor at once.
static bool takesPart(Operation *op) {
  return isa<OffsetSizeAndStrideOpInterface, VectorTransferOpInterface>(op);
}

/// Whether the results are the operands that the operation writes to.
static bool writesInPlace(Operation *op) {
  auto writer = dyn_cast<DestinationStyleOpInterface>(op);
  return writer && llvm::all_of(op->getResults(), [&](OpResult result) {
           OpOperand *init = writer.getTiedOpOperand(result);
           return init && init->get().getType() == result.getType();
         });
}

/// Whether a cast only forgets or learns sizes.
static bool keepsEncoding(tensor::CastOp cast) {
  auto from = dyn_cast<RankedTensorType>(cast.getSource().getType());
  auto to = dyn_cast<RankedTensorType>(cast.getType());
  return from && to && from.getEncoding() == to.getEncoding();
}

/// Whether the tensor stands for a memref of its own layout.
static bool keepsLayout(ToTensorOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return false;
  llvm::Expected<MemRefType> buffer = getMemRefType(type);
  if (buffer)
    return *buffer == op.getBuffer().getType();
  llvm::consumeError(buffer.takeError());
  return false;
}

static bool isTensorConstant(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  auto type = constant ? dyn_cast<RankedTensorType>(constant.getType())
                       : RankedTensorType();
  return type && (!type.getEncoding() || getLayoutAttr(type));
}

/// Whether buffers of the operation would not have the layouts of its tensors.
/// Operations without the interface are refused later, by name.
static bool needsPlainTensors(Operation *op) {
  if (isTensorConstant(op))
    return true;
  if (!hasLaidOutTensor(op) || !isa<BufferizableOpInterface>(op))
    return false;
  // A loop whose iterations write parts of its results in parallel.
  if (isa<scf::ForallOp>(op) || takesPart(op))
    return true;
  if (handsTensorsOn(op) || writesInPlace(op))
    return false;
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return !keepsEncoding(cast);
  if (auto toTensor = dyn_cast<ToTensorOp>(op))
    return !keepsLayout(toTensor);
  return llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Whether the use is by an insertion that is done in parallel with others. It
/// takes tensors with or without layouts, and nothing may stand beside it.
static bool isInParallelGroup(OpOperand &use) {
  return isa_and_nonnull<scf::InParallelOp>(use.getOwner()->getParentOp());
}

/// Gives `value`, a result or an argument of a region, a type without a layout;
/// what uses it gets it relayouted, at the insertion point.
static void makePlain(RewriterBase &rewriter, Value value) {
  RankedTensorType type = getLaidOutTensor(value.getType());
  if (!type)
    return;
  value.setType(dropLayout(type));
  if (llvm::all_of(value.getUses(), isInParallelGroup))
    return;
  Value relayout = createRelayout(rewriter, value.getLoc(), type, value);
  rewriter.replaceUsesWithIf(value, relayout, [&](OpOperand &use) {
    return use.getOwner() != relayout.getDefiningOp() &&
           !isInParallelGroup(use);
  });
}

/// Gives the operation tensors without layouts, if it takes them.
static LogicalResult makePlain(RewriterBase &rewriter, Operation *op) {
  auto group = dyn_cast<scf::InParallelOp>(op->getParentOp());
  rewriter.setInsertionPoint(group ? group : op);
  for (OpOperand &operand : op->getOpOperands())
    if (RankedTensorType type = getLaidOutTensor(operand.get().getType()))
      operand.set(createRelayout(rewriter, op->getLoc(), dropLayout(type),
                                 operand.get()));
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments()) {
      rewriter.setInsertionPointToStart(argument.getOwner());
      makePlain(rewriter, argument);
    }
  rewriter.setInsertionPointAfter(op);
  for (OpResult result : op->getResults())
    makePlain(rewriter, result);
  if (op->getNumRegions() != 0)
    return success();
  SilentDiagnostics ignore(op->getContext());
  return mlir::verify(op, /*verifyRecursively=*/false);
}

/// Whether a cast changes nothing but the layout.
static bool isRelayout(tensor::CastOp cast) {
  auto from = dyn_cast<RankedTensorType>(cast.getSource().getType());
  auto to = dyn_cast<RankedTensorType>(cast.getType());
  return from && to && from.getShape() == to.getShape();
}

static void replaceByRelayout(RewriterBase &rewriter, tensor::CastOp cast) {
  rewriter.setInsertionPoint(cast);
  rewriter.replaceOp(
      cast, createRelayout(rewriter, cast.getLoc(),
                           mlir::cast<RankedTensorType>(cast.getType()),
                           cast.getSource()));
}

/// The same elements as a tensor without a layout; null where we cannot tell.
static TypedAttr dropLayout(ElementsAttr elements) {
  RankedTensorType type =
      dropLayout(cast<RankedTensorType>(elements.getShapedType()));
  return llvm::TypeSwitch<Attribute, TypedAttr>(elements)
      .Case([&](DenseElementsAttr dense) { return dense.reshape(type); })
      .Case([&](DenseResourceElementsAttr resource) {
        return DenseResourceElementsAttr::get(type, resource.getRawHandle());
      })
      .Case([&](SparseElementsAttr sparse) {
        return SparseElementsAttr::get(type, sparse.getIndices(),
                                       sparse.getValues());
      })
      .Default([](Attribute) { return TypedAttr(); });
}

int64_t tessera::getBufferAlignment(TargetAttr target, MemRefType type,
                                    int64_t alignment) {
  llvm::Expected<int64_t> number = getMemorySpaceNumber(type);
  if (!number) {
    llvm::consumeError(number.takeError());
    return alignment;
  }
  std::optional<MemorySpace> space =
      target ? target.findSpace(*number) : std::nullopt;
  return space ? std::max(alignment, space->alignment) : alignment;
}

namespace {
/// Makes globals of constants, one for all that are equal. It also makes those
/// of constants without layouts, because upstream reuses any global with the
/// same elements, even if its layout differs.
class ConstantGlobals {
public:
  explicit ConstantGlobals(const BufferizationOptions &options)
      : options(options) {}

  /// Replaces a constant. In another space than 0 it is relayouted: memory
  /// there has no contents when a program starts.
  void replace(RewriterBase &rewriter, arith::ConstantOp constant);

private:
  memref::GlobalOp getGlobal(OpBuilder &builder, arith::ConstantOp constant,
                             MemRefType type, TypedAttr elements);

  const BufferizationOptions &options;
  SymbolTableCollection symbolTables;
  llvm::DenseMap<std::tuple<Operation *, Type, Attribute>, memref::GlobalOp>
      globals;
};
} // namespace

memref::GlobalOp ConstantGlobals::getGlobal(OpBuilder &builder,
                                            arith::ConstantOp constant,
                                            MemRefType type,
                                            TypedAttr elements) {
  auto module = constant->getParentOfType<ModuleOp>();
  memref::GlobalOp &global = globals[{module, type, elements}];
  if (global)
    return global;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  global = memref::GlobalOp::create(
      builder, constant.getLoc(), "tessera_constant",
      builder.getStringAttr("private"), type, elements, /*constant=*/true,
      builder.getI64IntegerAttr(getBufferAlignment(
          TargetAttr::lookup(module), type, options.bufferAlignment)));
  symbolTables.getSymbolTable(module).insert(global);
  return global;
}

/// The memref that a constant can be a global of: that of its layout, or a
/// plain one.
static MemRefType getGlobalType(RankedTensorType type, ElementsAttr elements) {
  llvm::Expected<MemRefType> buffer = getMemRefType(type);
  if (buffer && !buffer->getMemorySpace() &&
      canLayOutElements(*buffer, elements))
    return *buffer;
  if (!buffer)
    llvm::consumeError(buffer.takeError());
  return MemRefType::get(type.getShape(), type.getElementType());
}

void ConstantGlobals::replace(RewriterBase &rewriter,
                              arith::ConstantOp constant) {
  if (constant->use_empty())
    return rewriter.eraseOp(constant);
  Location loc = constant.getLoc();
  auto elements = cast<ElementsAttr>(constant.getValue());
  TypedAttr plainElements = dropLayout(elements);
  if (!plainElements)
    return;
  auto type = cast<RankedTensorType>(constant.getType());
  MemRefType buffer = getGlobalType(type, elements);
  memref::GlobalOp global =
      getGlobal(rewriter, constant, buffer, plainElements);
  rewriter.setInsertionPoint(constant);
  Value memref =
      memref::GetGlobalOp::create(rewriter, loc, buffer, global.getSymName());
  RankedTensorType held = getLayoutAttr(buffer) ? type : dropLayout(type);
  Value value = ToTensorOp::create(rewriter, loc, held, memref,
                                   /*restrict=*/true);
  rewriter.replaceOp(constant,
                     held == type ? value
                                  : createRelayout(rewriter, loc, type, value));
}

/// Refuses constants that no buffer holds. Upstream's folds make some of
/// dynamic shapes (`arith.xori %a, %a`), and its parser takes `dense<>` for any
/// number of elements that is 0 in 64 bits.
static LogicalResult checkSizes(arith::ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  if (!type.hasStaticShape())
    return constant.emitOpError("unsupported dimensions: expected sizes that "
                                "are known, found ")
           << type << "; bufferize before --canonicalize";
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (axes)
    return success();
  return emitLayoutError([&] { return constant.emitOpError(); },
                         axes.takeError());
}

FailureOr<int64_t>
tessera::makeTensorsPlain(ModuleOp module,
                          const BufferizationOptions &options) {
  // Loops before what is in them.
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (needsPlainTensors(op))
      ops.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  ConstantGlobals constants(options);
  for (Operation *op : ops) {
    auto tensorCast = dyn_cast<tensor::CastOp>(op);
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (constant && failed(checkSizes(constant)))
      return failure();
    if (constant)
      constants.replace(rewriter, constant);
    else if (tensorCast && isRelayout(tensorCast))
      replaceByRelayout(rewriter, tensorCast);
    else if (failed(makePlain(rewriter, op)))
      return op->emitOpError(
          "unsupported on tensors with layouts: expected an operation that "
          "takes tensors without layouts, too; put tessera.relayout around one "
          "that does");
  }
  return static_cast<int64_t>(ops.size());
}
