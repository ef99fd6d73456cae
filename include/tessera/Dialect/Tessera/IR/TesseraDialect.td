//===- TesseraDialect.td - The tessera dialect -------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERADIALECT_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERADIALECT_TD

include "mlir/IR/OpBase.td"

def Tessera_Dialect : Dialect {
  let name = "tessera";
  let summary = "The layout of arrays in memory, in XLA's notation";
  let description = [{
    The dialect makes the layout of an array in memory a part of its type, and
    has the operations that move data between layouts, reinterpret it, and
    compute with positions in memory. It computes no values: that is left to
    `linalg`, `arith`, `tensor` and others on tensors whose encoding is a layout.

    A layout is XLA's text between the braces, unchanged:

    ```mlir
    tensor<32x32x4096xbf16, #tessera.layout<{2,1,0:T(8,128)(2,1)S(1)}>>
    memref<32x32x4096xbf16, #tessera.layout<{2,1,0:T(8,128)(2,1)}>,
           #tessera.memory_space<1>>
    ```

    On a tensor the memory space `S(n)` is part of the layout. On a memref it is
    the memory space of the type. A type without a layout is laid out in
    descending order (`{1,0}` for two dimensions), without tiles, in space 0; an
    explicit `{1,0}` is another type with the same bytes.

    | element type in XLA | in MLIR |
    |---|---|
    | `pred` | `i1`, stored as a byte that is 0 or 1 |
    | `s1`; `s2` ... `s64` | `si1`; `i2` ... `i64` |
    | `u1` ... `u64` | `ui1` ... `ui64` |
    | `f16 bf16 f32 f64`, `f8...`, `f4e2m1fn` | the builtin type of that name |
    | `c64 c128` | `complex<f32>`, `complex<f64>` |

    Other element types (`index`, vectors, ...) have no layout.

    Messages are of two kinds. *invalid* is said by a verifier: the IR breaks a
    rule. *unsupported* is said where the IR is right, but a thing is not done
    here. Rules have labels, such as `relayout_c2`, which stand at the end of
    the message.
  }];
  let cppNamespace = "::tessera";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  // The notation is not made of MLIR tokens, so the dialect hands the text of
  // these attributes to the one parser of layouts.
  let useDefaultAttributePrinterParser = 0;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;

  private:
    void registerAttributes();
    void registerTypes();

  public:
  }];
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERADIALECT_TD
