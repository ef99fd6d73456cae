//===- tessera-c/Program.h - Functions on arrays, compiled and run *- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C API of programs: a function of an MLIR module, run on logical arrays. What
// it takes and gives may have any layout; callers see row-major arrays without
// padding.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_PROGRAM_H
#define TESSERA_C_PROGRAM_H

#include "tessera-c/Layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled function. May run in several threads at a time.
typedef struct TesseraProgram TesseraProgram;

/// An argument or a result; a number is an array of no dimensions, an `index`
/// one of s64.
typedef struct TesseraProgramArray {
  /// Type and dimensions, and the layout that the function gives it; lives as
  /// long as the program.
  const TesseraShape *shape;
  /// Of the row-major array: whole bytes for each element.
  int64_t bytes;
} TesseraProgramArray;

/// How a function is compiled; zeros are the defaults.
typedef struct TesseraProgramOptions {
  /// The function's name; null for the one public function with a body, in HLO
  /// the entry computation.
  const char *entry;
  /// Whether buffers are filled with NaN and the like before they are written,
  /// so that padding that is read shows.
  bool poisonsPadding;
  /// Threads that share large loops; 0 is 1.
  int64_t threads;
} TesseraProgramOptions;

/// Compiles a function of a module, in MLIR's text or bytecode or HLO's text,
/// by --tessera-hlo-to-linalg and --tessera-to-llvm for this processor. Null
/// `options` are the defaults. Errors: *invalid* where the text has errors or
/// no such function; *unsupported* for arguments and results that are
/// neither numbers nor tensors of static shape, and for what the pipeline
/// refuses. The caller destroys the result.
TESSERA_C_EXPORT TesseraError *
tesseraProgramCompile(const char *module, size_t length,
                      const TesseraProgramOptions *options,
                      TesseraProgram **program);

TESSERA_C_EXPORT void tesseraProgramDestroy(TesseraProgram *program);

TESSERA_C_EXPORT size_t
tesseraProgramGetNumInputs(const TesseraProgram *program);
TESSERA_C_EXPORT size_t
tesseraProgramGetNumOutputs(const TesseraProgram *program);

/// An argument or a result, which must be one of them.
TESSERA_C_EXPORT TesseraProgramArray
tesseraProgramGetInput(const TesseraProgram *program, size_t input);
TESSERA_C_EXPORT TesseraProgramArray
tesseraProgramGetOutput(const TesseraProgram *program, size_t output);

/// Runs the function on the memory of each argument and each result, at any
/// address; arguments are not written, and results overlap neither them nor
/// others. Errors: *invalid* where an assertion of
/// the module fails, or one that --tessera-assert-faults added to it: divisions
/// by zero, indices out of bounds and the like; *unsupported* where temporaries
/// do not fit into memory, or no thread with enough stack can be made. What
/// results are is unspecified then.
TESSERA_C_EXPORT TesseraError *tesseraProgramRun(const TesseraProgram *program,
                                                 const void *const *inputs,
                                                 void *const *outputs);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_PROGRAM_H
