//===- TesseraTypes.td - Types of the tessera dialect ------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERATYPES_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERATYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "tessera/Dialect/Tessera/IR/TesseraDialect.td"

def Tessera_CopyTokenType : TypeDef<Tessera_Dialect, "CopyToken"> {
  let mnemonic = "copy_token";
  let summary = "an asynchronous copy under way";
  let description = [{
    What `tessera.copy_start` gives and `tessera.copy_done` awaits.
  }];
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERATYPES_TD
