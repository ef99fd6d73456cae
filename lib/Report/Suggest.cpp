//===- Suggest.cpp - Layouts that waste less ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Candidates are made and measured. Of each kind the smallest is kept, of equal
// ones that which a neighbour has, then that which moves the fewest dimensions;
// of all kinds the smallest wins, and of equal ones that which changes least:
// an order before a tile before a shape before a type. Whether the compiler can
// use it is not known here; what it would save is.
//
//===----------------------------------------------------------------------===//

#include "Suggest.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

using namespace tessera;

namespace {
/// Keeps the best candidate of each kind.
class Search {
public:
  Search(const Shape &shape, const SuggestOptions &options)
      : shape(shape), options(options), bytes(getBytes(shape).value_or(0)) {}

  void tryOrders();
  void trySwaps();
  void tryTiles();
  void tryMerges();
  void tryWidth();
  void tryTypes();

  std::vector<Suggestion> takeResults();
  /// Whether a candidate may be smaller. If so, no dimension is 0, and the
  /// product of any of them fits in 64 bits.
  bool mayShrink() const { return bytes > 0; }

private:
  /// What decides between candidates of a kind: bytes, whether no neighbour has
  /// the order, dimensions moved.
  using Cost = std::tuple<int64_t, bool, size_t>;

  static std::optional<int64_t> getBytes(const Shape &candidate);
  std::optional<Shape> getDefault(const Shape &candidate) const;
  void consider(Suggestion::Kind kind, std::optional<Shape> candidate,
                const llvm::Twine &change, llvm::StringRef sentence,
                const ReportNeighbour *neighbour = nullptr, size_t moved = 0);
  void considerOrder(llvm::ArrayRef<int64_t> order);

  const Shape &shape;
  const SuggestOptions &options;
  int64_t bytes = 0;
  std::map<Suggestion::Kind, std::pair<Cost, Suggestion>> best;
};
} // namespace

std::optional<int64_t> Search::getBytes(const Shape &candidate) {
  llvm::Expected<ShapeSize> size = getSize(candidate);
  if (size)
    return size->bytes;
  llvm::consumeError(size.takeError());
  return std::nullopt;
}

/// The layout that the machine's compiler would choose, if it is known.
std::optional<Shape> Search::getDefault(const Shape &candidate) const {
  if (!options.rule)
    return std::nullopt;
  llvm::Expected<Shape> result = chooseDefaultLayout(*options.rule, candidate);
  if (result)
    return std::move(*result);
  llvm::consumeError(result.takeError());
  return std::nullopt;
}

void Search::consider(Suggestion::Kind kind, std::optional<Shape> candidate,
                      const llvm::Twine &change, llvm::StringRef sentence,
                      const ReportNeighbour *neighbour, size_t moved) {
  if (!candidate)
    return;
  std::optional<int64_t> size = getBytes(*candidate);
  if (!size || *size >= bytes)
    return;
  Cost cost(*size, !neighbour, moved);
  auto known = best.find(kind);
  if (known != best.end() && known->second.first <= cost)
    return;
  Suggestion suggestion;
  suggestion.kind = kind;
  suggestion.change = change.str();
  suggestion.gain = bytes - *size;
  suggestion.text = (sentence + ": " + candidate->toString() + " takes " +
                     llvm::Twine(*size) + " bytes, " +
                     llvm::Twine(suggestion.gain) + " fewer")
                        .str();
  if (neighbour)
    suggestion.text += ", and %" + neighbour->name + " has this order";
  suggestion.shape = std::move(candidate);
  best[kind] = {cost, std::move(suggestion)};
}

/// `swap d0, d2`, or the whole order where that is not all.
static std::string describeOrderChange(llvm::ArrayRef<int64_t> from,
                                       llvm::ArrayRef<int64_t> to) {
  llvm::SmallVector<int64_t, 6> moved;
  for (auto [lhs, rhs] : llvm::zip_equal(from, to))
    if (lhs != rhs)
      moved.push_back(lhs);
  llvm::sort(moved);
  if (moved.size() == 2)
    return "swap d" + std::to_string(moved[0]) + ", d" +
           std::to_string(moved[1]);
  std::string text = "order {";
  llvm::raw_string_ostream os(text);
  llvm::interleave(to, os, ",");
  return text + "}";
}

