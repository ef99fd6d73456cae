//===- UtilSupport.h - Checks that the utilities share ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the library: what ShapeUtil, LayoutUtil, IndexUtil and XlaCompat
// ask of their arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_LAYOUT_UTILSUPPORT_H
#define TESSERA_LIB_LAYOUT_UTILSUPPORT_H

#include "tessera/Layout/Shape.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace tessera {
namespace detail {

/// util_c1: the shape is an array.
inline llvm::Error requireArray(const Shape &shape) {
  if (shape.isArray())
    return llvm::Error::success();
  return invalidError("util_c1", "shape", "an array",
                      shape.toString(/*printLayout=*/false));
}

/// The same, without unbounded dimensions.
inline llvm::Error requireBoundedArray(const Shape &shape) {
  if (llvm::Error error = requireArray(shape))
    return error;
  if (!shape.hasUnboundedDimension())
    return llvm::Error::success();
  return unsupportedError("unbounded dimension", "known sizes or bounds",
                          shape.toString(/*printLayout=*/false));
}

/// util_c2: `permutation` is one of 0..rank-1.
inline llvm::Error requirePermutation(llvm::ArrayRef<int64_t> permutation,
                                      int64_t rank) {
  llvm::SmallBitVector seen(rank);
  bool isValid = static_cast<int64_t>(permutation.size()) == rank;
  for (int64_t dim : permutation) {
    isValid = isValid && dim >= 0 && dim < rank && !seen.test(dim);
    if (!isValid)
      break;
    seen.set(dim);
  }
  if (isValid)
    return llvm::Error::success();
  return invalidError(
      "util_c2", "permutation",
      "a permutation of " + llvm::Twine(rank) + " dimensions",
      "(" +
          llvm::join(
              llvm::map_range(permutation,
                              [](int64_t dim) { return std::to_string(dim); }),
              ",") +
          ")");
}

/// util_c3: the index has an entry for each dimension.
inline llvm::Error requireIndex(const Shape &shape,
                                llvm::ArrayRef<int64_t> index) {
  if (static_cast<int64_t>(index.size()) == shape.rank())
    return llvm::Error::success();
  return invalidError("util_c3", "index",
                      llvm::Twine(shape.rank()) + " entries",
                      llvm::Twine(index.size()));
}

/// util_c4: no product leaves 64 bits.
inline llvm::Error overflowError(const Shape &shape) {
  return invalidError("util_c4", "size", "a number within 64 bits",
                      "more for " + shape.toString());
}

/// The dimensions of an array from the slowest varying to the fastest.
inline llvm::SmallVector<int64_t, 6> getMajorToMinor(const Shape &shape) {
  llvm::SmallVector<int64_t, 6> order = shape.layoutOrDefault().minorToMajor;
  std::reverse(order.begin(), order.end());
  return order;
}

/// Product of the factors; nothing on overflow. 0 where one is 0.
inline std::optional<int64_t> checkedProduct(llvm::ArrayRef<int64_t> factors) {
  if (llvm::is_contained(factors, 0))
    return 0;
  std::optional<int64_t> product = 1;
  for (int64_t factor : factors)
    if (product)
      product = llvm::checkedMul(*product, factor);
  return product;
}

/// Consecutive dimensions [beginFrom, endFrom) of one shape and [beginTo,
/// endTo) of another with the same number of elements.
struct ReshapeGroup {
  int64_t beginFrom, endFrom, beginTo, endTo;

  /// Whether one dimension stays what it is.
  bool isPair() const {
    return endFrom - beginFrom == 1 && endTo - beginTo == 1;
  }
};

/// The finest division of a row-major reshape into independent ones. The
/// numbers of elements must agree. A dimension of size 1 that has no partner is
/// a group without a counterpart. Arrays that are empty are one group unless
/// their dimensions other than 1 agree.
llvm::SmallVector<ReshapeGroup, 6>
getReshapeGroups(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// The elements of both arrays.
llvm::Expected<std::pair<int64_t, int64_t>> countElements(const Shape &from,
                                                          const Shape &to);

} // namespace detail
} // namespace tessera

#endif // TESSERA_LIB_LAYOUT_UTILSUPPORT_H
