//===- Box.h - Parts of arrays ----------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_BOX_H
#define TESSERA_LAYOUT_BOX_H

#include "tessera/Layout/Shape.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Some indices of a dimension: `count` of them from `begin` on, `step` apart.
struct Slice {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
};

/// A slice of every dimension; none at all for the whole array.
using Box = llvm::SmallVector<Slice, 4>;

/// An array, or the part of one that a box selects.
struct ArrayPart {
  ArrayPart() = default;
  /*implicit*/ ArrayPart(Shape shape, Box box = {})
      : shape(std::move(shape)), box(std::move(box)) {}

  bool isWhole() const { return box.empty(); }
  /// The sizes of the part.
  llvm::SmallVector<int64_t, 4> dimensions() const;
  /// XLA's text, and the box as parseBox reads it, in brackets.
  void print(llvm::raw_ostream &os) const;
  std::string toString() const;

  Shape shape;
  Box box;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                                     const ArrayPart &part) {
  part.print(os);
  return os;
}

/// Reads a slice for each dimension of `shape`, `BEGIN:END` or `BEGIN:END:STEP`
/// with the meaning of Python's: `8:16,:,0:128:2`. BEGIN is 0 and END the size
/// where they are left out.
///
/// Errors: *invalid* for other texts, another number of slices, indices beyond
/// the dimension and steps below 1; `what` is the field that messages name.
llvm::Expected<Box> parseBox(llvm::StringRef text, const Shape &shape,
                             llvm::StringRef what);

} // namespace tessera

#endif // TESSERA_LAYOUT_BOX_H
