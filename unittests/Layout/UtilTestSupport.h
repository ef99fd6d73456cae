//===- UtilTestSupport.h - Shapes and answers as text -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_LAYOUT_UTILTESTSUPPORT_H
#define TESSERA_UNITTESTS_LAYOUT_UTILTESTSUPPORT_H

#include "tessera/Layout/Text.h"

#include "gtest/gtest.h"

namespace tessera {
inline Shape shapeOf(llvm::StringRef text) {
  return llvm::cantFail(parseShape(text), text.data());
}

/// The value as text, or `error:` and the rule.
template <typename T> std::string print(llvm::Expected<T> value) {
  if (!value)
    return "error: " + takeDiagnostic(value.takeError()).rule;
  return testing::PrintToString(*value);
}
inline std::string print(llvm::Expected<Shape> shape) {
  if (!shape)
    return "error: " + takeDiagnostic(shape.takeError()).rule;
  return shape->toString();
}
template <typename T> T get(llvm::Expected<T> value) {
  return llvm::cantFail(std::move(value));
}
} // namespace tessera

#endif // TESSERA_UNITTESTS_LAYOUT_UTILTESTSUPPORT_H
