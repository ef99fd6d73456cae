//===- DrawSVG.cpp - Pictures as SVG --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Picture.h"

#include "Product.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace tessera;

namespace {

// Lengths in pixels.
constexpr double kCharWidth = 6.8; // Of the 11 px font of cells.
constexpr double kTitleCharWidth = 7.4;
constexpr double kCellHeight = 24;
constexpr double kGapSize = 22;
constexpr double kMargin = 16;
constexpr double kLineHeight = 18;
constexpr int64_t kColorCount = 8;

// Colours are variables, so that one document serves light and dark pages, in
// a browser as well as embedded as an image.
constexpr const char *kStyle = R"svg(<style>
svg {
  --ink: #1b1f24; --soft: #656d76; --page: #ffffff; --line: #c9d1d9;
  --tile: #1b1f24; --hatch: #b6bec7; --pad: #f3f4f6;
  --c0: #cfe4fb; --c1: #d5efd0; --c2: #fdeab8; --c3: #fbd5d5;
  --c4: #e6dafa; --c5: #cdf0ee; --c6: #fbdcc2; --c7: #e3e8b6;
}
@media (prefers-color-scheme: dark) { svg {
  --ink: #e6edf3; --soft: #9198a1; --page: #0d1117; --line: #3d444d;
  --tile: #adbac7; --hatch: #4b535d; --pad: #161b22;
  --c0: #1c3f66; --c1: #1f4a2a; --c2: #5a4610; --c3: #642a2f;
  --c4: #44316b; --c5: #174b4d; --c6: #633a1a; --c7: #474d17;
} }
.page { fill: var(--page); }
text { fill: var(--ink); font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.caption { font-size: 13px; font-weight: 600; }
.title { font-size: 12px; fill: var(--ink); }
.soft { fill: var(--soft); }
.cell text { text-anchor: middle; }
.cell rect { stroke: var(--line); stroke-width: 1; }
.cell:hover rect { stroke: var(--ink); stroke-width: 2; }
.stay text { font-weight: 700; }
.pad rect { fill: url(#hatch); }
.row { text-anchor: end; } .column, .gap { text-anchor: middle; }
.b0 { stroke: var(--tile); stroke-width: 2.6; stroke-linecap: square; }
.b1 { stroke: var(--tile); stroke-width: 1.3; }
.hatch-page { fill: var(--pad); } .hatch-line { stroke: var(--hatch); stroke-width: 1.4; }
.c0 { fill: var(--c0); } .c1 { fill: var(--c1); } .c2 { fill: var(--c2); } .c3 { fill: var(--c3); }
.c4 { fill: var(--c4); } .c5 { fill: var(--c5); } .c6 { fill: var(--c6); } .c7 { fill: var(--c7); }
</style>
<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="hatch-page" width="7" height="7"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="7"/>
</pattern></defs>
)svg";

std::string escape(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printHTMLEscaped(text, os);
  return escaped;
}

/// A length without superfluous digits.
std::string number(double value) {
  int64_t tenths = std::lround(value * 10);
  std::string text = llvm::itostr(tenths / 10);
  return tenths % 10 ? text + "." + llvm::itostr(tenths % 10) : text;
}

void printText(llvm::raw_ostream &os, llvm::StringRef style, double x, double y,
               llvm::StringRef text) {
  os << "<text class=\"" << style << "\" x=\"" << number(x) << "\" y=\""
     << number(y) << "\">" << escape(text) << "</text>\n";
}

void printRect(llvm::raw_ostream &os, llvm::StringRef style, double x, double y,
               double width, double height) {
  os << "<rect class=\"" << style << "\" x=\"" << number(x) << "\" y=\""
     << number(y) << "\" width=\"" << number(width) << "\" height=\""
     << number(height) << "\"/>";
}

std::string getElementText(const PictureCell &cell) {
  return llvm::join(llvm::map_range(*cell.element, llvm::itostr), ",");
}

/// Draws one grid and knows how large it is.
class GridSVG {
public:
  GridSVG(const PictureGrid &grid, int64_t storageBits);

  double width() const {
    size_t columns = std::max(grid.title.size(), grid.subtitle.size());
    return std::max(xs.back(), columns * kTitleCharWidth) + kMargin;
  }
  double height() const { return ys.back() + kMargin; }
  void draw(llvm::raw_ostream &os, double left, double top) const;

private:
  using Positions = std::vector<double>;
  static Positions getPositions(llvm::ArrayRef<PictureLine> lines, double begin,
                                double size);

  std::string getLabel(const PictureCell &cell) const;
  std::string getHoverText(const PictureCell &cell) const;
  void drawHeaders(llvm::raw_ostream &os) const;
  void drawCell(llvm::raw_ostream &os, size_t row, size_t column) const;
  void drawBorders(llvm::raw_ostream &os) const;
  void drawBorder(llvm::raw_ostream &os, const PictureCell *one,
                  const PictureCell *other, double x1, double y1, double x2,
                  double y2) const;
  const PictureCell *getCell(int64_t row, int64_t column) const;

  const PictureGrid &grid;
  int64_t storageBits;
  double cellWidth;
  /// Where columns and rows begin; the last entry is where the grid ends.
  Positions xs, ys;
};

GridSVG::GridSVG(const PictureGrid &grid, int64_t storageBits)
    : grid(grid), storageBits(storageBits) {
  size_t labelSize = 2, headerSize = 1;
  for (const PictureCell &cell : grid.cells)
    labelSize = std::max(labelSize, getLabel(cell).size());
  for (const PictureLine &line : grid.columns)
    labelSize = std::max(labelSize, llvm::itostr(line.number).size());
  for (const PictureLine &line : grid.rows)
    headerSize = std::max(headerSize, llvm::itostr(line.number).size());
  cellWidth = labelSize * kCharWidth + 12;
  xs = getPositions(grid.columns, headerSize * kCharWidth + 8, cellWidth);
  ys = getPositions(grid.rows, 3 * kLineHeight, kCellHeight);
}

GridSVG::Positions GridSVG::getPositions(llvm::ArrayRef<PictureLine> lines,
                                         double begin, double size) {
  Positions positions;
  for (const PictureLine &line : lines) {
    begin += line.followsGap ? kGapSize : 0;
    positions.push_back(begin);
    begin += size;
  }
  positions.push_back(begin);
  return positions;
}

std::string GridSVG::getLabel(const PictureCell &cell) const {
  if (!cell.element)
    return "";
  if (grid.kind == PictureGrid::Kind::Logical)
    return llvm::itostr(cell.position);
  return cell.element->empty() ? "()" : getElementText(cell);
}

std::string GridSVG::getHoverText(const PictureCell &cell) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (cell.element)
    os << "element (" << getElementText(cell) << ")";
  else
    os << "padding";
  os << " at position " << cell.position;
  if (storageBits % 8 == 0)
    os << ", byte " << getProductText(cell.position, storageBits / 8);
  else
    os << ", bit " << getProductText(cell.position, storageBits);
  if (cell.otherPosition)
    os << (cell.otherPosition == cell.position
               ? "; stays there"
               : "; on the other side at " + llvm::itostr(*cell.otherPosition));
  return text;
}

void GridSVG::drawHeaders(llvm::raw_ostream &os) const {
  printText(os, "title", 0, kLineHeight - 4, grid.title);
  printText(os, "soft", 0, 2 * kLineHeight - 6, grid.subtitle);
  for (auto [i, line] : llvm::enumerate(grid.columns)) {
    bool isMemory = grid.kind == PictureGrid::Kind::Memory;
    printText(os, "soft column", xs[i] + cellWidth / 2, ys[0] - 6,
              (isMemory ? "+" : "") + llvm::itostr(line.number));
    if (line.followsGap)
      for (size_t row = 0; row < grid.rows.size(); ++row)
        printText(os, "soft gap", xs[i] - kGapSize / 2, ys[row] + 16, "⋯");
  }
  for (auto [i, line] : llvm::enumerate(grid.rows)) {
    printText(os, "soft row", xs[0] - 6, ys[i] + 16, llvm::itostr(line.number));
    if (line.followsGap)
      for (size_t column = 0; column < grid.columns.size(); ++column)
        printText(os, "soft gap", xs[column] + cellWidth / 2,
                  ys[i] - kGapSize / 2 + 4, "⋮");
  }
}

void GridSVG::drawCell(llvm::raw_ostream &os, size_t row, size_t column) const {
  const PictureCell &cell = grid.cell(row, column);
  if (cell.position == PictureCell::kNoPosition)
    return;
  bool isStaying = cell.otherPosition == cell.position;
  os << "<g class=\"cell" << (cell.element ? "" : " pad")
     << (isStaying ? " stay" : "") << "\" data-position=\"" << cell.position
     << '"';
  if (cell.element)
    os << " data-element=\"" << getElementText(cell) << '"';
  os << "><title>" << getHoverText(cell) << "</title>";
  printRect(os,
            cell.element ? "c" + llvm::itostr(cell.color % kColorCount) : "",
            xs[column], ys[row], cellWidth, kCellHeight);
  if (cell.element)
    os << "<text x=\"" << number(xs[column] + cellWidth / 2) << "\" y=\""
       << number(ys[row] + 16) << "\">" << getLabel(cell) << "</text>";
  os << "</g>\n";
}

/// Null outside of the grid and behind the end of the buffer.
const PictureCell *GridSVG::getCell(int64_t row, int64_t column) const {
  if (row < 0 || column < 0 || row >= static_cast<int64_t>(grid.rows.size()) ||
      column >= static_cast<int64_t>(grid.columns.size()))
    return nullptr;
  const PictureCell &cell = grid.cell(row, column);
  return cell.position == PictureCell::kNoPosition ? nullptr : &cell;
}

void GridSVG::drawBorder(llvm::raw_ostream &os, const PictureCell *one,
                         const PictureCell *other, double x1, double y1,
                         double x2, double y2) const {
  if (!one && !other)
    return;
  size_t level =
      one && other ? grid.getBorder(one->position, other->position) : 0;
  bool isFrame = !one || !other;
  if (!isFrame && level == grid.blocks.size())
    return;
  // Without tiles the frame is thin.
  bool isThin = level > 0 || grid.blocks.empty();
  os << "<line class=\"" << (isThin ? "b1" : "b0") << "\" x1=\"" << number(x1)
     << "\" y1=\"" << number(y1) << "\" x2=\"" << number(x2) << "\" y2=\""
     << number(y2) << "\"/>\n";
}

void GridSVG::drawBorders(llvm::raw_ostream &os) const {
  int64_t rows = grid.rows.size(), columns = grid.columns.size();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column <= columns; ++column) {
      if (column < columns && grid.columns[column].followsGap)
        continue;
      double x = xs[column];
      drawBorder(os, getCell(row, column - 1), getCell(row, column), x, ys[row],
                 x, ys[row] + kCellHeight);
    }
  for (int64_t row = 0; row <= rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      if (row < rows && grid.rows[row].followsGap)
        continue;
      drawBorder(os, getCell(row - 1, column), getCell(row, column), xs[column],
                 ys[row], xs[column] + cellWidth, ys[row]);
    }
}

void GridSVG::draw(llvm::raw_ostream &os, double left, double top) const {
  os << "<g class=\""
     << (grid.kind == PictureGrid::Kind::Logical ? "logical" : "memory")
     << "\" transform=\"translate(" << number(left) << ',' << number(top)
     << ")\">\n";
  drawHeaders(os);
  for (size_t row = 0; row < grid.rows.size(); ++row)
    for (size_t column = 0; column < grid.columns.size(); ++column)
      drawCell(os, row, column);
  drawBorders(os);
  os << "</g>\n";
}

/// The lines below the grids.
std::vector<std::string> getFooter(const Picture &picture) {
  std::vector<std::string> lines;
  std::string legend;
  if (!picture.left.empty())
    for (auto [level, block] : llvm::enumerate(picture.left.front().blocks))
      legend += (level == 0 ? "thick border: tile " : "; thin border: tile ") +
                block.name;
  if (!legend.empty())
    lines.push_back(legend);
  if (picture.isRelayout && !picture.left.empty())
    lines.push_back("colours: tiles of the first layout; bold: stays where it "
                    "is");
  llvm::append_range(lines, picture.notes);
  return lines;
}

/// The height of grids below each other, and the width of the widest.
std::pair<double, double> measure(llvm::ArrayRef<GridSVG> grids) {
  double width = 0, height = 0;
  for (const GridSVG &grid : grids) {
    width = std::max(width, grid.width());
    height += grid.height();
  }
  return {width, height};
}

void drawColumn(llvm::raw_ostream &os, llvm::ArrayRef<GridSVG> grids,
                double left, double top) {
  for (const GridSVG &grid : grids) {
    grid.draw(os, left, top);
    top += grid.height();
  }
}

} // namespace

