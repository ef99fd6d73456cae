//===- tessera-c/Dialects.h - The dialects in C -------------------*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialects tessera and tessera_hlo with their attributes and types, beside
// MLIR's own C API, whose conventions hold here:
//
//   - attributes and types belong to their context, and are not freed;
//   - a function that takes an attribute or a type of one kind must be given
//     one of that kind (tesseraAttributeIsA...), and positions in their range;
//   - text that a function takes is copied, and need not end in a zero byte;
//   - what a callback is given lives until the callback returns.
//
// Functions named ...Get make an attribute or a type. Where their input may be
// wrong they return a null one (mlirAttributeIsNull), and what is wrong is
// diagnosed in the context, with the location in the text where there is one.
// They load the dialect into the context if it is not there yet; like any
// loading of dialects that must not happen while passes run on several threads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_DIALECTS_H
#define TESSERA_C_DIALECTS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// mlirGetDialectHandle__tessera__() and mlirGetDialectHandle__tessera_hlo__():
/// handles that live as long as the program.
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Tessera, tessera);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(TesseraHLO, tessera_hlo);

/// Adds the dialects to `registry`, with the implementations of upstream's
/// interfaces, such as that of bufferization, that passes need. The handles
/// above add the dialects alone.
MLIR_CAPI_EXPORTED void
tesseraRegisterAllDialects(MlirDialectRegistry registry);

//===----------------------------------------------------------------------===//
// #tessera.layout
//===----------------------------------------------------------------------===//

/// What all padding of a buffer holds (PV).
typedef enum TesseraPaddingValue {
  /// Nothing is promised.
  TesseraPaddingValueUnspecified = 0,
  TesseraPaddingValueZero = 1,
  TesseraPaddingValueOne = 2,
  TesseraPaddingValueLowest = 3,
  TesseraPaddingValueHighest = 4
} TesseraPaddingValue;

/// Whether `attribute`, which must not be null, is a #tessera.layout.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsALayout(MlirAttribute attribute);

/// The layout of XLA's text with its braces, `{1,0:T(8,128)}`; null if the text
/// is not valid.
MLIR_CAPI_EXPORTED MlirAttribute tesseraLayoutAttrGet(MlirContext context,
                                                      MlirStringRef text);

/// The layout of a type without one: `{rank-1,...,1,0}`. Null, with a
/// diagnostic, for a `rank` below 0 or above 2^20.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraLayoutAttrGetDescending(MlirContext context, intptr_t rank);

/// The type ID of the attribute, and its name, "tessera.layout".
MLIR_CAPI_EXPORTED MlirTypeID tesseraLayoutAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraLayoutAttrGetName(void);

/// Calls `callback`, once or more, with the parts of the canonical text,
/// braces included, and `userData`.
MLIR_CAPI_EXPORTED void tesseraLayoutAttrGetText(MlirAttribute layout,
                                                 MlirStringCallback callback,
                                                 void *userData);

/// The number of dimensions.
MLIR_CAPI_EXPORTED intptr_t tesseraLayoutAttrGetRank(MlirAttribute layout);

/// The dimension at `position`, from 0, the fastest varying, to rank - 1.
MLIR_CAPI_EXPORTED int64_t
tesseraLayoutAttrGetMinorToMajor(MlirAttribute layout, intptr_t position);

/// The number of tiles (T), and the tile at `position`, a #tessera.tile, in the
/// order in which they apply.
MLIR_CAPI_EXPORTED intptr_t tesseraLayoutAttrGetNumTiles(MlirAttribute layout);
MLIR_CAPI_EXPORTED MlirAttribute tesseraLayoutAttrGetTile(MlirAttribute layout,
                                                          intptr_t position);

/// The number of elements that the buffer is a multiple of (L); 1 if not set.
MLIR_CAPI_EXPORTED int64_t
tesseraLayoutAttrGetTailPaddingAlignment(MlirAttribute layout);

/// Bits of an element in the buffer (E); 0, if not set: whole bytes of its
/// type.
MLIR_CAPI_EXPORTED int64_t
tesseraLayoutAttrGetElementSizeInBits(MlirAttribute layout);

/// The number of the memory space (S); 0 is the device's main memory.
MLIR_CAPI_EXPORTED int64_t
tesseraLayoutAttrGetMemorySpace(MlirAttribute layout);

/// The number of split configurations (SC).
MLIR_CAPI_EXPORTED intptr_t
tesseraLayoutAttrGetNumSplitConfigs(MlirAttribute layout);

/// Of the split configuration at `position`: the physical dimension that it
/// splits, 0 the most major, the number of splits, and each position of a
/// split.
MLIR_CAPI_EXPORTED int64_t tesseraLayoutAttrGetSplitConfigDimension(
    MlirAttribute layout, intptr_t position);
MLIR_CAPI_EXPORTED intptr_t tesseraLayoutAttrGetSplitConfigNumIndices(
    MlirAttribute layout, intptr_t position);
