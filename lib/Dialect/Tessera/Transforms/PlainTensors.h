//===- PlainTensors.h - Where upstream lays out buffers ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_PLAINTENSORS_H
#define TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_PLAINTENSORS_H

#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Of a buffer: that of its space on the target, where there is one, but at
/// least `alignment`.
int64_t getBufferAlignment(TargetAttr target, mlir::MemRefType type,
                           int64_t alignment);

/// Makes of constants with layouts globals of memrefs with layouts, and gives
/// tensors without layouts to all operations whose bufferization knows plain
/// buffers only; relayouts stand around these. Returns how many there were;
/// fails, with an error, at an operation that takes no such tensors.
mlir::FailureOr<int64_t>
makeTensorsPlain(mlir::ModuleOp module,
                 const mlir::bufferization::BufferizationOptions &options);

} // namespace tessera

#endif // TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_PLAINTENSORS_H
