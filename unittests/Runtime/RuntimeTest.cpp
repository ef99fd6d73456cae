//===- RuntimeTest.cpp - Relayouts at run time, executed ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random pairs through the C API. Every bit of the destination is compared with
// the model of tiles, which knows nothing of axis lists, between guard pages.
//
//===----------------------------------------------------------------------===//

#include "../GuardedPages.h"
#include "../Layout/TilingModel.h"
#include "../RandomLayouts.h"
#include "../ShapePairs.h"
#include "../TestCounts.h"

#include "tessera-c/Runtime.h"

#include "tessera/Layout/PaddingBits.h"

#include <memory>
#include <thread>

using namespace tessera;

namespace {
struct DestroyRelayout {
  void operator()(TesseraRelayout *relayout) const {
    tesseraRelayoutDestroy(relayout);
  }
};
using Handle = std::unique_ptr<TesseraRelayout, DestroyRelayout>;

/// The text of an error, which is destroyed; nothing for none.
std::string take(TesseraError *error) {
  if (!error)
    return "";
  std::string message = tesseraErrorGetMessage(error);
  tesseraErrorDestroy(error);
  return message;
}

Handle create(const Shape &source, const Shape &destination,
              const TesseraRelayoutOptions &options = {}) {
  TesseraRelayout *relayout = nullptr;
  EXPECT_EQ(take(tesseraRelayoutCreate(source.toString().c_str(),
                                       destination.toString().c_str(), &options,
                                       &relayout)),
            "");
  return Handle(relayout);
}

/// A side as a list of elements of some bits: where each of them lies, in
/// row-major order, by the model.
struct ModelSide {
  explicit ModelSide(const Shape &shape)
      : shape(shape),
        bits(getStorageBits(shape.elementType(), shape.layoutOrDefault())) {
    ShapeSize size = llvm::cantFail(getSize(shape));
    bytes = size.bytes;
    numPositions = size.allocatedElements;
    for (const auto &index : allIndices(shape.dimensions()))
      positions.push_back(
          TiledElement(shape.dimensions(), shape.layoutOrDefault(), index)
              .position());
  }

