//===- ExplainSlice.h - Slices in words -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_VIEW_EXPLAINSLICE_H
#define TESSERA_VIEW_EXPLAINSLICE_H

#include "tessera/Layout/SymbolicSlice.h"

namespace tessera {

/// Prints what a slice is in memory, and what must hold of its variables for it
/// to be a rectangle of whole tiles.
void printSlice(const Shape &shape, const SymbolicSlice &slice,
                const SliceAnswer &answer, llvm::raw_ostream &os);

/// The same in one line, without the ranges of the variables: `2 x 1 whole
/// tiles of 8 x 128; 2 runs of 2048 bytes, 2 that are 4096 bytes apart; begins
/// at a multiple of 2048 bytes`.
std::string summarizeSlice(const Shape &shape, const SymbolicSlice &slice,
                           const SliceAnswer &answer);

/// The same as a JSON object; docs/problems.md has the fields.
void printSliceJSON(const Shape &shape, const SymbolicSlice &slice,
                    const SliceAnswer &answer, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_VIEW_EXPLAINSLICE_H
