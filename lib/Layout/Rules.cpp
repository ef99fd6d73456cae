//===- Rules.cpp - The rules of the notation ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each rule of docs/notation-rules.md, in its order; each
// returns the first violation.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Rules.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using namespace tessera::detail;

using llvm::Twine;

std::string detail::describeToken(llvm::StringRef text, size_t position) {
  // Long words are cut.
  constexpr size_t kMaxLength = 40;
  llvm::StringRef rest = text.substr(position);
  if (rest.empty())
    return "the end of the text";
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  size_t length = rest.front() == '-' ? 1 : 0;
  length += rest.substr(length).take_while(isWord).size();
  if (length == 0 && !llvm::isPrint(rest.front()))
    return "byte 0x" + llvm::utohexstr(static_cast<uint8_t>(rest.front()),
                                       /*LowerCase=*/true, /*Width=*/2);
  length = std::clamp<size_t>(length, 1, kMaxLength);
  return ("`" + rest.substr(0, length) + "`").str();
}

size_t detail::findPosition(const FieldPositions &positions, FieldEntry entry,
                            size_t fallback) {
  for (FieldEntry part :
       {entry, FieldEntry{entry.field, entry.i}, FieldEntry{entry.field}})
    if (auto it = positions.find(part); it != positions.end())
      return it->second;
  return fallback;
}

static Violation violate(FieldEntry entry, llvm::StringRef rule,
                         const Twine &field, const Twine &expected,
                         const Twine &found, const Twine &remedy = "") {
  Diagnostic diagnostic;
  diagnostic.rule = rule.str();
  diagnostic.field = field.str();
  diagnostic.expected = expected.str();
  diagnostic.found = found.str();
  diagnostic.remedy = remedy.str();
  return {entry, std::move(diagnostic)};
}

//===----------------------------------------------------------------------===//
// Rules of a layout alone
//===----------------------------------------------------------------------===//

/// layout_c1: minor_to_major is a permutation of 0..rank-1.
static MaybeViolation checkMinorToMajor(const Layout &layout) {
  int64_t rank = layout.rank();
  llvm::SmallBitVector seen(rank);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t dim = layout.minorToMajor[i];
    if (dim >= 0 && dim < rank && !seen.test(dim)) {
      seen.set(dim);
      continue;
    }
    bool isRepeated = dim >= 0 && dim < rank;
    return violate({Field::MinorToMajor, i}, "layout_c1", "minor_to_major",
                   "a permutation of the dimensions 0 to " + Twine(rank - 1),
                   Twine(dim) + (isRepeated ? " for the second time" : ""));
  }
  return std::nullopt;
}

MaybeViolation detail::checkTileNumber(int64_t size) {
  if (size > 0)
    return std::nullopt;
  return violate({Field::Tiles}, "layout_c3", "tile size",
                 "a positive number or `*`", Twine(size));
}

/// layout_c2, layout_c3, layout_c4: tiles have sizes, which are positive or
/// `*`, the last one a number.
MaybeViolation detail::checkTile(const Tile &tile, int64_t index) {
  if (tile.sizes.empty())
    return violate({Field::Tiles, index}, "layout_c2", "tile",
                   "at least one size", "()");
  for (auto [j, size] : llvm::enumerate(tile.sizes)) {
    if (size == Tile::kCombine)
      continue;
    if (MaybeViolation violation = checkTileNumber(size)) {
      violation->entry = {Field::Tiles, index, static_cast<int64_t>(j)};
      return violation;
    }
  }
  if (tile.sizes.back() != Tile::kCombine)
    return std::nullopt;
  int64_t last = static_cast<int64_t>(tile.sizes.size()) - 1;
  return violate({Field::Tiles, index, last}, "layout_c4",
                 "last size of a tile", "a number", "`*`",
                 "`*` merges an axis into its more minor neighbour, and the "
                 "last one has none");
}

static MaybeViolation checkTiles(const Layout &layout) {
  for (auto [i, tile] : llvm::enumerate(layout.tiles))
    if (MaybeViolation violation = checkTile(tile, i))
      return violation;
  return std::nullopt;
}

