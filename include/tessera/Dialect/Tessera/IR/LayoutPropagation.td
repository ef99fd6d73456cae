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
    How layouts pass through an operation. It is a set of ties: operands, and
    results or block arguments, that have one encoding, which may be any. What
    is in no tie keeps its type. Operands of the terminators of an operation's
    regions are tied by the operation.

    A tie of a single operand says that the operation reads any layout; one of
    a single result that it gives any. Operations that are `ElementwiseMappable`
    need no model: their tensors are one tie.
  }];
  let methods = [
    InterfaceMethod<[{
        The ties of this operation. Nothing is in two of them.
      }],
      "::llvm::SmallVector<::tessera::LayoutTie>", "getLayoutTies", (ins)>,
  ];
}

#endif // TESSERA_DIALECT_TESSERA_IR_LAYOUTPROPAGATION_TD