void Search::considerOrder(llvm::ArrayRef<int64_t> order) {
  llvm::ArrayRef<int64_t> from = shape.layout().minorToMajor;
  size_t moved = 0;
  for (auto [lhs, rhs] : llvm::zip_equal(from, order))
    moved += lhs != rhs;
  if (moved == 0)
    return;
  const auto *neighbour =
      llvm::find_if(options.neighbours, [&](const ReportNeighbour &other) {
        return other.shape->layoutOrDefault().minorToMajor == order;
      });
  Shape candidate = shape;
  candidate.mutableLayout().minorToMajor.assign(order.begin(), order.end());
  consider(Suggestion::Kind::Order, std::move(candidate),
           describeOrderChange(from, order), "lay it out in another order",
           neighbour == options.neighbours.end() ? nullptr : neighbour, moved);
}

/// Orders of neighbours. Any two dimensions as the most minor ones, which are
/// those that tiles pad most; the others keep their order. Then any two
/// dimensions exchanged.
void Search::tryOrders() {
  for (const ReportNeighbour &neighbour : options.neighbours)
    considerOrder(neighbour.shape->layoutOrDefault().minorToMajor);
  int64_t rank = shape.rank();
  for (int64_t minor = 0; minor < rank; ++minor)
    for (int64_t second = 0; second < rank; ++second) {
      if (second == minor)
        continue;
      llvm::SmallVector<int64_t, 6> order = {minor, second};
      for (int64_t dim : shape.layout().minorToMajor)
        if (dim != minor && dim != second)
          order.push_back(dim);
      considerOrder(order);
    }
  trySwaps();
}

void Search::trySwaps() {
  int64_t rank = shape.rank();
  for (int64_t i = 0; i < std::min<int64_t>(rank, 2); ++i)
    for (int64_t j = i + 1; j < rank; ++j) {
      llvm::SmallVector<int64_t, 6> order(shape.layout().minorToMajor);
      std::swap(order[i], order[j]);
      considerOrder(order);
    }
}

/// The first tile with its most major size halved, as often as it goes. Its
/// most minor one stays: it is what the machine handles at once.
void Search::tryTiles() {
  Layout layout = shape.layout();
  if (layout.tiles.empty() || layout.tiles.front().sizes.size() < 2)
    return;
  int64_t &size = layout.tiles.front().sizes.front();
  while (size > 1 && size % 2 == 0) { // Not `*`, which is negative.
    size /= 2;
    Shape candidate = shape;
    candidate.setLayout(layout);
    consider(Suggestion::Kind::Tile, std::move(candidate),
             "tile of " + llvm::Twine(size) + " rows", "use a smaller tile");
  }
}

/// Whether two layouts differ in tiles at most: other changes are not a
/// merge's.
static bool hasSameOrder(const Shape &lhs, const Shape &rhs) {
  return lhs.layout().minorToMajor == rhs.layout().minorToMajor &&
         lhs.layout().elementSizeInBits == rhs.layout().elementSizeInBits;
}

/// Two logical neighbours as one dimension, where the second is right behind
/// the first in memory too: then only the shape changes.
void Search::tryMerges() {
  const Layout &layout = shape.layout();
  for (int64_t dim = 0; dim + 1 < shape.rank(); ++dim) {
    const auto *inner = llvm::find(layout.minorToMajor, dim + 1);
    if (std::next(inner) == layout.minorToMajor.end() ||
        *std::next(inner) != dim || shape.isDynamicDimension(dim) ||
        shape.isDynamicDimension(dim + 1))
      continue;
    llvm::SmallVector<int64_t, 6> dims(shape.dimensions());
    dims[dim] *= dims[dim + 1];
    dims.erase(dims.begin() + dim + 1);
    Layout merged = layout;
    merged.minorToMajor.clear();
    for (int64_t other : layout.minorToMajor)
      if (other != dim + 1)
        merged.minorToMajor.push_back(other > dim ? other - 1 : other);
    Shape candidate = Shape::array(shape.elementType(), dims, merged);
    std::string change =
        "merge d" + std::to_string(dim) + ", d" + std::to_string(dim + 1);
    std::string sentence = "merge dimensions " + std::to_string(dim) + " and " +
                           std::to_string(dim + 1);
    if (std::optional<Shape> other = getDefault(candidate);
        other && hasSameOrder(*other, candidate))
      consider(Suggestion::Kind::Merge, std::move(other), change, sentence);
    consider(Suggestion::Kind::Merge, std::move(candidate), change, sentence);
  }
}

