//===- BufferizableOpInterfaceImpl.cpp - Buffers of tensors ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/Transforms/BufferizableOpInterfaceImpl.h"
#include "tessera/Dialect/Tessera/IR/AxisArithmetic.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Layout/Bitcast.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace tessera;

/// The buffer of a tensor of that type, or an error at `op`.
static FailureOr<MemRefType> getBufferTypeOf(Operation *op, Type tensor) {
  llvm::Expected<MemRefType> type =
      getMemRefType(cast<RankedTensorType>(tensor));
  if (type)
    return *type;
  (void)emitLayoutError([&] { return op->emitOpError(); }, type.takeError());
  return failure();
}

/// Whether two tensors of the same dimensions have the same layout, one of them
/// perhaps by not writing it.
static bool haveSameLayout(RankedTensorType lhs, RankedTensorType rhs) {
  llvm::Expected<Layout> left = getLayout(lhs), right = getLayout(rhs);
  bool same = left && right && *left == *right;
  if (!left)
    llvm::consumeError(left.takeError());
  if (!right)
    llvm::consumeError(right.takeError());
  return same;
}

/// Whether the elements lie in row-major order, without padding and promises.
static bool isRowMajor(ShapedType type) {
  llvm::Expected<Layout> layout = getLayout(type);
  if (!layout) {
    llvm::consumeError(layout.takeError());
    return false;
  }
  Layout descending = Layout::descending(type.getRank());
  descending.memorySpace = layout->memorySpace;
  return *layout == descending;
}

/// The same memref without a layout.
static MemRefType dropLayout(MemRefType type) {
  return MemRefType::get(type.getShape(), type.getElementType(),
                         MemRefLayoutAttrInterface(), type.getMemorySpace());
}

static Value viewAs(OpBuilder &builder, Location loc, Value memref,
                    MemRefType type) {
  if (memref.getType() == type)
    return memref;
  return BitcastViewOp::create(builder, loc, type, memref);
}

/// A new buffer for `tensor`, the result of an operation; `sizes` is a tensor
/// with the same dynamic dimensions.
static FailureOr<Value> allocateFor(RewriterBase &rewriter, OpResult tensor,
                                    Value sizes,
                                    const BufferizationOptions &options) {
  FailureOr<MemRefType> type =
      getBufferTypeOf(tensor.getOwner(), tensor.getType());
  if (failed(type))
    return failure();
  SmallVector<Value> dynamicSizes;
  populateDynamicDimSizes(rewriter, tensor.getLoc(), sizes, dynamicSizes);
  return options.createAlloc(rewriter, tensor.getLoc(), *type, dynamicSizes);
}

/// The buffer of the operand, which is read by the layout of its tensor type. A
/// part of a plain buffer, which has strides, is copied unless the operation
/// takes strides: no layout says them.
static FailureOr<Value> getLaidOutBuffer(RewriterBase &rewriter, Operation *op,
                                         const BufferizationOptions &options,
                                         const BufferizationState &state,
                                         bool takesStrides = false) {
  Value tensor = op->getOperand(0);
  FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
  FailureOr<MemRefType> type = getBufferTypeOf(op, tensor.getType());
  if (failed(buffer) || failed(type))
    return failure();
  auto found = cast<MemRefType>(buffer->getType());
  bool isPart = getStridedMemRef(found) && !getLayoutAttr(*type);
  if (found == *type || (isPart && takesStrides))
    return buffer;
  if (getLayoutAttr(found) || getLayoutAttr(*type))
    return op->emitOpError("unsupported operand: expected a buffer of type ")
           << *type << ", as its tensor is laid out, found " << found
           << "; use tessera.relayout behind what makes the tensor";
  SmallVector<Value> sizes;
  populateDynamicDimSizes(rewriter, op->getLoc(), tensor, sizes);
  FailureOr<Value> whole =
      options.createAlloc(rewriter, op->getLoc(), *type, sizes);
  if (failed(whole) ||
      failed(options.createMemCpy(rewriter, op->getLoc(), *buffer, *whole)))
    return failure();
  return whole;
}

namespace {
/// What the interfaces of all operations below have in common: operands are
/// read and never written, results have the memref of their type.
template <typename Model, typename OpTy>
struct ReadOnlyModel : BufferizableOpInterface::ExternalModel<Model, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  FailureOr<BufferLikeType> getBufferType(Operation *op, Value value,
                                          const BufferizationOptions &,
                                          const BufferizationState &,
                                          SmallVector<Value> &) const {
    FailureOr<MemRefType> type = getBufferTypeOf(op, value.getType());
    if (failed(type))
      return failure();
    return cast<BufferLikeType>(*type);
  }
};

