//===- PackedNests.cpp - Nests of elements that share bytes ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedNests.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tessera;

namespace {
/// Packs the nests of one relayout.
class NestPacker {
public:
  NestPacker(int64_t elementBits, bool forFill)
      : bits(elementBits), perByte(8 / elementBits), forFill(forFill) {}

  llvm::Error pack(const StridedNest &nest);

  std::vector<PackedNest> packed;

private:
  /// Whether `loops` and the offsets are whole bytes.
  bool isWhole(llvm::ArrayRef<PlanLoop> loops) const;
  /// The same nest in bytes; offsets are rounded down.
  StridedNest toBytes(StridedNest nest) const;
  /// A run of `count` elements at the offsets of `nest`, for each of its loops.
  void packRun(StridedNest nest, int64_t count);
  /// Elements of one byte in every place of `nest`.
  void addPart(const StridedNest &nest, int64_t first, int64_t count);
  bool packPairs(const StridedNest &nest);

  int64_t bits, perByte;
  bool forFill;
};
} // namespace

bool NestPacker::isWhole(llvm::ArrayRef<PlanLoop> loops) const {
  return llvm::all_of(loops, [&](const PlanLoop &loop) {
    return loop.dstStride % perByte == 0 &&
           (forFill || loop.srcStride % perByte == 0);
  });
}

StridedNest NestPacker::toBytes(StridedNest nest) const {
  nest.srcOffset /= perByte;
  nest.dstOffset /= perByte;
  for (PlanLoop &loop : nest.loops) {
    loop.srcStride /= perByte;
    loop.dstStride /= perByte;
  }
  return nest;
}

void NestPacker::addPart(const StridedNest &nest, int64_t first,
                         int64_t count) {
  if (count == 0)
    return;
  auto mask = static_cast<uint8_t>(((1 << count * bits) - 1) << first * bits);
  packed.push_back({toBytes(nest), mask, std::nullopt});
}

void NestPacker::packRun(StridedNest nest, int64_t count) {
  auto advance = [&](int64_t elements) {
    nest.srcOffset += elements;
    nest.dstOffset += elements;
    count -= elements;
  };
  if (int64_t first = nest.dstOffset % perByte) {
    int64_t head = std::min(perByte - first, count);
    addPart(nest, first, head);
    advance(head);
  }
  if (int64_t bytes = count / perByte) {
    PackedNest whole = {toBytes(nest), 0xFF, std::nullopt};
    if (bytes > 1)
      whole.strided.loops.push_back({bytes, 1, 1});
    packed.push_back(std::move(whole));
    advance(bytes * perByte);
  }
  addPart(nest, 0, count);
}

/// A loop of neighbours in the source, and one of neighbours in the
/// destination: a byte of either side becomes a half of two bytes of the other.
bool NestPacker::packPairs(const StridedNest &nest) {
  StridedNest pairs = nest;
  auto find = [&](int64_t PlanLoop::*stride) {
    return llvm::find_if(pairs.loops, [&](const PlanLoop &loop) {
      return loop.*stride == 1 && loop.count % 2 == 0;
    });
  };
  PlanLoop *column = find(&PlanLoop::srcStride);
  PlanLoop *row = find(&PlanLoop::dstStride);
  if (bits != 4 || forFill || column == row || column == pairs.loops.end() ||
      row == pairs.loops.end() || row->count == 2 || column->count == 2)
    return false;
  int64_t apartInSource = row->srcStride,
          apartInDestination = column->dstStride;
  *column = {column->count / 2, 2, 2 * apartInDestination};
  *row = {row->count / 2, 2 * apartInSource, 2};
  bool isEven = apartInSource % 2 == 0 && apartInDestination % 2 == 0 &&
                nest.srcOffset % 2 == 0 && nest.dstOffset % 2 == 0;
  if (!isEven || !isWhole(pairs.loops))
    return false;
  packed.push_back({toBytes(std::move(pairs)), 0xFF,
                    NibblePairs{apartInSource / 2, apartInDestination / 2}});
  return true;
}

llvm::Error NestPacker::pack(const StridedNest &nest) {
  StridedNest outer = nest;
  PlanLoop *run = llvm::find_if(outer.loops, [&](const PlanLoop &loop) {
    return loop.dstStride == 1 && (forFill || loop.srcStride == 1);
  });
  int64_t count = 1;
  if (run != outer.loops.end()) {
    count = run->count;
    outer.loops.erase(run);
  }
  bool keepsPlace = forFill || (nest.srcOffset - nest.dstOffset) % perByte == 0;
  if (keepsPlace && isWhole(outer.loops)) {
    packRun(std::move(outer), count);
    return llvm::Error::success();
  }
  if (packPairs(nest))
    return llvm::Error::success();
  return unsupportedError(
      "relayout plan",
      "elements of less than a byte in runs that keep their place in bytes, or "
      "in transposes of even sides",
      "others", "lower it with --tessera-lower-relayouts");
}

llvm::Expected<std::vector<PackedNest>>
tessera::packNests(llvm::ArrayRef<StridedNest> nests, int64_t elementBits,
                   bool forFill) {
  NestPacker packer(elementBits, forFill);
  for (const StridedNest &nest : nests)
    if (llvm::Error error = packer.pack(nest))
      return std::move(error);
  return std::move(packer.packed);
}
