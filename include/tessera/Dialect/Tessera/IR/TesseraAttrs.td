//===- TesseraAttrs.td - Attributes of the tessera dialect -*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAATTRS_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERAATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "tessera/Dialect/Tessera/IR/TesseraDialect.td"
include "tessera/Dialect/Tessera/IR/TesseraInterfaces.td"

class Tessera_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tessera_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Tessera_LayoutAttr : Tessera_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface,
        ["isIdentity", "verifyLayout", "getStridesAndOffset"]>,
    DeclareAttrInterfaceMethods<Tessera_LayoutAttrInterface,
        ["getStorageBits", "getMemorySpaceNumber", "getPaddingValue",
         "asLayout"]>]> {
  let summary = "how an array lies in memory, in XLA's notation";
  let description = [{
    The encoding of a tensor or the layout of a memref. Between the angle
    brackets stands the text that XLA writes behind the dimensions of a shape:
    dimensions from the fastest varying to the slowest, then the attributes.

    ```mlir
    // Rows in memory order, in tiles of 8 by 128, pairs of rows interleaved.
    tensor<4096x512xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
    // Column-major, every column 5 elements long and padded with zeros.
    tensor<3x2xf32, #tessera.layout<{0,1:PD(5,2)PV(zero)}>>
    // At most eight rows; the buffer has the size of eight.
    tensor<?x3xf32, #tessera.layout<{1,0:B(8,?)}>>
    // The same buffer, of which five rows are used.
    tensor<5x3xf32, #tessera.layout<{1,0:B(8,?)}>>
    // A scalar that takes a whole tile.
    tensor<f32, #tessera.layout<{:T(256)}>>
    ```

    As a memref's layout, the affine map lists the axes: for `{1,0:T(8,128)}` it
    is `(d0, d1) -> (d0 floordiv 8, d1 floordiv 128, d0 mod 8, d1 mod 128)`.
    Strides are known for layouts without tiles, `E` and `M` only, and the
    layout is the identity only if it is the descending order without any
    attribute.

    Rules, besides those of the notation (`layout_c...`, in the reference of the
    notation):

    * `memref_layout_c1`: on a memref, `S` is not set; the memory space is the
      memref's own, `#tessera.memory_space<n>`.
    * `memref_layout_c2`: on a memref, an axis that `*` merges into another has
      a width by `PD` or `B`; the affine map knows no sizes.
  }];
  let parameters = (ins
    AttrOrTypeParameter<"::tessera::Layout", "the fields of the notation",
                        "const ::tessera::Layout &">:$layout);
  let extraClassDeclaration = [{
    /// The layout that a type without one has.
    static LayoutAttr getDescending(::mlir::MLIRContext *context, int64_t rank);
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tessera_TileAttr : Tessera_Attr<"Tile", "tile"> {
  let summary = "one tile of a layout, as a value";
  let description = [{
    Sizes listed from major to minor, in elements; `*` merges an axis into its
    more minor neighbour.

    ```mlir
    #tessera.tile<(8,128)>
    #tessera.tile<(*,128)>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "sizes, Tile::kCombine for `*`">:$sizes);
  let extraClassDeclaration = [{
    ::tessera::Tile getTile() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tessera_ShapeAttr : Tessera_Attr<"Shape", "shape"> {
  let summary = "any shape of XLA, as a value";
  let description = [{
    A shape in XLA's text: an array with or without a layout, a tuple, a buffer,
    a token or an opaque value. It is kept in canonical form: blanks and
    comments are gone after parsing.

    ```mlir
    #tessera.shape<"(f32[2,3]{1,0}, token[])">
    ```
  }];
  let parameters = (ins StringRefParameter<"the canonical text">:$text);
  let builders = [
    AttrBuilder<(ins "const ::tessera::Shape &":$shape)>
  ];
  let extraClassDeclaration = [{
    ::tessera::Shape getShape() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tessera_MemorySpaceAttr : Tessera_Attr<"MemorySpace", "memory_space"> {
  let summary = "the memory space of a memref";
  let description = [{
    The number of `S(n)` of XLA's notation. Space 0, the main memory of the
    device, is a memref without a memory space.

    ```mlir
    memref<8x128xf32, #tessera.memory_space<1>>
    ```

    Rules:

    * `memory_space_c1`: the number is from 1 to 127.
  }];
  let parameters = (ins "int64_t":$number);
  let assemblyFormat = "`<` $number `>`";
  let genVerifyDecl = 1;
}

def Tessera_SpaceAttr : Tessera_Attr<"Space", "space"> {
  let summary = "one memory of a target";
  let description = [{
    The memory that `S(number)` names: capacity in bytes (0 = no limit that is
    known), alignment of buffers in bytes, and the address space that it has in
    LLVM IR.

    ```mlir
    #tessera.space<number = 1, name = "vmem", capacity = 134217728,
                   alignment = 512, address_space = 1>
    ```

    Rules:

    * `space_c1`: the number is from 0 to 127; capacity and address space are
      not negative; the alignment is a power of two.
  }];
  let parameters = (ins
    "int64_t":$number,
    StringRefParameter<"for people">:$name,
    DefaultValuedParameter<"int64_t", "0", "bytes">:$capacity,
    DefaultValuedParameter<"int64_t", "1", "bytes">:$alignment,
    DefaultValuedParameter<"int64_t", "0", "in LLVM IR">:$address_space);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The same, with a name that lives as long as the context.
    ::tessera::MemorySpace getSpace() const;
  }];
  let genVerifyDecl = 1;
}

def Tessera_TargetAttr : Tessera_Attr<"Target", "target"> {
  let summary = "the machine that a module is for";
  let description = [{
    Stands on a module as `tessera.target`. A name alone is a preset, one of
    those in docs/targets.md; with spaces it is a machine of one's own, which
    prefers row-major layouts.

    ```mlir
    module attributes {tessera.target = #tessera.target<"tpu_v5e">} {}
    module attributes {tessera.target = #tessera.target<"mine", [
      <number = 0, name = "dram", alignment = 64>,
      <number = 1, name = "sram", capacity = 65536, address_space = 3>]>} {}
    ```

    Rules:

    * `target_c1`: a name without spaces is a preset.
    * `target_c2`: spaces stand in increasing order of their numbers, 0 first.
  }];
  let parameters = (ins
    StringRefParameter<"of a preset, or of one's own">:$name,
    OptionalArrayRefParameter<"SpaceAttr", "none for a preset">:$spaces);
  let assemblyFormat = "`<` $name (`,` `[` $spaces^ `]`)? `>`";
  let extraClassDeclaration = [{
    /// The attribute of modules that holds it.
    static constexpr ::llvm::StringLiteral kAttrName = "tessera.target";

    /// The target of the closest module around `op` that has one; null if none
    /// has.
    static TargetAttr lookup(::mlir::Operation *op);

    /// All spaces, of a preset too.
    ::llvm::SmallVector<::tessera::MemorySpace> getMemorySpaces() const;
    /// The space S(number), if there is one.
    ::std::optional<::tessera::MemorySpace> findSpace(int64_t number) const;
    /// How it lays out arrays without a pinned layout.
    ::tessera::LayoutRule getLayoutRule() const;
  }];
  let genVerifyDecl = 1;
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAATTRS_TD
