//===- ShapeUtil.cpp - Building and changing shapes -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/ShapeUtil.h"
#include "UtilSupport.h"
#include "tessera/Layout/LayoutUtil.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace tessera;

using Dims = llvm::SmallVector<int64_t, 6>;

/// `shape` if it satisfies the rules.
static llvm::Expected<Shape> verified(Shape shape) {
  if (llvm::Error error = shape.verify())
    return std::move(error);
  return shape;
}

/// `shape` with `change` applied to every array in it.
static Shape mapArrays(Shape shape, llvm::function_ref<void(Shape &)> change) {
  if (shape.isArray())
    change(shape);
  for (Shape &element : shape.mutableElements())
    element = mapArrays(std::move(element), change);
  return shape;
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

llvm::Expected<Shape> shape_util::makeShape(PrimitiveType type,
                                            llvm::ArrayRef<int64_t> dimensions,
                                            llvm::ArrayRef<bool> dynamic) {
  Shape shape =
      Shape::array(type, dimensions,
                   Layout::descending(static_cast<int64_t>(dimensions.size())));
  if (!dynamic.empty() && dynamic.size() != dimensions.size())
    return invalidError("util_c3", "dynamic flags",
                        llvm::Twine(dimensions.size()) + " entries",
                        llvm::Twine(dynamic.size()));
  for (auto [dim, isDynamic] : llvm::enumerate(dynamic))
    shape.setDynamicDimension(dim, isDynamic);
  return verified(std::move(shape));
}

llvm::Expected<Shape> shape_util::makeShapeWithDenseLayout(
    PrimitiveType type, llvm::ArrayRef<int64_t> dimensions,
    llvm::ArrayRef<int64_t> minorToMajor, llvm::ArrayRef<Tile> tiles) {
  llvm::Expected<Layout> layout = layout_util::makeLayout(minorToMajor, tiles);
  if (!layout)
    return layout.takeError();
  return verified(Shape::array(type, dimensions, std::move(*layout)));
}

llvm::Expected<Shape>
shape_util::makeShapeWithDescendingLayoutAndSamePhysicalLayout(
    const Shape &shape) {
  if (llvm::Error error = detail::requireArray(shape))
    return std::move(error);
  return permuteDimensions(detail::getMajorToMinor(shape), shape);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// `number`, counted from `count` when negative, if it is in [0, count).
static llvm::Expected<int64_t> resolve(int64_t number, int64_t count) {
  if (number >= -count && number < count)
    return number < 0 ? number + count : number;
  return invalidError("util_c5", "dimension",
                      "a number from " + llvm::Twine(-count) + " to " +
                          llvm::Twine(count - 1),
                      llvm::Twine(number));
}

llvm::Expected<int64_t> shape_util::getDimensionNumber(const Shape &shape,
                                                       int64_t dim) {
  if (llvm::Error error = detail::requireArray(shape))
    return std::move(error);
  return resolve(dim, shape.rank());
}

llvm::Expected<int64_t> shape_util::getDimension(const Shape &shape,
                                                 int64_t dim) {
  llvm::Expected<int64_t> number = getDimensionNumber(shape, dim);
  if (!number)
    return number.takeError();
  return shape.dimensions()[*number];
}

int64_t shape_util::trueNumDimensions(const Shape &shape) {
  return shape.rank() - llvm::count(shape.dimensions(), 1);
}

bool shape_util::hasDegenerateDimensions(const Shape &shape) {
  return llvm::is_contained(shape.dimensions(), 1);
}

bool shape_util::isZeroElementArray(const Shape &shape) {
  return shape.isArray() && llvm::is_contained(shape.dimensions(), 0);
}

llvm::Expected<int64_t> shape_util::elementsIn(const Shape &shape) {
  if (llvm::Error error = detail::requireBoundedArray(shape))
    return std::move(error);
  if (std::optional<int64_t> count = detail::checkedProduct(shape.dimensions()))
    return *count;
  return detail::overflowError(shape);
}

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

static bool areTypesEqual(const shape_util::ShapeEqual &equal, const Shape &lhs,
                          const Shape &rhs) {
  PrimitiveType left = lhs.elementType(), right = rhs.elementType();
  if (equal.ignoreElementType || left == right)
    return true;
  return equal.ignoreFpPrecision && isFloatingPoint(left) &&
         isFloatingPoint(right);
}

static bool areDimensionsEqual(const shape_util::ShapeEqual &equal,
                               const Shape &lhs, const Shape &rhs) {
  if (lhs.rank() != rhs.rank())
    return false;
  if (equal.ignoreDimensions)
    return true;
  if (lhs.dimensions() != rhs.dimensions())
    return false;
  return equal.ignoreDynamicDimensions ||
         llvm::all_of(llvm::seq<int64_t>(0, lhs.rank()), [&](int64_t dim) {
           return lhs.isDynamicDimension(dim) == rhs.isDynamicDimension(dim);
         });
}

static bool areArraysEqual(const shape_util::ShapeEqual &equal,
                           const Shape &lhs, const Shape &rhs) {
  if (!areTypesEqual(equal, lhs, rhs) || !areDimensionsEqual(equal, lhs, rhs))
    return false;
  if (equal.ignoreLayout)
    return true;
  if (lhs.hasLayout() != rhs.hasLayout())
    return false;
  return !lhs.hasLayout() || equal.layout(lhs.layout(), rhs.layout());
}

bool shape_util::ShapeEqual::operator()(const Shape &lhs,
                                        const Shape &rhs) const {
  if (lhs.kind() != rhs.kind() ||
      lhs.elements().size() != rhs.elements().size())
    return false;
  if (lhs.isArray())
    return areArraysEqual(*this, lhs, rhs);
  return llvm::all_of(
      llvm::zip(lhs.elements(), rhs.elements()),
      [&](auto pair) { return (*this)(std::get<0>(pair), std::get<1>(pair)); });
}

/// Equality that ignores layouts and dynamic flags.
static shape_util::ShapeEqual ignoringLayouts() {
  shape_util::ShapeEqual equal;
  equal.ignoreLayout = true;
  equal.ignoreDynamicDimensions = true;
  return equal;
}

bool shape_util::compatible(const Shape &lhs, const Shape &rhs) {
  return ignoringLayouts()(lhs, rhs);
}

bool shape_util::compatibleIgnoringElementType(const Shape &lhs,
                                               const Shape &rhs) {
  ShapeEqual equal = ignoringLayouts();
  equal.ignoreElementType = true;
  return equal(lhs, rhs);
}

bool shape_util::compatibleIgnoringFpPrecision(const Shape &lhs,
                                               const Shape &rhs) {
  ShapeEqual equal = ignoringLayouts();
  equal.ignoreFpPrecision = true;
  return equal(lhs, rhs);
}

bool shape_util::equalIgnoringFpPrecision(const Shape &lhs, const Shape &rhs) {
  ShapeEqual equal;
  equal.ignoreFpPrecision = true;
  return equal(lhs, rhs);
}

bool shape_util::equalIgnoringElementType(const Shape &lhs, const Shape &rhs) {
  ShapeEqual equal;
  equal.ignoreElementType = true;
  return equal(lhs, rhs);
}

bool shape_util::sameDimensions(const Shape &lhs, const Shape &rhs) {
  return lhs.isArray() && rhs.isArray() && lhs.dimensions() == rhs.dimensions();
}

bool shape_util::sameRank(const Shape &lhs, const Shape &rhs) {
  return lhs.isArray() && rhs.isArray() && lhs.rank() == rhs.rank();
}

//===----------------------------------------------------------------------===//
// Changes of dimensions
//===----------------------------------------------------------------------===//

/// The dimensions `kept` of `shape` in that order; `layout` is already that of
/// the result but for PD.
static llvm::Expected<Shape> selectDimensions(const Shape &shape,
                                              llvm::ArrayRef<int64_t> kept,
                                              Layout layout) {
  Dims sizes, widths;
  for (int64_t dim : kept) {
    sizes.push_back(shape.dimensions()[dim]);
    if (!layout.paddedDimensions.empty())
      widths.push_back(layout.paddedDimensions[dim]);
  }
  layout.paddedDimensions = widths;
  Shape result = Shape::array(shape.elementType(), sizes);
  for (auto [i, dim] : llvm::enumerate(kept))
    result.setDynamicDimension(i, shape.isDynamicDimension(dim));
  if (shape.hasLayout())
    result.setLayout(std::move(layout));
  return verified(std::move(result));
}

llvm::Expected<Shape>
shape_util::permuteDimensions(llvm::ArrayRef<int64_t> permutation,
                              const Shape &shape) {
  if (llvm::Error error = detail::requireArray(shape))
    return std::move(error);
  if (llvm::Error error = detail::requirePermutation(permutation, shape.rank()))
    return std::move(error);
  Dims inverse(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation))
    inverse[dim] = static_cast<int64_t>(i);
  Layout layout = shape.layoutOrDefault();
  for (int64_t &dim : layout.minorToMajor)
    dim = inverse[dim];
  return selectDimensions(shape, permutation, std::move(layout));
}

/// The SC entries for the physical dimensions that stay, by their new numbers.
static void deleteSplits(Layout &layout, const llvm::SmallBitVector &deleted) {
  llvm::SmallVector<SplitConfig, 1> kept;
  for (SplitConfig split : layout.splitConfigs) {
    if (deleted.test(layout_util::major(layout, split.dimension)))
      continue;
    int64_t before = 0;
    for (int64_t i = 0; i < split.dimension; ++i)
      before += deleted.test(layout_util::major(layout, i));
    split.dimension -= before;
    kept.push_back(std::move(split));
  }
  layout.splitConfigs = std::move(kept);
}

llvm::Expected<Shape> shape_util::deleteDimensions(llvm::ArrayRef<int64_t> dims,
                                                   const Shape &shape) {
  if (llvm::Error error = detail::requireArray(shape))
    return std::move(error);
  llvm::SmallBitVector deleted(shape.rank());
  for (int64_t dim : dims) {
    llvm::Expected<int64_t> number = getDimensionNumber(shape, dim);
    if (!number)
      return number.takeError();
    deleted.set(*number);
  }

  Dims kept, newNumber(shape.rank());
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    newNumber[dim] = static_cast<int64_t>(kept.size());
    if (!deleted.test(dim))
      kept.push_back(dim);
  }
  Layout layout = shape.layoutOrDefault();
  deleteSplits(layout, deleted);
  llvm::erase_if(layout.minorToMajor,
                 [&](int64_t dim) { return deleted.test(dim); });
  for (int64_t &dim : layout.minorToMajor)
    dim = newNumber[dim];
  return selectDimensions(shape, kept, std::move(layout));
}

