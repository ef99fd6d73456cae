//===- TesseraInterfaces.td - What passes need of a layout -*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_TESSERAINTERFACES_TD
#define TESSERA_DIALECT_TESSERA_IR_TESSERAINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tessera_LayoutAttrInterface : AttrInterface<"LayoutAttrInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    What passes need to know of the encoding of a tensor or the layout of a
    memref: where the elements lie and how much memory they take. Passes ask
    this interface and name no attribute, so the layout of another dialect takes
    part by implementing it. To be used on memrefs, an attribute implements
    `MemRefLayoutAttrInterface` too.

    Dimensions are logical sizes in elements, `ShapedType::kDynamic` where they
    are not known. The attribute's own verifier has accepted them.
  }];
  let methods = [
    InterfaceMethod<[{
        The axes of memory of an array with these dimensions, most major first.
        Errors: *invalid* on overflow, *unsupported* where an extent that is
        needed is not known.
      }],
      "::llvm::Expected<::tessera::AxisList>", "getAxisList",
      (ins "::llvm::ArrayRef<int64_t>":$dimensions)>,
    InterfaceMethod<[{
        Bits between neighbouring elements of the buffer.
      }],
      "int64_t", "getStorageBits", (ins "::tessera::PrimitiveType":$type), "",
      [{ return ::tessera::getByteWidth(type) * 8; }]>,
    InterfaceMethod<[{
        The number of the memory space; 0 is the main one. Of tensors only: on a
        memref the space is the type's.
      }],
      "int64_t", "getMemorySpaceNumber", (ins), "", [{ return 0; }]>,
    InterfaceMethod<[{
        What all padding holds, if it is promised to hold anything.
      }],
      "::std::optional<::tessera::PaddingValue>", "getPaddingValue", (ins), "",
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        The layout that a memref of the same bytes has: without memory space,
        and with all that it needs to list its axes without knowing dimensions.
        Errors: *unsupported* where there is none.
      }],
      "::llvm::Expected<::mlir::MemRefLayoutAttrInterface>", "getMemRefLayout",
      (ins "::llvm::ArrayRef<int64_t>":$dimensions)>,
    InterfaceMethod<[{
        The same layout in XLA's notation, for a rank of `rank`, if it has one.
        With it, operations that compare bytes (`tessera.bitcast`) can be
        verified; without it they are *unsupported*.
      }],
      "::std::optional<::tessera::Layout>", "asLayout", (ins "int64_t":$rank),
      "", [{ return ::std::nullopt; }]>,
  ];
}

#endif // TESSERA_DIALECT_TESSERA_IR_TESSERAINTERFACES_TD
