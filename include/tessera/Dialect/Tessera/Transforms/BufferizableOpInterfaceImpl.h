//===- BufferizableOpInterfaceImpl.h - Buffers of tensors -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define TESSERA_DIALECT_TESSERA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::bufferization {
struct OneShotBufferizationOptions;
} // namespace mlir::bufferization

namespace tessera {

/// Lets One-Shot Bufferize take the operations of the dialect.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

/// Options under which buffers keep layouts and memory spaces: function
/// boundaries are bufferized, and every tensor of unknown origin gets the
/// memref of its own type.
mlir::bufferization::OneShotBufferizationOptions getBufferizationOptions();

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
