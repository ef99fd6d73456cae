//===- ThreadsTest.cpp - Relayouts of several threads, executed -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind of kernel shared among 2, 3 and 7 threads, however small, between
// guard pages, against the axis lists and against one thread.
//
//===----------------------------------------------------------------------===//

#include "GuardedRelayouts.h"
#include "TestCounts.h"

#include "mlir/IR/MLIRContext.h"

#include <set>

using namespace tessera;

namespace {
/// Functions for several numbers of threads, compiled together: the same work
/// under a name for each.
class ThreadedBatch {
public:
  static constexpr int64_t kThreads[] = {1, 2, 3, 7};

  ThreadedBatch(int64_t vectorBytes, int64_t nontemporalBytes,
                llvm::StringRef costsOf, bool vectorize = true)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registerCompileDialects(registry);
    context.appendDialectRegistry(registry);
    options.optLevel = 1;
    options.vectorBytes = vectorBytes;
    options.nontemporalBytes = nontemporalBytes;
    options.tuning.costsOf = costsOf.str();
    options.parallelBytes = 1;
    options.vectorize = vectorize;
  }

  void addAny(const std::pair<Shape, Shape> &pair) { pairs.push_back(pair); }

  /// The module of all functions for so many threads.
  std::string print(int64_t threads) {
    mlir::OwningOpRef<mlir::ModuleOp> module = build(threads);
    llvm::cantFail(lowerToLLVMDialect(*module, options));
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }

  /// The pair, if it has a plan that is shared.
  void add(const std::pair<Shape, Shape> &pair,
           std::set<std::string> &kernels) {
    options.threads = 7;
    auto plan = getRelayoutPlan(pair.first, pair.second, options);
    if (!plan)
      return llvm::consumeError(plan.takeError());
    bool isShared = false;
    for (const NestSchedule &nest : plan->nests)
      if (!nest.loops.empty() && nest.loops.front().isParallel) {
        isShared = true;
        kernels.insert(nest.getKernelName().str() + " " +
                       std::to_string(static_cast<int>(nest.stores())));
      }
    if (isShared)
      pairs.push_back(pair);
  }

  void run(std::mt19937_64 &engine) {
    std::vector<CompiledModule> modules;
    for (int64_t threads : kThreads)
      modules.push_back(compile(threads));
    for (size_t i = 0; i < pairs.size(); ++i) {
      auto &[source, destination] = pairs[i];
      SCOPED_TRACE(source.toString() + " to " + destination.toString() +
                   ", TESSERA_SEED=" + std::to_string(testSeed()));
      std::vector<CompiledModule::Relayout *> functions;
      for (CompiledModule &module : modules)
        functions.push_back(
            llvm::cantFail(module.lookup("f" + std::to_string(i))));
      for (CompiledModule::Relayout *function : functions)
        checkRun(function, source, destination, engine);
      checkSame(functions, source, destination, engine);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }

private:
  CompiledModule compile(int64_t threads) {
    mlir::OwningOpRef<mlir::ModuleOp> module = build(threads);
    return llvm::cantFail(CompiledModule::compile(std::move(module), options));
  }

  mlir::OwningOpRef<mlir::ModuleOp> build(int64_t threads) {
    options.threads = threads;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    for (auto [i, pair] : llvm::enumerate(pairs)) {
      options.symbol = "f" + std::to_string(i);
      llvm::cantFail(
          addRelayoutFunction(*module, pair.first, pair.second, options));
    }
    return module;
  }

  /// All functions leave the same bytes, those of padding too.
  static void checkSame(llvm::ArrayRef<CompiledModule::Relayout *> functions,
                        const Shape &source, const Shape &destination,
                        std::mt19937_64 &engine) {
    GuardedPages input(llvm::cantFail(getSize(source)).bytes, Placement::Start);
    for (uint8_t &byte : input.bytes())
      byte = static_cast<uint8_t>(engine());
    std::vector<uint8_t> first;
    for (CompiledModule::Relayout *function : functions) {
      GuardedPages output(llvm::cantFail(getSize(destination)).bytes,
                          Placement::Start);
      function(input.data(), output.data());
      if (first.empty())
        first.assign(output.bytes().begin(), output.bytes().end());
      ASSERT_TRUE(output.bytes() == llvm::ArrayRef<uint8_t>(first));
    }
  }

  mlir::MLIRContext context;
  CompileOptions options;
  std::vector<std::pair<Shape, Shape>> pairs;
};
} // namespace

