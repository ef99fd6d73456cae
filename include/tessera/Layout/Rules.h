//===- Rules.h - The rules of the notation ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For parsers of texts. The rules of docs/notation-rules.md as checks of
// values. A violation says which part of the value it is about, so that the
// parser can point at the token and Layout::verify needs no text.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_RULES_H
#define TESSERA_LAYOUT_RULES_H

#include "tessera/Layout/Shape.h"

#include <map>
#include <tuple>

namespace tessera {
namespace detail {

enum class Field : uint8_t {
  Dimensions,
  MinorToMajor,
#define LAYOUT_NUMBER(ID, ...) ID,
#define LAYOUT_FIELD(ID, ...) ID,
#include "tessera/Layout/LayoutFields.def"
};

/// A part of an array shape: entry `j` of entry `i` of a field. kWhole stands
/// for all entries.
struct FieldEntry {
  static constexpr int64_t kWhole = -1;

  Field field;
  int64_t i = kWhole;
  int64_t j = kWhole;

  bool operator<(const FieldEntry &other) const {
    return std::tie(field, i, j) < std::tie(other.field, other.i, other.j);
  }
};

/// What stands at a position, for `found` of an error: a word or number, a
/// character, a byte that cannot be printed, or the end of the text.
std::string describeToken(llvm::StringRef text, size_t position);

/// Where in a text the parts of an array are.
using FieldPositions = std::map<FieldEntry, size_t>;

/// The position of `entry`, or of what it is a part of, or `fallback`.
size_t findPosition(const FieldPositions &positions, FieldEntry entry,
                    size_t fallback);

/// Tuples nest at most so deep in texts (text_c8): values of this depth can be
/// copied, compared and destroyed on any stack.
inline constexpr int kMaxNesting = 256;

struct Violation {
  FieldEntry entry;
  Diagnostic diagnostic;

  /// The error without a position.
  llvm::Error takeError() {
    return llvm::make_error<LayoutError>(std::move(diagnostic));
  }
};

/// The first violated rule, or nothing.
using MaybeViolation = std::optional<Violation>;

/// The rules of one tile size that was written as a number. A number that is
/// the mark of `*` in Tile::sizes is as negative as any other.
MaybeViolation checkTileNumber(int64_t size);
/// The same for a bound in B, where the mark is that of `?`.
MaybeViolation checkBoundNumber(int64_t bound);

/// The rules of a tile; `index` is its number in the layout.
MaybeViolation checkTile(const Tile &tile, int64_t index);

/// The rules of Layout::verify.
MaybeViolation checkLayout(const Layout &layout);

/// The rules of verifyLayout that come on top of checkLayout.
MaybeViolation checkLayoutOfArray(const Layout &layout, PrimitiveType type,
                                  llvm::ArrayRef<int64_t> dimensions);

/// All rules of an array shape, those of its layout included.
MaybeViolation checkArray(const Shape &shape);

} // namespace detail
} // namespace tessera

#endif // TESSERA_LAYOUT_RULES_H