MLIR_CAPI_EXPORTED int64_t tesseraLayoutAttrGetSplitConfigIndex(
    MlirAttribute layout, intptr_t position, intptr_t index);

/// Bytes before the data that hold dynamic sizes (M); 0 if there are none.
MLIR_CAPI_EXPORTED int64_t
tesseraLayoutAttrGetDynamicShapeMetadataPrefixBytes(MlirAttribute layout);

/// The number of widths (PD), the rank or 0, and the width of a logical
/// dimension, in elements.
MLIR_CAPI_EXPORTED intptr_t
tesseraLayoutAttrGetNumPaddedDimensions(MlirAttribute layout);
MLIR_CAPI_EXPORTED int64_t
tesseraLayoutAttrGetPaddedDimension(MlirAttribute layout, intptr_t dimension);

/// What all padding holds (PV).
MLIR_CAPI_EXPORTED TesseraPaddingValue
tesseraLayoutAttrGetPaddingValue(MlirAttribute layout);

/// The number of bounds (B), the rank or 0, and the bound of a logical
/// dimension, in elements; mlirShapedTypeGetDynamicSize() where it has none.
MLIR_CAPI_EXPORTED intptr_t tesseraLayoutAttrGetNumBounds(MlirAttribute layout);
MLIR_CAPI_EXPORTED int64_t tesseraLayoutAttrGetBound(MlirAttribute layout,
                                                     intptr_t dimension);

//===----------------------------------------------------------------------===//
// #tessera.tile
//===----------------------------------------------------------------------===//

/// Whether `attribute`, which must not be null, is a #tessera.tile.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsATile(MlirAttribute attribute);

/// The tile of XLA's text, `(8,128)` or `(*,128)`; null if it is not valid.
MLIR_CAPI_EXPORTED MlirAttribute tesseraTileAttrGet(MlirContext context,
                                                    MlirStringRef text);

/// The tile of `numSizes` sizes from major to minor, in elements, or
/// tesseraTileAttrGetCombine(); null if it is not valid.
MLIR_CAPI_EXPORTED MlirAttribute tesseraTileAttrGetFromSizes(
    MlirContext context, intptr_t numSizes, const int64_t *sizes);

/// The type ID of the attribute, and its name, "tessera.tile".
MLIR_CAPI_EXPORTED MlirTypeID tesseraTileAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraTileAttrGetName(void);

/// Calls `callback`, once or more, with the parts of the text, `(8,128)`, and
/// `userData`.
MLIR_CAPI_EXPORTED void tesseraTileAttrGetText(MlirAttribute tile,
                                               MlirStringCallback callback,
                                               void *userData);

/// The number of sizes, and the size at `position`, 0 the most major; in
/// elements, or tesseraTileAttrGetCombine().
MLIR_CAPI_EXPORTED intptr_t tesseraTileAttrGetNumSizes(MlirAttribute tile);
MLIR_CAPI_EXPORTED int64_t tesseraTileAttrGetSize(MlirAttribute tile,
                                                  intptr_t position);

/// The size that stands for `*`, which merges an axis into its more minor
/// neighbour. It is no size.
MLIR_CAPI_EXPORTED int64_t tesseraTileAttrGetCombine(void);

//===----------------------------------------------------------------------===//
// #tessera.shape
//===----------------------------------------------------------------------===//

/// Whether `attribute`, which must not be null, is a #tessera.shape.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsAShape(MlirAttribute attribute);

/// The shape of XLA's text, `(f32[2,3]{1,0}, token[])`; null if it is not
/// valid. An array without a layout stays without one.
MLIR_CAPI_EXPORTED MlirAttribute tesseraShapeAttrGet(MlirContext context,
                                                     MlirStringRef text);

/// The type ID of the attribute, and its name, "tessera.shape".
MLIR_CAPI_EXPORTED MlirTypeID tesseraShapeAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraShapeAttrGetName(void);

/// The canonical text; it belongs to the context.
MLIR_CAPI_EXPORTED MlirStringRef tesseraShapeAttrGetText(MlirAttribute shape);

//===----------------------------------------------------------------------===//
// #tessera.memory_space
//===----------------------------------------------------------------------===//

/// Whether `attribute`, which must not be null, is a #tessera.memory_space.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsAMemorySpace(MlirAttribute attribute);

/// The memory space of a memref in space `number`, from 1 to 127; null for
/// another number. (Space 0 is a memref without a memory space.)
MLIR_CAPI_EXPORTED MlirAttribute tesseraMemorySpaceAttrGet(MlirContext context,
                                                           int64_t number);

/// The type ID of the attribute, and its name, "tessera.memory_space".
MLIR_CAPI_EXPORTED MlirTypeID tesseraMemorySpaceAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraMemorySpaceAttrGetName(void);

/// The number of the space.
MLIR_CAPI_EXPORTED int64_t
tesseraMemorySpaceAttrGetNumber(MlirAttribute memorySpace);

//===----------------------------------------------------------------------===//
// #tessera.space
//===----------------------------------------------------------------------===//

