//===- DrawText.cpp - Pictures on a terminal ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Picture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

namespace {

/// A line of output, and how many columns it takes on the screen: escape
/// sequences take none, box-drawing characters one.
struct TextLine {
  std::string text;
  size_t width = 0;

  /// Appends ASCII text.
  void add(llvm::StringRef part) {
    text += part;
    width += part.size();
  }
  /// Appends what takes `columns` on the screen.
  void addWide(llvm::StringRef part, size_t columns) {
    text += part;
    width += columns;
  }
};
using TextBlock = std::vector<TextLine>;

constexpr const char *kGap = "⋯";
constexpr const char *kRowGap = "⋮";
constexpr const char *kPadding = "·";

/// The box-drawing character with arms of the given weights: 0 none, 1 light,
/// 2 heavy.
llvm::StringRef getJunction(unsigned up, unsigned right, unsigned down,
                            unsigned left) {
  // By up and right; in a row by down and left.
  static const char *const table[9] = {
      "   ╴╸╷┐┑╻┒┓", "╶─╾┌┬┭┎┰┱", "╺╼━┍┮┯┏┲┳", "╵┘┙│┤┥╽┧┪", "└┴┵├┼┽┟╁╅",
      "┕┶┷┝┾┿┢╆╈",   "╹┚┛╿┦┩┃┨┫", "┖┸┹┞╀╃┠╂╉", "┗┺┻┡╄╇┣╊╋",
  };
  if (up + right + down + left == 0)
    return " ";
  // Every character is three bytes; the first one of all stands for none.
  return llvm::StringRef(table[up * 3 + right])
      .substr((down * 3 + left) * 3, 3);
}

/// 256-colour codes of backgrounds on which black text is readable, in the
/// order of PictureCell::color.
constexpr unsigned kColors[] = {117, 150, 222, 217, 183, 159, 229, 186};

/// Draws one grid.
class GridText {
public:
  GridText(const PictureGrid &grid, bool useColor)
      : grid(grid), useColor(useColor) {}

  TextBlock draw();

private:
  /// What stands at a position, gaps counted as rows and columns: the number of
  /// a row or column of the grid, or kIsGap.
  static constexpr size_t kIsGap = SIZE_MAX;
  using Slots = llvm::SmallVector<size_t, 16>;
  static Slots getSlots(llvm::ArrayRef<PictureLine> lines);

  const PictureCell *getCell(size_t row, size_t column) const;
  unsigned getWeight(const PictureCell *one, const PictureCell *other) const;
  /// The line left of slot `column`, above slot `row`.
  unsigned getVertical(size_t row, size_t column) const;
  unsigned getHorizontal(size_t row, size_t column) const;
  bool isBorderColumn(size_t column) const;
  bool isBorderRow(size_t row) const;

  std::string getLabel(const PictureCell &cell) const;
  std::string getColumnNumber(const PictureLine &column) const;
  void measure();
  void addCell(TextLine &line, size_t row, size_t column) const;
  void addHeader(TextBlock &block) const;
  void addBorderRow(TextBlock &block, size_t row) const;
  void addCellRow(TextBlock &block, size_t row) const;

