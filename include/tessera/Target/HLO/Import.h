//===- Import.h - HLO text into MLIR ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HLO text becomes a module of functions: docs/hlo.md, "Import and export".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TARGET_HLO_IMPORT_H
#define TESSERA_TARGET_HLO_IMPORT_H

#include "tessera/HLO/Module.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

struct ImportHLOOptions {
  /// Every instruction becomes a `tessera_hlo.instruction`, those too that the
  /// tessera dialect has an operation for; a text is not verified, but parsed.
  bool raw = false;
};

/// The module of a parsed text. `fileName` is what locations say. It never
/// fails; what breaks a rule of the dialects (a bitcast that moves bytes, an
/// elementwise operation whose layouts differ) is left to the verifier. The
/// dialects are loaded.
mlir::OwningOpRef<mlir::ModuleOp> importHLO(const hlo::Module &module,
                                            llvm::StringRef fileName,
                                            mlir::MLIRContext *context,
                                            ImportHLOOptions options = {});

/// Parses and verifies `text`, a module or a single instruction, and imports
/// it. All errors are emitted, with line and column; the result is then null.
mlir::OwningOpRef<mlir::ModuleOp> importHLO(llvm::StringRef text,
                                            llvm::StringRef fileName,
                                            mlir::MLIRContext *context,
                                            ImportHLOOptions options = {});

} // namespace tessera

#endif // TESSERA_TARGET_HLO_IMPORT_H
