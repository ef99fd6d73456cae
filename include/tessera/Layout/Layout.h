//===- Layout.h - How an array lies in memory -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Layout holds the fields of XLA's layout notation, and three that Tessera
// adds (PD, PV, B). The text in braces after a shape is a layout:
//
//   bf16[32,200]{1,0:T(8,128)(2,1)S(1)}
//
//   field             text            meaning
//   minorToMajor      1,0             dimension 1 varies fastest, then 0
//   tiles             T(8,128)(2,1)   tiles of 8 x 128, which are divided into
//                                     tiles of 2 x 1
//   memorySpace       S(1)            memory space 1, VMEM on a TPU
//
// A field that is not written has its default, so that `{1,0}` orders the
// dimensions and says nothing else. docs/notation.md explains every field with
// pictures, docs/notation-rules.md lists the rules that verify() checks.
//
// A Layout is a plain value without a shape: it has a rank, but neither sizes
// nor an element type. `{1,0:T(8,128)}` is the layout of matrices of any size.
// AxisList combines it with the sizes of an array, and computes positions.
//
// LayoutFields.def has one row for each field. Members, equality, hashing,
// printing, parsing, protocol buffers, the C API and the Python bindings are
// generated from it.
//
// Three notions of sameness must not be confused (docs/Rationale.md):
//   - equal: all fields are (operator==, or LayoutEqual to ignore some);
//   - same order: the dimensions vary in the same order, whatever the tiles;
//   - same bytes: every element is at the same position (Bitcast.h). `{1,0}`
//     and `{1,0:T(1,128)}` have the same bytes for f32[8,128].
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_LAYOUT_H
#define TESSERA_LAYOUT_LAYOUT_H

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/PrimitiveType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tessera {

/// The size of a dimension whose number is not known, written `?`.
/// Equal to mlir::ShapedType::kDynamic.
inline constexpr int64_t kDynamic = INT64_MIN;

/// One tile, `(8,128)`: sizes listed major to minor, in elements, matched
/// against the minor end of the axes. `kCombine`, written `*`, merges an axis
/// into its more minor neighbour.
struct Tile {
  static constexpr int64_t kCombine = INT64_MIN;

  llvm::SmallVector<int64_t, 4> sizes;

  bool operator==(const Tile &other) const { return sizes == other.sizes; }
  bool operator!=(const Tile &other) const { return !(*this == other); }

  /// `(8,128)`.
  void print(llvm::raw_ostream &os) const;
};

/// One SC entry, `(0:4,8)`: a physical dimension (0 = most major) and the
/// positions at which it is split, increasing.
struct SplitConfig {
  int64_t dimension = 0;
  llvm::SmallVector<int64_t, 4> indices;

  bool operator==(const SplitConfig &other) const {
    return dimension == other.dimension && indices == other.indices;
  }
};

/// What all padding of a buffer holds. Absent: unspecified.
enum class PaddingValue : uint8_t { Zero, One, Lowest, Highest };

/// The word in PV(...).
llvm::StringRef getName(PaddingValue value);

using DimensionList = llvm::SmallVector<int64_t, 6>;
using TileList = llvm::SmallVector<Tile, 2>;
using SplitConfigList = llvm::SmallVector<SplitConfig, 1>;

/// The fields of a layout, which LayoutFields.def describes. Every field has
/// the notation's default, so a Layout of only a minor_to_major is XLA's
/// `{1,0}`.
struct Layout {
  /// Dimensions from fastest varying to slowest; a permutation of 0..rank-1.
  DimensionList minorToMajor;
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, ...) int64_t MEMBER = DEFAULT;
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, ...) TYPE MEMBER;
#include "tessera/Layout/LayoutFields.def"

  /// The layout of descending order without tiles: `{rank-1,...,1,0}`.
  static Layout descending(int64_t rank);

  /// Number of dimensions that it orders.
  int64_t rank() const { return static_cast<int64_t>(minorToMajor.size()); }

  /// Whether any field but minorToMajor differs from its default.
  bool hasAttributes() const;

  /// Exact equality of all fields.
  bool operator==(const Layout &other) const;
  bool operator!=(const Layout &other) const { return !(*this == other); }

  /// The rules that need no sizes, layout_c1 to layout_c12 of
  /// docs/notation-rules.md: permutation, tile sizes, positive L, ranges of E,
  /// M and S, split configurations, and the number of entries of PD and B.
  llvm::Error verify() const;

  /// Canonical text with braces, `{1,0:T(8,128)}`; `{}` for a scalar without
  /// attributes, `{:T(256)}` for one with.
  std::string toString() const;
  void print(llvm::raw_ostream &os) const;
};

llvm::hash_code hash_value(const Layout &layout);

/// What LayoutEqual leaves out (XLA's Layout::Equal switches). M is never
/// compared by XLA; `metadataPrefix = false` compares it all the same.
struct LayoutEqual {
  /// Of fields that are always compared.
  static constexpr bool never = false;

  bool ignoreTiles = false;
  bool ignoreTailPadding = false;
  bool ignoreElementSize = false;
  bool ignoreMemorySpace = false;
  bool ignoreSplitConfigs = false;
  bool ignorePadding = false; ///< PD and PV.
  bool ignoreMetadataPrefix = true;

  /// All of these except split configurations (XLA's MinorToMajorOnly).
  static LayoutEqual minorToMajorOnly();

  bool operator()(const Layout &lhs, const Layout &rhs) const;
};

} // namespace tessera

#endif // TESSERA_LAYOUT_LAYOUT_H
