//===- Axes.cpp - What operations go over ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Axes.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Windows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::ArrayRef;
using llvm::StringRef;
using Dims = llvm::SmallVector<int64_t, 6>;
using Kind = FlowAxis::Kind;

namespace {
/// Which dimensions of the operand and the indices of a gather or scatter
/// belong together.
struct IndexedDims {
  Dims collapsed, map, operandBatch, indicesBatch;
  int64_t vector;
};

/// Makes the form of one instruction.
class FormBuilder {
public:
  FormBuilder(const Instruction &instruction, const Shape &result)
      : instruction(instruction), sizes(result.dimensions()) {}

  std::optional<AxisForm> build();

private:
  bool dot();
  bool convolution();
  bool reduce();
  bool reduceWindow();
  bool selectAndScatter();
  bool pad();
  bool dynamicSlice();
  bool dynamicUpdateSlice();
  bool gather();
  bool scatter();
  bool alongDimension(std::optional<size_t> dimension);
  std::optional<size_t> namedDimension();
  bool concatenate();
  bool everywhere();
  bool iota();
  bool buildForOpcode();

  bool spatialAxis(const WindowDimension &window, int64_t lhs, int64_t rhs,
                   int64_t out, unsigned &axis);
  bool slidingAxis(const WindowDimension &window, int64_t size,
                   int64_t resultSize, bool maySum, unsigned &axis);
  bool indexAxes(int64_t vector, Kind batch,
                 llvm::SmallVectorImpl<unsigned> &axes);
  std::optional<llvm::SmallVector<unsigned, 6>>
  indexedAxes(const IndexedDims &dims, ArrayRef<int64_t> slice,
              ArrayRef<unsigned> ofIndices);
  std::optional<llvm::SmallVector<unsigned, 6>>
  sliceAxes(const IndexedDims &dims, ArrayRef<int64_t> offsets, size_t rank,
            ArrayRef<unsigned> ofOperand, ArrayRef<unsigned> ofIndices);
  static bool fit(const IndexedDims &dims, ArrayRef<int64_t> indexed,
                  ArrayRef<int64_t> indices, size_t numOffsets);
  bool operandDims(unsigned number, ArrayRef<unsigned> axes);
  bool scalars(unsigned begin, unsigned end);
  bool resultDims(ArrayRef<unsigned> axes);
  unsigned addAxis(Kind kind, const llvm::Twine &label = "") {
    form.axes.push_back({kind, label.str(), {}});
    return form.axes.size() - 1;
  }
  llvm::SmallVector<unsigned, 6> addAxes(Kind kind, size_t count) {
    llvm::SmallVector<unsigned, 6> axes;
    while (axes.size() < count)
      axes.push_back(addAxis(kind));
    return axes;
  }

  const Attribute *attribute(StringRef name) {
    form.said.push_back(name);
    return instruction.getAttribute(name);
  }
  Dims dims(StringRef name) { return getInts(attribute(name)); }
  StringRef text(StringRef name) {
    const Attribute *found = attribute(name);
    return found ? found->text : StringRef();
  }
  ArrayRef<int64_t> operandSizes(unsigned number) const {
    return instruction.operands[number]->shape->dimensions();
  }
  unsigned numOperands() const { return instruction.operands.size(); }

  const Instruction &instruction;
  ArrayRef<int64_t> sizes;
  AxisForm form;
};
} // namespace

/// Whether `dims` are different dimensions below `rank`.
static bool areDimensions(ArrayRef<int64_t> dims, size_t rank) {
  Dims sorted(dims);
  llvm::sort(sorted);
  return llvm::all_of(sorted,
                      [&](int64_t dim) {
                        return dim >= 0 && dim < static_cast<int64_t>(rank);
                      }) &&
         llvm::adjacent_find(sorted) == sorted.end();
}

//===----------------------------------------------------------------------===//
// Parts of a form
//===----------------------------------------------------------------------===//

