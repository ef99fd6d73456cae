//===- TotalArith.h - Integers that all operands give -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some operations of arith have no result for some operands: quotients by
// zero, at which processors trap, shifts by the width, conversions of what is
// beyond the type. Here they have the one of HLO. Operands are numbers, or
// vectors or tensors of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TOTALARITH_H
#define TESSERA_CONVERSION_TOTALARITH_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// By 0 all bits are ones. The smallest number by -1 is itself.
mlir::Value createQuotient(mlir::ImplicitLocOpBuilder &b, mlir::Value lhs,
                           mlir::Value rhs, bool isUnsigned);
/// By 0 it is `lhs`.
mlir::Value createRemainder(mlir::ImplicitLocOpBuilder &b, mlir::Value lhs,
                            mlir::Value rhs, bool isUnsigned);

/// By the width or more all bits have left, and copies of the sign have come
/// where `OpTy` is arith.shrsi; others are arith.shli and arith.shrui.
template <typename OpTy>
mlir::Value createShift(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                        mlir::Value amount);

/// Of numbers of f32 or f64, towards zero. What is beyond `type` is its limit,
/// and NaN is 0.
mlir::Value createInteger(mlir::ImplicitLocOpBuilder &b, mlir::Value number,
                          mlir::Type type, bool isUnsigned);

} // namespace tessera

#endif // TESSERA_CONVERSION_TOTALARITH_H
