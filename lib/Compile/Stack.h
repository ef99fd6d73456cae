//===- Stack.h - Work on a stack that is long enough ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_STACK_H
#define TESSERA_LIB_COMPILE_STACK_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace tessera {

/// Calls `work` with a stack of at least `bytes`: in this thread where it has
/// so much left, else in one made for it. Error: *unsupported* where no such
/// thread can be made.
llvm::Error runOnStack(size_t bytes, llvm::function_ref<void()> work);

/// The same for what gives a value or an error, with a stack for compilers.
template <typename T>
llvm::Expected<T> compileOnStack(llvm::function_ref<llvm::Expected<T>()> make) {
  constexpr size_t kCompilerBytes = size_t(4) << 20;
  std::optional<llvm::Expected<T>> result;
  if (llvm::Error error =
          runOnStack(kCompilerBytes, [&] { result.emplace(make()); }))
    return std::move(error);
  return std::move(*result);
}

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_STACK_H
