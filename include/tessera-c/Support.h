//===- tessera-c/Support.h - What the C API shares ----------------*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors and texts of Layout.h, Runtime.h, Compile.h, Program.h and HLO.h,
// which need no header of MLIR; Dialects.h and Passes.h follow the conventions
// of its C API.
//
// Functions may be called from any thread; an object is destroyed once, when
// no thread uses it any more. Texts are UTF-8 and need no terminating zero
// where they come with a length.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_SUPPORT_H
#define TESSERA_C_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TESSERA_C_EXPORT
#else
#define TESSERA_C_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Receives a piece of a text; called as often as there are pieces, always
/// before the function that it is handed to returns. `data` lives as long as
/// the call.
typedef void (*TesseraTextCallback)(const char *data, size_t length,
                                    void *userData);

/// Numbers that the caller owns, or another object.
typedef struct TesseraInt64s {
  const int64_t *data;
  size_t size;
} TesseraInt64s;

/// The two kinds of no (docs/Rationale.md), and what comes from outside: no
/// memory, no linker, no file.
typedef enum TesseraErrorKind {
  TesseraErrorInvalid,
  TesseraErrorUnsupported,
  TesseraErrorOther,
} TesseraErrorKind;

/// Why a function did not do what it was asked to. Functions that can fail
/// return one, or null when all went well; results are then as they were. The
/// caller destroys it.
typedef struct TesseraError TesseraError;

TESSERA_C_EXPORT void tesseraErrorDestroy(TesseraError *error);

TESSERA_C_EXPORT TesseraErrorKind
tesseraErrorGetKind(const TesseraError *error);

/// The field, what was expected, what was found, and a remedy where there is
/// one. A line, but more for the errors of a module. Lives as long as the
/// error, as does the text of the next function.
TESSERA_C_EXPORT const char *tesseraErrorGetMessage(const TesseraError *error);

/// The label of the rule that was broken (docs/notation-rules.md), such as
/// `layout_c3`; empty where there is none.
TESSERA_C_EXPORT const char *tesseraErrorGetRule(const TesseraError *error);

/// Where in the text that was parsed, in bytes; -1 where that is not known.
TESSERA_C_EXPORT int64_t tesseraErrorGetPosition(const TesseraError *error);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_SUPPORT_H
