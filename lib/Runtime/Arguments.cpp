//===- Arguments.cpp - What comes from outside through the C API ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "../CAPI/Objects.h"

#include "tessera/Layout/Text.h"

using namespace tessera;
using namespace tessera::runtime;

llvm::Error tessera::runtime::makeNullError(llvm::StringRef field) {
  return invalidError("", field, "a pointer", "null");
}

llvm::Expected<llvm::ArrayRef<int64_t>>
tessera::runtime::read(TesseraInt64s numbers, llvm::StringRef field) {
  if (numbers.size > 0 && !numbers.data)
    return makeNullError(field);
  return unwrap(numbers);
}

static llvm::Error readTiles(const TesseraRuntimeArray &array, Layout &layout) {
  auto sizes = read(array.tileDims, "tile_dims");
  if (!sizes)
    return sizes.takeError();
  if (array.numTiles > 0 && !array.tileDimSizes)
    return makeNullError("tile_dim_sizes");
  llvm::ArrayRef<int64_t> left = *sizes;
  for (size_t length : llvm::ArrayRef(array.tileDimSizes, array.numTiles)) {
    if (length > left.size())
      return invalidError("", "tile_dims",
                          "as many sizes as tile_dim_sizes say",
                          llvm::Twine(sizes->size()));
    layout.tiles.push_back(
        {llvm::SmallVector<int64_t, 4>(left.take_front(length))});
    left = left.drop_front(length);
  }
  if (!left.empty())
    return invalidError("", "tile_dims", "as many sizes as tile_dim_sizes say",
                        llvm::Twine(left.size()) + " more");
  return llvm::Error::success();
}

static llvm::Expected<Layout> readLayout(const TesseraRuntimeArray &array) {
  auto order = read(array.minorToMajor, "minor_to_major");
  if (!order)
    return order.takeError();
  Layout layout = Layout::descending(array.dimensions.size);
  if (!order->empty())
    layout.minorToMajor.assign(order->begin(), order->end());
  layout.elementSizeInBits = array.elementBits;
  if (llvm::Error error = readTiles(array, layout))
    return std::move(error);
  return layout;
}

llvm::Expected<Side>
tessera::runtime::readArray(const TesseraRuntimeArray *array,
                            llvm::StringRef field) {
  if (!array)
    return makeNullError(field);
  if (!array->elementType)
    return makeNullError("element type");
  auto type = parsePrimitiveType(array->elementType);
  if (!type || !isArrayElement(*type))
    return invalidError("", "element type", "one such as bf16",
                        "'" + llvm::Twine(array->elementType) + "'");
  auto dimensions = read(array->dimensions, "dimensions");
  if (!dimensions)
    return dimensions.takeError();
  llvm::Expected<Layout> layout = readLayout(*array);
  if (!layout)
    return layout.takeError();
  auto strides = read(array->byteStrides, "byte strides");
  if (!strides)
    return strides.takeError();
  Side side;
  side.shape = Shape::array(*type, *dimensions, std::move(*layout));
  if (!strides->empty())
    side.strided = {llvm::SmallVector<int64_t, 6>(*strides), array->byteOffset};
  return side;
}

llvm::Expected<Side> tessera::runtime::readText(const char *text,
                                                llvm::StringRef field) {
  if (!text)
    return makeNullError(field);
  llvm::Expected<Shape> shape = parseShape(text);
  if (!shape)
    return shape.takeError();
  return Side{std::move(*shape)};
}

llvm::Error tessera::runtime::readBox(const char *text, llvm::StringRef field,
                                      Side &side) {
  if (!text || !side.shape.isArray())
    return llvm::Error::success();
  llvm::Expected<Box> box = parseBox(text, side.shape, field);
  if (!box)
    return box.takeError();
  side.box = std::move(*box);
  return llvm::Error::success();
}