/// relayout and assume_layout.
template <typename OpTy>
struct RelayoutModel : ReadOnlyModel<RelayoutModel<OpTy>, OpTy> {
  static bool isCopy(Operation *op) {
    return !haveSameLayout(cast<RankedTensorType>(op->getOperand(0).getType()),
                           cast<RankedTensorType>(op->getResult(0).getType()));
  }
  bool bufferizesToAllocation(Operation *op, Value) const { return isCopy(op); }
  bool bufferizesToMemoryRead(Operation *op, OpOperand &,
                              const AnalysisState &) const {
    return isCopy(op);
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    if (isCopy(op))
      return {};
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<Value> source = getLaidOutBuffer(rewriter, op, options, state,
                                               /*takesStrides=*/isCopy(op));
    if (failed(source))
      return failure();
    if (!isCopy(op)) {
      FailureOr<MemRefType> type =
          getBufferTypeOf(op, op->getResult(0).getType());
      if (failed(type))
        return failure();
      replaceOpWithNewBufferizedOp<BitcastViewOp>(rewriter, op, *type, *source);
      return success();
    }
    FailureOr<Value> target =
        allocateFor(rewriter, op->getResult(0), op->getOperand(0), options);
    if (failed(target))
      return failure();
    RelayoutOp::create(rewriter, op->getLoc(), *source, *target);
    replaceOpWithBufferizedValues(rewriter, op, *target);
    return success();
  }
};

/// The model of operations whose result is a view of the operand's bytes.
template <typename Model, typename OpTy>
struct ViewModel : ReadOnlyModel<Model, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Unknown}};
  }
};

struct BitcastModel : ViewModel<BitcastModel, BitcastOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<Value> source = getLaidOutBuffer(rewriter, op, options, state);
    FailureOr<MemRefType> type =
        getBufferTypeOf(op, op->getResult(0).getType());
    if (failed(source) || failed(type))
      return failure();
    replaceOpWithNewBufferizedOp<BitcastViewOp>(rewriter, op, *type, *source);
    return success();
  }
};

/// A view between row-major buffers, which is what `tessera-expand-ops` makes
/// of all reshapes.
struct ReshapeModel : ViewModel<ReshapeModel, ReshapeOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<Value> source = getLaidOutBuffer(rewriter, op, options, state);
    FailureOr<MemRefType> type =
        getBufferTypeOf(op, op->getResult(0).getType());
    if (failed(source) || failed(type))
      return failure();
    auto from = cast<MemRefType>(source->getType());
    if (!isRowMajor(from) || !isRowMajor(*type) ||
        from.getMemorySpace() != type->getMemorySpace())
      return op->emitOpError(
          "unsupported reshape: expected row-major order on both sides, in one "
          "memory space; run --tessera-expand-ops first");
    Location loc = op->getLoc();
    Value flat = viewAs(rewriter, loc, *source, dropLayout(from));
    SmallVector<OpFoldResult> sizes = buildReshapedSizes(
        rewriter, loc, memref::getMixedSizes(rewriter, loc, flat),
        type->getShape());
    SmallVector<OpFoldResult> strides =
        memref::computeStridesIRBlock(loc, rewriter, sizes);
    Value view = memref::ReinterpretCastOp::create(
        rewriter, loc, dropLayout(*type), flat, rewriter.getIndexAttr(0), sizes,
        strides);
    replaceOpWithBufferizedValues(rewriter, op,
                                  viewAs(rewriter, loc, view, *type));
    return success();
  }
};

struct EmptyModel : ReadOnlyModel<EmptyModel, EmptyOp> {
  bool bufferizesToAllocation(Operation *, Value) const { return true; }
  bool resultBufferizesToMemoryWrite(Operation *, OpResult,
                                     const AnalysisState &) const {
    // What is there need not be kept.
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &) const {
    auto empty = cast<EmptyOp>(op);
    FailureOr<MemRefType> type = getBufferTypeOf(op, empty.getType());
    if (failed(type))
      return failure();
    FailureOr<Value> buffer = options.createAlloc(rewriter, op->getLoc(), *type,
                                                  empty.getDynamicSizes());
    if (failed(buffer))
      return failure();
    if (getPaddingValue(*type))
      FillPaddingOp::create(rewriter, op->getLoc(), *buffer);
    replaceOpWithBufferizedValues(rewriter, op, *buffer);
    return success();
  }
};
} // namespace

void tessera::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TesseraDialect *) {
    RelayoutOp::attachInterface<RelayoutModel<RelayoutOp>>(*context);
    AssumeLayoutOp::attachInterface<RelayoutModel<AssumeLayoutOp>>(*context);
    BitcastOp::attachInterface<BitcastModel>(*context);
    EmptyOp::attachInterface<EmptyModel>(*context);
    ReshapeOp::attachInterface<ReshapeModel>(*context);
  });
}

/// The buffer of a tensor; of one whose layout has none (which the verifiers of
/// operations refuse) a memref without the layout.
static BaseMemRefType convertTensorType(TensorType type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return UnrankedMemRefType::get(type.getElementType(), Attribute());
  llvm::Expected<MemRefType> memref = getMemRefType(ranked);
  if (memref)
    return *memref;
  llvm::consumeError(memref.takeError());
  return MemRefType::get(ranked.getShape(), ranked.getElementType());
}

OneShotBufferizationOptions tessera::getBufferizationOptions() {
  OneShotBufferizationOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.allowReturnAllocsFromLoops = true;
  options.inferFunctionResultLayout = false;
  options.functionArgTypeConverterFn = [](TensorLikeType type, Attribute,
                                          func::FuncOp,
                                          const BufferizationOptions &) {
    return cast<BufferLikeType>(convertTensorType(cast<TensorType>(type)));
  };
  options.unknownTypeConverterFn = [](TensorType type, Attribute,
                                      const BufferizationOptions &) {
    return convertTensorType(type);
  };
  options.defaultMemorySpaceFn =
      [](TensorType type) -> std::optional<Attribute> {
    return convertTensorType(type).getMemorySpace();
  };
  return options;
}
