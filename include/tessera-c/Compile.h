//===- tessera-c/Compile.h - Relayouts as functions ---------------*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C API of the Compile library: functions that move an array from one layout
// to another, compiled into the process or to text and machine code.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_COMPILE_H
#define TESSERA_C_COMPILE_H

#include "tessera-c/Layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Where both buffers are when a relayout runs.
typedef enum TesseraBufferState {
  TesseraBuffersUnknown,
  TesseraBuffersHot,  ///< In the caches, if they fit there.
  TesseraBuffersCold, ///< In memory.
} TesseraBufferState;

/// What to move. Both sides have the same element type, and the same
/// dimensions, or boxes of the same sizes.
typedef struct TesseraRelayoutRequest {
  const TesseraShape *source;
  const TesseraShape *destination;
  /// The part that is read and the one that is written: a slice for each
  /// dimension as in Python, `8:16,:,0:128:2`, ending in a zero; null for all.
  const char *sourceBox;
  const char *destinationBox;
  /// Threads that share large ones, from 1 to 1024.
  int64_t threads;
  /// What the code is made for; it is right for all.
  TesseraBufferState buffers;
  /// The path of a file of measurements by which plans are chosen, as
  /// `tessera-compile` writes it, ending in a zero. Null for the file that the
  /// environment names in TESSERA_MACHINE, or without it the one of this
  /// processor in the user's cache folder, if it is there; empty for none.
  const char *machine;
  /// Whether this processor times the plans of a relayout that the file lacks,
  /// which takes seconds, and adds the best one to it. The file is made where
  /// there is none. One request at a time is timed; forks wait for it.
  bool tune;
} TesseraRelayoutRequest;

/// A relayout compiled into this process.
typedef struct TesseraRelayout TesseraRelayout;

/// Compiles a relayout for this processor, or finds the code of an earlier
/// request like it: the last ones are kept. Errors: *invalid* where there is no
/// relayout between the two, where the file of measurements cannot be read, is
/// none, or of another processor, and where `tune` has no file to write;
/// *unsupported* for `?`, M, and E other than the type's bits or bytes, and
/// where `tune` has no memory for the arrays. The caller destroys the result.
TESSERA_C_EXPORT TesseraError *
tesseraRelayoutGet(const TesseraRelayoutRequest *request,
                   TesseraRelayout **relayout);

TESSERA_C_EXPORT void tesseraRelayoutDestroy(TesseraRelayout *relayout);

/// Moves an array. Buffers have the bytes of the whole arrays
/// (tesseraShapeGetSize), any alignment, and do not overlap. Keeps no state.
TESSERA_C_EXPORT void tesseraRelayoutRun(const TesseraRelayout *relayout,
                                         const void *source, void *destination);

/// What tesseraRelayoutRun calls; lives as long as the relayout.
typedef void (*TesseraRelayoutFunction)(const void *source, void *destination);
TESSERA_C_EXPORT TesseraRelayoutFunction
tesseraRelayoutGetFunction(const TesseraRelayout *relayout);

typedef enum TesseraEmitKind {
  TesseraEmitPlan,   ///< Loops, kernel and stores, in words.
  TesseraEmitMLIR,   ///< Affine loops around vector kernels.
  TesseraEmitLLVM,   ///< Optimized LLVM IR.
  TesseraEmitObject, ///< An object file.
  TesseraEmitShared, ///< A shared library.
} TesseraEmitKind;

/// The relayout as text or machine code, the function being named `symbol`, to
/// `callback`. Errors: as of tesseraRelayoutGet; of another kind when no linker
/// or OpenMP runtime is found (TesseraEmitShared).
TESSERA_C_EXPORT TesseraError *
tesseraRelayoutEmit(const TesseraRelayoutRequest *request, TesseraEmitKind kind,
                    const char *symbol, TesseraTextCallback callback,
                    void *userData);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_COMPILE_H
