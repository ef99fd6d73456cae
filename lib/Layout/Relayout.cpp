//===- Relayout.cpp - Which relayouts there are ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Relayout.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using llvm::Twine;

/// The rules for one side of a relayout.
static llvm::Error checkSide(const Shape &shape, llvm::StringRef side) {
  if (!shape.isArray())
    return invalidError("", side, "an array", shape.toString());
  if (llvm::Error error = shape.verify())
    return error;
  if (shape.hasUnboundedDimension())
    return unsupportedError(side, "dimensions that are known or bounded",
                            shape.toString(), "write <=N in place of ?");
  Layout layout = shape.layoutOrDefault();
  if (layout.dynamicShapeMetadataPrefixBytes != 0)
    return unsupportedError("M of the " + side, "no metadata before the data",
                            shape.toString(), "drop M");
  int64_t bits = getStorageBits(shape.elementType(), layout);
  if (bits != getBitWidth(shape.elementType()) &&
      bits != getByteWidth(shape.elementType()) * 8)
    return unsupportedError(
        "E of the " + side,
        "the type's bits, " + Twine(getBitWidth(shape.elementType())) +
            ", or its bytes, " + Twine(getByteWidth(shape.elementType()) * 8),
        Twine(bits), "use one of them");
  return llvm::Error::success();
}

/// Whether all indices of the slice are ones of a dimension of `size`.
static bool isWithin(const Slice &slice, int64_t size) {
  return slice.begin >= 0 && slice.count >= 0 && slice.step > 0 &&
         slice.begin <= size &&
         (slice.count == 0 ||
          (slice.begin < size &&
           slice.count - 1 <= (size - 1 - slice.begin) / slice.step));
}

/// Dimensions of an array with a box. Where no plan is found, each is a loop,
/// and passes over loops are recursive.
static constexpr int64_t kMaxBoxRank = 512;

/// Whether the slices are ones of the array.
static llvm::Error checkBox(const ArrayPart &part, llvm::StringRef side) {
  if (part.isWhole())
    return llvm::Error::success();
  if (part.shape.rank() > kMaxBoxRank)
    return unsupportedError(
        side, "at most " + Twine(kMaxBoxRank) + " dimensions",
        Twine(part.shape.rank()), "leave out dimensions of size 1");
  if (static_cast<int64_t>(part.box.size()) != part.shape.rank())
    return invalidError("", side,
                        "a slice for each of " + Twine(part.shape.rank()) +
                            " dimensions",
                        Twine(part.box.size()), "or none for the whole array");
  for (auto [i, slice] : llvm::enumerate(part.box))
    if (int64_t size = part.shape.dimensions()[i]; !isWithin(slice, size))
      return invalidError(
          "", ("dimension " + Twine(i) + " of the " + side).str(),
          "a slice within 0:" + Twine(size),
          Twine(slice.count) + " indices from " + Twine(slice.begin) +
              " in steps of " + Twine(slice.step),
          "steps are 1 or more");
  return llvm::Error::success();
}

static std::string printSizes(llvm::ArrayRef<int64_t> sizes) {
  return sizes.empty() ? "those of a scalar" : formatSizes(sizes);
}

llvm::Error tessera::checkRelayout(const ArrayPart &sourcePart,
                                   const ArrayPart &destinationPart) {
  const Shape &source = sourcePart.shape;
  const Shape &destination = destinationPart.shape;
  if (llvm::Error error = checkSide(source, "source"))
    return error;
  if (llvm::Error error = checkSide(destination, "destination"))
    return error;
  if (llvm::Error error = checkBox(sourcePart, "box of the source"))
    return error;
  if (llvm::Error error = checkBox(destinationPart, "box of the destination"))
    return error;
  if (source.elementType() != destination.elementType())
    return invalidError("", "element type of the destination",
                        getName(source.elementType()),
                        getName(destination.elementType()),
                        "a relayout does not convert values");
  bool isWhole = sourcePart.isWhole() && destinationPart.isWhole();
  if (isWhole && source.dimensions() != destination.dimensions())
    return invalidError("", "dimensions of the destination",
                        source.toString(/*printLayout=*/false),
                        destination.toString(/*printLayout=*/false),
                        "a relayout keeps the dimensions");
  if (sourcePart.dimensions() != destinationPart.dimensions())
    return invalidError("", "sizes of the destination",
                        printSizes(sourcePart.dimensions()),
                        printSizes(destinationPart.dimensions()),
                        "boxes must have the same sizes");
  return llvm::Error::success();
}
