//===- ProgramsTest.cpp - Executes bufferized programs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs on tensors with random layouts, static and dynamic, with
// loops, conditionals and calls that carry them, go through --tessera-to-llvm
// and are run. What they write must be what the same statements give on lists
// of elements.
//
//===----------------------------------------------------------------------===//

#include "../TestCounts.h"
#include "RandomPrograms.h"

#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/Pipelines.h"
#include "tessera/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Compiler.h"
#include "gtest/gtest.h"

#include <optional>

#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/lsan_interface.h>
#endif

using namespace mlir;
using namespace tessera;

namespace {
/// While it lives, what is allocated and never freed is no leak.
class LeaksAllowed {
public:
#if LLVM_ADDRESS_SANITIZER_BUILD
  LeaksAllowed() { __lsan_disable(); }
  ~LeaksAllowed() { __lsan_enable(); }
#endif
};
} // namespace

/// The function of two memrefs of bytes, as the LLVM dialect passes them.
using Entry = void (*)(uint8_t *, uint8_t *, int64_t, int64_t, int64_t,
                       uint8_t *, uint8_t *, int64_t, int64_t, int64_t);

static uint64_t getMask(PrimitiveType type) {
  int64_t bits = getBitWidth(type);
  return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

/// Elements of an array in whole bytes, least significant first.
static Elements readArray(const std::vector<uint8_t> &bytes,
                          const RandomProgram::Array &array,
                          PrimitiveType type) {
  int64_t width = getByteWidth(type), count = 1;
  for (int64_t dim : array.dims)
    count *= dim;
  Elements elements(count, 0);
  for (int64_t i = 0; i < count * width; ++i)
    elements[i / width] |= uint64_t(bytes[array.offset + i]) << (i % width * 8);
  return elements;
}

static void writeArray(std::vector<uint8_t> &bytes,
                       const RandomProgram::Array &array, PrimitiveType type,
                       const Elements &elements) {
  int64_t width = getByteWidth(type);
  for (size_t i = 0; i < elements.size() * width; ++i)
    bytes[array.offset + i] = elements[i / width] >> (i % width * 8);
}

static void runAndCompare(const RandomProgram &program, Entry entry,
                          RandomLayouts &random) {
  std::vector<uint8_t> in(kProgramBytes), out(kProgramBytes);
  ProgramState state;
  for (const RandomProgram::Array &array : program.inputs) {
    int64_t count = 1;
    for (int64_t dim : array.dims)
      count *= dim;
    Elements elements;
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(random.number(0, INT64_MAX) & getMask(program.type));
    writeArray(in, array, program.type, elements);
    state.tensors[array.number] = std::move(elements);
  }
  for (uint8_t &byte : out)
    byte = random.number(0, 255);
  std::vector<uint8_t> inBefore = in, expected = out;
  for (const Step &step : program.steps)
    step(state);
  for (const RandomProgram::Array &array : program.outputs)
    writeArray(expected, array, program.type, state.tensors.at(array.number));

  entry(in.data(), in.data(), 0, kProgramBytes, 1, out.data(), out.data(), 0,
        kProgramBytes, 1);
  EXPECT_EQ(in, inBefore) << "the inputs were written\n" << program.text;
  for (const RandomProgram::Array &array : program.outputs)
    EXPECT_EQ(readArray(out, array, program.type),
              state.tensors.at(array.number))
        << "%v" << array.number << " of\n"
        << program.text;
  EXPECT_EQ(out, expected) << program.text;
}

/// Lowers and compiles the programs of one module, and runs each.
static void runBatch(const std::vector<RandomProgram> &programs,
                     MLIRContext &context, RandomLayouts &random) {
  std::string text;
  for (const RandomProgram &program : programs)
    text += program.text;
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  PassManager manager(&context);
  ToLLVMOptions pipeline;
  // With kernels and without, with buffers that are freed and without.
  pipeline.vectorize = random.oneIn(2);
  pipeline.deallocate = random.oneIn(2);
  buildToLLVMPipeline(manager, pipeline);
  ASSERT_TRUE(succeeded(manager.run(*module))) << text;
  CompileOptions options;
  options.optLevel = 0;
  auto code = CompiledModule::compile(std::move(module), options);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  // Without the pass that frees them, buffers stay.
  std::optional<LeaksAllowed> leaksAllowed;
  if (!pipeline.deallocate)
    leaksAllowed.emplace();
  for (auto [i, program] : llvm::enumerate(programs)) {
    auto function = code->lookup("run" + std::to_string(i));
    ASSERT_TRUE(bool(function)) << llvm::toString(function.takeError());
    runAndCompare(program,
                  reinterpret_cast<Entry>(reinterpret_cast<void *>(*function)),
                  random);
  }
}

TEST(Programs, RandomProgramsAgreeWithRowMajor) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  tessera::registerAllDialects(registry);
  tessera::registerAllExtensions(registry);
  registerCompileDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  RandomLayouts random(testSeed(), /*maxPlaces=*/600);

  int left = testCount(600);
  while (left > 0 && !testing::Test::HasFailure()) {
    std::vector<RandomProgram> programs;
    for (int i = 0; i < std::min(left, 10); ++i)
      programs.push_back(makeRandomProgram(random, &context, i));
    left -= programs.size();
    runBatch(programs, context, random);
  }
}
