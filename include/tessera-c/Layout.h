//===- tessera-c/Layout.h - Shapes and where their elements lie ---*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C API of the Layout and View libraries: shapes in XLA's notation (the
// grammar is in docs/notation.md), their sizes, the position of an element and
// the element at a position, pictures and explanations.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_LAYOUT_H
#define TESSERA_C_LAYOUT_H

#include "tessera-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A shape, which never changes. The caller destroys it. What functions below
/// point to lives as long as the shape.
typedef struct TesseraShape TesseraShape;

//===----------------------------------------------------------------------===//
// Whole shapes
//===----------------------------------------------------------------------===//

/// Parses and verifies `bf16[32,4096]{1,0:T(8,128)}`; an array without a layout
/// gets the descending one. Error: *invalid*, with rule and position.
TESSERA_C_EXPORT TesseraError *
tesseraShapeParse(const char *text, size_t length, TesseraShape **shape);

TESSERA_C_EXPORT void tesseraShapeDestroy(TesseraShape *shape);

/// Canonical text, as XLA prints it; without layouts unless `withLayout`.
TESSERA_C_EXPORT void tesseraShapePrint(const TesseraShape *shape,
                                        bool withLayout,
                                        TesseraTextCallback callback,
                                        void *userData);

/// Whether all fields are the same.
TESSERA_C_EXPORT bool tesseraShapeEqual(const TesseraShape *lhs,
                                        const TesseraShape *rhs);

/// Whether it is an array, not a tuple, buffer, token or opaque value.
TESSERA_C_EXPORT bool tesseraShapeIsArray(const TesseraShape *shape);

/// The shape with the layout that the target (`tpu_v5e`, `cpu`;
/// docs/targets.md) would choose, leaves of tuples included. Error:
/// *unsupported* for another target, and where it has no choice for the type.
TESSERA_C_EXPORT TesseraError *tesseraShapeGetDefault(const TesseraShape *shape,
                                                      const char *target,
                                                      TesseraShape **result);

//===----------------------------------------------------------------------===//
// Arrays. Other shapes have the element type "", no numbers, and errors.
//===----------------------------------------------------------------------===//

/// XLA's name, `bf16`.
TESSERA_C_EXPORT const char *
tesseraShapeGetElementType(const TesseraShape *shape);

/// Bits that an element takes in the buffer; a whole number of bytes but where
/// E says otherwise.
TESSERA_C_EXPORT int64_t tesseraShapeGetStorageBits(const TesseraShape *shape);

/// Sizes in elements: the bound of a `<=N` dimension, INT64_MIN for `?`.
TESSERA_C_EXPORT TesseraInt64s
tesseraShapeGetDimensions(const TesseraShape *shape);

/// Dimensions from fastest varying to slowest.
TESSERA_C_EXPORT TesseraInt64s
tesseraShapeGetMinorToMajor(const TesseraShape *shape);

TESSERA_C_EXPORT size_t tesseraShapeGetNumTiles(const TesseraShape *shape);
/// Sizes of a tile, which must be one of them, major to minor in elements;
/// INT64_MIN for `*`.
TESSERA_C_EXPORT TesseraInt64s tesseraShapeGetTile(const TesseraShape *shape,
                                                   size_t tile);

/// S: 0 is the device's main memory.
TESSERA_C_EXPORT int64_t tesseraShapeGetMemorySpace(const TesseraShape *shape);

/// How much memory an array takes.
typedef struct TesseraShapeSize {
  TesseraInt64s physicalShape; ///< Extents of the axes.
  int64_t logicalElements;     ///< Product of the dimensions.
  int64_t allocatedElements;   ///< Positions of the buffer.
  int64_t bytes;               ///< Of the buffer.
  int64_t paddingBytes;        ///< Those that hold no element.
} TesseraShapeSize;

/// Error: *unsupported* where a dimension is `?`.
TESSERA_C_EXPORT TesseraError *tesseraShapeGetSize(const TesseraShape *shape,
                                                   TesseraShapeSize *size);

