//===- Relayout.cpp - tessera-compile relayout ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Compile.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("relayout",
            "Compile a function that moves an array to another layout", run);
static cl::opt<std::string> sourceText(cl::Positional, cl::Required,
                                       cl::desc("SRC-SHAPE"), cl::sub(command));
static cl::opt<std::string> destinationText(cl::Positional, cl::Required,
                                            cl::desc("DST-SHAPE"),
                                            cl::sub(command));
static cl::opt<EmitKind> emitKind(
    "emit", cl::desc("What to write"), cl::init(EmitKind::Shared),
    cl::values(clEnumValN(EmitKind::Object, "obj",
                          "an object file, and its C header beside it"),
               clEnumValN(EmitKind::Shared, "shared",
                          "a shared library (default)"),
               clEnumValN(EmitKind::LLVM, "llvm", "optimized LLVM IR"),
               clEnumValN(EmitKind::MLIR, "mlir", "affine loops"),
               clEnumValN(EmitKind::Plan, "plan",
                          "the plan: nests, kernels, blocks and stores")),
    cl::sub(command));
static cl::opt<std::string> outputPath("o", cl::Required,
                                       cl::value_desc("file"),
                                       cl::desc("Where to write it"),
                                       cl::sub(command));
static cl::opt<std::string>
    symbol("symbol", cl::init(CompileOptions().symbol), cl::value_desc("name"),
           cl::desc("Name of the function (default: tessera_relayout)"),
           cl::sub(command));
static cl::opt<unsigned>
    numThreads("threads", cl::init(1), cl::value_desc("N"),
               cl::desc("Threads that share large arrays, by LLVM's OpenMP "
                        "runtime (default: 1)"),
               cl::sub(command));
static cl::opt<std::string> openMPLibrary(
    "openmp-library", cl::value_desc("file"),
    cl::desc("That runtime, libomp.so.5 (default: the one found when this tool "
             "was built); shared libraries look for it in its folder"),
    cl::sub(command));
static cl::opt<std::string>
    target("target", cl::value_desc("triple"),
           cl::desc("The machine to compile for, such as aarch64-linux-gnu "
                    "(default: this one)"),
           cl::sub(command));
static cl::opt<std::string>
    targetCpu("target-cpu", cl::value_desc("name"),
              cl::desc("The processor to compile for, by LLVM's name (default: "
                       "this one)"),
              cl::sub(command));
static cl::opt<bool> vectorize(
    "vectorize", cl::init(CompileOptions().vectorize),
    cl::desc("Use vector kernels where there is a plan (default: true)"),
    cl::sub(command));

// What the rule for plans would choose otherwise; to measure it by.
static cl::opt<int64_t> planRows("plan-row-bytes", cl::Hidden,
                                 cl::desc("Bytes of a block's runs"),
                                 cl::sub(command));
static cl::opt<int64_t> planColumns("plan-column-bytes", cl::Hidden,
                                    cl::desc("Bytes that a block reads in a "
                                             "row"),
                                    cl::sub(command));
static cl::opt<bool> planBySource("plan-by-source", cl::Hidden,
                                  cl::desc("Loops follow the source"),
                                  cl::sub(command));
static cl::opt<bool> planStreams("plan-streams", cl::Hidden,
                                 cl::desc("Stores of large arrays bypass the "
                                          "cache"),
                                 cl::sub(command));
static cl::opt<bool> planStages("plan-stages", cl::Hidden,
                                cl::desc("Blocks are staged in a buffer"),
                                cl::sub(command));
static cl::opt<int64_t> planPrefetch("plan-prefetch", cl::Hidden,
                                     cl::desc("Blocks to fetch ahead"),
                                     cl::sub(command));

static RelayoutTuning getTuning() {
  RelayoutTuning tuning;
  auto set = [](auto &field, const auto &option) {
    if (option.getNumOccurrences())
      field = option.getValue();
  };
  set(tuning.rowBytes, planRows);
  set(tuning.columnBytes, planColumns);
  set(tuning.bySource, planBySource);
  set(tuning.streams, planStreams);
  set(tuning.isStaged, planStages);
  set(tuning.prefetch, planPrefetch);
  return tuning;
}

/// The function's name must be one in C too.
static llvm::Error checkSymbol(llvm::StringRef name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (!name.empty() && !llvm::isDigit(name.front()) &&
      llvm::all_of(name, isWord))
    return llvm::Error::success();
  return invalidError("", "--symbol", "a C identifier", "`" + name + "`");
}

static llvm::Error writeText(llvm::StringRef path, llvm::StringRef text) {
  return writeOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    os << text;
    return llvm::Error::success();
  });
}

/// Writes the header of an object file beside it.
static llvm::Error writeHeader(const Shape &source, const Shape &destination,
                               const CompileOptions &options) {
  if (outputPath == "-")
    return llvm::Error::success();
  llvm::SmallString<128> path(outputPath);
  llvm::sys::path::replace_extension(path, ".h");
  return writeText(path,
                   getRelayoutHeader(source, destination,
                                     llvm::sys::path::filename(path), options));
}

static llvm::Error compile(const Shape &source, const Shape &destination) {
  if (llvm::Error error = checkSymbol(symbol))
    return error;
  if (numThreads == 0)
    return invalidError("", "--threads", "a positive number", "0");
  CompileOptions options;
  options.symbol = symbol;
  options.triple = target;
  options.cpu = targetCpu;
  options.vectorize = vectorize;
  options.threads = numThreads;
  options.openMPLibrary = openMPLibrary;
  options.tuning = getTuning();
  llvm::Expected<std::string> output =
      compileRelayout(source, destination, emitKind, options);
  if (!output)
    return output.takeError();
  if (emitKind == EmitKind::Object)
    if (llvm::Error error = writeHeader(source, destination, options))
      return error;
  return writeText(outputPath, *output);
}

static int run() {
  std::optional<Shape> source = readShapeArgument(sourceText);
  std::optional<Shape> destination = readShapeArgument(destinationText);
  if (!source || !destination)
    return kExitBadInput;
  if (llvm::Error error = compile(*source, *destination))
    return reportError(std::move(error));
  return kExitSuccess;
}
