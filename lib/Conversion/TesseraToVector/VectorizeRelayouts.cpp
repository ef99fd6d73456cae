//===- VectorizeRelayouts.cpp - Relayouts become vector kernels -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlatView.h"
#include "Remarks.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/TesseraToVector/EmitRelayout.h"
#include "tessera/Conversion/TesseraToVector/MachineProfile.h"
#include "tessera/Dialect/Tessera/IR/CopyUtils.h"
#include "tessera/Dialect/Tessera/IR/LayOutElements.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Layout/PaddingBits.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Support/DebugStringHelper.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/RISCVTargetParser.h"
#include "llvm/TargetParser/X86TargetParser.h"

namespace tessera {
#define GEN_PASS_DEF_VECTORIZERELAYOUTS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static llvm::Error unsupportedRelayout(const llvm::Twine &expected,
                                       const llvm::Twine &found) {
  return unsupportedError("vector relayout", expected, found,
                          "lower it with --tessera-lower-relayouts");
}

namespace {
/// What of one side has to be known before anything is emitted.
struct VectorSide : StoredArray {
  /// Of a strided memref.
  std::optional<SmallVector<int64_t>> strides;

  PlanSide getPlanSide() const {
    return strides ? PlanSide::getStrided(axes, *strides) : PlanSide(axes);
  }
};
} // namespace

/// Elements from the first to the last one of an array whose elements lie at
/// `strides`, both included. Nothing where some share a position, or where rows
/// reach into one another, or beyond 64 bits.
static std::optional<int64_t> getExtent(ArrayRef<int64_t> sizes,
                                        ArrayRef<int64_t> strides) {
  SmallVector<std::pair<int64_t, int64_t>> byStride;
  for (auto [stride, size] : llvm::zip_equal(strides, sizes))
    byStride.emplace_back(stride, size);
  llvm::sort(byStride);
  int64_t extent = 1;
  for (auto [stride, size] : byStride) {
    if (size == 1)
      continue;
    if (size == 0)
      return 0;
    int64_t length;
    if (stride < extent || llvm::MulOverflow(stride, size - 1, length) ||
        llvm::AddOverflow(extent, length, extent))
      return std::nullopt;
  }
  return extent;
}

/// The strides of a memref that says them, 0 for dimensions of one element.
static llvm::Expected<SmallVector<int64_t>> getStrides(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [stride, size] : llvm::zip_equal(strides, type.getShape()))
    if (size == 1)
      stride = 0;
  if (!llvm::is_contained(strides, ShapedType::kDynamic) &&
      type.hasStaticShape() && getExtent(type.getShape(), strides))
    return strides;
  return unsupportedRelayout("sizes and strides of elements that lie apart",
                             debugString(type));
}

/// The side of a relayout that is a memref of `type`, if its elements are
/// stored as numbers of their own width.
static llvm::Expected<VectorSide> getSide(MemRefType type) {
  llvm::Expected<StoredArray> array = getStoredArray(type);
  if (!array)
    return array.takeError();
  Type element = array->physical.getElementType();
  int64_t bits = array->bits;
  // An i1 is a byte in memory, but a bit in a vector.
  bool isPacked = bits < 8;
  if (!element.isIntOrFloat() ||
      (!isPacked &&
       (element != type.getElementType() ||
        static_cast<int64_t>(element.getIntOrFloatBitWidth()) != bits)))
    return unsupportedRelayout("numbers stored with their own width",
                               llvm::Twine(bits) + " bits for each element");
  std::optional<SmallVector<int64_t>> strides;
  if (array->isStrided) {
    auto known = getStrides(type);
    if (!known)
      return known.takeError();
    strides = std::move(*known);
  }
  return VectorSide{std::move(*array), std::move(strides)};
}

