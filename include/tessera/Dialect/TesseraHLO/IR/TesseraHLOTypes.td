//===- TesseraHLOTypes.td - Types of tessera_hlo -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLOTYPES_TD
#define TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLOTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "tessera/Dialect/TesseraHLO/IR/TesseraHLODialect.td"

class TesseraHLO_Type<string name, string typeMnemonic>
    : TypeDef<TesseraHLO_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def TesseraHLO_TokenType : TesseraHLO_Type<"Token", "token"> {
  let summary = "orders effects; `token[]` in HLO";
}

def TesseraHLO_OpaqueType : TesseraHLO_Type<"Opaque", "opaque"> {
  let summary = "a value of no known form; `opaque[]` in HLO";
}

def TesseraHLO_BufferType : TesseraHLO_Type<"Buffer", "buffer"> {
  let summary = "a buffer that holds an array; `b(f32[2]{0})` in HLO";
  let description = [{
    ```mlir
    !tessera_hlo.buffer<tensor<2xf32, #tessera.layout<{0}>>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$array);
  let assemblyFormat = "`<` $array `>`";
}

def TesseraHLO_Value : AnyTypeOf<[
    AnyRankedTensor, AnyTuple, TesseraHLO_TokenType, TesseraHLO_OpaqueType,
    TesseraHLO_BufferType]>;

#endif // TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLOTYPES_TD
