//===- TestTesseraDialect.cpp - A layout of somebody else's ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestTesseraDialect.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

#include "TestTesseraDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "TestTesseraAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "TestTesseraOps.cpp.inc"

void TestTesseraDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "TestTesseraAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "TestTesseraOps.cpp.inc"
      >();
  attachProbeInterfaces();
}

LogicalResult BlockedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> blocks, int64_t) {
  if (llvm::any_of(blocks, [](int64_t size) { return size < 1; }))
    return emitError() << "expected block sizes of at least 1";
  return success();
}

LogicalResult BlockedAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getBlocks().size())
    return emitError() << "expected a block size for each dimension";
  return success();
}

llvm::Expected<AxisList>
BlockedAttr::getAxisList(ArrayRef<int64_t> dimensions) const {
  // The axes of an outsider come from the same class as all others.
  Layout layout = Layout::descending(dimensions.size());
  layout.tiles.emplace_back().sizes.assign(getBlocks().begin(),
                                           getBlocks().end());
  return AxisList::get(dimensions, layout);
}

int64_t BlockedAttr::getMemorySpaceNumber() const { return getSpace(); }

llvm::Expected<MemRefLayoutAttrInterface>
BlockedAttr::getMemRefLayout(ArrayRef<int64_t>) const {
  return MemRefLayoutAttrInterface(
      BlockedAttr::get(getContext(), getBlocks(), /*space=*/0));
}

AffineMap BlockedAttr::getAffineMap() const {
  SmallVector<int64_t> unknown(getBlocks().size(), kDynamic);
  llvm::Expected<AxisList> axes = getAxisList(unknown);
  if (axes)
    return ::tessera::getAffineMap(*axes, getContext());
  llvm::consumeError(axes.takeError());
  return AffineMap::getMultiDimIdentityMap(getBlocks().size(), getContext());
}
