//===- RandomPrograms.cpp - Random programs on laid-out tensors -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types and values of programs, and programs as a whole.
//
//===----------------------------------------------------------------------===//

#include "ProgramMaker.h"

#include "../Layout/TilingModel.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/AxisList.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

using llvm::formatv;
using llvm::SmallVector;

/// Of an array, padding included.
static constexpr int64_t kMaxPositions = 600;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ArrayType ArrayType::getStatic(llvm::ArrayRef<int64_t> dims,
                               std::optional<Layout> layout) {
  return {SmallVector<int64_t>(dims), SmallVector<bool>(dims.size(), false),
          std::move(layout)};
}

int64_t ArrayType::numElements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

ArrayType ArrayType::permuted(llvm::ArrayRef<int64_t> order) const {
  ArrayType type;
  for (int64_t dim : order) {
    type.dims.push_back(dims[dim]);
    type.isDynamic.push_back(isDynamic[dim]);
  }
  return type;
}

std::string ProgramMaker::toText(const ArrayType &type) const {
  SmallVector<int64_t> dims = type.dims;
  for (auto [dim, isDynamic] : llvm::zip_equal(dims, type.isDynamic))
    if (isDynamic)
      dim = tessera::kDynamic;
  Attribute encoding;
  if (type.layout)
    encoding = LayoutAttr::get(context, *type.layout);
  std::string text;
  llvm::raw_string_ostream(text) << RankedTensorType::get(
      dims, tessera::getElementType(context, program.type), encoding);
  return text;
}

/// Whether arrays of `dims`, kDynamic where unknown, may have the layout.
bool ProgramMaker::isLegal(const Layout &layout,
                           llvm::ArrayRef<int64_t> dims) const {
  if (llvm::Error error = verifyLayout(layout, program.type, dims)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  llvm::Expected<AxisList> axes = AxisList::get(dims, layout);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return false;
  }
  // What merges axes needs all sizes to be a memref.
  bool mergesAxes = llvm::any_of(layout.tiles, [](const Tile &tile) {
    return llvm::is_contained(tile.sizes, Tile::kCombine);
  });
  return !mergesAxes || axes->isStatic();
}

/// A random layout, or nothing.
std::optional<Layout> ProgramMaker::makeLayout(const ArrayType &type) {
  while (!random.oneIn(8)) {
    SmallVector<int64_t> dims = type.dims;
    SmallVector<int64_t> bounds(dims.size(), tessera::kDynamic);
    bool isBounded = random.oneIn(2);
    // Bounds must leave room for a layout of at most as many positions.
    int64_t positions = type.numElements();
    for (auto [dim, bound, isDynamic] :
         llvm::zip_equal(dims, bounds, type.isDynamic)) {
      if (!isDynamic || !isBounded)
        continue;
      bound = dim + random.number(0, 4);
      if (dim == 0 || positions / dim * bound > 300)
        bound = dim;
      positions = dim == 0 ? 0 : positions / dim * bound;
      dim = bound;
    }
    Layout layout = random.layout(dims, program.type);
    layout.memorySpace = random.oneIn(3) ? random.number(1, 3) : 0;
    if (type.hasDynamicDims()) {
      if (isBounded)
        layout.bounds.assign(bounds.begin(), bounds.end());
      for (auto [dim, isDynamic] : llvm::zip_equal(dims, type.isDynamic))
        if (isDynamic)
          dim = tessera::kDynamic;
    }
    if (isLegal(layout, dims))
      return layout;
  }
  return std::nullopt;
}

ArrayType ProgramMaker::makeRelaidOut(ArrayType type) {
  type.layout = makeLayout(type);
  return type;
}

/// A static type of any rank and layout.
ArrayType ProgramMaker::makeSmallType(int64_t maxElements) {
  ArrayType type;
  do
    type = ArrayType::getStatic(random.dimensions());
  while (type.numElements() > maxElements);
  return makeRelaidOut(type);
}

/// All dimensions in some order.
SmallVector<int64_t> ProgramMaker::makeOrder(int64_t rank) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t i = rank - 1; i > 0; --i)
    std::swap(order[i], order[random.number(0, i)]);
  return order;
}

