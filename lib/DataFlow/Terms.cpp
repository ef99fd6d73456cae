//===- Terms.cpp - What values are computed from --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Terms.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;

TermTable::TermTable() { getMap(IndexMap()); }

unsigned TermTable::internLabel(StringRef label) {
  return labels.try_emplace(label, labels.size()).first->second;
}

unsigned TermTable::getNode(TermNode::Kind kind, StringRef label,
                            ArrayRef<Term> operands, int64_t count,
                            const hlo::Instruction *instruction,
                            unsigned side) {
  std::vector<uint64_t> key = {static_cast<uint64_t>(kind), internLabel(label),
                               static_cast<uint64_t>(count)};
  for (Term term : operands)
    key.push_back(uint64_t(term.node) << 32 | term.map);
  auto [entry, isNew] = nodeNumbers.try_emplace(std::move(key), nodes.size());
  if (isNew) {
    TermNode &node = nodes.emplace_back();
    node.kind = kind;
    node.label = labels.find(label)->first();
    node.operands = operands.vec();
    node.count = count;
  }
  const hlo::Instruction *&first = nodes[entry->second].instructions[side];
  if (!first)
    first = instruction;
  return entry->second;
}

unsigned TermTable::getMap(const IndexMap &map) {
  std::vector<int64_t> key = {map.count(), map.offset()};
  for (MapDigit digit : map.digits()) {
    key.push_back(digit.size);
    key.push_back(digit.stride);
  }
  auto [entry, isNew] = mapNumbers.try_emplace(std::move(key), maps.size());
  if (isNew)
    maps.push_back(std::make_unique<IndexMap>(map));
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Elementwise nodes
//===----------------------------------------------------------------------===//

namespace {
/// A digit of the result, with its stride in each operand.
struct JointDigit {
  int64_t size = 1;
  llvm::SmallVector<int64_t, 3> strides;
  /// In the numbers of the node's elements.
  int64_t stride = 0;
};
} // namespace

/// The sizes of the digits that all maps can be split into, most major first;
/// nothing where there are none.
static std::optional<llvm::SmallVector<int64_t, 6>>
getCommonSizes(ArrayRef<const IndexMap *> maps) {
  llvm::SmallVector<int64_t, 8> cuts;
  for (const IndexMap *map : maps) {
    int64_t below = 1;
    for (MapDigit digit : llvm::reverse(map->digits()))
      cuts.push_back(below *= digit.size);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  llvm::SmallVector<int64_t, 6> sizes;
  int64_t below = 1;
  for (int64_t cut : cuts) {
    if (cut % below != 0)
      return std::nullopt;
    sizes.push_back(cut / below);
    below = cut;
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

/// The digits of the result, as all operands see them.
static std::optional<std::vector<JointDigit>>
getJointDigits(ArrayRef<const IndexMap *> maps) {
  auto sizes = getCommonSizes(maps);
  if (!sizes)
    return std::nullopt;
  std::vector<JointDigit> joint(sizes->size());
  for (const IndexMap *map : maps) {
    auto parts = map->split(*sizes);
    if (!parts)
      return std::nullopt;
    for (auto [digit, size, part] : llvm::zip_equal(joint, *sizes, *parts)) {
      // A part of several digits would have been cut there.
      digit.size = size;
      digit.strides.push_back(part.empty() ? 0 : part.front().stride);
    }
  }
  return joint;
}

/// The order of elements in which the first operand goes down, then the second;
/// digits that no operand has are left out of the node. Sets the strides of the
/// digits in the node, and gives those it has, most major first.
static std::vector<JointDigit *> chooseFrame(std::vector<JointDigit> &joint) {
  std::vector<JointDigit *> frame;
  for (JointDigit &digit : joint)
    if (llvm::any_of(digit.strides, [](int64_t stride) { return stride != 0; }))
      frame.push_back(&digit);
  // Digits stand one behind another in `joint`.
  llvm::sort(frame, [](const JointDigit *lhs, const JointDigit *rhs) {
    return lhs->strides != rhs->strides ? lhs->strides > rhs->strides
                                        : lhs < rhs;
  });
  int64_t stride = 1;
  for (JointDigit *digit : llvm::reverse(frame)) {
    digit->stride = stride;
    stride *= digit->size;
  }
  return frame;
}

Term TermTable::getElementwise(StringRef label, ArrayRef<Term> operands,
                               int64_t count,
                               const hlo::Instruction *instruction,
                               unsigned side) {
  auto make = [&](ArrayRef<Term> terms, int64_t elements) {
    return getNode(TermNode::Kind::Elementwise, label, terms, elements,
                   instruction, side);
  };
  // One map of all operands is as good after the operation as before it.
  bool haveOneMap = llvm::all_of(operands, [&](Term term) {
    return term.map == operands.front().map &&
           nodes[term.node].count == nodes[operands.front().node].count;
  });
  if (haveOneMap && !operands.empty() && count > 0) {
    llvm::SmallVector<Term, 3> wholes;
    for (Term term : operands)
      wholes.push_back(getWhole(term.node));
    return {make(wholes, nodes[operands.front().node].count),
            operands.front().map};
  }
  std::vector<const IndexMap *> operandMaps;
  for (Term term : operands)
    operandMaps.push_back(&map(term.map));
  auto joint = getJointDigits(operandMaps);
  if (!joint || count == 0)
    return getWhole(make(operands, count));

  std::vector<JointDigit *> frame = chooseFrame(*joint);
  llvm::SmallVector<Term, 3> framed;
  for (auto [i, term] : llvm::enumerate(operands)) {
    IndexMap::Digits digits;
    for (const JointDigit *digit : frame)
      digits.push_back({digit->size, digit->strides[i]});
    framed.push_back(
        {term.node, getMap(IndexMap::get(digits, map(term.map).offset()))});
  }
  int64_t elements = map(framed.front().map).count();
  IndexMap::Digits result;
  for (const JointDigit &digit : *joint)
    result.push_back({digit.size, digit.stride});
  return {make(framed, elements), getMap(IndexMap::get(result, 0))};
}
