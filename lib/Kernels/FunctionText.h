//===- FunctionText.h - The function of a kernel, from text -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the head of an MLIR function without MLIR. No parser could read the
// body, because the dialect of Mosaic is not linked. Takes the custom form,
// `func.func @f(%a: i32) attributes {...} {`, and the generic one,
// `"x.func.func"() ({ ^bb0(%a: i32): ... }) {...}`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_KERNELS_FUNCTIONTEXT_H
#define TESSERA_LIB_KERNELS_FUNCTIONTEXT_H

#include "tessera/Kernels/Kernels.h"

namespace tessera {

/// The head of a function, as pieces of its text.
struct FunctionText {
  llvm::StringRef name;
  std::vector<llvm::StringRef> argumentTypes;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> attributes;

  /// The value of an attribute; empty where there is none.
  llvm::StringRef get(llvm::StringRef attribute) const;
};

/// The first function of `text`. Errors: *unsupported*.
llvm::Expected<FunctionText> readFunction(llvm::StringRef text);

/// Pieces of `text` between commas that no bracket is around, trimmed.
std::vector<llvm::StringRef> splitList(llvm::StringRef text);

/// `key = value` pairs of the inside of a dictionary; a key alone has no value.
std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
splitDictionary(llvm::StringRef text);

/// `text` without `open` in front and `close` behind; nothing where one lacks.
std::optional<llvm::StringRef>
unwrap(llvm::StringRef text, llvm::StringRef open, llvm::StringRef close);

/// The numbers of `array<i64: 2, 4>` or `[2, 4]`; nothing for anything else.
std::optional<llvm::SmallVector<int64_t, 4>> readIntegers(llvm::StringRef text);

/// Nothing where `type` is no ranked memref.
std::optional<KernelMemRef> readMemRef(llvm::StringRef type);

} // namespace tessera

#endif // TESSERA_LIB_KERNELS_FUNCTIONTEXT_H
