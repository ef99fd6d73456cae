//===- TestTesseraDialect.h - A layout of somebody else's -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_TESTTESSERADIALECT_H
#define TESSERA_TEST_TESTTESSERADIALECT_H

#include "tessera/Dialect/Tessera/IR/TesseraInterfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"

#include "TestTesseraDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "TestTesseraAttrs.h.inc"

#define GET_OP_CLASSES
#include "TestTesseraOps.h.inc"

namespace tessera::test {
/// Registers --test-tessera-probe-buffers and --test-tessera-erase-probes.
void registerTestPasses();
} // namespace tessera::test

#endif // TESSERA_TEST_TESTTESSERADIALECT_H
