//===- Program.h - Functions on arrays, compiled and run --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function of an MLIR module on logical arrays: what it takes and gives
// may have any layout, its callers see row-major arrays without padding.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILE_PROGRAM_H
#define TESSERA_COMPILE_PROGRAM_H

#include "tessera/Compile/Compile.h"

#include <memory>
#include <vector>

namespace tessera {

/// An argument or a result of a program; a number is an array of no dimensions,
/// an `index` one of s64.
struct ProgramArray {
  /// Type and dimensions, and the layout that the function gives it.
  Shape shape;
  /// Of the row-major array without padding: whole bytes for each element.
  int64_t bytes = 0;
};

/// How a function is compiled.
struct ProgramOptions {
  /// The function's name; empty for the one public function with a body, in HLO
  /// the entry computation.
  std::string entry;
  /// Whether buffers are filled with NaN and the like before they are written,
  /// as by --tessera-poison-padding, so that padding that is read shows.
  bool poisonsPadding = false;
  /// Threads that share large loops, by LLVM's OpenMP runtime. Sums of
  /// floating-point numbers do not depend on them.
  int64_t threads = 1;
};

/// A compiled function; copies share the code. Runs may go on side by side.
class Program {
public:
  /// Compiles a function of a module, in MLIR's text or bytecode or HLO's text,
  /// by --tessera-hlo-to-linalg and --tessera-to-llvm for this processor.
  ///
  /// Tuples are taken apart. Errors: *invalid* where the text has errors or no
  /// such function; *unsupported* for arguments and results that are neither
  /// numbers nor tensors of static shape, for functions that call themselves or
  /// are called 256 deep, and for what the pipeline refuses; each with its
  /// diagnostics.
  static llvm::Expected<Program> compile(llvm::StringRef text,
                                         const ProgramOptions &options = {});

  llvm::ArrayRef<ProgramArray> inputs() const { return inputArrays; }
  llvm::ArrayRef<ProgramArray> outputs() const { return outputArrays; }

  /// Runs on the memory of each argument and each result, at any address;
  /// arguments are not written, and results overlap neither them nor others.
  ///
  /// Errors: *invalid* where an assertion of the module fails, or one that
  /// --tessera-assert-faults added to it: divisions by zero, indices out of
  /// bounds and the like; *unsupported* where temporaries do not fit into
  /// memory, or no thread with enough stack can be made. What results are is
  /// unspecified then.
  llvm::Error operator()(llvm::ArrayRef<const void *> inputs,
                         llvm::ArrayRef<void *> outputs) const;

private:
  Program() = default;
  static llvm::Expected<Program> compileHere(llvm::StringRef text,
                                             const ProgramOptions &options);

  std::vector<ProgramArray> inputArrays, outputArrays;
  /// What calls nested as deep as they go take.
  size_t stackBytes = 0;
  std::shared_ptr<CompiledModule> module;
  void *function = nullptr;
};

} // namespace tessera

#endif // TESSERA_COMPILE_PROGRAM_H
