//===- Relayout.cpp - tessera-compile relayout ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/MachineFile.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Text.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("relayout",
            "Compile a function that moves an array to another layout", run);
static cl::list<std::string> shapeTexts(cl::Positional, cl::ZeroOrMore,
                                        cl::desc("SRC-SHAPE DST-SHAPE"),
                                        cl::sub(command));
static cl::opt<std::string> sourceBox(
    "src-box", cl::value_desc("slices"),
    cl::desc("The part of SRC-SHAPE to read: BEGIN:END or BEGIN:END:STEP for "
             "each dimension, as in Python, such as 8:16,:,0:128:2"),
    cl::sub(command));
static cl::opt<std::string>
    destinationBox("dst-box", cl::value_desc("slices"),
                   cl::desc("The part of DST-SHAPE to write; nothing else is"),
                   cl::sub(command));
static cl::opt<std::string> batchPath(
    "batch", cl::value_desc("file"),
    cl::desc("Compile many functions into one file: `SRC-SHAPE DST-SHAPE "
             "[symbol=NAME] [src-box=SLICES] [dst-box=SLICES]` in each line, "
             "# begins a comment; without a name, that of --symbol and a "
             "number"),
    cl::sub(command));
static ChoiceOption<EmitKind> emitKind(
    "emit", cl::desc("What to write"), cl::init(EmitKind::Shared),
    cl::values(clEnumValN(EmitKind::Object, "obj",
                          "an object file, and its C header beside it"),
               clEnumValN(EmitKind::Shared, "shared",
                          "a shared library (default)"),
               clEnumValN(EmitKind::LLVM, "llvm", "optimized LLVM IR"),
               clEnumValN(EmitKind::MLIR, "mlir", "affine loops"),
               clEnumValN(EmitKind::Plan, "plan",
                          "the plan: nests, kernels, blocks and stores"),
               clEnumValN(EmitKind::Trials, "trials",
                          "what was tried for the plan, and why it was not "
                          "taken")),
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

static ChoiceOption<BufferState> buffers(
    "buffers",
    cl::desc("Where both buffers are when the code runs (default: unknown)"),
    cl::values(clEnumValN(BufferState::Unknown, "unknown",
                          "the code is not far from the better one of the two"),
               clEnumValN(BufferState::Hot, "hot",
                          "in the caches, if they fit there"),
               clEnumValN(BufferState::Cold, "cold", "in memory")),
    cl::sub(command));

static cl::opt<std::string> machinePath(
    "machine", cl::value_desc("file"),
    cl::desc("Measurements of the machine, as `calibrate` writes them "
             "(default: where that writes those of this machine; empty: none)"),
    cl::sub(command));
static cl::opt<bool>
    tune("tune",
         cl::desc("Time all plans of relayouts that the file of the machine "
                  "does not have yet, and add the best one to it"),
         cl::sub(command));

// What overrules the choice of plans; to measure it by.
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
static cl::opt<bool>
    planNontemporal("plan-nontemporal", cl::Hidden,
                    cl::desc("Stores of large arrays bypass the "
                             "cache"),
                    cl::sub(command));
static cl::opt<std::string> planKind("plan-kind", cl::Hidden,
                                     cl::desc("How blocks move"),
                                     cl::value_desc("name"), cl::sub(command));
static cl::opt<bool> planGathers("plan-gathers", cl::Hidden,
                                 cl::desc("Rows are copied side by side first"),
                                 cl::sub(command));
static cl::opt<int64_t> planPrefetch("plan-prefetch", cl::Hidden,
                                     cl::desc("Blocks to prefetch"),
                                     cl::sub(command));
static cl::opt<std::string> planCostsOf("plan-costs-of", cl::Hidden,
                                        cl::desc("A processor whose costs are "
                                                 "taken"),
                                        cl::value_desc("name"),
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
  set(tuning.nontemporal, planNontemporal);
  set(tuning.kind, planKind);
  set(tuning.gathers, planGathers);
  set(tuning.prefetch, planPrefetch);
  set(tuning.costsOf, planCostsOf);
  return tuning;
}

static Output makeOutput(llvm::StringRef path, std::string text) {
  return {path.str(),
          [text = std::move(text)](llvm::raw_ostream &os) -> llvm::Error {
            os << text;
            return llvm::Error::success();
          }};
}

/// Where the header of an object file goes; nowhere where that is a stream.
static llvm::Expected<std::string> getHeaderPath() {
  if (emitKind != EmitKind::Object || isStream(outputPath))
    return std::string();
  llvm::SmallString<128> path(outputPath);
  llvm::sys::path::replace_extension(path, ".h");
  if (path == outputPath)
    return invalidError("", "output file",
                        "another suffix than that of the "
                        "C header, which stands beside it",
                        "`" + outputPath + "`", "name it .o");
  return path.str().str();
}

/// An array, or the part of it that `boxText` selects where that is given.
static llvm::Expected<ArrayPart>
makePart(llvm::Expected<Shape> shape, std::optional<llvm::StringRef> boxText,
         llvm::StringRef what) {
  if (!shape)
    return shape.takeError();
  if (!boxText)
    return ArrayPart(std::move(*shape));
  llvm::Expected<Box> box = parseBox(*boxText, *shape, what);
  if (!box)
    return box.takeError();
  return ArrayPart(std::move(*shape), std::move(*box));
}

/// Reads a line of a batch: two shapes and settings.
static llvm::Expected<RelayoutRequest> readBatchLine(llvm::StringRef line,
                                                     size_t number) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(line, words);
  if (words.size() < 2)
    return invalidError("", "relayout", "SRC-SHAPE DST-SHAPE", "`" + line + "`",
                        "give both shapes, then settings");
  RelayoutRequest request;
  request.symbol = symbol + "_" + std::to_string(number);
  std::optional<llvm::StringRef> boxes[2];
  for (llvm::StringRef word : llvm::ArrayRef(words).drop_front(2)) {
    auto [key, value] = word.split('=');
    if (key == "symbol")
      request.symbol = value.str();
    else if (key == "src-box")
      boxes[0] = value;
    else if (key == "dst-box")
      boxes[1] = value;
    else
      return invalidError("", "setting",
                          "symbol=, src-box= or dst-box=", "`" + word + "`");
  }
  auto source = makePart(parseShape(words[0]), boxes[0], "src-box");
  if (!source)
    return source.takeError();
  auto destination = makePart(parseShape(words[1]), boxes[1], "dst-box");
  if (!destination)
    return destination.takeError();
  request.source = std::move(*source);
  request.destination = std::move(*destination);
  if (llvm::Error error = checkSymbol(request.symbol, "symbol"))
    return std::move(error);
  if (llvm::Error error = checkRelayout(request.source, request.destination))
    return std::move(error);
  return request;
}

