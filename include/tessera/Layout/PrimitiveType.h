//===- PrimitiveType.h - Element types of XLA -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_PRIMITIVETYPE_H
#define TESSERA_LAYOUT_PRIMITIVETYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace llvm {
struct fltSemantics;
} // namespace llvm

namespace tessera {

/// Every element type that XLA's text knows (docs/notation.md, "Types").
/// Tuples and buffers are kinds of Shape, not element types.
enum class PrimitiveType : uint8_t {
  // clang-format off
  Pred,
  S1, S2, S4, S8, S16, S32, S64,
  U1, U2, U4, U8, U16, U32, U64,
  F16, BF16, F32, F64,
  F8E5M2, F8E4M3, F8E4M3FN, F8E4M3B11FNUZ, F8E3M4, F8E5M2FNUZ, F8E4M3FNUZ,
  F8E8M0FNU, F4E2M1FN,
  C64, C128,
  Token, Opaque,
  // clang-format on
};

/// All of them, in the order of the enumeration.
llvm::ArrayRef<PrimitiveType> allPrimitiveTypes();

/// The lower-case name in XLA's text, such as `bf16`.
llvm::StringRef getName(PrimitiveType type);

/// The type of that name; nothing when there is none (names are lower case).
std::optional<PrimitiveType> parsePrimitiveType(llvm::StringRef name);

/// Bits of a value: 1 for pred, 4 for s4, 64 for c64, 0 for token and opaque.
int64_t getBitWidth(PrimitiveType type);

/// Bytes that an element takes without E(n): the bits rounded up to bytes.
int64_t getByteWidth(PrimitiveType type);

bool isToken(PrimitiveType type);
bool isOpaque(PrimitiveType type);
/// False for token and opaque, which are neither elements nor sized.
bool isArrayElement(PrimitiveType type);
/// Signed or unsigned integers; pred is not one (XLA's rule).
bool isSignedIntegral(PrimitiveType type);
bool isUnsignedIntegral(PrimitiveType type);
bool isFloatingPoint(PrimitiveType type);
bool isComplex(PrimitiveType type);
/// The format of a floating-point type, or of a complex type's two parts; null
/// for other types.
const llvm::fltSemantics *getFloatSemantics(PrimitiveType type);
/// s1 s2 s4 u1 u2 u4 f4e2m1fn: narrower than a byte, pred excepted.
bool isSubByteNonPred(PrimitiveType type);

} // namespace tessera

#endif // TESSERA_LAYOUT_PRIMITIVETYPE_H
