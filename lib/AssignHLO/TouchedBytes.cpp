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

namespace {
/// Adds up a module as it stands.
class ByteCounter {
public:
  explicit ByteCounter(int64_t unknownTrips) : unknownTrips(unknownTrips) {}

  void add(const Computation &computation, int64_t runs);
  std::optional<int64_t> sum = 0;

private:
  void add(const Shape &shape, int64_t runs);
  void add(const Instruction &instruction, int64_t runs);

  int64_t unknownTrips;
  LeafCounter leaves;
};
} // namespace

void ByteCounter::add(const Shape &shape, int64_t runs) {
  if (!shape.isArray())
    return;
  llvm::Expected<ShapeSize> size = getSizeOnCore(shape);
  if (!size) {
    llvm::consumeError(size.takeError());
    sum = std::nullopt;
  }
  if (sum)
    sum = llvm::checkedMulAdd(size->bytes, runs, *sum);
}

void ByteCounter::add(const Instruction &instruction, int64_t runs) {
  if (instruction.opcode == Opcode::While)
    runs =
        llvm::checkedMul(runs, getTripCount(instruction).value_or(unknownTrips))
            .value_or(INT64_MAX);
  if (instruction.opcode == Opcode::While ||
      instruction.opcode == Opcode::Call ||
      instruction.opcode == Opcode::Conditional)
    for (const Attribute &attribute : instruction.attributes)
      for (const Computation *callee : attribute.computations)
        add(*callee, runs);
  Traffic traffic = getTraffic(instruction, leaves);
  if (!traffic.reads || (isView(instruction) && !movesBytes(instruction)))
    return;
  for (const Instruction *operand : instruction.operands)
    for (const Shape *leaf : getLeaves(*operand->shape))
      add(*leaf, runs);
  auto written = getLeaves(*instruction.shape);
  for (const Shape *leaf : llvm::ArrayRef(written).slice(traffic.written.begin,
                                                         traffic.written.count))
    add(*leaf, runs);
}

void ByteCounter::add(const Computation &computation, int64_t runs) {
  for (const Instruction *instruction : computation.instructions())
    if (sum)
      add(*instruction, runs);
}

llvm::Expected<int64_t> tessera::countTouchedBytes(const Module &module,
                                                   int64_t unknownTrips) {
  ByteCounter counter(unknownTrips);
  counter.add(*module.entry(), 1);
  if (counter.sum)
    return *counter.sum;
  return unsupportedError("bytes", "sizes that are known, and a sum in int64",
                          "a module that touches more");
}
