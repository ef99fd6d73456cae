//===- RuntimeModel.h - What a relayout must write --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes of a destination, bit by bit, by the model of tiles, which knows
// nothing of axis lists; and shapes as structs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_RUNTIME_RUNTIMEMODEL_H
#define TESSERA_UNITTESTS_RUNTIME_RUNTIMEMODEL_H

#include "../Layout/TilingModel.h"

#include "tessera-c/Runtime.h"

#include "tessera/Layout/Box.h"
#include "tessera/Layout/PaddingBits.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

/// A side as a list of elements of some bits: where each of them lies, in
/// row-major order, by the model.
struct ModelSide {
  explicit ModelSide(const Shape &shape, const Box &box = {})
      : shape(shape), isWhole(box.empty()),
        bits(getStorageBits(shape.elementType(), shape.layoutOrDefault())) {
    ShapeSize size = llvm::cantFail(getSize(shape));
    bytes = size.bytes;
    numPositions = size.allocatedElements;
    for (auto index : allIndices(ArrayPart(shape, box).dimensions())) {
      for (size_t i = 0; i < box.size(); ++i)
        index[i] = box[i].begin + index[i] * box[i].step;
      positions.push_back(
          TiledElement(shape.dimensions(), shape.layoutOrDefault(), index)
              .position());
    }
  }

  uint64_t read(llvm::ArrayRef<uint8_t> from, int64_t bit, int64_t bits) const {
    uint64_t value = 0;
    for (int64_t i = 0; i < bits; ++i)
      value |= uint64_t(from[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
    return value;
  }
  void write(llvm::MutableArrayRef<uint8_t> to, int64_t bit, int64_t bits,
             uint64_t value) const {
    for (int64_t i = 0; i < bits; ++i) {
      auto mask = static_cast<uint8_t>(1 << ((bit + i) % 8));
      uint8_t &byte = to[(bit + i) / 8];
      byte = value >> i & 1 ? byte | mask : byte & ~mask;
    }
  }

  Shape shape;
  bool isWhole;
  int64_t bits, bytes, numPositions;
  std::vector<int64_t> positions;
};

/// Where element `i` of the source begins, in bits.
using SourceBits = llvm::function_ref<int64_t(size_t i)>;

/// What must stand in the destination, which holds `output` before.
inline std::vector<uint8_t> getExpected(llvm::ArrayRef<uint8_t> input,
                                        llvm::ArrayRef<uint8_t> output,
                                        SourceBits getSourceBit,
                                        int64_t sourceBits, const ModelSide &to,
                                        bool zeroPadding) {
  std::vector<uint8_t> expected = output.vec();
  PrimitiveType type = to.shape.elementType();
  auto padding = to.shape.layoutOrDefault().paddingValue;
  std::vector<bool> isElement(to.numPositions);
  // Sixteen bytes are read as two numbers.
  auto copy = [&](int64_t from, int64_t bit, int64_t bits) {
    for (int64_t done = 0; done < bits; done += 64) {
      int64_t left = std::min<int64_t>(bits - done, 64);
      int64_t wide = std::min<int64_t>(sourceBits, left);
      uint64_t value = to.read(input, from + done, wide);
      if (isSignedIntegral(type) && wide < left && value >> (wide - 1) & 1)
        value |= ~uint64_t(0) << wide;
      to.write(expected, bit + done, left, value);
    }
  };
  for (size_t i = 0; i < to.positions.size(); ++i) {
    isElement[to.positions[i]] = true;
    copy(getSourceBit(i), to.positions[i] * to.bits, to.bits);
  }
  if (!to.isWhole || (!padding && !zeroPadding))
    return expected;
  // Bits behind the last position.
  for (int64_t bit = to.numPositions * to.bits; zeroPadding && bit % 8; ++bit)
    to.write(expected, bit, 1, 0);
  llvm::APInt value(to.bits, 0);
  if (padding) {
    value = getPaddingBits(type, *padding);
    value = isSignedIntegral(type) ? value.sextOrTrunc(to.bits)
                                   : value.zextOrTrunc(to.bits);
  }
  for (int64_t at = 0; at < to.numPositions; ++at)
    for (int64_t bit = 0; bit < to.bits && !isElement[at]; ++bit)
      to.write(expected, at * to.bits + bit, 1, value[bit]);
  return expected;
}

/// A shape as PJRT describes it.
struct ArrayOfShape {
  explicit ArrayOfShape(const Shape &shape)
      : type(getName(shape.elementType()).str()), dims(shape.dimensions()),
        order(shape.layout().minorToMajor) {
    for (const Tile &tile : shape.layout().tiles) {
      tileDims.append(tile.sizes.begin(), tile.sizes.end());
      tileDimSizes.push_back(tile.sizes.size());
    }
    array.elementType = type.c_str();
    array.dimensions = {dims.data(), dims.size()};
    array.minorToMajor = {order.data(), order.size()};
    array.tileDims = {tileDims.data(), tileDims.size()};
    array.tileDimSizes = tileDimSizes.data();
    array.numTiles = tileDimSizes.size();
    array.elementBits = shape.layout().elementSizeInBits;
  }

  std::string type;
  llvm::SmallVector<int64_t> dims, order, tileDims;
  llvm::SmallVector<size_t> tileDimSizes;
  TesseraRuntimeArray array = {};
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_RUNTIME_RUNTIMEMODEL_H
