//===- SymbolicSlice.h - Slices whose begin is not known --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a slice of an array is in memory, for every value of the variables that
// its begin has: whole tiles or not, how many contiguous runs, and how these
// are aligned. `d0=8*i:+16` begins at eight times some integer i and has 16
// elements; a dimension that is not named is taken as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_SYMBOLICSLICE_H
#define TESSERA_LAYOUT_SYMBOLICSLICE_H

#include "tessera/Layout/Shape.h"

#include <string>

namespace tessera {

/// `8*i + 4`: a sum over variables, which are integers. No variable occurs
/// twice in a slice.
struct SliceBegin {
  struct Term {
    std::string variable;
    int64_t coefficient = 1; ///< Not 0.
  };

  int64_t constant = 0;
  llvm::SmallVector<Term, 1> terms;

  /// All values are `constant` plus multiples of this; 0 without variables.
  int64_t step() const;
  /// As it is written.
  std::string toString() const;
};

struct SymbolicSlice {
  /// By dimension: the begin and the number of elements.
  llvm::SmallVector<SliceBegin, 6> begins;
  llvm::SmallVector<int64_t, 6> sizes;
};

/// Parses `d0=8*i:+16, d1=128*j + 64:+128` as a slice of an array with these
/// dimensions.
///
///     slice := [ part { ',' part } ]
///     part  := 'd' INT '=' term { ('+' | '-') term } ':' '+' INT
///     term  := INT | NAME | INT '*' NAME
llvm::Expected<SymbolicSlice> parseSlice(llvm::StringRef text,
                                         llvm::ArrayRef<int64_t> dimensions);

/// What is known of one dimension of a slice.
struct SlicedDimension {
  /// Begins that lie within the array: the first, the last, and how far they
  /// are apart (1 where there is only one).
  int64_t first = 0;
  int64_t last = 0;
  int64_t step = 1;
  int64_t size = 0;
  /// Elements of a tile; tiles within tiles count as a whole.
  int64_t tile = 1;
  /// How many of the begins give whole tiles. A tile that the end of the
  /// dimension cuts is whole.
  enum class Tiles : uint8_t { Never, Sometimes, Always };
  Tiles wholeTiles = Tiles::Always;

  int64_t numTiles() const { return (size + tile - 1) / tile; }
};

/// A number of runs, and how far they are apart.
struct RunStride {
  int64_t count = 1;
  int64_t bits = 0;
};

struct SliceAnswer {
  llvm::SmallVector<SlicedDimension, 6> dimensions;
  int64_t elements = 0;
  /// Bits of all elements.
  int64_t bits = 0;
  /// Contiguous runs: the fewest and the most over all begins.
  int64_t minRuns = 0;
  int64_t maxRuns = 0;
  /// Of each run, where all are of one length for all begins.
  std::optional<int64_t> runBits;
  /// Then: how the runs lie to each other, the farthest first.
  llvm::SmallVector<RunStride, 6> strides;
  /// The first element begins at a multiple of this for all begins, 0 where
  /// that is always the beginning of the buffer.
  int64_t alignmentBits = 0;

  /// Whether it is a rectangle of whole tiles for all begins.
  bool isWholeTiles() const;
};

/// Errors: *invalid* where no value of the variables gives a slice within the
/// array, or it has no elements; *unsupported* where a `*` or tiles that do not
/// divide each other entangle dimensions.
llvm::Expected<SliceAnswer> analyzeSlice(const Shape &shape,
                                         const SymbolicSlice &slice);

} // namespace tessera

#endif // TESSERA_LAYOUT_SYMBOLICSLICE_H
