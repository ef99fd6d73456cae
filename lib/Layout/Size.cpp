//===- Size.cpp - Elements and bytes of a shape ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Size.h"

#include "tessera/Layout/LayoutUtil.h"

#include "llvm/Support/CheckedArithmetic.h"

#include <limits>

using namespace tessera;

int64_t tessera::getStorageBits(PrimitiveType type, const Layout &layout) {
  return layout.elementSizeInBits != 0 ? layout.elementSizeInBits
                                       : getByteWidth(type) * 8;
}

llvm::Expected<int64_t> tessera::getStorageBytes(int64_t elements,
                                                 PrimitiveType type,
                                                 const Layout &layout) {
  int64_t bits = getStorageBits(type, layout);
  // Only the bytes have to fit, not the bits: eight elements take `bits` bytes,
  // and each of the remainder takes bits / 8 and shares the bits that are left.
  int64_t remainder = elements % 8;
  std::optional<int64_t> whole = llvm::checkedMul(elements / 8, bits);
  std::optional<int64_t> more = llvm::checkedMul(remainder, bits / 8);
  std::optional<int64_t> bytes;
  if (whole && more)
    bytes = llvm::checkedAdd(*whole, *more);
  if (bytes)
    bytes = llvm::checkedAdd(*bytes, (remainder * (bits % 8) + 7) / 8);
  if (!bytes)
    return invalidError("size_c1", "size", "bytes that fit in 64 bits",
                        llvm::Twine(elements) + " elements of " +
                            llvm::Twine(bits) + " bits",
                        "make the array smaller");
  return *bytes;
}

double ShapeSize::expansion() const {
  if (bytes == 0)
    return 1;
  if (logicalBytes == 0)
    return std::numeric_limits<double>::infinity();
  return static_cast<double>(bytes) / static_cast<double>(logicalBytes);
}

static llvm::Expected<ShapeSize> getArraySize(const Shape &shape) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return axes.takeError();

  ShapeSize result;
  result.physicalShape = axes->physicalShape();
  result.logicalElements = *countElements(axes->dimensions());
  result.allocatedElements = axes->numAllocated();

  const Layout layout = shape.layoutOrDefault();
  auto inBytes = [&](int64_t elements) {
    return getStorageBytes(elements, shape.elementType(), layout);
  };
  if (llvm::Error error =
          inBytes(result.allocatedElements).moveInto(result.bytes))
    return error;
  if (llvm::Error error =
          inBytes(result.logicalElements).moveInto(result.logicalBytes))
    return error;
  result.paddingBytes = result.bytes - result.logicalBytes;
  return result;
}

/// Adds `size` to `sum`; false on overflow.
static bool accumulate(ShapeSize &sum, const ShapeSize &size) {
  auto add = [](int64_t &to, int64_t value) {
    std::optional<int64_t> total = llvm::checkedAdd(to, value);
    to = total.value_or(0);
    return total.has_value();
  };
  return add(sum.logicalElements, size.logicalElements) &&
         add(sum.allocatedElements, size.allocatedElements) &&
         add(sum.bytes, size.bytes) &&
         add(sum.logicalBytes, size.logicalBytes) &&
         add(sum.paddingBytes, size.paddingBytes);
}

/// The largest piece that SC makes of an array, as an array of its own.
static llvm::Expected<Shape> getLargestPiece(const Shape &array) {
  llvm::SmallVector<int64_t, 6> dimensions;
  for (int64_t dim = 0; dim < array.rank(); ++dim) {
    llvm::Expected<int64_t> piece = layout_util::maxSplitSize(array, dim);
    if (!piece)
      return piece.takeError();
    // Splits may stand behind the end.
    dimensions.push_back(std::min(*piece, array.dimensions()[dim]));
  }
  Layout layout = array.layout();
  layout.splitConfigs.clear();
  return Shape::array(array.elementType(), dimensions, std::move(layout));
}

static llvm::Expected<ShapeSize> getArraySizeOnCore(const Shape &array) {
  if (!array.hasLayout() || array.layout().splitConfigs.empty())
    return getArraySize(array);
  llvm::Expected<Shape> piece = getLargestPiece(array);
  if (!piece)
    return piece.takeError();
  return getArraySize(*piece);
}

/// Sums up what `measure` says of the arrays in `shape`.
static llvm::Expected<ShapeSize>
sumSizes(const Shape &shape,
         llvm::Expected<ShapeSize> (*measure)(const Shape &)) {
  if (shape.isArray())
    return measure(shape);
  ShapeSize sum; // Tokens and opaques have no elements.
  for (const Shape &element : shape.elements()) {
    llvm::Expected<ShapeSize> size = sumSizes(element, measure);
    if (!size)
      return size.takeError();
    if (!accumulate(sum, *size))
      return invalidError("size_c1", "size", "bytes that fit in 64 bits",
                          "a tuple whose elements sum to more",
                          "make the tuple smaller");
  }
  return sum;
}

llvm::Expected<ShapeSize> tessera::getSize(const Shape &shape) {
  return sumSizes(shape, getArraySize);
}

llvm::Expected<ShapeSize> tessera::getSizeOnCore(const Shape &shape) {
  return sumSizes(shape, getArraySizeOnCore);
}
