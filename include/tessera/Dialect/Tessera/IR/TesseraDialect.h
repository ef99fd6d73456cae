//===- TesseraDialect.h - The tessera dialect -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERADIALECT_H
#define TESSERA_DIALECT_TESSERA_IR_TESSERADIALECT_H

#include "mlir/IR/Dialect.h"

#include "tessera/Dialect/Tessera/IR/TesseraDialect.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERADIALECT_H
