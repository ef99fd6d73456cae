//===- RandomPrograms.h - Random programs on laid-out tensors ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is made twice, statement by statement: as MLIR text, and as steps
// on lists of elements in row-major order. The steps know nothing of layouts,
// but for operations whose result depends on them: those ask the model of
// tilings that the Layout library is tested against.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_COMPILE_RANDOMPROGRAMS_H
#define TESSERA_UNITTESTS_COMPILE_RANDOMPROGRAMS_H

#include "../RandomLayouts.h"

#include "mlir/IR/MLIRContext.h"

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera {

/// The elements of an array in row-major order, zero above their width.
using Elements = std::vector<uint64_t>;

/// All values of a program that is being run, by number.
struct ProgramState {
  std::unordered_map<unsigned, Elements> tensors;
  std::unordered_map<unsigned, int64_t> scalars;
};

using Step = std::function<void(ProgramState &)>;
using Steps = std::vector<Step>;

void runAll(const Steps &steps, ProgramState &state);

struct ProgramOptions {
  /// Whether upstream's folders run before the pipeline. They are not told of
  /// layouts, and replace a `linalg.transpose` that moves nothing, alone or
  /// with the one before it, by its operand, of whatever layout: there is only
  /// one transposition then, which moves something.
  bool isFolded = false;
  /// Statements to leave out, by name. The others stay much as they are.
  std::set<uint64_t> skipped;
};

/// A program over two buffers of bytes: it reads arrays from the one and writes
/// arrays to the other, all in row-major order with whole bytes per element.
struct RandomProgram {
  /// A row-major array in one of the buffers.
  struct Array {
    int64_t offset = 0;
    llvm::SmallVector<int64_t> dims;
    unsigned number = 0; ///< Of the value.
  };

  PrimitiveType type = PrimitiveType::S32;
  std::vector<Array> inputs, outputs;
  std::string text;
  std::string entry; ///< The function's name.
  Steps steps;
  std::vector<uint64_t> statements; ///< Their names.
};

/// Bytes of each of the two buffers.
inline constexpr int64_t kProgramBytes = int64_t(1) << 16;

/// Makes the program of a seed. Its entry is `func.func @run<number>`, and all
/// else that it needs is named after the number.
RandomProgram makeRandomProgram(uint64_t seed, mlir::MLIRContext *context,
                                int number, const ProgramOptions &options);

} // namespace tessera

#endif // TESSERA_UNITTESTS_COMPILE_RANDOMPROGRAMS_H