/// Random dimensions with `count` elements.
SmallVector<int64_t> ProgramMaker::makeFactors(int64_t count) {
  SmallVector<int64_t> dims;
  for (int64_t rank = random.number(1, 4); rank > 1; --rank) {
    SmallVector<int64_t> divisors;
    for (int64_t d = 1; d <= count; ++d)
      if (count % d == 0)
        divisors.push_back(d);
    dims.push_back(divisors.empty()
                       ? random.number(0, 3)
                       : divisors[random.number(0, divisors.size() - 1)]);
    count = dims.back() == 0 ? 0 : count / dims.back();
  }
  dims.push_back(count);
  return dims;
}

std::vector<int64_t> ProgramMaker::getPositions(const ArrayType &type) const {
  Layout layout = type.layout.value_or(Layout::descending(type.rank()));
  SmallVector<int64_t> sizes = type.dims;
  for (auto [size, bound] : llvm::zip(sizes, layout.bounds))
    if (bound != tessera::kDynamic)
      size = bound;
  std::vector<int64_t> positions;
  for (llvm::ArrayRef<int64_t> index : allIndices(type.dims))
    positions.push_back(TiledElement(sizes, layout, index).position());
  return positions;
}

Shape ProgramMaker::getShape(const ArrayType &type) const {
  return Shape::array(program.type, type.dims, type.layout);
}

//===----------------------------------------------------------------------===//
// Values in scope
//===----------------------------------------------------------------------===//

/// What was made last is picked more often than the rest.
Tensor ProgramMaker::pick() {
  if (random.oneIn(4))
    return scope.back();
  return scope[random.number(0, scope.size() - 1)];
}

/// Another tensor in scope with the dimensions of `type`.
std::optional<Tensor> ProgramMaker::pickLike(const ArrayType &type) {
  std::vector<Tensor> found;
  for (const Tensor &tensor : scope)
    if (tensor.type.dims == type.dims &&
        tensor.type.isDynamic == type.isDynamic)
      found.push_back(tensor);
  if (found.empty())
    return std::nullopt;
  return found[random.number(0, found.size() - 1)];
}

std::optional<Tensor> ProgramMaker::pickNonEmpty() {
  Tensor tensor = pick();
  if (tensor.type.numElements() == 0)
    return std::nullopt;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Texts and steps
//===----------------------------------------------------------------------===//

int64_t tessera::rowMajor(llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [dim, i] : llvm::zip_equal(dims, index))
    position = position * dim + i;
  return position;
}

SmallVector<int64_t> tessera::indexOf(llvm::ArrayRef<int64_t> dims,
                                      int64_t position) {
  SmallVector<int64_t> index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = position % dims[d];
    position /= dims[d];
  }
  return index;
}

TensorValue tessera::copyOf(unsigned source) {
  return
      [source](const ProgramState &state) { return state.tensors.at(source); };
}

SmallVector<int64_t> tessera::evaluate(const ProgramState &state,
                                       llvm::ArrayRef<Scalar> scalars) {
  return llvm::map_to_vector(
      scalars, [&](Scalar scalar) { return state.scalars.at(scalar.number); });
}

std::string tessera::join(llvm::ArrayRef<int64_t> numbers) {
  return llvm::join(
      llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }),
      ", ");
}

std::string tessera::joinNames(llvm::ArrayRef<Scalar> scalars) {
  return llvm::join(llvm::map_range(scalars, [](Scalar s) { return s.name(); }),
                    ", ");
}

void tessera::runAll(const Steps &steps, ProgramState &state) {
  for (const Step &step : steps)
    step(state);
}

Tensor ProgramMaker::define(const ArrayType &type, const llvm::Twine &operation,
                            TensorValue value) {
  Tensor tensor{nextNumber(), type};
  emit(tensor.name() + " = " + operation);
  unsigned number = tensor.number;
  steps.push_back([value, number](ProgramState &state) {
    Elements elements = value(state);
    state.tensors[number] = std::move(elements);
  });
  return tensor;
}

Scalar ProgramMaker::defineScalar(const llvm::Twine &operation,
                                  ScalarValue value) {
  Scalar scalar{nextNumber()};
  emit(scalar.name() + " = " + operation);
  unsigned number = scalar.number;
  steps.push_back([value, number](ProgramState &state) {
    int64_t result = value(state);
    state.scalars[number] = result;
  });
  return scalar;
}

