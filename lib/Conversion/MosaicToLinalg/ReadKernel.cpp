//===- ReadKernel.cpp - Kernels as upstream's operations ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytecode of Mosaic has every operation under another name,
// `stable_mosaic.arith.addf`, with all attributes in its dictionary, so that
// readers need not know it. Its module says of which version it is.
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "tessera/Kernels/Bytecode.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Nesting.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

static constexpr StringRef kPrefix = "stable_mosaic.";
static constexpr StringRef kVersion = "stable_mosaic.version";
/// What these operations mean has changed up to here.
static constexpr int64_t kNewestVersion = 15;

/// MLIR's text takes strings as memory spaces, and no attributes of a dialect
/// that it does not know.
static std::string quoteMemorySpaces(StringRef text) {
  constexpr StringRef space = "#tpu.memory_space<";
  std::string quoted;
  for (;;) {
    auto [before, after] = text.split(space);
    quoted += before;
    if (before.size() == text.size())
      return quoted;
    auto [name, rest] = after.split('>');
    quoted += ("\"" + name + "\"").str();
    text = rest;
  }
}

/// Attributes as the newest version has them, where upstream's operations need
/// it. What `tpu` operations have is read in either form.
static void upgradeAttributes(StringRef name, NamedAttrList &attributes) {
  StringRef field = "reduction_dims";
  auto dims = dyn_cast_or_null<ArrayAttr>(attributes.get(field));
  if (name != "vector.multi_reduction" || !dims)
    return;
  if (std::optional<SmallVector<int64_t>> numbers = mosaic::getIntegers(dims))
    attributes.set(field, DenseI64ArrayAttr::get(dims.getContext(), *numbers));
}

/// The operation under the name that it has in MLIR.
static void restoreName(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front(kPrefix))
    return;
  NamedAttrList attributes(op->getAttrDictionary());
  upgradeAttributes(name, attributes);
  OpBuilder builder(op);
  OperationState state(op->getLoc(), name, op->getOperands(),
                       op->getResultTypes(), attributes, op->getSuccessors());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  Operation *restored = builder.create(state);
  op->replaceAllUsesWith(restored);
  op->erase();
}

static llvm::Error unsupportedBody(const Twine &found) {
  return unsupportedError("kernel body",
                          "a module of Mosaic that MLIR 22 reads, of version " +
                              Twine(kNewestVersion) + " or before",
                          found);
}

/// The module as it is written, which nothing has verified; null where it
/// cannot be parsed.
static llvm::Expected<OwningOpRef<ModuleOp>> parse(StringRef body,
                                                   MLIRContext &context) {
  if (isBytecode(body))
    return readBytecode(body, context);
  if (llvm::Error error = checkParsable(body))
    return std::move(error);
  OwningOpRef<ModuleOp> module;
  bool survived = runRecovering([&] {
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    module = parseSourceString<ModuleOp>(quoteMemorySpaces(body), config);
  });
  if (survived)
    return module;
  return unsupportedBody("a fault of its parser");
}

/// Restores names and verifies.
static LogicalResult restore(ModuleOp module) {
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    restoreName(op);
  return verify(module);
}

llvm::Expected<OwningOpRef<ModuleOp>> mosaic::readKernel(StringRef body,
                                                         MLIRContext &context) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  auto module = parse(body, context);
  if (!module)
    return module.takeError();
  if (!*module)
    return unsupportedBody(message);
  int64_t version = getInteger(**module, kVersion, 0);
  if (version > kNewestVersion)
    return unsupportedBody("version " + Twine(version));
  bool isVerified = false;
  if (!runRecovering([&] { isVerified = succeeded(restore(**module)); })) {
    (void)module->release(); // Which may be in any state.
    return unsupportedBody("a fault of its verifier");
  }
  if (!isVerified)
    return unsupportedBody(message);
  return module;
}
