//===- TesseraOpBase.td - What operations of the dialect share *- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAOPBASE_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERAOPBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "tessera/Dialect/Tessera/IR/TesseraDialect.td"

class Tessera_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tessera_Dialect, mnemonic, traits>;

/// Dynamic sizes of results in terms of operands.
def Tessera_ReifyShapes : DeclareOpInterfaceMethods<
    ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>;

def Tessera_TensorOrMemRef : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAOPBASE_TD
