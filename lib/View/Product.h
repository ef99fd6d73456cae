//===- Product.h - Products beyond 64 bits ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VIEW_PRODUCT_H
#define TESSERA_LIB_VIEW_PRODUCT_H

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"

namespace tessera {

/// The product of two numbers that are not negative, as text. The bytes of an
/// array fit in 64 bits, but its bits need not.
inline std::string getProductText(int64_t lhs, int64_t rhs) {
  return llvm::toString(llvm::APInt(128, lhs) * rhs, 10, /*Signed=*/false);
}

} // namespace tessera

#endif // TESSERA_LIB_VIEW_PRODUCT_H
