//===- PackedRelayoutTest.cpp - Parts of bytes, executed ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays, whole and in boxes, most of them of elements of 1, 2 and 4 bits,
// packed on both sides or on one: every bit of the destination, those that must
// stay as they were included, between guard pages.
//
//===----------------------------------------------------------------------===//

#include "GuardedRelayouts.h"
#include "TestCounts.h"

#include "mlir/IR/MLIRContext.h"

#include <set>

using namespace tessera;

namespace {
/// A side as a list of elements of some bits.
struct BitSide {
  explicit BitSide(const ArrayPart &part)
      : part(part), axes(llvm::cantFail(AxisList::get(part.shape))),
        bits(getStorageBits(part.shape.elementType(),
                            part.shape.layoutOrDefault())) {}

  /// The position of an index of the part.
  int64_t getPosition(llvm::ArrayRef<int64_t> index) const {
    llvm::SmallVector<int64_t> whole(index);
    for (size_t i = 0; i < whole.size() && !part.isWhole(); ++i)
      whole[i] = part.box[i].begin + index[i] * part.box[i].step;
    return axes.linearIndex(whole);
  }
  uint64_t read(llvm::ArrayRef<uint8_t> bytes, int64_t position) const {
    uint64_t value = 0;
    for (int64_t bit = 0; bit < bits; ++bit) {
      int64_t at = position * bits + bit;
      value |= uint64_t((bytes[at / 8] >> (at % 8)) & 1) << bit;
    }
    return value;
  }
  void write(llvm::MutableArrayRef<uint8_t> bytes, int64_t position,
             uint64_t value) const {
    for (int64_t bit = 0; bit < bits; ++bit) {
      int64_t at = position * bits + bit;
      auto mask = static_cast<uint8_t>(1 << (at % 8));
      bytes[at / 8] &= ~mask;
      if ((value >> bit) & 1)
        bytes[at / 8] |= mask;
    }
  }

  const ArrayPart &part;
  AxisList axes;
  int64_t bits;
};

/// Pairs of arrays, or of boxes of arrays, most of elements of less than a
/// byte.
class PackedPairs {
public:
  explicit PackedPairs(uint64_t seed) : shapes(seed) {}

  std::pair<ArrayPart, ArrayPart> next() {
    static constexpr PrimitiveType kTypes[] = {
        PrimitiveType::S4, PrimitiveType::U4,  PrimitiveType::F4E2M1FN,
        PrimitiveType::S4, PrimitiveType::S2,  PrimitiveType::U2,
        PrimitiveType::S1, PrimitiveType::Pred};
    static constexpr PrimitiveType kWhole[] = {
        PrimitiveType::S8, PrimitiveType::BF16, PrimitiveType::F32,
        PrimitiveType::F64};
    bool isWhole = shapes.oneIn(4);
    PrimitiveType type =
        isWhole ? kWhole[shapes.number(0, 3)]
                : kTypes[shapes.number(0, shapes.oneIn(2) ? 3 : 7)];
    llvm::SmallVector<int64_t> counts(shapes.number(1, 4));
    static constexpr int64_t kLargest[] = {3000, 150, 30, 12};
    for (int64_t &count : counts)
      count = shapes.oneIn(3) ? 8 * shapes.number(1, 5)
                              : shapes.number(1, kLargest[counts.size() - 1]);
    bool hasBoxes = shapes.oneIn(isWhole ? 1 : 3);
    bool isPacked = !isWhole && !shapes.oneIn(4);
    return {part(type, counts, false, hasBoxes, isPacked),
            part(type, counts, true, hasBoxes, !isPacked || !shapes.oneIn(4))};
  }

private:
  ArrayPart part(PrimitiveType type, llvm::ArrayRef<int64_t> counts,
                 bool isDestination, bool hasBoxes, bool isPacked) {
    llvm::SmallVector<int64_t> sizes(counts);
    Box box;
    for (int64_t &size : sizes) {
      if (!hasBoxes)
        break;
      // Long steps where that leaves arrays small.
      int64_t longest = counts.size() <= 2 && size <= 40 ? 33 : 3;
      Slice slice = {shapes.number(0, 9), size,
                     shapes.oneIn(6) ? shapes.number(2, longest) : 1};
      size = slice.begin + (size - 1) * slice.step + 1 + shapes.number(0, 3);
      box.push_back(slice);
    }
    Layout layout = shapes.layout(sizes, isDestination);
    // A signed bit is 0 or -1.
    if (type == PrimitiveType::S1 && layout.paddingValue)
      layout.paddingValue = PaddingValue::Zero;
    if (isPacked)
      layout.elementSizeInBits = getBitWidth(type);
    return {Shape::array(type, sizes, layout), box};
  }