void tessera::drawSVG(const Picture &picture, llvm::raw_ostream &os) {
  std::vector<GridSVG> left, right;
  for (const PictureGrid &grid : picture.left)
    left.emplace_back(grid, picture.storageBits);
  for (const PictureGrid &grid : picture.right)
    right.emplace_back(grid, picture.storageBits);
  auto [leftWidth, leftHeight] = measure(left);
  auto [rightWidth, rightHeight] = measure(right);
  std::vector<std::string> footer = getFooter(picture);

  double width = leftWidth + rightWidth;
  for (const std::string &caption : picture.captions)
    width = std::max(width, caption.size() * 8.2);
  for (const std::string &line : footer)
    width = std::max(width, line.size() * kCharWidth);
  width += 2 * kMargin;
  double top = kMargin + picture.captions.size() * kLineHeight + 8;
  double bottom = top + std::max(leftHeight, rightHeight);
  double height = bottom + footer.size() * kLineHeight + kMargin;

  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << number(width)
     << "\" height=\"" << number(height) << "\" viewBox=\"0 0 " << number(width)
     << ' ' << number(height) << "\">\n"
     << kStyle;
  printRect(os, "page", 0, 0, width, height);
  os << '\n';
  for (auto [i, caption] : llvm::enumerate(picture.captions))
    printText(os, "caption", kMargin, kMargin + (i + 1) * kLineHeight - 6,
              caption);
  drawColumn(os, left, kMargin, top);
  drawColumn(os, right, kMargin + leftWidth, top);
  for (auto [i, line] : llvm::enumerate(footer))
    printText(os, "soft", kMargin, bottom + (i + 1) * kLineHeight - 4, line);
  os << "</svg>\n";
}
