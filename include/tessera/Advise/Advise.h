//===- Advise.h - Which layouts to ask for ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments, results and states of loops that a module brings into another
// layout each time it runs, what asking for that layout would save and cost,
// and how JAX asks for it. docs/report.md has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ADVISE_ADVISE_H
#define TESSERA_ADVISE_ADVISE_H

#include "tessera/HLO/Module.h"

namespace tessera {

/// A copy, transpose or reshape that advice would spare.
struct AdvisedMove {
  const hlo::Instruction *instruction = nullptr;
  /// Read and written each time it runs.
  int64_t bytes = 0;
  /// How often it runs in a step; nothing where that is not known.
  std::optional<int64_t> runs = 1;
};

/// One thing to change in the user's program.
struct Advice {
  enum class Kind : uint8_t {
    Argument,  ///< Another layout of an argument.
    Result,    ///< Another layout of a result.
    LoopState, ///< Another layout of what a loop carries.
    Donation,  ///< An argument that is copied before it is written over.
  };
  Kind kind = Kind::Argument;
  /// The parameter, the loop, or what makes the result.
  const hlo::Instruction *value = nullptr;
  /// Its number among arguments, results, or leaves of the state.
  size_t number = 0;
  /// As it is, and as it should be.
  Shape from;
  Shape to;
  /// What would not be needed then.
  std::vector<AdvisedMove> moves;
  /// Uses of the value as it is; the compiler may bring it into the old layout
  /// for them.
  size_t otherUses = 0;
  /// Of the value.
  int64_t bytesNow = 0;
  int64_t bytesThen = 0;
  /// What the module then reads and writes in a step, if it has been priced.
  std::optional<int64_t> moduleBytes;
  /// What to write, in Python.
  std::string line;

  /// Bytes that the moves read and write, each once.
  int64_t bytesMoved() const;
  /// Bytes that they read and write in a step, those that run an unknown number
  /// of times once.
  int64_t bytesPerStep() const;
  /// How often the move runs that runs most often; nothing where the number of
  /// runs of one is not known.
  std::optional<int64_t> maxRuns() const;
};

llvm::StringRef getName(Advice::Kind kind);

/// All advice on a verified module, that which saves most first.
std::vector<Advice> advise(const hlo::Module &module);

/// Bytes that a module reads and writes in a step.
struct AdvicePrices {
  int64_t now = 0;
  /// With all advice that has a price; no less than the bound, while what
  /// computes keeps its layouts.
  int64_t then = 0;
  int64_t lowerBound = 0;
};

/// Prices advice on arguments and results by the solver of assignLayouts, each
/// piece alone and all together. All that computes keeps its layouts, and moves
/// are chosen anew. Error: *unsupported* as priceBoundary.
llvm::Expected<AdvicePrices> priceAdvice(const hlo::Module &module,
                                         llvm::MutableArrayRef<Advice> list);

/// Text for people; at most `limit` pieces of advice. `prices` may be null.
void printAdvice(const hlo::Module &module, llvm::ArrayRef<Advice> list,
                 const AdvicePrices *prices, size_t limit,
                 llvm::raw_ostream &os);

/// JSON for programs: docs/report.md has the schema.
void printAdviceJSON(const hlo::Module &module, llvm::ArrayRef<Advice> list,
                     const AdvicePrices *prices, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_ADVISE_ADVISE_H
