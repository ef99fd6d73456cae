//===- Picture.cpp - Which element lies where, as a picture ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Picture.h"

#include "PaddedAxes.h"

#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

using Index = llvm::SmallVector<int64_t, 6>;
using Numbers = llvm::SmallVector<int64_t, 16>;

/// A line of memory has at least so many positions, where there are as many:
/// lines of pairs would be hard to read.
static constexpr int64_t kMinLineWidth = 3;
/// Positions of a line or column that are searched for the edge of the padding.
static constexpr int64_t kMaxScan = 4096;
/// Cells of a grid.
static constexpr int64_t kMaxCells = 262144;
/// Dimensions and tile sizes of an array that is drawn.
static constexpr int64_t kMaxDrawnSizes = 256;
/// Slices of an array of more than two dimensions that are drawn.
static constexpr int64_t kMaxSlices = 2;

size_t PictureGrid::getBorder(int64_t position, int64_t otherPosition) const {
  size_t level = 0;
  while (level < blocks.size() && position / blocks[level].positions ==
                                      otherPosition / blocks[level].positions)
    ++level;
  return level;
}

namespace {

//===----------------------------------------------------------------------===//
// What to show
//===----------------------------------------------------------------------===//

/// Numbers below `count` to draw: all if they are at most `limit`, else the
/// first ones, both sides of each edge (the first number behind it), and the
/// last one.
Numbers select(int64_t count, int64_t limit, llvm::ArrayRef<int64_t> edges) {
  Numbers shown;
  auto add = [&](int64_t begin, int64_t end) {
    for (int64_t i = std::max<int64_t>(begin, 0); i < std::min(end, count); ++i)
      shown.push_back(i);
  };
  if (count <= limit) {
    add(0, count);
    return shown;
  }
  add(0, limit / 2);
  for (int64_t edge : edges)
    add(edge - 1, std::min(edge, count - 1) + 1);
  add(count - 1, count);
  llvm::sort(shown);
  shown.erase(llvm::unique(shown), shown.end());
  return shown;
}

/// Lines with the numbers `shown`, each times `unit`.
llvm::SmallVector<PictureLine, 16> makeLines(llvm::ArrayRef<int64_t> shown,
                                             int64_t unit) {
  llvm::SmallVector<PictureLine, 16> lines;
  int64_t expected = 0;
  for (int64_t number : shown) {
    lines.push_back({number * unit, number != expected});
    expected = number + 1;
  }
  return lines;
}

/// The blocks of memory that tiles fill without a hole, largest first. A tile
/// is such a block unless a later one reaches over its counts.
llvm::SmallVector<PictureBlock, 2> getBlocks(const Layout &layout,
                                             const AxisList &axes) {
  struct Inner {
    size_t axes; ///< Trailing axes that the tile spans.
    const Tile *tile;
  };
  llvm::SmallVector<Inner, 2> inner;
  for (const Tile &tile : layout.tiles) {
    size_t plain = tile.sizes.size() - llvm::count(tile.sizes, Tile::kCombine);
    llvm::erase_if(inner, [&](const Inner &outer) {
      return outer.axes < tile.sizes.size();
    });
    for (Inner &outer : inner)
      outer.axes = outer.axes - tile.sizes.size() + 2 * plain;
    inner.push_back({plain, &tile});
  }
  llvm::SmallVector<int64_t, 8> extents = axes.physicalShape();
  llvm::SmallVector<PictureBlock, 2> blocks;
  for (const Inner &block : inner) {
    int64_t positions = 1;
    for (int64_t extent : llvm::ArrayRef(extents).take_back(block.axes))
      positions *= extent;
    std::string name;
    llvm::raw_string_ostream os(name);
    block.tile->print(os);
    // A block of one position would put a border around every cell.
    if (positions > 1 &&
        (blocks.empty() || positions < blocks.back().positions))
      blocks.push_back({positions, name});
  }
  return blocks;
}

/// An array that is being drawn.
struct Drawn {
  const Shape &shape;
  Layout layout;
  AxisList axes;
  /// The same memory with all padding of the dimensions seen as elements;
  /// nothing where padding is not at the ends of dimensions alone.
  std::optional<AxisList> padded;
  llvm::SmallVector<PictureBlock, 2> blocks;
  /// Positions of one colour.
  int64_t colorUnit = 1;
};

/// Positions of one colour: a tile, or else a line of the most minor axis.
int64_t getColorUnit(const AxisList &axes,
                     llvm::ArrayRef<PictureBlock> blocks) {
  if (!blocks.empty())
    return blocks.front().positions;
  llvm::SmallVector<int64_t, 8> extents = axes.physicalShape();
  for (int64_t extent : llvm::reverse(extents))
    if (extent > 1)
      return extent;
  return 1;
}

/// The text of a cell has a number for each dimension, and borders a name for
/// each tile.
llvm::Error checkDrawable(const Shape &shape) {
  int64_t size = shape.isArray() ? shape.rank() : 0;
  for (const Tile &tile : shape.layoutOrDefault().tiles)
    size += tile.sizes.size();
  if (size <= kMaxDrawnSizes)
    return llvm::Error::success();
  return unsupportedError("picture",
                          "at most " + llvm::Twine(kMaxDrawnSizes) +
                              " dimensions and tile sizes",
                          llvm::Twine(size), "leave out dimensions of size 1");
}

llvm::Expected<Drawn> getDrawn(const Shape &shape) {
  if (llvm::Error error = checkDrawable(shape))
    return std::move(error);
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return axes.takeError();
  Drawn drawn{shape, shape.layoutOrDefault(), std::move(*axes), {}, {}, 1};
  // An empty array has nothing to draw, and extents of any product.
  if (drawn.axes.numPositions() == 0)
    return drawn;
  drawn.padded = getPaddedAxes(drawn.layout, drawn.axes);
  drawn.blocks = getBlocks(drawn.layout, drawn.axes);
  drawn.colorUnit = getColorUnit(drawn.axes, drawn.blocks);
  return drawn;
}

//===----------------------------------------------------------------------===//
// Logical views
//===----------------------------------------------------------------------===//

/// The dimensions of the rows and columns of a logical view: the two most minor
/// ones, in their logical order, since that is where tiles are.
struct ViewDimensions {
  std::optional<int64_t> row, column;
};

ViewDimensions getViewDimensions(const Layout &layout) {
  ViewDimensions dims;
  if (layout.rank() >= 1)
    dims.column = layout.minorToMajor[0];
  if (layout.rank() >= 2)
    dims.row = layout.minorToMajor[1];
  if (dims.row && *dims.row > *dims.column)
    std::swap(dims.row, dims.column);
  return dims;
}

/// Indices along one dimension to draw, padding included.
Numbers selectIndices(const Drawn &array, std::optional<int64_t> dim,
                      int64_t limit) {
  if (!dim)
    return {0};
  int64_t size = array.axes.dimensions()[*dim];
  int64_t padded = array.padded ? array.padded->dimensions()[*dim] : size;
  llvm::SmallVector<int64_t, 3> edges{size};
  // The end of the first tile.
  llvm::SmallVector<int64_t, 4> splits = getSplit(*dim, {&array.axes}).divisors;
  if (!splits.empty())
    edges.push_back(splits.back());
  return select(padded, limit, edges);
}

PictureGrid makeSlice(const Drawn &array, Index index,
                      const ViewDimensions &dims, llvm::ArrayRef<int64_t> rows,
                      llvm::ArrayRef<int64_t> columns) {
  PictureGrid grid;
  grid.rows = makeLines(rows, 1);
  grid.columns = makeLines(columns, 1);
  grid.blocks = array.blocks;
  const AxisList &positions = array.padded ? *array.padded : array.axes;
  for (int64_t row : rows)
    for (int64_t column : columns) {
      if (dims.row)
        index[*dims.row] = row;
      if (dims.column)
        index[*dims.column] = column;
      PictureCell &cell = grid.cells.emplace_back();
      cell.position = positions.linearIndex(index);
      cell.element = array.axes.logicalIndex(cell.position);
      cell.color = cell.position / array.colorUnit;
    }
  return grid;
}

/// Which dimensions a slice shows, and where the others stand.
std::string getSliceSubtitle(const ViewDimensions &dims,
                             llvm::ArrayRef<int64_t> index) {
  llvm::SmallVector<std::string, 4> parts;
  if (dims.row)
    parts.push_back("d" + llvm::itostr(*dims.row) + " down");
  if (dims.column)
    parts.push_back("d" + llvm::itostr(*dims.column) + " across");
  for (auto [dim, value] : llvm::enumerate(index))
    if (static_cast<int64_t>(dim) != dims.row &&
        static_cast<int64_t>(dim) != dims.column)
      parts.push_back("d" + llvm::utostr(dim) + " = " + llvm::itostr(value));
  return llvm::join(parts, ", ");
}

/// Moves to the next index of the dimensions that are not shown as rows or
/// columns; false after the last.
bool nextSlice(Index &index, const ViewDimensions &dims,
               llvm::ArrayRef<int64_t> sizes) {
  for (int64_t dim = sizes.size(); dim-- > 0;) {
    if (dim == dims.row || dim == dims.column)
      continue;
    if (++index[dim] < sizes[dim])
      return true;
    index[dim] = 0;
  }
  return false;
}

void addLogicalGrids(const Drawn &array, const PictureOptions &options,
                     Picture &picture) {
  ViewDimensions dims = getViewDimensions(array.layout);
  Numbers rows = selectIndices(array, dims.row, options.maxRows);
  Numbers columns = selectIndices(array, dims.column, options.maxColumns);
  llvm::ArrayRef<int64_t> sizes = array.axes.dimensions();
  Index index(sizes.size(), 0);
  int64_t slices = 0;
  bool isMore = true;
  for (; isMore && slices < kMaxSlices; ++slices) {
    PictureGrid &grid =
        picture.left.emplace_back(makeSlice(array, index, dims, rows, columns));
    grid.title = "logical: position of each element";
    grid.subtitle = getSliceSubtitle(dims, index);
    isMore = nextSlice(index, dims, sizes);
  }
  if (isMore)
    picture.notes.push_back("only the first " + llvm::itostr(slices) +
                            " slices of the other dimensions are drawn");
}

//===----------------------------------------------------------------------===//
// Memory views
//===----------------------------------------------------------------------===//

/// Positions in a line of the memory view: whole minor axes.
int64_t getLineWidth(const AxisList &axes) {
  int64_t width = 1;
  llvm::SmallVector<int64_t, 8> extents = axes.physicalShape();
  for (int64_t extent : llvm::reverse(extents)) {
    width *= extent;
    if (width >= kMinLineWidth)
      break;
  }
  return width;
}

/// Where elements turn into padding among `count` positions at a distance of
/// `stride`, at the first turns only.
void addPaddingEdges(const AxisList &axes, int64_t count, int64_t stride,
                     llvm::SmallVectorImpl<int64_t> &edges) {
  bool wasElement = true;
  size_t most = edges.size() + 2;
  for (int64_t i = 0; i < std::min(count, kMaxScan) && edges.size() < most;
       ++i) {
    bool isElement = axes.logicalIndex(i * stride).has_value();
    if (isElement != wasElement)
      edges.push_back(i);
    wasElement = isElement;
  }
}

PictureGrid makeMemoryGrid(const Drawn &array, const PictureOptions &options) {
  PictureGrid grid;
  grid.kind = PictureGrid::Kind::Memory;
  grid.subtitle = "position = number of row + column";
  grid.blocks = array.blocks;
  int64_t allocated = array.axes.numAllocated();
  int64_t width = std::min(getLineWidth(array.axes), allocated);
  int64_t lines = llvm::divideCeil(allocated, width);

  llvm::SmallVector<int64_t, 4> lineEdges, columnEdges;
  for (const PictureBlock &block : array.blocks) {
    if (block.positions > width && block.positions % width == 0)
      lineEdges.push_back(block.positions / width);
    if (block.positions < width)
      columnEdges.push_back(block.positions);
  }
  addPaddingEdges(array.axes, lines, width, lineEdges);
  addPaddingEdges(array.axes, width, 1, columnEdges);
  Numbers rows = select(lines, options.maxRows, lineEdges);
  Numbers columns = select(width, options.maxColumns, columnEdges);
  grid.rows = makeLines(rows, width);
  grid.columns = makeLines(columns, 1);
  for (int64_t row : rows)
    for (int64_t column : columns) {
      PictureCell &cell = grid.cells.emplace_back();
      // The last line may be shorter; what it lacks is drawn as nothing.
      if (column >= allocated - row * width) {
        cell.position = PictureCell::kNoPosition;
        continue;
      }
      cell.position = row * width + column;
      cell.element = array.axes.logicalIndex(cell.position);
      cell.color = cell.position / array.colorUnit;
    }
  return grid;
}

//===----------------------------------------------------------------------===//
// Captions
//===----------------------------------------------------------------------===//

std::string describe(const Shape &shape, const ShapeSize &size) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printCount = [&](int64_t count, llvm::StringRef unit) {
    os << count << ' ' << unit << (count == 1 ? "" : "s");
  };
  os << shape << ": ";
  printCount(size.logicalElements, "element");
  os << " in ";
  printCount(size.allocatedElements, "position");
  os << ", ";
  printCount(size.bytes, "byte");
  if (size.paddingBytes != 0)
    os << ", " << size.paddingBytes << " of them padding (expansion "
       << llvm::format("%.3g", size.expansion()) << ")";
  return text;
}

