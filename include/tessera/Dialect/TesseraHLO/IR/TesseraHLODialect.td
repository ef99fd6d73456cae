//===- TesseraHLODialect.td - The tessera_hlo dialect ------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLODIALECT_TD
#define TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLODIALECT_TD

include "mlir/IR/OpBase.td"

def TesseraHLO_Dialect : Dialect {
  let name = "tessera_hlo";
  let summary = "Instructions of HLO that are kept, not interpreted";
  let description = [{
    What an HLO module says beyond layouts: one generic instruction, the types
    that are no arrays, and attributes for all that must come back when the
    module is written as HLO text again. Instructions that the `tessera` dialect
    has an operation for (`copy`, `bitcast`, ...) become that operation, and
    constants become `arith.constant`; the rest stays an instruction here until
    a user lowers it.

    A module in this form is a `builtin.module` in which every computation is a
    `func.func`. The entry computation is public, the others are private.

    Discardable attributes:

    | attribute | on | holds |
    |---|---|---|
    | `tessera_hlo.name` | operations, arguments | the instruction's name, without `%` |
    | `tessera_hlo.attributes` | operations, arguments, functions, the module | attributes of HLO, each as its text or as references to functions |
    | `tessera_hlo.context` | `tessera.copy_start` | the shape of the context in the tuple of `copy-start` |
    | `tessera_hlo.position` | arguments | the position of the parameter among the instructions; without it, its number |
    | `tessera_hlo.stack_frames` | the module | the tables that `stack_frame_id` of the metadata refers to |
    | `tessera_hlo.single_instruction` | the module | the text was one instruction, and its operands are the arguments |

    They have the rule:

    * `attributes_c1`: names and contexts are strings; attributes are a dictionary of
      strings, references to functions, and lists of them; a position is an
      integer that is not negative.
  }];
  let cppNamespace = "::tessera::hlo";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::tessera::TesseraDialect"
  ];
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getNameAttrName() { return "tessera_hlo.name"; }
    static ::llvm::StringRef getAttributesAttrName() {
      return "tessera_hlo.attributes";
    }
    static ::llvm::StringRef getPositionAttrName() {
      return "tessera_hlo.position";
    }
    static ::llvm::StringRef getContextAttrName() {
      return "tessera_hlo.context";
    }
    static ::llvm::StringRef getStackFramesAttrName() {
      return "tessera_hlo.stack_frames";
    }
    static ::llvm::StringRef getSingleInstructionAttrName() {
      return "tessera_hlo.single_instruction";
    }

  private:
    void registerTypes();

  public:
  }];
}

#endif // TESSERA_DIALECT_TESSERAHLO_IR_TESSERAHLODIALECT_TD