  const PictureGrid &grid;
  bool useColor;
  Slots rows, columns;
  size_t cellWidth = 1, headerWidth = 1;
};

GridText::Slots GridText::getSlots(llvm::ArrayRef<PictureLine> lines) {
  Slots slots;
  for (auto [i, line] : llvm::enumerate(lines)) {
    if (line.followsGap)
      slots.push_back(kIsGap);
    slots.push_back(i);
  }
  return slots;
}

/// The cell at a position; null in gaps and outside of the grid.
const PictureCell *GridText::getCell(size_t row, size_t column) const {
  if (row >= rows.size() || column >= columns.size() || rows[row] == kIsGap ||
      columns[column] == kIsGap)
    return nullptr;
  const PictureCell &cell = grid.cell(rows[row], columns[column]);
  return cell.position == PictureCell::kNoPosition ? nullptr : &cell;
}

/// The weight of the line between two neighbours: the frame and the border of
/// the largest block are heavy, those of others light.
unsigned GridText::getWeight(const PictureCell *one,
                             const PictureCell *other) const {
  if (!one && !other)
    return 0;
  unsigned heaviest = grid.blocks.empty() ? 1 : 2;
  if (!one || !other)
    return heaviest;
  size_t level = grid.getBorder(one->position, other->position);
  return level == grid.blocks.size() ? 0 : level == 0 ? 2 : 1;
}

unsigned GridText::getVertical(size_t row, size_t column) const {
  bool isInside = column > 0 && column < columns.size();
  if (isInside && (columns[column] == kIsGap || columns[column - 1] == kIsGap))
    return 0;
  return getWeight(column ? getCell(row, column - 1) : nullptr,
                   getCell(row, column));
}

unsigned GridText::getHorizontal(size_t row, size_t column) const {
  bool isInside = row > 0 && row < rows.size();
  if (isInside && (rows[row] == kIsGap || rows[row - 1] == kIsGap))
    return 0;
  return getWeight(row ? getCell(row - 1, column) : nullptr,
                   getCell(row, column));
}

bool GridText::isBorderColumn(size_t column) const {
  for (size_t row = 0; row < rows.size(); ++row)
    if (getVertical(row, column))
      return true;
  return false;
}

bool GridText::isBorderRow(size_t row) const {
  for (size_t column = 0; column < columns.size(); ++column)
    if (getHorizontal(row, column))
      return true;
  return false;
}

/// What a cell shows: its position in a logical view; in a memory view its
/// element, with `=` where a relayout leaves it.
std::string GridText::getLabel(const PictureCell &cell) const {
  if (!cell.element)
    return "";
  if (grid.kind == PictureGrid::Kind::Logical)
    return llvm::itostr(cell.position);
  std::string label = cell.otherPosition == cell.position ? "=" : "";
  label += llvm::join(llvm::map_range(*cell.element, llvm::itostr), ",");
  // A scalar's index has no numbers.
  return cell.element->empty() ? label + "()" : label;
}

/// Columns of memory are distances from the position at the row's beginning.
std::string GridText::getColumnNumber(const PictureLine &column) const {
  bool isMemory = grid.kind == PictureGrid::Kind::Memory;
  return (isMemory ? "+" : "") + llvm::itostr(column.number);
}

void GridText::measure() {
  rows = getSlots(grid.rows);
  columns = getSlots(grid.columns);
  auto widen = [](size_t &width, const std::string &text) {
    width = std::max(width, text.size());
  };
  for (const PictureCell &cell : grid.cells)
    widen(cellWidth, getLabel(cell));
  for (const PictureLine &line : grid.columns)
    widen(cellWidth, getColumnNumber(line));
  for (const PictureLine &line : grid.rows)
    widen(headerWidth, llvm::itostr(line.number));
}

void GridText::addCell(TextLine &line, size_t row, size_t column) const {
  const PictureCell *cell = getCell(row, column);
  bool isInGap = rows[row] == kIsGap || columns[column] == kIsGap;
  if (isInGap || (cell && !cell->element)) {
    const char *mark = rows[row] == kIsGap ? kRowGap
                       : isInGap           ? kGap
                                           : kPadding;
    line.add(std::string(columns[column] == kIsGap ? 1 : cellWidth, ' '));
    line.addWide(mark, 1);
    line.add(" ");
    return;
  }
  std::string label = cell ? getLabel(*cell) : "";
  label.insert(0, cellWidth - label.size() + 1, ' ');
  label += ' ';
  if (!useColor || !cell) {
    line.add(label);
    return;
  }
  unsigned color = kColors[cell->color % std::size(kColors)];
  line.addWide("\x1b[30;48;5;" + llvm::utostr(color) + "m" + label + "\x1b[0m",
               label.size());
}

/// The titles, and the numbers of the columns.
void GridText::addHeader(TextBlock &block) const {
  block.emplace_back().add(grid.title);
  block.emplace_back().add(grid.subtitle);
  TextLine &line = block.emplace_back();
  line.add(std::string(headerWidth + 1, ' '));
  for (size_t column = 0; column < columns.size(); ++column) {
    line.add(isBorderColumn(column) ? " " : "");
    if (columns[column] == kIsGap) {
      line.add("   ");
      continue;
    }
    std::string number = getColumnNumber(grid.columns[columns[column]]);
    number.insert(0, cellWidth - number.size() + 1, ' ');
    line.add(number + " ");
  }
}

/// The line above slot `row`.
void GridText::addBorderRow(TextBlock &block, size_t row) const {
  TextLine &line = block.emplace_back();
  line.add(std::string(headerWidth + 1, ' '));
  for (size_t column = 0; column <= columns.size(); ++column) {
    unsigned right = column < columns.size() ? getHorizontal(row, column) : 0;
    unsigned left = column ? getHorizontal(row, column - 1) : 0;
    if (isBorderColumn(column)) {
      unsigned up = row ? getVertical(row - 1, column) : 0;
      unsigned down = row < rows.size() ? getVertical(row, column) : 0;
      line.addWide(getJunction(up, right, down, left), 1);
    }
    if (column == columns.size())
      break;
    size_t width = columns[column] == kIsGap ? 3 : cellWidth + 2;
    for (size_t i = 0; i < width; ++i)
      line.addWide(getJunction(0, right, 0, right), 1);
  }
}

void GridText::addCellRow(TextBlock &block, size_t row) const {
  TextLine &line = block.emplace_back();
  std::string number;
  if (rows[row] != kIsGap)
    number = llvm::itostr(grid.rows[rows[row]].number);
  line.add(std::string(headerWidth - number.size(), ' ') + number + " ");
  for (size_t column = 0; column <= columns.size(); ++column) {
    if (isBorderColumn(column)) {
      unsigned weight = getVertical(row, column);
      line.addWide(getJunction(weight, 0, weight, 0), 1);
    }
    if (column < columns.size())
      addCell(line, row, column);
  }
}

TextBlock GridText::draw() {
  measure();
  TextBlock block;
  addHeader(block);
  for (size_t row = 0; row <= rows.size(); ++row) {
    if (isBorderRow(row))
      addBorderRow(block, row);
    if (row < rows.size())
      addCellRow(block, row);
  }
  return block;
}

/// The grids below each other, with an empty line between them.
TextBlock drawColumn(llvm::ArrayRef<PictureGrid> grids, bool useColor) {
  TextBlock column;
  for (const PictureGrid &grid : grids) {
    if (!column.empty())
      column.emplace_back();
    llvm::append_range(column, GridText(grid, useColor).draw());
  }
  return column;
}

size_t getWidth(const TextBlock &block) {
  size_t width = 0;
  for (const TextLine &line : block)
    width = std::max(width, line.width);
  return width;
}

void printLine(llvm::raw_ostream &os, llvm::StringRef text) {
  os << text.rtrim(' ') << '\n';
}

void printBeside(const TextBlock &left, const TextBlock &right,
                 llvm::raw_ostream &os) {
  size_t width = getWidth(left) + 3;
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    TextLine line = i < left.size() ? left[i] : TextLine();
    line.add(std::string(width - line.width, ' '));
    printLine(os, line.text + (i < right.size() ? right[i].text : ""));
  }
}

