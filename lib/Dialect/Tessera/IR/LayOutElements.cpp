//===- LayOutElements.cpp - Constants laid out ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayOutElements.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/PaddingBits.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// Positions of a constant that are listed one by one at compile time; a tile
/// can be far larger than what it holds.
static constexpr int64_t kMaxPositions = int64_t(1) << 24;

namespace {
/// A buffer of equally wide positions that is being written.
class Buffer {
public:
  Buffer(int64_t numPositions, int64_t bitsPerPosition)
      : bits(bitsPerPosition),
        bytes(llvm::divideCeil(numPositions * bits, 8), 0) {}

  /// `element` is the bytes of the element, the least significant first.
  void set(int64_t position, ArrayRef<char> element);

  DenseElementsAttr getElements(RankedTensorType type) const;

private:
  int64_t bits;
  SmallVector<char, 0> bytes;
};
} // namespace

void Buffer::set(int64_t position, ArrayRef<char> element) {
  int64_t bit = position * bits;
  if (bits % 8 == 0) {
    llvm::copy(element, bytes.begin() + bit / 8);
    return;
  }
  int64_t shift = bit % 8, mask = (1 << bits) - 1;
  char &byte = bytes[bit / 8];
  byte = static_cast<char>((byte & ~(mask << shift)) |
                           ((element.front() & mask) << shift));
}

DenseElementsAttr Buffer::getElements(RankedTensorType type) const {
  // MLIR keeps single bits in a form of its own.
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool, 0> values(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, values);
}

/// The bytes of all elements in row-major order, of one if all are equal.
static SmallVector<char, 0> getBytes(DenseElementsAttr elements) {
  ArrayRef<char> raw = elements.getRawData();
  if (!elements.getElementType().isInteger(1))
    return SmallVector<char, 0>(raw);
  if (elements.isSplat())
    return {static_cast<char>(elements.getSplatValue<bool>())};
  return SmallVector<char, 0>(elements.getValues<bool>());
}

/// What all padding holds, as the bytes of an element; nothing if that is not
/// promised.
static std::optional<SmallVector<char>> getPaddingBytes(MemRefType type) {
  std::optional<PaddingValue> padding = getPaddingValue(type);
  if (!padding)
    return std::nullopt;
  PrimitiveType primitive =
      llvm::cantFail(getPrimitiveType(type.getElementType()));
  SmallVector<char> bytes(getByteWidth(primitive));
  llvm::StoreIntToMemory(getPaddingBits(primitive, *padding),
                         reinterpret_cast<uint8_t *>(bytes.data()),
                         bytes.size());
  return bytes;
}

/// Whether every position of the buffer may hold the one element.
static bool isUniform(MemRefType type, DenseElementsAttr elements) {
  if (!elements.isSplat())
    return false;
  std::optional<SmallVector<char>> padding = getPaddingBytes(type);
  return !padding || ArrayRef<char>(*padding) == ArrayRef(getBytes(elements));
}

bool tessera::canLayOutElements(MemRefType type, Attribute value) {
  auto elements = dyn_cast<DenseElementsAttr>(value);
  llvm::Expected<MemRefType> physical = getPhysicalMemRefType(type);
  if (!physical) {
    llvm::consumeError(physical.takeError());
    return false;
  }
  // More elements than 64 bits count have no axes, layout or not.
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return false;
  }
  return elements && elements.getElementType() == type.getElementType() &&
         physical->hasStaticShape() &&
         (isUniform(type, elements) || axes->numAllocated() <= kMaxPositions);
}

/// The number of an element in row-major order.
static int64_t getPosition(ArrayRef<int64_t> dims, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip_equal(dims, index))
    position = position * size + i;
  return position;
}

/// The buffer that lists all positions.
static Buffer fillBuffer(MemRefType type, DenseElementsAttr elements) {
  AxisList axes = llvm::cantFail(getAxisList(type));
  Buffer buffer(axes.numAllocated(), llvm::cantFail(getStorageBits(type)));
  SmallVector<char, 0> bytes = getBytes(elements);
  int64_t width = bytes.size() / (elements.isSplat() ? 1 : elements.size());
  std::optional<SmallVector<char>> padding = getPaddingBytes(type);
  for (int64_t position = 0; position < axes.numAllocated(); ++position) {
    auto index = axes.logicalIndex(position);
    if (!index) {
      if (padding)
        buffer.set(position, *padding);
      continue;
    }
    int64_t number =
        elements.isSplat() ? 0 : getPosition(axes.dimensions(), *index);
    buffer.set(position, ArrayRef(bytes).slice(number * width, width));
  }
  return buffer;
}

DenseElementsAttr tessera::layOutElements(MemRefType type,
                                          DenseElementsAttr elements) {
  MemRefType physical = llvm::cantFail(getPhysicalMemRefType(type));
  auto tensorType =
      RankedTensorType::get(physical.getShape(), physical.getElementType());
  if (elements.empty())
    return DenseElementsAttr::get(tensorType, ArrayRef<Attribute>());
  if (!isUniform(type, elements))
    return fillBuffer(type, elements).getElements(tensorType);
  // One element of the physical memref stands for all.
  int64_t bits = llvm::cantFail(getStorageBits(type));
  int64_t numPositions = bits % 8 == 0 ? 1 : 8 / bits;
  Buffer buffer(numPositions, bits);
  for (int64_t position = 0; position < numPositions; ++position)
    buffer.set(position, getBytes(elements));
  return buffer.getElements(tensorType);
}

TypedAttr tessera::getScalarAttr(Type type, const llvm::APInt &bits) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat(floatType.getFloatSemantics(), bits));
  return IntegerAttr::get(type, bits);
}
