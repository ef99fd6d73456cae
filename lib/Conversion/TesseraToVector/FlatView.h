//===- FlatView.h - All elements of a buffer in one dimension ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_FLATVIEW_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_FLATVIEW_H

#include "mlir/IR/Builders.h"

namespace tessera {

/// A view of all elements, and padding, of a memref that is laid out or has no
/// strides, in one dimension.
mlir::Value flattenPhysical(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value memref);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_FLATVIEW_H
