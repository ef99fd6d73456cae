//===- VectorizePassTest.cpp - The pass on relayouts, executed ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relayouts of memrefs go through the chain of passes, vector kernels where
// there is a plan and affine loops for the rest, and are run between guard
// pages: every byte, padding with PV included, against the axis lists.
//
//===----------------------------------------------------------------------===//

#include "GuardedRelayouts.h"
#include "TestCounts.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tessera;

static MemRefType getType(MLIRContext *context, const Shape &shape) {
  return MemRefType::get(shape.dimensions(),
                         getElementType(context, shape.elementType()),
                         LayoutAttr::get(context, shape.layout()));
}

static void addFunction(ModuleOp module, llvm::StringRef name,
                        const std::pair<Shape, Shape> &pair) {
  MLIRContext *context = module.getContext();
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, module.getLoc(), name,
      builder.getFunctionType(
          {getType(context, pair.first), getType(context, pair.second)}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  RelayoutOp::create(builder, module.getLoc(), TypeRange{},
                     body->getArgument(0), body->getArgument(1));
  func::ReturnOp::create(builder, module.getLoc());
}

/// Runs the chain. Returns the number of relayouts that have no plan.
static int lower(ModuleOp module, int number) {
  PassManager manager(module->getName());
  VectorizeRelayoutsOptions options;
  options.vectorBytes = 16 << number % 3;
  options.nontemporalBytes = number % 2 ? 256 : 0;
  options.cpu = getCostsOf(number);
  manager.addPass(createVectorizeRelayouts(options));
  EXPECT_TRUE(succeeded(manager.run(module)));
  int left = 0;
  module.walk([&](RelayoutOp) { ++left; });
  PassManager rest(module->getName());
  rest.addPass(createLowerRelayouts());
  rest.addPass(createLowerLayouts());
  EXPECT_TRUE(succeeded(rest.run(module)));
  return left;
}

TEST(VectorizePass, RandomRelayoutsBetweenGuardPages) {
  ShapePairs random(testSeed());
  std::mt19937_64 engine(testSeed());
  DialectRegistry registry;
  registerCompileDialects(registry);
  registry.insert<TesseraDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  constexpr int kRandom = 20;
  int numLeft = 0, count = testCount(400);
  for (int done = 0; done < count; done += kRandom) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    std::vector<std::pair<Shape, Shape>> pairs = getKernelPairs();
    for (size_t all = pairs.size() + kRandom; pairs.size() < all;) {
      auto pair = random.next();
      // One-element complex numbers have no arithmetic in the affine loops.
      if (pair.first.elementType() != PrimitiveType::C128)
        pairs.push_back(std::move(pair));
    }
    for (auto [i, pair] : llvm::enumerate(pairs))
      addFunction(*module, "f" + std::to_string(i), pair);
    numLeft += lower(*module, done / kRandom);
    CompileOptions options;
    options.optLevel = 1;
    auto compiled = CompiledModule::compile(std::move(module), options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (auto [i, pair] : llvm::enumerate(pairs)) {
      SCOPED_TRACE(pair.first.toString() + " to " + pair.second.toString() +
                   ", TESSERA_SEED=" + std::to_string(testSeed()));
      checkRun(llvm::cantFail(compiled->lookup("f" + std::to_string(i))),
               pair.first, pair.second, engine);
      if (HasFatalFailure())
        return;
    }
  }
  // What has no plan is the exception, which takes some pairs to show.
  if (!isShortTest())
    EXPECT_LT(numLeft, count / 3);
}
