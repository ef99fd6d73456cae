//===- CAPIFuzzer.cpp - Sequences of calls of the C API -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line of an input is a call: a word, a slot or two of the shapes made so
// far, numbers and texts, any of which may be left out. Of `report`, `program`
// and `module` the rest of the input is the text.
//
//   shape 0 bf16[32,40]{1,0:T(8,128)(2,1)}
//   position 0 1,2
//   emit 0 1 2 symbol 0:3,: 0:3,:
//
// Calls keep to what the headers demand of callers: positions in range, objects
// that live. All else is any number and any text, and gets an answer or an
// error with a message.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "tessera-c/Compile.h"
#include "tessera-c/Dialects.h"
#include "tessera-c/HLO.h"
#include "tessera-c/Layout.h"
#include "tessera-c/Passes.h"
#include "tessera-c/Program.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace tessera::fuzz;
using llvm::StringRef;

/// Buffers of shapes and programs that are run.
static constexpr int64_t kMaxBytes = 1 << 20;

static void appendText(const char *data, size_t length, void *userData) {
  static_cast<std::string *>(userData)->append(data, length);
}

static void appendPiece(MlirStringRef piece, void *userData) {
  static_cast<std::string *>(userData)->append(piece.data, piece.length);
}

/// True without an error; else looks at it.
static bool succeeds(TesseraError *error) {
  if (!error)
    return true;
  require(*tesseraErrorGetMessage(error) != 0, "an error without a message");
  require(tesseraErrorGetRule(error) != nullptr, "an error without a rule");
  tesseraErrorGetPosition(error);
  tesseraErrorGetKind(error);
  tesseraErrorDestroy(error);
  return false;
}

namespace {
/// The words of one line.
class Call {
public:
  explicit Call(StringRef line) : rest(line) {}

  StringRef word() {
    StringRef result;
    std::tie(result, rest) = rest.ltrim(' ').split(' ');
    return result;
  }
  int64_t number() {
    int64_t value;
    return word().getAsInteger(10, value) ? 0 : value;
  }
  llvm::SmallVector<int64_t, 4> numbers() {
    llvm::SmallVector<StringRef> parts;
    word().split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    llvm::SmallVector<int64_t, 4> values;
    for (StringRef part : parts)
      if (int64_t value; !part.getAsInteger(10, value))
        values.push_back(value);
    return values;
  }
  /// A word in [0, count).
  template <typename Enum> Enum oneOf(unsigned count) {
    return static_cast<Enum>(static_cast<uint64_t>(number()) % count);
  }
  StringRef all() { return rest.ltrim(' '); }

private:
  StringRef rest;
};

class Session {
public:
  ~Session();
  void run(StringRef text);

private:
  void runLine(Call call, StringRef below);
  TesseraShape *&slot(Call &call) {
    return shapes[call.oneOf<size_t>(shapes.size())];
  }
  void parse(Call &call);
  void look(const TesseraShape *shape);
  void findPosition(const TesseraShape *shape, Call &call);
  void draw(const TesseraShape *shape, Call &call);
  void emit(Call &call, bool isRun);
  void runRelayout(const TesseraRelayout *relayout, const TesseraShape *from,
                   const TesseraShape *to);
  void runProgram(StringRef module);
  void runModule(StringRef pipeline, StringRef text);
  void makeAttribute(StringRef kind, Call &call);
  void lookAtLayout(MlirAttribute layout);
  MlirContext getContext();

  std::array<TesseraShape *, 4> shapes = {};
  MlirContext context = {nullptr};
  std::string output;
};
} // namespace

static TesseraInt64s wrap(llvm::ArrayRef<int64_t> numbers) {
  return {numbers.data(), numbers.size()};
}

