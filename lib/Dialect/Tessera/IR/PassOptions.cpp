//===- PassOptions.cpp - Values that options may have ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/PassOptions.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

using namespace mlir;
using namespace tessera;

LogicalResult tessera::checkOption(Operation *op, StringRef name, bool isValid,
                                   const Twine &expected, const Twine &found) {
  if (isValid)
    return success();
  return emitLayoutError([&] { return emitError(op->getLoc()); },
                         invalidError("", "option " + name, expected, found));
}