/// layout_c5, layout_c6, layout_c7: L, E and S are within their ranges.
static MaybeViolation checkNumbers(const Layout &layout) {
  if (layout.tailPaddingAlignment < 1)
    return violate({Field::TailPaddingAlignment}, "layout_c5",
                   "tail padding alignment L", "at least 1",
                   Twine(layout.tailPaddingAlignment));
  if (layout.elementSizeInBits < 0)
    return violate({Field::ElementSizeInBits}, "layout_c6", "element size E",
                   "at least 0 bits", Twine(layout.elementSizeInBits));
  if (layout.memorySpace < 0 || layout.memorySpace > 127)
    return violate({Field::MemorySpace}, "layout_c7", "memory space S",
                   "a number from 0 to 127", Twine(layout.memorySpace));
  return std::nullopt;
}

/// layout_c8, layout_c9: a split names a physical dimension and divides it at
/// positive, increasing positions.
static MaybeViolation checkSplit(const Layout &layout, int64_t i) {
  const SplitConfig &split = layout.splitConfigs[i];
  if (split.dimension < 0 || split.dimension >= layout.rank())
    return violate({Field::SplitConfigs, i}, "layout_c8",
                   "dimension of split configuration SC",
                   "a physical dimension below the rank " +
                       Twine(layout.rank()),
                   Twine(split.dimension));
  int64_t previous = 0;
  for (auto [j, index] : llvm::enumerate(split.indices)) {
    if (index <= previous)
      return violate(
          {Field::SplitConfigs, i, static_cast<int64_t>(j) + 1}, "layout_c9",
          "index of split configuration SC", "positive, increasing indices",
          Twine(index) + (j ? " after " + Twine(previous) : Twine()));
    previous = index;
  }
  return std::nullopt;
}

static MaybeViolation checkSplits(const Layout &layout) {
  for (size_t i = 0; i < layout.splitConfigs.size(); ++i)
    if (MaybeViolation violation = checkSplit(layout, i))
      return violation;
  return std::nullopt;
}

/// layout_c10: M is not negative.
static MaybeViolation checkMetadata(const Layout &layout) {
  if (layout.dynamicShapeMetadataPrefixBytes >= 0)
    return std::nullopt;
  return violate({Field::DynamicShapeMetadataPrefixBytes}, "layout_c10",
                 "metadata prefix M", "at least 0 bytes",
                 Twine(layout.dynamicShapeMetadataPrefixBytes));
}

/// layout_c11: PD has a width for each dimension, none negative.
static MaybeViolation checkPaddedDimensions(const Layout &layout) {
  if (layout.paddedDimensions.empty())
    return std::nullopt;
  int64_t count = static_cast<int64_t>(layout.paddedDimensions.size());
  if (count != layout.rank())
    return violate(
        {Field::PaddedDimensions}, "layout_c11", "padded dimensions PD",
        "a width for each of " + Twine(layout.rank()) + " dimensions",
        Twine(count));
  for (auto [i, width] : llvm::enumerate(layout.paddedDimensions))
    if (width < 0)
      return violate({Field::PaddedDimensions, static_cast<int64_t>(i)},
                     "layout_c11", "width in PD", "at least 0", Twine(width));
  return std::nullopt;
}

MaybeViolation detail::checkBoundNumber(int64_t bound) {
  if (bound >= 0)
    return std::nullopt;
  return violate({Field::Bounds}, "layout_c12", "bound in B",
                 "at least 0, or `?`", Twine(bound));
}

/// layout_c12: B has an entry for each dimension, at least one of them a
/// bound; all `?` would be a second spelling of no B at all.
static MaybeViolation checkBounds(const Layout &layout) {
  if (layout.bounds.empty())
    return std::nullopt;
  int64_t count = static_cast<int64_t>(layout.bounds.size());
  if (count != layout.rank())
    return violate({Field::Bounds}, "layout_c12", "bounds B",
                   "an entry for each of " + Twine(layout.rank()) +
                       " dimensions",
                   Twine(count));
  if (llvm::all_of(layout.bounds, [](int64_t b) { return b == kDynamic; }))
    return violate({Field::Bounds}, "layout_c12", "bounds B",
                   "at least one bound", "only `?`", "leave B out");
  for (auto [i, bound] : llvm::enumerate(layout.bounds)) {
    if (bound == kDynamic)
      continue;
    if (MaybeViolation violation = checkBoundNumber(bound)) {
      violation->entry.i = static_cast<int64_t>(i);
      return violation;
    }
  }
  return std::nullopt;
}