TEST(Threads, AllKernelsAgreeWithOneThread) {
  ShapePairs random(testSeed());
  std::mt19937_64 engine(testSeed());
  std::set<std::string> kernels;
  constexpr int kBatch = 6;
  for (int done = 0, count = testCount(180); done < count; done += kBatch) {
    int number = done / kBatch;
    ThreadedBatch batch(/*vectorBytes=*/16 << number % 3,
                        number % 2 == 1 ? int64_t(1) << 40 : 256,
                        getCostsOf(number));
    for (const auto &pair : getKernelPairs())
      batch.add(pair, kernels);
    if (number == 2 || number == 5)
      for (const auto &pair : getRaggedPairs())
        batch.add(pair, kernels);
    // Runs long enough to be split, and what is left of them.
    Shape run = llvm::cantFail(parseShape("u8[471,1001]{1,0}"));
    if (number == 0)
      batch.add({run, run}, kernels);
    for (int i = 0; i < kBatch; ++i)
      batch.add(random.next(), kernels);
    batch.run(engine);
    if (HasFatalFailure())
      return;
  }
  if (isShortTest())
    return; // Few pairs need not reach all kernels.
  for (const char *kernel :
       {"copy 0", "copy 1", "copy 2", "copy 3", "transpose 0", "transpose 1",
        "transpose 2", "transpose 3", "interleave 0", "deinterleave 0",
        "fill 0"})
    EXPECT_EQ(kernels.count(kernel), 1u) << kernel << " was never shared";
}

// Loops over elements are shared too: what has no plan, and all of a relayout
// that is not to be vectorized; padding as well, but no packed elements.
TEST(Threads, LoopsOverElementsAgreeWithOneThread) {
  std::mt19937_64 engine(testSeed());
  for (bool vectorize : {true, false}) {
    ThreadedBatch batch(/*vectorBytes=*/32, /*nontemporalBytes=*/256,
                        /*costsOf=*/"", vectorize);
    for (auto [source, destination] :
         {std::pair("f32[150,70]{1,0}", "f32[150,70]{1,0:T(8,4)(3,1)PV(one)}"),
          std::pair("s8[150,70]{0,1:T(8,4)(3,1)}", "s8[150,70]{1,0:T(8,128)}"),
          std::pair("f64[2,999]{0,1:T(4,2)(3,1)}", "f64[2,999]{1,0}"),
          std::pair("u8[1,1,777]{2,1,0:T(8,4)(3,1)}", "u8[1,1,777]{2,1,0}")})
      batch.addAny({llvm::cantFail(parseShape(source)),
                    llvm::cantFail(parseShape(destination))});
    EXPECT_NE(batch.print(/*threads=*/2).find("omp.parallel"),
              std::string::npos);
    batch.run(engine);
    if (HasFatalFailure())
      return;
  }
}

// The threshold: what is small stays with one thread and needs no runtime.
TEST(Threads, SmallArraysAreSerial) {
  CompileOptions options;
  options.threads = 4;
  options.openMPLibrary = "/nowhere/libomp.so.5";
  Shape small = llvm::cantFail(parseShape("f32[64,64]{1,0}"));
  Shape turned = llvm::cantFail(parseShape("f32[64,64]{0,1}"));
  auto plan = llvm::cantFail(getRelayoutPlan(small, turned, options));
  for (const NestSchedule &nest : plan.nests)
    for (const PlanLoop &loop : nest.loops)
      EXPECT_FALSE(loop.isParallel);
  EXPECT_TRUE(bool(compileRelayout(small, turned, EmitKind::Shared, options)));

  Shape large = llvm::cantFail(parseShape("f32[4096,4096]{1,0}"));
  Shape other = llvm::cantFail(parseShape("f32[4096,4096]{0,1}"));
  auto result = compileRelayout(large, other, EmitKind::Shared, options);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "unsupported threads: expected LLVM's OpenMP runtime, a file "
            "libomp.so.5, found no file `/nowhere/libomp.so.5`; install "
            "libomp-22-dev or name the file");
}
