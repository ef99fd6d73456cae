//===- tessera-c/Passes.h - The passes in C -----------------------*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes and pipelines are built from their text, by
// mlirOpPassManagerAddPipeline or mlirParsePassPipeline of mlir-c/Pass.h:
// "builtin.module(tessera-to-affine)".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_PASSES_H
#define TESSERA_C_PASSES_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds all passes and pipelines of the project to MLIR's global registry,
/// under the names that tessera-opt has options for. Further calls, from any
/// thread, do nothing. Pipelines name upstream's passes by their classes, so
/// mlirRegisterAllPasses is not needed for them.
MLIR_CAPI_EXPORTED void tesseraRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_PASSES_H
