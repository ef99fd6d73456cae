//===- TouchedBytes.cpp - Bytes that a module reads and writes ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "tessera/AssignHLO/AssignHLO.h"
#include "tessera/HLO/Loops.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Size.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::hlo;

/// Nothing where a size is not known, or a sum exceeds int64.
using Bytes = std::optional<int64_t>;

static Bytes add(Bytes lhs, Bytes rhs) {
  return lhs && rhs ? llvm::checkedAdd(*lhs, *rhs) : std::nullopt;
}

namespace {
/// Adds up a module as it stands, each computation once: what calls it has its
/// sum as often as it runs it.
class ByteCounter {
public:
  explicit ByteCounter(int64_t unknownTrips) : unknownTrips(unknownTrips) {}

  /// Of a computation whose callees have been counted.
  void count(const Computation &computation);
  Bytes get(const Computation &computation) const {
    return sums.lookup(&computation);
  }

private:
  Bytes countCallees(const Instruction &instruction) const;
  Bytes countOwn(const Instruction &instruction);

  int64_t unknownTrips;
  LeafCounter leaves;
  llvm::DenseMap<const Computation *, Bytes> sums;
};
} // namespace

static Bytes getBytes(const Shape &shape) {
  if (!shape.isArray())
    return 0;
  llvm::Expected<ShapeSize> size = getSizeOnCore(shape);
  if (size)
    return size->bytes;
  llvm::consumeError(size.takeError());
  return std::nullopt;
}

Bytes ByteCounter::countCallees(const Instruction &instruction) const {
  bool isLoop = instruction.opcode == Opcode::While;
  if (!isLoop && instruction.opcode != Opcode::Call &&
      instruction.opcode != Opcode::Conditional)
    return 0;
  Bytes sum = 0;
  for (const Attribute &attribute : instruction.attributes)
    for (const Computation *callee : attribute.computations)
      sum = add(sum, get(*callee));
  if (!isLoop || !sum)
    return sum;
  return llvm::checkedMul(*sum,
                          getTripCount(instruction).value_or(unknownTrips));
}

/// What the instruction itself reads and writes.
Bytes ByteCounter::countOwn(const Instruction &instruction) {
  Traffic traffic = getTraffic(instruction, leaves);
  if (!traffic.reads || (isView(instruction) && !movesBytes(instruction)))
    return 0;
  Bytes sum = 0;
  for (const Instruction *operand : instruction.operands)
    for (const Shape *leaf : getLeaves(*operand->shape))
      sum = add(sum, getBytes(*leaf));
  auto written = getLeaves(*instruction.shape);
  for (const Shape *leaf : llvm::ArrayRef(written).slice(traffic.written.begin,
                                                         traffic.written.count))
    sum = add(sum, getBytes(*leaf));
  return sum;
}

void ByteCounter::count(const Computation &computation) {
  Bytes sum = 0;
  for (const Instruction *instruction : computation.instructions())
    sum = add(add(sum, countCallees(*instruction)), countOwn(*instruction));
  sums[&computation] = sum;
}

llvm::Expected<int64_t> tessera::countTouchedBytes(const Module &module,
                                                   int64_t unknownTrips) {
  ByteCounter counter(unknownTrips);
  // Callees stand before their callers.
  for (const Computation *computation : module.computations())
    if (!computation->isFused())
      counter.count(*computation);
  if (Bytes sum = counter.get(*module.entry()))
    return *sum;
  return unsupportedError("bytes", "sizes that are known, and a sum in int64",
                          "a module that touches more");
}
