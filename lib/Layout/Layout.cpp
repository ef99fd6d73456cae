//===- Layout.cpp - How an array lies in memory ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Layout.h"
#include "Rules.h"
#include "tessera/Layout/Shape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

llvm::StringRef tessera::getName(PaddingValue value) {
  switch (value) {
  case PaddingValue::Zero:
    return "zero";
  case PaddingValue::One:
    return "one";
  case PaddingValue::Lowest:
    return "lowest";
  case PaddingValue::Highest:
    return "highest";
  }
  llvm_unreachable("covered switch");
}

Layout Layout::descending(int64_t rank) {
  Layout layout;
  layout.minorToMajor.reserve(rank);
  for (int64_t dim = rank; dim-- > 0;)
    layout.minorToMajor.push_back(dim);
  return layout;
}

bool Layout::hasAttributes() const {
  return !tiles.empty() || tailPaddingAlignment != 1 ||
         elementSizeInBits != 0 || memorySpace != 0 || !splitConfigs.empty() ||
         dynamicShapeMetadataPrefixBytes != 0 || !paddedDimensions.empty() ||
         paddingValue || !bounds.empty();
}

/// Every field, for comparisons.
static auto fields(const Layout &layout) {
  return std::tie(layout.minorToMajor, layout.tiles,
                  layout.tailPaddingAlignment, layout.elementSizeInBits,
                  layout.memorySpace, layout.splitConfigs,
                  layout.dynamicShapeMetadataPrefixBytes,
                  layout.paddedDimensions, layout.paddingValue, layout.bounds);
}

bool Layout::operator==(const Layout &other) const {
  return fields(*this) == fields(other);
}

llvm::Error Layout::verify() const {
  if (detail::MaybeViolation violation = detail::checkLayout(*this))
    return violation->takeError();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Hash and equality with switches
//===----------------------------------------------------------------------===//

static llvm::hash_code hashRange(llvm::ArrayRef<int64_t> values) {
  return llvm::hash_combine_range(values.begin(), values.end());
}

llvm::hash_code tessera::hash_value(const Layout &layout) {
  llvm::hash_code tiles = layout.tiles.size();
  for (const Tile &tile : layout.tiles)
    tiles = llvm::hash_combine(tiles, hashRange(tile.sizes));
  llvm::hash_code splits = layout.splitConfigs.size();
  for (const SplitConfig &split : layout.splitConfigs)
    splits =
        llvm::hash_combine(splits, split.dimension, hashRange(split.indices));
  // One more than the value, so that 0 is "absent".
  int padding =
      layout.paddingValue ? static_cast<int>(*layout.paddingValue) + 1 : 0;
  return llvm::hash_combine(
      hashRange(layout.minorToMajor), tiles, layout.tailPaddingAlignment,
      layout.elementSizeInBits, layout.memorySpace, splits,
      layout.dynamicShapeMetadataPrefixBytes,
      hashRange(layout.paddedDimensions), padding, hashRange(layout.bounds));
}

LayoutEqual LayoutEqual::minorToMajorOnly() {
  LayoutEqual equal;
  equal.ignoreTiles = true;
  equal.ignoreTailPadding = true;
  equal.ignoreElementSize = true;
  equal.ignoreMemorySpace = true;
  equal.ignorePadding = true;
  return equal;
}

bool LayoutEqual::operator()(const Layout &lhs, const Layout &rhs) const {
  if (lhs.minorToMajor != rhs.minorToMajor || lhs.bounds != rhs.bounds)
    return false;
  if (!ignoreTiles && lhs.tiles != rhs.tiles)
    return false;
  if (!ignoreTailPadding &&
      lhs.tailPaddingAlignment != rhs.tailPaddingAlignment)
    return false;
  if (!ignoreElementSize && lhs.elementSizeInBits != rhs.elementSizeInBits)
    return false;
  if (!ignoreMemorySpace && lhs.memorySpace != rhs.memorySpace)
    return false;
  if (!ignoreSplitConfigs && lhs.splitConfigs != rhs.splitConfigs)
    return false;
  if (!ignorePadding && (lhs.paddedDimensions != rhs.paddedDimensions ||
                         lhs.paddingValue != rhs.paddingValue))
    return false;
  return ignoreMetadataPrefix || lhs.dynamicShapeMetadataPrefixBytes ==
                                     rhs.dynamicShapeMetadataPrefixBytes;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printTile(llvm::raw_ostream &os, const Tile &tile) {
  os << '(';
  llvm::interleave(
      tile.sizes, os,
      [&](int64_t size) {
        if (size == Tile::kCombine)
          os << '*';
        else
          os << size;
      },
      ",");
  os << ')';
}

static void printSplitConfig(llvm::raw_ostream &os, const SplitConfig &split) {
  os << '(' << split.dimension << ':';
  llvm::interleave(split.indices, os, ",");
  os << ')';
}

/// The keys that XLA has, in its order.
static void printXlaAttributes(llvm::raw_ostream &os, const Layout &layout) {
  if (!layout.tiles.empty()) {
    os << 'T';
    for (const Tile &tile : layout.tiles)
      printTile(os, tile);
  }
  if (layout.tailPaddingAlignment != 1)
    os << "L(" << layout.tailPaddingAlignment << ')';
  if (layout.elementSizeInBits != 0)
    os << "E(" << layout.elementSizeInBits << ')';
  if (layout.memorySpace != 0)
    os << "S(" << layout.memorySpace << ')';
  if (!layout.splitConfigs.empty()) {
    os << "SC";
    for (const SplitConfig &split : layout.splitConfigs)
      printSplitConfig(os, split);
  }
  if (layout.dynamicShapeMetadataPrefixBytes != 0)
    os << "M(" << layout.dynamicShapeMetadataPrefixBytes << ')';
}

/// The keys of Tessera, always last.
static void printOwnAttributes(llvm::raw_ostream &os, const Layout &layout) {
  if (!layout.paddedDimensions.empty()) {
    os << "PD(";
    llvm::interleave(layout.paddedDimensions, os, ",");
    os << ')';
  }
  if (layout.paddingValue)
    os << "PV(" << getName(*layout.paddingValue) << ')';
  if (layout.bounds.empty())
    return;
  os << "B(";
  llvm::interleave(
      layout.bounds, os,
      [&](int64_t bound) {
        if (bound == kDynamic)
          os << '?';
        else
          os << bound;
      },
      ",");
  os << ')';
}

void Layout::print(llvm::raw_ostream &os) const {
  os << '{';
  llvm::interleave(minorToMajor, os, ",");
  if (hasAttributes()) {
    os << ':';
    printXlaAttributes(os, *this);
    printOwnAttributes(os, *this);
  }
  os << '}';
}

std::string Layout::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

llvm::raw_ostream &tessera::operator<<(llvm::raw_ostream &os,
                                       const Layout &layout) {
  layout.print(os);
  return os;
}
