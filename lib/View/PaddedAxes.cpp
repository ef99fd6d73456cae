//===- PaddedAxes.cpp - An array that fills its padding -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedAxes.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

/// Whether the elements of `axes` are where `larger` has them. A `*` numbers
/// the elements of several dimensions, and so differently once one grows; it
/// does so by digits, thus the first step of each tells.
static bool keepsPositions(const AxisList &axes, const AxisList &larger) {
  llvm::SmallVector<int64_t, 6> index(axes.dimensions().size(), 0);
  for (auto [dim, size] : llvm::enumerate(axes.dimensions())) {
    if (size <= 1)
      continue;
    llvm::SmallVector<int64_t, 4> steps =
        getSplit(dim, {&axes, &larger}).divisors;
    steps.push_back(1);
    for (int64_t step : steps) {
      if (step >= size)
        continue;
      index[dim] = step;
      if (axes.linearIndex(index) != larger.linearIndex(index))
        return false;
    }
    index[dim] = 0;
  }
  return true;
}

std::optional<AxisList> tessera::getPaddedAxes(const Layout &layout,
                                               const AxisList &axes) {
  Layout unpadded = layout;
  unpadded.paddedDimensions.clear();
  llvm::SmallVector<int64_t, 8> physicalShape = axes.physicalShape();
  llvm::SmallVector<int64_t, 6> sizes(axes.dimensions().begin(),
                                      axes.dimensions().end());
  if (!layout.paddedDimensions.empty())
    sizes.assign(layout.paddedDimensions.begin(),
                 layout.paddedDimensions.end());
  auto getAxes = [&]() -> std::optional<AxisList> {
    llvm::Expected<AxisList> list = AxisList::get(sizes, unpadded);
    if (list && list->physicalShape() == physicalShape &&
        keepsPositions(axes, *list))
      return std::move(*list);
    if (!list)
      llvm::consumeError(list.takeError());
    return std::nullopt;
  };
  for (auto [size, index] : llvm::zip_equal(sizes, axes.inverse().indices)) {
    // The largest size is in [size, high]: the index takes no other values in
    // this memory. At most 63 dimensions of it have two positions or more.
    int64_t high =
        index.range() == kDynamic ? axes.numPositions() : index.range();
    int64_t low = size;
    while (low < high) {
      size = low + (high - low) / 2 + 1;
      if (getAxes())
        low = size;
      else
        high = size - 1;
    }
    size = low;
  }
  return getAxes();
}
