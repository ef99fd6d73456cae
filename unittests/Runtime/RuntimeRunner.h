//===- RuntimeRunner.h - Runs relayouts at run time -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random pairs, parts and options; handles through the C API; and what they
// write, bit by bit, compared with the model.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_RUNTIME_RUNTIMERUNNER_H
#define TESSERA_UNITTESTS_RUNTIME_RUNTIMERUNNER_H

#include "RuntimeModel.h"

#include "../GuardedPages.h"
#include "../RandomNumbers.h"
#include "../ShapePairs.h"
#include "../TestCounts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include "gmock/gmock.h"

#include <memory>
#include <thread>

namespace tessera {

struct DestroyRelayout {
  void operator()(TesseraRuntimeRelayout *relayout) const {
    tesseraRuntimeRelayoutDestroy(relayout);
  }
};
using Handle = std::unique_ptr<TesseraRuntimeRelayout, DestroyRelayout>;

inline Shape parse(llvm::StringRef text) {
  return llvm::cantFail(parseShape(text));
}

/// The text of an error, which is destroyed; nothing for none.
inline std::string take(TesseraError *error) {
  if (!error)
    return "";
  std::string message = tesseraErrorGetMessage(error);
  tesseraErrorDestroy(error);
  return message;
}

inline Handle create(const Shape &source, const Shape &destination,
                     const TesseraRuntimeOptions &options = {}) {
  TesseraRuntimeRelayout *relayout = nullptr;
  EXPECT_EQ(take(tesseraRuntimeRelayoutCreate(source.toString().c_str(),
                                              destination.toString().c_str(),
                                              &options, &relayout)),
            "");
  return Handle(relayout);
}

/// Where parts begin, if not where the boxes of the handle do.
struct Offsets {
  llvm::SmallVector<int64_t> source, destination;

  static TesseraInt64s wrap(llvm::ArrayRef<int64_t> numbers) {
    return {numbers.data(), numbers.size()};
  }
};

/// Runs random pairs.
class Runner : public RandomNumbers {
public:
  using RandomNumbers::RandomNumbers;

  TesseraRuntimeOptions options() {
    TesseraRuntimeOptions result = {};
    result.zeroPadding = oneIn(3);
    result.vectorBytes = oneIn(4) ? 0 : int64_t(16) << number(0, 2);
    result.streamedBytes = oneIn(3) ? 1 : 0;
    return result;
  }

  void fill(llvm::MutableArrayRef<uint8_t> bytes) {
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(engine());
  }

  /// Runs it at once, or in shares in any order.
  void run(const TesseraRuntimeRelayout *relayout, GuardedPages &input,
           GuardedPages &output, const Offsets *at) {
    std::vector<int64_t> shares(oneIn(2) ? 1 : number(1, 9));
    for (size_t i = 0; i < shares.size(); ++i)
      shares[i] = i;
    std::shuffle(shares.begin(), shares.end(), engine);
    for (int64_t share : shares)
      ASSERT_EQ(take(runShare(relayout, input, output, at, share,
                              static_cast<int64_t>(shares.size()))),
                "");
  }

  TesseraError *runShare(const TesseraRuntimeRelayout *relayout,
                         GuardedPages &input, GuardedPages &output,
                         const Offsets *at, int64_t share, int64_t shares) {
    size_t from = input.bytes().size(), to = output.bytes().size();
    bool isWhole = shares == 1;
    if (at && isWhole)
      return tesseraRuntimeRelayoutRunAt(relayout, Offsets::wrap(at->source),
                                         Offsets::wrap(at->destination),
                                         input.data(), from, output.data(), to);
    if (at)
      return tesseraRuntimeRelayoutRunShareAt(
          relayout, Offsets::wrap(at->source), Offsets::wrap(at->destination),
          input.data(), from, output.data(), to, share, shares);
    if (isWhole)
      return tesseraRuntimeRelayoutRun(relayout, input.data(), from,
                                       output.data(), to);
    return tesseraRuntimeRelayoutRunShare(relayout, input.data(), from,
                                          output.data(), to, share, shares);
  }

  void check(const TesseraRuntimeRelayout *relayout, int64_t sourceBytes,
             int64_t sourceBits, SourceBits getSourceBit, const ModelSide &to,
             bool zeroPadding, const Offsets *at = nullptr) {
    ASSERT_EQ(tesseraRuntimeRelayoutGetSourceBytes(relayout), sourceBytes);
    ASSERT_EQ(tesseraRuntimeRelayoutGetDestinationBytes(relayout), to.bytes);
    for (Placement placement : kPlacements) {
      GuardedPages input(sourceBytes, placement);
      GuardedPages output(to.bytes, placement);
      fill(input.bytes());
      fill(output.bytes());
      std::vector<uint8_t> expected =
          getExpected(input.bytes(), output.bytes(), getSourceBit, sourceBits,
                      to, zeroPadding);
      run(relayout, input, output, at);
      if (testing::Test::HasFatalFailure())
        return;
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(output.bytes()[i], expected[i])
            << "at byte " << i << ", placement " << static_cast<int>(placement);
    }
  }

