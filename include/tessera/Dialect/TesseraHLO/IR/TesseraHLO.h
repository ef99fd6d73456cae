//===- TesseraHLO.h - The tessera_hlo dialect -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of HLO that are kept, not interpreted, and the types that are no
// arrays. Documentation: TesseraHLODialect.td.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLO_H
#define TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLO_H

#include "tessera/Layout/Shape.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLODialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLOTypes.h.inc"

#define GET_OP_CLASSES
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLOOps.h.inc"

namespace tessera::hlo {

/// The type of any shape: tensors with their layout as encoding, tuples, and
/// the dialect's types. A scalar without layout attributes has no encoding.
mlir::Type getType(mlir::MLIRContext *context, const Shape &shape);

/// The shape of such a type. Error: *unsupported* for other types.
llvm::Expected<Shape> getShape(mlir::Type type);

/// Whether `attributes` is a dictionary of HLO attributes: strings, references
/// to functions, and lists of references.
bool isAttributeDictionary(mlir::Attribute attributes);

} // namespace tessera::hlo

#endif // TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLO_H
