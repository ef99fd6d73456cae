//===- Compile.cpp - C API of relayouts -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Compile.h"

#include "Objects.h"

#include "tessera/Compile/MachineFile.h"

using namespace tessera;

struct TesseraRelayout {
  RelayoutFunction function;
};

/// A side of a request; its box may be null.
static llvm::Expected<ArrayPart>
getPart(const TesseraShape *shape, const char *boxText, llvm::StringRef what) {
  if (!boxText)
    return ArrayPart(shape->shape);
  llvm::Expected<Box> box = parseBox(boxText, shape->shape, what);
  if (!box)
    return box.takeError();
  return ArrayPart(shape->shape, std::move(*box));
}

namespace {
/// A request as the library takes it.
struct Request {
  ArrayPart source, destination;
  CompileOptions options;
};
} // namespace

static llvm::Expected<Request> unwrap(const TesseraRelayoutRequest *request) {
  if (llvm::Error error = checkThreads(request->threads, "number of threads"))
    return std::move(error);
  if (request->buffers < TesseraBuffersUnknown ||
      request->buffers > TesseraBuffersCold)
    return invalidError("", "buffers", "a TesseraBufferState",
                        llvm::Twine(static_cast<int>(request->buffers)));
  auto source = getPart(request->source, request->sourceBox, "source box");
  if (!source)
    return source.takeError();
  auto destination =
      getPart(request->destination, request->destinationBox, "destination box");
  if (!destination)
    return destination.takeError();
  CompileOptions options;
  options.threads = request->threads;
  options.buffers = static_cast<BufferState>(request->buffers);
  MachineFile file;
  if (request->machine)
    file.path = request->machine;
  file.tune = request->tune;
  if (llvm::Error error =
          useMachine(file, {{*source, *destination, ""}}, options))
    return std::move(error);
  return Request{std::move(*source), std::move(*destination),
                 std::move(options)};
}

TesseraError *tesseraRelayoutGet(const TesseraRelayoutRequest *request,
                                 TesseraRelayout **relayout) {
  llvm::Expected<Request> known = unwrap(request);
  if (!known)
    return wrapError(known.takeError());
  llvm::Expected<RelayoutFunction> function =
      getRelayoutFunction(known->source, known->destination, known->options);
  if (!function)
    return wrapError(function.takeError());
  *relayout = new TesseraRelayout{std::move(*function)};
  return nullptr;
}

void tesseraRelayoutDestroy(TesseraRelayout *relayout) { delete relayout; }

void tesseraRelayoutRun(const TesseraRelayout *relayout, const void *source,
                        void *destination) {
  relayout->function(source, destination);
}

TesseraRelayoutFunction
tesseraRelayoutGetFunction(const TesseraRelayout *relayout) {
  return relayout->function.getAddress();
}

static EmitKind unwrap(TesseraEmitKind kind) {
  switch (kind) {
  case TesseraEmitPlan:
    return EmitKind::Plan;
  case TesseraEmitMLIR:
    return EmitKind::MLIR;
  case TesseraEmitLLVM:
    return EmitKind::LLVM;
  case TesseraEmitObject:
    return EmitKind::Object;
  case TesseraEmitShared:
    break;
  }
  return EmitKind::Shared;
}

TesseraError *tesseraRelayoutEmit(const TesseraRelayoutRequest *request,
                                  TesseraEmitKind kind, const char *symbol,
                                  TesseraTextCallback callback,
                                  void *userData) {
  llvm::Expected<Request> known = unwrap(request);
  if (!known)
    return wrapError(known.takeError());
  if (llvm::Error error = checkSymbol(symbol, "symbol"))
    return wrapError(std::move(error));
  known->options.symbol = symbol;
  llvm::Expected<std::string> code = compileRelayout(
      known->source, known->destination, unwrap(kind), known->options);
  if (!code)
    return wrapError(code.takeError());
  callback(code->data(), code->size(), userData);
  return nullptr;
}
