//===- PaddedAxes.cpp - An array that fills its padding -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedAxes.h"

using namespace tessera;

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
    if (list && list->physicalShape() == physicalShape)
      return std::move(*list);
    if (!list)
      llvm::consumeError(list.takeError());
    return std::nullopt;
  };
  for (int64_t &size : sizes) {
    // The largest size is in [low, high).
    int64_t low = size, high = axes.numPlaces() + 1;
    while (low + 1 < high) {
      size = low + (high - low) / 2;
      (getAxes() ? low : high) = size;
    }
    size = low;
  }
  return getAxes();
}
