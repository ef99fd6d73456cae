//===- InPlace.cpp - Results written over operands ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

#include "tessera/HLO/Attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// What the compiler wrote
//===----------------------------------------------------------------------===//

/// The numbers of the next `["0","2"]` in `text`, which is moved behind it;
/// nothing at the end of the lists.
static std::optional<llvm::SmallVector<size_t, 4>> takeList(StringRef &text) {
  size_t begin = text.find_first_of("[]");
  if (begin == StringRef::npos || text[begin] == ']')
    return std::nullopt;
  StringRef list;
  std::tie(list, text) = text.drop_front(begin + 1).split(']');
  llvm::SmallVector<size_t, 4> numbers;
  for (StringRef piece : llvm::split(list, ',')) {
    size_t number;
    if (!piece.trim("\" ").getAsInteger(10, number))
      numbers.push_back(number);
  }
  return numbers;
}

/// The TPU compiler's `"aliasing_operands":{"lists":[{"indices":["0","2"]}]}`:
/// what is in one list has one place in memory. Operands are counted first,
/// results behind them.
std::vector<InPlacePair>
InPlaceWrites::getWritten(const Instruction &instruction, StringRef config) {
  size_t numOperands = 0;
  for (const Instruction *operand : instruction.operands)
    numOperands += leaves.count(*operand->shape);
  size_t numResults = leaves.count(*instruction.shape);
  std::vector<InPlacePair> pairs;
  config = config.drop_front(config.find('[') + 1);
  while (auto list = takeList(config))
    for (size_t number : *list)
      if (list->front() < numOperands && number >= numOperands &&
          number - numOperands < numResults)
        pairs.push_back({list->front(), number - numOperands});
  return pairs;
}

//===----------------------------------------------------------------------===//
// What follows from the opcodes
//===----------------------------------------------------------------------===//

/// How many leading operands are updated, each giving the result of the same
/// number. XLA copies them before where they are needed afterwards.
static size_t countUpdated(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::DynamicUpdateSlice:
  case Opcode::SetDimensionSize:
    return 1;
  case Opcode::Scatter:
    return instruction.operands.size() / 2;
  default:
    return 0;
  }
}

/// The same, where XLA may choose other memory.
static size_t countReplaced(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
  case Opcode::Sort:
    return instruction.operands.size();
  default:
    return countUpdated(instruction);
  }
}

namespace {
/// Where a leaf inside a fusion comes from: a leaf of the fusion's operands,
/// or nowhere, and whether it was updated since.
struct Origin {
  std::optional<size_t> operand;
  bool isUpdated = false;
};
using Origins = llvm::SmallVector<Origin, 1>;

/// Follows the leaves inside a fusion.
class FusionWalk {
public:
  explicit FusionWalk(LeafCounter &leaves) : leaves(leaves) {}

  std::vector<InPlacePair> walk(const Computation &body);

private:
  void addParameters(const Computation &body);
  Origins getOrigins(const Instruction &instruction);
  Origins concatOperands(const Instruction &instruction) const;

  LeafCounter &leaves;
  llvm::DenseMap<const Instruction *, Origins> known;
};
} // namespace

void FusionWalk::addParameters(const Computation &body) {
  size_t number = 0;
  for (const Instruction *parameter : body.parameters()) {
    Origins &origins = known[parameter];
    for (size_t i = 0, e = leaves.count(*parameter->shape); i < e; ++i)
      origins.push_back({number++, /*isUpdated=*/false});
  }
}

Origins FusionWalk::concatOperands(const Instruction &instruction) const {
  Origins origins;
  for (const Instruction *operand : instruction.operands)
    llvm::append_range(origins, known.find(operand)->second);
  return origins;
}

Origins FusionWalk::getOrigins(const Instruction &instruction) {
  Origins origins(leaves.count(*instruction.shape));
  Origins operands;
  switch (instruction.opcode) {
  case Opcode::Parameter:
    return known.find(&instruction)->second;
  case Opcode::Bitcast:
  case Opcode::Tuple:
    operands = concatOperands(instruction);
    return operands.size() == origins.size() ? operands : origins;
  case Opcode::GetTupleElement: {
    const Instruction *tuple = instruction.operands[0];
    auto range = leaves.getRange(*tuple->shape,
                                 {*getInt(instruction.getAttribute("index"))});
    if (!range || range->count != origins.size())
      return origins;
    llvm::copy(llvm::ArrayRef(known.find(tuple)->second)
                   .slice(range->begin, range->count),
               origins.begin());
    return origins;
  }
  default:
    break;
  }
  if (size_t count = countUpdated(instruction))
    for (auto [origin, operand] :
         llvm::zip(llvm::MutableArrayRef(origins).take_front(count),
                   concatOperands(instruction)))
      origin = {operand.operand, /*isUpdated=*/true};
  return origins;
}

std::vector<InPlacePair> FusionWalk::walk(const Computation &body) {
  addParameters(body);
  for (const Instruction *instruction : body.instructions()) {
    Origins origins = getOrigins(*instruction);
    known[instruction] = std::move(origins);
  }
  std::vector<InPlacePair> pairs;
  for (auto [result, origin] : llvm::enumerate(known[body.root()]))
    if (origin.operand && origin.isUpdated)
      pairs.push_back({*origin.operand, result});
  return pairs;
}

const std::vector<InPlacePair> &
InPlaceWrites::getOfFusion(const Computation &body) {
  std::unique_ptr<std::vector<InPlacePair>> &pairs = fusions[&body];
  if (pairs)
    return *pairs;
  pairs = std::make_unique<std::vector<InPlacePair>>();
  if (llvm::any_of(body.instructions(),
                   [](Instruction *i) { return countUpdated(*i) > 0; }))
    *pairs = FusionWalk(leaves).walk(body);
  return *pairs;
}

std::vector<InPlacePair> InPlaceWrites::get(const Instruction &instruction) {
  if (const Attribute *config = instruction.getAttribute("backend_config")) {
    auto [before, lists] = config->text.split("\"aliasing_operands\"");
    if (!lists.empty())
      return getWritten(instruction, lists);
  }
  const Computation *body = instruction.getComputation("calls");
  if (instruction.opcode == Opcode::Fusion && body)
    return getOfFusion(*body);
  std::vector<InPlacePair> pairs;
  for (size_t i = 0, e = countReplaced(instruction); i < e; ++i)
    pairs.push_back({i, i});
  return pairs;
}
