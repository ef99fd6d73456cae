//===- IndexUtil.cpp - Logical indices of a shape -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/IndexUtil.h"
#include "UtilSupport.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

bool index_util::indexInBounds(const Shape &shape,
                               llvm::ArrayRef<int64_t> index) {
  if (!shape.isArray() || static_cast<int64_t>(index.size()) != shape.rank())
    return false;
  return llvm::all_of(llvm::zip(index, shape.dimensions()), [](auto pair) {
    auto [i, size] = pair;
    return i >= 0 && (size == kDynamic || i < size);
  });
}

llvm::Error index_util::checkIndex(llvm::ArrayRef<int64_t> index,
                                   llvm::ArrayRef<int64_t> dimensions) {
  if (index.size() != dimensions.size())
    return invalidError("", "index",
                        llvm::Twine(dimensions.size()) + " numbers",
                        llvm::Twine(index.size()));
  for (auto [dim, size] : llvm::enumerate(dimensions))
    if (index[dim] < 0 || index[dim] >= size)
      return invalidError("", "index of dimension " + llvm::Twine(dim),
                          "a number from 0 to below its size " +
                              llvm::Twine(size),
                          llvm::Twine(index[dim]));
  return llvm::Error::success();
}

bool index_util::bumpIndices(const Shape &shape,
                             llvm::MutableArrayRef<int64_t> index) {
  if (indexInBounds(shape, index)) {
    for (int64_t dim = shape.rank(); dim-- > 0;) {
      if (++index[dim] < shape.dimensions()[dim])
        return true;
      index[dim] = 0;
    }
  }
  llvm::fill(index, 0);
  return false;
}

int index_util::compareIndices(llvm::ArrayRef<int64_t> lhs,
                               llvm::ArrayRef<int64_t> rhs) {
  if (lhs == rhs)
    return 0;
  return std::lexicographical_compare(lhs.begin(), lhs.end(), rhs.begin(),
                                      rhs.end())
             ? -1
             : 1;
}

llvm::Expected<bool> index_util::forEachIndex(
    const Shape &shape,
    llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> function) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  if (llvm::is_contained(shape.dimensions(), 0))
    return true;
  llvm::SmallVector<int64_t, 6> index(shape.rank(), 0);
  do {
    if (!function(index))
      return false;
  } while (bumpIndices(shape, index));
  return true;
}
