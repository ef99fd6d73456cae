//===- ContractionPlan.h - How sums of products are computed ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction adds products of two arrays to a third:
//
//   result[b, r, c] += lhs[b, r, s] * rhs[b, s, c]
//
// where b, r, c and s stand for any number of dimensions in any order. A plan
// chooses a dimension r of rows, one c of columns and one s of sums, and a
// block of r x c sums that stay in registers, each register a vector of
// neighbours in memory along c. Other dimensions are loops around it. Arrays
// are read where they are: every dimension is split into digits at the tile
// sizes of all three arrays, and a step of one in a digit is a constant
// distance in each.
//
// Example: f32[64,4096]{1,0:T(8,128)} times f32[4096,4096]{1,0:T(8,128)}, in
// registers of 64 bytes. The digits of s are {1, 8, 128}: 8 rows of a tile of
// rhs, 16 of its tiles along a tile of lhs, and the tiles of lhs. A block is 4
// rows by 4 registers of 16 columns, half of a tile.
//
// Where numbers of rhs that are multiplied one after the other lie side by
// side, as rows do in T(8,128)(2,1), they are a *group*: one register holds
// them all.
//
// Where both factors have neighbours in memory along the sum, as in products by
// a transposed matrix, registers are vectors along it, and each holds parts of
// one sum, which are added up at the end of a block.
//
// The plan holds no MLIR. VectorizeContractions.cpp makes it for operations of
// linalg, EmitContraction.cpp turns it into loops and vector operations.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTIONPLAN_H
#define TESSERA_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTIONPLAN_H

#include "tessera/Layout/AxisList.h"

#include <array>
#include <optional>

namespace tessera {

/// What a contraction reads and writes. `Packed` is a copy of a block of the
/// left factor, in the order in which it is read.
enum ContractionArray : unsigned { Lhs, Rhs, Result, Packed, kNumArrays };

/// A dimension of an array; no array for one that does not have the dimension.
struct ArrayDim {
  const AxisList *axes = nullptr;
  unsigned dim = 0;
  /// The indices along it that a step moves on.
  int64_t step = 1;
  /// Whether other dimensions of the iteration move along it, too, as the
  /// result and the window of a convolution do.
  bool isShared = false;
};

/// One dimension of the iteration. Index i is at the sum, over the digits d, of
/// `(i floordiv weights[d]) mod (weights[d + 1] / weights[d])` times
/// `strides[array][d]`; the last digit has no limit.
struct ContractionDim {
  enum class Kind { Batch, Row, Column, Sum };

  Kind kind = Kind::Batch;
  int64_t size = 1;
  llvm::SmallVector<int64_t, 4> weights = {1};
  std::array<llvm::SmallVector<int64_t, 4>, kNumArrays> strides = {
      {{0}, {0}, {0}, {0}}};

  /// The dimension that `dims` of lhs, rhs and result are; nothing where tile
  /// sizes of two arrays do not divide one another, or those of one are in the
  /// way of longer steps.
  static std::optional<ContractionDim> get(Kind kind, int64_t size,
                                           llvm::ArrayRef<ArrayDim> dims);

  /// Whether the two are of one kind, and this one goes on where `minor` ends,
  /// so that both are one dimension.
  bool goesOn(const ContractionDim &minor) const;

  /// The position of an index below `size`, in elements.
  int64_t getOffset(ContractionArray array, int64_t index) const;
  /// Whether blocks of `weight` are at distances that digits have.
  bool canSplit(int64_t weight) const;
  /// Makes `weight` the weight of a digit.
  void split(int64_t weight);
  /// The digit of that weight, which there is.
  unsigned getDigit(int64_t weight) const;
  /// The largest multiple of `step` up to `most` that can be a block, or
  /// `step`.
  int64_t getBlock(int64_t step, int64_t most) const;
};

/// What the plan knows of the processor.
struct ContractionTarget {
  int64_t vectorBytes = 32;
  int64_t vectorRegisters = 16;
  /// Whether there are dot products of pairs of bf16, those of AVX512_BF16.
  bool hasBF16Pairs = false;
  /// Threads to share the work where there are products of at least so many
  /// bytes of sums.
  int64_t threads = 1;
  int64_t parallelBytes = 2 << 20;
};

/// What the plan knows of the elements.
struct ContractionElements {
  int64_t lhsBits, rhsBits, sumBits;
  /// Whether an element of lhs is converted before it is multiplied.
  bool convertsLhs = false, convertsRhs = false;
  /// Whether products are of bf16, and sums f32.
  bool isBF16 = false;
  /// Whether sums may be added up in any order.
  bool mayReorder = false;
};

/// How a contraction is computed.
struct ContractionPlan {
  /// Whether lhs and rhs have changed places, and rows and columns with them.
  bool isSwapped = false;
  /// Loops around all else.
  llvm::SmallVector<ContractionDim> outer;
  ContractionDim row, column, sum;
  /// Whether registers are vectors along the sum, not along columns.
  bool isAlongSum = false;
  /// Sums in a register, or parts of one.
  int64_t lanes = 1;
  /// The block of registers.
  int64_t rows = 1, vectors = 1;
  /// Numbers along the sum that are multiplied at a time: those of rhs that lie
  /// side by side, or those of a register.
  int64_t group = 1;
  /// Along the sum, rows of lhs, and columns of rhs, that lie side by side.
  int64_t lhsGroup = 1, rhsGroup = 1;
  /// Whether products are of bf16, and sums f32.
  bool isBF16 = false;
  /// Whether groups are multiplied by dot products of pairs.
  bool usesPairs = false;
  /// Whether blocks of lhs are copied and converted before they are read.
  bool packsLhs = false;
  /// Indices of a block of rows, and of the sum, that are done before the next.
  int64_t rowBlock = 1, sumBlock = 1;
  /// The loop of blocks of registers that threads share, if one does.
  std::optional<ContractionDim::Kind> shared;

  /// The columns of a block of registers.
  int64_t columns() const { return isAlongSum ? vectors : lanes * vectors; }
  /// Elements of the copy of a block of lhs.
  int64_t countPacked() const;

  /// Errors: *unsupported* where no dimension has neighbours in memory that
  /// can be computed side by side.
  static llvm::Expected<ContractionPlan>
  get(llvm::ArrayRef<ContractionDim> dims, const ContractionElements &elements,
      const ContractionTarget &target);
};

} // namespace tessera

#endif // TESSERA_CONVERSION_CONTRACTIONTOVECTOR_CONTRACTIONPLAN_H
