//===- RelayoutTest.cpp - Compiled relayouts, executed --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs compiled relayouts on random bytes and compares every bit of the result
// with what the axis lists say, one element at a time.
//
//===----------------------------------------------------------------------===//

#include "RandomLayouts.h"
#include "TestCounts.h"
#include "tessera/Compile/Compile.h"
#include "tessera/Layout/PaddingBits.h"
#include "tessera/Layout/Text.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <set>

using namespace tessera;

static Shape parse(llvm::StringRef text) {
  llvm::Expected<Shape> shape = parseShape(text);
  EXPECT_TRUE(bool(shape)) << llvm::toString(shape.takeError());
  return *shape;
}

namespace {
/// Bytes between guards that nothing may touch, at an odd address.
class GuardedBuffer {
public:
  static constexpr size_t kGuard = 67;

  explicit GuardedBuffer(size_t size, uint8_t fill = 0)
      : bytes(size + 2 * kGuard, 0xA5) {
    std::fill_n(data(), size, fill);
  }
  uint8_t *data() { return bytes.data() + kGuard; }
  const uint8_t *data() const { return bytes.data() + kGuard; }
  size_t size() const { return bytes.size() - 2 * kGuard; }
  bool isIntact() const {
    auto isGuard = [](uint8_t byte) { return byte == 0xA5; };
    return std::all_of(bytes.begin(), bytes.begin() + kGuard, isGuard) &&
           std::all_of(bytes.end() - kGuard, bytes.end(), isGuard);
  }

private:
  std::vector<uint8_t> bytes;
};

/// The buffer of one side as a list of elements.
struct Side {
  explicit Side(const Shape &shape)
      : type(shape.elementType()), axes(cantFail(AxisList::get(shape))),
        bits(getStorageBits(type, shape.layoutOrDefault())),
        bytes(cantFail(getSize(shape)).bytes) {}

  /// The bits of element number `position`, as wide as the type.
  llvm::APInt read(const GuardedBuffer &buffer, int64_t position) const {
    llvm::APInt value(bits, 0);
    for (int64_t bit = 0; bit < bits; ++bit) {
      int64_t at = position * bits + bit;
      value.setBitVal(bit, (buffer.data()[at / 8] >> (at % 8)) & 1);
    }
    return value;
  }

  PrimitiveType type;
  AxisList axes;
  int64_t bits;
  int64_t bytes;
};
} // namespace

