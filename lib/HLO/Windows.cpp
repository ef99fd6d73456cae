//===- Windows.cpp - Windows, paddings and labels of HLO ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Windows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tessera::hlo;
using llvm::SmallVector;
using llvm::StringRef;

/// The numbers of `2x-1x3` or `1_2x3_4`, `each` of them for a dimension.
static std::optional<SmallVector<int64_t>>
readNumbers(StringRef text, int64_t rank, size_t each) {
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> dimensions;
  text.split(dimensions, 'x');
  if (dimensions.size() != static_cast<size_t>(rank))
    return std::nullopt;
  for (StringRef dimension : dimensions) {
    SmallVector<StringRef> parts;
    dimension.split(parts, '_');
    if (parts.size() != each)
      return std::nullopt;
    for (StringRef part : parts)
      if (part.getAsInteger(10, numbers.emplace_back()))
        return std::nullopt;
  }
  return numbers;
}

/// Sets what one entry of a window says; whether it could be read.
static bool setWindowField(StringRef name, StringRef value,
                           llvm::SmallVectorImpl<WindowDimension> &window) {
  auto rank = static_cast<int64_t>(window.size());
  if (name == "pad") {
    auto numbers = readNumbers(value, rank, 2);
    for (int64_t i = 0; numbers && i < rank; ++i) {
      window[i].low = (*numbers)[2 * i];
      window[i].high = (*numbers)[2 * i + 1];
    }
    return numbers.has_value();
  }
  auto numbers = readNumbers(value, rank, 1);
  for (int64_t i = 0; numbers && i < rank; ++i) {
    int64_t number = (*numbers)[i];
    if (name == "rhs_reversal") {
      window[i].reversed = number != 0;
      continue;
    }
    int64_t *field = llvm::StringSwitch<int64_t *>(name)
                         .Case("size", &window[i].size)
                         .Case("stride", &window[i].stride)
                         .Case("lhs_dilate", &window[i].baseDilation)
                         .Case("rhs_dilate", &window[i].windowDilation)
                         .Default(nullptr);
    if (!field || number < (name == "size" ? 0 : 1))
      return false;
    *field = number;
  }
  return numbers.has_value();
}

std::optional<SmallVector<WindowDimension>>
tessera::hlo::readWindow(StringRef text, int64_t rank) {
  SmallVector<WindowDimension> window(rank);
  SmallVector<StringRef> entries;
  text.trim("{}").split(entries, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, value] = entry.split('=');
    if (!setWindowField(name, value, window))
      return std::nullopt;
  }
  return window;
}

std::optional<SmallVector<PaddingDimension>>
tessera::hlo::readPadding(StringRef text) {
  SmallVector<StringRef> entries;
  text.split(entries, 'x', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  SmallVector<PaddingDimension> padding;
  for (StringRef entry : entries) {
    PaddingDimension &dimension = padding.emplace_back();
    auto [low, rest] = entry.split('_');
    auto [high, interior] = rest.split('_');
    if (low.getAsInteger(10, dimension.low) ||
        high.getAsInteger(10, dimension.high) ||
        (!interior.empty() && interior.getAsInteger(10, dimension.interior)) ||
        dimension.interior < 0)
      return std::nullopt;
  }
  return padding;
}

/// The labels of one array, of which each is there once.
static std::optional<DimLabels> readLabels(StringRef text, char first,
                                           char second) {
  if (text.size() < 2)
    return std::nullopt;
  DimLabels labels;
  labels.spatial.assign(text.size() - 2, -1);
  auto set = [](int64_t &place, int64_t dim) {
    return place == -1 ? (place = dim, true) : false;
  };
  for (auto [dim, label] : llvm::enumerate(text)) {
    auto place = static_cast<int64_t>(dim);
    bool isSet = false;
    if (label == first)
      isSet = set(labels.first, place);
    else if (label == second)
      isSet = set(labels.second, place);
    else if (llvm::isDigit(label) &&
             size_t(label - '0') < labels.spatial.size())
      isSet = set(labels.spatial[label - '0'], place);
    if (!isSet)
      return std::nullopt;
  }
  return labels;
}

std::optional<ConvolutionLabels> tessera::hlo::readDimLabels(StringRef text) {
  auto [lhsText, rest] = text.split('_');
  auto [rhsText, outText] = rest.split("->");
  auto lhs = readLabels(lhsText, 'b', 'f');
  auto rhs = readLabels(rhsText, 'o', 'i');
  auto out = readLabels(outText, 'b', 'f');
  if (!lhs || !rhs || !out || lhs->spatial.size() != rhs->spatial.size() ||
      lhs->spatial.size() != out->spatial.size())
    return std::nullopt;
  return ConvolutionLabels{*lhs, *rhs, *out};
}