static MlirStringRef wrap(StringRef text) {
  return mlirStringRefCreate(text.data(), text.size());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

void Session::parse(Call &call) {
  TesseraShape *&shape = slot(call);
  StringRef text = call.all();
  TesseraShape *parsed = nullptr;
  if (!succeeds(tesseraShapeParse(text.data(), text.size(), &parsed)))
    return;
  tesseraShapeDestroy(shape);
  shape = parsed;
  output.clear();
  tesseraShapePrint(shape, /*withLayout=*/true, appendText, &output);
  TesseraShape *again = nullptr;
  require(succeeds(tesseraShapeParse(output.data(), output.size(), &again)) &&
              tesseraShapeEqual(shape, again),
          "a printed shape is another one");
  tesseraShapeDestroy(again);
}

void Session::look(const TesseraShape *shape) {
  tesseraShapePrint(shape, /*withLayout=*/false, appendText, &output);
  bool isArray = tesseraShapeIsArray(shape);
  require(isArray == (*tesseraShapeGetElementType(shape) != 0),
          "an array without a type, or a type without an array");
  size_t rank = tesseraShapeGetDimensions(shape).size;
  require(tesseraShapeGetMinorToMajor(shape).size == rank, "ranks differ");
  for (size_t i = 0; i < tesseraShapeGetNumTiles(shape); ++i)
    require(tesseraShapeGetTile(shape, i).size > 0, "an empty tile");
  tesseraShapeGetMemorySpace(shape);
  tesseraShapeGetStorageBits(shape);
  TesseraShapeSize size;
  if (succeeds(tesseraShapeGetSize(shape, &size)))
    require(size.bytes >= 0 && size.paddingBytes >= 0, "a negative size");
}

void Session::findPosition(const TesseraShape *shape, Call &call) {
  llvm::SmallVector<int64_t, 4> index = call.numbers();
  int64_t position = call.number();
  if (succeeds(tesseraShapeGetLinearIndex(shape, wrap(index), &position))) {
    std::vector<int64_t> found(index.size());
    bool isPadding = true;
    require(succeeds(tesseraShapeGetLogicalIndex(shape, position, found.data(),
                                                 &isPadding)) &&
                !isPadding && llvm::ArrayRef(found) == llvm::ArrayRef(index),
            "an index is not at its position");
  }
  std::vector<int64_t> found(tesseraShapeGetDimensions(shape).size);
  bool isPadding;
  succeeds(tesseraShapeGetLogicalIndex(shape, call.number(), found.data(),
                                       &isPadding));
}

void Session::draw(const TesseraShape *shape, Call &call) {
  TesseraDrawOptions options = tesseraDrawOptionsGetDefault();
  const TesseraShape *to = call.number() % 2 ? slot(call) : nullptr;
  options.isSVG = call.number() % 2;
  options.useColor = call.number() % 2;
  if (int64_t rows = call.number())
    options.maxRows = rows;
  if (int64_t columns = call.number())
    options.maxColumns = columns;
  if (int64_t width = call.number())
    options.width = width;
  succeeds(tesseraShapeDraw(shape, to, options, appendText, &output));
}

//===----------------------------------------------------------------------===//
// Relayouts and programs
//===----------------------------------------------------------------------===//

void Session::runRelayout(const TesseraRelayout *relayout,
                          const TesseraShape *from, const TesseraShape *to) {
  TesseraShapeSize sizes[2];
  if (!succeeds(tesseraShapeGetSize(from, &sizes[0])) ||
      !succeeds(tesseraShapeGetSize(to, &sizes[1])) ||
      std::max(sizes[0].bytes, sizes[1].bytes) > kMaxBytes)
    return;
  std::vector<uint8_t> source(sizes[0].bytes), destination(sizes[1].bytes);
  tesseraRelayoutRun(relayout, source.data(), destination.data());
  require(tesseraRelayoutGetFunction(relayout) != nullptr, "no function");
}

void Session::emit(Call &call, bool isRun) {
  const TesseraShape *from = slot(call), *to = slot(call);
  if (!from || !to)
    return;
  TesseraRelayoutRequest request = {
      from, to, nullptr, nullptr, 1, TesseraBuffersUnknown, "", false};
  int64_t number = call.number();
  auto kind = static_cast<TesseraEmitKind>(static_cast<uint64_t>(number) % 3);
  std::string symbol = call.word().str(),
              boxes[] = {call.word().str(), call.word().str()};
  if (!boxes[0].empty()) {
    request.sourceBox = boxes[0].c_str();
    request.destinationBox = boxes[1].c_str();
  }
  if (int64_t threads = call.number())
    request.threads = threads;
  if (!isRun) {
    succeeds(tesseraRelayoutEmit(&request, kind, symbol.c_str(), appendText,
                                 &output));
    return;
  }
  TesseraRelayout *relayout = nullptr;
  if (!succeeds(tesseraRelayoutGet(&request, &relayout)))
    return;
  runRelayout(relayout, from, to);
  tesseraRelayoutDestroy(relayout);
}

void Session::runProgram(StringRef module) {
  TesseraProgram *program = nullptr;
  if (!succeeds(tesseraProgramCompile(module.data(), module.size(), nullptr,
                                      &program)))
    return;
  for (size_t i = 0; i < tesseraProgramGetNumInputs(program); ++i)
    look(tesseraProgramGetInput(program, i).shape);
  for (size_t i = 0; i < tesseraProgramGetNumOutputs(program); ++i)
    look(tesseraProgramGetOutput(program, i).shape);
  // It is not run: what it computes may take any time.
  tesseraProgramDestroy(program);
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

static MlirLogicalResult ignoreDiagnostic(MlirDiagnostic, void *) {
  return mlirLogicalResultSuccess();
}

void Session::lookAtLayout(MlirAttribute layout) {
  if (mlirAttributeIsNull(layout))
    return;
  require(tesseraAttributeIsALayout(layout), "a layout that is none");
  output.clear();
  tesseraLayoutAttrGetText(layout, appendPiece, &output);
  require(mlirAttributeEqual(layout,
                             tesseraLayoutAttrGet(getContext(), wrap(output))),
          "a printed layout is another one");
  for (intptr_t i = 0; i < tesseraLayoutAttrGetRank(layout); ++i)
    tesseraLayoutAttrGetMinorToMajor(layout, i);
  for (intptr_t i = 0; i < tesseraLayoutAttrGetNumTiles(layout); ++i) {
    MlirAttribute tile = tesseraLayoutAttrGetTile(layout, i);
    for (intptr_t k = 0; k < tesseraTileAttrGetNumSizes(tile); ++k)
      tesseraTileAttrGetSize(tile, k);
  }
  for (intptr_t i = 0; i < tesseraLayoutAttrGetNumSplitConfigs(layout); ++i) {
    tesseraLayoutAttrGetSplitConfigDimension(layout, i);
    for (intptr_t k = 0;
         k < tesseraLayoutAttrGetSplitConfigNumIndices(layout, i); ++k)
      tesseraLayoutAttrGetSplitConfigIndex(layout, i, k);
  }
  for (intptr_t i = 0; i < tesseraLayoutAttrGetNumPaddedDimensions(layout); ++i)
    tesseraLayoutAttrGetPaddedDimension(layout, i);
  for (intptr_t i = 0; i < tesseraLayoutAttrGetNumBounds(layout); ++i)
    tesseraLayoutAttrGetBound(layout, i);
  tesseraLayoutAttrGetPaddingValue(layout);
  tesseraLayoutAttrGetTailPaddingAlignment(layout);
}

void Session::makeAttribute(StringRef kind, Call &call) {
  if (kind == "layout")
    return lookAtLayout(tesseraLayoutAttrGet(getContext(), wrap(call.all())));
  if (kind == "descending")
    return lookAtLayout(
        tesseraLayoutAttrGetDescending(getContext(), call.number()));
  MlirAttribute attribute = {nullptr};
  if (kind == "tile") {
    attribute = tesseraTileAttrGet(getContext(), wrap(call.all()));
  } else if (kind == "sizes") {
    llvm::SmallVector<int64_t, 4> sizes = call.numbers();
    attribute =
        tesseraTileAttrGetFromSizes(getContext(), sizes.size(), sizes.data());
  } else if (kind == "shape") {
    attribute = tesseraShapeAttrGet(getContext(), wrap(call.all()));
  } else if (kind == "memory-space") {
    attribute = tesseraMemorySpaceAttrGet(getContext(), call.number());
  } else if (kind == "target") {
    StringRef name = call.word();
    int64_t number = call.number(), capacity = call.number(),
            alignment = call.number();
    MlirAttribute space = tesseraSpaceAttrGet(
        getContext(), number, wrap(name), capacity, alignment, call.number());
    if (!mlirAttributeIsNull(space)) {
      MlirAttribute spaces[] = {space, space};
      attribute = tesseraTargetAttrGet(getContext(), wrap(call.word()),
                                       call.oneOf<intptr_t>(3), spaces);
    }
  }
  if (!mlirAttributeIsNull(attribute))
    mlirAttributePrint(attribute, appendPiece, &output);
}

void Session::runModule(StringRef pipeline, StringRef text) {
  std::string copy = text.str();
  MlirModule module = mlirModuleCreateParse(
      getContext(), mlirStringRefCreateFromCString(copy.c_str()));
  if (mlirModuleIsNull(module))
    return;
  MlirPassManager manager = mlirPassManagerCreate(getContext());
  if (mlirLogicalResultIsSuccess(mlirOpPassManagerAddPipeline(
          mlirPassManagerGetAsOpPassManager(manager), wrap(pipeline),
          appendPiece, &output)))
    mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

/// Made when it is asked for: most inputs need none.
MlirContext Session::getContext() {
  if (!mlirContextIsNull(context))
    return context;
  tesseraRegisterAllPasses();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  tesseraRegisterAllDialects(registry);
  context = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirContextLoadAllAvailableDialects(context);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(context, ignoreDiagnostic, nullptr,
                                     nullptr);
  return context;
}

Session::~Session() {
  for (TesseraShape *shape : shapes)
    tesseraShapeDestroy(shape);
  if (!mlirContextIsNull(context))
    mlirContextDestroy(context);
}

void Session::runLine(Call call, StringRef below) {
  StringRef name = call.word();
  if (name == "shape")
    return parse(call);
  if (name == "emit" || name == "run")
    return emit(call, name == "run");
  if (name == "attribute")
    return makeAttribute(call.word(), call);
  if (name == "program")
    return runProgram(below);
  if (name == "module")
    return runModule(call.all(), below);
  if (name == "report") {
    auto format = call.oneOf<TesseraReportFormat>(3);
    succeeds(tesseraHLOReport(below.data(), below.size(), format, call.number(),
                              appendText, &output));
    return;
  }
  const TesseraShape *shape = slot(call);
  if (!shape)
    return;
  if (name == "look")
    return look(shape);
  if (name == "position")
    return findPosition(shape, call);
  if (name == "draw")
    return draw(shape, call);
  if (name == "explain") {
    succeeds(
        tesseraShapeExplain(shape, call.number() % 2, appendText, &output));
  } else if (name == "default") {
    TesseraShape *&result = slot(call);
    TesseraShape *chosen = nullptr;
    if (succeeds(tesseraShapeGetDefault(shape, call.word().str().c_str(),
                                        &chosen))) {
      tesseraShapeDestroy(result);
      result = chosen;
    }
  } else if (name == "bitcast") {
    if (const TesseraShape *to = slot(call))
      tesseraShapeMayBitcast(shape, to, call.oneOf<TesseraBitcastKind>(3),
                             appendText, &output);
  }
}

void Session::run(StringRef text) {
  for (int lines = 0; !text.empty() && lines < 64; ++lines) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    runLine(Call(line), text);
    output.clear();
    if (line.starts_with("report") || line.starts_with("program") ||
        line.starts_with("module"))
      return;
  }
}

void tessera::fuzz::runInput(StringRef text) { Session().run(text); }

std::string tessera::fuzz::mutateInput(StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  return mutator.mutate(text, random);
}
