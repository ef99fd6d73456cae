//===- Box.cpp - Parts of arrays ------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Box.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

llvm::SmallVector<int64_t, 4> ArrayPart::dimensions() const {
  if (isWhole())
    return llvm::SmallVector<int64_t, 4>(shape.dimensions());
  return llvm::map_to_vector<4>(box,
                                [](const Slice &slice) { return slice.count; });
}

void ArrayPart::print(llvm::raw_ostream &os) const {
  os << shape;
  if (isWhole())
    return;
  os << " [";
  llvm::interleave(
      box, os,
      [&](const Slice &slice) {
        int64_t last = slice.begin + (slice.count - 1) * slice.step;
        os << slice.begin << ":" << (slice.count ? last + 1 : slice.begin);
        if (slice.step != 1)
          os << ":" << slice.step;
      },
      ",");
  os << "]";
}

std::string ArrayPart::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

/// Reads a number, or takes `otherwise` where there is none.
static bool parseNumber(llvm::StringRef text, int64_t otherwise,
                        int64_t &result) {
  result = otherwise;
  text = text.trim();
  return text.empty() ||
         (llvm::isDigit(text.front()) && !text.getAsInteger(10, result));
}

/// The slice that `text` selects of a dimension of that size, if it is one.
static std::optional<Slice> parseSlice(llvm::StringRef text, int64_t size) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, ':');
  if (parts.size() != 2 && parts.size() != 3)
    return std::nullopt;
  Slice slice;
  int64_t end;
  if (!parseNumber(parts[0], 0, slice.begin) ||
      !parseNumber(parts[1], size, end) ||
      (parts.size() == 3 && !parseNumber(parts[2], 1, slice.step)))
    return std::nullopt;
  if (slice.step < 1 || slice.begin > end || end > size)
    return std::nullopt;
  // divideCeil is for unsigned numbers, and its sum may overflow.
  int64_t length = end - slice.begin;
  slice.count = length / slice.step + (length % slice.step != 0);
  return slice;
}

llvm::Expected<Box> tessera::parseBox(llvm::StringRef text, const Shape &shape,
                                      llvm::StringRef what) {
  llvm::SmallVector<llvm::StringRef, 4> slices;
  if (!text.trim().empty())
    text.split(slices, ',');
  if (static_cast<int64_t>(slices.size()) != shape.rank())
    return invalidError("", what,
                        "a slice for each of " + llvm::Twine(shape.rank()) +
                            " dimensions",
                        "`" + text + "`", "write : for a whole dimension");
  Box box;
  for (auto [slice, size] : llvm::zip_equal(slices, shape.dimensions())) {
    auto parsed = parseSlice(slice, size);
    if (!parsed)
      return invalidError("", what,
                          "BEGIN:END or BEGIN:END:STEP within 0:" +
                              llvm::Twine(size) + ", STEP 1 or more",
                          "`" + slice + "`");
    box.push_back(*parsed);
  }
  return box;
}
