//===- Leaves.cpp - The leaves of shapes ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Leaves.h"

using namespace tessera;

const std::vector<size_t> &LeafCounter::getOffsets(const Shape &shape) {
  auto found = offsets.find(&shape);
  if (found != offsets.end())
    return *found->second;
  auto result = std::make_unique<std::vector<size_t>>(1, 0);
  if (!shape.isTuple())
    result->push_back(1);
  else
    for (const Shape &element : shape.elements())
      result->push_back(result->back() + getOffsets(element).back());
  return *(offsets[&shape] = std::move(result));
}

std::optional<LeafRange> LeafCounter::getRange(const Shape &shape,
                                               llvm::ArrayRef<int64_t> index) {
  const Shape *part = &shape;
  LeafRange range;
  for (int64_t i : index) {
    if (!part->isTuple() || i < 0 ||
        i >= static_cast<int64_t>(part->elements().size()))
      return std::nullopt;
    range.begin += getOffsets(*part)[i];
    part = &part->elements()[i];
  }
  range.count = count(*part);
  return range;
}

static void appendLeaves(const Shape &shape,
                         llvm::SmallVectorImpl<const Shape *> &leaves) {
  if (!shape.isTuple()) {
    leaves.push_back(&shape);
    return;
  }
  for (const Shape &element : shape.elements())
    appendLeaves(element, leaves);
}

llvm::SmallVector<const Shape *, 4> tessera::getLeaves(const Shape &shape) {
  llvm::SmallVector<const Shape *, 4> leaves;
  appendLeaves(shape, leaves);
  return leaves;
}