  void check(const Shape &source, const Shape &destination,
             std::optional<int64_t> streamedBytes = std::nullopt) {
    SCOPED_TRACE(source.toString() + " to " + destination.toString() +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    TesseraRuntimeOptions chosen = options();
    chosen.streamedBytes = streamedBytes.value_or(chosen.streamedBytes);
    Handle relayout = create(source, destination, chosen);
    ASSERT_TRUE(relayout);
    ModelSide from(source), to(destination);
    check(
        relayout.get(), from.bytes, from.bits,
        [&](size_t i) { return from.positions[i] * from.bits; }, to,
        chosen.zeroPadding);
  }

  /// The same within one buffer. Padding is zero, so that all is known.
  void checkInPlace(const Shape &source, const Shape &destination) {
    SCOPED_TRACE(source.toString() + " to " + destination.toString() +
                 " in place, TESSERA_SEED=" + std::to_string(testSeed()));
    TesseraRuntimeOptions chosen = options();
    chosen.zeroPadding = true;
    chosen.scratchBytes = oneIn(4) ? 0 : number(1, 2000);
    Handle relayout = create(source, destination, chosen);
    ASSERT_TRUE(relayout);
    ModelSide from(source), to(destination);
    for (Placement placement : kPlacements) {
      GuardedPages buffer(std::max(from.bytes, to.bytes), placement);
      fill(buffer.bytes());
      std::vector<uint8_t> input(buffer.bytes().begin(),
                                 buffer.bytes().begin() + from.bytes);
      std::vector<uint8_t> expected = getExpected(
          input, std::vector<uint8_t>(to.bytes),
          [&](size_t i) { return from.positions[i] * from.bits; }, from.bits,
          to, /*zeroPadding=*/true);
      ASSERT_EQ(take(tesseraRuntimeRelayoutRunInPlace(
                    relayout.get(), buffer.data(), buffer.bytes().size())),
                "");
      for (int64_t i = 0; i < to.bytes; ++i)
        ASSERT_EQ(buffer.bytes()[i], expected[i])
            << "at byte " << i << ", placement " << static_cast<int>(placement);
    }
  }
};

/// Arrays of elements of less than a byte, packed on both sides or on one.
inline std::pair<Shape, Shape> nextPacked(ShapePairs &pairs) {
  static constexpr PrimitiveType kTypes[] = {
      PrimitiveType::S4, PrimitiveType::U4, PrimitiveType::F4E2M1FN,
      PrimitiveType::S2, PrimitiveType::U1, PrimitiveType::Pred};
  static constexpr int64_t kLargest[] = {4000, 150, 30, 12};
  PrimitiveType type = kTypes[pairs.number(0, pairs.oneIn(2) ? 2 : 5)];
  llvm::SmallVector<int64_t> dims(pairs.number(1, 4));
  for (int64_t &dim : dims)
    dim = pairs.oneIn(3) ? 8 * pairs.number(1, 40 / dims.size())
                         : pairs.number(1, kLargest[dims.size() - 1]);
  auto side = [&](bool isDestination, bool isPacked) {
    Layout layout = pairs.layout(dims, isDestination);
    layout.elementSizeInBits = isPacked ? getBitWidth(type) : 0;
    return Shape::array(type, dims, layout);
  };
  bool isPacked = !pairs.oneIn(4);
  return {side(false, isPacked), side(true, !isPacked || !pairs.oneIn(4))};
}

/// A larger array in which `shape` is a part, often in steps.
inline std::pair<Shape, Box> growAround(const Shape &shape, ShapePairs &pairs) {
  Box box;
  llvm::SmallVector<int64_t> sizes;
  for (int64_t size : shape.dimensions()) {
    box.push_back({pairs.number(0, 9), size,
                   pairs.oneIn(5) && size < 40 ? pairs.number(2, 5) : 1});
    int64_t end = box.back().begin + (size - 1) * box.back().step + 1;
    sizes.push_back(std::max(end, box.back().begin) + pairs.number(0, 3));
  }
  Layout layout = shape.layout();
  for (auto [size, width] :
       llvm::zip(sizes, layout.paddedDimensions)) // None, or one for each.
    width = std::max(width, size);
  return {Shape::array(shape.elementType(), sizes, layout), box};
}

inline std::string printBox(const Box &box) {
  return llvm::join(
      llvm::map_range(box,
                      [](const Slice &slice) {
                        int64_t end = slice.begin;
                        if (slice.count > 0)
                          end += (slice.count - 1) * slice.step + 1;
                        return llvm::formatv("{0}:{1}:{2}", slice.begin, end,
                                             slice.step)
                            .str();
                      }),
      ",");
}

/// Calls `body` with each number from 0 to `count`, all at once.
inline void runThreads(int count, llvm::function_ref<void(int)> body) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (int i = 0; i < count; ++i)
    threads.emplace_back([=] { body(i); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace tessera

#endif // TESSERA_UNITTESTS_RUNTIME_RUNTIMERUNNER_H
