//===- Target.h - Machines and the layouts they prefer ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of targets: the memories that S(n) names, and the layout that an
// array gets when none is requested. docs/targets.md has the figures with
// their sources, and the rules with what they were checked against.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_TARGET_H
#define TESSERA_LAYOUT_TARGET_H

#include "tessera/Layout/Shape.h"

#include <list>
#include <string>
#include <vector>

namespace tessera {

/// One memory of a target, named S(number) in a layout.
struct MemorySpace {
  int64_t number;
  llvm::StringRef name;
  /// Bytes that one core can use; 0 = no limit that is known.
  int64_t capacity;
  /// Bytes; every buffer starts at a multiple, and its size is rounded up to
  /// one. Positive.
  int64_t alignment;
  /// The address space that it has in LLVM IR.
  int64_t addressSpace;
};

/// How a target lays out an array without a pinned layout.
enum class LayoutRule : uint8_t {
  /// Row-major, without tiles; types narrower than a byte are packed, pred
  /// excepted. XLA's choice on CPUs and GPUs.
  RowMajor,
  /// Tiles of 8 x 128 words of 32 bits, in the order that pads least. The
  /// choice of compilers for v4 and later.
  TPU,
  /// The same without packing below a byte, with tiles of at least two words.
  /// The choice for v2 and v3.
  TPUv2,
};

/// The name of a rule in text: `row_major`, `tpu`, `tpu_v2`.
llvm::StringRef getName(LayoutRule rule);
std::optional<LayoutRule> parseLayoutRule(llvm::StringRef name);

/// A machine. A view: whoever made it owns names and spaces (the table's are
/// static).
struct Target {
  llvm::StringRef name;
  llvm::ArrayRef<MemorySpace> spaces; ///< Increasing in number, 0 first.
  LayoutRule layoutRule;

  /// The space S(number), or null.
  const MemorySpace *findSpace(int64_t number) const;
};

/// The presets, rows of the table in Target.cpp.
llvm::ArrayRef<Target> allTargets();

/// The names of the presets, `cpu, tpu_v4, ...`.
std::string getTargetNames();

/// The preset of that name, or of another that it has: `v5e`, `TPU v5 lite`,
/// `trillium`; case and what stands between words do not matter. Error:
/// *unsupported*, with the names there are.
llvm::Expected<const Target *> getTarget(llvm::StringRef name);

/// A target that a user describes, with what it refers to.
class OwnTarget {
public:
  /// Reads JSON, as docs/targets.md has it. Errors: *invalid* for other texts,
  /// with the field.
  static llvm::Expected<OwnTarget> parse(llvm::StringRef text);

  /// Valid as long as this object is.
  Target get() const { return {name, spaces, layoutRule}; }

private:
  std::string name;
  // Of the spaces; names of a list do not move.
  std::list<std::string> spaceNames;
  std::vector<MemorySpace> spaces;
  LayoutRule layoutRule = LayoutRule::RowMajor;

  friend class TargetReader;
};

/// `shape` with the layout that `rule` gives to each of its arrays, in the
/// position of whatever layout it has. A `<=N` dimension counts with its bound;
/// tuples and buffers are filled leaf by leaf; tokens and opaques stay.
///
/// Errors: *unsupported* for an unbounded dimension and for types that the
/// rule does not know (the TPU's: s1 and u1); *invalid* where the padded array
/// is too large.
llvm::Expected<Shape> chooseDefaultLayout(LayoutRule rule, Shape shape);
llvm::Expected<Shape> chooseDefaultLayout(const Target &target, Shape shape);

/// The tiles that `rule` gives to an array whose dimensions have that order,
/// most minor first. The same errors, and *invalid* for an order that is no
/// permutation of the dimensions.
llvm::Expected<Shape> chooseLayoutInOrder(LayoutRule rule, Shape array,
                                          llvm::ArrayRef<int64_t> order);

} // namespace tessera

#endif // TESSERA_LAYOUT_TARGET_H
