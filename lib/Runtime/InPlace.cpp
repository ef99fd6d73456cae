//===- InPlace.cpp - Relayouts within one buffer --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the slowest varying axis is of the same dimension on both sides, the
// array is a sequence of bands of that dimension on both:
//
//   f32[20,130]{1,0} to {1,0:T(8,128)}   bands of 8 rows
//     source       4160 bytes each       |0   |1   |2 |
//     destination  8192 bytes each       |0       |1       |2       |
//
// A band is copied into a buffer of its own and moved from there. Bands that
// grow are moved last to first, others first to last, so that none is written
// over a band that waits. Arrays without bands are one.
//
//===----------------------------------------------------------------------===//

#include "Relayout.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/PhysicalIndices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace tessera;
using namespace tessera::runtime;

namespace {
/// The dimension that varies slowest: so many indices of it are that many
/// elements of the buffer.
struct MajorStep {
  unsigned dim;
  int64_t indices, elements;
};
} // namespace

/// The largest value of all digits but the last one.
static int64_t getLargestRest(llvm::ArrayRef<Step> steps) {
  int64_t sum = 0;
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    sum += steps[i].stride * (steps[i + 1].divisor / steps[i].divisor - 1);
  return sum;
}

/// Nothing where another dimension varies as slowly.
static std::optional<MajorStep> getMajorStep(const AxisList &axes) {
  llvm::ArrayRef<int64_t> sizes = axes.dimensions();
  PhysicalIndices indices = getPhysicalIndices(axes, sizes);
  MajorStep major = {0, 1, 0};
  int64_t largest = 0, ofMajor = 0; // Positions of all, and by its last digit.
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    const std::optional<Steps> &steps = indices.steps[dim];
    if (!steps)
      return std::nullopt;
    if (steps->empty() || sizes[dim] <= 1)
      continue;
    const Step &last = steps->back();
    int64_t byLast = (sizes[dim] - 1) / last.divisor * last.stride;
    largest += getLargestRest(*steps) + byLast;
    if (last.stride > major.elements) {
      major = {dim, last.divisor, last.stride};
      ofMajor = byLast;
    }
  }
  if (largest - ofMajor >= major.elements)
    return std::nullopt;
  return major;
}

std::optional<Relayout::Bands> Relayout::findBands() const {
  llvm::ArrayRef<int64_t> sizes = srcAxes.dimensions();
  if (llvm::is_contained(sizes, 0))
    return std::nullopt;
  std::optional<MajorStep> from = getMajorStep(srcAxes);
  std::optional<MajorStep> to = getMajorStep(dstAxes);
  if (!from || !to || from->dim != to->dim)
    return std::nullopt;
  int64_t size = sizes[from->dim];
  // Bands of packed elements have whole bytes.
  int64_t factor = bits.src % 8 != 0 || bits.dst % 8 != 0 ? 8 : 1;
  int64_t band =
      factor * (from->indices / std::gcd(from->indices, to->indices));
  if (band > size || to->indices > size / band)
    return std::nullopt;
  band *= to->indices;
  int64_t srcBytes = band / from->indices * from->elements * bits.src / 8;
  int64_t groups =
      std::clamp<int64_t>(options.scratchBytes / srcBytes, 1, size / band);
  return Bands{from->dim, groups * band, groups * srcBytes,
               groups * (band / to->indices * to->elements * bits.dst / 8)};
}

/// The moves of full bands, and of a last one of fewer indices. None where they
/// would go by elements, each time by those of all of the array.
static llvm::Expected<llvm::SmallVector<Relayout, 2>>
getBandMoves(const Side &src, const Side &dst, unsigned dim, int64_t indices,
             const Options &options) {
  Box box;
  for (int64_t size : src.shape.dimensions())
    box.push_back({0, size, 1});
  llvm::SmallVector<Relayout, 2> moves;
  for (int64_t count : {indices, box[dim].count % indices}) {
    if (count == 0)
      break;
    Box part = box;
    part[dim].count = count;
    auto move = Relayout::get({src.shape, part}, {dst.shape, part}, options);
    if (!move)
      return move.takeError();
    if (!move->isPlanned())
      return llvm::SmallVector<Relayout, 2>();
    moves.push_back(std::move(*move));
  }
  return moves;
}

llvm::Error Relayout::runInPlace(char *buffer) const {
  if (!src.box.empty() || !dst.box.empty() || src.strided)
    return unsupportedError("move in place", "whole arrays with layouts",
                            "a part or byte strides",
                            "give the destination memory of its own");
  std::optional<Bands> bands = schedule ? findBands() : std::nullopt;
  llvm::SmallVector<Relayout, 2> moves;
  if (bands) {
    auto made = getBandMoves(src, dst, bands->dim, bands->indices, options);
    if (!made)
      return made.takeError();
    moves = std::move(*made);
    if (moves.empty())
      bands = std::nullopt;
  }
  int64_t waiting = std::min(bands ? bands->srcBytes : sizeOfSrc, sizeOfSrc);
  auto *scratch =
      static_cast<char *>(std::malloc(std::max<int64_t>(waiting, 1)));
  if (!scratch)
    return unsupportedError(
        "move in place",
        "memory for " + llvm::Twine(waiting) + " bytes that wait", "none",
        "give less scratchBytes, or the destination memory of its own");
  llvm::scope_exit release([&] { std::free(scratch); });
  if (!bands) {
    std::memcpy(scratch, buffer, sizeOfSrc);
    run(scratch, buffer);
    return llvm::Error::success();
  }
  int64_t size = src.shape.dimensions()[bands->dim];
  int64_t numBands = llvm::divideCeil(size, bands->indices);
  for (int64_t i = 0; i < numBands; ++i) {
    int64_t band = bands->dstBytes > bands->srcBytes ? numBands - 1 - i : i;
    int64_t from = band * bands->srcBytes;
    std::memcpy(scratch, buffer + from,
                std::min(bands->srcBytes, sizeOfSrc - from));
    bool isFull = (band + 1) * bands->indices <= size;
    moves[isFull ? 0 : 1].run(scratch, buffer + band * bands->dstBytes);
  }
  runFills(buffer);
  return llvm::Error::success();
}