/// The same error, of line `number` of the batch.
static llvm::Error nameLine(llvm::Error error, int64_t number) {
  Diagnostic diagnostic = takeDiagnostic(std::move(error));
  diagnostic.field += " in line " + std::to_string(number);
  diagnostic.position = Diagnostic::kNoPosition;
  return llvm::make_error<LayoutError>(std::move(diagnostic));
}

/// Reads all lines; errors say which one.
static llvm::Expected<std::vector<RelayoutRequest>> readBatch() {
  auto file = readInput(batchPath);
  if (!file)
    return file.takeError();
  std::vector<RelayoutRequest> requests;
  llvm::StringMap<int64_t> lines;
  for (llvm::line_iterator line(**file, /*SkipBlanks=*/false);
       !line.is_at_eof(); ++line) {
    llvm::StringRef text = line->split('#').first.trim();
    if (text.empty())
      continue;
    auto request = readBatchLine(text, requests.size());
    if (!request)
      return nameLine(request.takeError(), line.line_number());
    auto [known, isNew] =
        lines.try_emplace(request->symbol, line.line_number());
    if (!isNew)
      return nameLine(invalidError("", "symbol", "a name of its own",
                                   "`" + request->symbol + "` as in line " +
                                       llvm::Twine(known->second)),
                      line.line_number());
    requests.push_back(std::move(*request));
  }
  if (requests.empty())
    return invalidError("", "--batch", "a line for each relayout", "none");
  return requests;
}

