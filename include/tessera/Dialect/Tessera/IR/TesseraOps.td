//===- TesseraOps.td - Operations of the tessera dialect ---*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAOPS_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERAOPS_TD

include "tessera/Dialect/Tessera/IR/TesseraCopyOps.td"
include "tessera/Dialect/Tessera/IR/TesseraIndexOps.td"
include "tessera/Dialect/Tessera/IR/TesseraOpBase.td"

//===----------------------------------------------------------------------===//
// relayout
//===----------------------------------------------------------------------===//

def Tessera_RelayoutOp : Tessera_Op<"relayout", [
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    Tessera_ReifyShapes]> {
  let summary = "the same array in another layout or memory space";
  let description = [{
    The tensor form gives the operand's logical value in the layout and the
    memory space of the result type. The memref form, with `into`, writes the
    elements of the source to their positions in the destination; the two buffers
    do not overlap.

    Where the layout of the result or destination promises a padding value (PV),
    all its padding holds that value afterwards. Other padding is unspecified.

    Rules:

    * `relayout_c1`: a tensor has a result and no destination; a memref has a
      destination, which is a memref, and no result.
    * `relayout_c2`: dimensions are equal, dynamic ones dynamic on both sides.
    * `relayout_c3`: element types are equal.
    * The layout of each side satisfies the rules of the notation against its
      dimensions and element type.

    Example:

    ```mlir
    %tiled = tessera.relayout %rows
        : tensor<40x256xf32>
        to tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
    tessera.relayout %src into %dst
        : memref<40x256xf32>,
          memref<40x256xf32, #tessera.layout<{0,1}>, #tessera.memory_space<1>>
    ```

    A relayout of a constant is the constant in the other layout, in the same
    memory space, if its buffer has at most 2^24 positions or equal elements.

    A relayout to its own type folds to its operand. A relayout of a relayout
    becomes one, unless the space in the middle differs from the spaces of both
    ends: a move between memory spaces is never canonicalized away.
  }];
  let arguments = (ins
    Arg<Tessera_TensorOrMemRef, "the array to be read">:$source,
    Arg<Optional<AnyMemRef>, "where the memref form writes to">:$destination);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $source (`into` $destination^)? attr-dict
    `:` type($source) (`to` type($result)^)? (`,` type($destination)^)?
  }];
  let builders = [
    OpBuilder<(ins "::mlir::RankedTensorType":$resultType,
                   "::mlir::Value":$source), [{
      build($_builder, $_state, resultType, source, ::mlir::Value());
    }]>,
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$destination), [{
      build($_builder, $_state, ::mlir::Type(), source, destination);
    }]>
  ];
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
  }];
  let hasCanonicalizer = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

