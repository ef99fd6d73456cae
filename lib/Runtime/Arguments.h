//===- Arguments.h - What comes through the C API ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_ARGUMENTS_H
#define TESSERA_LIB_RUNTIME_ARGUMENTS_H

#include "Relayout.h"

#include "tessera-c/Runtime.h"

namespace tessera::runtime {

llvm::Error makeNullError(llvm::StringRef field);

/// The numbers, where there is a place that has them.
llvm::Expected<llvm::ArrayRef<int64_t>> read(TesseraInt64s numbers,
                                             llvm::StringRef field);

llvm::Expected<Side> readArray(const TesseraRuntimeArray *array,
                               llvm::StringRef field);
llvm::Expected<Side> readText(const char *text, llvm::StringRef field);

/// The part of an array that is meant, none for null; what is no array is
/// refused later.
llvm::Error readBox(const char *text, llvm::StringRef field, Side &side);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_ARGUMENTS_H
