//===- LiteralParser.h - Parsing literals -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_HLO_LITERALPARSER_H
#define TESSERA_LIB_HLO_LITERALPARSER_H

#include "TextParser.h"

#include "tessera/HLO/Literal.h"

namespace tessera::hlo {

/// Parses the literal of `shape` that starts at the current token, tuples
/// included. The values go to `literal` unless it is null or a tuple's.
llvm::LogicalResult parseLiteral(TextParser &parser, const Shape &shape,
                                 Literal *literal);

} // namespace tessera::hlo

#endif // TESSERA_LIB_HLO_LITERALPARSER_H
