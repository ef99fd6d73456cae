//===- Shape.h - Arrays, tuples, tokens -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Shape is the type of a value in XLA. It is one of five kinds:
//
//   kind     text                                 members
//   array    f32[3,5]{1,0:T(2,2)}, f32[]          elementType, dimensions,
//                                                 optionally a layout
//   tuple    (f32[3,5], u32[])                    elements
//   buffer   b(f32[3,5]{1,0})                     elements: one array
//   token    token[]
//   opaque   opaque[]
//
// Each dimension of an array has a size in elements, and a flag that says
// whether the size is dynamic:
//
//   text    dimensions()   isDynamicDimension()
//   5       5              false
//   <=5     5              true: at most 5, and there is memory for 5
//   ?       kDynamic       true: unbounded
//
// A Shape may be in any state while it is built; verify() says whether it
// satisfies the rules of the notation, those of its layout included. parseShape
// (Text.h) returns verified shapes only, and toString() prints the canonical
// text, which parses to an equal shape:
//
//   Shape shape = Shape::array(PrimitiveType::F32, {3, 5});
//   shape.setLayout(Layout::descending(2));
//   shape.toString();                       // f32[3,5]{1,0}
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_SHAPE_H
#define TESSERA_LAYOUT_SHAPE_H

#include "tessera/Layout/Layout.h"

#include <vector>

namespace tessera {

/// A shape of XLA: an array with or without a layout, a tuple, a buffer around
/// one array, a token, or an opaque value. A value type: copies are deep.
class Shape {
public:
  enum class Kind : uint8_t { Array, Tuple, Buffer, Token, Opaque };

  /// The empty tuple.
  Shape() = default;

  /// An array. `dimensions` in elements, logical order; `kDynamic` for `?`.
  static Shape array(PrimitiveType type, llvm::ArrayRef<int64_t> dimensions,
                     std::optional<Layout> layout = std::nullopt);
  static Shape tuple(std::vector<Shape> elements);
  /// `b(array)`; `element` must be an array.
  static Shape buffer(Shape element);
  static Shape token();
  static Shape opaque();

  Kind kind() const { return shapeKind; }
  bool isArray() const { return shapeKind == Kind::Array; }
  bool isTuple() const { return shapeKind == Kind::Tuple; }
  bool isBuffer() const { return shapeKind == Kind::Buffer; }

  //===--- Arrays ---------------------------------------------------------===//

  PrimitiveType elementType() const { return type; }
  void setElementType(PrimitiveType newType) { type = newType; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  /// Sizes in elements: the bound of a `<=N` dimension, kDynamic for `?`.
  llvm::ArrayRef<int64_t> dimensions() const { return dims; }
  void setDimensions(llvm::ArrayRef<int64_t> newDims) {
    dims.assign(newDims.begin(), newDims.end());
    dynamic.resize(dims.size(), false);
  }
  /// Whether the dimension is written `<=N` or `?`.
  bool isDynamicDimension(int64_t dim) const { return dynamic[dim]; }
  void setDynamicDimension(int64_t dim, bool isDynamic) {
    dynamic[dim] = isDynamic;
  }
  /// Whether any dimension is written `?`.
  bool hasUnboundedDimension() const;
  /// Whether this is an array without dimensions that are `<=N` or `?`.
  bool isStaticArray() const;

  bool hasLayout() const { return layoutField.has_value(); }
  const Layout &layout() const { return *layoutField; }
  Layout &mutableLayout() { return *layoutField; }
  void setLayout(std::optional<Layout> layout) {
    layoutField = std::move(layout);
  }
  /// The layout, or the descending one where there is none.
  Layout layoutOrDefault() const {
    return layoutField ? *layoutField : Layout::descending(rank());
  }

  //===--- Tuples and buffers ---------------------------------------------===//

  /// Elements of a tuple; the one array of a buffer.
  llvm::ArrayRef<Shape> elements() const { return children; }
  std::vector<Shape> &mutableElements() { return children; }

  //===--- Whole shapes ---------------------------------------------------===//

  /// All rules of the notation, leaves of tuples included: sizes, products of
  /// dimensions and of bytes, the layout's own rules and those against the
  /// dimensions and the element type (shape_c1..., layout_c1... of
  /// docs/notation-rules.md).
  llvm::Error verify() const;

  /// Exact equality, layouts included.
  bool operator==(const Shape &other) const;
  bool operator!=(const Shape &other) const { return !(*this == other); }

  /// Canonical text, as XLA prints it; `printLayout` = false leaves layouts
  /// out.
  std::string toString(bool printLayout = true) const;
  void print(llvm::raw_ostream &os, bool printLayout = true) const;

private:
  Kind shapeKind = Kind::Tuple;
  PrimitiveType type = PrimitiveType::Token;
  llvm::SmallVector<int64_t, 6> dims;
  llvm::SmallVector<bool, 6> dynamic;
  std::optional<Layout> layoutField;
  std::vector<Shape> children;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Shape &shape);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Layout &layout);

/// The rules of `layout` against an array, layout_c1 to layout_c17 of
/// docs/notation-rules.md: those of Layout::verify, rank, PD widths at least
/// the sizes, PV against the type, bounds against dynamic dimensions, and a
/// buffer whose elements and bytes can be counted. `dimensions` may hold
/// kDynamic. A layout that satisfies them may still be one for which
/// AxisList::get answers *unsupported* (`*` over an axis of unknown extent).
llvm::Error verifyLayout(const Layout &layout, PrimitiveType type,
                         llvm::ArrayRef<int64_t> dimensions);

/// The product of sizes, which leaves 64 bits at most where one of them is 0;
/// nothing where one is not known, or where it does leave them.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> dimensions);

/// `4x?x3`, for messages; nothing for no dimensions.
std::string formatSizes(llvm::ArrayRef<int64_t> dimensions);

} // namespace tessera

#endif // TESSERA_LAYOUT_SHAPE_H
