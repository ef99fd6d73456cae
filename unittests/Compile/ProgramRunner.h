//===- ProgramRunner.h - Runs random programs -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers programs, pass by pass, compiles and runs them, and compares what they
// write with what their steps compute.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_COMPILE_PROGRAMRUNNER_H
#define TESSERA_UNITTESTS_COMPILE_PROGRAMRUNNER_H

#include "RandomPrograms.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

/// How programs become code.
struct ProgramLowering {
  /// Passes before the pipeline, as texts of pipelines on modules.
  std::vector<std::string> passes;
  bool vectorize = true;
  bool deallocate = true;
};

enum class Verdict {
  Right,
  Refused, ///< A pass failed, with a message.
  Wrong,   ///< Other values, IR that is not valid, no message, or no end.
};

struct Outcome {
  Verdict verdict = Verdict::Right;
  std::string message;
};

class ProgramRunner {
public:
  ProgramRunner();

  /// Runs the programs of these seeds. What is not right in a batch is run
  /// again, program by program; expects all to be right, or refused with a
  /// message that is known. Returns how many were refused.
  int runBatch(llvm::ArrayRef<uint64_t> seeds, const ProgramLowering &lowering);

  /// How many kinds of failures there were so far; each is reported once.
  int numReported() const { return reported.size(); }

private:
  Outcome runTogether(llvm::ArrayRef<RandomProgram> programs,
                      const ProgramLowering &lowering);
  void enter(llvm::StringRef stage);
  Outcome runInChild(llvm::function_ref<Outcome()> task);
  Outcome compileAndRun(llvm::ArrayRef<RandomProgram> programs,
                        const ProgramLowering &lowering);
  Outcome lower(mlir::OwningOpRef<mlir::ModuleOp> &module,
                const ProgramLowering &lowering);
  Outcome runPass(mlir::ModuleOp module, llvm::StringRef pipeline);
  mlir::OwningOpRef<mlir::ModuleOp> reparse(mlir::ModuleOp module);
  std::vector<std::string> getPasses(const ProgramLowering &lowering);
  /// Fails the test, with a smaller program that is wrong as well.
  void reportWrong(uint64_t seed, ProgramLowering lowering);
  RandomProgram keepOutput(const RandomProgram &program, size_t output);

  mlir::MLIRContext context;
  int wrong = 0;
  std::set<std::string> reported;
  std::string messages; ///< Diagnostics of the pass that runs.
  int stageFile = -1;   ///< Where a child says what it does.
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_COMPILE_PROGRAMRUNNER_H
