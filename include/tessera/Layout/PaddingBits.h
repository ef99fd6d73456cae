//===- PaddingBits.h - What PV means for a type -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_PADDINGBITS_H
#define TESSERA_LAYOUT_PADDINGBITS_H

#include "tessera/Layout/Layout.h"
#include "tessera/Layout/PrimitiveType.h"

#include "llvm/ADT/APInt.h"

namespace tessera {

/// The bits of `value` in `type`, getBitWidth(type) of them. Lowest and highest
/// are the infinities where the type has them, else its finite limits, by the
/// type's signedness. Pred and complex types take zero and one alone; a complex
/// one has its real part in the low bits. f8e8m0fnu takes no zero. (The rule
/// layout_c15 refuses the others.)
llvm::APInt getPaddingBits(PrimitiveType type, PaddingValue value);

/// What each element of padding is in a buffer whose elements are `storageBits`
/// apart: the same, extended by the sign of the type; a byte of several
/// elements where they are packed.
llvm::APInt getStoredPadding(PrimitiveType type, PaddingValue value,
                             unsigned storageBits);

} // namespace tessera

#endif // TESSERA_LAYOUT_PADDINGBITS_H
