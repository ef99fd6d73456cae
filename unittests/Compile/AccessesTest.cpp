//===- AccessesTest.cpp - Executes programs on laid-out memrefs -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs over loop nests read one array and change another. Each is
// run twice: on memrefs with random layouts, lowered by
// --tessera-lower-layouts, and on row-major ones. The results must agree
// element by element; all else in the buffers must stay as it was.
//
//===----------------------------------------------------------------------===//

#include "../RandomLayouts.h"
#include "../TestCounts.h"

#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {
/// An array in memory, with guard bytes behind it.
class Buffer {
public:
  Buffer(const Shape &shape, RandomLayouts &random)
      : axes(llvm::cantFail(AxisList::get(shape))),
        bits(getBitWidth(shape.elementType())),
        storageBits(
            getStorageBits(shape.elementType(), shape.layoutOrDefault())),
        bytes(llvm::divideCeil(axes.numAllocated() * storageBits, 8) + kGuard) {
    for (uint8_t &byte : bytes)
      byte = random.number(0, 255);
  }

  /// The bits of an element; those above its width do not count.
  uint64_t get(ArrayRef<int64_t> index) const {
    int64_t first = axes.linearIndex(index) * storageBits;
    uint64_t value = 0;
    for (int64_t bit = 0; bit < bits; ++bit)
      value |= uint64_t(bytes[(first + bit) / 8] >> ((first + bit) % 8) & 1)
               << bit;
    return value;
  }

  /// Sets the element and, in its bytes, what is above its width to 0.
  void set(ArrayRef<int64_t> index, uint64_t value) {
    int64_t first = axes.linearIndex(index) * storageBits;
    for (int64_t bit = 0; bit < storageBits; ++bit) {
      uint8_t mask = uint8_t(1) << ((first + bit) % 8);
      uint8_t &byte = bytes[(first + bit) / 8];
      byte = bit < bits && (value >> bit & 1) ? byte | mask : byte & ~mask;
    }
  }

  uint8_t *data() { return bytes.data(); }
  bool operator==(const Buffer &other) const { return bytes == other.bytes; }

private:
  static constexpr int64_t kGuard = 64;
  AxisList axes;
  int64_t bits, storageBits;
  std::vector<uint8_t> bytes;
};

/// One program in two forms, and the shapes of its two arrays.
struct Program {
  Shape source, target;           ///< With layouts.
  Shape plainSource, plainTarget; ///< Row-major.
  std::string laidOut, plain;     ///< Functions.
};

/// Calls `visit` with every index of the dimensions.
void forEachIndex(ArrayRef<int64_t> dims,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(dims, 0))
    return;
  SmallVector<int64_t> index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

class ProgramMaker {
public:
  ProgramMaker(RandomLayouts &random, MLIRContext *context)
      : random(random), context(context) {}

  Program make(int number);

private:
  struct Loop {
    int64_t lower, upper, step;
  };
  /// A subscript: its text and the least size of the dimension.
  struct Subscript {
    std::string text;
    int64_t size;
  };

  Subscript makeSubscript();
  std::string makeSubscripts(SmallVectorImpl<int64_t> &dims);
  std::string makeBody(llvm::StringRef source, llvm::StringRef target);
  std::string getType(const Shape &shape);
  Shape makeShape(ArrayRef<int64_t> dims);

  RandomLayouts &random;
  MLIRContext *context;
  SmallVector<Loop> loops;
  PrimitiveType type;
  std::string sourceSubscripts, targetSubscripts;
  bool accumulates = false;
};
} // namespace

/// `c * i`, `c * i + d * j`, `i floordiv k` or `i mod k`, moved to start at 0
/// or a bit above; reversed where c is negative.
ProgramMaker::Subscript ProgramMaker::makeSubscript() {
  if (random.oneIn(8) || loops.empty()) {
    int64_t constant = random.number(0, 9);
    return {std::to_string(constant), constant + 1};
  }
  static constexpr int64_t kFactors[] = {1, 1, 1, 1, -1, -1, 2, 3};
  int64_t low = 0, high = 0;
  std::string text;
  for (int64_t terms = random.oneIn(3) ? 2 : 1; terms > 0; --terms) {
    int64_t i = random.number(0, loops.size() - 1);
    int64_t factor = kFactors[random.number(0, 7)];
    int64_t first = loops[i].lower;
    int64_t last =
        first + (loops[i].upper - 1 - first) / loops[i].step * loops[i].step;
    std::string value = "%i" + std::to_string(i);
    if (random.oneIn(10)) {
      int64_t divisor = random.number(2, 5);
      value = llvm::formatv("({0} floordiv {1})", value, divisor);
      first /= divisor;
      last /= divisor;
    } else if (random.oneIn(10)) {
      int64_t divisor = random.number(2, 5);
      value = llvm::formatv("({0} mod {1})", value, divisor);
      first = 0;
      last = divisor - 1;
    }
    low += std::min(factor * first, factor * last);
    high += std::max(factor * first, factor * last);
    text +=
        llvm::formatv("{0}{1} * {2}", text.empty() ? "" : " + ", value, factor);
  }
  int64_t offset = -low + (random.oneIn(2) ? 0 : random.number(0, 9));
  return {llvm::formatv("{0} + {1}", text, offset), high + offset + 1};
}

std::string ProgramMaker::makeSubscripts(SmallVectorImpl<int64_t> &dims) {
  std::string text;
  int64_t positions = 2000;
  for (int64_t rank = random.number(0, 4); rank > 0; --rank) {
    Subscript subscript = makeSubscript();
    if (subscript.size > positions)
      subscript = {"0", 1};
    text += (text.empty() ? "" : ", ") + subscript.text;
    int64_t more = random.oneIn(2) ? 0 : random.number(0, 3);
    dims.push_back(std::min(subscript.size + more, positions));
    positions /= dims.back();
  }
  return text;
}