/// What the signs mean that occur.
std::string getLegend(const Picture &picture) {
  llvm::SmallVector<std::string, 4> parts;
  if (!picture.left.empty())
    for (auto [level, block] : llvm::enumerate(picture.left.front().blocks))
      parts.push_back((level == 0 ? "┃ tile " : "│ tile ") + block.name);
  auto isAnyCell = [&](llvm::function_ref<bool(const PictureCell &)> test) {
    auto isIn = [&](const PictureGrid &grid) {
      return llvm::any_of(grid.cells, test);
    };
    return llvm::any_of(picture.left, isIn) ||
           llvm::any_of(picture.right, isIn);
  };
  if (isAnyCell([](const PictureCell &cell) { return !cell.element; }))
    parts.push_back("· padding");
  if (isAnyCell([](const PictureCell &cell) {
        return cell.otherPosition == cell.position;
      }))
    parts.push_back("= stays where it is");
  return llvm::join(parts, "   ");
}

} // namespace

void tessera::drawText(const Picture &picture, llvm::raw_ostream &os,
                       DrawTextOptions options) {
  for (const std::string &caption : picture.captions)
    printLine(os, caption);
  TextBlock left = drawColumn(picture.left, options.useColor);
  TextBlock right = drawColumn(picture.right, options.useColor);
  if (!left.empty())
    os << '\n';
  if (static_cast<int64_t>(getWidth(left) + 3 + getWidth(right)) <=
      options.width) {
    printBeside(left, right, os);
  } else {
    printBeside(left, {}, os);
    os << '\n';
    printBeside(right, {}, os);
  }
  std::string legend = getLegend(picture);
  if (!legend.empty() || !picture.notes.empty())
    os << '\n';
  if (!legend.empty())
    printLine(os, legend);
  for (const std::string &note : picture.notes)
    printLine(os, note);
}
