//===- Nesting.h - How deep MLIR's text is nested ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser, printer and passes are recursive and have no limit: deep text
// takes all of the stack, which ends the process. Whatever parses MLIR here
// asks first.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_NESTING_H
#define TESSERA_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Levels that are parsed; a stack of 8 MiB has room for some times as many.
constexpr int64_t kMaxNesting = 512;

/// Aliases that stand for others, all uses together: what is printed for them
/// has at least as many parts.
constexpr int64_t kMaxExpansion = int64_t(1) << 20;

/// An error where MLIR's parser or the verifier that it calls would end the
/// process:
///
/// - `text`, which is MLIR, is nested deeper than kMaxNesting, by brackets, by
///   signs in a row, or by aliases of aliases;
/// - aliases of aliases stand for more than kMaxExpansion others, as
///   `#b = [#a, #a]` does for two: forty such lines take all memory;
/// - a linalg.transpose has no dimensions, or what stands for the indices of a
///   linalg.transpose, broadcast or reduce is no list of integers
///   (test/Upstream has the programs).
///
/// The text need not be valid; what the parser refuses before it gets there may
/// count as well. Bytecode is always right: MLIR's reader does not recurse
/// (tessera/Kernels/Bytecode.h looks at what it read). Takes linear time.
llvm::Error checkParsable(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_SUPPORT_NESTING_H
