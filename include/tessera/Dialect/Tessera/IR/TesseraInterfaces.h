//===- TesseraInterfaces.h - What passes need of a layout -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAINTERFACES_H
#define TESSERA_DIALECT_TESSERA_IR_TESSERAINTERFACES_H

#include "tessera/Layout/AxisList.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"

#include "tessera/Dialect/Tessera/IR/TesseraInterfaces.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAINTERFACES_H
