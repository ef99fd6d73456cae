//===- Windows.h - Windows, paddings and labels of HLO ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers for the attributes `window`, `padding` and `dim_labels`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_WINDOWS_H
#define TESSERA_HLO_WINDOWS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace tessera::hlo {

/// One dimension of a window.
struct WindowDimension {
  int64_t size = 1, stride = 1, low = 0, high = 0;
  int64_t baseDilation = 1, windowDilation = 1;
  bool reversed = false;
};

/// A window of `rank` dimensions: `{size=2x3 pad=0_1x1_1}`; an empty text is
/// one that does nothing. Nothing where the text has other dimensions.
std::optional<llvm::SmallVector<WindowDimension>>
readWindow(llvm::StringRef text, int64_t rank);

/// Padding of a dimension: behind each element but the last there are
/// `interior` more.
struct PaddingDimension {
  int64_t low = 0, high = 0, interior = 0;
};

/// `0_1x2_2_1`; nothing where these are no integers, or there are elements less
/// than none between two.
std::optional<llvm::SmallVector<PaddingDimension>>
readPadding(llvm::StringRef text);

/// Which dimension of an array is which, by two letters and the digits.
struct DimLabels {
  int64_t first = -1, second = -1;
  llvm::SmallVector<int64_t> spatial;
};

/// Of a convolution, `b01f_01io->b01f`: input and result by b and f, the window
/// by o and i.
struct ConvolutionLabels {
  DimLabels lhs, rhs, out;
};

/// Nothing where a label is not there once.
std::optional<ConvolutionLabels> readDimLabels(llvm::StringRef text);

} // namespace tessera::hlo

#endif // TESSERA_HLO_WINDOWS_H
