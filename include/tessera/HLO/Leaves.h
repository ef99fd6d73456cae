//===- Leaves.h - The leaves of shapes --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The leaves of a shape are everything in it that is no tuple. They are
// numbered in order, and those of several operands one after another.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_LEAVES_H
#define TESSERA_HLO_LEAVES_H

#include "tessera/HLO/Module.h"

#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// Leaves `begin` to `begin + count` of a shape.
struct LeafRange {
  size_t begin = 0;
  size_t count = 0;
};

/// Counts leaves. Shapes must outlive it: each is looked at once.
class LeafCounter {
public:
  size_t count(const Shape &shape) { return getOffsets(shape).back(); }

  /// Of the part of `shape` at `index`; nothing where there is none.
  std::optional<LeafRange> getRange(const Shape &shape,
                                    llvm::ArrayRef<int64_t> index);

private:
  /// The first leaf of each element and, behind them, the number of leaves.
  const std::vector<size_t> &getOffsets(const Shape &shape);

  llvm::DenseMap<const Shape *, std::unique_ptr<std::vector<size_t>>> offsets;
};

/// All leaves in order.
llvm::SmallVector<const Shape *, 4> getLeaves(const Shape &shape);

} // namespace tessera

#endif // TESSERA_HLO_LEAVES_H