/// Calls `body` with every index of an array.
static void
forEachIndex(llvm::ArrayRef<int64_t> dims,
             llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(dims, 0))
    return;
  llvm::SmallVector<int64_t> index(dims.size(), 0);
  while (true) {
    body(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Widens or narrows a stored element as a relayout does.
static llvm::APInt resize(const llvm::APInt &value, const Side &side) {
  unsigned width = side.bits;
  if (value.getBitWidth() >= width)
    return value.trunc(width);
  return isSignedIntegral(side.type) ? value.sext(width) : value.zext(width);
}

/// Fills a source with random bytes, runs the function, and compares.
static void checkRun(CompiledModule::Relayout *relayout, const Shape &source,
                     const Shape &destination, RandomLayouts &random) {
  SCOPED_TRACE(source.toString() + " to " + destination.toString());
  Side from(source), to(destination);
  GuardedBuffer input(from.bytes), output(to.bytes, 0x3C);
  for (size_t i = 0; i < input.size(); ++i)
    input.data()[i] = static_cast<uint8_t>(random.number(0, 255));
  GuardedBuffer before = input;
  relayout(input.data(), output.data());

  ASSERT_TRUE(input.isIntact() && output.isIntact()) << "guard bytes written";
  ASSERT_TRUE(
      std::equal(input.data(), input.data() + input.size(), before.data()))
      << "the source was written";
  forEachIndex(source.dimensions(), [&](llvm::ArrayRef<int64_t> index) {
    int64_t position = to.axes.linearIndex(index);
    llvm::APInt expected =
        resize(from.read(input, from.axes.linearIndex(index)), to);
    ASSERT_EQ(to.read(output, position), expected)
        << "at position " << position;
  });
  auto padding = destination.layoutOrDefault().paddingValue;
  if (!padding)
    return;
  llvm::APInt expected = resize(getPaddingBits(to.type, *padding), to);
  for (int64_t position = 0; position < to.axes.numAllocated(); ++position) {
    if (to.axes.logicalIndex(position))
      continue;
    ASSERT_EQ(to.read(output, position), expected) << "padding at " << position;
  }
}

namespace {
/// Relayouts that are compiled together and then run one by one.
class Batch {
public:
  explicit Batch(unsigned optLevel = 1, int64_t threads = 1) {
    options.optLevel = optLevel;
    options.threads = threads;
    if (threads > 1)
      options.parallelBytes = 1;
    registerCompileDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  }

  void add(const Shape &source, const Shape &destination) {
    options.symbol = "relayout_" + std::to_string(pairs.size());
    llvm::Error error =
        addRelayoutFunction(*module, source, destination, options);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    pairs.push_back({source, destination});
  }

  void run(RandomLayouts &random) {
    auto compiled = CompiledModule::compile(std::move(module), options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (size_t i = 0; i < pairs.size(); ++i) {
      auto function = compiled->lookup("relayout_" + std::to_string(i));
      ASSERT_TRUE(bool(function)) << llvm::toString(function.takeError());
      checkRun(*function, pairs[i].first, pairs[i].second, random);
      if (testing::Test::HasFailure())
        return;
    }
  }

  /// Calls `body` with each two functions that were added one after the other.
  void runEach(llvm::function_ref<void(size_t, CompiledModule::Relayout *,
                                       CompiledModule::Relayout *)>
                   body) {
    auto compiled = CompiledModule::compile(std::move(module), options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    auto lookup = [&](size_t i) {
      return cantFail(compiled->lookup("relayout_" + std::to_string(i)));
    };
    for (size_t i = 0; 2 * i < pairs.size(); ++i)
      body(i, lookup(2 * i), lookup(2 * i + 1));
  }

private:
  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CompileOptions options;
  std::vector<std::pair<Shape, Shape>> pairs;
};
} // namespace

// Elements that share bytes: runs of whole bytes, bytes that are not whole at
// their ends, and transposes of pairs, all as vector kernels.
TEST(Relayout, PackedKernels) {
  RandomLayouts random(testSeed());
  Batch batch, threaded(/*optLevel=*/1, /*threads=*/3);
  for (auto [source, destination, kernel] :
       {std::tuple("s4[64,256]{1,0:E(4)}", "s4[64,256]{1,0:T(8,128)E(4)}",
                   "copy"),
        std::tuple("u4[19,301]{1,0:T(8,128)E(4)}",
                   "u4[19,301]{1,0:E(4)PD(19,304)}", "merge"),
        std::tuple("u4[19,301]{1,0:T(8,128)E(4)}",
                   "u4[19,301]{1,0:T(4,64)E(4)PV(one)}", "fill bits"),
        std::tuple("s2[19,301]{1,0:T(8,128)E(2)}",
                   "s2[19,301]{1,0:T(4,64)E(2)PV(one)}", "fill bits"),
        std::tuple("pred[19,301]{1,0:T(8,128)E(1)}",
                   "pred[19,301]{1,0:T(4,64)E(1)PV(one)}", "fill bits"),
        std::tuple("s4[64,96]{1,0:E(4)}", "s4[64,96]{0,1:E(4)}", "transpose"),
        std::tuple("s4[70,34]{1,0:E(4)}", "s4[70,34]{0,1:E(4)}", "transpose"),
        std::tuple("s4[6,10]{1,0:E(4)}", "s4[6,10]{0,1:E(4)}", "interleave"),
        std::tuple("f4e2m1fn[3,40,260]{2,1,0:E(4)}",
                   "f4e2m1fn[3,40,260]{1,2,0:T(8,128)E(4)PV(zero)}",
                   "transpose"),
        std::tuple("s4[64,256]{1,0:E(4)}", "s4[64,256]{1,0:T(8,128)(8,1)E(4)}",
                   "interleave"),
        std::tuple("s4[8,64]{1,0:T(8,32)(2,1)E(4)}", "s4[8,64]{1,0:E(4)}",
                   "deinterleave"),
        std::tuple("s4[5,7]{1,0:E(4)}", "s4[5,7]{1,0:T(8,128)E(4)}", "merge"),
        std::tuple("s4[5,131]{1,0:E(4)}", "s4[5,131]{0,1:E(4)}", "interleave"),
        std::tuple("s4[37,131]{1,0:E(4)}", "s4[37,131]{0,1:E(4)}", "transpose"),
        std::tuple("s2[8,64]{1,0:E(2)}", "s2[8,64]{0,1:E(2)}", "interleave"),
        std::tuple("s2[25,64]{1,0:E(2)}", "s2[25,64]{0,1:E(2)}",
                   "transpose")}) {
    SCOPED_TRACE(std::string(source) + " to " + destination);
    auto plan = getRelayoutPlan(parse(source), parse(destination));
    ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
    std::set<std::string> kernels;
    for (const NestSchedule &nest : plan->nests)
      kernels.insert(nest.getKernelName().str());
    EXPECT_EQ(kernels.count(kernel), 1u);
    batch.add(parse(source), parse(destination));
    threaded.add(parse(source), parse(destination));
  }
  // Too many parts of bytes: the loops over elements take it.
  auto [source, destination] =
      std::pair("u1[9,7,11]{2,1,0:E(1)}", "u1[9,7,11]{0,1,2:T(8,3)(2,1)E(1)}");
  auto plan = getRelayoutPlan(parse(source), parse(destination));
  ASSERT_FALSE(bool(plan)) << source << " to " << destination;
  llvm::consumeError(plan.takeError());
  batch.add(parse(source), parse(destination));
  batch.run(random);
  threaded.run(random);
}

// One case for each feature of the notation, so that a failure names it.
TEST(Relayout, Features) {
  RandomLayouts random(testSeed());
  Batch batch;
  for (auto [source, destination] :
       std::initializer_list<std::pair<const char *, const char *>>{
           {"f32[3,5]{1,0}", "f32[3,5]{0,1}"},
           {"bf16[20,300]{1,0}", "bf16[20,300]{1,0:T(8,128)(2,1)}"},
           {"f32[3,5]{1,0:T(2,2)}", "f32[3,5]{0,1:T(2,4)}"},
           {"u8[8,8]{1,0}", "u8[8,8]{1,0:T(2,4)(2,1,1,1)}"},
           {"f32[2,7,8,11,10]{4,3,2,1,0}",
            "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"},
           {"f32[2,3]{1,0}", "f32[2,3]{0,1:PD(3,5)PV(zero)}"},
           {"f32[]", "f32[]{:T(256)PV(lowest)}"},
           {"s4[3,5]{1,0}", "s4[3,5]{1,0:E(4)}"},
           {"s4[3,5]{1,0:E(4)}", "s4[3,5]{0,1:T(2,2)}"},
           {"s4[7,9]{1,0:T(8,128)E(4)}", "s4[7,9]{0,1:E(4)PV(one)}"},
           {"pred[5,9]{1,0}", "pred[5,9]{1,0:T(4,8)L(100)E(1)PV(one)}"},
           {"c128[3,3]{1,0}", "c128[3,3]{0,1:T(2,2)PV(one)}"},
           {"f32[16,4]{1,0}", "f32[16,4]{1,0:T(8,4)(3,1)PV(highest)}"},
           {"f32[13,4]{1,0}", "f32[13,4]{1,0:T(8,4)(3,1)PV(highest)}"},
           {"f32[23,256]{1,0}", "f32[23,256]{1,0:T(8,128)(2,1,1,1)PV(one)}"},
           {"f32[10]{0}", "f32[10]{0:L(7)PV(one)}"},
           {"f32[0,5]{1,0}", "f32[0,5]{1,0:T(8,128)PV(one)}"},
           {"s8[2,2,2,2,2,2,2,3]{7,6,5,4,3,2,1,0}",
            "s8[2,2,2,2,2,2,2,3]{0,1,2,3,4,5,6,7:T(2,2,2)}"},
       })
    batch.add(parse(source), parse(destination));
  batch.run(random);
}

// Random pairs of layouts, tiled to tiled.
TEST(Relayout, BoxesMustBeOnesOfTheArray) {
  Shape shape = llvm::cantFail(parseShape("f32[7,5]"));
  auto check = [&](Box box) {
    return llvm::toString(
        checkRelayout(ArrayPart(shape, std::move(box)), ArrayPart(shape)));
  };
  EXPECT_EQ(check({{0, 7, 1}}),
            "invalid box of the source: expected a slice for each of 2 "
            "dimensions, found 1; or none for the whole array");
  EXPECT_EQ(check({{0, 7, 1}, {1, 3, 2}}),
            "invalid dimension 1 of the box of the source: expected a slice "
            "within 0:5, found 3 indices from 1 in steps of 2; steps are 1 or "
            "more");
  EXPECT_EQ(check({{0, 7, 1}, {0, 5, 1}}), "");
  EXPECT_EQ(check({{0, 7, 0}, {0, 5, 1}}),
            "invalid dimension 0 of the box of the source: expected a slice "
            "within 0:7, found 7 indices from 0 in steps of 0; steps are 1 or "
            "more");
}

TEST(Relayout, RandomPairs) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  RandomLayouts random(testSeed());
  constexpr int kBatch = 50;
  for (int done = 0, count = testCount(2000);
       done < count && !testing::Test::HasFailure(); done += kBatch) {
    Batch batch;
    for (int i = 0; i < kBatch; ++i) {
      PrimitiveType type = random.elementType();
      auto dims = random.dimensions();
      batch.add(Shape::array(type, dims, random.layout(dims, type)),
                Shape::array(type, dims, random.layout(dims, type)));
    }
    batch.run(random);
  }
}

//===----------------------------------------------------------------------===//
// Shapes of real modules
//===----------------------------------------------------------------------===//

/// The array shapes with layouts that the TPU compiler chose, below 16 MiB.
static std::vector<Shape> readTpuShapes() {
  auto file = llvm::MemoryBuffer::getFile(TESSERA_TPU_SHAPES);
  EXPECT_TRUE(bool(file)) << TESSERA_TPU_SHAPES;
  std::vector<Shape> shapes;
  for (llvm::StringRef line : llvm::split((*file)->getBuffer(), '\n')) {
    if (line.trim().empty())
      continue;
    Shape shape = parse(line.trim());
    if (!shape.isArray() || !isArrayElement(shape.elementType()))
      continue;
    llvm::Expected<ShapeSize> size = getSize(shape);
    if (!size)
      llvm::consumeError(size.takeError());
    else if (size->bytes < (int64_t(16) << 20))
      shapes.push_back(shape);
  }
  return shapes;
}

/// Row-major to `shape` and back, every element looked up at its position.
static void checkRoundTrip(const Shape &shape, CompiledModule::Relayout *there,
                           CompiledModule::Relayout *back) {
  SCOPED_TRACE(shape.toString());
  Shape rows = Shape::array(shape.elementType(), shape.dimensions());
  Side from(rows), to(shape);
  GuardedBuffer input(from.bytes), output(to.bytes), returned(from.bytes, 0xFF);
  // Bytes that tell positions apart; small enough for every narrow type.
  for (size_t i = 0; i < input.size(); ++i)
    input.data()[i] = static_cast<uint8_t>((i * 2654435761u) >> 13) &
                      (from.bits < 8 || getBitWidth(from.type) < 8 ? 1 : 255);
  there(input.data(), output.data());
  back(output.data(), returned.data());
  ASSERT_TRUE(input.isIntact() && output.isIntact() && returned.isIntact());
  ASSERT_TRUE(
      std::equal(input.data(), input.data() + input.size(), returned.data()))
      << "the way back differs";
  if (to.bits % 8 != 0)
    return;
  int64_t bytes = to.bits / 8, position = 0;
  forEachIndex(shape.dimensions(), [&](llvm::ArrayRef<int64_t> index) {
    const uint8_t *at = output.data() + to.axes.linearIndex(index) * bytes;
    ASSERT_TRUE(std::equal(at, at + bytes, input.data() + position * bytes));
    ++position;
  });
}

// Every shape of the corpus; without TESSERA_FULL=1 one in ten.
TEST(Relayout, TpuShapes) {
  std::vector<Shape> shapes = readTpuShapes();
  ASSERT_GT(shapes.size(), 100u);
  size_t step = isFullTest() ? 1 : 10;
  constexpr size_t kBatch = 20;
  for (size_t begin = 0; begin < shapes.size(); begin += kBatch * step) {
    Batch batch;
    std::vector<Shape> chosen;
    for (size_t i = begin; i < shapes.size() && chosen.size() < kBatch;
         i += step) {
      Shape rows =
          Shape::array(shapes[i].elementType(), shapes[i].dimensions());
      batch.add(rows, shapes[i]);
      batch.add(shapes[i], rows);
      chosen.push_back(shapes[i]);
    }
    batch.runEach([&](size_t i, CompiledModule::Relayout *there,
                      CompiledModule::Relayout *back) {
      checkRoundTrip(chosen[i], there, back);
    });
    if (testing::Test::HasFailure())
      return;
  }
}
