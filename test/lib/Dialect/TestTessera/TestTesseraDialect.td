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
include "mlir/IR/TensorEncoding.td"
include "tessera/Dialect/Tessera/IR/TesseraInterfaces.td"

def TestTessera_Dialect : Dialect {
  let name = "test_tessera";
  let summary = "What tests need beside the tessera dialect";
  let cppNamespace = "::tessera::test";
  let useDefaultAttributePrinterParser = 1;
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

#endif // TESSERA_TEST_TESTTESSERADIALECT_TD
