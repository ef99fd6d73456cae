//===- VectorRelayoutTest.cpp - Vector kernels, executed ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind of kernel, with registers of every width and nontemporal stores
// on.
//
//===----------------------------------------------------------------------===//

#include "GuardedRelayouts.h"
#include "TestCounts.h"

#include "mlir/IR/MLIRContext.h"

#include <set>

using namespace tessera;

static bool gathersRows(const NestSchedule &nest) {
  const auto *transpose = nest.get<TransposeKernel>();
  return transpose && transpose->rows == TransposeKernel::Rows::Gathered;
}

/// Half of the time another kind than what costs least.
static void overruleKinds(RelayoutTuning &tuning, std::mt19937_64 &engine) {
  const char *kinds[] = {"cached",         "direct",       "dense",
                         "panels",         "carried",      "ragged-panels",
                         "staged",         "interleave",   "deinterleave",
                         "copy",           "line-copy",    "masked-copy",
                         "coalesced-copy", "buffered-copy"};
  tuning.kind.reset();
  tuning.gathers.reset();
  if (engine() % 2)
    return;
  tuning.kind = kinds[engine() % std::size(kinds)];
  tuning.gathers = engine() % 2 == 0;
}

TEST(VectorRelayout, RandomPairsBetweenGuardPages) {
  ShapePairs pairs(testSeed());
  std::mt19937_64 engine(testSeed());
  std::set<std::string> kernels;
  mlir::DialectRegistry registry;
  registerCompileDialects(registry);
  constexpr int kRandom = 20;
  for (int done = 0, count = testCount(2000); done < count; done += kRandom) {
    CompileOptions options;
    options.optLevel = 1;
    int number = done / kRandom;
    options.vectorBytes = 16 << number % 3;
    options.nontemporalBytes = number % 4 == 1 ? int64_t(1) << 40 : 256;
    options.tuning.costsOf = getCostsOf(number);
    if (number % 5 == 4)
      options.machine = drawMachine(engine);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    std::vector<std::pair<Shape, Shape>> kernelPairs = getKernelPairs();
    // Registers of a line carry ragged pairs.
    if (options.vectorBytes == 64)
      llvm::append_range(kernelPairs, getRaggedPairs());
    std::vector<std::pair<Shape, Shape>> batch;
    while (batch.size() < kernelPairs.size() + kRandom) {
      auto [source, destination] = batch.size() < kernelPairs.size()
                                       ? kernelPairs[batch.size()]
                                       : pairs.next();
      overruleKinds(options.tuning, engine);
      bool isRagged = batch.size() >= getKernelPairs().size() &&
                      batch.size() < kernelPairs.size();
      if (isRagged && number % 4 != 0)
        options.tuning.kind = "carried";
      auto plan = getRelayoutPlan(source, destination, options);
      if (!plan) {
        std::string error = llvm::toString(plan.takeError());
        ASSERT_GE(batch.size(), kernelPairs.size()) << error;
        continue;
      }
      for (const NestSchedule &nest : plan->nests)
        kernels.insert(nest.getKernelName().str() + " " +
                       std::to_string(static_cast<int>(nest.stores())) +
                       (gathersRows(nest) ? " gathered" : "") +
                       (nest.packsPanels() ? " panels" : "") +
                       (nest.shiftsRows ? " shifted" : "") +
                       (nest.within.empty() ? "" : " shuffled"));
      options.symbol = "f" + std::to_string(batch.size());
      batch.push_back({source, destination});
      llvm::cantFail(
          addRelayoutFunction(*module, source, destination, options));
    }
    auto compiled = CompiledModule::compile(std::move(module), options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (auto [i, pair] : llvm::enumerate(batch)) {
      SCOPED_TRACE(pair.first.toString() + " to " + pair.second.toString() +
                   ", registers of " + std::to_string(options.vectorBytes) +
                   " bytes, TESSERA_SEED=" + std::to_string(testSeed()));
      auto function = llvm::cantFail(compiled->lookup("f" + std::to_string(i)));
      checkRun(function, pair.first, pair.second, engine);
      if (HasFatalFailure())
        return;
    }
  }
  // Plain (0), nontemporal (1), staged (2) and carried (3) stores, wherever
  // there are such.
  if (isShortTest())
    return; // Few pairs need not reach all kernels.
  for (const char *kernel : {"copy 0",
                             "copy 1",
                             "copy 2",
                             "copy 3",
                             "transpose 0",
                             "transpose 1",
                             "transpose 1 gathered",
                             "transpose 1 panels",
                             "transpose 2",
                             "transpose 0 gathered",
                             "transpose 0 shuffled",
                             "transpose 1 shuffled",
                             "transpose 2 panels",
                             "transpose 3",
                             "transpose 3 shifted",
                             "interleave 0",
                             "interleave 1",
                             "interleave 2",
                             "deinterleave 0",
                             "deinterleave 1",
                             "gather 0",
                             "fill 0"})
    EXPECT_EQ(kernels.count(kernel), 1u) << kernel << " was never reached";
}

/// The array of `shape` with another layout.
static Shape parseSame(llvm::StringRef shape, llvm::StringRef layout) {
  return llvm::cantFail(parseShape((shape.split('{').first + layout).str()));
}

/// Compiles a relayout, and checks every byte that it writes.
static void checkRelayout(const Shape &from, const Shape &to,
                          const CompileOptions &options,
                          std::mt19937_64 &engine) {
  auto function = getRelayoutFunction(from, to, options);
  ASSERT_TRUE(bool(function)) << llvm::toString(function.takeError());
  checkRun(function->getAddress(), from, to, engine);
}

// Buffers of panels too long for the stack: of one loop, within others, in
// parts of columns, and shared among threads.
TEST(VectorRelayout, PanelsInLongBuffers) {
  std::mt19937_64 engine(testSeed());
  const char *kRagged = "ragged-panels";
  for (auto [source, destination, threads, kind] :
       {std::tuple("s8[1344,1024]{1,0}", "s8[1344,1024]{0,1}", 1, "panels"),
        std::tuple("s8[2,576,1024]{2,1,0}", "s8[2,576,1024]{1,2,0}", 1,
                   "panels"),
        std::tuple("s8[2,1088,1024]{2,1,0}", "s8[2,1088,1024]{1,2,0}", 3,
                   "panels"),
        std::tuple("bf16[640,768]{1,0}", "bf16[640,768]{0,1}", 2, "panels"),
        std::tuple("s8[256,33100]{1,0}", "s8[256,33100]{0,1}", 1, "panels"),
        std::tuple("s8[2601,601]{1,0}", "s8[2601,601]{0,1}", 2, kRagged),
        std::tuple("s8[1281,33003]{1,0}", "s8[1281,33003]{0,1}", 1, kRagged)}) {
    SCOPED_TRACE(source);
    CompileOptions options;
    options.vectorBytes = 64;
    options.nontemporalBytes = 256;
    options.parallelBytes = 1;
    options.threads = threads;
    options.tuning.costsOf = "znver5";
    options.tuning.kind = kind;
    Shape from = llvm::cantFail(parseShape(source));
    Shape to = llvm::cantFail(parseShape(destination));
    auto plan = llvm::cantFail(getRelayoutPlan(from, to, options));
    EXPECT_TRUE(plan.nests.front().packsPanels());
    checkRelayout(from, to, options, engine);
    if (HasFatalFailure())
      return;
  }
}

// Columns whose last register has rows that are written already: as long as a
// line and shorter, of each width.
TEST(VectorRelayout, EndsOfColumnsPastTheCaches) {
  std::mt19937_64 engine(testSeed());
  for (auto [source, destination] :
       {std::pair("s8[3,556,5]{2,1,0}", "{1,2,0:PD(3,576,5)}"),
        std::pair("bf16[3,286,6]{2,1,0}", "{1,2,0:PD(3,320,6)}"),
        std::pair("f32[3,142,6]{2,1,0}", "{1,2,0:PD(3,160,6)}"),
        std::pair("f32[2,126,18]{2,1,0}", "{1,2,0:T(1,128)}"),
        std::pair("f64[3,71,3]{2,1,0}", "{1,2,0:PD(3,80,3)}")})
    for (int64_t vectorBytes : {16, 32, 64}) {
      SCOPED_TRACE(source);
      CompileOptions options;
      options.vectorBytes = vectorBytes;
      options.nontemporalBytes = 256;
      options.tuning.costsOf = "znver5";
      options.tuning.kind = "deinterleave";
      Shape from = llvm::cantFail(parseShape(source));
      Shape to = parseSame(source, destination);
      auto plan = llvm::cantFail(getRelayoutPlan(from, to, options));
      EXPECT_TRUE(plan.nests.front().get<DeinterleaveKernel>());
      // Short registers write few columns so.
      int64_t columns = from.dimensions().back();
      EXPECT_EQ(plan.nests.front().stores() == StoreKind::Nontemporal,
                vectorBytes == 64 || columns <= 6);
      checkRelayout(from, to, options, engine);
      if (HasFatalFailure())
        return;
    }
}

// Words that exchange their parts: of two, four, eight and sixteen, with rows
// of any length, through the caches and past them.
TEST(VectorRelayout, Words) {
  std::mt19937_64 engine(testSeed());
  for (auto [source, destination] :
       {std::pair("bf16[7,20,300]{2,1,0:T(8,128)(2,1)}",
                  "{2,0,1:T(8,128)(2,1)}"),
        std::pair("bf16[6,18,24]{2,1,0:T(2,1)}", "{2,0,1:T(2,1)}"),
        std::pair("s8[9,24,130]{2,1,0:T(8,128)(4,1)}", "{2,0,1:T(8,128)(4,1)}"),
        std::pair("s8[8,16,100]{2,1,0:T(4,1)}", "{2,0,1:T(4,1)}"),
        std::pair("f32[4,6,37]{2,1,0:T(2,1)}", "{2,0,1:T(2,1)}"),
        std::pair("f64[4,6,31]{2,1,0:T(2,1)}", "{2,0,1:T(2,1)}"),
        std::pair("c128[4,6,9]{2,1,0:T(2,1)}", "{2,0,1:T(2,1)}"),
        std::pair("u8[16,24,64]{2,1,0:T(8,1)}", "{2,0,1:T(8,1)}"),
        std::pair("u8[32,16,80]{2,1,0:T(16,1)}", "{2,0,1:T(16,1)}")})
    for (int64_t vectorBytes : {16, 32, 64})
      for (int64_t nontemporalBytes : {int64_t(256), int64_t(1) << 40}) {
        SCOPED_TRACE(source);
        CompileOptions options;
        options.vectorBytes = vectorBytes;
        options.nontemporalBytes = nontemporalBytes;
        Shape from = llvm::cantFail(parseShape(source));
        Shape to = parseSame(source, destination);
        checkRelayout(from, to, options, engine);
        if (HasFatalFailure())
          return;
      }
}

/// The bytes that `function` leaves in a destination of `size`.
static std::vector<uint8_t> runOn(llvm::ArrayRef<uint8_t> input, size_t size,
                                  const RelayoutFunction &function,
                                  Placement placement) {
  GuardedPages output(size, placement);
  llvm::fill(output.bytes(), 0x5A);
  function(input.data(), output.data());
  return output.bytes().vec();
}

// Blocks of their full sizes, in buffers as long as those of large arrays.
TEST(VectorRelayout, LargePairsAgreeWithLoops) {
  ShapePairs pairs(testSeed());
  std::mt19937_64 engine(testSeed());
  for (int i = 0, count = testCount(300); i < count; ++i) {
    auto [source, destination] = pairs.nextLarge();
    CompileOptions options;
    options.vectorBytes = i % 4 ? 64 : 32;
    options.nontemporalBytes = i % 5 ? 1 << 18 : int64_t(1) << 40;
    options.tuning.costsOf = getCostsOf(i);
    options.threads = 1 + (i % 7 == 0);
    SCOPED_TRACE(source.toString() + " to " + destination.toString() +
                 ", number " + std::to_string(i) +
                 ", TESSERA_SEED=" + std::to_string(testSeed()));
    size_t size = llvm::cantFail(getSize(destination)).bytes;
    // Tiles may pad few elements to very many.
    if (size > 16 << 20)
      continue;
    std::vector<uint8_t> input(llvm::cantFail(getSize(source)).bytes);
    for (uint8_t &byte : input)
      byte = static_cast<uint8_t>(engine());
    auto function =
        llvm::cantFail(getRelayoutFunction(source, destination, options));
    options.vectorize = false;
    auto loops =
        llvm::cantFail(getRelayoutFunction(source, destination, options));
    std::vector<uint8_t> expected = runOn(input, size, loops, Placement::Start);
    for (Placement placement : kPlacements)
      ASSERT_TRUE(runOn(input, size, function, placement) == expected)
          << "placement " << static_cast<int>(placement);
  }
}