/// The operands that are sizes of dynamic dimensions.
std::string ProgramMaker::dynamicSizes(const ArrayType &type) {
  SmallVector<Scalar> sizes;
  for (auto [dim, isDynamic] : llvm::zip_equal(type.dims, type.isDynamic))
    if (isDynamic)
      sizes.push_back(constant(dim));
  return joinNames(sizes);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Scalar ProgramMaker::constant(int64_t value) {
  return defineScalar(formatv("arith.constant {0} : index", value).str(),
                      [value](const ProgramState &) { return value; });
}

Scalar ProgramMaker::elementConstant(uint64_t value) {
  int64_t result = static_cast<int64_t>(value & mask());
  std::string shown =
      elementBits() == 1
          ? (result ? "true" : "false")
          : formatv("{0} : {1}", llvm::SignExtend64(result, elementBits()),
                    element())
                .str();
  return defineScalar("arith.constant " + shown,
                      [result](const ProgramState &) { return result; });
}

/// A constant, or what is in a tensor.
Scalar ProgramMaker::anyElement() {
  std::optional<Tensor> tensor;
  if (!random.oneIn(3))
    tensor = pickNonEmpty();
  return tensor ? extract(*tensor) : elementConstant(random.next());
}

/// Some index below `size`: a constant, or what a loop variable makes.
Scalar ProgramMaker::anyIndex(int64_t size) {
  if (indices.empty() || random.oneIn(3))
    return constant(random.number(0, size - 1));
  Scalar variable = indices[random.number(0, indices.size() - 1)];
  Scalar limit = constant(size);
  return defineScalar(
      formatv("arith.remui {0}, {1} : index", variable.name(), limit.name())
          .str(),
      [variable, size](const ProgramState &state) {
        return state.scalars.at(variable.number) % size;
      });
}

SmallVector<Scalar> ProgramMaker::anyIndices(llvm::ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return anyIndex(dim); });
}

/// An element of a tensor that has one.
Scalar ProgramMaker::extract(const Tensor &source) {
  SmallVector<int64_t> dims = source.type.dims;
  SmallVector<Scalar> index = anyIndices(dims);
  unsigned from = source.number;
  return defineScalar(formatv("tensor.extract {0}[{1}] : {2}", source.name(),
                              joinNames(index), toText(source.type))
                          .str(),
                      [=](const ProgramState &state) {
                        int64_t position =
                            rowMajor(dims, evaluate(state, index));
                        return state.tensors.at(from)[position];
                      });
}

/// A bit that depends on data, or on the iteration.
Scalar ProgramMaker::condition() {
  Scalar value = anyElement();
  if (elementBits() == 1)
    return value;
  return defineScalar(
      formatv("arith.trunci {0} : {1} to i1", value.name(), element()).str(),
      [value](const ProgramState &state) {
        return state.scalars.at(value.number) & 1;
      });
}

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

ProgramMaker::ProgramMaker(uint64_t seed, MLIRContext *context, int number,
                           const ProgramOptions &options)
    : random(seed, kMaxPositions), context(context), number(number),
      options(options) {
  static constexpr PrimitiveType kTypes[] = {
      PrimitiveType::Pred, PrimitiveType::S4, PrimitiveType::S8,
      PrimitiveType::S32, PrimitiveType::S64};
  program.type = kTypes[random.number(0, std::size(kTypes) - 1)];
}

/// Something that reads where elements are in memory.
void ProgramMaker::addReader() {
  using Adder = void (ProgramMaker::*)();
  static constexpr Adder kReaders[] = {&ProgramMaker::addBitcast,
                                       &ProgramMaker::addBitcast,
                                       &ProgramMaker::addRelayout,
                                       &ProgramMaker::addReshape,
                                       &ProgramMaker::addAsynchronousCopy,
                                       &ProgramMaker::addExtractSlice,
                                       &ProgramMaker::addInsertSlice,
                                       &ProgramMaker::addCollapse,
                                       &ProgramMaker::addExpand,
                                       &ProgramMaker::addCast,
                                       &ProgramMaker::addPad,
                                       &ProgramMaker::addConcat};
  (this->*kReaders[random.number(0, std::size(kReaders) - 1)])();
}

/// Each statement has random numbers of its own, so that it can be left out.
void ProgramMaker::addStatement() {
  uint64_t name = random.next();
  program.statements.push_back(name);
  if (options.skipped.count(name))
    return;
  RandomLayouts outer =
      std::exchange(random, RandomLayouts(name, kMaxPositions));
  addAnyStatement();
  random = outer;
}

