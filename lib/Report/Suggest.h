//===- Suggest.h - Suggestions of the report --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_SUGGEST_H
#define TESSERA_LIB_REPORT_SUGGEST_H

#include "tessera/Layout/Target.h"
#include "tessera/Report/Report.h"

namespace tessera {

/// What candidates there are.
struct SuggestOptions {
  /// Other sizes of the first tile.
  bool tiles = true;
  /// Narrower floating point types.
  bool types = false;
  /// How the machine's compiler lays out values that are not pinned, if known:
  /// the layout of merged dimensions and of other types.
  std::optional<LayoutRule> rule;
  /// Values of the same dimensions that the array is made of or used for: of
  /// orders that take as much, theirs need no relayout.
  llvm::ArrayRef<ReportNeighbour> neighbours;
};

/// The best candidate of each kind that is smaller than `shape`, the smallest
/// first, but other types last.
std::vector<Suggestion> suggestLayouts(const Shape &shape,
                                       const SuggestOptions &options);

/// How the move of `value` could be avoided or hidden, or nothing.
std::optional<Suggestion> suggestMove(const ValueReport &value);

} // namespace tessera

#endif // TESSERA_LIB_REPORT_SUGGEST_H
