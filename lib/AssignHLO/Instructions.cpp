//===- Instructions.cpp - How layouts pass through HLO
//---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

using namespace tessera;
using namespace tessera::hlo;

bool tessera::isView(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::Bitcast:
  case Opcode::Reshape:
  case Opcode::Transpose:
    return true;
  case Opcode::Copy: {
    // One that changes the type, the space, or nothing is there for that.
    const Shape &from = *instruction.operands[0]->shape;
    const Shape &to = *instruction.shape;
    return from.isArray() && from.elementType() == to.elementType() &&
           from.layoutOrDefault().memorySpace ==
               to.layoutOrDefault().memorySpace &&
           !isRelayoutBitcast(from, to);
  }
  default:
    return false;
  }
}

/// The map of a view; nothing where it is no rearrangement of digits.
static std::optional<IndexMap> getViewMap(const Instruction &view) {
  const Shape &from = *view.operands[0]->shape, &to = *view.shape;
  if (view.opcode == Opcode::Bitcast)
    return getBitcastMap(withoutSpace(from), withoutSpace(to));
  std::optional<int64_t> count = countElements(from.dimensions());
  if (!count || from.elementType() != to.elementType())
    return std::nullopt;
  IndexMap identity = IndexMap::identity(*count);
  if (view.opcode != Opcode::Transpose)
    return identity;
  return identity.transpose(from.dimensions(),
                            getInts(view.getAttribute("dimensions")));
}

bool tessera::movesBytes(const Instruction &view) {
  Relation relation{Relation::Kind::View, {}, getViewMap(view)};
  return view.opcode != Opcode::Bitcast &&
         !relation.accepts(*view.operands[0]->shape, *view.shape);
}

/// Dimensions of the operand that a reduction keeps, with their places.
static Relation getReduceRelation(const Instruction &reduce, int64_t rank) {
  auto reduced = getInts(reduce.getAttribute("dimensions"));
  Relation relation{Relation::Kind::Dims, {}, {}};
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(reduced, dim))
      relation.dims.emplace_back(dim, relation.dims.size());
  return relation;
}

std::optional<Relation> tessera::getRelation(const Instruction &instruction,
                                             size_t number) {
  const Shape &operand = *instruction.operands[number]->shape;
  const Shape &result = *instruction.shape;
  if (!operand.isArray() || !result.isArray())
    return std::nullopt;
  Relation relation;
  if (isView(instruction)) {
    relation.kind = Relation::Kind::View;
    relation.map = getViewMap(instruction);
    return relation;
  }
  switch (instruction.opcode) {
  case Opcode::Copy:
    return relation;
  case Opcode::Broadcast:
    relation.kind = Relation::Kind::Dims;
    for (int64_t dim : getInts(instruction.getAttribute("dimensions")))
      relation.dims.emplace_back(relation.dims.size(), dim);
    return relation;
  case Opcode::Reduce:
    if (operand.rank() == 0)
      return relation;
    return getReduceRelation(instruction, operand.rank());
  // They exchange data with other devices, in layouts that those know.
  case Opcode::AllGather:
  case Opcode::AllReduce:
  case Opcode::AllToAll:
  case Opcode::CollectiveBroadcast:
  case Opcode::ReduceScatter:
    return std::nullopt;
  default:
    break;
  }
  if (getLayoutTrait(instruction.opcode) == LayoutTrait::Any)
    return std::nullopt;
  if (operand.rank() == result.rank())
    relation.kind = Relation::Kind::Order;
  return relation;
}
