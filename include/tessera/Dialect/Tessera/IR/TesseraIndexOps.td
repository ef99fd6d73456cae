//===- TesseraIndexOps.td - Positions in memory as numbers -*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAINDEXOPS_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERAINDEXOPS_TD

include "tessera/Dialect/Tessera/IR/TesseraOpBase.td"

//===----------------------------------------------------------------------===//
// linearize_index
//===----------------------------------------------------------------------===//

def Tessera_LinearizeIndexOp : Tessera_Op<"linearize_index",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "the position of an element in the buffer of an array";
  let description = [{
    The position, in elements from the start of the buffer, of the element at a
    logical index of an array of the given type. All tiles count, and padding
    does. Indices are within the dimensions; the result is unspecified if they
    are not.

    Sizes of dynamic dimensions without a bound follow the type, in elements.

    Rules:

    * `linearize_index_c1`: there is an index for each dimension.
    * `linearize_index_c2`: there is a size for each dynamic dimension without a
      bound.

    Example:

    ```mlir
    %p = tessera.linearize_index %i, %j
        in tensor<3x5xf32, #tessera.layout<{1,0:T(2,2)}>>
    %q = tessera.linearize_index %i, %j
        in memref<?x5xf32, #tessera.layout<{0,1:T(2,2)}>>(%n)
    ```

    Constants fold: index (2, 3) in the first type is position 17.
  }];
  let arguments = (ins
    Variadic<Index>:$indices,
    TypeAttrOf<Tessera_TensorOrMemRef>:$arrayType,
    Variadic<Index>:$sizes);
  let results = (outs Index:$position);
  let assemblyFormat = "$indices `in` $arrayType (`(` $sizes^ `)`)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::ShapedType getShapedType() {
      return ::llvm::cast<::mlir::ShapedType>(getArrayType());
    }
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// delinearize_index
//===----------------------------------------------------------------------===//

def Tessera_DelinearizeIndexOp : Tessera_Op<"delinearize_index", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the element at a position in the buffer of an array";
  let description = [{
    The inverse of `tessera.linearize_index`: the logical index of the element
    at a position, in elements from the start of the buffer, and whether there
    is one. On padding, the tail by `L` included, `valid` is false and the
    indices are unspecified. The position is within the buffer; the results are
    unspecified if it is not. A bounded dimension counts with its bound.

    Sizes of dynamic dimensions without a bound follow the type, in elements.

    Rules:

    * `delinearize_index_c1`: there is an index result for each dimension.
    * `delinearize_index_c2`: there is a size for each dynamic dimension without
      a bound.

    Example:

    ```mlir
    %i:2, %valid = tessera.delinearize_index %p
        in tensor<3x5xf32, #tessera.layout<{1,0:T(2,2)}>>
    ```
  }];
  let arguments = (ins
    Index:$position,
    TypeAttrOf<Tessera_TensorOrMemRef>:$arrayType,
    Variadic<Index>:$sizes);
  let results = (outs Variadic<Index>:$indices, I1:$valid);
  let assemblyFormat = "$position `in` $arrayType (`(` $sizes^ `)`)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::ShapedType getShapedType() {
      return ::llvm::cast<::mlir::ShapedType>(getArrayType());
    }
    /// The verifier compares the number of results (delinearize_index_c1).
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) {
      return true;
    }
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// storage_size
//===----------------------------------------------------------------------===//

def Tessera_StorageSizeOp : Tessera_Op<"storage_size", [Pure]> {
  let summary = "the bytes of an array's buffer";
  let description = [{
    All bytes that the operand takes, padding and the tail by `L` included, by
    its layout and the width of its elements. A constant where sizes are static
    or bounded.

    Rules: those of the layout against the element type.

    Example:

    ```mlir
    %n = tessera.storage_size %a
        : tensor<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
    ```
  }];
  let arguments = (ins Tessera_TensorOrMemRef:$source);
  let results = (outs Index:$bytes);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAINDEXOPS_TD