  ShapePairs shapes;
};
} // namespace

/// Calls `body` with every index of an array.
static void
forEachIndex(llvm::ArrayRef<int64_t> dims,
             llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body) {
  int64_t total = 1;
  for (int64_t dim : dims)
    total *= dim;
  llvm::SmallVector<int64_t> index(dims.size(), 0);
  for (int64_t i = 0; i < total; ++i) {
    body(index);
    for (size_t d = dims.size(); d > 0; --d) {
      if (++index[d - 1] < dims[d - 1])
        break;
      index[d - 1] = 0;
    }
  }
}

/// An element as it is stored with more or fewer bits.
static uint64_t resize(uint64_t value, const BitSide &from, const BitSide &to) {
  bool isSigned = isSignedIntegral(from.part.shape.elementType());
  if (to.bits > from.bits && isSigned && (value >> (from.bits - 1)) & 1)
    value |= ~uint64_t(0) << from.bits;
  return value;
}

static void expectBits(llvm::MutableArrayRef<uint8_t> expected,
                       llvm::ArrayRef<uint8_t> input, const BitSide &from,
                       const BitSide &to) {
  forEachIndex(to.part.dimensions(), [&](llvm::ArrayRef<int64_t> index) {
    uint64_t value = from.read(input, from.getPosition(index));
    to.write(expected, to.getPosition(index), resize(value, from, to));
  });
  const Shape &shape = to.part.shape;
  auto padding = shape.layoutOrDefault().paddingValue;
  if (!padding || !to.part.isWhole())
    return;
  llvm::APInt bits = getPaddingBits(shape.elementType(), *padding);
  bits = isSignedIntegral(shape.elementType()) ? bits.sextOrTrunc(64)
                                               : bits.zextOrTrunc(64);
  for (int64_t position = 0; position < to.axes.numAllocated(); ++position)
    if (!to.axes.logicalIndex(position))
      to.write(expected, position, bits.getZExtValue());
}

static void checkBits(CompiledModule::Relayout *relayout,
                      const std::pair<ArrayPart, ArrayPart> &pair,
                      std::mt19937_64 &engine) {
  BitSide from(pair.first), to(pair.second);
  for (Placement placement : kPlacements) {
    GuardedPages input(llvm::cantFail(getSize(from.part.shape)).bytes,
                       placement);
    GuardedPages output(llvm::cantFail(getSize(to.part.shape)).bytes,
                        placement);
    for (uint8_t &byte : input.bytes())
      byte = static_cast<uint8_t>(engine());
    for (uint8_t &byte : output.bytes())
      byte = static_cast<uint8_t>(engine());
    std::vector<uint8_t> expected(output.bytes().begin(), output.bytes().end());
    expectBits(expected, input.bytes(), from, to);
    relayout(input.data(), output.data());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(output.bytes()[i], expected[i])
          << "at byte " << i << ", placement " << static_cast<int>(placement);
  }
}

namespace {
/// Functions that are compiled together and then run one by one.
class PartBatch {
public:
  explicit PartBatch(const CompileOptions &options)
      : options(options), context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registerCompileDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  }

  /// Adds the pair; the names of its kernels go to `kernels`.
  void add(const std::pair<ArrayPart, ArrayPart> &pair,
           std::multiset<std::string> &kernels) {
    auto plan = getRelayoutPlan(pair.first, pair.second, options);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      kernels.insert("none");
    } else {
      for (const NestSchedule &nest : plan->nests)
        kernels.insert(nest.getKernelName().str() +
                       (nest.packedBytes.empty() ? "" : " packed"));
    }
    options.symbol = "f" + std::to_string(pairs.size());
    pairs.push_back(pair);
    llvm::cantFail(
        addRelayoutFunction(*module, pair.first, pair.second, options));
  }

  void run(std::mt19937_64 &engine) {
    auto compiled = CompiledModule::compile(std::move(module), options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (auto [i, pair] : llvm::enumerate(pairs)) {
      SCOPED_TRACE(pair.first.toString() + " to " + pair.second.toString() +
                   ", registers of " + std::to_string(options.vectorBytes) +
                   " bytes, TESSERA_SEED=" + std::to_string(testSeed()));
      auto function = llvm::cantFail(compiled->lookup("f" + std::to_string(i)));
      checkBits(function, pair, engine);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }

private:
  CompileOptions options;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::pair<ArrayPart, ArrayPart>> pairs;
};
} // namespace

