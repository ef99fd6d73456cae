//===- PaddingBits.cpp - What PV means for a type -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/PaddingBits.h"

#include "llvm/ADT/APFloat.h"

using namespace tessera;
using llvm::APFloat;
using llvm::APInt;

/// A float's largest value, or the lowest where `negative`.
static APFloat getLimit(const llvm::fltSemantics &semantics, bool negative) {
  if (APFloat::semanticsHasInf(semantics))
    return APFloat::getInf(semantics, negative);
  // An unsigned format has its smallest value at the low end.
  if (negative && !APFloat::semanticsHasSignedRepr(semantics))
    return APFloat::getSmallest(semantics);
  return APFloat::getLargest(semantics, negative);
}

static APInt getFloatBits(const llvm::fltSemantics &semantics,
                          PaddingValue value) {
  switch (value) {
  case PaddingValue::Zero:
    return APFloat::getZero(semantics).bitcastToAPInt();
  case PaddingValue::One:
    return APFloat::getOne(semantics).bitcastToAPInt();
  case PaddingValue::Lowest:
    return getLimit(semantics, /*negative=*/true).bitcastToAPInt();
  case PaddingValue::Highest:
    return getLimit(semantics, /*negative=*/false).bitcastToAPInt();
  }
  llvm_unreachable("all values are handled");
}

APInt tessera::getPaddingBits(PrimitiveType type, PaddingValue value) {
  unsigned width = getBitWidth(type);
  // A complex number's low bits are its real part.
  if (const llvm::fltSemantics *semantics = getFloatSemantics(type))
    return getFloatBits(*semantics, value).zext(width);
  bool isSigned = isSignedIntegral(type);
  switch (value) {
  case PaddingValue::Zero:
    return APInt(width, 0);
  case PaddingValue::One:
    return APInt(width, 1);
  case PaddingValue::Lowest:
    return isSigned ? APInt::getSignedMinValue(width) : APInt(width, 0);
  case PaddingValue::Highest:
    return isSigned ? APInt::getSignedMaxValue(width)
                    : APInt::getMaxValue(width);
  }
  llvm_unreachable("all values are handled");
}

APInt tessera::getStoredPadding(PrimitiveType type, PaddingValue value,
                                unsigned storageBits) {
  APInt bits = getPaddingBits(type, value);
  bits =
      isSignedIntegral(type) ? bits.sext(storageBits) : bits.zext(storageBits);
  return storageBits < 8 ? APInt::getSplat(8, bits) : bits;
}
