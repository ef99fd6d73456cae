//===- ProgramMoves.cpp - Operations of the dialect in programs -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramMaker.h"

#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

using llvm::formatv;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Other layouts
//===----------------------------------------------------------------------===//

Tensor ProgramMaker::relayout(const Tensor &source, const ArrayType &type,
                              llvm::StringRef mnemonic) {
  return define(type,
                formatv("tessera.{0} {1} : {2} to {3}", mnemonic, source.name(),
                        toText(source.type), toText(type))
                    .str(),
                copyOf(source.number));
}

/// `source` in the layout of `type`.
Tensor ProgramMaker::convert(const Tensor &source, const ArrayType &type) {
  if (toText(source.type) == toText(type))
    return source;
  return relayout(source, type);
}

Tensor ProgramMaker::valueOf(const ArrayType &type) {
  std::vector<Tensor> same;
  std::string typeText = toText(type);
  for (const Tensor &tensor : scope)
    if (toText(tensor.type) == typeText)
      same.push_back(tensor);
  if (!same.empty() && !random.oneIn(3))
    return same[random.number(0, same.size() - 1)];
  std::optional<Tensor> like = pickLike(type);
  if (like && random.oneIn(2))
    return convert(*like, type);
  return makeSource(type);
}

void ProgramMaker::addRelayout() {
  Tensor source = pick();
  ArrayType type = makeRelaidOut(source.type);
  bool assumes = type.layout && random.oneIn(3);
  scope.push_back(
      relayout(source, type, assumes ? "assume_layout" : "relayout"));
}

/// Another statement stands between the start and the end.
void ProgramMaker::addAsynchronousCopy() {
  Tensor source = pick();
  ArrayType type = makeRelaidOut(source.type);
  Tensor copy{nextNumber(), type};
  emit(formatv("{0}, %t{1} = tessera.copy_start {2} : {3} to {4}", copy.name(),
               copy.number, source.name(), toText(source.type), toText(type)));
  steps.push_back(
      [from = source.number, to = copy.number](ProgramState &state) {
        Elements elements = state.tensors.at(from);
        state.tensors[to] = std::move(elements);
      });
  addStatement();
  emit(formatv("tessera.copy_done %t{0}", copy.number));
  scope.push_back(copy);
}

void ProgramMaker::addReshape() {
  Tensor source = pick();
  ArrayType type = ArrayType::getStatic(makeFactors(source.type.numElements()));
  if (source.type.hasDynamicDims()) {
    if (llvm::is_contained(type.dims, 0))
      return;
    type.isDynamic[random.number(0, type.rank() - 1)] = true;
  }
  scope.push_back(relayout(source, makeRelaidOut(type), "reshape"));
}

//===----------------------------------------------------------------------===//
// Bitcasts
//===----------------------------------------------------------------------===//

/// The type that has the dimensions in another order, and all elements at their
/// positions.
ArrayType ProgramMaker::permuteInMemory(const ArrayType &type,
                                        llvm::ArrayRef<int64_t> order) const {
  ArrayType result = type.permuted(order);
  Layout layout = type.layout.value_or(Layout::descending(type.rank()));
  result.layout = layout;
  for (auto [i, dim] : llvm::enumerate(order)) {
    size_t level =
        llvm::find(layout.minorToMajor, dim) - layout.minorToMajor.begin();
    result.layout->minorToMajor[level] = i;
    if (!layout.paddedDimensions.empty())
      result.layout->paddedDimensions[i] = layout.paddedDimensions[dim];
    if (!layout.bounds.empty())
      result.layout->bounds[i] = layout.bounds[dim];
  }
  return result;
}

/// A static type that may be another reading of the same memory.
std::optional<ArrayType> ProgramMaker::tryBitcastType(const ArrayType &type) {
  ArrayType result = type;
  Layout layout = type.layout.value_or(Layout::descending(type.rank()));
  int64_t kind = random.number(0, 2);
  if (kind == 0) { // Smaller dimensions in the same tiles.
    result.layout = layout;
    for (int64_t &dim : result.dims)
      dim = std::max<int64_t>(0, dim + random.number(-2, 1));
  } else if (kind == 1) { // Every position is an element.
    llvm::Expected<AxisList> axes = AxisList::get(type.dims, layout);
    if (!axes) {
      llvm::consumeError(axes.takeError());
      return std::nullopt;
    }
    result = ArrayType::getStatic(makeFactors(axes->numPositions()));
    result.layout = Layout::descending(result.rank());
    result.layout->tailPaddingAlignment = layout.tailPaddingAlignment;
  } else { // The same elements in another shape.
    result = ArrayType::getStatic(makeFactors(type.numElements()));
    result.layout = random.layout(result.dims, program.type);
    result.layout->paddingValue.reset();
  }
  // One width, so that positions can be compared.
  result.layout->elementSizeInBits = layout.elementSizeInBits;
  result.layout->memorySpace = layout.memorySpace;
  if (!isLegal(*result.layout, result.dims) ||
      !mayBitcast(getShape(type), getShape(result)))
    return std::nullopt;
  return result;
}

