//===- TesseraOps.h - Operations of the tessera dialect ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAOPS_H
#define TESSERA_DIALECT_TESSERA_IR_TESSERAOPS_H

#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"
#include "tessera/Dialect/Tessera/IR/TesseraTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraOps.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAOPS_H
