//===- Arguments.h - Arguments that subcommands share -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_LAYOUT_ARGUMENTS_H
#define TESSERA_TOOLS_TESSERA_LAYOUT_ARGUMENTS_H

#include "tessera/Layout/AxisList.h"

namespace tessera {

/// The numbers of `2,3`; none for an empty text. `field` says what they are in
/// the error.
llvm::Expected<llvm::SmallVector<int64_t, 6>>
parseNumbers(llvm::StringRef text, llvm::StringRef field);

/// The logical index `2,3` of an array, `` for a scalar's, within its bounds.
llvm::Expected<llvm::SmallVector<int64_t, 6>>
parseIndex(llvm::StringRef text, llvm::ArrayRef<int64_t> dimensions);

/// A position `17`, or `0x11`, of a buffer of `positions` elements or bytes.
llvm::Expected<int64_t> parsePosition(llvm::StringRef text,
                                      llvm::StringRef field, int64_t positions);

/// `2,3`: a logical index as arguments and results have it.
std::string formatIndex(llvm::ArrayRef<int64_t> index);

/// An array given on the command line.
struct ArrayArgument {
  Shape shape;
  AxisList axes;
};

/// Reads an array whose axes are static; reports what is wrong with it.
std::optional<ArrayArgument> readArrayArgument(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_TOOLS_TESSERA_LAYOUT_ARGUMENTS_H