/// What the command line asks for; `shapes` are those that it has.
static llvm::Expected<std::vector<RelayoutRequest>>
readRequests(llvm::ArrayRef<Shape> shapes) {
  bool isBatch = batchPath.getNumOccurrences() > 0;
  bool hasBox =
      sourceBox.getNumOccurrences() + destinationBox.getNumOccurrences() > 0;
  if (isBatch && (!shapes.empty() || hasBox))
    return invalidError("", "--batch", "shapes and boxes in the file alone",
                        "others on the command line");
  if (isBatch)
    return readBatch();
  if (shapes.size() != 2)
    return invalidError("", "arguments", "SRC-SHAPE DST-SHAPE",
                        llvm::Twine(shapes.size()) + " shapes",
                        "give two, or --batch=FILE");
  auto getBox = [](const cl::opt<std::string> &box) {
    return box.getNumOccurrences()
               ? std::optional<llvm::StringRef>(box.getValue())
               : std::nullopt;
  };
  auto source = makePart(shapes[0], getBox(sourceBox), "--src-box");
  if (!source)
    return source.takeError();
  auto destination = makePart(shapes[1], getBox(destinationBox), "--dst-box");
  if (!destination)
    return destination.takeError();
  return std::vector<RelayoutRequest>{{*source, *destination, symbol}};
}

/// Prints what came out of the times.
static void reportTuning(const RelayoutRequest &request,
                         llvm::ArrayRef<TimedPlan> plans) {
  auto isRule = [](const TimedPlan &plan) { return plan.tuning.isRule(); };
  const TimedPlan &rule = *llvm::find_if(plans, isRule);
  llvm::errs() << request.source << " to " << request.destination << ": "
               << llvm::format("%.2f", plans.front().seconds / rule.seconds)
               << " of the time of the rule, best of " << plans.size()
               << " plans\n";
}

/// What the command line says of the machine.
static llvm::Error readMachine(llvm::ArrayRef<RelayoutRequest> requests,
                               CompileOptions &options) {
  MachineFile file;
  if (machinePath.getNumOccurrences())
    file.path = machinePath;
  file.tune = tune;
  file.report = reportTuning;
  return useMachine(file, requests, options);
}

/// Says which relayouts have no kernels, and why.
static void warnOfPlainLoops(llvm::ArrayRef<RelayoutRequest> requests,
                             const CompileOptions &options) {
  for (const RelayoutRequest &request : requests) {
    auto plan = getRelayoutPlan(request.source, request.destination, options);
    if (plan)
      continue;
    llvm::WithColor::warning()
        << request.source << " to " << request.destination
        << " becomes loops over elements, without vector kernels: "
        << takeDiagnostic(plan.takeError()).message() << '\n';
  }
}

static llvm::Error compile(llvm::ArrayRef<Shape> shapes) {
  if (llvm::Error error = checkSymbol(symbol, "--symbol"))
    return error;
  if (llvm::Error error = checkThreads(numThreads, "--threads"))
    return error;
  if (planKind.getNumOccurrences() && !isPlanKind(planKind))
    return invalidError("", "--plan-kind", kPlanKinds, "`" + planKind + "`");
  auto requests = readRequests(shapes);
  if (!requests)
    return requests.takeError();
  CompileOptions options;
  options.symbol = symbol;
  options.triple = target;
  options.cpu = targetCpu;
  options.vectorize = vectorize;
  options.threads = numThreads;
  options.buffers = buffers;
  options.openMPLibrary = openMPLibrary;
  options.tuning = getTuning();
  if (llvm::Error error = readMachine(*requests, options))
    return error;
  llvm::Expected<std::string> headerPath = getHeaderPath();
  if (!headerPath)
    return headerPath.takeError();
  llvm::Expected<std::string> output =
      compileRelayouts(*requests, emitKind, options);
  if (!output)
    return output.takeError();
  if (vectorize)
    warnOfPlainLoops(*requests, options);
  llvm::SmallVector<Output, 2> outputs;
  outputs.push_back(makeOutput(outputPath, std::move(*output)));
  if (!headerPath->empty())
    outputs.push_back(makeOutput(
        *headerPath,
        getRelayoutHeader(*requests, llvm::sys::path::filename(*headerPath),
                          options)));
  return writeOutputs(outputs);
}

static int run() {
  std::vector<Shape> shapes;
  for (const std::string &text : shapeTexts) {
    std::optional<Shape> shape = readShapeArgument(text);
    if (!shape)
      return kExitBadInput;
    shapes.push_back(std::move(*shape));
  }
  if (llvm::Error error = compile(shapes))
    return reportError(std::move(error));
  return kExitSuccess;
}
