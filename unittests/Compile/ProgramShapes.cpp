//===- ProgramShapes.cpp - Casts, slices and reassociations in programs ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramMaker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

using llvm::formatv;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

Tensor ProgramMaker::castTo(const Tensor &source, const ArrayType &type) {
  return define(type,
                formatv("tensor.cast {0} : {1} to {2}", source.name(),
                        toText(source.type), toText(type))
                    .str(),
                copyOf(source.number));
}

/// Whether types with other dynamic dimensions may have this one's layout.
bool ProgramMaker::mayCast(const ArrayType &type) const {
  if (!type.layout)
    return true;
  // Bounds and widths belong to one type.
  bool mergesAxes = llvm::any_of(type.layout->tiles, [](const Tile &tile) {
    return llvm::is_contained(tile.sizes, Tile::kCombine);
  });
  bool widensNothing = !type.layout->paddedDimensions.empty() &&
                       llvm::is_contained(type.dims, 0);
  return type.layout->bounds.empty() && !mergesAxes && !widensNothing;
}

/// Between types that know a size and types that do not, or between layouts.
void ProgramMaker::addCast() {
  Tensor source = pick();
  ArrayType type = source.type;
  bool changesLayout = random.oneIn(2);
  if (changesLayout || mayCast(type))
    for (bool &isDynamic : type.isDynamic)
      if (random.oneIn(2))
        isDynamic = !isDynamic;
  if (changesLayout)
    type = makeRelaidOut(type);
  scope.push_back(castTo(source, type));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Where a slice is in an array, by dimension.
struct tessera::SliceBounds {
  SmallVector<int64_t> dims, offsets, sizes, strides;

  SliceBounds(RandomLayouts &random, llvm::ArrayRef<int64_t> arrayDims)
      : dims(arrayDims) {
    for (int64_t dim : dims) {
      int64_t stride = random.oneIn(4) ? 2 : 1;
      sizes.push_back(random.number(1, (dim + stride - 1) / stride));
      strides.push_back(stride);
      int64_t last = (sizes.back() - 1) * stride;
      offsets.push_back(random.number(0, dim - 1 - last));
    }
  }

  /// The position in the array of element number `n` of the slice.
  int64_t position(int64_t n) const {
    SmallVector<int64_t> index = indexOf(sizes, n);
    for (auto [i, offset, stride] : llvm::zip_equal(index, offsets, strides))
      i = offset + i * stride;
    return rowMajor(dims, index);
  }
  int64_t numElements() const {
    return ArrayType::getStatic(sizes).numElements();
  }
};

Tensor ProgramMaker::extractSlice(const Tensor &source,
                                  const SliceBounds &slice,
                                  const ArrayType &type,
                                  llvm::StringRef offsets) {
  unsigned from = source.number;
  return define(type,
                formatv("tensor.extract_slice {0}[{1}] [{2}] [{3}] : {4} to "
                        "{5}",
                        source.name(), offsets, join(slice.sizes),
                        join(slice.strides), toText(source.type), toText(type))
                    .str(),
                [=](const ProgramState &state) {
                  Elements elements;
                  for (int64_t n = 0; n < slice.numElements(); ++n)
                    elements.push_back(
                        state.tensors.at(from)[slice.position(n)]);
                  return elements;
                });
}

void ProgramMaker::addExtractSlice() {
  std::optional<Tensor> source = pickNonEmpty();
  if (!source)
    return;
  SliceBounds slice(random, source->type.dims);
  SmallVector<std::string> offsets;
  for (int64_t offset : slice.offsets)
    offsets.push_back(random.oneIn(3) ? constant(offset).name()
                                      : std::to_string(offset));
  ArrayType type = makeRelaidOut(ArrayType::getStatic(slice.sizes));
  scope.push_back(
      extractSlice(*source, slice, type, llvm::join(offsets, ", ")));
}

/// Puts some elements in.
void ProgramMaker::addInsertSlice() {
  std::optional<Tensor> target = pickNonEmpty();
  if (!target)
    return;
  SliceBounds slice(random, target->type.dims);
  Tensor part = valueOf(makeRelaidOut(ArrayType::getStatic(slice.sizes)));
  unsigned inserted = part.number, to = target->number;
  scope.push_back(define(
      target->type,
      formatv("tensor.insert_slice {0} into {1}[{2}] [{3}] [{4}] : {5} into "
              "{6}",
              part.name(), target->name(), join(slice.offsets),
              join(slice.sizes), join(slice.strides), toText(part.type),
              toText(target->type))
          .str(),
      [=](const ProgramState &state) {
        Elements elements = state.tensors.at(to);
        for (int64_t n = 0; n < slice.numElements(); ++n)
          elements[slice.position(n)] = state.tensors.at(inserted)[n];
        return elements;
      }));
}

//===----------------------------------------------------------------------===//
// Larger arrays
//===----------------------------------------------------------------------===//

/// Elements around a tensor. Upstream decomposes paddings of empty ones to
/// slices that its verifier refuses.
void ProgramMaker::addPad() {
  Tensor source = pick();
  if (source.type.rank() == 0 || source.type.hasDynamicDims() ||
      source.type.numElements() == 0)
    return;
  SmallVector<int64_t> low, high, dims;
  SmallVector<std::string> arguments;
  for (auto [d, dim] : llvm::enumerate(source.type.dims)) {
    low.push_back(random.oneIn(2) ? random.number(0, 2) : 0);
    high.push_back(random.oneIn(2) ? random.number(0, 2) : 0);
    dims.push_back(low.back() + dim + high.back());
    arguments.push_back(formatv("%i{0}_{1}: index", numValues, d));
  }
  ArrayType type = ArrayType::getStatic(dims);
  if (type.numElements() > 300)
    return;
  type = makeRelaidOut(type);
  Scalar value = anyElement();
  unsigned from = source.number;
  SmallVector<int64_t> sizes = source.type.dims;
  scope.push_back(define(
      type,
      formatv("tensor.pad {0} low[{1}] high[{2}] {{\n^bb0({3}):\n"
              "tensor.yield {4} : {5}\n} : {6} to {7}",
              source.name(), join(low), join(high), llvm::join(arguments, ", "),
              value.name(), element(), toText(source.type), toText(type))
          .str(),
      [=](const ProgramState &state) {
        Elements result(ArrayType::getStatic(dims).numElements(),
                        state.scalars.at(value.number));
        const Elements &elements = state.tensors.at(from);
        for (size_t n = 0; n < elements.size(); ++n) {
          SmallVector<int64_t> index = indexOf(sizes, n);
          for (auto [i, before] : llvm::zip_equal(index, low))
            i += before;
          result[rowMajor(dims, index)] = elements[n];
        }
        return result;
      }));
}

/// Two tensors one behind the other. Upstream decomposes concatenations of
/// empty ones to slices that its verifier refuses, and folds those of one fill
/// to a fill without a layout.
void ProgramMaker::addConcat() {
  Tensor first = pick();
  int64_t count = first.type.numElements();
  if (first.type.rank() == 0 || first.type.hasDynamicDims() || count == 0 ||
      count > 150)
    return;
  Tensor second = *pickLike(first.type);
  int64_t dim = random.number(0, first.type.rank() - 1);
  SmallVector<int64_t> dims = first.type.dims;
  int64_t size = std::exchange(dims[dim], 2 * dims[dim]);
  ArrayType type = makeRelaidOut(ArrayType::getStatic(dims));
  unsigned a = first.number, b = second.number;
  if (options.isFolded && a == b)
    return;
  scope.push_back(
      define(type,
             formatv("tensor.concat dim({0}) {1}, {2} : ({3}, {4}) -> {5}", dim,
                     first.name(), second.name(), toText(first.type),
                     toText(second.type), toText(type))
                 .str(),
             [=, sizes = first.type.dims](const ProgramState &state) {
               Elements result(ArrayType::getStatic(dims).numElements());
               for (size_t n = 0; n < result.size(); ++n) {
                 SmallVector<int64_t> index = indexOf(dims, n);
                 unsigned from = index[dim] < size ? a : b;
                 index[dim] %= size;
                 result[n] = state.tensors.at(from)[rowMajor(sizes, index)];
               }
               return result;
             }));
}

//===----------------------------------------------------------------------===//
// Reassociations
//===----------------------------------------------------------------------===//

/// Merges runs of dimensions.
void ProgramMaker::addCollapse() {
  Tensor source = pick();
  if (source.type.rank() < 2 || source.type.hasDynamicDims())
    return;
  SmallVector<int64_t> dims;
  std::string groups;
  for (auto [d, dim] : llvm::enumerate(source.type.dims)) {
    bool merges = d > 0 && !random.oneIn(3);
    groups += d == 0 ? "[" : merges ? ", " : "], [";
    groups += std::to_string(d);
    if (merges)
      dims.back() *= dim;
    else
      dims.push_back(dim);
  }
  if (static_cast<int64_t>(dims.size()) == source.type.rank())
    return;
  ArrayType type = makeRelaidOut(ArrayType::getStatic(dims));
  scope.push_back(
      define(type,
             formatv("tensor.collapse_shape {0} [{1}]] : {2} into {3}",
                     source.name(), groups, toText(source.type), toText(type))
                 .str(),
             copyOf(source.number)));
}

/// Splits one dimension.
void ProgramMaker::addExpand() {
  Tensor source = pick();
  if (source.type.rank() == 0 || source.type.hasDynamicDims())
    return;
  int64_t split = random.number(0, source.type.rank() - 1);
  SmallVector<int64_t> dims;
  SmallVector<std::string> groups;
  for (auto [d, dim] : llvm::enumerate(source.type.dims)) {
    SmallVector<int64_t> parts = {dim}, group;
    if (static_cast<int64_t>(d) == split)
      parts = makeFactors(dim);
    for (int64_t part : parts) {
      group.push_back(dims.size());
      dims.push_back(part);
    }
    groups.push_back("[" + join(group) + "]");
  }
  if (static_cast<int64_t>(dims.size()) == source.type.rank())
    return;
  ArrayType type = makeRelaidOut(ArrayType::getStatic(dims));
  scope.push_back(define(
      type,
      formatv("tensor.expand_shape {0} [{1}] output_shape [{2}] : {3} into {4}",
              source.name(), llvm::join(groups, ", "), join(dims),
              toText(source.type), toText(type))
          .str(),
      copyOf(source.number)));
}
