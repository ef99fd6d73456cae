//===- PaddingBits.cpp - What PV means for a type -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/PaddingBits.h"

using namespace tessera;
using llvm::APFloat;
using llvm::APInt;

const llvm::fltSemantics *tessera::getFloatSemantics(PrimitiveType type) {
  switch (type) {
  case PrimitiveType::F16:
    return &APFloat::IEEEhalf();
  case PrimitiveType::BF16:
    return &APFloat::BFloat();
  case PrimitiveType::F32:
    return &APFloat::IEEEsingle();
  case PrimitiveType::F64:
    return &APFloat::IEEEdouble();
  case PrimitiveType::F8E5M2:
    return &APFloat::Float8E5M2();
  case PrimitiveType::F8E4M3:
    return &APFloat::Float8E4M3();
  case PrimitiveType::F8E4M3FN:
    return &APFloat::Float8E4M3FN();
  case PrimitiveType::F8E4M3B11FNUZ:
    return &APFloat::Float8E4M3B11FNUZ();
  case PrimitiveType::F8E3M4:
    return &APFloat::Float8E3M4();
  case PrimitiveType::F8E5M2FNUZ:
    return &APFloat::Float8E5M2FNUZ();
  case PrimitiveType::F8E4M3FNUZ:
    return &APFloat::Float8E4M3FNUZ();
  case PrimitiveType::F8E8M0FNU:
    return &APFloat::Float8E8M0FNU();
  case PrimitiveType::F4E2M1FN:
    return &APFloat::Float4E2M1FN();
  default:
    return nullptr;
  }
}

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
  if (isComplex(type)) {
    PrimitiveType part =
        type == PrimitiveType::C64 ? PrimitiveType::F32 : PrimitiveType::F64;
    return getPaddingBits(part, value).zext(width);
  }
  if (const llvm::fltSemantics *semantics = getFloatSemantics(type))
    return getFloatBits(*semantics, value);
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