def Tessera_BitcastOp : Tessera_Op<"bitcast", [
    Pure, Tessera_ReifyShapes]> {
  let summary = "the same bytes, read with another shape and layout";
  let description = [{
    Reads the buffer of the operand with another shape, layout, and element
    type. Nothing is moved: a transposition, a reshape, or the first columns of
    an array can be a bitcast, if the layouts suit.

    Dynamic sizes of the result are those of the operand, in order.

    Rules:

    * `bitcast_c1`: the buffers have the same number of bits; every position that
      the result reads as an element is an element's position in the operand; the
      result promises no padding value that the operand does not promise. The
      message has a witness: an element of the result and its position.
    * `bitcast_c2`: memory spaces are equal. Inside fused computations of HLO,
      where the spaces of intermediate values are not kept, they may differ: the
      attribute `fused` says so.
    * `bitcast_c3`: operand and result have as many dynamic dimensions.

    Where bitcast_c1 cannot be decided (sizes are dynamic, or too large for the
    question to be settled by enumeration), the operation is accepted.

    Example:

    ```mlir
    %t = tessera.bitcast %a
        : tensor<8x32xf32, #tessera.layout<{1,0}>>
        to tensor<32x8xf32, #tessera.layout<{0,1}>>
    %s = tessera.bitcast %b fused
        : tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
        to tensor<40x200xf32, #tessera.layout<{1,0:T(8,128)S(1)}>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, UnitAttr:$fused);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`fused` $fused^)? attr-dict `:` type($source) `to` type($result)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

def Tessera_ReshapeOp : Tessera_Op<"reshape", [Pure, Tessera_ReifyShapes]> {
  let summary = "the row-major logical reshape, between any two layouts";
  let description = [{
    The elements of the operand, listed in row-major order of its logical
    indices, in a tensor of other dimensions. Layouts and memory spaces of both
    sides are free: they say where the elements lie, not which they are.

    At most one dimension of the result is dynamic; its size is what the others
    leave of the number of elements.

    Rules:

    * `reshape_c1`: element types are equal.
    * `reshape_c2`: static shapes have the same number of elements.
    * `reshape_c3`: at most one dimension of the result is dynamic, and then
      none has size 0.

    Example:

    ```mlir
    %b = tessera.reshape %a
        : tensor<8x6x128xf32, #tessera.layout<{2,1,0:T(8,128)}>>
        to tensor<48x128xf32, #tessera.layout<{1,0:T(8,128)}>>
    ```

    A reshape to the same dimensions is a relayout.
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasCanonicalizer = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// assume_layout
//===----------------------------------------------------------------------===//

def Tessera_AssumeLayoutOp : Tessera_Op<"assume_layout",
    [Pure, Tessera_ReifyShapes]> {
  let summary = "pins a layout here";
  let description = [{
    The operand's logical value in the layout of the result, like
    `tessera.relayout`; but passes that choose layouts keep the result's as it
    is written. So it does not fold to its operand, and goes when buffers are
    made.

    Rules:

    * `assume_layout_c1`: dimensions are equal, dynamic ones dynamic on both
      sides.
    * `assume_layout_c2`: element types are equal.
    * `assume_layout_c3`: the result has a layout.

    Example:

    ```mlir
    %b = tessera.assume_layout %a
        : tensor<4096x512xf32>
        to tensor<4096x512xf32, #tessera.layout<{0,1:T(8,128)}>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// empty
//===----------------------------------------------------------------------===//

def Tessera_EmptyOp : Tessera_Op<"empty", [
    Pure, Tessera_ReifyShapes]> {
  let summary = "a tensor of a layout, to be written";
  let description = [{
    A tensor whose elements are unspecified. It stands for memory in the layout
    and the memory space of its type; if the layout promises a padding value,
    the padding holds it. Operands are the sizes of the dynamic dimensions, in
    elements, in order.

    Rules:

    * `empty_c1`: there are as many operands as dynamic dimensions.

    Example:

    ```mlir
    %e = tessera.empty(%n)
        : tensor<?x256xf32, #tessera.layout<{1,0:T(8,128)}>>
    ```
  }];
  let arguments = (ins Variadic<Index>:$dynamicSizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`(` $dynamicSizes `)` attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Static and dynamic sizes, one for each dimension.
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedSizes();
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// physical_view
//===----------------------------------------------------------------------===//

def Tessera_PhysicalViewOp : Tessera_Op<"physical_view", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "a memref seen as its physical memref";
  let description = [{
    The memory of the operand as it lies: a memref whose shape is the extents of
    the axes, padding included, with the identity layout and the operand's
    memory space. It has the operand's element type, except that

    * with `L` it is flat and has all elements of the buffer,
    * when elements share bytes by `E`, it is flat and of bytes,
    * when `E` gives an element more bytes than it needs, it is of integers that
      wide.

    Rules:

    * `physical_view_c1`: the type of the result is the physical type of the
      operand.

    Example:

    ```mlir
    %p = tessera.physical_view %m
        : memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>
        to memref<5x2x8x128xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let extraClassDeclaration = [{
    /// Any type may be written; the verifier compares (physical_view_c1).
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) {
      return true;
    }
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// bitcast_view
//===----------------------------------------------------------------------===//

def Tessera_BitcastViewOp : Tessera_Op<"bitcast_view", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "a buffer seen with another shape and layout";
  let description = [{
    What `tessera.bitcast` becomes on memory: a view of the operand's buffer as
    an array of another shape, layout and element type. Every position of an
    element of the result is the position of an element of the operand.

    Dynamic sizes of the result are those of the operand, in order.

    Rules:

    * `bitcast_view_c1`: as `bitcast_c1` of `tessera.bitcast`.
    * `bitcast_view_c2`: memory spaces are equal.
    * `bitcast_view_c3`: operand and result have as many dynamic dimensions.

    Example:

    ```mlir
    %t = tessera.bitcast_view %m
        : memref<8x32xf32> to memref<32x8xf32, #tessera.layout<{0,1}>>
    ```
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// fill_padding
//===----------------------------------------------------------------------===//

def Tessera_FillPaddingOp : Tessera_Op<"fill_padding"> {
  let summary = "writes the promised padding value into all padding";
  let description = [{
    Makes the promise of the layout's padding value (PV) true: all positions of the
    buffer that hold no element hold that value afterwards. Elements are not
    touched. Buffers of `tessera.empty` start so.

    Rules:

    * `fill_padding_c1`: the layout promises a padding value.

    Example:

    ```mlir
    tessera.fill_padding %m
        : memref<5x3xf32, #tessera.layout<{1,0:T(8,128)PV(zero)}>>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the buffer", [MemWrite]>:$destination);
  let assemblyFormat = "$destination attr-dict `:` type($destination)";
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAOPS_TD
