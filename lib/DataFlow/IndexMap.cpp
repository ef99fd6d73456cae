//===- IndexMap.cpp - Which element is which ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/DataFlow/IndexMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace tessera;
using Digits = IndexMap::Digits;

//===----------------------------------------------------------------------===//
// Canonical form
//===----------------------------------------------------------------------===//

IndexMap IndexMap::get(llvm::ArrayRef<MapDigit> digits, int64_t offset) {
  IndexMap map;
  map.first = offset;
  map.elements = 1;
  for (MapDigit digit : digits) {
    map.elements *= digit.size;
    if (digit.size == 1)
      continue;
    // A digit that goes on where the one before it ends is the same digit.
    Digits &list = map.digitList;
    std::optional<int64_t> span = llvm::checkedMul(digit.size, digit.stride);
    if (!list.empty() && span && list.back().stride == *span)
      list.back() = {list.back().size * digit.size, digit.stride};
    else
      list.push_back(digit);
  }
  if (map.elements == 0)
    return IndexMap();
  return map;
}

IndexMap IndexMap::identity(int64_t count) {
  return get(MapDigit{count, 1}, 0);
}

bool IndexMap::isIdentity() const { return *this == identity(elements); }

int64_t IndexMap::operator()(int64_t element) const {
  int64_t result = first;
  for (const MapDigit &digit : llvm::reverse(digitList)) {
    result += element % digit.size * digit.stride;
    element /= digit.size;
  }
  return result;
}

/// Two canonical forms that differ do so at an element with one digit that is
/// not 0, or at 0: below the first digit that differs they agree, and there one
/// of the two goes on while the other does not.
std::optional<int64_t> IndexMap::findDifference(const IndexMap &lhs,
                                                const IndexMap &rhs) {
  if (lhs == rhs)
    return std::nullopt;
  if (lhs.elements != rhs.elements || lhs.elements == 0)
    return std::nullopt;
  if (lhs(0) != rhs(0))
    return 0;
  int64_t below = 1;
  for (auto [l, r] :
       llvm::zip(llvm::reverse(lhs.digitList), llvm::reverse(rhs.digitList))) {
    if (l.stride != r.stride)
      return below;
    if (l.size != r.size)
      return below * std::min(l.size, r.size);
    below *= l.size;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Takes a digit of the most minor `size` values of the last digit off.
static bool takeMinor(Digits &digits, int64_t size, Digits &taken) {
  while (size > 1) {
    if (digits.empty())
      return false;
    MapDigit &last = digits.back();
    int64_t common = std::gcd(last.size, size);
    // One of the two has to divide the other.
    if (common != last.size && common != size)
      return false;
    taken.push_back({common, last.stride});
    size /= common;
    if (common == last.size) {
      digits.pop_back();
      continue;
    }
    std::optional<int64_t> stride = llvm::checkedMul(last.stride, common);
    if (!stride)
      return false;
    last = {last.size / common, *stride};
  }
  return true;
}

std::optional<llvm::SmallVector<Digits, 6>>
IndexMap::split(llvm::ArrayRef<int64_t> sizes) const {
  llvm::SmallVector<Digits, 6> parts(sizes.size());
  Digits rest = digitList;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] == 0 || !takeMinor(rest, sizes[dim], parts[dim]))
      return std::nullopt;
    std::reverse(parts[dim].begin(), parts[dim].end());
  }
  if (!rest.empty())
    return std::nullopt;
  return parts;
}

static IndexMap join(llvm::ArrayRef<Digits> parts, int64_t offset) {
  Digits all;
  for (const Digits &digits : parts)
    llvm::append_range(all, digits);
  return IndexMap::get(all, offset);
}

std::optional<IndexMap>
IndexMap::transpose(llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> permutation) const {
  auto parts = split(sizes);
  if (!parts)
    return std::nullopt;
  llvm::SmallVector<Digits, 6> moved;
  for (int64_t dim : permutation)
    moved.push_back((*parts)[dim]);
  return join(moved, first);
}

/// Adds `count` steps of `stride` to `offset`; false on overflow.
static bool addSteps(int64_t &offset, int64_t count, int64_t stride) {
  std::optional<int64_t> sum = llvm::checkedMulAdd(count, stride, offset);
  offset = sum.value_or(0);
  return sum.has_value();
}

/// Cuts the values of `slice` out of the digits of a dimension of `size`.
static bool sliceDigits(Digits &digits, int64_t size, Slice slice,
                        int64_t &offset) {
  if (slice.begin == 0 && slice.count == size)
    return true;
  // Whole blocks of the minor digits leave these as they are.
  Digits minor;
  while (digits.size() > 1 && slice.step == 1) {
    int64_t block = digits.back().size;
    if (slice.begin % block != 0 || slice.count % block != 0)
      break;
    minor.push_back(digits.pop_back_val());
    slice = {slice.begin / block, slice.count / block, 1};
  }
  // What is left has to be in one digit.
  if (digits.size() != 1)
    return false;
  std::optional<int64_t> stride =
      llvm::checkedMul(digits.front().stride, slice.step);
  if (!stride || !addSteps(offset, slice.begin, digits.front().stride))
    return false;
  digits.front() = {slice.count, *stride};
  digits.append(minor.rbegin(), minor.rend());
  return true;
}

