//===- ProgramRunner.cpp - Runs random programs ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramRunner.h"

#include "TestTesseraDialect.h"

#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/Pipelines.h"
#include "tessera/InitAll.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace tessera;

namespace {
/// What a pass may say no to, and why.
struct KnownRefusal {
  StringRef message;
  StringRef reason;
};
} // namespace

/// Everything else that is refused fails the test.
static constexpr KnownRefusal kKnownRefusals[] = {
    {"tessera-verify: invalid tail padding L",
     "the random tails suit no target, and no narrow elements"},
    {"tessera-verify: invalid memory space",
     "the random spaces are of no target"},
};

/// The function of two memrefs of bytes, as the LLVM dialect passes them.
using Entry = void (*)(uint8_t *, uint8_t *, int64_t, int64_t, int64_t,
                       uint8_t *, uint8_t *, int64_t, int64_t, int64_t);

/// What is put into each module: functions that count the buffers that were
/// allocated and not freed.
static constexpr char kCounting[] = R"(
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.mlir.global internal @live_buffers(0 : i64) : i64
llvm.func internal @add_live_buffers(%by: i64) {
  %live = llvm.mlir.addressof @live_buffers : !llvm.ptr
  %old = llvm.load %live : !llvm.ptr -> i64
  %new = llvm.add %old, %by : i64
  llvm.store %new, %live : i64, !llvm.ptr
  llvm.return
}
llvm.func internal @counted_malloc(%size: i64) -> !llvm.ptr {
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.call @add_live_buffers(%one) : (i64) -> ()
  %result = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  llvm.return %result : !llvm.ptr
}
llvm.func internal @counted_free(%pointer: !llvm.ptr) {
  %one = llvm.mlir.constant(-1 : i64) : i64
  llvm.call @add_live_buffers(%one) : (i64) -> ()
  llvm.call @free(%pointer) : (!llvm.ptr) -> ()
  llvm.return
}
llvm.func @count_live_buffers() -> i64 {
  %live = llvm.mlir.addressof @live_buffers : !llvm.ptr
  %count = llvm.load %live : !llvm.ptr -> i64
  llvm.return %count : i64
})";

/// Makes a module of the LLVM dialect count its buffers.
static void countBuffers(ModuleOp module) {
  MLIRContext *context = module.getContext();
  for (StringRef name : {"malloc", "free"}) {
    auto counted = StringAttr::get(context, "counted_" + name);
    (void)SymbolTable::replaceAllSymbolUses(StringAttr::get(context, name),
                                            counted, module);
    if (Operation *declared = module.lookupSymbol(name))
      declared->erase();
  }
  auto counting = parseSourceString<ModuleOp>(kCounting, context);
  module.getBody()->getOperations().splice(
      module.getBody()->end(), counting->getBody()->getOperations());
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// Between what a child did and its outcome.
static constexpr char kEndOfStages = '\f';

/// Says what the process does from now on.
void ProgramRunner::enter(StringRef stage) {
  std::string line = stage.str() + "\n";
  (void)!write(stageFile, line.data(), line.size());
}

static std::string readAll(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(file, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, size);
  return text;
}

/// Runs `task` in a process of its own: a crash is an outcome, and so is a
/// program that does not end.
Outcome ProgramRunner::runInChild(llvm::function_ref<Outcome()> task) {
  constexpr unsigned kSeconds = 120;
  int ends[2];
  if (pipe(ends) != 0)
    return {Verdict::Wrong, "no pipe"};
  pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    stageFile = ends[1];
    Outcome outcome = task();
    enter(kEndOfStages + outcome.message);
    _exit(static_cast<int>(outcome.verdict));
  }
  close(ends[1]);
  std::string text = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  size_t end = text.find(kEndOfStages);
  if (WIFEXITED(status) && end != std::string::npos)
    return {static_cast<Verdict>(WEXITSTATUS(status)), text.substr(end + 1)};
  StringRef last = StringRef(text).rtrim().rsplit('\n').second;
  return {Verdict::Wrong,
          "ended with status " + std::to_string(status) + " in " + last.str()};
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  tessera::registerAllDialects(registry);
  tessera::registerAllExtensions(registry);
  registerCompileDialects(registry);
  registry.insert<test::TestTesseraDialect>();
  return registry;
}

static void registerPassesOnce() {
  static bool done = [] {
    mlir::registerAllPasses();
    tessera::registerAllPasses();
    test::registerTestPasses();
    return true;
  }();
  (void)done;
}

ProgramRunner::ProgramRunner()
    : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  registerPassesOnce();
  context.loadAllAvailableDialects();
}

