//===- Explain.cpp - A shape in words -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Explain.h"

#include "FieldList.h"
#include "PaddedAxes.h"
#include "Product.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

using namespace tessera;

namespace {

using Index = llvm::SmallVector<int64_t, 6>;

/// Dimensions up to which all orders are compared.
constexpr int64_t kMaxOrderedRank = 8;
/// Most minor dimensions of which all choices are tried: the others hardly
/// change the size, since no tile of practice reaches them.
constexpr int64_t kTriedDimensions = 3;

/// Axes that are listed after all tiles together; each tile lists all.
constexpr size_t kMaxListedAxes = size_t(1) << 16;

std::string toText(int64_t number) {
  return number == kDynamic ? "?" : llvm::itostr(number);
}

/// `a, b, c` of the numbers, or with another separator.
std::string joinNumbers(llvm::ArrayRef<int64_t> numbers,
                        llvm::StringRef separator = ",") {
  return llvm::join(llvm::map_range(numbers, toText), separator);
}

std::string inBrackets(llvm::ArrayRef<int64_t> numbers) {
  return "[" + joinNumbers(numbers) + "]";
}

std::string count(int64_t number, llvm::StringRef unit) {
  return (toText(number) + " " + unit + (number == 1 ? "" : "s")).str();
}

//===----------------------------------------------------------------------===//
// Fields in words
//===----------------------------------------------------------------------===//

std::string describeKind(PrimitiveType type) {
  if (type == PrimitiveType::Pred)
    return "true or false";
  if (isComplex(type))
    return "complex number";
  if (isFloatingPoint(type))
    return "floating point number";
  return isSignedIntegral(type) ? "signed integer" : "unsigned integer";
}

std::string describeType(PrimitiveType type, const Layout &layout) {
  std::string text =
      describeKind(type) + " of " + count(getBitWidth(type), "bit");
  if (layout.elementSizeInBits != 0)
    return text;
  return text + "; takes " + count(getByteWidth(type), "byte");
}

/// The letters that XLA's users give to dimensions; none beyond four.
llvm::StringRef getLetters(int64_t rank) {
  constexpr llvm::StringRef letters = "pzyx";
  return rank <= 4 ? letters.take_back(rank) : "";
}

std::string describeDimensions(const Shape &shape) {
  if (shape.rank() == 0)
    return "no dimensions: a scalar, one element";
  llvm::StringRef letters = getLetters(shape.rank());
  llvm::SmallVector<std::string, 6> parts;
  for (auto [dim, size] : llvm::enumerate(shape.dimensions())) {
    std::string part = "d" + llvm::utostr(dim);
    if (!letters.empty())
      part += std::string(" (") + letters[dim] + ")";
    part += " has ";
    if (size == kDynamic)
      part += "an unknown size";
    else
      part += (shape.isDynamicDimension(dim) ? "at most " : "") + toText(size);
    parts.push_back(part);
  }
  return count(shape.rank(), "dimension") + ": " + llvm::join(parts, ", ");
}

std::string describeOrder(const Layout &layout) {
  llvm::SmallVector<std::string, 6> names;
  for (int64_t dim : layout.minorToMajor)
    names.push_back("d" + llvm::itostr(dim));
  std::string text =
      "fastest varying in memory first: " + llvm::join(names, ", ");
  if (layout.rank() < 2)
    return text;
  if (llvm::equal(llvm::reverse(layout.minorToMajor),
                  llvm::seq<int64_t>(0, layout.rank())))
    return text + " (row-major, as in C)";
  if (llvm::is_sorted(layout.minorToMajor))
    return text + " (column-major, as in Fortran)";
  return text;
}

std::string getTileText(const Tile &tile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  tile.print(os);
  return text;
}

/// The axes under the first `numTiles` tiles only.
llvm::Expected<AxisList> getStage(const Shape &shape, size_t numTiles) {
  Layout layout = shape.layoutOrDefault();
  layout.tiles.truncate(numTiles);
  return AxisList::get(shape.dimensions(), layout);
}

std::string describeTile(const Tile &tile, const AxisList &before,
                         const AxisList &after) {
  Index sizes;
  for (int64_t size : tile.sizes)
    if (size != Tile::kCombine)
      sizes.push_back(size);
  std::string text;
  if (tile.sizes.size() > before.size())
    text += "with axes of 1 in front, ";
  if (sizes.size() != tile.sizes.size())
    text += "`*` merges an axis into the next, ";
  Index counts;
  llvm::append_range(counts, llvm::ArrayRef(after.physicalShape())
                                 .drop_back(sizes.size())
                                 .take_back(sizes.size()));
  text += "split into " + joinNumbers(counts, " x ") +
          (counts == Index{1} ? " tile of " : " tiles of ") +
          joinNumbers(sizes, " x ") + ": " +
          inBrackets(before.physicalShape()) + " becomes " +
          inBrackets(after.physicalShape());
  if (after.isStatic() && after.numPositions() != before.numPositions())
    text += ", padded from " + count(before.numPositions(), "position") +
            " to " + toText(after.numPositions());
  return text;
}

std::string describeSplit(const SplitConfig &split) {
  return "axis " + toText(split.dimension) +
         " (0 is the most major) is split before " +
         joinNumbers(split.indices) + " into " +
         count(split.indices.size() + 1, "piece") + "; moves no element";
}

//===----------------------------------------------------------------------===//
// The explanation
//===----------------------------------------------------------------------===//

/// Explains one array, as lines of a field and its meaning.
class ArrayExplainer {
public:
  ArrayExplainer(const Shape &shape, llvm::raw_ostream &os,
                 const ExplainOptions &options)
      : shape(shape), layout(shape.layoutOrDefault()), options(options),
        os(os) {}

