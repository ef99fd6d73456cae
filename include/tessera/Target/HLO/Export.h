//===- Export.h - MLIR into HLO text ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way back from functions to HLO text: docs/hlo.md, "Import and export".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TARGET_HLO_EXPORT_H
#define TESSERA_TARGET_HLO_EXPORT_H

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Writes `module` as HLO text. Names that are missing or no longer unique are
/// made up. What was imported and not changed gives the text of the same HLO
/// module again, which XLA prints identically.
///
/// Errors are emitted, and nothing is written: *unsupported* for operations and
/// types that HLO has no instruction for, *invalid* where the text would not be
/// a legal module.
mlir::LogicalResult exportHLO(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_TARGET_HLO_EXPORT_H
