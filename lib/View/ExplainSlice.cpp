//===- ExplainSlice.cpp - Slices in words ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/ExplainSlice.h"

#include "FieldList.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <numeric>
#include <tuple>

using namespace tessera;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using Tiles = SlicedDimension::Tiles;

static std::string count(int64_t number, llvm::StringRef unit) {
  return (llvm::itostr(number) + " " + unit + (number == 1 ? "" : "s")).str();
}

static std::string inBytes(int64_t bits) {
  return bits % 8 == 0 ? count(bits / 8, "byte") : count(bits, "bit");
}

//===----------------------------------------------------------------------===//
// What must hold
//===----------------------------------------------------------------------===//

/// `value` modulo `modulus`, not negative.
static int64_t getRemainder(int64_t value, int64_t modulus) {
  return (value % modulus + modulus) % modulus;
}

/// The least value from 0 on for which `coefficient * value + constant` is a
/// multiple of `modulus`, where there is one; others are `period` apart.
static int64_t solve(int64_t coefficient, int64_t constant, int64_t modulus,
                     int64_t period) {
  __extension__ using Wide = __int128;
  int64_t divisor = modulus / period;
  // Euclid's algorithm: the inverse of the coefficient modulo the period.
  Wide inverse = 1, next = 0;
  int64_t low = getRemainder(coefficient / divisor, period), high = period;
  while (high != 0) {
    int64_t quotient = low / high;
    std::tie(low, high) = std::pair(high, low % high);
    std::tie(inverse, next) = std::pair(next, inverse - quotient * next);
  }
  Wide value = -Wide(constant / divisor) * inverse % period;
  return static_cast<int64_t>(value < 0 ? value + period : value);
}

/// `i must be a multiple of 2` so that `begin` is one of `tile`. At least one
/// begin is.
static std::string describeCondition(const SliceBegin &begin, int64_t tile) {
  if (begin.terms.size() != 1)
    return begin.toString() + " must be a multiple of " + llvm::itostr(tile);
  auto [variable, coefficient] = begin.terms.front();
  int64_t period = tile / std::gcd(tile, coefficient);
  int64_t least = solve(coefficient, begin.constant, tile, period);
  std::string text = variable + " must be ";
  if (least != 0)
    text += llvm::itostr(least) + " more than ";
  return text + "a multiple of " + llvm::itostr(period);
}

/// What dimension `dim` needs for whole tiles; empty where it always has them.
static std::string describeNeed(size_t dim, const SliceBegin &begin,
                                const SlicedDimension &answer,
                                int64_t arraySize) {
  if (answer.wholeTiles == Tiles::Always)
    return "";
  std::string name = "d" + llvm::utostr(dim);
  std::string tile = llvm::itostr(answer.tile);
  if (answer.size % answer.tile != 0) {
    std::string text = count(answer.size, "element") + " of " + name +
                       " are no multiple of " + tile;
    if (answer.wholeTiles == Tiles::Never)
      return text;
    return text + ": " + begin.toString() + " must be " +
           llvm::itostr(arraySize - answer.size) + ", the end of " + name;
  }
  std::string known = name + ": " + begin.toString();
  int64_t step = std::gcd(answer.step, answer.tile);
  int64_t rest = getRemainder(answer.first, step);
  if (answer.first == answer.last)
    known += " is " + llvm::itostr(answer.first);
  else if (step == 1)
    known += " can be any integer";
  else
    known += " is " + (rest == 0 ? "" : llvm::itostr(rest) + " more than ") +
             "a multiple of " + llvm::itostr(step);
  known += ", needed is a multiple of " + tile;
  if (answer.wholeTiles == Tiles::Never)
    return known + ", and none of its values is";
  return known + ": " + describeCondition(begin, answer.tile);
}

