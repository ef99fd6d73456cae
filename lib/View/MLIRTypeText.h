//===- MLIRTypeText.h - MLIR's types as shapes ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads `tensor<16x130xf32, #tessera.layout<{1,0:T(8,128)}>>` as the text of a
// shape. This library knows no MLIR, and needs none for that: the grammar of
// such types is small, and aliases are not known here in any case.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VIEW_MLIRTYPETEXT_H
#define TESSERA_LIB_VIEW_MLIRTYPETEXT_H

#include "tessera/Layout/Shape.h"

namespace tessera {

/// Whether a text begins as a tensor, memref or vector type does.
bool startsMLIRType(llvm::StringRef text);

/// The shape of a type, which is the whole text. Errors: *unsupported* for
/// other encodings than `#tessera.layout<...>`, and for element types that XLA
/// does not have.
llvm::Expected<Shape> parseMLIRType(llvm::StringRef text);

/// The type that begins at `offset`, which is moved behind it.
llvm::Expected<Shape> parseMLIRTypePrefix(llvm::StringRef text, size_t &offset);

} // namespace tessera

#endif // TESSERA_LIB_VIEW_MLIRTYPETEXT_H
