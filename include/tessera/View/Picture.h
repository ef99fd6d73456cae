//===- Picture.h - Which element lies where, as a picture -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A picture is a few grids of cells. A cell is a position of the buffer; it
// shows the element that lies there, or that it is padding. Two kinds of grid
// show the same cells in two orders: *logical* (by index, padding at the high
// ends) and *memory* (by position). What is drawn is decided here, how it looks
// in DrawText.cpp and DrawSVG.cpp. All positions come from AxisList.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_VIEW_PICTURE_H
#define TESSERA_VIEW_PICTURE_H

#include "tessera/Layout/AxisList.h"

#include <vector>

namespace tessera {

/// How much of a large array is drawn: about this many rows and columns of each
/// grid, namely the first tiles and the ragged edges.
struct PictureOptions {
  int64_t maxRows = 16;
  int64_t maxColumns = 16;
};

/// A position of the buffer.
struct PictureCell {
  /// Behind the end of the buffer, in its last line.
  static constexpr int64_t kNoPosition = -1;

  /// In elements.
  int64_t position = 0;
  /// The logical index; nothing when the position is padding.
  std::optional<llvm::SmallVector<int64_t, 6>> element;
  /// Cells of one tile have the same number, its neighbours another; the same
  /// element has the same number in all grids.
  int64_t color = 0;
  /// In the picture of a relayout: the position on the other side.
  std::optional<int64_t> otherPosition;
};

/// A row or column of a grid.
struct PictureLine {
  /// Index along a dimension, or position, at its beginning.
  int64_t number = 0;
  /// Whether rows or columns before it were left out.
  bool followsGap = false;
};

/// A contiguous block of memory that gets a border, `(8,128)` of T(8,128).
struct PictureBlock {
  /// In elements; a block starts at each multiple.
  int64_t positions = 0;
  /// The tile's text.
  std::string name;
};

struct PictureGrid {
  enum class Kind { Logical, Memory };

  Kind kind = Kind::Logical;
  std::string title;
  /// Which dimensions are shown how.
  std::string subtitle;
  llvm::SmallVector<PictureLine, 16> rows;
  llvm::SmallVector<PictureLine, 16> columns;
  /// Row by row.
  std::vector<PictureCell> cells;
  /// Largest first.
  llvm::SmallVector<PictureBlock, 2> blocks;

  const PictureCell &cell(size_t row, size_t column) const {
    return cells[row * columns.size() + column];
  }
  /// The number of the largest block that ends between two positions;
  /// blocks.size() when both are in the same smallest one.
  size_t getBorder(int64_t position, int64_t otherPosition) const;
};

/// Grids that belong together, drawn side by side.
struct Picture {
  /// What is drawn, a line each.
  std::vector<std::string> captions;
  std::vector<PictureGrid> left;
  std::vector<PictureGrid> right;
  /// What was left out, and other remarks, a line each.
  std::vector<std::string> notes;
  /// Bits between neighbouring elements, for the byte of a position.
  int64_t storageBits = 8;
  bool isRelayout = false;
};

/// The logical and the memory view of an array. Errors: those of
/// AxisList::getStatic; *invalid* options, of less than four rows or columns or
/// of more cells than are useful.
llvm::Expected<Picture> makePicture(const Shape &shape,
                                    PictureOptions options = {});

/// The memory views of both sides of a relayout; a cell knows where its element
/// is on the other side. The shapes must have the same dimensions and type.
llvm::Expected<Picture> makeRelayoutPicture(const Shape &from, const Shape &to,
                                            PictureOptions options = {});

struct DrawTextOptions {
  /// Colour the cells by tile with ANSI sequences.
  bool useColor = false;
  /// Draw grids side by side as long as they take at most this many columns.
  int64_t width = 100;
};

void drawText(const Picture &picture, llvm::raw_ostream &os,
              DrawTextOptions options = {});

/// An SVG document for light and dark backgrounds, with hover texts. Each cell
/// is a group of class `cell` with the attributes data-position and, unless it
/// is padding, data-element.
void drawSVG(const Picture &picture, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_VIEW_PICTURE_H
