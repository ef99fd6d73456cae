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
