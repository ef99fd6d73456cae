//===- PrimitiveTypeTest.cpp - Tests of element types ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/PrimitiveType.h"

#include "llvm/ADT/APFloat.h"

#include "gtest/gtest.h"

using namespace tessera;

// The table must stand in the order of the enumeration, or every lookup lies.
TEST(PrimitiveType, TableFollowsEnumeration) {
  size_t position = 0;
  for (PrimitiveType type : allPrimitiveTypes()) {
    EXPECT_EQ(static_cast<size_t>(type), position++);
    EXPECT_EQ(parsePrimitiveType(getName(type)), type);
  }
  EXPECT_EQ(position, static_cast<size_t>(PrimitiveType::Opaque) + 1);
}

TEST(PrimitiveType, Widths) {
  EXPECT_EQ(getBitWidth(PrimitiveType::Pred), 1);
  EXPECT_EQ(getByteWidth(PrimitiveType::Pred), 1);
  EXPECT_EQ(getBitWidth(PrimitiveType::F4E2M1FN), 4);
  EXPECT_EQ(getByteWidth(PrimitiveType::S4), 1);
  EXPECT_EQ(getByteWidth(PrimitiveType::C128), 16);
  EXPECT_EQ(getBitWidth(PrimitiveType::Token), 0);
}

TEST(PrimitiveType, NamesAreLowerCaseOnly) {
  EXPECT_FALSE(parsePrimitiveType("F32"));
  EXPECT_FALSE(parsePrimitiveType("tuple"));
  EXPECT_FALSE(parsePrimitiveType(""));
}

TEST(PrimitiveType, FormatsHaveTheWidthOfTheirType) {
  for (PrimitiveType type : allPrimitiveTypes()) {
    const llvm::fltSemantics *format = getFloatSemantics(type);
    ASSERT_EQ(format != nullptr, isFloatingPoint(type) || isComplex(type));
    if (!format)
      continue;
    EXPECT_EQ(llvm::APFloat::getSizeInBits(*format) * (isComplex(type) ? 2 : 1),
              getBitWidth(type))
        << getName(type).str();
  }
}
