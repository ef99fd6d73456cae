//===- InitAll.h - Everything of Tessera for a tool -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INITALL_H
#define TESSERA_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Adds the dialects of the project.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Adds the implementations of upstream's interfaces that the project has
/// beside its dialects.
void registerAllExtensions(mlir::DialectRegistry &registry);

/// Adds the passes and pipelines of the project to the global registry.
void registerAllPasses();

} // namespace tessera

#endif // TESSERA_INITALL_H
