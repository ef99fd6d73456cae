//===- Uses.cpp - Where values go -----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Uses.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Loops.h"
#include "tessera/Layout/Bitcast.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::hlo;

UseFinder::UseFinder(const Module &module) {
  for (const Computation *computation : module.computations())
    for (const Instruction *user : computation->instructions())
      for (auto [i, operand] : llvm::enumerate(user->operands))
        users[operand].push_back({user, i});
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static bool isMove(const Instruction &instruction) {
  return instruction.opcode == Opcode::Copy ||
         instruction.opcode == Opcode::Transpose ||
         instruction.opcode == Opcode::Reshape;
}

const Instruction *tessera::getSingleMove(const Instruction &instruction) {
  if (isMove(instruction))
    return &instruction;
  if (instruction.opcode != Opcode::Fusion || instruction.operands.size() != 1)
    return nullptr;
  const Computation *fused = instruction.getComputation("calls");
  if (!fused || fused->instructions().size() != 2 || !isMove(*fused->root()))
    return nullptr;
  return fused->root();
}

std::optional<IndexMap> tessera::getMoveMap(const Instruction &move) {
  const Shape &from = *move.operands[0]->shape, &to = *move.shape;
  if (!from.isStaticArray() || !to.isStaticArray() ||
      from.elementType() != to.elementType())
    return std::nullopt;
  std::optional<int64_t> count = countElements(from.dimensions());
  if (!count || count != countElements(to.dimensions()))
    return std::nullopt;
  IndexMap identity = IndexMap::identity(*count);
  if (move.opcode != Opcode::Transpose)
    return identity;
  return identity.transpose(from.dimensions(),
                            getInts(move.getAttribute("dimensions")));
}

Shape tessera::inMainMemory(Shape shape) {
  if (shape.hasLayout())
    shape.mutableLayout().memorySpace = 0;
  return shape;
}

/// Adds what a copy, transpose or reshape is to the uses; false where it is no
/// move that could be known.
bool UseFinder::addMove(const SeenLeaf &seen, const Instruction &instruction,
                        ValueUses &uses) {
  const Instruction *move = getSingleMove(instruction);
  if (!move || !instruction.shape->isArray())
    return false;
  std::optional<IndexMap> step = getMoveMap(*move);
  std::optional<IndexMap> map = step ? seen.map.after(*step) : std::nullopt;
  if (!map)
    return false;
  Shape from = inMainMemory(*seen.shape), to = inMainMemory(*instruction.shape);
  // Bytes that stay as they are go to another space, if anywhere.
  if (getBitcastMap(from, to) == step && mayBitcast(from, to)) {
    if (*seen.shape == *instruction.shape)
      uses.plainCopies.push_back(&instruction);
    SeenLeaf next = seen;
    next.map = *map;
    follow(next, instruction, 0);
    return true;
  }
  uses.relayouts.push_back({&instruction, seen, *map});
  return true;
}

//===----------------------------------------------------------------------===//
// Views and loops
//===----------------------------------------------------------------------===//

void UseFinder::follow(const SeenLeaf &seen, const Instruction &to,
                       size_t leaf) {
  auto shapes = getLeaves(*to.shape);
  if (leaf >= shapes.size() || !shapes[leaf]->isStaticArray())
    return;
  SeenLeaf next = seen;
  next.instruction = &to;
  next.leaf = leaf;
  next.shape = shapes[leaf];
  worklist.push_back(std::move(next));
}

void UseFinder::followBitcast(const SeenLeaf &seen, const Instruction &bitcast,
                              ValueUses &uses) {
  std::optional<IndexMap> map;
  if (bitcast.shape->isStaticArray() &&
      mayBitcast(inMainMemory(*seen.shape), inMainMemory(*bitcast.shape)))
    map =
        getBitcastMap(inMainMemory(*seen.shape), inMainMemory(*bitcast.shape));
  if (map)
    map = seen.map.after(*map);
  if (!map) {
    ++uses.others;
    return;
  }
  SeenLeaf next = seen;
  next.map = *map;
  follow(next, bitcast, 0);
}

/// A state that the body hands on as it is stays what it is behind the loop.
void UseFinder::followLoop(const SeenLeaf &seen, const Instruction &loop,
                           ValueUses &uses) {
  const Computation *body = loop.getComputation("body");
  if (!body || body->parameters().size() != 1 ||
      leaves.count(*body->parameters()[0]->shape) !=
          leaves.count(*loop.shape)) {
    ++uses.others;
    return;
  }
  SeenLeaf inside = seen;
  std::optional<int64_t> trips = hlo::getTripCount(loop);
  if (inside.runs)
    inside.runs = trips ? llvm::checkedMul(*inside.runs, *trips) : std::nullopt;
  follow(inside, *body->parameters()[0], seen.leaf);
  const Instruction *root = body->root();
  // Which operand of the root's tuple is the state's leaf.
  bool isInvariant = root->opcode == Opcode::Tuple &&
                     seen.leaf < root->operands.size() &&
                     root->operands.size() == leaves.count(*loop.shape);
  if (isInvariant) {
    const Instruction *state = root->operands[seen.leaf];
    isInvariant =
        state->opcode == Opcode::GetTupleElement &&
        state->operands[0] == body->parameters()[0] &&
        getInt(state->getAttribute("index")) == static_cast<int64_t>(seen.leaf);
  }
  if (isInvariant)
    follow(seen, loop, seen.leaf);
}

void UseFinder::visitUse(const SeenLeaf &seen, const Instruction &user,
                         size_t operand, ValueUses &uses) {
  switch (user.opcode) {
  case Opcode::Bitcast:
    return followBitcast(seen, user, uses);
  case Opcode::Tuple: {
    size_t first = 0;
    for (const Instruction *before : user.operands.take_front(operand))
      first += leaves.count(*before->shape);
    return follow(seen, user, first + seen.leaf);
  }
  case Opcode::GetTupleElement: {
    auto range =
        leaves.getRange(*user.operands[0]->shape,
                        {getInt(user.getAttribute("index")).value_or(-1)});
    if (range && seen.leaf >= range->begin &&
        seen.leaf < range->begin + range->count)
      follow(seen, user, seen.leaf - range->begin);
    return;
  }
  case Opcode::CopyStart:
    // The destination comes first.
    return follow(seen, user, 0);
  case Opcode::CopyDone:
    if (seen.leaf == 0)
      follow(seen, user, 0);
    return;
  case Opcode::OptimizationBarrier:
  case Opcode::Domain:
    return follow(seen, user, seen.leaf);
  case Opcode::AddDependency:
    if (operand == 0)
      follow(seen, user, seen.leaf);
    return;
  case Opcode::While:
    return followLoop(seen, user, uses);
  default:
    if (!addMove(seen, user, uses))
      ++uses.others;
  }
}

void UseFinder::visit(const SeenLeaf &seen, ValueUses &uses) {
  auto found = users.find(seen.instruction);
  if (found == users.end())
    return;
  for (auto [user, operand] : found->second)
    visitUse(seen, *user, operand, uses);
}

ValueUses UseFinder::find(const Instruction &instruction, size_t leaf,
                          std::optional<int64_t> runs) {
  ValueUses uses;
  SeenLeaf seen;
  seen.runs = runs;
  auto shapes = getLeaves(*instruction.shape);
  if (leaf >= shapes.size() || !shapes[leaf]->isStaticArray())
    return uses;
  int64_t count = countElements(shapes[leaf]->dimensions()).value_or(0);
  if (count == 0)
    return uses;
  seen.map = IndexMap::identity(count);
  follow(seen, instruction, leaf);
  // A value may go many ways; each is looked at, up to a number of them.
  constexpr size_t kMaxSeen = 2000;
  for (size_t i = 0; i < worklist.size() && i < kMaxSeen; ++i)
    visit(SeenLeaf(worklist[i]), uses);
  worklist.clear();
  return uses;
}
