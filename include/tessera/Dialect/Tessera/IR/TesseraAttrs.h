//===- TesseraAttrs.h - Attributes of the tessera dialect -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAATTRS_H
#define TESSERA_DIALECT_TESSERA_IR_TESSERAATTRS_H

#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraInterfaces.h"
#include "tessera/Layout/Target.h"

#include "mlir/IR/TensorEncoding.h"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h.inc"

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAATTRS_H