llvm::Expected<Shape> shape_util::deleteDimension(int64_t dim,
                                                  const Shape &shape) {
  return deleteDimensions({dim}, shape);
}

llvm::Expected<Shape> shape_util::dropDegenerateDimensions(const Shape &shape) {
  Dims degenerate;
  for (int64_t dim = 0; dim < shape.rank(); ++dim)
    if (shape.dimensions()[dim] == 1)
      degenerate.push_back(dim);
  return deleteDimensions(degenerate, shape);
}

/// `layout` of `rank` dimensions with one more, logical number `dim`.
static Layout insertIntoLayout(Layout layout, int64_t dim, int64_t size,
                               int64_t physical) {
  for (int64_t &other : layout.minorToMajor)
    other += other >= dim;
  layout.minorToMajor.insert(layout.minorToMajor.end() - physical, dim);
  for (SplitConfig &split : layout.splitConfigs)
    split.dimension += split.dimension >= physical;
  if (!layout.paddedDimensions.empty())
    layout.paddedDimensions.insert(layout.paddedDimensions.begin() + dim, size);
  return layout;
}

llvm::Expected<Shape> shape_util::insertDimension(int64_t dim, int64_t size,
                                                  int64_t physical,
                                                  const Shape &shape) {
  if (llvm::Error error = detail::requireArray(shape))
    return std::move(error);
  llvm::Expected<int64_t> number = resolve(dim, shape.rank() + 1);
  if (!number)
    return number.takeError();
  llvm::Expected<int64_t> position = resolve(physical, shape.rank() + 1);
  if (!position)
    return position.takeError();

  Dims sizes(shape.dimensions());
  sizes.insert(sizes.begin() + *number, size);
  Shape result = Shape::array(shape.elementType(), sizes);
  for (int64_t i = 0; i < shape.rank(); ++i)
    result.setDynamicDimension(i + (i >= *number), shape.isDynamicDimension(i));
  if (shape.hasLayout())
    result.setLayout(
        insertIntoLayout(shape.layout(), *number, size, *position));
  return verified(std::move(result));
}

