//===- Shape.cpp - Arrays, tuples, tokens ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Shape.h"
#include "tessera/Layout/Rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

Shape Shape::array(PrimitiveType type, llvm::ArrayRef<int64_t> dimensions,
                   std::optional<Layout> layout) {
  Shape shape;
  shape.shapeKind = Kind::Array;
  shape.type = type;
  shape.dims.assign(dimensions.begin(), dimensions.end());
  shape.dynamic.reserve(dimensions.size());
  for (int64_t size : dimensions)
    shape.dynamic.push_back(size == kDynamic);
  shape.layoutField = std::move(layout);
  return shape;
}

Shape Shape::tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.children = std::move(elements);
  return shape;
}

Shape Shape::buffer(Shape element) {
  Shape shape;
  shape.shapeKind = Kind::Buffer;
  shape.children.push_back(std::move(element));
  return shape;
}

Shape Shape::token() {
  Shape shape;
  shape.shapeKind = Kind::Token;
  return shape;
}

Shape Shape::opaque() {
  Shape shape;
  shape.shapeKind = Kind::Opaque;
  shape.type = PrimitiveType::Opaque;
  return shape;
}

bool Shape::hasUnboundedDimension() const {
  return llvm::is_contained(dims, kDynamic);
}

bool Shape::isStaticArray() const {
  return isArray() && !llvm::is_contained(dynamic, true);
}

std::optional<int64_t>
tessera::countElements(llvm::ArrayRef<int64_t> dimensions) {
  if (llvm::is_contained(dimensions, kDynamic))
    return std::nullopt;
  if (llvm::is_contained(dimensions, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : dimensions) {
    std::optional<int64_t> product = llvm::checkedMul(count, size);
    if (!product)
      return std::nullopt;
    count = *product;
  }
  return count;
}

std::string tessera::formatSizes(llvm::ArrayRef<int64_t> dimensions) {
  return llvm::join(llvm::map_range(dimensions,
                                    [](int64_t size) {
                                      return size == kDynamic
                                                 ? "?"
                                                 : std::to_string(size);
                                    }),
                    "x");
}

bool Shape::operator==(const Shape &other) const {
  return shapeKind == other.shapeKind && type == other.type &&
         dims == other.dims && dynamic == other.dynamic &&
         layoutField == other.layoutField && children == other.children;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

llvm::Error Shape::verify() const {
  if (isArray()) {
    if (detail::MaybeViolation violation = detail::checkArray(*this))
      return violation->takeError();
    return llvm::Error::success();
  }
  // shape_c5: a buffer holds one array.
  if (isBuffer() && (children.size() != 1 || !children.front().isArray()))
    return invalidError("shape_c5", "buffer", "exactly one array",
                        toString(/*printLayout=*/false));
  for (const Shape &child : children)
    if (llvm::Error error = child.verify())
      return error;
  return llvm::Error::success();
}

llvm::Error tessera::verifyLayout(const Layout &layout, PrimitiveType type,
                                  llvm::ArrayRef<int64_t> dimensions) {
  if (detail::MaybeViolation violation = detail::checkLayout(layout))
    return violation->takeError();
  if (detail::MaybeViolation violation =
          detail::checkLayoutOfArray(layout, type, dimensions))
    return violation->takeError();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printArray(llvm::raw_ostream &os, const Shape &shape,
                       bool printLayout) {
  os << getName(shape.elementType()) << '[';
  for (int64_t i = 0; i < shape.rank(); ++i) {
    int64_t size = shape.dimensions()[i];
    os << (i ? "," : "");
    if (size == kDynamic)
      os << '?';
    else
      os << (shape.isDynamicDimension(i) ? "<=" : "") << size;
  }
  os << ']';
  if (!printLayout || !shape.hasLayout())
    return;
  // `f32[]{}` is not in the grammar, so a scalar's empty layout is not printed.
  if (shape.rank() != 0 || shape.layout().hasAttributes())
    os << shape.layout();
}

/// Every fifth element is numbered in a comment, as in HLO.
static void printTuple(llvm::raw_ostream &os, llvm::ArrayRef<Shape> elements,
                       bool printLayout) {
  os << '(';
  for (auto [i, element] : llvm::enumerate(elements)) {
    if (i != 0)
      os << ", ";
    if (i != 0 && i % 5 == 0)
      os << "/*index=" << i << "*/";
    element.print(os, printLayout);
  }
  os << ')';
}

void Shape::print(llvm::raw_ostream &os, bool printLayout) const {
  switch (shapeKind) {
  case Kind::Array:
    return printArray(os, *this, printLayout);
  case Kind::Tuple:
    return printTuple(os, children, printLayout);
  case Kind::Buffer:
    os << 'b';
    return printTuple(os, children, printLayout);
  case Kind::Token:
  case Kind::Opaque:
    os << getName(type) << "[]";
  }
}

std::string Shape::toString(bool printLayout) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, printLayout);
  return text;
}

llvm::raw_ostream &tessera::operator<<(llvm::raw_ostream &os,
                                       const Shape &shape) {
  shape.print(os);
  return os;
}