/// Elements that take no more bits than their type has.
void Search::tryWidth() {
  int64_t bits = shape.layout().elementSizeInBits;
  int64_t natural = 8 * getByteWidth(shape.elementType());
  if (bits <= natural)
    return;
  Shape candidate = shape;
  candidate.mutableLayout().elementSizeInBits = 0;
  consider(Suggestion::Kind::Width, getDefault(candidate),
           llvm::Twine(natural) + " bits an element", "use fewer bits");
}

/// A floating point type of half the bits, laid out as the compiler would.
void Search::tryTypes() {
  PrimitiveType half;
  if (shape.elementType() == PrimitiveType::F32)
    half = PrimitiveType::BF16;
  else if (shape.elementType() == PrimitiveType::F64)
    half = PrimitiveType::F32;
  else
    return;
  Shape candidate = shape;
  candidate.setElementType(half);
  candidate.mutableLayout().elementSizeInBits = 0;
  std::string change = ("as " + getName(half)).str();
  consider(Suggestion::Kind::Type, getDefault(candidate), change, change);
}

std::vector<Suggestion> Search::takeResults() {
  std::vector<Suggestion> results;
  results.reserve(best.size());
  for (auto &[kind, result] : best)
    results.push_back(std::move(result.second));
  // Another type changes values: it comes last.
  auto rank = [](const Suggestion &suggestion) {
    return std::tuple(suggestion.kind == Suggestion::Kind::Type,
                      -suggestion.gain, suggestion.kind);
  };
  llvm::sort(results, [&](const Suggestion &lhs, const Suggestion &rhs) {
    return rank(lhs) < rank(rhs);
  });
  return results;
}

std::vector<Suggestion> tessera::suggestLayouts(const Shape &shape,
                                                const SuggestOptions &options) {
  if (!shape.isArray() || !shape.hasLayout() ||
      !shape.layout().paddedDimensions.empty())
    return {};
  Search search(shape, options);
  if (!search.mayShrink())
    return {};
  search.tryOrders();
  if (options.tiles)
    search.tryTiles();
  search.tryMerges();
  search.tryWidth();
  if (options.types)
    search.tryTypes();
  return search.takeResults();
}

std::optional<Suggestion>
tessera::suggestLayout(const Shape &shape,
                       llvm::ArrayRef<ReportNeighbour> neighbours) {
  SuggestOptions options;
  options.neighbours = neighbours;
  std::vector<Suggestion> all = suggestLayouts(shape, options);
  if (all.empty())
    return std::nullopt;
  return std::move(all.front());
}

std::optional<Suggestion> tessera::suggestMove(const ValueReport &value) {
  const ReportMove &move = *value.value.move;
  Suggestion suggestion;
  if (move.kind == ReportMove::Kind::Async) {
    if (move.overlap > 0)
      return std::nullopt;
    suggestion.kind = Suggestion::Kind::Overlap;
    suggestion.text = "start it earlier: nothing runs between its start and "
                      "its end, so it is waited for";
    return suggestion;
  }
  if (!move.isAvoidable)
    return std::nullopt;
  suggestion.kind = Suggestion::Kind::AvoidMove;
  suggestion.gain = value.movedBytes();
  suggestion.text = ((move.sourceIsArgument ? "pass %" : "make %") +
                     llvm::Twine(move.source) + " as " + move.to->toString() +
                     ": then there is nothing left to move")
                        .str();
  if (value.bytesRead != value.bytesWritten)
    suggestion.text += ", and it takes " + std::to_string(value.bytesWritten) +
                       " bytes instead of " + std::to_string(value.bytesRead);
  return suggestion;
}
