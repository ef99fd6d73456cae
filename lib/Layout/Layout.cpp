//===- Layout.cpp - How an array lies in memory ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Layout.h"
#include "tessera/Layout/Rules.h"
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

template <typename T> static bool isEmpty(const T &list) {
  return list.empty();
}
static bool isEmpty(const std::optional<PaddingValue> &value) { return !value; }

bool Layout::hasAttributes() const {
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, ...)                           \
  if (MEMBER != (DEFAULT))                                                     \
    return true;
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, ...)                               \
  if (!isEmpty(MEMBER))                                                        \
    return true;
#include "tessera/Layout/LayoutFields.def"
  return false;
}

bool Layout::operator==(const Layout &other) const {
  if (minorToMajor != other.minorToMajor)
    return false;
#define LAYOUT_NUMBER(ID, KEY, MEMBER, ...)                                    \
  if (MEMBER != other.MEMBER)                                                  \
    return false;
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, ...)                               \
  if (MEMBER != other.MEMBER)                                                  \
    return false;
#include "tessera/Layout/LayoutFields.def"
  return true;
}

llvm::Error Layout::verify() const {
  if (detail::MaybeViolation violation = detail::checkLayout(*this))
    return violation->takeError();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Hash and equality with switches
//===----------------------------------------------------------------------===//

static llvm::hash_code hashValue(int64_t value) {
  return llvm::hash_value(value);
}

static llvm::hash_code hashValue(llvm::ArrayRef<int64_t> values) {
  return llvm::hash_combine_range(values.begin(), values.end());
}

static llvm::hash_code hashValue(const std::optional<PaddingValue> &value) {
  // One more than the value, so that 0 is "absent".
  return llvm::hash_value(value ? static_cast<int>(*value) + 1 : 0);
}

static llvm::hash_code hashValue(const TileList &tiles) {
  llvm::hash_code hash = tiles.size();
  for (const Tile &tile : tiles)
    hash = llvm::hash_combine(hash, hashValue(tile.sizes));
  return hash;
}

static llvm::hash_code hashValue(const SplitConfigList &splits) {
  llvm::hash_code hash = splits.size();
  for (const SplitConfig &split : splits)
    hash = llvm::hash_combine(hash, split.dimension, hashValue(split.indices));
  return hash;
}

llvm::hash_code tessera::hash_value(const Layout &layout) {
  llvm::hash_code hash = hashValue(layout.minorToMajor);
#define LAYOUT_NUMBER(ID, KEY, MEMBER, ...)                                    \
  hash = llvm::hash_combine(hash, hashValue(layout.MEMBER));
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, ...)                               \
  hash = llvm::hash_combine(hash, hashValue(layout.MEMBER));
#include "tessera/Layout/LayoutFields.def"
  return hash;
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
  if (lhs.minorToMajor != rhs.minorToMajor)
    return false;
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, PHRASE, IGNORE, ...)           \
  if (!IGNORE && lhs.MEMBER != rhs.MEMBER)                                     \
    return false;
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, PHRASE, IGNORE, ...)               \
  if (!IGNORE && lhs.MEMBER != rhs.MEMBER)                                     \
    return false;
#include "tessera/Layout/LayoutFields.def"
  return true;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// The numbers in parentheses, kDynamic as `unknown`.
static void printNumbers(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> numbers,
                         char unknown) {
  os << '(';
  llvm::interleave(
      numbers, os,
      [&](int64_t number) {
        if (number == kDynamic)
          os << unknown;
        else
          os << number;
      },
      ",");
  os << ')';
}

void Tile::print(llvm::raw_ostream &os) const {
  static_assert(kCombine == kDynamic, "both are -2^63, as in XLA");
  printNumbers(os, sizes, '*');
}

static void printValue(llvm::raw_ostream &os, int64_t value) {
  os << '(' << value << ')';
}

static void printValue(llvm::raw_ostream &os, const DimensionList &list) {
  printNumbers(os, list, '?');
}

static void printValue(llvm::raw_ostream &os, const TileList &tiles) {
  for (const Tile &tile : tiles)
    tile.print(os);
}

static void printValue(llvm::raw_ostream &os, const SplitConfigList &splits) {
  for (const SplitConfig &split : splits) {
    os << '(' << split.dimension << ':';
    llvm::interleave(split.indices, os, ",");
    os << ')';
  }
}

static void printValue(llvm::raw_ostream &os,
                       const std::optional<PaddingValue> &value) {
  os << '(' << getName(*value) << ')';
}

static void printKeys(llvm::raw_ostream &os, const Layout &layout) {
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, ...)                           \
  if (layout.MEMBER != (DEFAULT)) {                                            \
    os << KEY;                                                                 \
    printValue(os, layout.MEMBER);                                             \
  }
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, ...)                               \
  if (!isEmpty(layout.MEMBER)) {                                               \
    os << KEY;                                                                 \
    printValue(os, layout.MEMBER);                                             \
  }
#include "tessera/Layout/LayoutFields.def"
}

void Layout::print(llvm::raw_ostream &os) const {
  os << '{';
  llvm::interleave(minorToMajor, os, ",");
  if (hasAttributes()) {
    os << ':';
    printKeys(os, *this);
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