/// Every element of the result is the operand's at the same position.
Tensor ProgramMaker::bitcast(const Tensor &source, const ArrayType &type) {
  std::unordered_map<int64_t, int64_t> elementAt;
  for (auto [n, position] : llvm::enumerate(getPositions(source.type)))
    elementAt[position] = n;
  std::vector<int64_t> origins;
  for (int64_t position : getPositions(type))
    origins.push_back(elementAt.at(position));
  unsigned from = source.number;
  return define(type,
                formatv("tessera.bitcast {0} : {1} to {2}", source.name(),
                        toText(source.type), toText(type))
                    .str(),
                [=](const ProgramState &state) {
                  const Elements &elements = state.tensors.at(from);
                  Elements result;
                  for (int64_t origin : origins)
                    result.push_back(elements[origin]);
                  return result;
                });
}

/// Some order in which dynamic dimensions follow each other as before: a
/// bitcast takes their sizes so.
SmallVector<int64_t> ProgramMaker::makeBitcastOrder(const ArrayType &type) {
  SmallVector<int64_t> order = makeOrder(type.rank()), dynamic;
  for (int64_t dim : order)
    if (type.isDynamic[dim])
      dynamic.push_back(dim);
  llvm::sort(dynamic);
  auto next = dynamic.begin();
  for (int64_t &dim : order)
    if (type.isDynamic[dim])
      dim = *next++;
  return order;
}

void ProgramMaker::addBitcast() {
  Tensor source = pick();
  std::optional<ArrayType> type;
  if (!source.type.hasDynamicDims())
    for (int tries = 0; tries < 6 && !type; ++tries)
      type = tryBitcastType(source.type);
  if (!type || random.oneIn(3))
    type = permuteInMemory(source.type, makeBitcastOrder(source.type));
  scope.push_back(bitcast(source, *type));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Sizes of dimensions that the layout does not bound, in parentheses.
static bool isUnbounded(const ArrayType &type, size_t dim) {
  return type.isDynamic[dim] && (!type.layout || type.layout->bounds.empty() ||
                                 type.layout->bounds[dim] == tessera::kDynamic);
}

void ProgramMaker::addLinearize() {
  std::optional<Tensor> array = pickNonEmpty();
  if (!array)
    return;
  const ArrayType &type = array->type;
  SmallVector<Scalar> index = anyIndices(type.dims), sizes;
  for (auto [d, dim] : llvm::enumerate(type.dims))
    if (isUnbounded(type, d))
      sizes.push_back(constant(dim));
  std::string suffix = sizes.empty() ? "" : "(" + joinNames(sizes) + ")";
  std::vector<int64_t> positions = getPositions(type);
  SmallVector<int64_t> dims = type.dims;
  indices.push_back(
      defineScalar(formatv("tessera.linearize_index {0} in {1}{2}",
                           joinNames(index), toText(type), suffix)
                       .str(),
                   [=](const ProgramState &state) {
                     return positions[rowMajor(dims, evaluate(state, index))];
                   }));
}

/// An index of the element at some position, or 0 on padding.
void ProgramMaker::addDelinearize() {
  Tensor array = pick();
  const ArrayType &type = array.type;
  std::vector<int64_t> positions = getPositions(type);
  if (positions.empty() || type.dims.empty() || type.hasDynamicDims())
    return;
  int64_t last = *llvm::max_element(positions);
  Scalar position = anyIndex(last + 1);
  int64_t dim = random.number(0, type.rank() - 1);
  std::unordered_map<int64_t, int64_t> elementAt;
  for (auto [n, at] : llvm::enumerate(positions))
    elementAt[at] = indexOf(type.dims, n)[dim];
  unsigned results = nextNumber();
  emit(formatv("%d{0}:{1} = tessera.delinearize_index {2} in {3}", results,
               type.rank() + 1, position.name(), toText(type)));
  Scalar zero = constant(0);
  indices.push_back(defineScalar(
      formatv("arith.select %d{0}#{1}, %d{0}#{2}, {3} : index", results,
              type.rank(), dim, zero.name())
          .str(),
      [=](const ProgramState &state) {
        auto found = elementAt.find(state.scalars.at(position.number));
        return found == elementAt.end() ? 0 : found->second;
      }));
}

void ProgramMaker::addStorageSize() {
  Tensor array = pick();
  if (array.type.hasDynamicDims())
    return;
  int64_t bytes = llvm::cantFail(getSize(getShape(array.type))).bytes;
  indices.push_back(
      defineScalar(formatv("tessera.storage_size {0} : {1}", array.name(),
                           toText(array.type))
                       .str(),
                   [bytes](const ProgramState &) { return bytes; }));
}