/// Says so when lines were left out.
void addGapNote(Picture &picture) {
  auto followsGap = [](const PictureLine &line) { return line.followsGap; };
  auto hasGap = [&](const PictureGrid &grid) {
    return llvm::any_of(grid.rows, followsGap) ||
           llvm::any_of(grid.columns, followsGap);
  };
  if (llvm::any_of(picture.left, hasGap) || llvm::any_of(picture.right, hasGap))
    picture.notes.push_back("large: only the first tiles and the ragged edges "
                            "are drawn");
}

/// Adds the first caption of an array; returns whether there is anything to
/// draw below it.
llvm::Expected<bool> addCaption(const Drawn &array, Picture &picture) {
  llvm::Expected<ShapeSize> size = getSize(array.shape);
  if (!size)
    return size.takeError();
  picture.captions.push_back(describe(array.shape, *size));
  picture.storageBits = getStorageBits(array.shape.elementType(), array.layout);
  return size->allocatedElements != 0;
}

} // namespace

/// Smaller grids show nothing, and larger ones are not readable.
static llvm::Error checkOptions(const PictureOptions &options) {
  int64_t rows = options.maxRows, columns = options.maxColumns;
  if (rows >= 4 && columns >= 4 && rows <= kMaxCells / columns)
    return llvm::Error::success();
  return invalidError("", "rows and columns",
                      "numbers from 4 on, whose product is at most " +
                          llvm::Twine(kMaxCells),
                      llvm::Twine(rows) + " and " + llvm::Twine(columns));
}

