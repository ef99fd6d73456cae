//===- TestTesseraDialect.td - A layout of somebody else's -*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_TESTTESSERADIALECT_TD
#define TESSERA_TEST_TESTTESSERADIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "tessera/Dialect/Tessera/IR/TesseraInterfaces.td"

def TestTessera_Dialect : Dialect {
  let name = "test_tessera";
  let summary = "What tests need beside the tessera dialect";
  let cppNamespace = "::tessera::test";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Lets the operations bufferize.
    void attachProbeInterfaces();
  }];
}

def TestTessera_BlockedAttr : AttrDef<TestTessera_Dialect, "Blocked", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface>,
    DeclareAttrInterfaceMethods<Tessera_LayoutAttrInterface,
        ["getMemorySpaceNumber"]>]> {
  let mnemonic = "blocked";
  let summary = "blocks of a size for each dimension, in row-major order";
  let description = [{
    Takes part in everything that asks `LayoutAttrInterface`, and is not written
    in XLA's notation: it has a block size for each dimension, 1 for none, and
    a memory space.

    ```mlir
    tensor<40x256xf32, #test_tessera.blocked<[8, 128], 1>>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "block sizes">:$blocks,
    DefaultValuedParameter<"int64_t", "0", "memory space">:$space);
  let assemblyFormat = "`<` `[` $blocks `]` (`,` $space^)? `>`";
  let genVerifyDecl = 1;
}

def TestTessera_ProbeOp : Op<TestTessera_Dialect, "probe"> {
  let summary = "holds the buffer of a tensor to the layout of its type";
  let description = [{
    `--test-tessera-probe-buffers` puts one behind everything that defines a
    tensor with a layout. It bufferizes to a probe of the tensor's buffer that
    remembers the tensor's type, and is not valid unless the buffer has the
    memref type of that tensor. It neither reads nor writes, so that it changes
    nothing in what One-Shot Bufferize finds.

    ```mlir
    test_tessera.probe %tensor : tensor<2x3xi32, #tessera.layout<{0,1}>>
    ```
  }];
  let arguments = (ins
    AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$value,
    OptionalAttr<TypeAttrOf<AnyRankedTensor>>:$tensor);
  let assemblyFormat = "$value (`of` $tensor^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // TESSERA_TEST_TESTTESSERADIALECT_TD
