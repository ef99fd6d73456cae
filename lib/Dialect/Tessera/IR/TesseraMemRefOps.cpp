//===- TesseraMemRefOps.cpp - Operations on buffers alone -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::detail;

//===----------------------------------------------------------------------===//
// BitcastViewOp
//===----------------------------------------------------------------------===//

LogicalResult BitcastViewOp::verify() {
  auto from = cast<MemRefType>(getSource().getType());
  auto to = cast<MemRefType>(getType());
  if (failed(verifySameBytes(*this, from, to, /*ignoreSpace=*/false,
                             "bitcast_view", "view")))
    return failure();
  // Several attributes may stand for one number.
  if (from.getMemorySpace() != to.getMemorySpace())
    return emitClash(*this, "invalid memory space: expected the attribute of "
                            "the source [bitcast_view_c2]");
  return success();
}

Value BitcastViewOp::getViewSource() { return getSource(); }

OpFoldResult BitcastViewOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  auto producer = getSource().getDefiningOp<BitcastViewOp>();
  if (!producer)
    return {};
  if (producer.getSource().getType() == getType())
    return producer.getSource();
  getSourceMutable().assign(producer.getSource());
  return getResult();
}

//===----------------------------------------------------------------------===//
// FillPaddingOp
//===----------------------------------------------------------------------===//

LogicalResult FillPaddingOp::verify() {
  auto type = cast<MemRefType>(getDestination().getType());
  if (failed(verifyLayout(type, [&] { return emitOpError(); })))
    return failure();
  // fill_padding_c1
  if (getPaddingValue(type))
    return success();
  return emitLayoutError(
      [&] { return emitOpError(); },
      invalidError("fill_padding_c1", "layout of the buffer",
                   "a layout with a padding value", "one without PV",
                   "write PV(zero), for example, in the layout"));
}