MaybeViolation detail::checkLayout(const Layout &layout) {
  for (auto *check : {checkMinorToMajor, checkTiles, checkNumbers, checkSplits,
                      checkMetadata, checkPaddedDimensions, checkBounds})
    if (MaybeViolation violation = check(layout))
      return violation;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rules of a layout against its array
//===----------------------------------------------------------------------===//

/// layout_c14: padding widens.
static MaybeViolation checkWidths(const Layout &layout,
                                  llvm::ArrayRef<int64_t> dimensions) {
  for (auto [i, width] : llvm::enumerate(layout.paddedDimensions)) {
    int64_t size = dimensions[i];
    if (!layout.bounds.empty() && layout.bounds[i] != kDynamic)
      size = layout.bounds[i];
    if (width < size)
      return violate({Field::PaddedDimensions, static_cast<int64_t>(i)},
                     "layout_c14", "width of dimension " + Twine(i) + " in PD",
                     "at least the size " + Twine(size), Twine(width));
  }
  return std::nullopt;
}

/// Whether an element of `type` can be `value`. Infinities where the type has
/// them, else finite limits, so every ordered type has a lowest and a highest.
static bool hasPaddingValue(PrimitiveType type, PaddingValue value) {
  switch (value) {
  case PaddingValue::Zero:
    // Exponents alone: every value is a power of two.
    return type != PrimitiveType::F8E8M0FNU;
  case PaddingValue::One:
    // The values of s1 are -1 and 0.
    return type != PrimitiveType::S1;
  case PaddingValue::Lowest:
  case PaddingValue::Highest:
    return type != PrimitiveType::Pred && !isComplex(type);
  }
  llvm_unreachable("covered switch");
}

/// layout_c15: PV is a value that elements can have.
static MaybeViolation checkPaddingValue(const Layout &layout,
                                        PrimitiveType type) {
  if (!layout.paddingValue || hasPaddingValue(type, *layout.paddingValue))
    return std::nullopt;
  return violate({Field::PaddingValue}, "layout_c15", "padding value PV",
                 "a value that " + getName(type) + " has",
                 getName(*layout.paddingValue));
}

/// layout_c16: a dimension is not larger than its bound. It may have both: what
/// was of unknown size has the same memory once the size is known.
static MaybeViolation
checkBoundedDimensions(const Layout &layout,
                       llvm::ArrayRef<int64_t> dimensions) {
  for (auto [i, bound] : llvm::enumerate(layout.bounds))
    if (bound != kDynamic && dimensions[i] > bound)
      return violate({Field::Bounds, static_cast<int64_t>(i)}, "layout_c16",
                     "bound of dimension " + Twine(i) + " in B",
                     "at least its size " + Twine(dimensions[i]), Twine(bound));
  return std::nullopt;
}

/// Whether the buffer's bits surely number less than 2^63. Each round-up to a
/// multiple of t gives at most t times as many positions, so that the product
/// of everything bounds the buffer; nearly all layouts are decided here.
static bool surelyFits(const Layout &layout, PrimitiveType type,
                       llvm::ArrayRef<int64_t> dimensions) {
  uint64_t bits = layout.elementSizeInBits ? layout.elementSizeInBits
                                           : getByteWidth(type) * 8;
  auto multiply = [&](int64_t factor) {
    if (factor > 1)
      bits = llvm::SaturatingMultiply<uint64_t>(bits, factor);
  };
  bool isPadded = !layout.paddedDimensions.empty();
  llvm::for_each(isPadded ? llvm::ArrayRef(layout.paddedDimensions)
                          : dimensions,
                 multiply);
  llvm::for_each(layout.bounds, multiply);
  for (const Tile &tile : layout.tiles)
    llvm::for_each(tile.sizes, multiply);
  multiply(layout.tailPaddingAlignment);
  return bits <= INT64_MAX;
}

/// layout_c17: the elements and the bytes of the buffer can be counted.
static MaybeViolation checkFootprint(const Layout &layout, PrimitiveType type,
                                     llvm::ArrayRef<int64_t> dimensions) {
  if (surelyFits(layout, type, dimensions))
    return std::nullopt;
  Violation tooLarge =
      violate({Field::MinorToMajor}, "layout_c17", "size of the buffer",
              "at most 2^63 - 1 elements and bytes, padding included", "more");
  llvm::Expected<AxisList> axes = AxisList::get(dimensions, layout);
  if (!axes) {
    // What is unsupported is still valid; an overflow is not.
    Diagnostic diagnostic = takeDiagnostic(axes.takeError());
    if (diagnostic.kind == DiagnosticKind::Unsupported)
      return std::nullopt;
    return tooLarge;
  }
  if (!axes->isStatic())
    return std::nullopt;
  llvm::Expected<int64_t> bytes =
      getStorageBytes(axes->numAllocated(), type, layout);
  if (bytes)
    return std::nullopt;
  llvm::consumeError(bytes.takeError());
  return tooLarge;
}

MaybeViolation detail::checkLayoutOfArray(const Layout &layout,
                                          PrimitiveType type,
                                          llvm::ArrayRef<int64_t> dimensions) {
  if (layout.minorToMajor.size() != dimensions.size())
    return violate({Field::MinorToMajor}, "layout_c13", "minor_to_major",
                   "an entry for each of " + Twine(dimensions.size()) +
                       " dimensions",
                   Twine(layout.rank()));
  if (MaybeViolation violation = checkWidths(layout, dimensions))
    return violation;
  if (MaybeViolation violation = checkPaddingValue(layout, type))
    return violation;
  if (MaybeViolation violation = checkBoundedDimensions(layout, dimensions))
    return violation;
  return checkFootprint(layout, type, dimensions);
}

//===----------------------------------------------------------------------===//
// Rules of an array
//===----------------------------------------------------------------------===//

/// shape_c1: sizes and bounds are not negative. kDynamic is the size of a
/// dynamic dimension only.
static MaybeViolation checkSizes(const Shape &shape) {
  for (auto [i, size] : llvm::enumerate(shape.dimensions())) {
    bool isDynamic = shape.isDynamicDimension(i);
    if (size >= 0 || (isDynamic && size == kDynamic))
      continue;
    return violate({Field::Dimensions, static_cast<int64_t>(i)}, "shape_c1",
                   isDynamic ? "bound of a dimension" : "size of a dimension",
                   "at least 0", Twine(size));
  }
  return std::nullopt;
}

/// shape_c2: the elements and their bytes can be counted. Unbounded dimensions
/// do not count, and beside a dimension of size 0 nothing else does.
static MaybeViolation checkProducts(const Shape &shape) {
  if (llvm::is_contained(shape.dimensions(), 0))
    return std::nullopt;
  int64_t bytes = getByteWidth(shape.elementType());
  for (auto [i, size] : llvm::enumerate(shape.dimensions()))
    if (size != kDynamic && llvm::MulOverflow(bytes, size, bytes))
      return violate({Field::Dimensions, static_cast<int64_t>(i)}, "shape_c2",
                     "size of the array", "at most 2^63 - 1 bytes", "more");
  return std::nullopt;
}

/// shape_c3: element types are not tokens. shape_c4: bounds are written in the
/// dimensions.
MaybeViolation detail::checkArray(const Shape &shape) {
  if (!isArrayElement(shape.elementType()))
    return violate({Field::Dimensions}, "shape_c3", "element type",
                   "a type that arrays have", getName(shape.elementType()));
  if (MaybeViolation violation = checkSizes(shape))
    return violation;
  if (MaybeViolation violation = checkProducts(shape))
    return violation;
  if (!shape.hasLayout())
    return std::nullopt;

  const Layout &layout = shape.layout();
  if (!layout.bounds.empty())
    return violate({Field::Bounds}, "shape_c4", "bounds B",
                   "none in the layout of a shape", layout.toString(),
                   "write the bound among the dimensions, as `<=8`");
  if (MaybeViolation violation = checkLayout(layout))
    return violation;
  return checkLayoutOfArray(layout, shape.elementType(), shape.dimensions());
}
