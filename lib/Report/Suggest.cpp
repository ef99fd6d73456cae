//===- Suggest.cpp - Layouts that waste less ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Candidates are made and measured; the smallest wins, and of equal ones that
// which changes least: an order before a tile before a shape. Whether the
// compiler can use it is not known here; what it would save is.
//
//===----------------------------------------------------------------------===//

#include "Suggest.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

namespace {
/// Keeps the best candidate.
class Search {
public:
  explicit Search(const Shape &shape) : shape(shape) {
    bytes = getBytes(shape).value_or(0);
    best = bytes;
  }

  void tryOrders();
  void tryTiles();
  void tryMerges();

  std::optional<Suggestion> result;

private:
  static std::optional<int64_t> getBytes(const Shape &candidate);
  void consider(Suggestion::Kind kind, Shape candidate, llvm::StringRef change);

  const Shape &shape;
  int64_t bytes = 0;
  int64_t best = 0;
};
} // namespace

std::optional<int64_t> Search::getBytes(const Shape &candidate) {
  llvm::Expected<ShapeSize> size = getSize(candidate);
  if (size)
    return size->bytes;
  llvm::consumeError(size.takeError());
  return std::nullopt;
}

void Search::consider(Suggestion::Kind kind, Shape candidate,
                      llvm::StringRef change) {
  std::optional<int64_t> size = getBytes(candidate);
  if (!size || *size >= best)
    return;
  best = *size;
  Suggestion suggestion;
  suggestion.kind = kind;
  suggestion.gain = bytes - best;
  suggestion.text =
      (change + ": " + candidate.toString() + " takes " + llvm::Twine(best) +
       " bytes, " + llvm::Twine(suggestion.gain) + " fewer")
          .str();
  suggestion.shape = std::move(candidate);
  result = std::move(suggestion);
}

/// Any two dimensions as the most minor ones, which are those that tiles pad
/// most; the others keep their order.
void Search::tryOrders() {
  int64_t rank = shape.rank();
  for (int64_t minor = 0; minor < rank; ++minor)
    for (int64_t second = 0; second < rank; ++second) {
      if (second == minor)
        continue;
      Layout layout = shape.layout();
      llvm::SmallVector<int64_t, 6> order = {minor, second};
      for (int64_t dim : layout.minorToMajor)
        if (dim != minor && dim != second)
          order.push_back(dim);
      layout.minorToMajor = order;
      Shape candidate = shape;
      candidate.setLayout(layout);
      consider(Suggestion::Kind::Order, std::move(candidate),
               "lay it out in another order");
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
             "use a smaller tile");
  }
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
    consider(Suggestion::Kind::Merge,
             Shape::array(shape.elementType(), dims, merged),
             ("merge dimensions " + llvm::Twine(dim) + " and " +
              llvm::Twine(dim + 1))
                 .str());
  }
}

std::optional<Suggestion> tessera::suggestLayout(const Shape &shape) {
  if (!shape.isArray() || !shape.hasLayout() ||
      !shape.layout().paddedDimensions.empty())
    return std::nullopt;
  Search search(shape);
  search.tryOrders();
  search.tryTiles();
  search.tryMerges();
  return std::move(search.result);
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
