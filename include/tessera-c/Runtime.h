//===- tessera-c/Runtime.h - Relayouts without a compiler ---------*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves the bytes of an array from one layout to another, with nothing compiled
// and no code for a shape: libtessera-runtime, which needs no LLVM or MLIR.
//
//   TesseraRuntimeRelayout *relayout = NULL;
//   TesseraError *error = tesseraRuntimeRelayoutCreate(
//       "bf16[127,257]", "bf16[127,257]{1,0:T(8,128)(2,1)}", NULL, &relayout);
//   if (!error)
//     error = tesseraRuntimeRelayoutRun(relayout, rows, rowsBytes, tiles,
//     tilesBytes);
//
// docs/runtime.md says how to use it and what it costs. Errors are as Support.h
// has them. Pointers may be null where that is said, and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_RUNTIME_H
#define TESSERA_C_RUNTIME_H

#include "tessera-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What moves one array into another. Threads may share it. The caller destroys
/// it.
typedef struct TesseraRuntimeRelayout TesseraRuntimeRelayout;

/// Zero in all fields is a good choice; so is a null pointer to it.
typedef struct TesseraRuntimeOptions {
  /// Whether padding of the destination becomes zeros, where PV in its layout
  /// does not say otherwise, and bits behind the last element of the last byte.
  /// Without either, padding keeps its bytes.
  bool zeroPadding;
  /// The widest registers in bytes, 16, 32 or 64; 0: those of the processor.
  int64_t vectorBytes;
  /// Bytes of a destination from which on stores bypass the caches; 0: of
  /// transposes a seventh of the last-level cache, at most 4.6 MiB, of others
  /// 5/16 of it, at most 10 MiB.
  int64_t streamedBytes;
  /// Bytes that a move in place copies at a time, or one band where that is
  /// more; 0: 256 KiB.
  int64_t scratchBytes;
  /// Parts of the arrays, a slice for each dimension as in Python,
  /// `8:16,:,0:128:2`; null: the whole array. Buffers and shapes are those of
  /// the whole arrays; the parts have the same sizes. Nothing outside of a part
  /// of the destination is written, no padding either. A run may let the parts
  /// begin elsewhere (tesseraRuntimeRelayoutRunAt).
  const char *sourceBox;
  const char *destinationBox;
} TesseraRuntimeOptions;

/// An array as PJRT describes it (PJRT_Buffer_MemoryLayout).
typedef struct TesseraRuntimeArray {
  /// The name of the element type, `bf16`.
  const char *elementType;
  TesseraInt64s dimensions;
  /// Dimensions from fastest varying to slowest; none: the last one first.
  TesseraInt64s minorToMajor;
  /// The sizes of all tiles, one tile behind the other, INT64_MIN for `*`; and
  /// how many sizes each tile has.
  TesseraInt64s tileDims;
  const size_t *tileDimSizes;
  size_t numTiles;
  /// Bits of an element in memory, as E(n) says; 0: whole bytes.
  int64_t elementBits;
  /// Bytes from one element to the next along each dimension, in place of a
  /// layout, of a source; none: by the layout. With them, `byteOffset` is where
  /// the first element lies.
  TesseraInt64s byteStrides;
  int64_t byteOffset;
} TesseraRuntimeArray;

/// Makes a relayout between two shapes in XLA's notation, zero-terminated.
/// Errors: *invalid* for texts and pairs that are against the rules,
/// *unsupported* for unbounded dimensions, M, and E other than the type's bits
/// or bytes.
TESSERA_C_EXPORT TesseraError *
tesseraRuntimeRelayoutCreate(const char *source, const char *destination,
                             const TesseraRuntimeOptions *options,
                             TesseraRuntimeRelayout **relayout);

/// The same of arrays.
TESSERA_C_EXPORT TesseraError *tesseraRuntimeRelayoutCreateOfArrays(
    const TesseraRuntimeArray *source, const TesseraRuntimeArray *destination,
    const TesseraRuntimeOptions *options, TesseraRuntimeRelayout **relayout);

/// Null is nothing to destroy.
TESSERA_C_EXPORT void
tesseraRuntimeRelayoutDestroy(TesseraRuntimeRelayout *relayout);

