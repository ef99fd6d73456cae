//===- Move.h - A nest with its kernel --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one call of a kernel moves, and the forms of it by which kernels and
// orders are chosen.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_MOVE_H
#define TESSERA_LIB_RUNTIME_MOVE_H

#include "Kernels.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tessera::runtime {

/// Runs that are transposed are powers of two up to these bytes, and those that
/// are interleaved.
constexpr int64_t kMaxTransposedBytes = 16, kMaxInterleavedBytes = 8;

/// Elements that loops move one by one; distances in bytes.
struct ElementNest {
  int64_t srcOffset = 0, dstOffset = 0;
  llvm::SmallVector<Loop, 6> loops;
};

/// What a GatherTable points to.
struct Gather {
  GatherTable getTable() const {
    return {registerBytes, ways, windows, places.data(), numbers.data()};
  }

  /// Windows of each part.
  int64_t countWindows() const {
    return ways * windows / (registerBytes / partBytes);
  }

  int64_t registerBytes = 0, ways = 0, windows = 1;
  /// Bytes of a register that are picked from the same windows: all, or those
  /// of a lane.
  int64_t partBytes = 0;
  std::vector<int64_t> places;
  std::vector<uint8_t> numbers;
  /// Bytes of the source between which all of a block lies.
  int64_t srcSpan = 0;
};

/// A nest with its kernel; distances in bytes.
struct Move {
  enum class Kind : uint8_t { Copy, Transpose, Gather, PackBits, Fill };

  Move() = default;
  Move(Move &&) = default;
  Move &operator=(Move &&) = default;
  Move(const Move &) = delete; // `bytes` point into `parts`.

  Kind kind = Kind::Copy;
  int64_t srcOffset = 0, dstOffset = 0;
  int64_t runBytes = 1;
  llvm::SmallVector<Loop, 6> loops;
  /// Outermost loops that are those of the move before: the two take turns at
  /// each step.
  size_t numShared = 0;
  Loop rows = {1, 0, 0}, columns = {1, 0, 0};
  Loop moreRows = {1, 0, 0}, moreColumns = {1, 0, 0};
  int64_t square = 1;
  SquareSides squareSides = SquareSides::Both;
  bool isStreamed = false;
  StreamedBlocks blocks;
  /// Bytes of padding that are filled behind each run of a copy, or behind the
  /// rows of a column that is interleaved; where those are all, behind the last
  /// column.
  int64_t fillBytes = 0;
  /// Bytes of padding behind the last column, besides those behind the rows of
  /// each one.
  int64_t fillBehind = 0;
  /// Whether those keep what they hold: they are read and written again.
  bool keepsPadding = false;
  std::vector<ByteParts> bytes;
  std::vector<BitPart> parts;
  uint8_t mask = 0xFF;
  int signedBits = 0;
  /// Of bits that are moved by blocks: what each step of the loops moves.
  std::shared_ptr<PackedBlock> block;
  Gather gather;

  /// Whether `fillBytes` are those behind the last column.
  bool isFilledBehindColumns() const {
    return kind == Kind::Transpose && fillBytes > 0 &&
           columns.dst == rows.count * runBytes;
  }
  /// Bytes that are written.
  int64_t numBytes() const;
  void print(llvm::raw_ostream &os, unsigned indent = 0) const;
};

/// Whether there are kernels that transpose such runs.
bool isTransposable(int64_t runBytes);

/// Whether runs that are so far apart are some of those that are interleaved.
bool isApart(int64_t distance, int64_t runBytes);

/// Whether words are transposed: see `takeWords`.
bool isOfWords(const Move &move);

/// Whether each column takes a part of a line alone, as where a dimension of
/// few elements is padded to lanes.
bool isSparse(const Move &move);

/// Whether two or four rows make one run of the destination, column by column.
bool isInterleave(const Move &move);

/// Whether a run of the source is divided among two or four columns, or some of
/// these.
bool isDividedRun(const Move &move);

/// Whether runs of the source are divided among a few columns.
bool isDividedAmongFew(const Move &move);

/// Whether rows and columns go through tiles, and are no interleave.
bool isTiled(const Move &move);

/// Whether rows or columns go on in the next tile.
bool isChained(const Move &move);

/// Bytes that a move writes, those behind its runs or columns included.
int64_t countWritten(const Move &move);

/// Makes loops follow the source.
void orderBySource(llvm::MutableArrayRef<Loop> loops);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_MOVE_H
