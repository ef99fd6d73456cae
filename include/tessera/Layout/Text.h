//===- Text.h - Parsing XLA's notation --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one parser of shapes and layouts: the dialect, the tools, HLO modules
// and Python all come here. The grammar is in docs/notation.md. Errors carry
// the byte offset in `text`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_TEXT_H
#define TESSERA_LAYOUT_TEXT_H

#include "tessera/Layout/Shape.h"

namespace tessera {

struct ParseShapeOptions {
  /// Give every array without a layout the descending one, as XLA does. When
  /// off, arrays without a layout stay so (scalars too).
  bool fillDefaultLayouts = true;
};

/// Parses a whole text, `bf16[32,4096]{1,0:T(8,128)}` or `(f32[2], token[])`,
/// and verifies it. Blanks and comments may stand between any two tokens. The
/// key B is refused here: a Shape writes bounds as `<=N`.
llvm::Expected<Shape> parseShape(llvm::StringRef text,
                                 ParseShapeOptions options = {});

/// Parses the shape that starts at `offset` of a longer text and moves
/// `offset` behind it, not past blanks that follow. Verified like parseShape.
/// On error `offset` stays, and the error's position is in `text`.
llvm::Expected<Shape> parseShapePrefix(llvm::StringRef text, size_t &offset,
                                       ParseShapeOptions options = {});

/// Parses a layout alone, with its braces, as in `#tessera.layout<{1,0}>`. The
/// rank is that of its minor_to_major. `{}` is the scalar's. All keys are
/// allowed, B too. Verified by Layout::verify.
llvm::Expected<Layout> parseLayout(llvm::StringRef text);

/// Parses a tile alone, `(8,128)`, verified by the rules of tiles.
llvm::Expected<Tile> parseTile(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_LAYOUT_TEXT_H