/// Every pass of a lowering, one by one, so that the IR behind each can be
/// verified apart from what the pass says itself.
std::vector<std::string>
ProgramRunner::getPasses(const ProgramLowering &lowering) {
  std::vector<std::string> passes = lowering.passes;
  // As tessera-run does, for operations of arith on tensors.
  passes.push_back("convert-elementwise-to-linalg");
  ToLLVMOptions options;
  options.vectorize = lowering.vectorize;
  options.deallocate = lowering.deallocate;
  OpPassManager manager(ModuleOp::getOperationName());
  buildToLLVMPipeline(manager, options);
  for (Pass &pass : manager.getPasses()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    pass.printAsTextualPipeline(os);
    if (pass.getArgument() != "tessera-bufferize") {
      passes.push_back(text);
      continue;
    }
    // The verifier behind it sees whether each buffer has its layout.
    llvm::append_values(passes, "test-tessera-probe-buffers", text,
                        "test-tessera-erase-probes");
  }
  return passes;
}

Outcome ProgramRunner::runPass(ModuleOp module, StringRef pipeline) {
  messages.clear();
  enter(pipeline);
  PassManager manager(module->getName());
  manager.enableVerifier(false);
  if (failed(parsePassPipeline(pipeline, manager)))
    return {Verdict::Wrong, "no pipeline: " + pipeline.str()};
  bool isRefused = failed(manager.run(module));
  std::string what = pipeline.str() + ": " + messages;
  if (isRefused)
    return {messages.empty() ? Verdict::Wrong : Verdict::Refused, what};
  if (failed(verify(module)))
    return {Verdict::Wrong,
            "invalid IR behind " + pipeline.str() + ": " + messages};
  return {};
}

/// The module as its text gives it.
OwningOpRef<ModuleOp> ProgramRunner::reparse(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  messages.clear();
  return parseSourceString<ModuleOp>(text, &context);
}

