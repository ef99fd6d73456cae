//===- Loops.cpp - How often loops run ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Loops.h"

#include "tessera/HLO/Attributes.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::hlo;

/// The number in a scalar constant, behind copies.
static std::optional<int64_t> getConstant(const Instruction *value) {
  while (value->opcode == Opcode::Copy)
    value = value->operands[0];
  int64_t number = 0;
  if (value->opcode != Opcode::Constant ||
      value->payload.trim().getAsInteger(10, number))
    return std::nullopt;
  return number;
}

/// The leaf of the computation's parameter that `value` is, behind copies.
static std::optional<int64_t> getStateLeaf(const Instruction *value) {
  while (value->opcode == Opcode::Copy)
    value = value->operands[0];
  if (value->opcode != Opcode::GetTupleElement ||
      value->operands[0]->opcode != Opcode::Parameter)
    return std::nullopt;
  return getInt(value->getAttribute("index"));
}

/// What a loop's body adds to leaf `leaf` of its state, a constant.
static std::optional<int64_t> getIncrement(const Instruction &loop,
                                           int64_t leaf) {
  const Computation *body = loop.getComputation("body");
  if (!body || body->root()->opcode != Opcode::Tuple ||
      leaf >= static_cast<int64_t>(body->root()->operands.size()))
    return std::nullopt;
  const Instruction *sum = body->root()->operands[leaf];
  while (sum->opcode == Opcode::Copy)
    sum = sum->operands[0];
  if (sum->opcode != Opcode::Add || getStateLeaf(sum->operands[0]) != leaf)
    return std::nullopt;
  return getConstant(sum->operands[1]);
}

/// An operand of the tuple that a loop begins with; null where there is none.
static const Instruction *getInitial(const Instruction &loop,
                                     std::optional<int64_t> leaf) {
  const Instruction *tuple = loop.operands[0];
  if (tuple->opcode != Opcode::Tuple || !leaf || *leaf < 0 ||
      *leaf >= static_cast<int64_t>(tuple->operands.size()))
    return nullptr;
  return tuple->operands[*leaf];
}

/// A counter that goes from a constant up to another one.
std::optional<int64_t> hlo::getTripCount(const Instruction &loop) {
  const Computation *condition = loop.getComputation("condition");
  const Instruction *compare = condition ? condition->root() : nullptr;
  const Attribute *direction = compare && compare->opcode == Opcode::Compare
                                   ? compare->getAttribute("direction")
                                   : nullptr;
  if (!direction || direction->text != "LT")
    return std::nullopt;
  std::optional<int64_t> leaf = getStateLeaf(compare->operands[0]);
  const Instruction *first = getInitial(loop, leaf);
  std::optional<int64_t> end = getConstant(compare->operands[1]);
  // The bound may be a part of the state.
  if (!end)
    if (const Instruction *bound =
            getInitial(loop, getStateLeaf(compare->operands[1])))
      end = getConstant(bound);
  if (!first || !end)
    return std::nullopt;
  std::optional<int64_t> begin = getConstant(first);
  std::optional<int64_t> increment = getIncrement(loop, *leaf);
  std::optional<int64_t> range =
      begin ? llvm::checkedSub(*end, *begin) : std::nullopt;
  if (!range || *range <= 0 || !increment || *increment <= 0)
    return std::nullopt;
  return (*range - 1) / *increment + 1;
}
