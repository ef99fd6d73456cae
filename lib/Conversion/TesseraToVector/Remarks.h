//===- Remarks.h - What passes leave to others ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_REMARKS_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_REMARKS_H

#include "tessera/Layout/Diagnostic.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"

namespace tessera {

/// Says in a missed remark of pass `pass` why it leaves `op` as it is.
inline void remarkLeft(mlir::Operation *op, llvm::StringRef remark,
                       llvm::StringRef pass, llvm::Error reason) {
  mlir::remark::missed(op->getLoc(),
                       mlir::remark::RemarkOpts::name(remark).category(pass))
      << takeDiagnostic(std::move(reason)).message();
}

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_REMARKS_H
