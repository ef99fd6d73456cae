//===- PrimitiveType.cpp - Element types of XLA ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/PrimitiveType.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <iterator>

using namespace tessera;
using llvm::APFloat;

namespace {
enum class Family : uint8_t { Pred, Signed, Unsigned, Float, Complex, None };

struct TypeRow {
  PrimitiveType type;
  llvm::StringLiteral name;
  int64_t bits;
  Family family;
  /// Of floating-point types, and of the parts of complex ones.
  const llvm::fltSemantics &(*format)() = nullptr;
};
} // namespace

/// The one table of types; rows stand in the order of the enumeration.
static constexpr TypeRow kTypes[] = {
    {PrimitiveType::Pred, "pred", 1, Family::Pred},
    {PrimitiveType::S1, "s1", 1, Family::Signed},
    {PrimitiveType::S2, "s2", 2, Family::Signed},
    {PrimitiveType::S4, "s4", 4, Family::Signed},
    {PrimitiveType::S8, "s8", 8, Family::Signed},
    {PrimitiveType::S16, "s16", 16, Family::Signed},
    {PrimitiveType::S32, "s32", 32, Family::Signed},
    {PrimitiveType::S64, "s64", 64, Family::Signed},
    {PrimitiveType::U1, "u1", 1, Family::Unsigned},
    {PrimitiveType::U2, "u2", 2, Family::Unsigned},
    {PrimitiveType::U4, "u4", 4, Family::Unsigned},
    {PrimitiveType::U8, "u8", 8, Family::Unsigned},
    {PrimitiveType::U16, "u16", 16, Family::Unsigned},
    {PrimitiveType::U32, "u32", 32, Family::Unsigned},
    {PrimitiveType::U64, "u64", 64, Family::Unsigned},
    {PrimitiveType::F16, "f16", 16, Family::Float, APFloat::IEEEhalf},
    {PrimitiveType::BF16, "bf16", 16, Family::Float, APFloat::BFloat},
    {PrimitiveType::F32, "f32", 32, Family::Float, APFloat::IEEEsingle},
    {PrimitiveType::F64, "f64", 64, Family::Float, APFloat::IEEEdouble},
    {PrimitiveType::F8E5M2, "f8e5m2", 8, Family::Float, APFloat::Float8E5M2},
    {PrimitiveType::F8E4M3, "f8e4m3", 8, Family::Float, APFloat::Float8E4M3},
    {PrimitiveType::F8E4M3FN, "f8e4m3fn", 8, Family::Float,
     APFloat::Float8E4M3FN},
    {PrimitiveType::F8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, Family::Float,
     APFloat::Float8E4M3B11FNUZ},
    {PrimitiveType::F8E3M4, "f8e3m4", 8, Family::Float, APFloat::Float8E3M4},
    {PrimitiveType::F8E5M2FNUZ, "f8e5m2fnuz", 8, Family::Float,
     APFloat::Float8E5M2FNUZ},
    {PrimitiveType::F8E4M3FNUZ, "f8e4m3fnuz", 8, Family::Float,
     APFloat::Float8E4M3FNUZ},
    {PrimitiveType::F8E8M0FNU, "f8e8m0fnu", 8, Family::Float,
     APFloat::Float8E8M0FNU},
    {PrimitiveType::F4E2M1FN, "f4e2m1fn", 4, Family::Float,
     APFloat::Float4E2M1FN},
    {PrimitiveType::C64, "c64", 64, Family::Complex, APFloat::IEEEsingle},
    {PrimitiveType::C128, "c128", 128, Family::Complex, APFloat::IEEEdouble},
    {PrimitiveType::Token, "token", 0, Family::None},
    {PrimitiveType::Opaque, "opaque", 0, Family::None},
};

static const TypeRow &row(PrimitiveType type) {
  return kTypes[static_cast<size_t>(type)];
}

llvm::ArrayRef<PrimitiveType> tessera::allPrimitiveTypes() {
  static const auto all = [] {
    std::array<PrimitiveType, std::size(kTypes)> types{};
    for (size_t i = 0; i < types.size(); ++i)
      types[i] = kTypes[i].type;
    return types;
  }();
  return all;
}

llvm::StringRef tessera::getName(PrimitiveType type) { return row(type).name; }

std::optional<PrimitiveType> tessera::parsePrimitiveType(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kTypes, [&](const TypeRow &candidate) { return candidate.name == name; });
  if (found == std::end(kTypes))
    return std::nullopt;
  return found->type;
}

int64_t tessera::getBitWidth(PrimitiveType type) { return row(type).bits; }

int64_t tessera::getByteWidth(PrimitiveType type) {
  return (row(type).bits + 7) / 8;
}

bool tessera::isToken(PrimitiveType type) {
  return type == PrimitiveType::Token;
}

bool tessera::isOpaque(PrimitiveType type) {
  return type == PrimitiveType::Opaque;
}

bool tessera::isArrayElement(PrimitiveType type) {
  return row(type).family != Family::None;
}

bool tessera::isSignedIntegral(PrimitiveType type) {
  return row(type).family == Family::Signed;
}

bool tessera::isUnsignedIntegral(PrimitiveType type) {
  return row(type).family == Family::Unsigned;
}

bool tessera::isFloatingPoint(PrimitiveType type) {
  return row(type).family == Family::Float;
}

bool tessera::isComplex(PrimitiveType type) {
  return row(type).family == Family::Complex;
}

const llvm::fltSemantics *tessera::getFloatSemantics(PrimitiveType type) {
  auto *format = row(type).format;
  return format ? &format() : nullptr;
}

bool tessera::isSubByteNonPred(PrimitiveType type) {
  return row(type).family != Family::None && type != PrimitiveType::Pred &&
         row(type).bits < 8;
}