void ProgramMaker::addAnyStatement() {
  using Adder = void (ProgramMaker::*)();
  static constexpr Adder kSimple[] = {
      &ProgramMaker::addElementwise, &ProgramMaker::addArith,
      &ProgramMaker::addIdentity,    &ProgramMaker::addInsert,
      &ProgramMaker::addInsert,      &ProgramMaker::addTranspose,
      &ProgramMaker::addReduce,      &ProgramMaker::addBroadcast,
      &ProgramMaker::addReverse,     &ProgramMaker::addGather,
      &ProgramMaker::addSelect,      &ProgramMaker::addDim,
      &ProgramMaker::addLinearize,   &ProgramMaker::addDelinearize,
      &ProgramMaker::addStorageSize};
  static constexpr Adder kNested[] = {
      &ProgramMaker::addFor,   &ProgramMaker::addIf,
      &ProgramMaker::addWhile, &ProgramMaker::addIndexSwitch,
      &ProgramMaker::addCall,  &ProgramMaker::addBranches};
  int64_t kind = random.number(0, depth < 3 ? 11 : 8);
  if (kind > 8)
    return (this->*kNested[random.number(0, std::size(kNested) - 1)])();
  if (kind < 2)
    return addSourceAndReader();
  if (kind < 5)
    return addReader();
  (this->*kSimple[random.number(0, std::size(kSimple) - 1)])();
}

/// The array of the next bytes of a buffer, as a memref of which it gives the
/// type.
std::string ProgramMaker::addView(RandomProgram::Array &array,
                                  llvm::StringRef buffer, int64_t &offset) {
  array.offset = offset;
  std::string at = constant(offset).name();
  std::string shape;
  int64_t count = 1;
  for (int64_t dim : array.dims) {
    shape += std::to_string(dim) + "x";
    count *= dim;
  }
  offset += count * getByteWidth(program.type);
  std::string view = formatv("memref<{0}{1}>", shape, element());
  emit(formatv("{1}{0} = memref.view {1}[{2}][] : memref<{3}xi8> to {4}",
               array.number, buffer, at, kProgramBytes, view));
  return view;
}

void ProgramMaker::addInput(int64_t &offset) {
  RandomProgram::Array array;
  array.dims = random.dimensions();
  array.number = nextNumber();
  std::string view = addView(array, "%input", offset);
  Tensor tensor{array.number, ArrayType::getStatic(array.dims)};
  emit(formatv("{0} = bufferization.to_tensor %input{1} restrict : {2} to {3}",
               tensor.name(), array.number, view, toText(tensor.type)));
  program.inputs.push_back(array);
  scope.push_back(tensor);
}

void ProgramMaker::addOutput(const Tensor &tensor, int64_t &offset) {
  Tensor plain = convert(tensor, tensor.type.plain());
  ArrayType known = ArrayType::getStatic(tensor.type.dims);
  if (plain.type.hasDynamicDims())
    plain = castTo(plain, known);
  RandomProgram::Array array;
  array.dims = known.dims;
  array.number = plain.number;
  std::string view = addView(array, "%output", offset);
  emit(formatv("bufferization.materialize_in_destination {0} in restrict "
               "writable %output{1} : ({2}, {3}) -> ()",
               plain.name(), plain.number, toText(known), view));
  program.outputs.push_back(array);
}

RandomProgram ProgramMaker::make() {
  int64_t inputBytes = 0, outputBytes = 0;
  for (int i = 0; i < 2; ++i)
    addInput(inputBytes);
  for (int64_t count = random.number(3, 10); count > 0; --count)
    addStatement();
  // The last tensors go out, in row-major order.
  std::vector<Tensor> last(scope.end() - std::min<size_t>(scope.size(), 4),
                           scope.end());
  for (const Tensor &tensor : last)
    addOutput(tensor, outputBytes);
  program.steps = std::move(steps);
  program.entry = "run" + std::to_string(number);
  program.text = formatv("{0}func.func @{1}(%input: memref<{2}xi8>, %output: "
                         "memref<{2}xi8>) {{\n{3}return\n}\n",
                         functions, program.entry, kProgramBytes, text);
  return std::move(program);
}

RandomProgram tessera::makeRandomProgram(uint64_t seed, MLIRContext *context,
                                         int number,
                                         const ProgramOptions &options) {
  return ProgramMaker(seed, context, number, options).make();
}
