//===- TesseraHLOTypes.cpp - Types of the tessera_hlo dialect -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLOTypes.cpp.inc"

void hlo::TesseraHLODialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLOTypes.cpp.inc"
      >();
}

static RankedTensorType getArrayType(MLIRContext *context, const Shape &shape) {
  if (shape.rank() > 0 || !shape.hasLayout() || shape.layout().hasAttributes())
    return getTensorType(context, shape);
  return RankedTensorType::get({},
                               getElementType(context, shape.elementType()));
}

Type hlo::getType(MLIRContext *context, const Shape &shape) {
  switch (shape.kind()) {
  case Shape::Kind::Array:
    return getArrayType(context, shape);
  case Shape::Kind::Tuple: {
    SmallVector<Type> types;
    for (const Shape &element : shape.elements())
      types.push_back(getType(context, element));
    return TupleType::get(context, types);
  }
  case Shape::Kind::Buffer:
    return BufferType::get(context,
                           getArrayType(context, shape.elements().front()));
  case Shape::Kind::Token:
    return TokenType::get(context);
  case Shape::Kind::Opaque:
    return OpaqueType::get(context);
  }
  llvm_unreachable("unknown kind of shape");
}

static llvm::Expected<Shape> getTupleShape(TupleType type) {
  std::vector<Shape> elements;
  for (Type element : type.getTypes()) {
    llvm::Expected<Shape> shape = hlo::getShape(element);
    if (!shape)
      return shape.takeError();
    elements.push_back(std::move(*shape));
  }
  return Shape::tuple(std::move(elements));
}

llvm::Expected<Shape> hlo::getShape(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return ::tessera::getShape(tensor);
  if (auto tuple = dyn_cast<TupleType>(type))
    return getTupleShape(tuple);
  if (isa<TokenType>(type))
    return Shape::token();
  if (isa<OpaqueType>(type))
    return Shape::opaque();
  if (auto buffer = dyn_cast<BufferType>(type)) {
    llvm::Expected<Shape> array = ::tessera::getShape(buffer.getArray());
    if (!array)
      return array.takeError();
    return Shape::buffer(std::move(*array));
  }
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return unsupportedError("type of a value of HLO",
                          "a ranked tensor, a tuple or a type of tessera_hlo",
                          text);
}