static CompileOptions getOptions(int number) {
  CompileOptions options;
  options.optLevel = 1;
  options.vectorBytes = 16 << number % 3;
  options.nontemporalBytes = number % 4 == 3 ? int64_t(1) << 40 : 256;
  if (number % 5 == 4) {
    options.threads = 3;
    options.parallelBytes = 1;
  }
  return options;
}

static std::pair<ArrayPart, ArrayPart> parsePair(llvm::StringRef source,
                                                 llvm::StringRef destination) {
  return {llvm::cantFail(parseShape(source)),
          llvm::cantFail(parseShape(destination))};
}

// Rows interleaved in twos, fours and eights, as TPUs store packed elements, to
// and from rows, with registers of every width; all by kernels that interleave.
TEST(PackedRelayout, InterleavedRows) {
  std::mt19937_64 engine(testSeed());
  for (int number = 0; number < 3; ++number) {
    PartBatch there(getOptions(number)), back(getOptions(number));
    std::multiset<std::string> kernelsThere, kernelsBack;
    for (const char *tiles :
         {"T(8,128)(2,1)", "T(8,128)(4,1)", "T(8,128)(8,1)", "T(16,128)(8,1)",
          "T(32,128)(8,1)", "T(64,128)(8,1)"})
      for (const char *type : {"s4", "u4"}) {
        std::string array = type + std::string("[64,256]{1,0");
        std::string rows = array + ":E(4)}", interleaved = array + ":" + tiles;
        there.add(parsePair(rows, interleaved + "E(4)}"), kernelsThere);
        back.add(parsePair(interleaved + "E(4)}", rows), kernelsBack);
      }
    there.run(engine);
    back.run(engine);
    EXPECT_EQ(kernelsThere.count("interleave packed"), kernelsThere.size());
    EXPECT_EQ(kernelsBack.count("deinterleave packed"), kernelsBack.size());
    if (HasFailure())
      return;
  }
}

/// The same array with as many bits for each element as it needs.
static Shape pack(const Shape &shape) {
  Layout layout = shape.layoutOrDefault();
  layout.elementSizeInBits = getBitWidth(shape.elementType());
  return Shape::array(shape.elementType(), shape.dimensions(), layout);
}

// Elements with a byte each on one side: their sign goes into the bits above,
// or zeros do; what is in those bits of the source does not matter.
TEST(PackedRelayout, WholeBytesOnOneSide) {
  std::mt19937_64 engine(testSeed());
  for (int number = 0; number < 3; ++number) {
    PartBatch batch(getOptions(number));
    std::multiset<std::string> kernels;
    for (const char *type : {"s4", "u4", "f4e2m1fn", "s2", "pred"})
      for (auto [source, destination] :
           {std::pair("[37,129]{1,0}", "[37,129]{1,0}"),
            std::pair("[37,129]{1,0}", "[37,129]{0,1}"),
            std::pair("[40,136]{1,0}", "[40,136]{1,0:T(8,128)(4,1)PV(one)}")}) {
        Shape from = llvm::cantFail(parseShape(type + std::string(source)));
        Shape to = llvm::cantFail(parseShape(type + std::string(destination)));
        batch.add({pack(from), to}, kernels);
        batch.add({from, pack(to)}, kernels);
      }
    batch.run(engine);
    EXPECT_EQ(kernels.count("none"), 0u);
    if (HasFailure())
      return;
  }
}

TEST(PackedRelayout, RandomPartsBetweenGuardPages) {
  PackedPairs pairs(testSeed());
  std::mt19937_64 engine(testSeed());
  std::multiset<std::string> kernels;
  constexpr int kBatch = 20;
  int count = testCount(2000);
  for (int done = 0; done < count && !HasFailure(); done += kBatch) {
    PartBatch batch(getOptions(done / kBatch));
    for (int i = 0; i < kBatch; ++i)
      batch.add(pairs.next(), kernels);
    batch.run(engine);
  }
  if (isShortTest())
    return; // Few pairs need not reach all kernels.
  for (const char *kernel :
       {"copy", "copy packed", "transpose", "transpose packed",
        "interleave packed", "deinterleave packed", "gather", "gather packed",
        "merge", "merge packed", "fill", "fill bits"})
    EXPECT_NE(kernels.count(kernel), 0u) << kernel << " was never reached";
  // What has no plan is the exception.
  EXPECT_LT(kernels.count("none"), static_cast<size_t>(count / 8));
}