  llvm::Error explain();
  /// The fields of the layout alone, of an array that is not known.
  void explainLayout();

private:
  void add(llvm::StringRef field, llvm::StringRef meaning) {
    lines.add(field, meaning);
  }
  llvm::Error addTiles();
  void addOtherFields();
  llvm::Error addSizes();
  std::string describePadding(const ShapeSize &size) const;
  void addBestOrder(int64_t bytes);
  llvm::Error addAddress();

  const Shape &shape;
  Layout layout;
  const ExplainOptions &options;
  llvm::raw_ostream &os;
  FieldList lines;
};

/// Refuses what would be longer than anybody reads: with each tile the list of
/// axes grows, and it is shown after each.
llvm::Error checkListedAxes(const Shape &shape, const Layout &layout) {
  size_t axes = shape.rank(), listed = 0;
  for (const Tile &tile : layout.tiles) {
    axes += tile.sizes.size();
    listed += axes;
    if (listed > kMaxListedAxes)
      return unsupportedError("explanation",
                              "at most " + llvm::Twine(kMaxListedAxes) +
                                  " axes after all tiles",
                              llvm::Twine(layout.tiles.size()) + " tiles of " +
                                  llvm::Twine(shape.rank()) + " dimensions",
                              "leave out dimensions of size 1 or tiles");
  }
  return llvm::Error::success();
}

llvm::Error ArrayExplainer::addTiles() {
  for (size_t i = 0; i < layout.tiles.size(); ++i) {
    llvm::Expected<AxisList> before = getStage(shape, i);
    if (!before)
      return before.takeError();
    llvm::Expected<AxisList> after = getStage(shape, i + 1);
    if (!after)
      return after.takeError();
    add((i == 0 ? "T" : "") + getTileText(layout.tiles[i]),
        describeTile(layout.tiles[i], *before, *after));
  }
  return llvm::Error::success();
}

/// By the names of the target, if there is one.
std::string describeSpace(int64_t number, const Target *target) {
  if (!target)
    return getMemorySpaceName(number).str();
  const MemorySpace *space = target->findSpace(number);
  if (!space)
    return ("none of " + target->name).str();
  std::string text = (space->name + " of " + target->name).str();
  if (space->capacity > 0)
    text += ", of " + count(space->capacity, "byte");
  return text;
}

void ArrayExplainer::addOtherFields() {
  if (layout.tailPaddingAlignment != 1)
    add("L(" + toText(layout.tailPaddingAlignment) + ")",
        "the buffer is rounded up to a multiple of " +
            count(layout.tailPaddingAlignment, "element"));
  if (layout.elementSizeInBits != 0)
    add("E(" + toText(layout.elementSizeInBits) + ")",
        "an element takes " + count(layout.elementSizeInBits, "bit") +
            " of the buffer");
  add("S(" + toText(layout.memorySpace) + ")",
      "memory space: " + describeSpace(layout.memorySpace, options.target) +
          (layout.memorySpace == 0 ? " (not written)" : ""));
  for (const SplitConfig &split : layout.splitConfigs)
    add("SC(" + toText(split.dimension) + ":" + joinNumbers(split.indices) +
            ")",
        describeSplit(split));
  if (int64_t bytes = layout.dynamicShapeMetadataPrefixBytes)
    add("M(" + toText(bytes) + ")", count(bytes, "byte") +
                                        " before the data hold the sizes of "
                                        "dynamic dimensions");
  if (!layout.paddedDimensions.empty())
    add("PD(" + joinNumbers(layout.paddedDimensions) + ")",
        "before all tiles, dimensions are widened to " +
            joinNumbers(layout.paddedDimensions, ", ") + " elements");
  if (layout.paddingValue)
    add(("PV(" + getName(*layout.paddingValue) + ")").str(),
        ("all padding holds " + getName(*layout.paddingValue)).str());
}

std::string ArrayExplainer::describePadding(const ShapeSize &size) const {
  if (size.paddingBytes == 0)
    return "none";
  std::string text;
  llvm::raw_string_ostream(text)
      << count(size.paddingBytes, "byte") << ", "
      << llvm::format("%.3g", 100. * size.paddingBytes / size.bytes)
      << "% of the buffer (expansion " << llvm::format("%.3g", size.expansion())
      << ")" << describeGrowth(shape);
  return text;
}

/// Calls `visit` with all orders of the most minor `free` dimensions.
void forEachOrder(int64_t rank, int64_t free,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  Index order;
  std::function<void()> extend = [&] {
    if (static_cast<int64_t>(order.size()) == free) {
      Index whole = order;
      for (int64_t dim = rank; dim-- > 0;)
        if (!llvm::is_contained(order, dim))
          whole.push_back(dim);
      visit(whole);
      return;
    }
    for (int64_t dim = rank; dim-- > 0;)
      if (!llvm::is_contained(order, dim)) {
        order.push_back(dim);
        extend();
        order.pop_back();
      }
  };
  extend();
}

/// What the order of dimensions costs against the one that pads least.
void ArrayExplainer::addBestOrder(int64_t bytes) {
  if (layout.tiles.empty() || shape.rank() < 2 ||
      shape.rank() > kMaxOrderedRank)
    return;
  int64_t best = bytes;
  Shape other = shape;
  other.setLayout(layout);
  Index bestOrder = layout.minorToMajor;
  forEachOrder(shape.rank(), std::min(shape.rank(), kTriedDimensions),
               [&](llvm::ArrayRef<int64_t> order) {
                 other.mutableLayout().minorToMajor.assign(order.begin(),
                                                           order.end());
                 llvm::Expected<ShapeSize> size = getSize(other);
                 if (!size) {
                   llvm::consumeError(size.takeError());
                   return;
                 }
                 if (size->bytes >= best)
                   return;
                 best = size->bytes;
                 bestOrder.assign(order.begin(), order.end());
               });
  if (best == bytes) {
    add("best order", "this one: no other takes less with these tiles");
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << "{" << joinNumbers(bestOrder) << "} would take " << count(best, "byte")
      << " with these tiles; this one takes "
      << llvm::format("%.3g", double(bytes) / double(best)) << " times that";
  add("best order", text);
}

llvm::Error ArrayExplainer::addSizes() {
  if (shape.hasUnboundedDimension()) {
    add("size", "not known before the sizes of `?` dimensions are");
    return llvm::Error::success();
  }
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (!size)
    return size.takeError();
  lines.addBlank();
  add("in memory", inBrackets(size->physicalShape) + ", row-major: " +
                       count(size->allocatedElements, "position") + " for " +
                       count(size->logicalElements, "element"));
  add("size", count(size->bytes, "byte"));
  add("padding", describePadding(*size));
  addBestOrder(size->bytes);
  return llvm::Error::success();
}

/// `(2 * 2 + 1) * 128 + 71`: how axis indices make a position.
std::string describeMixedRadix(llvm::ArrayRef<int64_t> extents,
                               llvm::ArrayRef<int64_t> indices) {
  std::string text;
  for (auto [extent, index] : llvm::zip_equal(extents, indices)) {
    if (extent == 1)
      continue;
    if (text.empty()) {
      text = toText(index);
      continue;
    }
    if (llvm::StringRef(text).contains('+'))
      text.insert(0, "(").append(")");
    text += " * " + toText(extent) + " + " + toText(index);
  }
  return text;
}

/// The last element's address, tile by tile.
llvm::Error ArrayExplainer::addAddress() {
  llvm::Expected<AxisList> axes = AxisList::get(shape);
  if (!axes)
    return axes.takeError();
  lines.addBlank();
  for (auto [i, axis] : llvm::enumerate(axes->axes()))
    add("axis " + llvm::utostr(i),
        "extent " + toText(axis.extent.value) + ", index " +
            (axis.index.isZero() ? "always 0" : axis.index.toString()));
  if (!axes->isStatic() || llvm::is_contained(axes->dimensions(), kDynamic) ||
      llvm::is_contained(axes->dimensions(), 0))
    return llvm::Error::success();

  Index last;
  for (int64_t size : axes->dimensions())
    last.push_back(size - 1);
  lines.addBlank();
  add("element", "(" + joinNumbers(last) + "), the last one");
  for (size_t i = 0; i <= layout.tiles.size(); ++i) {
    llvm::Expected<AxisList> stage = getStage(shape, i);
    if (!stage)
      return stage.takeError();
    add(i == 0 ? "in order" : "by " + getTileText(layout.tiles[i - 1]),
        inBrackets(stage->axisIndices(last)) + " of " +
            inBrackets(stage->physicalShape()));
  }
  int64_t position = axes->linearIndex(last);
  std::string sum =
      describeMixedRadix(axes->physicalShape(), axes->axisIndices(last));
  bool isSum = llvm::StringRef(sum).contains('+');
  add("position", (isSum ? sum + " = " : "") + toText(position));
  int64_t bits = getStorageBits(shape.elementType(), layout);
  bool isBytes = bits % 8 == 0;
  int64_t factor = isBytes ? bits / 8 : bits;
  add(isBytes ? "byte" : "bit", toText(position) + " * " + toText(factor) +
                                    " = " + getProductText(position, factor));
  return llvm::Error::success();
}

llvm::Error ArrayExplainer::explain() {
  if (llvm::Error error = checkListedAxes(shape, layout))
    return error;
  os << shape << "\n\n";
  add(getName(shape.elementType()), describeType(shape.elementType(), layout));
  std::string dimensions = shape.toString(/*printLayout=*/false);
  add(llvm::StringRef(dimensions).drop_until([](char c) { return c == '['; }),
      describeDimensions(shape));
  if (shape.rank() != 0)
    add("{" + joinNumbers(layout.minorToMajor) + "}", describeOrder(layout));
  if (llvm::Error error = addTiles())
    return error;
  addOtherFields();
  if (llvm::Error error = addSizes())
    return error;
  if (options.verbose)
    if (llvm::Error error = addAddress())
      return error;
  lines.print(os);
  return llvm::Error::success();
}

/// `split into tiles of 8 x 128: d0 by 8, d1 by 128`; later tiles split what
/// the ones before left.
std::string describeTileAlone(const Layout &layout, size_t number) {
  const Tile &tile = layout.tiles[number];
  bool merges = llvm::is_contained(tile.sizes, Tile::kCombine);
  Index sizes;
  for (int64_t size : tile.sizes)
    if (size != Tile::kCombine)
      sizes.push_back(size);
  std::string text = merges ? "`*` merges an axis into the next, then " : "";
  text += (number == 0 ? "split into tiles of "
                       : "tiles are split into tiles of ") +
          joinNumbers(sizes, " x ");
  if (number > 0 || merges)
    return text;
  size_t covered = std::min<size_t>(sizes.size(), layout.rank());
  for (size_t i = covered; i-- > 0;)
    text += (i + 1 == covered ? ": d" : ", d") +
            toText(layout.minorToMajor[i]) + " by " +
            toText(sizes[sizes.size() - 1 - i]);
  return text;
}

void ArrayExplainer::explainLayout() {
  os << layout << "\n\n";
  add("{" + joinNumbers(layout.minorToMajor) + "}",
      layout.rank() == 0 ? "no dimensions: a scalar" : describeOrder(layout));
  for (size_t i = 0; i < layout.tiles.size(); ++i)
    add((i == 0 ? "T" : "") + getTileText(layout.tiles[i]),
        describeTileAlone(layout, i));
  addOtherFields();
  if (!layout.bounds.empty())
    add("B(" + joinNumbers(layout.bounds) + ")",
        "dimensions whose size is not static have at most so many elements");
  lines.print(os);
}

/// A line for each leaf, indented by `depth` levels.
llvm::Error explainLeaves(const Shape &shape, llvm::raw_ostream &os,
                          unsigned depth) {
  for (auto [i, element] : llvm::enumerate(shape.elements())) {
    os.indent(2 * depth) << i << ": ";
    if (element.isTuple()) {
      os << "tuple of " << element.elements().size() << '\n';
      if (llvm::Error error = explainLeaves(element, os, depth + 1))
        return error;
      continue;
    }
    os << element;
    if (!element.isArray() || element.hasUnboundedDimension()) {
      os << '\n';
      continue;
    }
    llvm::Expected<ShapeSize> size = getSize(element);
    if (!size)
      return size.takeError();
    os << "  " << count(size->bytes, "byte") << '\n';
  }
  return llvm::Error::success();
}

} // namespace

std::string tessera::describeGrowth(const Shape &shape) {
  llvm::Expected<AxisList> axes = AxisList::get(shape);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return "";
  }
  std::optional<AxisList> padded =
      getPaddedAxes(shape.layoutOrDefault(), *axes);
  if (!padded)
    return "";
  std::string text;
  for (auto [dim, size] : llvm::enumerate(axes->dimensions()))
    if (int64_t width = padded->dimensions()[dim]; width != size)
      text += (text.empty() ? "; d" : ", d") + llvm::utostr(dim) +
              " grows from " + toText(size) + " to " + toText(width);
  return text;
}