/// The position of an element in the buffer, in elements. Errors: *invalid*
/// unless `index` has a number within each dimension, *unsupported* as above.
TESSERA_C_EXPORT TesseraError *
tesseraShapeGetLinearIndex(const TesseraShape *shape, TesseraInt64s index,
                           int64_t *position);

/// The element at `position`: fills `index`, which has room for a number for
/// each dimension, or says that the position is padding. Errors: *invalid*
/// unless the position is in the buffer, *unsupported* as above.
TESSERA_C_EXPORT TesseraError *
tesseraShapeGetLogicalIndex(const TesseraShape *shape, int64_t position,
                            int64_t *index, bool *isPadding);

//===----------------------------------------------------------------------===//
// Two shapes
//===----------------------------------------------------------------------===//

typedef enum TesseraAnswer {
  TesseraAnswerYes,
  TesseraAnswerNo,
  /// Form gave no answer, and there are too many elements to try them all.
  TesseraAnswerUnknown,
} TesseraAnswer;

typedef enum TesseraBitcastKind {
  /// Same bytes, read with another shape: the rule of tessera.bitcast.
  TesseraBitcastAny,
  /// The same logical value in another layout: nothing moves.
  TesseraBitcastRelayout,
  /// The row-major reshape moves nothing.
  TesseraBitcastReshape,
} TesseraBitcastKind;

/// May `from` be read as `to`? A reason goes to `callback` (may be null) when
/// the answer is not yes.
TESSERA_C_EXPORT TesseraAnswer tesseraShapeMayBitcast(
    const TesseraShape *from, const TesseraShape *to, TesseraBitcastKind kind,
    TesseraTextCallback callback, void *userData);

//===----------------------------------------------------------------------===//
// Pictures and words
//===----------------------------------------------------------------------===//

typedef struct TesseraDrawOptions {
  bool isSVG;         ///< An SVG file instead of text.
  bool useColor;      ///< ANSI colours in text.
  int64_t maxRows;    ///< Rows of a grid, about: at least 4, as of columns,
  int64_t maxColumns; ///< and at most 262144 cells.
  int64_t width;      ///< Columns that text may take, grids side by side.
} TesseraDrawOptions;

/// What tessera-layout draws by default.
TESSERA_C_EXPORT TesseraDrawOptions tesseraDrawOptionsGetDefault(void);

/// Draws which element lies where, or with `to` (may be null) what a relayout
/// moves. Errors: *invalid* options, *unsupported* as of tesseraShapeGetSize.
TESSERA_C_EXPORT TesseraError *tesseraShapeDraw(const TesseraShape *shape,
                                                const TesseraShape *to,
                                                TesseraDrawOptions options,
                                                TesseraTextCallback callback,
                                                void *userData);

/// The notation in words, with the numbers of this shape; `isVerbose` adds the
/// axes and the address of one element step by step. Error: *unsupported* as of
/// tesseraShapeGetSize.
TESSERA_C_EXPORT TesseraError *tesseraShapeExplain(const TesseraShape *shape,
                                                   bool isVerbose,
                                                   TesseraTextCallback callback,
                                                   void *userData);

/// Any text with shapes in it in words: a shape, a layout alone, a line of HLO,
/// a type of MLIR, or a message. Error: that of the text.
TESSERA_C_EXPORT TesseraError *tesseraTextExplain(const char *text,
                                                  size_t length, bool isVerbose,
                                                  TesseraTextCallback callback,
                                                  void *userData);

/// What the slice `text`, `d0=8*i:+16, d1=0:+128`, is in memory for all values
/// of its variables: for people, or a JSON object as docs/problems.md has it.
/// Errors: *invalid* for other texts and for slices beyond the array;
/// *unsupported* where tiles entangle dimensions.
TESSERA_C_EXPORT TesseraError *
tesseraShapeExplainSlice(const TesseraShape *shape, const char *text,
                         size_t length, bool isJSON,
                         TesseraTextCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_LAYOUT_H
