//===- TesseraHLOOps.td - Operations of tessera_hlo --------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLOOPS_TD
#define TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLOOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "tessera/Dialect/TesseraHLO/IR/TesseraHLOTypes.td"

def TesseraHLO_InstructionOp : Op<TesseraHLO_Dialect, "instruction", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "an instruction of HLO, kept as it is";
  let description = [{
    Any instruction of HLO but `parameter`: the name of its opcode, operands,
    and attributes with the text that HLO has for them. Attributes that name
    computations refer to their functions.

    Nothing is assumed of its effects.

    Rules:

    * `instruction_c1`: the opcode is one of HLO, or the asynchronous step of
      one (`all-reduce-start`).
    * `instruction_c2`: it has as many operands as the opcode takes.
    * `instruction_c3`: attributes are known to the opcode; each is a string, a
      reference to a function, or a list of references.
    * `instruction_c4`: where the opcode keeps layouts (elementwise operations,
      slices, concatenations, ...), operands of the result's rank have the
      result's layout, but for tiles, memory space and split configurations;
      `convert`, `compare` and the like may change the element size `E` too.
      Not in a module whose header has no `is_scheduled`: before layouts are
      assigned they need not be kept.
    * `instruction_c5`: functions that it refers to exist.
    * `instruction_c6`: a constant, and nothing else, has a literal.

    Example:

    ```mlir
    %y = tessera_hlo.instruction "fusion"(%x)
        {hlo_attributes = {calls = @fused, kind = "kLoop"}, name = "fusion.1"}
        : (tensor<8x128xf32, #tessera.layout<{1,0:T(8,128)}>>)
        -> tensor<8x128xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>
    ```
  }];
  let arguments = (ins
    StrAttr:$opcode,
    Variadic<TesseraHLO_Value>:$operands,
    OptionalAttr<StrAttr>:$literal,
    OptionalAttr<StrAttr>:$name,
    OptionalAttr<DictionaryAttr>:$hlo_attributes);
  let results = (outs TesseraHLO_Value:$result);
  let assemblyFormat = [{
    $opcode `(` $operands `)` (`literal` $literal^)? attr-dict
    `:` functional-type($operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLOOPS_TD