static llvm::SmallVector<std::string, 2> getNeeds(const Shape &shape,
                                                  const SymbolicSlice &slice,
                                                  const SliceAnswer &answer) {
  llvm::SmallVector<std::string, 2> needs;
  for (auto [dim, dimension] : llvm::enumerate(answer.dimensions)) {
    std::string need = describeNeed(dim, slice.begins[dim], dimension,
                                    shape.dimensions()[dim]);
    if (!need.empty())
      needs.push_back(std::move(need));
  }
  return needs;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `2 x 1 whole tiles of 8 x 128`, by dimension.
static std::string describeTiles(const SliceAnswer &answer) {
  if (llvm::all_of(answer.dimensions, [](const SlicedDimension &dimension) {
        return dimension.tile == 1;
      }))
    return "none, whole elements everywhere";
  std::string counts, sizes;
  for (const SlicedDimension &dimension : answer.dimensions) {
    llvm::StringRef separator = counts.empty() ? "" : " x ";
    counts += separator.str() + llvm::itostr(dimension.numTiles());
    sizes += separator.str() + llvm::itostr(dimension.tile);
  }
  return counts + " whole tiles of " + sizes;
}

static std::string describeRuns(const SliceAnswer &answer) {
  std::string text = llvm::itostr(answer.minRuns);
  if (answer.maxRuns != answer.minRuns)
    text += " to " + llvm::itostr(answer.maxRuns);
  text += answer.maxRuns == 1 ? " run" : " runs";
  if (!answer.runBits)
    return text + ", not all of one length, " + inBytes(answer.bits) +
           " together";
  text += " of " + inBytes(*answer.runBits);
  for (const RunStride &stride : answer.strides)
    text += ", " + llvm::itostr(stride.count) + " that are " +
            inBytes(stride.bits) + " apart";
  return text;
}

static std::string describeAlignment(int64_t bits) {
  return bits == 0 ? "at the beginning of the buffer"
                   : "at a multiple of " + inBytes(bits);
}

/// The values of the variables for which the slice lies within the array.
static void addRanges(const SymbolicSlice &slice, const SliceAnswer &answer,
                      FieldList &lines) {
  for (auto [begin, dimension] :
       llvm::zip_equal(slice.begins, answer.dimensions))
    if (!begin.terms.empty())
      lines.add(begin.toString(),
                "from " + llvm::itostr(dimension.first) + " to " +
                    llvm::itostr(dimension.last) +
                    (dimension.step > 1
                         ? " in steps of " + llvm::itostr(dimension.step)
                         : ""));
}

void tessera::printSlice(const Shape &shape, const SymbolicSlice &slice,
                         const SliceAnswer &answer, llvm::raw_ostream &os) {
  FieldList lines;
  llvm::SmallVector<std::string, 2> needs = getNeeds(shape, slice, answer);
  if (needs.empty())
    lines.add("tiles", describeTiles(answer));
  else
    lines.add("tiles", "not whole for all begins");
  for (const std::string &need : needs)
    lines.add("needs", need);
  lines.add("memory", describeRuns(answer));
  lines.add("begins", describeAlignment(answer.alignmentBits));
  addRanges(slice, answer, lines);
  lines.print(os);
}

std::string tessera::summarizeSlice(const Shape &shape,
                                    const SymbolicSlice &slice,
                                    const SliceAnswer &answer) {
  llvm::SmallVector<std::string, 2> needs = getNeeds(shape, slice, answer);
  std::string tiles = needs.empty() ? describeTiles(answer)
                                    : "not whole tiles for all begins: " +
                                          llvm::join(needs, "; ");
  return tiles + "; " + describeRuns(answer) + "; begins " +
         describeAlignment(answer.alignmentBits);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::StringRef getName(Tiles tiles) {
  switch (tiles) {
  case Tiles::Never:
    return "never";
  case Tiles::Sometimes:
    return "sometimes";
  case Tiles::Always:
    return "always";
  }
  return "";
}

static Value makeDimension(const SliceBegin &begin,
                           const SlicedDimension &dimension) {
  return Object{{"begin", begin.toString()},
                {"first", dimension.first},
                {"last", dimension.last},
                {"step", dimension.step},
                {"size", dimension.size},
                {"tile", dimension.tile},
                {"whole_tiles", getName(dimension.wholeTiles)}};
}

void tessera::printSliceJSON(const Shape &shape, const SymbolicSlice &slice,
                             const SliceAnswer &answer, llvm::raw_ostream &os) {
  Array dimensions, strides;
  for (auto [begin, dimension] :
       llvm::zip_equal(slice.begins, answer.dimensions))
    dimensions.push_back(makeDimension(begin, dimension));
  for (const RunStride &stride : answer.strides)
    strides.push_back(Object{{"count", stride.count}, {"bits", stride.bits}});
  Object object{{"whole_tiles", answer.isWholeTiles()},
                {"needs", Array(getNeeds(shape, slice, answer))},
                {"elements", answer.elements},
                {"bits", answer.bits},
                {"min_runs", answer.minRuns},
                {"max_runs", answer.maxRuns},
                {"alignment_bits", answer.alignmentBits},
                {"dimensions", std::move(dimensions)}};
  if (answer.runBits) {
    object["run_bits"] = *answer.runBits;
    object["strides"] = std::move(strides);
  }
  os << Value(std::move(object)) << '\n';
}