/// An operand each of whose dimensions is an axis.
bool FormBuilder::operandDims(unsigned number, ArrayRef<unsigned> axes) {
  if (axes.size() != operandSizes(number).size())
    return false;
  AxisForm::Operand &operand = form.operands.emplace_back();
  operand.number = number;
  for (auto [size, axis] : llvm::zip_equal(operandSizes(number), axes))
    operand.dimensions.push_back({size, axis});
  return true;
}

/// Operands that all elements of the result are made of.
bool FormBuilder::scalars(unsigned begin, unsigned end) {
  for (unsigned number = begin; number < end; ++number)
    if (!operandDims(number, {}))
      return false;
  return true;
}

bool FormBuilder::resultDims(ArrayRef<unsigned> axes) {
  if (axes.size() != sizes.size())
    return false;
  for (auto [size, axis] : llvm::zip_equal(sizes, axes))
    form.result.push_back({size, axis});
  return true;
}

/// A window that slides along an axis, in words.
static std::string describeWindow(const WindowDimension &window) {
  std::string text = "window";
  for (int64_t number : {window.size, window.stride, window.low, window.high,
                         window.baseDilation, window.windowDilation})
    text += " " + llvm::itostr(number);
  return text + (window.reversed ? " reversed" : "");
}

/// The number of positions of a window; nothing where that overflows.
static std::optional<int64_t> countPositions(const WindowDimension &window,
                                             int64_t size) {
  auto getSpan = [](int64_t count, int64_t dilation) {
    return count == 0 ? std::optional<int64_t>(0)
                      : llvm::checkedMulAdd<int64_t>(count - 1, dilation, 1);
  };
  auto base = getSpan(size, window.baseDilation);
  auto span = getSpan(window.size, window.windowDilation);
  auto padding = llvm::checkedAdd(window.low, window.high);
  if (!base || !span || !padding)
    return std::nullopt;
  auto padded = llvm::checkedAdd(*base, *padding);
  if (!padded)
    return std::nullopt;
  return *padded < *span ? 0 : (*padded - *span) / window.stride + 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool FormBuilder::dot() {
  form.name = "sum-of-products";
  Dims batch[2] = {dims("lhs_batch_dims"), dims("rhs_batch_dims")};
  Dims summed[2] = {dims("lhs_contracting_dims"), dims("rhs_contracting_dims")};
  if (numOperands() != 2 || batch[0].size() != batch[1].size() ||
      summed[0].size() != summed[1].size())
    return false;
  auto result = addAxes(Kind::Each, batch[0].size());
  auto sums = addAxes(Kind::Sum, summed[0].size());
  llvm::SmallVector<unsigned, 6> batches(result);
  for (unsigned side : {0, 1}) {
    size_t rank = operandSizes(side).size();
    Dims special(batch[side]);
    llvm::append_range(special, summed[side]);
    if (!areDimensions(special, rank))
      return false;
    llvm::SmallVector<unsigned, 6> axes(rank);
    for (auto [dim, axis] : llvm::zip_equal(batch[side], batches))
      axes[dim] = axis;
    for (auto [dim, axis] : llvm::zip_equal(summed[side], sums))
      axes[dim] = axis;
    for (size_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(special, dim))
        result.push_back(axes[dim] = addAxis(Kind::Each));
    if (!operandDims(side, axes))
      return false;
  }
  return resultDims(result);
}

/// Whether each position of the window, `out` of them, sees one element alone,
/// and sees it as `isRight` says: position, element, place in the window.
static bool
seesOneEach(const WindowDimension &window, int64_t size, int64_t out,
            llvm::function_ref<bool(int64_t, int64_t, int64_t)> isRight) {
  for (int64_t position = 0; position < out; ++position) {
    int64_t seen = 0;
    for (int64_t place = 0; place < window.size; ++place) {
      int64_t at =
          position * window.stride + place * window.windowDilation - window.low;
      if (at < 0 || at % window.baseDilation != 0 ||
          at / window.baseDilation >= size)
        continue;
      int64_t inWindow = window.reversed ? window.size - 1 - place : place;
      if (!isRight(position, at / window.baseDilation, inWindow))
        return false;
      ++seen;
    }
    if (out > 1 && seen != 1)
      return false;
    if (out == 1 && seen != window.size)
      return false;
  }
  return true;
}

/// The axis of a spatial dimension of a convolution. The TPU compiler writes
/// those of a dot as windows that see one element at each position.
bool FormBuilder::spatialAxis(const WindowDimension &window, int64_t lhs,
                              int64_t rhs, int64_t out, unsigned &axis) {
  if (window.size != rhs || countPositions(window, lhs) != out)
    return false;
  constexpr int64_t kMaxSteps = 1 << 22;
  std::optional<int64_t> steps = llvm::checkedMul(out, rhs);
  bool isFew = steps && *steps <= kMaxSteps && window.stride <= kMaxSteps &&
               window.windowDilation <= kMaxSteps &&
               std::abs(window.low) <= kMaxSteps;
  bool isSum = out == 1 && lhs == rhs;
  bool isEach =
      (lhs == out && (rhs == out || rhs == 1)) || (rhs == out && lhs == 1);
  auto isRight = [&](int64_t position, int64_t element, int64_t place) {
    if (isSum)
      return element == place;
    return (lhs == 1 || element == position) && (rhs == 1 || place == position);
  };
  if (isFew && (isSum || isEach) && seesOneEach(window, lhs, out, isRight))
    axis = addAxis(isSum ? Kind::Sum : Kind::Each);
  else
    axis = addAxis(Kind::Whole, describeWindow(window));
  return true;
}

bool FormBuilder::convolution() {
  form.name = "sum-of-products";
  auto labels = readDimLabels(text("dim_labels"));
  int64_t groups = getInt(attribute("feature_group_count")).value_or(1);
  int64_t batchGroups = getInt(attribute("batch_group_count")).value_or(1);
  if (!labels || numOperands() != 2 || groups < 1 || batchGroups != 1)
    return false;
  auto [lhs, rhs, out] = *labels;
  size_t rank = lhs.spatial.size() + 2;
  auto window = readWindow(text("window"), lhs.spatial.size());
  ArrayRef<int64_t> lhsSizes = operandSizes(0), rhsSizes = operandSizes(1);
  if (!window || lhsSizes.size() != rank || rhsSizes.size() != rank ||
      sizes.size() != rank || rhsSizes[rhs.first] % groups != 0)
    return false;

  // Dimensions of features are those of a group within the groups.
  std::vector<AxisDimensions> dims[3];
  for (auto &array : dims)
    array.resize(rank);
  unsigned group = addAxis(Kind::Each), input = addAxis(Kind::Sum);
  unsigned output = addAxis(Kind::Each), batch = addAxis(Kind::Each);
  int64_t inputs = rhsSizes[rhs.second];
  int64_t outputs = rhsSizes[rhs.first] / groups;
  dims[0][lhs.first] = {{lhsSizes[lhs.first], batch}};
  dims[0][lhs.second] = {{groups, group}, {inputs, input}};
  dims[1][rhs.first] = {{groups, group}, {outputs, output}};
  dims[1][rhs.second] = {{inputs, input}};
  dims[2][out.first] = {{sizes[out.first], batch}};
  dims[2][out.second] = {{groups, group}, {outputs, output}};
  for (size_t i = 0; i + 2 < rank; ++i) {
    int64_t places[] = {lhs.spatial[i], rhs.spatial[i], out.spatial[i]};
    unsigned axis = 0;
    if (!spatialAxis((*window)[i], lhsSizes[places[0]], rhsSizes[places[1]],
                     sizes[places[2]], axis))
      return false;
    bool isWhole = form.axes[axis].kind == Kind::Whole;
    ArrayRef<int64_t> ofArray[] = {lhsSizes, rhsSizes, sizes};
    for (size_t array = 0; array < 3; ++array) {
      int64_t size = ofArray[array][places[array]];
      if (isWhole || size > 1)
        dims[array][places[array]] = {{size, axis}};
    }
  }
  form.operands = {{0, {}}, {1, {}}};
  for (size_t dim = 0; dim < rank; ++dim) {
    llvm::append_range(form.operands[0].dimensions, dims[0][dim]);
    llvm::append_range(form.operands[1].dimensions, dims[1][dim]);
    llvm::append_range(form.result, dims[2][dim]);
  }
  return lhsSizes[lhs.second] % groups == 0 &&
         lhsSizes[lhs.second] / groups == inputs &&
         sizes[out.second] == rhsSizes[rhs.first];
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

bool FormBuilder::reduce() {
  form.name = "reduce";
  Dims summed = dims("dimensions");
  unsigned numInputs = numOperands() / 2;
  if (numOperands() % 2 != 0 || numInputs == 0)
    return false;
  size_t rank = operandSizes(0).size();
  if (!areDimensions(summed, rank))
    return false;
  llvm::SmallVector<unsigned, 6> axes, kept;
  for (size_t dim = 0; dim < rank; ++dim) {
    bool isSummed = llvm::is_contained(summed, dim);
    axes.push_back(addAxis(isSummed ? Kind::Sum : Kind::Each));
    if (!isSummed)
      kept.push_back(axes.back());
  }
  for (unsigned number = 0; number < numInputs; ++number)
    if (!operandDims(number, axes))
      return false;
  return scalars(numInputs, numOperands()) && resultDims(kept);
}

/// The axis along which a window of a reduction slides.
bool FormBuilder::slidingAxis(const WindowDimension &window, int64_t size,
                              int64_t resultSize, bool maySum, unsigned &axis) {
  if (countPositions(window, size) != resultSize || window.reversed)
    return false;
  bool isPlain = window.low == 0 && window.high == 0 &&
                 window.baseDilation == 1 && window.windowDilation == 1;
  if (isPlain && window.size == 1 && window.stride == 1)
    axis = addAxis(Kind::Each);
  else if (isPlain && maySum && window.size == size && resultSize == 1)
    axis = addAxis(Kind::Sum);
  else
    axis = addAxis(Kind::Whole, describeWindow(window));
  return true;
}

bool FormBuilder::reduceWindow() {
  form.name = "reduce";
  unsigned numInputs = numOperands() / 2;
  if (numOperands() % 2 != 0 || numInputs == 0)
    return false;
  ArrayRef<int64_t> from = operandSizes(0);
  auto window = readWindow(text("window"), from.size());
  if (!window || from.size() != sizes.size())
    return false;
  llvm::SmallVector<unsigned, 6> axes(from.size());
  for (size_t dim = 0; dim < from.size(); ++dim) {
    if (!slidingAxis((*window)[dim], from[dim], sizes[dim], /*maySum=*/true,
                     axes[dim]))
      return false;
    // One that is summed over is not the result's.
    if (form.axes[axes[dim]].kind != Kind::Sum)
      form.result.push_back({sizes[dim], axes[dim]});
  }
  for (unsigned number = 0; number < numInputs; ++number)
    if (!operandDims(number, axes))
      return false;
  return scalars(numInputs, numOperands());
}

bool FormBuilder::selectAndScatter() {
  if (numOperands() != 3 || operandSizes(0) != sizes ||
      operandSizes(1).size() != sizes.size())
    return false;
  auto window = readWindow(text("window"), sizes.size());
  if (!window)
    return false;
  llvm::SmallVector<unsigned, 6> axes(sizes.size());
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (!slidingAxis((*window)[dim], sizes[dim], operandSizes(1)[dim],
                     /*maySum=*/false, axes[dim]))
      return false;
  // Of equals the one that a window comes to first is selected.
  for (unsigned axis : axes)
    form.axes[axis].label += " " + llvm::utostr(axis);
  return operandDims(0, axes) && operandDims(1, axes) && scalars(2, 3) &&
         resultDims(axes);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

bool FormBuilder::pad() {
  auto padding = readPadding(text("padding"));
  if (!padding || numOperands() != 2 || padding->size() != sizes.size())
    return false;
  llvm::SmallVector<unsigned, 6> axes;
  for (auto [low, high, interior] : *padding) {
    bool isPlain = low == 0 && high == 0 && interior == 0;
    axes.push_back(addAxis(isPlain ? Kind::Each : Kind::Whole,
                           llvm::Twine(low) + "_" + llvm::Twine(high) + "_" +
                               llvm::Twine(interior)));
  }
  return operandDims(0, axes) && scalars(1, 2) && resultDims(axes);
}

/// What the attribute `dimensions` names, one alone.
std::optional<size_t> FormBuilder::namedDimension() {
  Dims along = dims("dimensions");
  if (along.size() != 1 || !areDimensions(along, sizes.size()))
    return std::nullopt;
  return along[0];
}

/// An operation on each line of all operands along a dimension.
bool FormBuilder::alongDimension(std::optional<size_t> dimension) {
  if (!dimension)
    return false;
  auto axes = addAxes(Kind::Each, sizes.size());
  form.axes[axes[*dimension]] = {Kind::Whole, "along", {}};
  for (unsigned number = 0; number < numOperands(); ++number)
    if (!operandDims(number, axes))
      return false;
  return resultDims(axes);
}

/// The only dimension in which operands have other sizes than the result, if
/// there they have its size together.
static std::optional<size_t> findConcatenated(const Instruction &instruction,
                                              ArrayRef<int64_t> sizes) {
  std::optional<size_t> found;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    int64_t sum = 0;
    bool isSame = true;
    for (const Instruction *operand : instruction.operands) {
      ArrayRef<int64_t> ofOperand = operand->shape->dimensions();
      if (ofOperand.size() != sizes.size())
        return std::nullopt;
      isSame = isSame && ofOperand[dim] == sizes[dim];
      if (ofOperand[dim] > sizes[dim] - sum)
        sum = sizes[dim] + 1;
      else
        sum += ofOperand[dim];
    }
    if (isSame)
      continue;
    if (found || sum != sizes[dim])
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Whether the TPU compiler takes pieces that lie one behind the other in
/// memory as a whole, `sizes`, of which they are parts along the most major
/// dimension.
static bool isConcatBitcast(const Instruction &instruction,
                            ArrayRef<int64_t> sizes) {
  if (instruction.opcode != Opcode::CustomCall ||
      getString(instruction.getAttribute("custom_call_target")) !=
          "ConcatBitcast")
    return false;
  auto dim = findConcatenated(instruction, sizes);
  auto isMajor = [&](const Shape &shape) {
    return shape.isArray() && shape.rank() > 0 &&
           static_cast<size_t>(shape.layoutOrDefault().minorToMajor.back()) ==
               dim;
  };
  return isMajor(*instruction.shape) &&
         llvm::all_of(instruction.operands, [&](const Instruction *operand) {
           return isMajor(*operand->shape);
         });
}

bool FormBuilder::concatenate() {
  form.name = "concatenate";
  if (instruction.opcode == Opcode::Concatenate) {
    auto named = namedDimension();
    return named == findConcatenated(instruction, sizes) &&
           alongDimension(named);
  }
  for (const Attribute &attribute : instruction.attributes)
    form.said.push_back(attribute.name);
  return isConcatBitcast(instruction, sizes) &&
         alongDimension(findConcatenated(instruction, sizes));
}

std::optional<size_t>
tessera::getConcatenatedDimension(const Instruction &instruction,
                                  const Shape &result) {
  if (instruction.opcode != Opcode::Concatenate &&
      instruction.opcode != Opcode::CustomCall)
    return std::nullopt;
  std::optional<AxisForm> form = getAxisForm(instruction, result);
  for (size_t dim = 0; form && dim < form->result.size(); ++dim)
    if (form->axes[form->result[dim].axis].kind == Kind::Whole)
      return dim;
  return std::nullopt;
}

/// The axes of a slice of `part` out of `whole`: those that it has all of, and
/// others, with the operands from `starts` on as where it begins.
static std::optional<llvm::SmallVector<unsigned, 6>>
getSliceAxes(AxisForm &form, const Instruction &instruction,
             ArrayRef<int64_t> whole, ArrayRef<int64_t> part, unsigned starts) {
  if (whole.size() != part.size() ||
      instruction.operands.size() != starts + whole.size())
    return std::nullopt;
  llvm::SmallVector<unsigned, 6> axes;
  for (size_t dim = 0; dim < whole.size(); ++dim) {
    axes.push_back(form.axes.size());
    unsigned start = starts + dim;
    if (instruction.operands[start]->shape->rank() != 0)
      return std::nullopt;
    if (whole[dim] == part[dim])
      form.axes.push_back({Kind::Each, "", {}});
    else
      form.axes.push_back({Kind::Whole, "from", {start}});
  }
  return axes;
}

bool FormBuilder::dynamicSlice() {
  if (numOperands() == 0 || dims("dynamic_slice_sizes") != Dims(sizes))
    return false;
  auto axes = getSliceAxes(form, instruction, operandSizes(0), sizes, 1);
  return axes && operandDims(0, *axes) && resultDims(*axes);
}

bool FormBuilder::dynamicUpdateSlice() {
  if (numOperands() < 2)
    return false;
  auto axes =
      getSliceAxes(form, instruction, operandSizes(0), operandSizes(1), 2);
  return axes && operandDims(0, *axes) && operandDims(1, *axes) &&
         resultDims(*axes);
}

bool FormBuilder::iota() {
  std::optional<int64_t> along = getInt(attribute("iota_dimension"));
  if (!along || !areDimensions({*along}, sizes.size()))
    return false;
  auto axes = addAxes(Kind::Each, sizes.size());
  form.axes[axes[*along]] = {Kind::Whole, "count", {}};
  return resultDims(axes);
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

/// The axes of indices: places along a vector, and others that `batch` has.
bool FormBuilder::indexAxes(int64_t vector, Kind batch,
                            llvm::SmallVectorImpl<unsigned> &axes) {
  ArrayRef<int64_t> indices = operandSizes(1);
  if (vector < 0 || vector > static_cast<int64_t>(indices.size()))
    return false;
  // The number of one says in which order updates come; the vector has none.
  for (int64_t dim = 0; dim < static_cast<int64_t>(indices.size()); ++dim)
    axes.push_back(
        addAxis(batch, "index " + llvm::Twine(dim - int64_t(dim > vector))));
  if (vector < static_cast<int64_t>(indices.size()))
    form.axes[axes[vector]] = {Kind::Whole, "vector", {}};
  else
    addAxis(Kind::Whole, "vector");
  return true;
}

/// The axes of the operand of a gather or scatter, of which `slice` is taken
/// at each index: batches are those of the indices.
std::optional<llvm::SmallVector<unsigned, 6>>
FormBuilder::indexedAxes(const IndexedDims &dims, ArrayRef<int64_t> slice,
                         ArrayRef<unsigned> ofIndices) {
  ArrayRef<int64_t> from = operandSizes(0);
  llvm::SmallVector<unsigned, 6> axes;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    const int64_t *batch = llvm::find(dims.operandBatch, dim);
    if (batch != dims.operandBatch.end()) {
      int64_t at = dims.indicesBatch[batch - dims.operandBatch.begin()];
      axes.push_back(ofIndices[at]);
      continue;
    }
    const int64_t *mapped = llvm::find(dims.map, dim);
    bool isMapped = mapped != dims.map.end();
    bool isCollapsed = llvm::is_contained(dims.collapsed, dim);
    bool isEach = !isMapped && slice[dim] == from[dim] && !isCollapsed;
    if (isCollapsed && slice[dim] != 1)
      return std::nullopt;
    std::string place =
        isMapped ? llvm::itostr(mapped - dims.map.begin()) : "none";
    axes.push_back(
        addAxis(isEach ? Kind::Each : Kind::Whole, "indexed by " + place));
  }
  return axes;
}

/// Whether dimensions are there, and there once.
bool FormBuilder::fit(const IndexedDims &dims, ArrayRef<int64_t> indexed,
                      ArrayRef<int64_t> indices, size_t numOffsets) {
  Dims gone(dims.collapsed);
  llvm::append_range(gone, dims.operandBatch);
  auto rank = static_cast<int64_t>(indices.size());
  int64_t vectorSize = dims.vector < rank ? indices[dims.vector] : 1;
  return areDimensions(gone, indexed.size()) &&
         areDimensions(dims.map, indexed.size()) &&
         areDimensions(dims.indicesBatch, indices.size()) &&
         dims.operandBatch.size() == dims.indicesBatch.size() &&
         !llvm::is_contained(dims.indicesBatch, dims.vector) &&
         numOffsets + gone.size() == indexed.size() &&
         static_cast<int64_t>(dims.map.size()) == vectorSize;
}

/// The axes of what is taken or put: dimensions `offsets` are those of the
/// operand that are not gone, the others those of the indices.
std::optional<llvm::SmallVector<unsigned, 6>>
FormBuilder::sliceAxes(const IndexedDims &dims, ArrayRef<int64_t> offsets,
                       size_t rank, ArrayRef<unsigned> ofOperand,
                       ArrayRef<unsigned> ofIndices) {
  Dims sorted(offsets);
  llvm::sort(sorted);
  bool hasVector = dims.vector < static_cast<int64_t>(ofIndices.size());
  if (!areDimensions(offsets, rank) ||
      rank != ofIndices.size() - hasVector + offsets.size())
    return std::nullopt;
  llvm::SmallVector<unsigned, 6> axes(rank);
  size_t next = 0;
  for (auto [dim, axis] : llvm::enumerate(ofOperand))
    if (!llvm::is_contained(dims.collapsed, dim) &&
        !llvm::is_contained(dims.operandBatch, dim))
      axes[sorted[next++]] = axis;
  next = 0;
  for (size_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(sorted, dim))
      continue;
    next += static_cast<int64_t>(next) == dims.vector;
    axes[dim] = ofIndices[next++];
  }
  return axes;
}

bool FormBuilder::gather() {
  Dims offsets = dims("offset_dims"), slice = dims("slice_sizes");
  IndexedDims indexed{dims("collapsed_slice_dims"), dims("start_index_map"),
                      dims("operand_batching_dims"),
                      dims("start_indices_batching_dims"),
                      getInt(attribute("index_vector_dim")).value_or(-1)};
  llvm::SmallVector<unsigned, 6> ofIndices;
  if (numOperands() != 2 || slice.size() != operandSizes(0).size() ||
      !indexAxes(indexed.vector, Kind::Each, ofIndices) ||
      !fit(indexed, operandSizes(0), operandSizes(1), offsets.size()))
    return false;
  auto ofOperand = indexedAxes(indexed, slice, ofIndices);
  if (!ofOperand)
    return false;
  auto ofResult =
      sliceAxes(indexed, offsets, sizes.size(), *ofOperand, ofIndices);
  return ofResult && operandDims(0, *ofOperand) && operandDims(1, ofIndices) &&
         resultDims(*ofResult);
}

bool FormBuilder::scatter() {
  Dims offsets = dims("update_window_dims");
  IndexedDims indexed{
      dims("inserted_window_dims"), dims("scatter_dims_to_operand_dims"),
      dims("input_batching_dims"), dims("scatter_indices_batching_dims"),
      getInt(attribute("index_vector_dim")).value_or(-1)};
  llvm::SmallVector<unsigned, 6> ofIndices;
  // Several arrays at once stay together as they are.
  if (numOperands() != 3 || operandSizes(0) != sizes ||
      !indexAxes(indexed.vector, Kind::Whole, ofIndices) ||
      !fit(indexed, sizes, operandSizes(1), offsets.size()))
    return false;
  for (int64_t dim : indexed.indicesBatch)
    form.axes[ofIndices[dim]] = {Kind::Each, "", {}};
  // What an update covers of each dimension.
  ArrayRef<int64_t> updates = operandSizes(2);
  Dims slice(sizes.size(), 1), sorted(offsets);
  llvm::sort(sorted);
  size_t next = 0;
  if (!areDimensions(sorted, updates.size()))
    return false;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (!llvm::is_contained(indexed.collapsed, dim) &&
        !llvm::is_contained(indexed.operandBatch, dim))
      slice[dim] = updates[sorted[next++]];
  auto ofOperand = indexedAxes(indexed, slice, ofIndices);
  if (!ofOperand)
    return false;
  auto ofUpdates =
      sliceAxes(indexed, offsets, updates.size(), *ofOperand, ofIndices);
  return ofUpdates && operandDims(0, *ofOperand) && operandDims(1, ofIndices) &&
         operandDims(2, *ofUpdates) && resultDims(*ofOperand);
}

//===----------------------------------------------------------------------===//
// Between devices
//===----------------------------------------------------------------------===//

/// What does the same to each element of arrays of one size.
bool FormBuilder::everywhere() {
  auto axes = addAxes(Kind::Each, sizes.size());
  return numOperands() == 1 && operandDims(0, axes) && resultDims(axes);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

bool FormBuilder::buildForOpcode() {
  switch (instruction.opcode) {
  case Opcode::Dot:
    return dot();
  case Opcode::Convolution:
    return convolution();
  case Opcode::Reduce:
    return reduce();
  case Opcode::ReduceWindow:
    return reduceWindow();
  case Opcode::SelectAndScatter:
    return selectAndScatter();
  case Opcode::Pad:
    return pad();
  case Opcode::DynamicSlice:
    return dynamicSlice();
  case Opcode::DynamicUpdateSlice:
    return dynamicUpdateSlice();
  case Opcode::Iota:
    return iota();
  case Opcode::Gather:
    return gather();
  case Opcode::Scatter:
    return scatter();
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
    return everywhere();
  case Opcode::Concatenate:
  case Opcode::CustomCall:
    return concatenate();
  case Opcode::Sort:
    return alongDimension(namedDimension());
  case Opcode::AllGather:
  case Opcode::AllGatherStart:
  case Opcode::ReduceScatter:
    return numOperands() == 1 && alongDimension(namedDimension());
  default:
    return false;
  }
}

std::optional<AxisForm> FormBuilder::build() {
  bool areStatic =
      llvm::all_of(instruction.operands, [](const Instruction *operand) {
        return operand->shape->isStaticArray();
      });
  if (!areStatic || !buildForOpcode())
    return std::nullopt;
  return std::move(form);
}

/// The array, or the first of those that all have its sizes.
static const Shape *getOneShape(const Shape &result) {
  if (!result.isTuple())
    return result.isStaticArray() ? &result : nullptr;
  const Shape *first = nullptr;
  for (const Shape &element : result.elements()) {
    if (!element.isStaticArray())
      return nullptr;
    first = first ? first : &element;
    if (element.dimensions() != first->dimensions())
      return nullptr;
  }
  return first;
}

std::optional<AxisForm> tessera::getAxisForm(const Instruction &instruction,
                                             const Shape &result) {
  const Shape *shape = getOneShape(result);
  if (!shape)
    return std::nullopt;
  return FormBuilder(instruction, *shape).build();
}
