//===- TesseraTypes.h - Types of the tessera dialect ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERATYPES_H
#define TESSERA_DIALECT_TESSERA_IR_TESSERATYPES_H

#include "mlir/IR/Types.h"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraTypes.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERATYPES_H