llvm::StringRef tessera::getMemorySpaceName(int64_t space) {
  switch (space) {
  case 0:
    return "the device's main memory, HBM on TPUs and GPUs";
  case 1:
    return "fast on-chip memory, VMEM on TPUs";
  case 2:
    return "semaphores, flags of asynchronous copies on TPUs";
  case 3:
    return "CMEM, on-chip memory of TPU v4";
  case 4:
    return "small vectors on TPUs";
  case 5:
    return "the host's memory";
  case 6:
    return "SMEM, memory of scalars on TPUs";
  default:
    return "up to the device, no name is known";
  }
}

void tessera::explainLayout(const Layout &layout, llvm::raw_ostream &os,
                            ExplainOptions options) {
  // Neither type nor sizes are looked at.
  Index sizes(layout.rank(), kDynamic);
  Shape shape = Shape::array(PrimitiveType::F32, sizes, layout);
  ArrayExplainer(shape, os, options).explainLayout();
}

llvm::Error tessera::explainShape(const Shape &shape, llvm::raw_ostream &os,
                                  ExplainOptions options) {
  switch (shape.kind()) {
  case Shape::Kind::Array:
    return ArrayExplainer(shape, os, options).explain();
  case Shape::Kind::Token:
    os << shape
       << "\n\n  orders operations that have effects; takes no memory\n";
    return llvm::Error::success();
  case Shape::Kind::Opaque:
    os << shape << "\n\n  a value that only the device can look into\n";
    return llvm::Error::success();
  case Shape::Kind::Buffer:
    os << shape << "\n\n  a buffer that operations update in place, of\n\n";
    return explainShape(shape.elements().front(), os, options);
  case Shape::Kind::Tuple:
    os << "tuple of " << shape.elements().size() << "\n\n";
    return explainLeaves(shape, os, 1);
  }
  llvm_unreachable("all kinds of shapes are handled");
}
