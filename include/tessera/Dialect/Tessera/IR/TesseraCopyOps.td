//===- TesseraCopyOps.td - Asynchronous moves between memory spaces *- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERACOPYOPS_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERACOPYOPS_TD

include "tessera/Dialect/Tessera/IR/TesseraOpBase.td"
include "tessera/Dialect/Tessera/IR/TesseraTypes.td"

//===----------------------------------------------------------------------===//
// copy_start
//===----------------------------------------------------------------------===//

def Tessera_CopyStartOp : Tessera_Op<"copy_start", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    Tessera_ReifyShapes]> {
  let summary = "starts an asynchronous move between layouts or memory spaces";
  let description = [{
    A relayout that runs beside what follows, until the `tessera.copy_done` that
    takes its token. In the tensor form the result is not read before that. In
    the memref form, with `into`, the source is not written, and the destination
    neither read nor written before that.

    Rules:

    * `copy_start_c1`: a tensor has a result and no destination; a memref has a
      destination, which is a memref, and no result besides the token.
    * `copy_start_c2`: dimensions and element types are equal.
    * `copy_start_c3`: the token is used once, by a `tessera.copy_done` in the
      same region, which all paths from here reach once.
    * `copy_start_c4`: between the two, no operation of the region (nor one in
      an operation's regions) uses the result. What uses memory before that is
      for `--tessera-verify` (`verify_c5`).

    Example:

    ```mlir
    %b, %t = tessera.copy_start %a
        : tensor<8x128xf32> to tensor<8x128xf32, #tessera.layout<{1,0:S(1)}>>
    tessera.copy_done %t
    %u = tessera.copy_start %src into %dst
        : memref<8x128xf32>, memref<8x128xf32, #tessera.memory_space<1>>
    tessera.copy_done %u
    ```
  }];
  let arguments = (ins
    Arg<Tessera_TensorOrMemRef, "the array to be read">:$source,
    Arg<Optional<AnyMemRef>, "where the memref form writes to">:$destination);
  let results = (outs
    Optional<AnyRankedTensor>:$result,
    Tessera_CopyTokenType:$token);
  let assemblyFormat = [{
    $source (`into` $destination^)? attr-dict
    `:` type($source) (`to` type($result)^)? (`,` type($destination)^)?
  }];
  let extraClassDeclaration = [{
    /// Whether this is the form that works on values, not on memory.
    bool isTensorForm() { return !getDestination(); }
    ::mlir::ShapedType getSourceType() {
      return ::llvm::cast<::mlir::ShapedType>(getSource().getType());
    }
    /// The type of the result or of the destination.
    ::mlir::ShapedType getTargetType() {
      ::mlir::Value target = isTensorForm() ? ::mlir::Value(getResult())
                                            : ::mlir::Value(getDestination());
      return ::llvm::cast<::mlir::ShapedType>(target.getType());
    }
    /// The operation that awaits the copy.
    ::tessera::CopyDoneOp getDone();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// copy_done
//===----------------------------------------------------------------------===//

def Tessera_CopyDoneOp : Tessera_Op<"copy_done", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "awaits an asynchronous move";
  let description = [{
    The elements are at their positions after it.

    Rules:

    * `copy_done_c1`: the token comes from a `tessera.copy_start`.

    Example:

    ```mlir
    %b, %t = tessera.copy_start %a
        : tensor<8x128xf32> to tensor<8x128xf32, #tessera.layout<{1,0:S(1)}>>
    tessera.copy_done %t
    ```
  }];
  let arguments = (ins Tessera_CopyTokenType:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERACOPYOPS_TD