llvm::Expected<Shape> shape_util::prependMajorDimension(int64_t size,
                                                        const Shape &shape) {
  return insertDimension(0, size, 0, shape);
}

llvm::Expected<Shape> shape_util::appendMinorDimension(int64_t size,
                                                       const Shape &shape) {
  return insertDimension(-1, size, -1, shape);
}

llvm::Expected<Shape> shape_util::moveDimToMajor(const Shape &shape,
                                                 int64_t dim) {
  llvm::Expected<int64_t> number = getDimensionNumber(shape, dim);
  if (!number)
    return number.takeError();
  llvm::Expected<Layout> layout =
      layout_util::moveDimToMajor(shape.layoutOrDefault(), *number);
  if (!layout)
    return layout.takeError();
  Shape result = shape;
  result.setLayout(std::move(*layout));
  return verified(std::move(result));
}

//===----------------------------------------------------------------------===//
// Changes of fields
//===----------------------------------------------------------------------===//

llvm::Expected<Shape> shape_util::changeElementType(const Shape &shape,
                                                    PrimitiveType type) {
  return verified(mapArrays(shape, [&](Shape &array) {
    array.setElementType(type);
    if (array.hasLayout() && !isSubByteNonPred(type))
      array.mutableLayout().elementSizeInBits = 0;
  }));
}

