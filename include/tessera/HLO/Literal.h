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

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLFunctionalExtras.h"
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

/// Writes what readLiteral reads back; `literal` has what `shape` needs.
void printLiteral(const Literal &literal, const Shape &shape,
                  llvm::raw_ostream &os);

/// Writes elements in row-major order, with a pair of braces around each
/// sub-array. In place of elements stand empty braces where a size is 0.
void printElements(llvm::ArrayRef<int64_t> dimensions, llvm::raw_ostream &os,
                   llvm::function_ref<void()> printElement);

/// Writes a number such that XLA reads the same bits.
void printFloat(const llvm::APFloat &value, llvm::raw_ostream &os);

} // namespace tessera::hlo

#endif // TESSERA_HLO_LITERAL_H
