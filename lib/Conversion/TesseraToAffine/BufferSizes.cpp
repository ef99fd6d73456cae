//===- BufferSizes.cpp - Sizes of physical memrefs as IR ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/BufferSizes.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

llvm::Expected<BufferSizes> BufferSizes::get(MemRefType type) {
  llvm::Expected<StoredArray> array = getStoredArray(type);
  if (!array)
    return array.takeError();
  bool isFlat = array->bits < 8 ||
                (array->physical.getRank() == 1 && array->axes.size() != 1);
  BufferSizes sizes(std::move(array->axes), array->physical, array->bits,
                    isFlat);
  sizes.tailPaddingAlignment = getTailPaddingAlignment(type);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.dynamicDims.push_back(dim);
  return sizes;
}

SmallVector<Value> BufferSizes::buildPhysicalSizes(OpBuilder &builder,
                                                   Location loc,
                                                   ValueRange sizes) const {
  SmallVector<Value> result;
  if (physical.hasStaticShape())
    return result;
  AxisArithmetic arithmetic = getArithmetic(builder, loc, sizes);
  // A list of one axis needs no flattening, but L may make its buffer longer.
  if (!isFlat() && !mayHaveTail()) {
    for (auto [size, axis] :
         llvm::zip_equal(physical.getShape(), axisList.axes()))
      if (ShapedType::isDynamic(size))
        result.push_back(arithmetic.toValue(arithmetic.getExtent(axis.extent)));
    return result;
  }
  OpFoldResult count = arithmetic.countAllocated(tailPaddingAlignment);
  if (isPacked())
    count = arithmetic.apply(
        builder.getAffineDimExpr(0).ceilDiv(8 / storageBits), count);
  return {arithmetic.toValue(count)};
}