Outcome ProgramRunner::lower(OwningOpRef<ModuleOp> &module,
                             const ProgramLowering &lowering) {
  for (auto [i, pass] : llvm::enumerate(getPasses(lowering))) {
    Outcome outcome = runPass(*module, pass);
    if (outcome.verdict != Verdict::Right)
      return outcome;
    if (i >= lowering.passes.size())
      continue;
    // Some invalid IR is seen by the parser alone.
    module = reparse(*module);
    if (!module)
      return {Verdict::Wrong, "no IR behind " + pass + ": " + messages};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static uint64_t getMask(PrimitiveType type) {
  return ~uint64_t(0) >> (64 - getBitWidth(type));
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

static std::string toString(const Elements &elements) {
  std::string text;
  for (uint64_t element : elements)
    text += " " + std::to_string(element);
  return text;
}

/// Runs the entry on random inputs.
static Outcome runAndCompare(const RandomProgram &program, Entry entry) {
  RandomLayouts random(/*seed=*/1);
  std::vector<uint8_t> in(kProgramBytes), out(kProgramBytes);
  ProgramState state;
  for (const RandomProgram::Array &array : program.inputs) {
    int64_t count = 1;
    for (int64_t dim : array.dims)
      count *= dim;
    Elements elements;
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(random.next() & getMask(program.type));
    writeArray(in, array, program.type, elements);
    state.tensors[array.number] = std::move(elements);
  }
  for (uint8_t &byte : out)
    byte = random.number(0, 255);
  std::vector<uint8_t> inBefore = in, expected = out;
  runAll(program.steps, state);
  for (const RandomProgram::Array &array : program.outputs)
    writeArray(expected, array, program.type, state.tensors.at(array.number));

  entry(in.data(), in.data(), 0, kProgramBytes, 1, out.data(), out.data(), 0,
        kProgramBytes, 1);
  if (in != inBefore)
    return {Verdict::Wrong, "the inputs were written"};
  for (const RandomProgram::Array &array : program.outputs) {
    Elements found = readArray(out, array, program.type);
    const Elements &right = state.tensors.at(array.number);
    if (found != right)
      return {Verdict::Wrong,
              llvm::formatv("%v{0}: expected{1}, found{2}", array.number,
                            toString(right), toString(found))};
  }
  if (out != expected)
    return {Verdict::Wrong, "wrote outside its outputs"};
  return {};
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

Outcome ProgramRunner::runTogether(llvm::ArrayRef<RandomProgram> programs,
                                   const ProgramLowering &lowering) {
  return runInChild([&] { return compileAndRun(programs, lowering); });
}

template <typename FunctionTy>
static FunctionTy lookup(CompiledModule &code, StringRef name) {
  return reinterpret_cast<FunctionTy>(
      reinterpret_cast<void *>(llvm::cantFail(code.lookup(name))));
}

/// Lowers and compiles the programs of one module, and runs each.
Outcome ProgramRunner::compileAndRun(llvm::ArrayRef<RandomProgram> programs,
                                     const ProgramLowering &lowering) {
  std::string text;
  for (const RandomProgram &program : programs)
    text += program.text;
  messages.clear();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      messages += "note: " + note.str() + "\n";
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return {Verdict::Wrong, "no program: " + messages};
  Outcome outcome = lower(module, lowering);
  if (outcome.verdict != Verdict::Right)
    return outcome;
  countBuffers(*module);
  enter("compiled code");
  CompileOptions options;
  options.optLevel = 0;
  auto code = CompiledModule::compile(std::move(module), options);
  if (!code)
    return {Verdict::Wrong, llvm::toString(code.takeError())};
  for (const RandomProgram &program : programs) {
    auto entry = lookup<Entry>(*code, program.entry);
    outcome = runAndCompare(program, entry);
    if (outcome.verdict != Verdict::Right)
      return outcome;
  }
  auto countLive = lookup<int64_t (*)()>(*code, "count_live_buffers");
  // Without the pass that frees them, buffers stay.
  if (int64_t live = countLive(); lowering.deallocate && live != 0)
    return {Verdict::Wrong, "live buffers at the end: " + std::to_string(live)};
  return {};
}

static bool isKnown(StringRef message) {
  return llvm::any_of(kKnownRefusals, [&](const KnownRefusal &known) {
    return message.contains(known.message);
  });
}

static ProgramOptions getOptions(const ProgramLowering &lowering) {
  ProgramOptions options;
  options.isFolded = !lowering.passes.empty();
  return options;
}

/// The message up to what is this program's own.
static StringRef getKind(StringRef message) {
  return message.take_until(
      [](char c) { return llvm::isDigit(c) || StringRef("<%\n").contains(c); });
}

int ProgramRunner::runBatch(llvm::ArrayRef<uint64_t> seeds,
                            const ProgramLowering &lowering) {
  std::vector<RandomProgram> programs;
  for (uint64_t seed : seeds)
    programs.push_back(makeRandomProgram(seed, &context, programs.size(),
                                         getOptions(lowering)));
  Outcome outcome = runTogether(programs, lowering);
  if (outcome.verdict == Verdict::Right)
    return 0;
  int numRefused = 0, wrongBefore = wrong;
  for (auto [program, seed] : llvm::zip_equal(programs, seeds)) {
    Outcome single = runTogether(program, lowering);
    bool isRefused = single.verdict == Verdict::Refused;
    numRefused += isRefused;
    if (single.verdict == Verdict::Wrong ||
        (isRefused && !isKnown(single.message))) {
      ++wrong;
      if (reported.insert(getKind(single.message).str()).second)
        reportWrong(seed, lowering);
    }
  }
  EXPECT_TRUE(numRefused > 0 || wrong > wrongBefore)
      << "only programs together fail: " << outcome.message;
  return numRefused;
}

//===----------------------------------------------------------------------===//
// Smaller programs
//===----------------------------------------------------------------------===//

static void eraseDeadOps(Operation *root) {
  bool changed = true;
  while (std::exchange(changed, false))
    root->walk([&](Operation *op) {
      if (op == root || !isOpTriviallyDead(op))
        return;
      op->erase();
      changed = true;
    });
}

/// The program without its other outputs, and what they alone need.
RandomProgram ProgramRunner::keepOutput(const RandomProgram &program,
                                        size_t output) {
  RandomProgram result = program;
  auto module = parseSourceString<ModuleOp>(program.text, &context);
  auto entry = module->lookupSymbol<func::FuncOp>(program.entry);
  auto writes = llvm::to_vector(
      entry.getOps<bufferization::MaterializeInDestinationOp>());
  for (auto [i, write] : llvm::enumerate(writes))
    if (i != output)
      write.erase();
  eraseDeadOps(*module);
  result.outputs = {program.outputs[output]};
  result.text.clear();
  llvm::raw_string_ostream(result.text) << *module;
  return result;
}

void ProgramRunner::reportWrong(uint64_t seed, ProgramLowering lowering) {
  ProgramOptions options = getOptions(lowering);
  RandomProgram program = makeRandomProgram(seed, &context, 0, options);
  Outcome outcome = runTogether(program, lowering);
  const Verdict verdict = outcome.verdict;
  const std::string kind = getKind(outcome.message).str();
  auto isAlike = [&](const Outcome &other) {
    return other.verdict == verdict && getKind(other.message) == kind &&
           !isKnown(other.message);
  };
  auto tryProgram = [&](RandomProgram smaller, const ProgramLowering &with) {
    Outcome other = runTogether(smaller, with);
    if (!isAlike(other))
      return false;
    outcome = std::move(other);
    program = std::move(smaller);
    lowering = with;
    return true;
  };
  for (size_t i = lowering.passes.size(); i-- > 0;) {
    ProgramLowering fewer = lowering;
    fewer.passes.erase(fewer.passes.begin() + i);
    tryProgram(program, fewer);
  }
  const std::vector<uint64_t> statements = program.statements;
  for (uint64_t statement : llvm::reverse(statements)) {
    options.skipped.insert(statement);
    if (!tryProgram(makeRandomProgram(seed, &context, 0, options), lowering))
      options.skipped.erase(statement);
  }
  for (size_t i = 0; i < program.outputs.size(); ++i)
    if (tryProgram(keepOutput(program, i), lowering))
      break;
  ADD_FAILURE() << outcome.message << "\nprogram of seed " << seed
                << ", passes: " << llvm::join(lowering.passes, ",")
                << (lowering.vectorize ? "" : ", not vectorized")
                << (lowering.deallocate ? "" : ", not deallocated") << "\n"
                << program.text;
}