/// Whether `attribute`, which must not be null, is a #tessera.space.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsASpace(MlirAttribute attribute);

/// One memory of a target: the number of `S(number)`, from 0 to 127, a name for
/// people, the capacity in bytes (0: no limit that is known), the alignment of
/// buffers in bytes, a power of two, and the address space in LLVM IR. Null if
/// a number is out of its range.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraSpaceAttrGet(MlirContext context, int64_t number, MlirStringRef name,
                    int64_t capacity, int64_t alignment, int64_t addressSpace);

/// The type ID of the attribute, and its name, "tessera.space".
MLIR_CAPI_EXPORTED MlirTypeID tesseraSpaceAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraSpaceAttrGetName(void);

/// The number of `S(number)`.
MLIR_CAPI_EXPORTED int64_t tesseraSpaceAttrGetNumber(MlirAttribute space);

/// The name for people; it belongs to the context.
MLIR_CAPI_EXPORTED MlirStringRef
tesseraSpaceAttrGetSpaceName(MlirAttribute space);

/// Bytes, 0 for no limit that is known.
MLIR_CAPI_EXPORTED int64_t tesseraSpaceAttrGetCapacity(MlirAttribute space);

/// Bytes that the address of a buffer is a multiple of.
MLIR_CAPI_EXPORTED int64_t tesseraSpaceAttrGetAlignment(MlirAttribute space);

/// The address space in LLVM IR.
MLIR_CAPI_EXPORTED int64_t tesseraSpaceAttrGetAddressSpace(MlirAttribute space);

//===----------------------------------------------------------------------===//
// #tessera.target
//===----------------------------------------------------------------------===//

/// Whether `attribute`, which must not be null, is a #tessera.target.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsATarget(MlirAttribute attribute);

/// The preset of that name (`cpu`, `tpu_v5e`, ...) if `numSpaces` is 0, else a
/// machine of one's own with these memories, each a #tessera.space, in
/// increasing order of their numbers, 0 first. Null if there is no such preset,
/// if an attribute is no #tessera.space, or for another order.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraTargetAttrGet(MlirContext context, MlirStringRef name,
                     intptr_t numSpaces, MlirAttribute const *spaces);

/// The type ID of the attribute, and its name, "tessera.target".
MLIR_CAPI_EXPORTED MlirTypeID tesseraTargetAttrGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraTargetAttrGetName(void);

/// The name of the preset, or of one's own; it belongs to the context.
MLIR_CAPI_EXPORTED MlirStringRef
tesseraTargetAttrGetTargetName(MlirAttribute target);

/// The number of memories, of a preset too, and the one at `position`, a
/// #tessera.space.
MLIR_CAPI_EXPORTED intptr_t tesseraTargetAttrGetNumSpaces(MlirAttribute target);
MLIR_CAPI_EXPORTED MlirAttribute tesseraTargetAttrGetSpace(MlirAttribute target,
                                                           intptr_t position);

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// !tessera.copy_token, an asynchronous copy under way. A `type` that is asked
/// about must not be null.
MLIR_CAPI_EXPORTED bool tesseraTypeIsACopyToken(MlirType type);
MLIR_CAPI_EXPORTED MlirType tesseraCopyTokenTypeGet(MlirContext context);
MLIR_CAPI_EXPORTED MlirTypeID tesseraCopyTokenTypeGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraCopyTokenTypeGetName(void);

/// !tessera_hlo.token, which orders effects.
MLIR_CAPI_EXPORTED bool tesseraTypeIsAHLOToken(MlirType type);
MLIR_CAPI_EXPORTED MlirType tesseraHLOTokenTypeGet(MlirContext context);
MLIR_CAPI_EXPORTED MlirTypeID tesseraHLOTokenTypeGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraHLOTokenTypeGetName(void);

/// !tessera_hlo.opaque, a value of no known form.
MLIR_CAPI_EXPORTED bool tesseraTypeIsAHLOOpaque(MlirType type);
MLIR_CAPI_EXPORTED MlirType tesseraHLOOpaqueTypeGet(MlirContext context);
MLIR_CAPI_EXPORTED MlirTypeID tesseraHLOOpaqueTypeGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraHLOOpaqueTypeGetName(void);

/// !tessera_hlo.buffer, which holds an array. Get returns a null type if
/// `array` is no ranked tensor; GetArray returns the tensor.
MLIR_CAPI_EXPORTED bool tesseraTypeIsAHLOBuffer(MlirType type);
MLIR_CAPI_EXPORTED MlirType tesseraHLOBufferTypeGet(MlirType array);
MLIR_CAPI_EXPORTED MlirTypeID tesseraHLOBufferTypeGetTypeID(void);
MLIR_CAPI_EXPORTED MlirStringRef tesseraHLOBufferTypeGetName(void);
MLIR_CAPI_EXPORTED MlirType tesseraHLOBufferTypeGetArray(MlirType buffer);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_DIALECTS_H
