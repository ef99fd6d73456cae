//===- TesseraIndexOps.cpp - Positions in memory as numbers ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::detail;

//===----------------------------------------------------------------------===//
// What the operations share
//===----------------------------------------------------------------------===//

static LogicalResult verifyCount(Operation *op, StringRef rule,
                                 const Twine &field, size_t expected,
                                 const Twine &what, size_t found) {
  if (expected == found)
    return success();
  return emitLayoutError(
      [&] { return op->emitOpError(); },
      invalidError(rule, field, Twine(expected) + what, Twine(found)));
}

static LogicalResult verifyArray(Operation *op, StringRef rule, ShapedType type,
                                 size_t numSizes) {
  if (failed(verifyLayout(type, [&] { return op->emitOpError(); })))
    return failure();
  return verifyCount(op, rule, "number of sizes", getUnboundedDims(type).size(),
                     ", one for each dynamic dimension without a bound",
                     numSizes);
}

/// The constants that `attributes` are; nothing if one is missing.
static std::optional<SmallVector<int64_t, 6>>
getConstants(ArrayRef<Attribute> attributes) {
  SmallVector<int64_t, 6> values;
  for (Attribute attribute : attributes) {
    auto integer = dyn_cast_if_present<IntegerAttr>(attribute);
    if (!integer)
      return std::nullopt;
    values.push_back(integer.getValue().getSExtValue());
  }
  return values;
}

/// The axes of `type` with constant `sizes`; nothing where they are not all
/// known, or the layout does not admit them.
static std::optional<AxisList> getStaticAxes(ShapedType type,
                                             ArrayRef<Attribute> sizes) {
  auto constants = getConstants(sizes);
  if (!constants || llvm::any_of(*constants, [](int64_t n) { return n < 0; }))
    return std::nullopt;
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, size] : llvm::zip(getUnboundedDims(type), *constants))
    shape[dim] = size;
  ShapedType sized = type.clone(shape);
  {
    SilentDiagnostics ignore(type.getContext());
    if (failed(verifyLayout(sized, ignore)))
      return std::nullopt;
  }
  llvm::Expected<AxisList> axes = getAxisList(sized);
  if (axes && axes->isStatic())
    return std::move(*axes);
  llvm::consumeError(axes.takeError());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// LinearizeIndexOp
//===----------------------------------------------------------------------===//

LogicalResult LinearizeIndexOp::verify() {
  ShapedType type = getShapedType();
  // linearize_index_c1
  if (failed(verifyCount(*this, "linearize_index_c1", "number of indices",
                         type.getRank(), ", one for each dimension",
                         getIndices().size())))
    return failure();
  // linearize_index_c2
  return verifyArray(*this, "linearize_index_c2", type, getSizes().size());
}

/// The operation of which `indices` are all the indices, in order.
static DelinearizeIndexOp getCommonProducer(ValueRange indices) {
  auto producer = indices.empty()
                      ? DelinearizeIndexOp()
                      : indices.front().getDefiningOp<DelinearizeIndexOp>();
  return producer && llvm::equal(producer.getIndices(), indices)
             ? producer
             : DelinearizeIndexOp();
}

OpFoldResult LinearizeIndexOp::fold(FoldAdaptor adaptor) {
  // The position of the element at a position.
  DelinearizeIndexOp producer = getCommonProducer(getIndices());
  if (producer && producer.getArrayType() == getArrayType() &&
      producer.getSizes() == getSizes())
    return producer.getPosition();

  auto index = getConstants(adaptor.getIndices());
  if (!index)
    return {};
  auto axes = getStaticAxes(getShapedType(), adaptor.getSizes());
  if (!axes)
    return {};
  for (auto [i, size] : llvm::zip(*index, axes->dimensions()))
    if (i < 0 || i >= size)
      return {};
  return Builder(getContext()).getIndexAttr(axes->linearIndex(*index));
}

//===----------------------------------------------------------------------===//
// DelinearizeIndexOp
//===----------------------------------------------------------------------===//

LogicalResult DelinearizeIndexOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  DelinearizeIndexOpAdaptor adaptor(operands, attributes, properties, regions);
  auto type = dyn_cast<ShapedType>(adaptor.getArrayType());
  if (!type || !type.hasRank())
    return emitOptionalError(location,
                             "expected a ranked tensor or memref "
                             "type, found ",
                             adaptor.getArrayType());
  types.append(type.getRank(), IndexType::get(context));
  types.push_back(IntegerType::get(context, 1));
  return success();
}

LogicalResult DelinearizeIndexOp::verify() {
  ShapedType type = getShapedType();
  // delinearize_index_c1
  if (failed(verifyCount(*this, "delinearize_index_c1", "number of indices",
                         type.getRank(), ", one for each dimension",
                         getIndices().size())))
    return failure();
  // delinearize_index_c2
  return verifyArray(*this, "delinearize_index_c2", type, getSizes().size());
}

LogicalResult DelinearizeIndexOp::fold(FoldAdaptor adaptor,
                                       SmallVectorImpl<OpFoldResult> &results) {
  Builder builder(getContext());
  // The element at the position of an element.
  auto producer = getPosition().getDefiningOp<LinearizeIndexOp>();
  if (producer && producer.getArrayType() == getArrayType() &&
      producer.getSizes() == getSizes()) {
    llvm::append_range(results, producer.getIndices());
    results.push_back(builder.getBoolAttr(true));
    return success();
  }

  auto position = getConstants(adaptor.getPosition());
  if (!position)
    return failure();
  auto axes = getStaticAxes(getShapedType(), adaptor.getSizes());
  if (!axes || position->front() < 0 ||
      position->front() >= axes->numAllocated())
    return failure();
  auto index = axes->logicalIndex(position->front());
  // On padding, any index will do.
  for (int64_t dim = 0; dim < getShapedType().getRank(); ++dim)
    results.push_back(builder.getIndexAttr(index ? (*index)[dim] : 0));
  results.push_back(builder.getBoolAttr(index.has_value()));
  return success();
}

//===----------------------------------------------------------------------===//
// StorageSizeOp
//===----------------------------------------------------------------------===//

LogicalResult StorageSizeOp::verify() {
  return verifyLayout(cast<ShapedType>(getSource().getType()),
                      [&] { return emitOpError(); });
}

OpFoldResult StorageSizeOp::fold(FoldAdaptor) {
  auto bytes = getStorageBytes(cast<ShapedType>(getSource().getType()));
  if (bytes && *bytes != kDynamic)
    return Builder(getContext()).getIndexAttr(*bytes);
  llvm::consumeError(bytes.takeError());
  return {};
}