llvm::Expected<Picture> tessera::makePicture(const Shape &shape,
                                             PictureOptions options) {
  if (llvm::Error error = checkOptions(options))
    return std::move(error);
  llvm::Expected<Drawn> array = getDrawn(shape);
  if (!array)
    return array.takeError();
  Picture picture;
  llvm::Expected<bool> isDrawn = addCaption(*array, picture);
  if (!isDrawn)
    return isDrawn.takeError();
  if (!*isDrawn) {
    picture.notes.push_back("an empty array takes no memory");
    return picture;
  }
  addLogicalGrids(*array, options, picture);
  picture.right.push_back(makeMemoryGrid(*array, options));
  picture.right.back().title = "memory: element at each position";
  addGapNote(picture);
  return picture;
}

/// One side of a relayout, whose cells know the other side's positions. Colours
/// are those of the first side, so that its tiles can be found in the second.
static void addRelayoutSide(const Drawn &side, const Drawn &other,
                            const Drawn &first, const PictureOptions &options,
                            llvm::StringRef title,
                            std::vector<PictureGrid> &grids) {
  PictureGrid &grid = grids.emplace_back(makeMemoryGrid(side, options));
  grid.title = (title + " " + side.layout.toString()).str();
  for (PictureCell &cell : grid.cells)
    if (cell.element) {
      cell.otherPosition = other.axes.linearIndex(*cell.element);
      cell.color = first.axes.linearIndex(*cell.element) / first.colorUnit;
    }
}