/// A view of all elements from the first to the last one of a strided memref.
static Value flattenStrided(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  OpFoldResult begin = builder.getIndexAttr(offset);
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  if (ShapedType::isDynamic(offset))
    begin = metadata.getOffset();
  int64_t extent = *getExtent(type.getShape(), strides);
  auto flat =
      MemRefType::get({extent}, type.getElementType(),
                      StridedLayoutAttr::get(type.getContext(), offset, {1}),
                      type.getMemorySpace());
  return memref::ReinterpretCastOp::create(
      builder, loc, flat, metadata.getBaseBuffer(), begin,
      ArrayRef<OpFoldResult>{builder.getIndexAttr(extent)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

/// A view of all elements of a physical or strided memref in one dimension.
static Value flatten(OpBuilder &builder, Location loc, Value memref) {
  if (getStridedMemRef(memref.getType()))
    return flattenStrided(builder, loc, memref);
  return flattenPhysical(builder, loc, memref);
}

/// The value of the padding of a memref with PV, as an element, or as a byte of
/// them where they are packed.
static TypedAttr getPadding(MemRefType type, const VectorSide &side) {
  PrimitiveType primitive =
      llvm::cantFail(getPrimitiveType(type.getElementType()));
  return getScalarAttr(
      side.physical.getElementType(),
      getStoredPadding(primitive, *getPaddingValue(type), side.bits));
}

/// Whether LLVM knows a processor of that name.
static bool isProcessor(StringRef cpu) {
  return cpu == "generic" ||
         llvm::X86::parseArchX86(cpu) != llvm::X86::CK_None ||
         llvm::AArch64::parseCpu(cpu) ||
         llvm::RISCV::parseCPU(cpu, /*IsRV64=*/true);
}

/// Whether vectors move one side to the other.
static llvm::Error checkSides(const VectorSide &src, MemRefType srcType,
                              const VectorSide &dst, MemRefType dstType) {
  // Equal bounds serve as sizes: elements between size and bound may be moved.
  // Widths in PD do not, though they make the axes static.
  if (src.axes.dimensions() != dst.axes.dimensions() ||
      llvm::is_contained(dst.axes.dimensions(), kDynamic))
    return unsupportedRelayout("sizes, or the same bounds on both sides",
                               debugString(srcType) + " and " +
                                   debugString(dstType));
  if (src.physical.getElementType() != dst.physical.getElementType() ||
      src.bits != dst.bits)
    return unsupportedRelayout("one width on both sides",
                               llvm::Twine(src.bits) + " and " +
                                   llvm::Twine(dst.bits) + " bits");
  Type element = dstType.getElementType();
  if (getPaddingValue(dstType) && dst.bits >= 8 && element.isInteger() &&
      !element.isSignlessInteger())
    return unsupportedRelayout("signless integers where there is PV",
                               debugString(element));
  return llvm::Error::success();
}

static llvm::Error vectorize(Operation *op, const RelayoutTarget &target) {
  // Buffers of kernels are allocated in the function that they are in.
  if (!isInFunction(op))
    return unsupportedRelayout("a function around it", "one outside");
  Value source = op->getOperand(0), destination = op->getOperand(1);
  Location loc = op->getLoc();
  auto srcType = cast<MemRefType>(source.getType());
  auto dstType = cast<MemRefType>(destination.getType());
  auto src = getSide(srcType), dst = getSide(dstType);
  llvm::Error error = llvm::joinErrors(src.takeError(), dst.takeError());
  if (error)
    return error;
  if (llvm::Error error = checkSides(*src, srcType, *dst, dstType))
    return error;
  // Everything that can be refused is, before the first operation is made.
  int64_t bits = dst->bits;
  bool fillPadding = getPaddingValue(dstType).has_value();
  auto versions = planVersions(src->getPlanSide(), dst->getPlanSide(), bits,
                               fillPadding, target);
  if (!versions)
    return versions.takeError();
  OpBuilder builder(op);
  TypedAttr padding;
  if (fillPadding)
    padding = getPadding(dstType, *dst);
  Value from = flatten(builder, loc, source);
  Value to = flatten(builder, loc, destination);
  auto emitPlain = [&](OpBuilder &plain) {
    RelayoutOp::create(plain, loc, source, destination);
  };
  emitRelayout(builder, loc, from, to, *versions, padding, emitPlain);
  return llvm::Error::success();
}

/// What was measured of a relayout; null for nothing. Arrays that XLA's
/// notation cannot write, such as those of strided memrefs, never were.
static const TunedRelayout *findTuned(const MachineProfile &machine,
                                      Operation *op, int64_t threads,
                                      BufferState buffers) {
  auto getArray = [&](unsigned operand) {
    return getShape(cast<MemRefType>(op->getOperand(operand).getType()));
  };
  auto source = getArray(0), destination = getArray(1);
  if (source && destination)
    return machine.find(*source, *destination, threads, buffers);
  llvm::consumeError(source.takeError());
  llvm::consumeError(destination.takeError());
  return nullptr;
}

namespace {
struct VectorizeRelayoutsPass
    : tessera::impl::VectorizeRelayoutsBase<VectorizeRelayoutsPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    profile = nullptr;
    if (machine.empty())
      return success();
    auto read = MachineProfile::read(machine);
    llvm::Error error = read.takeError();
    if (!error && !cpu.empty())
      error = read->checkProcessor(cpu);
    if (error)
      return emitLayoutError(
          [&] { return emitError(UnknownLoc::get(context)); },
          std::move(error));
    profile = std::make_shared<const MachineProfile>(std::move(*read));
    return success();
  }

  LogicalResult checkOptions() {
    Operation *op = getOperation();
    bool isVector = llvm::is_contained({16, 32, 64}, vectorBytes.getValue());
    if (failed(checkOption(op, vectorBytes.ArgStr, isVector, "16, 32 or 64",
                           llvm::Twine(vectorBytes))) ||
        failed(checkOption(op, cpu.ArgStr, cpu.empty() || isProcessor(cpu),
                           "a processor by LLVM's name", "`" + cpu + "`")) ||
        failed(checkOption(op, buffers.ArgStr,
                           parseBufferState(buffers).has_value(),
                           "unknown, hot or cold", "`" + buffers + "`")))
      return failure();
    return success(succeeded(checkRange(op, nontemporalBytes, 0)) &&
                   succeeded(checkRange(op, threads, 1, kMaxThreads)) &&
                   succeeded(checkRange(op, parallelBytes, 0)));
  }

  /// What plans know of the machine, before any relayout is looked at.
  RelayoutTarget getTarget() {
    RelayoutTarget target;
    target.vectorBytes = vectorBytes;
    target.costs = profile ? profile->costs : ProcessorCosts::get(cpu);
    target.nontemporalBytes = nontemporalBytes;
    // No other processor has the fence that follows such stores.
    if (profile && nontemporalBytes == 0 &&
        llvm::X86::parseArchX86(profile->cpu) != llvm::X86::CK_None)
      target.nontemporalBytes =
          target.costs.getNontemporalBytes(*parseBufferState(buffers));
    target.hasNontemporalStores = target.nontemporalBytes > 0;
    target.threads = threads;
    target.parallelBytes = parallelBytes;
    return target;
  }

  llvm::Error vectorizeTuned(Operation *op, RelayoutTarget target) {
    if (profile)
      if (const TunedRelayout *tuned =
              findTuned(*profile, op, threads, *parseBufferState(buffers)))
        target.tuning = tuned->tuning;
    return vectorize(op, target);
  }

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    if (!enabled)
      return;
    RelayoutTarget target = getTarget();
    llvm::SmallVector<Operation *> relayouts;
    getOperation()->walk([&](Operation *op) {
      if (isRelayoutInMemory(op))
        relayouts.push_back(op);
    });
    for (Operation *op : relayouts) {
      if (llvm::Error error = vectorizeTuned(op, target)) {
        remarkLeft(op, "RelayoutLeft", getArgument(), std::move(error));
        ++numLeft;
        continue;
      }
      op->erase();
      ++numVectorized;
    }
  }

private:
  /// What the file `machine` has; null without one. Copies of the pass share
  /// it.
  std::shared_ptr<const MachineProfile> profile;
};
} // namespace
