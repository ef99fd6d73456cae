//===- NarrowColumns.h - Transposes of columns in few sets ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_NARROWCOLUMNS_H
#define TESSERA_LIB_RUNTIME_NARROWCOLUMNS_H

#include "TransposeBlocks.h"

namespace tessera::runtime {
namespace {

/// A transpose within the caches of which columns begin at so few sets of the
/// first-level cache that lines of all those in a line of a row would evict one
/// another. The columns of one lane are written along a band of rows before the
/// next ones are, so that each line is written from end to end:
///
///   f32[1024,100]{1,0} to {0,1}: 1024 rows become columns 4096 bytes apart
///
///     rows 0 to 255:    columns 0 to 3, 4 to 7, ...
///     rows 256 to 511:  columns 0 to 3, 4 to 7, ...
///
/// The lines of a band are read again for each lane: they have to fit into the
/// cache. Rows that evict one another are copied side by side first, a line of
/// each.
template <int RunBytes> class NarrowColumns {
public:
  explicit TESSERA_INLINE NarrowColumns(const Block &whole) : whole(whole) {}

  TESSERA_INLINE bool suits() const {
    // Registers that are shorter write parts of lines, which even columns of a
    // lane evict.
    constexpr bool kMakesLines = kVectorBytes == kLineBytes;
    return whole.rows * RunBytes >= kVectorBytes &&
           whole.columns * RunBytes >= kLaneBytes && isInFewSets() &&
           (kMakesLines || !runtime::isInFewSets(2 * kLane, whole.dstPitch)) &&
           (fits() || isGathered());
  }

  TESSERA_INLINE void run() const {
    const int64_t bandRows = chooseBandRows();
    Block band = whole;
    for (int64_t r = 0; r < whole.rows; r += band.rows) {
      band.rows = takeBlock(whole.rows - r, bandRows, kVectorBytes / RunBytes);
      band.src = whole.src + r * whole.srcPitch;
      band.dst = whole.dst + r * RunBytes;
      if (fits())
        callApart(transposeLanes, band);
      else
        gather(band);
    }
  }

private:
  static constexpr int64_t kLane = kLaneBytes / RunBytes,
                           kLine = kLineRuns<RunBytes>;
  static constexpr int64_t kMostRows = 256, kLeastRows = 128;

  /// Whether columns begin at few sets, or close to them: those that begin
  /// anywhere in a line write parts of two, which have to stay in the cache.
  TESSERA_INLINE bool isInFewSets() const {
    constexpr int64_t kClose = 32;
    int64_t closest = (whole.dstPitch + kClose) & (-2 * kClose);
    return runtime::isInFewSets(kLine + 1, closest) &&
           runtime::isInFewSets(kLine + 1, whole.dstPitch, /*ways=*/2);
  }
  /// Whether lines of so many rows leave room in the cache for columns.
  TESSERA_INLINE bool holds(int64_t rows) const {
    return !runtime::isInFewSets(rows, whole.srcPitch, kWaysOfRows);
  }
  TESSERA_INLINE bool fits() const { return holds(kLeastRows); }
  TESSERA_INLINE int64_t chooseBandRows() const {
    return fits() && !holds(kMostRows) ? kLeastRows : kMostRows;
  }
  TESSERA_INLINE bool isGathered() const {
    return whole.rows >= kLeastRows && whole.columns >= kLine &&
           isInOneSet<RunBytes>(whole.dstPitch);
  }

  static __attribute__((noinline)) void
  transposeLanes(const char *src, char *dst, int64_t rows, int64_t columns,
                 int64_t srcPitch, int64_t dstPitch) {
    const Block block = {src, dst, rows, columns, srcPitch, dstPitch};
    transposeColumns<RunBytes, kVectorBytes, kLaneBytes, false>(block, 0,
                                                                /*smallest=*/1);
  }

  /// A band by way of a buffer of a line of each row.
  TESSERA_INLINE void gather(const Block &band) const {
    // A band is longer where less than a register would be left.
    constexpr int64_t kRows = kMostRows + kVectorBytes / RunBytes;
    alignas(kLineBytes) char buffer[kRows * kLineBytes];
    Block part = band;
    part.src = buffer;
    part.srcPitch = kLineBytes;
    part.columns = kLine;
    for (int64_t column = 0; column < band.columns; column += kLine) {
      int64_t c = least(column, band.columns - kLine);
      copyLines(band.src + c * RunBytes, band.srcPitch, band.rows, buffer);
      part.dst = band.dst + c * band.dstPitch;
      callApart(transposeLanes, part);
    }
  }

  const Block whole;
};

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_NARROWCOLUMNS_H