Shape shape_util::updateElementSizeInBits(const Shape &shape,
                                          bool packSubByteTypes) {
  return mapArrays(shape, [&](Shape &array) {
    PrimitiveType type = array.elementType();
    bool isPacked = packSubByteTypes && isSubByteNonPred(type);
    if (array.hasLayout())
      array.mutableLayout().elementSizeInBits =
          isPacked ? getBitWidth(type) : 0;
  });
}

Shape shape_util::deviceShapeToHostShape(const Shape &shape) {
  return mapArrays(shape, [](Shape &array) {
    if (!array.hasLayout())
      return;
    Layout &layout = array.mutableLayout();
    layout.tiles.clear();
    layout.memorySpace = 0;
    layout.elementSizeInBits = 0;
    layout.tailPaddingAlignment = 1;
    layout.dynamicShapeMetadataPrefixBytes = 0;
  });
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

llvm::SmallVector<detail::ReshapeGroup, 6>
detail::getReshapeGroups(llvm::ArrayRef<int64_t> from,
                         llvm::ArrayRef<int64_t> to) {
  auto fromRank = static_cast<int64_t>(from.size());
  auto toRank = static_cast<int64_t>(to.size());
  bool isEmpty = llvm::is_contained(from, 0) || llvm::is_contained(to, 0);
  auto isNotOne = [](int64_t size) { return size != 1; };
  if (isEmpty && !llvm::equal(llvm::make_filter_range(from, isNotOne),
                              llvm::make_filter_range(to, isNotOne)))
    return {{0, fromRank, 0, toRank}};

  llvm::SmallVector<ReshapeGroup, 6> groups;
  int64_t i = 0, j = 0;
  while (i < fromRank || j < toRank) {
    ReshapeGroup group = {i, i, j, j};
    if (i < fromRank && j < toRank && from[i] == to[j]) {
      ++i, ++j;
    } else if (i < fromRank && from[i] == 1) {
      ++i;
    } else if (j < toRank && to[j] == 1) {
      ++j;
    } else {
      // The side with fewer elements takes its next dimension, until both
      // agree; they do at the end at the latest.
      int64_t fromElements = from[i++], toElements = to[j++];
      while (fromElements != toElements) {
        if (fromElements < toElements)
          fromElements *= from[i++];
        else
          toElements *= to[j++];
      }
    }
    group.endFrom = i;
    group.endTo = j;
    groups.push_back(group);
  }
  return groups;
}

llvm::Expected<std::pair<int64_t, int64_t>>
detail::countElements(const Shape &from, const Shape &to) {
  llvm::Expected<int64_t> fromElements = shape_util::elementsIn(from);
  if (!fromElements)
    return fromElements.takeError();
  llvm::Expected<int64_t> toElements = shape_util::elementsIn(to);
  if (!toElements)
    return toElements.takeError();
  return std::pair(*fromElements, *toElements);
}

/// util_c6: a reshape keeps the number of elements.
static llvm::Error requireReshape(const Shape &from, const Shape &to) {
  auto counts = detail::countElements(from, to);
  if (!counts)
    return counts.takeError();
  if (counts->first == counts->second)
    return llvm::Error::success();
  return invalidError("util_c6", "reshape", "equal numbers of elements",
                      llvm::Twine(counts->first) + " and " +
                          llvm::Twine(counts->second));
}

llvm::Expected<llvm::SmallVector<std::pair<int64_t, int64_t>, 6>>
shape_util::dimensionsUnmodifiedByReshape(const Shape &from, const Shape &to) {
  if (llvm::Error error = requireReshape(from, to))
    return std::move(error);
  llvm::SmallVector<std::pair<int64_t, int64_t>, 6> pairs;
  for (const detail::ReshapeGroup &group :
       detail::getReshapeGroups(from.dimensions(), to.dimensions()))
    if (group.isPair())
      pairs.push_back({group.beginFrom, group.beginTo});
  return pairs;
}

llvm::Expected<std::optional<llvm::SmallVector<int64_t, 6>>>
shape_util::reshapeLeavesDimensionsUnmodified(const Shape &from,
                                              const Shape &to,
                                              llvm::ArrayRef<int64_t> dims) {
  auto pairs = dimensionsUnmodifiedByReshape(from, to);
  if (!pairs)
    return pairs.takeError();
  Dims result;
  for (int64_t dim : dims) {
    const auto *found =
        llvm::find_if(*pairs, [&](auto pair) { return pair.first == dim; });
    if (found == pairs->end())
      return std::nullopt;
    result.push_back(found->second);
  }
  return result;
}

std::optional<shape_util::OneSizedDimensions>
shape_util::insertedOrDeleted1SizedDimensions(const Shape &from,
                                              const Shape &to) {
  if (llvm::Error error = requireReshape(from, to)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  OneSizedDimensions result;
  for (const detail::ReshapeGroup &group :
       detail::getReshapeGroups(from.dimensions(), to.dimensions())) {
    if (group.isPair())
      continue;
    bool isDeleted = group.beginTo == group.endTo;
    bool isInserted = group.beginFrom == group.endFrom;
    if (!isDeleted && !isInserted)
      return std::nullopt;
    if (isDeleted)
      result.deleted.push_back(group.beginFrom);
    else
      result.inserted.push_back(group.beginTo);
  }
  return result;
}
