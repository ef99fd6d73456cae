//===- PlanMoves.h - The kernel that suits a nest ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes rows and columns, words, squares and padding among the loops of a
// nest, and which loops a kernel takes itself.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_PLANMOVES_H
#define TESSERA_LIB_RUNTIME_PLANMOVES_H

#include "Move.h"

#include "tessera/Conversion/TesseraToVector/PackedNests.h"

#include <optional>

namespace tessera::runtime {

/// A nest, in bytes.
ElementNest getBytes(const StridedNest &nest, int64_t srcBytes,
                     int64_t dstBytes);

/// The move of a nest of elements, with the padding behind its runs, if there
/// is any, where a kernel makes words of both. `wholeBytes` are those of the
/// buffer of the source, or 0 where that may hold anything else.
Move planCopy(const ElementNest &nest, const std::optional<RunPadding> &padding,
              int64_t elementBytes, int64_t wholeBytes);

/// Takes the loops that continue rows or columns of few lines or less, as those
/// of tiles do: else a step would read or write these alone.
void findChains(Move &move);

/// A move of elements without padding.
Move planElements(const ElementNest &nest, int64_t elementBytes,
                  int64_t wholeBytes);

/// Lets a kernel write the padding behind rows with which it makes columns of
/// two or four runs. False where it does not make such.
bool takeRowPadding(Move &move, const RunPadding &padding,
                    int64_t elementBytes);

/// The same, and padding behind runs that it copies or interleaves, or behind
/// columns of less than a line.
bool takePadding(Move &move, const RunPadding &padding, int64_t elementBytes);

/// The fill of a nest of padding.
Move planFill(const StridedNest &nest, int64_t elementBytes);

/// The move of a nest of bytes that elements share, one by one; and the fill of
/// one.
Move planPacked(const PackedNest &nest, const ElementBits &bits);
Move planPackedFill(const PackedNest &nest);

/// Whether a step of such a move takes bytes apart, or zips their halves.
Halves findHalves(llvm::ArrayRef<ByteParts> bytes);

/// Makes neighbours in the source the columns of such a move, if there are
/// enough of them, and they are runs of the destination or all that a step
/// writes are; or words of neighbours that become bytes of runs, if there are
/// more than a register has bytes. Kernels move those by registers. Else false.
bool takeColumns(Move &move, int64_t leastColumns, int64_t vectorBytes);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_PLANMOVES_H