/// Bytes that the buffers must have at least, padding included.
TESSERA_C_EXPORT int64_t
tesseraRuntimeRelayoutGetSourceBytes(const TesseraRuntimeRelayout *relayout);
TESSERA_C_EXPORT int64_t tesseraRuntimeRelayoutGetDestinationBytes(
    const TesseraRuntimeRelayout *relayout);

/// Moves all elements. Buffers have any alignment; an empty one may be null.
/// Error: *invalid* for buffers that are too short or overlap; then nothing is
/// written.
TESSERA_C_EXPORT TesseraError *
tesseraRuntimeRelayoutRun(const TesseraRuntimeRelayout *relayout,
                          const void *source, size_t sourceBytes,
                          void *destination, size_t destinationBytes);

/// Moves part `share` of `shares`, from 0 on. All parts together are what
/// tesseraRuntimeRelayoutRun does; they write different bytes, and may run in
/// any order, or at once on threads of the caller.
TESSERA_C_EXPORT TesseraError *
tesseraRuntimeRelayoutRunShare(const TesseraRuntimeRelayout *relayout,
                               const void *source, size_t sourceBytes,
                               void *destination, size_t destinationBytes,
                               int64_t share, int64_t shares);

/// What tesseraRuntimeRelayoutRun does, of parts that begin at other indices
/// than `sourceBox` and `destinationBox` say, with the same sizes and steps: an
/// offset for each dimension, or none to begin where the box does. A side
/// without a box begins at 0. Where parts begin equally in their tiles nothing
/// is planned again; other plans are made when they are first needed, some 5
/// us, and kept, up to 256 of them. Errors as of tesseraRuntimeRelayoutRun, and
/// *invalid* for parts that are not within the arrays; then nothing is written.
TESSERA_C_EXPORT TesseraError *tesseraRuntimeRelayoutRunAt(
    const TesseraRuntimeRelayout *relayout, TesseraInt64s sourceOffsets,
    TesseraInt64s destinationOffsets, const void *source, size_t sourceBytes,
    void *destination, size_t destinationBytes);

/// Moves part `share` of `shares` of that, as tesseraRuntimeRelayoutRunShare.
TESSERA_C_EXPORT TesseraError *tesseraRuntimeRelayoutRunShareAt(
    const TesseraRuntimeRelayout *relayout, TesseraInt64s sourceOffsets,
    TesseraInt64s destinationOffsets, const void *source, size_t sourceBytes,
    void *destination, size_t destinationBytes, int64_t share, int64_t shares);

/// Moves the array at the beginning of `buffer`, in the layout of the source,
/// to that of the destination, at the beginning too. Besides `buffer`, memory
/// for a part of the array is needed: `scratchBytes` where the slowest varying
/// axis is of one dimension on both sides, else as much as the source has.
/// Padding that neither PV nor `zeroPadding` gives a value has any. Errors:
/// *invalid* for a buffer with fewer bytes than either side, *unsupported* for
/// parts of arrays, byte strides and a lack of memory; then nothing is written.
TESSERA_C_EXPORT TesseraError *
tesseraRuntimeRelayoutRunInPlace(const TesseraRuntimeRelayout *relayout,
                                 void *buffer, size_t bufferBytes);

/// What a caller gives to run work on threads of its own: calls `task(context,
/// i)` for each i from 0 to below `count`, in any order or at once, and returns
/// when all are done.
typedef void (*TesseraRuntimeTask)(void *context, int64_t i);
typedef void (*TesseraRuntimeParallelFor)(int64_t count,
                                          TesseraRuntimeTask task,
                                          void *context, void *userData);

/// What tesseraRuntimeRelayoutRun does, by up to `threads` threads, from 1 to
/// 1024: those of `parallelFor`, which gets `userData`, or new ones where it is
/// null. Small arrays are moved by fewer. Errors as of
/// tesseraRuntimeRelayoutRun, and *invalid* for other numbers of threads.
TESSERA_C_EXPORT TesseraError *tesseraRuntimeRelayoutRunParallel(
    const TesseraRuntimeRelayout *relayout, const void *source,
    size_t sourceBytes, void *destination, size_t destinationBytes,
    int64_t threads, TesseraRuntimeParallelFor parallelFor, void *userData);

