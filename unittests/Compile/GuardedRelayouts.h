//===- GuardedRelayouts.h - Run relayouts between guard pages ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A check of every byte that a compiled relayout writes against the axis lists,
// between pages that cannot be touched: once with buffers that begin at a page,
// once with buffers that end at one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_COMPILE_GUARDEDRELAYOUTS_H
#define TESSERA_UNITTESTS_COMPILE_GUARDEDRELAYOUTS_H

#include "../GuardedPages.h"
#include "../ShapePairs.h"

#include "tessera/Compile/Compile.h"
#include "tessera/Layout/PaddingBits.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <random>

namespace tessera {

/// The bytes that the destination must hold; `known` says where anything is.
struct ExpectedBytes {
  std::vector<uint8_t> bytes;
  std::vector<bool> known;
};
inline ExpectedBytes getExpected(const Shape &source, const Shape &destination,
                                 llvm::ArrayRef<uint8_t> input) {
  AxisList src = llvm::cantFail(AxisList::get(source));
  AxisList dst = llvm::cantFail(AxisList::get(destination));
  int64_t width = getByteWidth(source.elementType());
  ExpectedBytes result;
  result.bytes.resize(dst.numAllocated() * width);
  result.known.resize(result.bytes.size());
  auto padding = destination.layoutOrDefault().paddingValue;
  for (int64_t position = 0; position < dst.numAllocated(); ++position) {
    auto index = dst.logicalIndex(position);
    if (!index && !padding)
      continue;
    for (int64_t byte = 0; byte < width; ++byte) {
      int64_t at = position * width + byte;
      result.known[at] = true;
      if (index)
        result.bytes[at] = input[src.linearIndex(*index) * width + byte];
      else
        result.bytes[at] = getPaddingBits(source.elementType(), *padding)
                               .extractBitsAsZExtValue(8, byte * 8);
    }
  }
  return result;
}

inline void checkRun(CompiledModule::Relayout *relayout, const Shape &source,
                     const Shape &destination, std::mt19937_64 &engine) {
  for (Placement placement : kPlacements) {
    GuardedPages input(llvm::cantFail(getSize(source)).bytes, placement);
    GuardedPages output(llvm::cantFail(getSize(destination)).bytes, placement);
    for (uint8_t &byte : input.bytes())
      byte = static_cast<uint8_t>(engine());
    for (uint8_t &byte : output.bytes())
      byte = static_cast<uint8_t>(engine());
    std::vector<uint8_t> before = output.bytes().vec();
    relayout(input.data(), output.data());
    ExpectedBytes expected = getExpected(source, destination, input.bytes());
    for (size_t i = 0; i < expected.bytes.size(); ++i) {
      // Padding that gets no value keeps what it holds.
      ASSERT_EQ(output.bytes()[i],
                expected.known[i] ? expected.bytes[i] : before[i])
          << "at byte " << i << ", placement " << static_cast<int>(placement);
    }
  }
}

/// The processor whose costs batch `number` takes; what it is compiled for is
/// this one. With 2, 3 and 4 choices of other options each meets each.
inline const char *getCostsOf(int number) {
  return number % 5 < 3 ? "znver5" : "";
}

/// A machine of this processor with costs from all over their ranges.
inline std::shared_ptr<const MachineProfile>
drawMachine(std::mt19937_64 &engine) {
  auto machine = std::make_shared<MachineProfile>(MachineProfile::getHost());
  auto draw = [&](int64_t least, int64_t most) {
    // All orders of magnitude alike, and any number of each.
    int64_t bits = engine() % (llvm::Log2_64_Ceil(most - least + 1) + 1);
    int64_t above = engine() % (uint64_t(1) << bits);
    return std::min(least + above, most);
  };
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST)                                 \
  machine->costs.FIELD = draw(LEAST, MOST);
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  return machine;
}

} // namespace tessera

#endif // TESSERA_UNITTESTS_COMPILE_GUARDEDRELAYOUTS_H