std::optional<IndexMap> IndexMap::slice(llvm::ArrayRef<int64_t> sizes,
                                        const Box &box) const {
  auto parts = split(sizes);
  if (!parts)
    return std::nullopt;
  int64_t offset = first;
  for (auto [digits, size, slice] : llvm::zip_equal(*parts, sizes, box)) {
    // A dimension of one element has no digits.
    if (size > 1 && !sliceDigits(digits, size, slice, offset))
      return std::nullopt;
    if (size == 1 && slice.count != 1)
      return std::nullopt;
  }
  return join(*parts, offset);
}

std::optional<IndexMap> IndexMap::reverse(llvm::ArrayRef<int64_t> sizes,
                                          llvm::ArrayRef<int64_t> dims) const {
  auto parts = split(sizes);
  if (!parts)
    return std::nullopt;
  int64_t offset = first;
  for (int64_t dim : dims)
    for (MapDigit &digit : (*parts)[dim]) {
      if (!addSteps(offset, digit.size - 1, digit.stride))
        return std::nullopt;
      digit.stride = -digit.stride;
    }
  return join(*parts, offset);
}

std::optional<IndexMap>
IndexMap::broadcast(llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> resultSizes,
                    llvm::ArrayRef<int64_t> dims) const {
  auto parts = split(sizes);
  if (!parts || llvm::is_contained(resultSizes, 0))
    return std::nullopt;
  llvm::SmallVector<Digits, 6> result;
  for (int64_t size : resultSizes)
    result.push_back({MapDigit{size, 0}});
  for (auto [dim, digits] : llvm::zip_equal(dims, *parts))
    result[dim] = digits;
  return join(result, first);
}

std::optional<IndexMap> IndexMap::after(const IndexMap &permutation) const {
  // The digits of this map's elements, most major first, are dimensions that
  // the permutation orders anew.
  llvm::ArrayRef<MapDigit> digits = permutation.digits();
  auto order = llvm::to_vector<6>(llvm::seq<int64_t>(0, digits.size()));
  llvm::sort(order, [&](int64_t lhs, int64_t rhs) {
    return digits[lhs].stride > digits[rhs].stride;
  });
  llvm::SmallVector<int64_t, 6> sizes, inverse(order.size());
  int64_t below = 1;
  for (auto [i, digit] : llvm::enumerate(order)) {
    sizes.push_back(digits[digit].size);
    inverse[digit] = static_cast<int64_t>(i);
  }
  for (int64_t digit : llvm::reverse(order)) {
    if (digits[digit].stride != below)
      return std::nullopt;
    below *= digits[digit].size;
  }
  if (permutation.offset() != 0)
    return std::nullopt;
  return transpose(sizes, inverse);
}

/// The digits of a dimension of `size` that begins with `digits`, which are
/// `known` of its elements; `step` from one to the next where there is one.
static std::optional<Digits> growDigits(Digits digits, int64_t known,
                                        int64_t size, int64_t step) {
  if (digits.empty())
    return Digits{MapDigit{size, step}};
  int64_t below = known / digits.front().size;
  if (size % below != 0)
    return std::nullopt;
  digits.front().size = size / below;
  return digits;
}

/// The sizes of arrays that lie one behind the other along `dim`.
static std::optional<llvm::SmallVector<int64_t, 6>>
joinSizes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> sizes, size_t dim) {
  llvm::SmallVector<int64_t, 6> whole(sizes.front());
  whole[dim] = 0;
  for (llvm::ArrayRef<int64_t> ofPart : sizes) {
    std::optional<int64_t> sum = llvm::checkedAdd(whole[dim], ofPart[dim]);
    if (!sum)
      return std::nullopt;
    whole[dim] = *sum;
  }
  return whole;
}

std::optional<IndexMap>
IndexMap::concatenate(llvm::ArrayRef<IndexMap> maps,
                      llvm::ArrayRef<llvm::ArrayRef<int64_t>> sizes,
                      size_t dim) {
  if (maps.empty())
    return std::nullopt;
  auto whole = joinSizes(sizes, dim);
  auto parts = maps.front().split(sizes.front());
  std::optional<int64_t> step =
      llvm::checkedSub(maps[maps.size() > 1].first, maps.front().first);
  if (!whole || !parts || !step)
    return std::nullopt;
  auto grown =
      growDigits((*parts)[dim], sizes.front()[dim], (*whole)[dim], *step);
  if (!grown)
    return std::nullopt;
  (*parts)[dim] = *grown;
  IndexMap result = join(*parts, maps.front().first);
  // That was a guess: the parts have to be those of the whole.
  Box box;
  for (int64_t size : *whole)
    box.push_back({0, size, 1});
  for (auto [map, ofPart] : llvm::zip_equal(maps, sizes)) {
    box[dim].count = ofPart[dim];
    if (result.slice(*whole, box) != map)
      return std::nullopt;
    box[dim].begin += ofPart[dim];
  }
  return result;
}

llvm::SmallVector<int64_t, 6> tessera::getIndex(llvm::ArrayRef<int64_t> sizes,
                                                int64_t element) {
  llvm::SmallVector<int64_t, 6> index(sizes.size(), 0);
  for (size_t dim = sizes.size(); dim-- > 0;) {
    index[dim] = element % std::max<int64_t>(sizes[dim], 1);
    element /= std::max<int64_t>(sizes[dim], 1);
  }
  return index;
}
