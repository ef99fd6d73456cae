//===- Bytecode.cpp - Bytecode of kernels ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Bytecode.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Support/Nesting.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

/// Parts of a module, each as often as it stands there. Text has as many words.
static constexpr int64_t kMaxParts = int64_t(1) << 24;

namespace {
/// Looks at how deep regions, attributes and types are nested. Passes recurse
/// over them, this goes no deeper than kMaxNesting.
class NestingMeter {
public:
  bool fits(ModuleOp module) {
    add(module, 0);
    return depth <= kMaxNesting && parts <= kMaxParts;
  }

private:
  struct Extent {
    int64_t depth = 0, parts = 1;
  };

  void add(Operation *op, int64_t level);
  void add(const Extent &extent, int64_t level) {
    depth = std::max(depth, level + extent.depth);
    parts = std::min(parts + extent.parts, kMaxParts + 1);
  }
  /// Of an attribute or a type that is `level` deep in another.
  template <typename T> Extent measure(T element, int64_t level);

  llvm::DenseMap<const void *, Extent> known;
  int64_t depth = 0, parts = 0;
};
} // namespace

template <typename T>
NestingMeter::Extent NestingMeter::measure(T element, int64_t level) {
  Extent extent;
  if (!element || level > kMaxNesting)
    return {level, 1};
  auto [found, isNew] = known.try_emplace(element.getAsOpaquePointer());
  if (!isNew)
    return found->second;
  auto addPart = [&](auto part) {
    Extent inner = measure(part, level + 1);
    extent.depth = std::max(extent.depth, inner.depth + 1);
    extent.parts = std::min(extent.parts + inner.parts, kMaxParts + 1);
  };
  element.walkImmediateSubElements([&](Attribute part) { addPart(part); },
                                   [&](Type part) { addPart(part); });
  return known[element.getAsOpaquePointer()] = extent;
}

void NestingMeter::add(Operation *op, int64_t level) {
  add(Extent(), level);
  if (level > kMaxNesting)
    return;
  add(measure(op->getAttrDictionary(), 0), level);
  // Which is not printed.
  Extent ofLocation = measure(Attribute(op->getLoc()), 0);
  depth = std::max(depth, level + ofLocation.depth);
  for (Type type : op->getResultTypes())
    add(measure(type, 0), level);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Type type : block.getArgumentTypes())
        add(measure(type, 0), level);
      for (Operation &inner : block)
        add(&inner, level + 1);
    }
}

/// Erases what is nested too deep for a destructor, from the innermost
/// operations on.
static void eraseDeep(OwningOpRef<ModuleOp> module) {
  SmallVector<Operation *> ops = {module->getOperation()};
  for (size_t i = 0; i < ops.size(); ++i)
    for (Region &region : ops[i]->getRegions())
      for (Block &block : region)
        for (Operation &op : block)
          ops.push_back(&op);
  for (Operation *op : ArrayRef(ops).drop_front()) {
    op->dropAllUses();
    op->setOperands({});
  }
  for (Operation *op : llvm::reverse(ArrayRef(ops).drop_front()))
    op->erase();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::Expected<OwningOpRef<ModuleOp>>
tessera::readBytecode(StringRef bytecode, MLIRContext &context) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module;
  bool survived = runRecovering([&] {
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    module = parseSourceString<ModuleOp>(bytecode, config);
  });
  if (!survived)
    message = "a fault of its reader";
  else if (message.empty())
    message = "no module";
  if (!survived || !module)
    return unsupportedError("kernel body", "bytecode that MLIR 22 reads",
                            message);
  if (NestingMeter().fits(*module))
    return module;
  eraseDeep(std::move(module));
  return unsupportedError("kernel body",
                          "at most " + llvm::Twine(kMaxNesting) +
                              " levels of regions and attributes, and " +
                              llvm::Twine(kMaxParts) + " parts",
                          "more");
}

llvm::Expected<std::string> tessera::printBytecode(StringRef bytecode) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  auto module = readBytecode(bytecode, context);
  if (!module)
    return module.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  // What is not verified is printed in the generic form.
  (*module)->getOperation()->print(
      os, OpPrintingFlags().assumeVerified().printGenericOpForm());
  return text;
}