/// In words, whether and how a relayout moves elements.
static llvm::Error addRelayoutNotes(const Shape &from, const Shape &to,
                                    Picture &picture) {
  BitcastAnswer answer = isRelayoutBitcast(from, to);
  if (answer.answer == Answer::Yes)
    picture.notes.push_back("moves nothing: the relayout is a bitcast");
  else
    picture.notes.push_back("not a bitcast: " + answer.reason);
  llvm::Expected<int64_t> run = largestContiguousRun(from, to);
  if (!run)
    return run.takeError();
  picture.notes.push_back("longest run that is contiguous on both sides: " +
                          llvm::itostr(*run));
  return llvm::Error::success();
}

llvm::Expected<Picture> tessera::makeRelayoutPicture(const Shape &from,
                                                     const Shape &to,
                                                     PictureOptions options) {
  if (llvm::Error error = checkOptions(options))
    return std::move(error);
  llvm::Expected<Drawn> first = getDrawn(from);
  if (!first)
    return first.takeError();
  llvm::Expected<Drawn> second = getDrawn(to);
  if (!second)
    return second.takeError();
  if (from.elementType() != to.elementType() ||
      from.dimensions() != to.dimensions())
    return invalidError("draw_c1", "second shape of a relayout",
                        "the type and dimensions of " + from.toString(false),
                        to.toString(false));
  Picture picture;
  picture.isRelayout = true;
  for (const Drawn *array : {&*first, &*second}) {
    llvm::Expected<bool> isDrawn = addCaption(*array, picture);
    if (!isDrawn)
      return isDrawn.takeError();
    if (!*isDrawn) {
      picture.notes.push_back("an empty array has nothing to move");
      return picture;
    }
  }
  addRelayoutSide(*first, *second, *first, options, "from", picture.left);
  addRelayoutSide(*second, *first, *first, options, "to", picture.right);
  addGapNote(picture);
  if (llvm::Error error = addRelayoutNotes(from, to, picture))
    return std::move(error);
  return picture;
}
