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

#include "tessera/Support/Nesting.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CrashRecoveryContext.h"

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

/// The module as it is written, or null.
static OwningOpRef<ModuleOp> parse(StringRef body, MLIRContext &context) {
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (body.starts_with("ML\xefR"))
    return parseSourceString<ModuleOp>(body, config);
  return parseSourceString<ModuleOp>(quoteMemorySpaces(body), config);
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

/// Reads and verifies; null where that fails, with a message or none.
static OwningOpRef<ModuleOp> readModule(StringRef body, MLIRContext &context,
                                        std::string &message) {
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parse(body, context);
  if (!module)
    return {};
  auto version = (*module)->getAttrOfType<IntegerAttr>(kVersion);
  if (version && version.getInt() > kNewestVersion) {
    message = "version " + std::to_string(version.getInt());
    return {};
  }
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    restoreName(op);
  return succeeded(verify(*module)) ? std::move(module)
                                    : OwningOpRef<ModuleOp>();
}

llvm::Expected<OwningOpRef<ModuleOp>> mosaic::readKernel(StringRef body,
                                                         MLIRContext &context) {
  if (!body.starts_with("ML\xefR"))
    if (llvm::Error error = checkParsable(body))
      return std::move(error);
  OwningOpRef<ModuleOp> module;
  std::string message;
  // The reader of bytecode ends the process for some that is damaged.
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool survived =
      recovery.RunSafely([&] { module = readModule(body, context, message); });
  llvm::CrashRecoveryContext::Disable();
  if (survived && module)
    return module;
  return unsupportedError("kernel body",
                          "a module of Mosaic that MLIR 22 reads, of version " +
                              Twine(kNewestVersion) + " or before",
                          !survived         ? "a fault of its reader"
                          : message.empty() ? "no module"
                                            : message);
}
