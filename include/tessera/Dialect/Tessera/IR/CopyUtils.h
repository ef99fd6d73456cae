//===- CopyUtils.h - What runs beside a copy --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_COPYUTILS_H
#define TESSERA_DIALECT_TESSERA_IR_COPYUTILS_H

#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

namespace tessera {

/// The operations of the region that may run between `start` and the
/// tessera.copy_done that awaits it, which must be in the same region.
llvm::SmallVector<mlir::Operation *> getOperationsUnderWay(CopyStartOp start);

/// Whether `op` moves elements between memrefs of different layouts or strides:
/// a tessera.relayout with a destination, or a memref.copy that is one.
bool isRelayoutInMemory(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_IR_COPYUTILS_H
