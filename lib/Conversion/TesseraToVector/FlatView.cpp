//===- FlatView.cpp - All elements of a buffer in one dimension -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlatView.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tessera;

Value tessera::flattenPhysical(OpBuilder &builder, Location loc, Value memref) {
  Value physical = memref;
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getLayout().isIdentity() || getLayoutAttr(type))
    physical = PhysicalViewOp::create(builder, loc, memref);
  type = cast<MemRefType>(physical.getType());
  if (type.getRank() == 1)
    return physical;
  if (type.getRank() == 0) {
    auto flat =
        MemRefType::get({1}, type.getElementType(), MemRefLayoutAttrInterface(),
                        type.getMemorySpace());
    return memref::ExpandShapeOp::create(builder, loc, flat, physical,
                                         ArrayRef<ReassociationIndices>{});
  }
  auto all = llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  return memref::CollapseShapeOp::create(builder, loc, physical,
                                         ArrayRef<ReassociationIndices>{all});
}