/// Writes how it moves them: kernels, and the loops around them.
TESSERA_C_EXPORT void
tesseraRuntimeRelayoutPrint(const TesseraRuntimeRelayout *relayout,
                            TesseraTextCallback callback, void *userData);

//===----------------------------------------------------------------------===//
// Where the bytes of a part lie
//===----------------------------------------------------------------------===//

/// The bytes of an array, or of a part of one, for what moves them by lists of
/// addresses (DMA). It never changes: threads may share it. The caller destroys
/// it.
typedef struct TesseraRuntimePart TesseraRuntimePart;

/// Neighbouring bytes of a buffer.
typedef struct TesseraRuntimeRun {
  int64_t offset;
  int64_t bytes;
} TesseraRuntimeRun;

/// `count` steps, `stride` bytes apart.
typedef struct TesseraRuntimeLoop {
  int64_t count;
  int64_t stride;
} TesseraRuntimeLoop;

/// Runs of `bytes` each, the first one at `offset`: one for each step of the
/// loops, outermost first. They follow one another in memory. `loops` lives as
/// long as the part.
typedef struct TesseraRuntimeDescriptor {
  int64_t offset;
  int64_t bytes;
  const TesseraRuntimeLoop *loops;
  size_t numLoops;
} TesseraRuntimeDescriptor;

/// Finds the bytes of the part `box` (as in TesseraRuntimeOptions; null: of the
/// whole array, without padding) of a shape in XLA's notation. Errors:
/// *invalid* for texts that are against the rules, *unsupported* for unbounded
/// dimensions and M, for a part that has bits of a byte alone, and for more
/// than 2^24 runs.
TESSERA_C_EXPORT TesseraError *
tesseraRuntimePartCreate(const char *shape, const char *box,
                         TesseraRuntimePart **part);

/// The same of an array. Error: *unsupported* also for byte strides.
TESSERA_C_EXPORT TesseraError *
tesseraRuntimePartCreateOfArray(const TesseraRuntimeArray *array,
                                const char *box, TesseraRuntimePart **part);

/// Null is nothing to destroy.
TESSERA_C_EXPORT void tesseraRuntimePartDestroy(TesseraRuntimePart *part);

/// Bytes of the whole array, padding included, and of the part.
TESSERA_C_EXPORT int64_t
tesseraRuntimePartGetArrayBytes(const TesseraRuntimePart *part);
TESSERA_C_EXPORT int64_t
tesseraRuntimePartGetBytes(const TesseraRuntimePart *part);

/// The largest number of which offsets and lengths of all runs are multiples; 0
/// without runs.
TESSERA_C_EXPORT int64_t
tesseraRuntimePartGetAlignment(const TesseraRuntimePart *part);

/// How many runs there are: none can be longer.
TESSERA_C_EXPORT int64_t
tesseraRuntimePartGetNumRuns(const TesseraRuntimePart *part);

/// Writes the first runs, in the order of memory, at most `capacity`; returns
/// how many. `runs` may be null if that is 0.
TESSERA_C_EXPORT int64_t tesseraRuntimePartGetRuns(
    const TesseraRuntimePart *part, TesseraRuntimeRun *runs, int64_t capacity);

/// Gets one run after another, in the order of memory; false: no more.
typedef bool (*TesseraRuntimeRunCallback)(TesseraRuntimeRun run,
                                          void *userData);
TESSERA_C_EXPORT void
tesseraRuntimePartVisitRuns(const TesseraRuntimePart *part,
                            TesseraRuntimeRunCallback callback, void *userData);

/// The same bytes as few loops over runs, ordered by where they begin: one for
/// whole tiles and in most layouts. They do not overlap, and where two meet a
/// run may be in parts of both.
TESSERA_C_EXPORT int64_t
tesseraRuntimePartGetNumDescriptors(const TesseraRuntimePart *part);

/// Descriptor `i`, from 0 to below their number; one of no bytes for others.
TESSERA_C_EXPORT TesseraRuntimeDescriptor
tesseraRuntimePartGetDescriptor(const TesseraRuntimePart *part, int64_t i);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_RUNTIME_H
