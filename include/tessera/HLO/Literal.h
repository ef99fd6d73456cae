//===- Literal.h - Values of HLO constants ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_LITERAL_H
#define TESSERA_HLO_LITERAL_H

#include "tessera/Layout/Shape.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace tessera::hlo {

/// The value of an array constant, in logical row-major order.
struct Literal {
  /// `{...}`: the printer left the elements out; `components` is empty.
  bool elided = false;
  /// The bits of each element in the low bits of a word: two's complement,
  /// IEEE or the 8- and 4-bit formats, 0 or 1. A complex element takes two, the
  /// real part first.
  std::vector<uint64_t> components;
};

/// Reads the payload of a constant whose shape is an array. Errors have a
/// position in `text`.
llvm::Expected<Literal> readLiteral(llvm::StringRef text, const Shape &shape);

} // namespace tessera::hlo

#endif // TESSERA_HLO_LITERAL_H
