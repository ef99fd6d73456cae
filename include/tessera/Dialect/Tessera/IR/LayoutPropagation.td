//===- LayoutPropagation.td - How layouts pass through -----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_TD
#define TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_TD

include "mlir/IR/OpBase.td"

def Tessera_LayoutPropagationOpInterface
    : OpInterface<"LayoutPropagationOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    How layouts pass through an operation. A *tie* is a set of operands, and of
    results or block arguments, that have one encoding, which may be any. Ties
    that share something are one. What is in no tie keeps its type.

    A tie of a single operand says that the operation reads any layout; one of
    a single result that it gives any. What is in two ties may be joined by a
    *relation*: a layout of one makes a layout of the other worth a try, and
    the operation may have to move bytes where the two do not agree.

    Operations need no model that are `ElementwiseMappable` (their tensors are
    one tie), structured (`LinalgOp`), that implement `BranchOpInterface` or `RegionBranchOpInterface`
    (what is handed on and what it is handed to have one encoding), nor calls
    and functions.
  }];
  let methods = [
    InterfaceMethod<"The ties of this operation.",
      "::llvm::SmallVector<::tessera::LayoutTie>", "getLayoutTies", (ins)>,
    InterfaceMethod<"What joins operands and results in different ties.",
      "::std::vector<::tessera::LayoutRelation>", "getLayoutRelations",
      (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
}

#endif // TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_TD
