//===- BufferSizes.cpp - Sizes of physical memrefs as IR ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/BufferSizes.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

llvm::Expected<BufferSizes> BufferSizes::get(MemRefType type) {
  // Subscripts of a strided memref are the logical indices, as those of a plain
  // one; its strides are in its type.
  bool isStrided(getStridedMemRef(type));
  llvm::Expected<MemRefType> physical =
      isStrided ? type : getPhysicalMemRefType(type);
  if (!physical)
    return physical.takeError();
  llvm::Expected<AxisList> axes =
      isStrided
          ? AxisList::get(type.getShape(), Layout::descending(type.getRank()))
          : getAxisList(type);
  if (!axes)
    return axes.takeError();
  llvm::Expected<int64_t> bits = getStorageBits(type);
  if (!bits)
    return bits.takeError();
  bool isFlat = *bits < 8 || (physical->getRank() == 1 && axes->size() != 1);
  BufferSizes sizes(std::move(*axes), *physical, *bits, isFlat);
  sizes.tailPaddingAlignment = getTailPaddingAlignment(type);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.dynamicDims.push_back(dim);
  return sizes;
}

static Value createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value BufferSizes::buildExtent(OpBuilder &builder, Location loc,
                               const Extent &extent, ValueRange sizes) const {
  if (extent.isStatic())
    return createIndex(builder, loc, extent.value);
  const auto *dim = llvm::find(dynamicDims, extent.dim);
  assert(dim != dynamicDims.end() && "the extent of a static dimension");
  Value size = sizes[dim - dynamicDims.begin()];
  if (extent.divisor == 1)
    return size;
  return arith::CeilDivUIOp::create(builder, loc, size,
                                    createIndex(builder, loc, extent.divisor));
}

Value BufferSizes::buildNumPositions(OpBuilder &builder, Location loc,
                                     ValueRange sizes) const {
  Value count = createIndex(builder, loc, 1);
  for (const Axis &axis : axisList.axes())
    count = arith::MulIOp::create(
        builder, loc, count, buildExtent(builder, loc, axis.extent, sizes));
  return count;
}

Value BufferSizes::buildNumAllocated(OpBuilder &builder, Location loc,
                                     ValueRange sizes) const {
  Value count = buildNumPositions(builder, loc, sizes);
  if (!mayHaveTail())
    return count;
  Value alignment = createIndex(builder, loc, tailPaddingAlignment);
  Value blocks = arith::CeilDivUIOp::create(builder, loc, count, alignment);
  return arith::MulIOp::create(builder, loc, alignment, blocks);
}

SmallVector<Value> BufferSizes::buildPhysicalSizes(OpBuilder &builder,
                                                   Location loc,
                                                   ValueRange sizes) const {
  SmallVector<Value> result;
  if (physical.hasStaticShape())
    return result;
  // One axis is as flat as its buffer, which may be longer all the same.
  if (!isFlat() && !mayHaveTail()) {
    for (auto [size, axis] :
         llvm::zip_equal(physical.getShape(), axisList.axes()))
      if (ShapedType::isDynamic(size))
        result.push_back(buildExtent(builder, loc, axis.extent, sizes));
    return result;
  }
  Value count = buildNumAllocated(builder, loc, sizes);
  if (isPacked())
    count = arith::CeilDivUIOp::create(
        builder, loc, count, createIndex(builder, loc, 8 / storageBits));
  return {count};
}