  uint64_t read(llvm::ArrayRef<uint8_t> from, int64_t bit, int64_t bits) const {
    uint64_t value = 0;
    for (int64_t i = 0; i < bits; ++i)
      value |= uint64_t(from[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
    return value;
  }
  void write(llvm::MutableArrayRef<uint8_t> to, int64_t bit, int64_t bits,
             uint64_t value) const {
    for (int64_t i = 0; i < bits; ++i) {
      auto mask = static_cast<uint8_t>(1 << ((bit + i) % 8));
      uint8_t &byte = to[(bit + i) / 8];
      byte = value >> i & 1 ? byte | mask : byte & ~mask;
    }
  }

  Shape shape;
  int64_t bits, bytes, numPositions;
  std::vector<int64_t> positions;
};

/// Where element `i` of the source begins, in bits.
using SourceBits = llvm::function_ref<int64_t(size_t i)>;

/// What must stand in the destination, which holds `output` before.
std::vector<uint8_t> getExpected(llvm::ArrayRef<uint8_t> input,
                                 llvm::ArrayRef<uint8_t> output,
                                 SourceBits getSourceBit, int64_t sourceBits,
                                 const ModelSide &to, bool zeroPadding) {
  std::vector<uint8_t> expected = output.vec();
  PrimitiveType type = to.shape.elementType();
  auto padding = to.shape.layoutOrDefault().paddingValue;
  std::vector<bool> isElement(to.numPositions);
  // Sixteen bytes are read as two numbers.
  auto copy = [&](int64_t from, int64_t bit, int64_t bits) {
    for (int64_t done = 0; done < bits; done += 64) {
      int64_t left = std::min<int64_t>(bits - done, 64);
      int64_t wide = std::min<int64_t>(sourceBits, left);
      uint64_t value = to.read(input, from + done, wide);
      if (isSignedIntegral(type) && wide < left && value >> (wide - 1) & 1)
        value |= ~uint64_t(0) << wide;
      to.write(expected, bit + done, left, value);
    }
  };
  for (size_t i = 0; i < to.positions.size(); ++i) {
    isElement[to.positions[i]] = true;
    copy(getSourceBit(i), to.positions[i] * to.bits, to.bits);
  }
  if (!padding && !zeroPadding)
    return expected;
  llvm::APInt value(to.bits, 0);
  if (padding) {
    value = getPaddingBits(type, *padding);
    value = isSignedIntegral(type) ? value.sextOrTrunc(to.bits)
                                   : value.zextOrTrunc(to.bits);
  }
  for (int64_t at = 0; at < to.numPositions; ++at)
    for (int64_t bit = 0; bit < to.bits && !isElement[at]; ++bit)
      to.write(expected, at * to.bits + bit, 1, value[bit]);
  return expected;
}

/// Runs random pairs.
class Runner {
public:
  explicit Runner(uint64_t seed) : engine(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool oneIn(int64_t n) { return number(1, n) == 1; }

  TesseraRelayoutOptions options() {
    TesseraRelayoutOptions result = {};
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
  void run(const TesseraRelayout *relayout, GuardedPages &input,
           GuardedPages &output) {
    if (oneIn(2)) {
      ASSERT_EQ(
          take(tesseraRelayoutRun(relayout, input.data(), input.bytes().size(),
                                  output.data(), output.bytes().size())),
          "");
      return;
    }
    std::vector<int64_t> shares(number(1, 9));
    for (size_t i = 0; i < shares.size(); ++i)
      shares[i] = i;
    std::shuffle(shares.begin(), shares.end(), engine);
    for (int64_t share : shares)
      ASSERT_EQ(take(tesseraRelayoutRunShare(
                    relayout, input.data(), input.bytes().size(), output.data(),
                    output.bytes().size(), share, shares.size())),
                "");
  }

  void check(const TesseraRelayout *relayout, int64_t sourceBytes,
             int64_t sourceBits, SourceBits getSourceBit, const ModelSide &to,
             bool zeroPadding) {
    ASSERT_EQ(tesseraRelayoutGetSourceBytes(relayout), sourceBytes);
    ASSERT_EQ(tesseraRelayoutGetDestinationBytes(relayout), to.bytes);
    for (Placement placement : kPlacements) {
      GuardedPages input(sourceBytes, placement);
      GuardedPages output(to.bytes, placement);
      fill(input.bytes());
      fill(output.bytes());
      std::vector<uint8_t> expected =
          getExpected(input.bytes(), output.bytes(), getSourceBit, sourceBits,
                      to, zeroPadding);
      run(relayout, input, output);
      if (testing::Test::HasFatalFailure())
        return;
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(output.bytes()[i], expected[i])
            << "at byte " << i << ", placement " << static_cast<int>(placement);
    }
  }

  void check(const Shape &source, const Shape &destination) {
    SCOPED_TRACE(source.toString() + " to " + destination.toString() +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    TesseraRelayoutOptions chosen = options();
    Handle relayout = create(source, destination, chosen);
    ASSERT_TRUE(relayout);
    ModelSide from(source), to(destination);
    check(
        relayout.get(), from.bytes, from.bits,
        [&](size_t i) { return from.positions[i] * from.bits; }, to,
        chosen.zeroPadding);
  }

  std::mt19937_64 engine;
};
} // namespace

//===----------------------------------------------------------------------===//
// Random pairs
//===----------------------------------------------------------------------===//

/// Whether there is a relayout: E may be the type's bits or bytes alone.
static bool isLegal(const Shape &shape) {
  int64_t bits = getStorageBits(shape.elementType(), shape.layoutOrDefault());
  return bits == getBitWidth(shape.elementType()) ||
         bits == getByteWidth(shape.elementType()) * 8;
}

TEST(Runtime, SmallPairsWithEveryFeature) {
  RandomLayouts layouts(testSeed(), /*maxPositions=*/512);
  Runner runner(testSeed());
  for (int i = 0, count = testCount(60000); i < count; ++i) {
    auto dims = layouts.dimensions();
    PrimitiveType type = layouts.elementType();
    Shape source = Shape::array(type, dims, layouts.layout(dims, type));
    Shape destination = Shape::array(type, dims, layouts.layout(dims, type));
    if (!isLegal(source) || !isLegal(destination))
      continue;
    runner.check(source, destination);
    if (HasFatalFailure())
      return;
  }
}

TEST(Runtime, PairsOfSeveralBlocks) {
  ShapePairs pairs(testSeed());
  Runner runner(testSeed());
  for (int i = 0, count = testCount(4000); i < count; ++i) {
    auto [source, destination] = pairs.next();
    runner.check(source, destination);
    if (HasFatalFailure())
      return;
  }
}

TEST(Runtime, PairsOfEachKernel) {
  Runner runner(testSeed());
  for (int i = 0; i < 6; ++i)
    for (const auto &list : {getKernelPairs(), getRaggedPairs()})
      for (const auto &[source, destination] : list) {
        runner.check(source, destination);
        if (HasFatalFailure())
          return;
      }
}