std::string ProgramMaker::getType(const Shape &shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  RankedTensorType tensor = getTensorType(context, shape);
  os << llvm::cantFail(getMemRefType(tensor));
  return text;
}

std::string ProgramMaker::makeBody(llvm::StringRef source,
                                   llvm::StringRef target) {
  std::string element = "i" + std::to_string(getBitWidth(type));
  std::string text;
  for (auto [i, loop] : llvm::enumerate(loops))
    text += llvm::formatv("affine.for %i{0} = {1} to {2} step {3} {{\n", i,
                          loop.lower, loop.upper, loop.step);
  text += llvm::formatv("%v = affine.load %a[{0}] : {1}\n", sourceSubscripts,
                        source);
  if (accumulates)
    text += llvm::formatv("%w = affine.load %b[{0}] : {1}\n"
                          "%s = arith.addi %v, %w : {2}\n",
                          targetSubscripts, target, element);
  text += llvm::formatv("affine.store %{0}, %b[{1}] : {2}\n",
                        accumulates ? "s" : "v", targetSubscripts, target);
  return text + std::string(loops.size(), '}');
}

Shape ProgramMaker::makeShape(ArrayRef<int64_t> dims) {
  Layout layout = random.layout(dims, type);
  layout.paddingValue.reset();
  return Shape::array(type, dims, layout);
}

Program ProgramMaker::make(int number) {
  loops.clear();
  for (int64_t depth = random.number(0, 3); depth > 0; --depth) {
    int64_t lower = random.oneIn(3) ? random.number(0, 5) : 0;
    int64_t step = random.oneIn(4) ? random.number(2, 3) : 1;
    loops.push_back({lower, lower + random.number(1, 20), step});
  }
  static constexpr PrimitiveType kTypes[] = {
      PrimitiveType::S4, PrimitiveType::S8, PrimitiveType::S32,
      PrimitiveType::S64};
  type = kTypes[random.number(0, 3)];
  accumulates = random.oneIn(2);
  SmallVector<int64_t> sourceDims, targetDims;
  sourceSubscripts = makeSubscripts(sourceDims);
  targetSubscripts = makeSubscripts(targetDims);

  Program program;
  program.source = makeShape(sourceDims);
  program.target = makeShape(targetDims);
  program.plainSource = Shape::array(type, sourceDims);
  program.plainTarget = Shape::array(type, targetDims);
  auto makeFunction = [&](llvm::StringRef name, const Shape &source,
                          const Shape &target) {
    std::string from = getType(source), to = getType(target);
    return llvm::formatv("func.func @{0}{1}(%a: {2}, %b: {3}) {{\n{4}\n"
                         "return\n}\n",
                         name, number, from, to, makeBody(from, to))
        .str();
  };
  program.laidOut = makeFunction("laid", program.source, program.target);
  program.plain =
      makeFunction("plain", program.plainSource, program.plainTarget);
  return program;
}

/// Gives both buffers of a pair the same elements.
static void equalize(ArrayRef<int64_t> dims, Buffer &laidOut, Buffer &plain) {
  forEachIndex(dims, [&](ArrayRef<int64_t> index) {
    uint64_t value = laidOut.get(index);
    laidOut.set(index, value);
    plain.set(index, value);
  });
}

static void runAndCompare(const Program &program, CompiledModule &code,
                          int number, RandomLayouts &random) {
  Buffer source(program.source, random), target(program.target, random);
  Buffer plainSource(program.plainSource, random);
  Buffer plainTarget(program.plainTarget, random);
  equalize(program.source.dimensions(), source, plainSource);
  equalize(program.target.dimensions(), target, plainTarget);
  Buffer sourceBefore = source, expected = target;

  auto call = [&](llvm::StringRef name, Buffer &from, Buffer &to) {
    std::string symbol = (name + llvm::Twine(number)).str();
    auto function = code.lookup(symbol);
    ASSERT_TRUE(bool(function)) << llvm::toString(function.takeError());
    (*function)(from.data(), to.data());
  };
  call("plain", plainSource, plainTarget);
  call("laid", source, target);

  // What should be there: the old bytes, with the elements of the plain run.
  forEachIndex(program.target.dimensions(), [&](ArrayRef<int64_t> index) {
    expected.set(index, plainTarget.get(index));
  });
  EXPECT_TRUE(source == sourceBefore) << program.laidOut;
  EXPECT_TRUE(target == expected) << program.laidOut;
}

TEST(Accesses, RandomProgramsAgreeWithRowMajor) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  DialectRegistry registry;
  registerCompileDialects(registry);
  registry.insert<TesseraDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  RandomLayouts random(testSeed());

  int left = testCount(2000);
  while (left > 0) {
    // Many programs in a module: starting a compiler takes longer than they do.
    std::vector<Program> programs;
    std::string text;
    ProgramMaker maker(random, &context);
    for (int i = 0; i < std::min(left, 50); ++i) {
      programs.push_back(maker.make(i));
      text += programs.back().laidOut + programs.back().plain;
    }
    left -= programs.size();
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    PassManager manager(&context);
    manager.addPass(createLowerLayouts());
    ASSERT_TRUE(succeeded(manager.run(*module)));
    CompileOptions options;
    options.optLevel = 0;
    auto code = CompiledModule::compile(std::move(module), options);
    ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
    for (auto [i, program] : llvm::enumerate(programs))
      runAndCompare(program, *code, i, random);
    if (testing::Test::HasFailure())
      return;
  }
}
