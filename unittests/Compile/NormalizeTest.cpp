//===- NormalizeTest.cpp - Accesses, against upstream's normalization -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's normalize-memrefs lowers accesses to memrefs whose layout is an
// affine map. Where it is right (first tiles that divide the sizes, no longer
// than the rank; no PD, L, E), the same program must give the same bytes: once
// with the layout's map and its pass, once with the layout and ours.
//
//===----------------------------------------------------------------------===//

#include "../RandomLayouts.h"
#include "../TestCounts.h"

#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mlir;
using namespace tessera;

using llvm::SmallVector;

namespace {
struct Case {
  SmallVector<int64_t> dims;
  Layout layout;
};
} // namespace

/// Dimensions and a layout of up to two tiles; the first divides them.
static Case makeCase(RandomLayouts &random) {
  Case result;
  int64_t rank = random.number(1, 4);
  // What is left of each dimension for tiles to divide.
  SmallVector<int64_t> tiles[2];
  for (int64_t i = 0; i < rank; ++i) {
    int64_t inner = random.number(1, 3), outer = inner * random.number(1, 3);
    tiles[0].push_back(outer);
    tiles[1].push_back(inner);
    result.dims.push_back(outer * random.number(1, 3));
  }
  result.layout = Layout::descending(rank);
  for (int64_t i = rank - 1; i > 0; --i)
    std::swap(result.layout.minorToMajor[i],
              result.layout.minorToMajor[random.number(0, i)]);
  // Tiles list physical dimensions, most major first.
  for (int64_t n = 0, count = random.number(0, 2); n < count; ++n) {
    Tile tile;
    for (int64_t i = random.number(0, rank - 1); i < rank; ++i)
      tile.sizes.push_back(tiles[n][result.layout.minorToMajor[rank - 1 - i]]);
    result.layout.tiles.push_back(tile);
  }
  return result;
}

/// A program that scatters %a into the memref and gathers %b from it, with
/// subscripts that are reversed in every other dimension.
static std::string makeFunction(llvm::StringRef name, MemRefType type) {
  std::string body, closing, subscripts, position = "0";
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    body += llvm::formatv("affine.for %i{0} = 0 to {1} {{\n", d, size);
    closing += "}";
    subscripts += llvm::formatv(d % 2 ? ", {1} - %i{0}" : "{2}%i{0}", d,
                                size - 1, d ? ", " : "");
    position = llvm::formatv("({0}) * {1} + %i{2}", position, size, d);
  }
  int64_t count = type.getNumElements();
  std::string text;
  llvm::raw_string_ostream os(text);
  auto addNest = [&](bool scatters) {
    os << body;
    if (scatters)
      os << "%v = affine.load %a[" << position << "] : memref<" << count
         << "xi32>\naffine.store %v, %m[" << subscripts << "] : " << type;
    else
      os << "%v = affine.load %m[" << subscripts << "] : " << type
         << "\n%w = arith.addi %v, %v : i32\n"
         << "affine.store %w, %a[" << position << "] : memref<" << count
         << "xi32>";
    os << "\n" << closing << "\n";
  };
  os << "func.func @" << name << "(%a: memref<" << count
     << "xi32>, %m: " << type << ") {\n";
  addNest(/*scatters=*/true);
  addNest(/*scatters=*/false);
  os << "return\n}\n";
  return text;
}

static OwningOpRef<ModuleOp> lower(const std::string &text,
                                   MLIRContext &context,
                                   std::unique_ptr<Pass> pass) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  PassManager manager(&context);
  manager.addPass(std::move(pass));
  EXPECT_TRUE(module && succeeded(manager.run(*module))) << text;
  return module;
}

static llvm::Expected<CompiledModule> compile(OwningOpRef<ModuleOp> module) {
  CompileOptions options;
  options.optLevel = 0;
  return CompiledModule::compile(std::move(module), options);
}

/// Runs both forms of a case on the same numbers.
static void runAndCompare(const Case &tested, int number, CompiledModule &ours,
                          CompiledModule &theirs) {
  AxisList axes = llvm::cantFail(AxisList::get(tested.dims, tested.layout));
  std::vector<int32_t> numbers(axes.numPositions());
  std::iota(numbers.begin(), numbers.end(), 1);
  std::vector<int32_t> flat[] = {numbers, numbers};
  std::vector<int32_t> untouched(axes.numPositions(), -1);
  std::vector<int32_t> memory[] = {untouched, untouched};
  CompiledModule *modules[] = {&ours, &theirs};
  for (int i = 0; i < 2; ++i) {
    auto function = modules[i]->lookup("f" + std::to_string(number));
    ASSERT_TRUE(bool(function)) << llvm::toString(function.takeError());
    (*function)(flat[i].data(), memory[i].data());
  }
  EXPECT_EQ(memory[0], memory[1]) << tested.layout.toString();
  EXPECT_EQ(flat[0], flat[1]) << tested.layout.toString();
}

TEST(Accesses, AgreeWithNormalizedMemRefs) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  DialectRegistry registry;
  registerCompileDialects(registry);
  registry.insert<TesseraDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  RandomLayouts random(testSeed());
  int left = testCount(1000);
  while (left > 0 && !testing::Test::HasFailure()) {
    std::vector<Case> cases;
    std::string ours, theirs;
    for (int i = 0; i < std::min(left, 100); ++i) {
      Case made = makeCase(random);
      Type element = IntegerType::get(&context, 32);
      auto layout = LayoutAttr::get(&context, made.layout);
      auto map = AffineMapAttr::get(layout.getAffineMap());
      std::string name = "f" + std::to_string(i);
      ours += makeFunction(name, MemRefType::get(made.dims, element, layout));
      theirs += makeFunction(name, MemRefType::get(made.dims, element, map));
      cases.push_back(std::move(made));
    }
    left -= cases.size();
    auto first = compile(lower(ours, context, createLowerLayouts()));
    auto second =
        compile(lower(theirs, context, memref::createNormalizeMemRefsPass()));
    ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
    ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
    for (auto [i, tested] : llvm::enumerate(cases))
      runAndCompare(tested, i, *first, *second);
  }
}
