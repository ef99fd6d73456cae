//===- Bytecode.cpp - Bytecode of kernels as text -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Bytecode.h"

#include "tessera/Layout/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

/// Errors of the reader go to `messages`.
static std::string printModule(llvm::StringRef bytecode,
                               std::string &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (messages.empty())
                                            messages = diagnostic.str();
                                          return mlir::success();
                                        });
  // What is not verified is printed in the generic form.
  mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(bytecode, config);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (module)
    module->getOperation()->print(
        os, mlir::OpPrintingFlags().assumeVerified().printGenericOpForm());
  return text;
}

llvm::Expected<std::string> tessera::printBytecode(llvm::StringRef bytecode) {
  std::string text, messages;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool survived =
      recovery.RunSafely([&] { text = printModule(bytecode, messages); });
  llvm::CrashRecoveryContext::Disable();
  if (survived && !text.empty())
    return text;
  return unsupportedError("kernel body", "bytecode that MLIR 22 reads",
                          !survived          ? "a fault of its reader"
                          : messages.empty() ? "no module"
                                             : messages);
}
