//===- RandomPrograms.cpp - Random programs on tensors with layouts -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPrograms.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/IndexUtil.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

using llvm::formatv;
using llvm::SmallVector;

namespace {
/// The type of a tensor, with the sizes that it has at run time.
struct ArrayType {
  SmallVector<int64_t> dims;
  SmallVector<bool> isDynamic;
  std::optional<Layout> layout;

  bool hasDynamicDims() const { return llvm::is_contained(isDynamic, true); }
  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
};

/// A value of the program; tensors and scalars are numbered together.
struct Tensor {
  unsigned number = 0;
  ArrayType type;
  std::string name() const { return "%v" + std::to_string(number); }
};

struct Scalar {
  unsigned number = 0;
  std::string name() const { return "%v" + std::to_string(number); }
};

using TensorValue = std::function<Elements(const ProgramState &)>;
using ScalarValue = std::function<int64_t(const ProgramState &)>;

class Maker {
public:
  Maker(RandomLayouts &random, MLIRContext *context, int number)
      : random(random), context(context), number(number) {
    static constexpr PrimitiveType kTypes[] = {
        PrimitiveType::S4, PrimitiveType::S8, PrimitiveType::S32,
        PrimitiveType::S64};
    program.type = kTypes[random.number(0, 3)];
  }

  RandomProgram make();

private:
  // Types.
  std::string element() const {
    return "i" + std::to_string(getBitWidth(program.type));
  }
  std::string toText(const ArrayType &type) const;
  ArrayType makePlain(const ArrayType &type) const;
  std::optional<Layout> makeLayout(const ArrayType &type);
  ArrayType makeRelaidOut(ArrayType type);
  bool isLegal(const Layout &layout, ArrayRef<int64_t> dims) const;

  // Values.
  unsigned nextNumber() { return numValues++; }
  Tensor pick() { return scope[random.number(0, scope.size() - 1)]; }
  std::optional<Tensor> pickLike(const ArrayType &type);
  uint64_t mask() const {
    int64_t bits = getBitWidth(program.type);
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  }

  // Statements.
  void emit(const llvm::Twine &line) { text += line.str() + "\n"; }
  /// `%v = operation`, and what it computes.
  Tensor define(const ArrayType &type, const llvm::Twine &operation,
                TensorValue value);
  Scalar defineScalar(const llvm::Twine &operation, ScalarValue value);
  Scalar constant(int64_t value, llvm::StringRef type = "index");
  Tensor relayout(Tensor source, const ArrayType &type,
                  llvm::StringRef mnemonic = "relayout");
  Tensor convert(Tensor source, const ArrayType &type);
  Tensor empty(const ArrayType &type);
  Scalar extract(const Tensor &source);
  Scalar condition();
  Scalar anyIndex(int64_t size);

  void addStatement();
  void addRelayout();
  void addAsynchronousCopy();
  void addReshape();
  void addBitcast();
  void addElementwise();
  void addTranspose();
  void addReduce();
  void addGather();
  void addInsert();
  void addSelect();
  void addCast();
  void addExtractSlice();
  void addInsertSlice();
  void addSplit();
  void addFor();
  void addIf();
  void addWhile();
  void addCall();

  /// Emits `count` statements, then `finish`; returns what they do.
  Steps makeBlock(int64_t count, llvm::function_ref<void()> finish);

  RandomLayouts &random;
  MLIRContext *context;
  int number;
  RandomProgram program;
  std::string text;      ///< Of the function that is being made.
  std::string functions; ///< Those that it calls.
  unsigned numValues = 0, numFunctions = 0, depth = 0;
  std::vector<Tensor> scope;
  std::vector<Scalar> indices; ///< Loop variables.
  Steps steps;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string Maker::toText(const ArrayType &type) const {
  SmallVector<int64_t> dims = type.dims;
  for (auto [dim, isDynamic] : llvm::zip_equal(dims, type.isDynamic))
    if (isDynamic)
      dim = kDynamic;
  Attribute encoding;
  if (type.layout)
    encoding = LayoutAttr::get(context, *type.layout);
  std::string text;
  llvm::raw_string_ostream(text) << RankedTensorType::get(
      dims, tessera::getElementType(context, program.type), encoding);
  return text;
}

ArrayType Maker::makePlain(const ArrayType &type) const {
  return {type.dims, type.isDynamic, std::nullopt};
}

/// Whether arrays of `dims`, kDynamic where unknown, may have the layout.
bool Maker::isLegal(const Layout &layout, ArrayRef<int64_t> dims) const {
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
std::optional<Layout> Maker::makeLayout(const ArrayType &type) {
  while (!random.oneIn(8)) {
    SmallVector<int64_t> dims = type.dims;
    SmallVector<int64_t> bounds(dims.size(), kDynamic);
    bool isBounded = random.oneIn(2);
    // Bounds must leave room for a layout of at most `maxPlaces`.
    int64_t places = type.numElements();
    for (auto [dim, bound, isDynamic] :
         llvm::zip_equal(dims, bounds, type.isDynamic)) {
      if (!isDynamic || !isBounded)
        continue;
      bound = dim + random.number(0, 4);
      if (dim == 0 || places / dim * bound > 300)
        bound = dim;
      places = dim == 0 ? 0 : places / dim * bound;
      dim = bound;
    }
    Layout layout = random.layout(dims, program.type);
    layout.memorySpace = random.oneIn(3) ? random.number(1, 3) : 0;
    if (type.hasDynamicDims()) {
      if (isBounded)
        layout.bounds.assign(bounds.begin(), bounds.end());
      for (auto [dim, isDynamic] : llvm::zip_equal(dims, type.isDynamic))
        if (isDynamic)
          dim = kDynamic;
    }
    if (isLegal(layout, dims))
      return layout;
  }
  return std::nullopt;
}

ArrayType Maker::makeRelaidOut(ArrayType type) {
  type.layout = makeLayout(type);
  return type;
}

/// Another tensor in scope with the dimensions of `type`.
std::optional<Tensor> Maker::pickLike(const ArrayType &type) {
  std::vector<Tensor> found;
  for (const Tensor &tensor : scope)
    if (tensor.type.dims == type.dims &&
        tensor.type.isDynamic == type.isDynamic)
      found.push_back(tensor);
  if (found.empty())
    return std::nullopt;
  return found[random.number(0, found.size() - 1)];
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Tensor Maker::define(const ArrayType &type, const llvm::Twine &operation,
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

Scalar Maker::defineScalar(const llvm::Twine &operation, ScalarValue value) {
  Scalar scalar{nextNumber()};
  emit(scalar.name() + " = " + operation);
  unsigned number = scalar.number;
  steps.push_back([value, number](ProgramState &state) {
    int64_t result = value(state);
    state.scalars[number] = result;
  });
  return scalar;
}

static TensorValue copyOf(unsigned source) {
  return
      [source](const ProgramState &state) { return state.tensors.at(source); };
}

Scalar Maker::constant(int64_t value, llvm::StringRef type) {
  return defineScalar(formatv("arith.constant {0} : {1}", value, type).str(),
                      [value](const ProgramState &) { return value; });
}

Tensor Maker::relayout(Tensor source, const ArrayType &type,
                       llvm::StringRef mnemonic) {
  return define(type,
                formatv("tessera.{0} {1} : {2} to {3}", mnemonic, source.name(),
                        toText(source.type), toText(type))
                    .str(),
                copyOf(source.number));
}

/// `source` in the layout of `type`.
Tensor Maker::convert(Tensor source, const ArrayType &type) {
  if (toText(source.type) == toText(type))
    return source;
  return relayout(source, type);
}

Tensor Maker::empty(const ArrayType &type) {
  std::string sizes;
  for (auto [dim, isDynamic] : llvm::zip_equal(type.dims, type.isDynamic))
    if (isDynamic)
      sizes += (sizes.empty() ? "" : ", ") + constant(dim).name();
  llvm::StringRef dialect =
      !type.layout || random.oneIn(2) ? "tensor" : "tessera";
  return define(
      type, formatv("{0}.empty({1}) : {2}", dialect, sizes, toText(type)).str(),
      [](const ProgramState &) { return Elements(); });
}

/// Some index below `size`: a constant, or what a loop variable makes.
Scalar Maker::anyIndex(int64_t size) {
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

/// The number of an element in row-major order.
static int64_t rowMajor(ArrayRef<int64_t> dims, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [dim, i] : llvm::zip_equal(dims, index))
    position = position * dim + i;
  return position;
}

/// The elements of an array of `sizes` with its dimensions in `order`.
static Elements transpose(const Elements &from, ArrayRef<int64_t> sizes,
                          ArrayRef<int64_t> order) {
  Elements to;
  SmallVector<int64_t> index(sizes.size());
  for (size_t n = 0; n < from.size(); ++n) {
    int64_t rest = n;
    for (int64_t dim : llvm::reverse(order)) {
      index[dim] = rest % sizes[dim];
      rest /= sizes[dim];
    }
    to.push_back(from[rowMajor(sizes, index)]);
  }
  return to;
}

/// The indices that the scalars hold.
static SmallVector<int64_t> evaluate(const ProgramState &state,
                                     ArrayRef<Scalar> scalars) {
  return llvm::map_to_vector(
      scalars, [&](Scalar scalar) { return state.scalars.at(scalar.number); });
}

static std::string joinNames(ArrayRef<Scalar> scalars) {
  return llvm::join(llvm::map_range(scalars, [](Scalar s) { return s.name(); }),
                    ", ");
}

/// An element of a tensor that has one.
Scalar Maker::extract(const Tensor &source) {
  SmallVector<Scalar> index;
  for (int64_t dim : source.type.dims)
    index.push_back(anyIndex(dim));
  SmallVector<int64_t> dims = source.type.dims;
  unsigned from = source.number;
  return defineScalar(formatv("tensor.extract {0}[{1}] : {2}", source.name(),
                              joinNames(index), toText(source.type))
                          .str(),
                      [=](const ProgramState &state) {
                        int64_t place = rowMajor(dims, evaluate(state, index));
                        return state.tensors.at(from)[place];
                      });
}

/// A bit that depends on data, or on the iteration.
Scalar Maker::condition() {
  Tensor tensor = pick();
  if (tensor.type.numElements() == 0) {
    int64_t value = random.number(0, 1);
    return defineScalar(
        formatv("arith.constant {0}", value ? "true" : "false").str(),
        [value](const ProgramState &) { return value; });
  }
  Scalar value = extract(tensor);
  return defineScalar(
      formatv("arith.trunci {0} : {1} to i1", value.name(), element()).str(),
      [value](const ProgramState &state) {
        return state.scalars.at(value.number) & 1;
      });
}

//===----------------------------------------------------------------------===//
// Operations of the dialect
//===----------------------------------------------------------------------===//

void Maker::addRelayout() {
  Tensor source = pick();
  ArrayType type = makeRelaidOut(source.type);
  bool assumes = type.layout && random.oneIn(3);
  scope.push_back(
      relayout(source, type, assumes ? "assume_layout" : "relayout"));
}

void Maker::addAsynchronousCopy() {
  Tensor source = pick();
  ArrayType type = makeRelaidOut(source.type);
  Tensor copy = define(type,
                       formatv("tessera.copy_start {0} : {1} to {2}",
                               source.name(), toText(source.type), toText(type))
                           .str(),
                       copyOf(source.number));
  // The token is the second result.
  std::string token = "%t" + std::to_string(copy.number);
  size_t at = text.rfind(copy.name() + " =");
  text.insert(at + copy.name().size(), ", " + token);
  addElementwise();
  emit("tessera.copy_done " + token);
  scope.push_back(copy);
}

/// Random dimensions with as many elements.
static SmallVector<int64_t> makeFactors(RandomLayouts &random, int64_t count) {
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

void Maker::addReshape() {
  Tensor source = pick();
  ArrayType type;
  type.dims = makeFactors(random, source.type.numElements());
  type.isDynamic.assign(type.dims.size(), false);
  if (source.type.hasDynamicDims()) {
    if (llvm::is_contained(type.dims, 0))
      return;
    type.isDynamic[random.number(0, type.dims.size() - 1)] = true;
  }
  scope.push_back(relayout(source, makeRelaidOut(type), "reshape"));
}

/// A transposition that moves nothing: the order of the dimensions goes with
/// it. Other bitcasts stand behind reshapes.
void Maker::addBitcast() {
  ArrayType plain = makePlain(pick().type);
  Tensor source = convert(*pickLike(plain), plain);
  int64_t rank = plain.dims.size();
  if (plain.hasDynamicDims() || rank == 0)
    return;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t i = rank - 1; i > 0; --i)
    std::swap(order[i], order[random.number(0, i)]);
  // Dimension i of the result is dimension order[i] of the operand.
  ArrayType type = plain;
  type.layout = Layout::descending(rank);
  for (int64_t i = 0; i < rank; ++i) {
    type.dims[i] = plain.dims[order[i]];
    type.layout->minorToMajor[rank - 1 - order[i]] = i;
  }
  unsigned from = source.number;
  SmallVector<int64_t> sizes = plain.dims;
  scope.push_back(define(type,
                         formatv("tessera.bitcast {0} : {1} to {2}",
                                 source.name(), toText(plain), toText(type))
                             .str(),
                         [=](const ProgramState &state) {
                           return transpose(state.tensors.at(from), sizes,
                                            order);
                         }));
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

void Maker::addElementwise() {
  Tensor lhs = pick();
  Tensor rhs = *pickLike(lhs.type);
  Tensor out =
      random.oneIn(4) ? *pickLike(lhs.type) : empty(makeRelaidOut(lhs.type));
  unsigned a = lhs.number, b = rhs.number;
  int64_t kind = random.number(0, 2);
  static constexpr const char *kNames[] = {"addi", "muli", "xori"};
  uint64_t mask = this->mask();
  scope.push_back(define(
      out.type,
      formatv("linalg.map {{ arith.{0} } ins({1}, {2} : {3}, {4}) outs({5} : "
              "{6})",
              kNames[kind], lhs.name(), rhs.name(), toText(lhs.type),
              toText(rhs.type), out.name(), toText(out.type))
          .str(),
      [=](const ProgramState &state) {
        Elements result;
        for (auto [x, y] :
             llvm::zip_equal(state.tensors.at(a), state.tensors.at(b)))
          result.push_back(mask & (kind == 0   ? x + y
                                   : kind == 1 ? x * y
                                               : x ^ y));
        return result;
      }));
}

/// out[i, j] = in[j, i]
void Maker::addTranspose() {
  Tensor source = pick();
  int64_t rank = source.type.dims.size();
  if (rank == 0) // The verifier upstream dies of these.
    return;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t i = rank - 1; i > 0; --i)
    std::swap(order[i], order[random.number(0, i)]);
  ArrayType type = source.type;
  for (int64_t i = 0; i < rank; ++i) {
    type.dims[i] = source.type.dims[order[i]];
    type.isDynamic[i] = source.type.isDynamic[order[i]];
  }
  Tensor out = empty(makeRelaidOut(type));
  unsigned from = source.number;
  SmallVector<int64_t> sizes = source.type.dims;
  scope.push_back(define(
      out.type,
      formatv("linalg.transpose ins({0} : {1}) outs({2} : {3}) permutation = "
              "[{4:$[, ]}]",
              source.name(), toText(source.type), out.name(), toText(out.type),
              llvm::make_range(order.begin(), order.end()))
          .str(),
      [=](const ProgramState &state) {
        return transpose(state.tensors.at(from), sizes, order);
      }));
}

/// Sums over one dimension into what was there before.
void Maker::addReduce() {
  Tensor source = pick();
  if (source.type.dims.empty())
    return;
  int64_t dim = random.number(0, source.type.dims.size() - 1);
  ArrayType type = source.type;
  type.dims.erase(type.dims.begin() + dim);
  type.isDynamic.erase(type.isDynamic.begin() + dim);
  Scalar start = constant(1, element());
  Tensor out = empty(makeRelaidOut(type));
  int64_t count = type.numElements();
  Tensor init =
      define(out.type,
             formatv("linalg.fill ins({0} : {1}) outs({2} : {3}) -> {3}",
                     start.name(), element(), out.name(), toText(out.type))
                 .str(),
             [count](const ProgramState &) { return Elements(count, 1); });
  int64_t inner = 1, size = source.type.dims[dim];
  for (int64_t d : ArrayRef(source.type.dims).drop_front(dim + 1))
    inner *= d;
  unsigned from = source.number;
  uint64_t mask = this->mask();
  scope.push_back(define(
      out.type,
      formatv("linalg.reduce {{ arith.addi } ins({0} : {1}) outs({2} : {3}) "
              "dimensions = [{4}]",
              source.name(), toText(source.type), init.name(), toText(out.type),
              dim)
          .str(),
      [=](const ProgramState &state) {
        Elements sums(count, 1);
        const Elements &elements = state.tensors.at(from);
        for (size_t n = 0; n < elements.size(); ++n) {
          uint64_t &sum = sums[n / inner / size * inner + n % inner];
          sum = (sum + elements[n]) & mask;
        }
        return sums;
      }));
}

/// out[i] = in[(i * factor + offset) mod size]: subscripts that are computed.
void Maker::addGather() {
  Tensor source = pick();
  const ArrayType &from = source.type;
  if (from.numElements() == 0 || from.dims.empty())
    return;
  ArrayType type = makePlain(from);
  Tensor out = empty(makeRelaidOut(type));
  SmallVector<int64_t> factors, offsets;
  std::string body, subscripts;
  for (auto [d, dim] : llvm::enumerate(from.dims)) {
    factors.push_back(random.number(1, 3));
    offsets.push_back(random.number(0, 5));
    std::string id = formatv("{0}_{1}", numValues, d);
    body += formatv("%i{0} = linalg.index {1} : index\n"
                    "%f{0} = arith.constant {2} : index\n"
                    "%o{0} = arith.constant {3} : index\n"
                    "%s{0} = arith.constant {4} : index\n"
                    "%p{0} = arith.muli %i{0}, %f{0} : index\n"
                    "%q{0} = arith.addi %p{0}, %o{0} : index\n"
                    "%r{0} = arith.remui %q{0}, %s{0} : index\n",
                    id, d, factors.back(), offsets.back(), dim);
    subscripts += (d == 0 ? "%r" : ", %r") + id;
  }
  SmallVector<int64_t> dims = from.dims;
  unsigned a = source.number;
  std::string iterators = "\"parallel\"";
  std::string map = "d0";
  for (size_t d = 1; d < dims.size(); ++d) {
    iterators += ", \"parallel\"";
    map += ", d" + std::to_string(d);
  }
  scope.push_back(define(
      out.type,
      formatv("linalg.generic {{indexing_maps = [affine_map<({0}) -> ({0})>], "
              "iterator_types = [{1}]} outs({2} : {3}) {{\n^bb0(%old: {4}):\n"
              "{5}%e{6} = tensor.extract {7}[{8}] : {9}\nlinalg.yield %e{6} : "
              "{4}\n} -> {3}",
              map, iterators, out.name(), toText(out.type), element(), body,
              numValues, source.name(), subscripts, toText(from))
          .str(),
      [=](const ProgramState &state) {
        Elements to;
        const Elements &elements = state.tensors.at(a);
        SmallVector<int64_t> index(dims.size());
        for (size_t n = 0; n < elements.size(); ++n) {
          int64_t rest = n;
          for (size_t d = dims.size(); d-- > 0;) {
            index[d] = (rest % dims[d] * factors[d] + offsets[d]) % dims[d];
            rest /= dims[d];
          }
          to.push_back(elements[rowMajor(dims, index)]);
        }
        return to;
      }));
}

/// One element of a tensor changes; the old tensor may still be read.
void Maker::addInsert() {
  Tensor target = pick(), source = pick();
  if (target.type.numElements() == 0 || source.type.numElements() == 0)
    return;
  Scalar value = extract(source);
  SmallVector<Scalar> index;
  for (int64_t dim : target.type.dims)
    index.push_back(anyIndex(dim));
  SmallVector<int64_t> dims = target.type.dims;
  unsigned to = target.number;
  scope.push_back(
      define(target.type,
             formatv("tensor.insert {0} into {1}[{2}] : {3}", value.name(),
                     target.name(), joinNames(index), toText(target.type))
                 .str(),
             [=](const ProgramState &state) {
               Elements elements = state.tensors.at(to);
               elements[rowMajor(dims, evaluate(state, index))] =
                   state.scalars.at(value.number);
               return elements;
             }));
}

void Maker::addSelect() {
  Tensor lhs = pick();
  Tensor rhs = convert(*pickLike(lhs.type), lhs.type);
  Scalar chooses = condition();
  unsigned a = lhs.number, b = rhs.number, c = chooses.number;
  scope.push_back(
      define(lhs.type,
             formatv("arith.select {0}, {1}, {2} : {3}", chooses.name(),
                     lhs.name(), rhs.name(), toText(lhs.type))
                 .str(),
             [=](const ProgramState &state) {
               Elements chosen = state.tensors.at(state.scalars.at(c) ? a : b);
               return chosen;
             }));
}

/// Between types that know a size and types that do not.
void Maker::addCast() {
  Tensor source = pick();
  // Bounds and widths belong to one of the two types.
  if (const auto &layout = source.type.layout) {
    bool mergesAxes = llvm::any_of(layout->tiles, [](const Tile &tile) {
      return llvm::is_contained(tile.sizes, Tile::kCombine);
    });
    bool widensNothing = !layout->paddedDimensions.empty() &&
                         llvm::is_contained(source.type.dims, 0);
    if (!layout->bounds.empty() || mergesAxes || widensNothing)
      return;
  }
  ArrayType type = source.type;
  for (bool &isDynamic : type.isDynamic)
    if (random.oneIn(2))
      isDynamic = !isDynamic;
  scope.push_back(define(type,
                         formatv("tensor.cast {0} : {1} to {2}", source.name(),
                                 toText(source.type), toText(type))
                             .str(),
                         copyOf(source.number)));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {
/// Where a slice is in an array, by dimension; its text once the offsets that
/// are values have names.
struct SliceBounds {
  SmallVector<int64_t> dims, offsets, sizes, strides;

  /// The place in the array of element number `n` of the slice.
  int64_t place(int64_t n) const {
    SmallVector<int64_t> index(dims.size());
    for (size_t d = dims.size(); d-- > 0;) {
      index[d] = offsets[d] + n % sizes[d] * strides[d];
      n /= sizes[d];
    }
    return rowMajor(dims, index);
  }
  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }
};
} // namespace

static SliceBounds makeSlice(RandomLayouts &random,
                             llvm::ArrayRef<int64_t> dims) {
  SliceBounds slice;
  for (int64_t dim : dims) {
    int64_t stride = random.oneIn(4) ? 2 : 1;
    int64_t size = random.number(1, (dim + stride - 1) / stride);
    int64_t last = (size - 1) * stride;
    slice.dims.push_back(dim);
    slice.sizes.push_back(size);
    slice.strides.push_back(stride);
    slice.offsets.push_back(random.number(0, dim - 1 - last));
  }
  return slice;
}

static std::string join(llvm::ArrayRef<int64_t> numbers) {
  return llvm::join(
      llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }),
      ", ");
}

void Maker::addExtractSlice() {
  Tensor source = pick();
  if (source.type.numElements() == 0)
    return;
  SliceBounds slice = makeSlice(random, source.type.dims);
  std::string offsets;
  for (int64_t offset : slice.offsets)
    offsets +=
        (offsets.empty() ? "" : ", ") +
        (random.oneIn(3) ? constant(offset).name() : std::to_string(offset));
  ArrayType type{slice.sizes, SmallVector<bool>(slice.sizes.size(), false),
                 std::nullopt};
  type = makeRelaidOut(type);
  // Without layouts slices are upstream's, and take its runtime library.
  if (!source.type.layout && !type.layout)
    return;
  unsigned from = source.number;
  scope.push_back(
      define(type,
             formatv("tensor.extract_slice {0}[{1}] [{2}] [{3}] : {4} to {5}",
                     source.name(), offsets, join(slice.sizes),
                     join(slice.strides), toText(source.type), toText(type))
                 .str(),
             [=](const ProgramState &state) {
               Elements elements;
               for (int64_t n = 0; n < slice.numElements(); ++n)
                 elements.push_back(state.tensors.at(from)[slice.place(n)]);
               return elements;
             }));
}

/// Puts a slice of another tensor of these dimensions in.
void Maker::addInsertSlice() {
  Tensor target = pick();
  if (target.type.numElements() == 0)
    return;
  SliceBounds slice = makeSlice(random, target.type.dims);
  SliceBounds other = slice;
  Tensor source = *pickLike(target.type);
  ArrayType type{slice.sizes, SmallVector<bool>(slice.sizes.size(), false),
                 std::nullopt};
  type = makeRelaidOut(type);
  if (!type.layout)
    return;
  unsigned from = source.number, to = target.number;
  for (auto [size, stride, offset] :
       llvm::zip_equal(other.sizes, other.strides, other.offsets)) {
    stride = 1;
    offset = 0;
  }
  Tensor part =
      define(type,
             formatv("tensor.extract_slice {0}[{1}] [{2}] [{3}] : {4} to {5}",
                     source.name(), join(other.offsets), join(other.sizes),
                     join(other.strides), toText(source.type), toText(type))
                 .str(),
             [=](const ProgramState &state) {
               Elements elements;
               for (int64_t n = 0; n < other.numElements(); ++n)
                 elements.push_back(state.tensors.at(from)[other.place(n)]);
               return elements;
             });
  unsigned inserted = part.number;
  scope.push_back(define(
      target.type,
      formatv("tensor.insert_slice {0} into {1}[{2}] [{3}] [{4}] : {5} into "
              "{6}",
              part.name(), target.name(), join(slice.offsets),
              join(slice.sizes), join(slice.strides), toText(type),
              toText(target.type))
          .str(),
      [=](const ProgramState &state) {
        Elements elements = state.tensors.at(to);
        for (int64_t n = 0; n < slice.numElements(); ++n)
          elements[slice.place(n)] = state.tensors.at(inserted)[n];
        return elements;
      }));
}

/// Merges all dimensions into one, or splits one off.
void Maker::addSplit() {
  Tensor source = pick();
  int64_t rank = source.type.dims.size();
  if (rank < 2 || source.type.hasDynamicDims())
    return;
  ArrayType type{{source.type.numElements()}, {false}, std::nullopt};
  type = makeRelaidOut(type);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  scope.push_back(define(
      type,
      formatv("tensor.collapse_shape {0} [[{1}]] : {2} into {3}", source.name(),
              join(all), toText(source.type), toText(type))
          .str(),
      copyOf(source.number)));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Steps Maker::makeBlock(int64_t count, llvm::function_ref<void()> finish) {
  Steps outer = std::move(steps);
  steps.clear();
  size_t numTensors = scope.size(), numIndices = indices.size();
  ++depth;
  while (count-- > 0)
    addStatement();
  finish();
  --depth;
  scope.resize(numTensors);
  indices.resize(numIndices);
  std::swap(outer, steps);
  return outer;
}

static void runAll(const Steps &steps, ProgramState &state) {
  for (const Step &step : steps)
    step(state);
}

/// Copies tensors at once: they may be swapped.
static void copyAll(ProgramState &state, ArrayRef<unsigned> from,
                    ArrayRef<unsigned> to) {
  std::vector<Elements> copies;
  for (unsigned number : from)
    copies.push_back(state.tensors.at(number));
  for (auto [number, copy] : llvm::zip_equal(to, copies))
    state.tensors[number] = std::move(copy);
}

/// A loop that carries two tensors.
void Maker::addFor() {
  Tensor inits[] = {pick(), pick()};
  int64_t trips = random.number(0, 3);
  Scalar lower = constant(0), upper = constant(trips), step = constant(1);
  unsigned variable = nextNumber();
  Tensor carried[] = {{nextNumber(), inits[0].type},
                      {nextNumber(), inits[1].type}};
  unsigned results = nextNumber();
  std::string types[] = {toText(inits[0].type), toText(inits[1].type)};
  emit(formatv("%v{0}:2 = scf.for %v{1} = {2} to {3} step {4} iter_args({5} = "
               "{6}, {7} = {8}) -> ({9}, {10}) {{",
               results, variable, lower.name(), upper.name(), step.name(),
               carried[0].name(), inits[0].name(), carried[1].name(),
               inits[1].name(), types[0], types[1]));
  scope.insert(scope.end(), {carried[0], carried[1]});
  indices.push_back({variable});
  SmallVector<unsigned> yields;
  Steps body = makeBlock(random.number(1, 4), [&] {
    std::string names;
    for (const Tensor &to : carried) {
      Tensor from = convert(*pickLike(to.type), to.type);
      yields.push_back(from.number);
      names += (names.empty() ? "" : ", ") + from.name();
    }
    emit(formatv("scf.yield {0} : {1}, {2}\n}", names, types[0], types[1]));
  });
  indices.pop_back();
  scope.resize(scope.size() - 2);

  SmallVector<unsigned> from = {inits[0].number, inits[1].number};
  SmallVector<unsigned> arguments = {carried[0].number, carried[1].number};
  steps.push_back([=](ProgramState &state) {
    copyAll(state, from, arguments);
    for (int64_t i = 0; i < trips; ++i) {
      state.scalars[variable] = i;
      runAll(body, state);
      copyAll(state, yields, arguments);
    }
  });
  // The results get names of their own.
  for (auto [i, init] : llvm::enumerate(inits)) {
    unsigned number = arguments[i];
    ArrayType type = init.type;
    std::string source = formatv("%v{0}#{1}", results, i);
    scope.push_back(define(
        type,
        formatv("tessera.relayout {0} : {1} to {1}", source, types[i]).str(),
        copyOf(number)));
  }
}

void Maker::addIf() {
  Scalar chooses = condition();
  ArrayType type = makeRelaidOut(pick().type);
  unsigned result = nextNumber();
  std::string typeText = toText(type);
  emit(formatv("%v{0} = scf.if {1} -> {2} {{", result, chooses.name(),
               typeText));
  auto makeBranch = [&](llvm::StringRef end) {
    unsigned yielded = 0;
    Steps branch = makeBlock(random.number(0, 3), [&] {
      Tensor from = convert(*pickLike(type), type);
      yielded = from.number;
      emit(formatv("scf.yield {0} : {1}\n{2}", from.name(), typeText, end));
    });
    branch.push_back(
        [=](ProgramState &state) { copyAll(state, {yielded}, {result}); });
    return branch;
  };
  Steps whenTrue = makeBranch("} else {");
  Steps whenFalse = makeBranch("}");
  steps.push_back([=](ProgramState &state) {
    runAll(state.scalars.at(chooses.number) ? whenTrue : whenFalse, state);
  });
  scope.push_back({result, type});
}

/// Counts up to a number, a tensor beside the count.
void Maker::addWhile() {
  Tensor init = pick();
  int64_t trips = random.number(0, 3);
  Scalar zero = constant(0), one = constant(1), limit = constant(trips);
  unsigned count = nextNumber(), next = nextNumber();
  Tensor before{nextNumber(), init.type}, after{nextNumber(), init.type};
  std::string type = toText(init.type);
  unsigned result = nextNumber();
  emit(formatv("%w{0}, %v{0} = scf.while (%n{1} = {2}, {3} = {4}) : (index, "
               "{5}) -> (index, {5}) {{\n"
               "%c{1} = arith.cmpi ult, %n{1}, {6} : index\n"
               "scf.condition(%c{1}) %n{1}, {3} : index, {5}\n} do {{\n"
               "^bb0(%v{1}: index, {7}: {5}):",
               result, count, zero.name(), before.name(), init.name(), type,
               limit.name(), after.name()));
  scope.push_back(after);
  indices.push_back({count});
  unsigned yielded = 0;
  Steps body = makeBlock(random.number(1, 3), [&] {
    Tensor from = convert(*pickLike(init.type), init.type);
    yielded = from.number;
    emit(formatv("%v{0} = arith.addi %v{1}, {2} : index\n"
                 "scf.yield %v{0}, {3} : index, {4}\n}",
                 next, count, one.name(), from.name(), type));
  });
  indices.pop_back();
  scope.pop_back();
  unsigned from = init.number, argument = after.number;
  steps.push_back([=](ProgramState &state) {
    copyAll(state, {from}, {argument});
    for (int64_t i = 0; i < trips; ++i) {
      state.scalars[count] = i;
      runAll(body, state);
      copyAll(state, {yielded}, {argument});
    }
    copyAll(state, {argument}, {result});
  });
  scope.push_back({result, init.type});
}

/// A function of two tensors, called at once.
void Maker::addCall() {
  Tensor operands[] = {pick(), pick()};
  std::string name = formatv("f{0}_{1}", number, numFunctions++);
  std::string outerText = std::move(text);
  std::vector<Tensor> outerScope = std::move(scope);
  std::vector<Scalar> outerIndices = std::move(indices);
  Tensor parameters[] = {{nextNumber(), operands[0].type},
                         {nextNumber(), operands[1].type}};
  text.clear();
  indices.clear();
  scope.assign(std::begin(parameters), std::end(parameters));
  Tensor returned;
  Steps body = makeBlock(random.number(1, 3), [&] { returned = pick(); });
  std::string types[] = {toText(operands[0].type), toText(operands[1].type)};
  std::string result = toText(returned.type);
  functions +=
      formatv("func.func private @{0}({1}: {2}, {3}: {4}) -> {5} {{\n"
              "{6}return {7} : {5}\n}\n",
              name, parameters[0].name(), types[0], parameters[1].name(),
              types[1], result, text, returned.name());
  text = std::move(outerText);
  scope = std::move(outerScope);
  indices = std::move(outerIndices);

  SmallVector<unsigned> from = {operands[0].number, operands[1].number};
  SmallVector<unsigned> to = {parameters[0].number, parameters[1].number};
  unsigned value = returned.number;
  scope.push_back(
      define(returned.type,
             formatv("func.call @{0}({1}, {2}) : ({3}, {4}) -> {5}", name,
                     operands[0].name(), operands[1].name(), types[0], types[1],
                     result)
                 .str(),
             [=](const ProgramState &state) {
               ProgramState callee;
               for (auto [operand, parameter] : llvm::zip_equal(from, to))
                 callee.tensors[parameter] = state.tensors.at(operand);
               runAll(body, callee);
               return callee.tensors.at(value);
             }));
}

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

void Maker::addStatement() {
  using Adder = void (Maker::*)();
  static constexpr Adder kSimple[] = {
      &Maker::addRelayout,    &Maker::addRelayout, &Maker::addAsynchronousCopy,
      &Maker::addReshape,     &Maker::addBitcast,  &Maker::addElementwise,
      &Maker::addElementwise, &Maker::addInsert,   &Maker::addInsert,
      &Maker::addTranspose,   &Maker::addReduce,   &Maker::addGather,
      &Maker::addSelect,      &Maker::addCast,     &Maker::addExtractSlice,
      &Maker::addInsertSlice, &Maker::addSplit};
  static constexpr Adder kNested[] = {&Maker::addFor, &Maker::addIf,
                                      &Maker::addWhile, &Maker::addCall};
  if (depth < 3 && random.oneIn(4))
    return (this->*kNested[random.number(0, 3)])();
  (this->*kSimple[random.number(0, std::size(kSimple) - 1)])();
}

RandomProgram Maker::make() {
  std::string type = element();
  int64_t bytes = getByteWidth(program.type), offset = 0;
  auto addView = [&](RandomProgram::Array &array, llvm::StringRef buffer) {
    array.offset = offset;
    std::string at = constant(offset).name();
    std::string shape;
    int64_t count = 1;
    for (int64_t dim : array.dims) {
      shape += std::to_string(dim) + "x";
      count *= dim;
    }
    offset += count * bytes;
    std::string view = formatv("memref<{0}{1}>", shape, type);
    emit(formatv("{1}{0} = memref.view {1}[{2}][] : memref<{3}xi8> to {4}",
                 array.number, buffer, at, kProgramBytes, view));
    return view;
  };
  for (int i = 0; i < 2; ++i) {
    RandomProgram::Array array;
    array.dims = random.dimensions();
    array.number = nextNumber();
    std::string view = addView(array, "%in");
    ArrayType arrayType{array.dims, SmallVector<bool>(array.dims.size(), false),
                        std::nullopt};
    Tensor tensor{array.number, arrayType};
    emit(formatv("{0} = bufferization.to_tensor %in{1} restrict : {2} to {3}",
                 tensor.name(), array.number, view, toText(arrayType)));
    program.inputs.push_back(array);
    scope.push_back(tensor);
  }
  for (int64_t count = random.number(3, 10); count > 0; --count)
    addStatement();

  // The last tensors go out, in row-major order.
  offset = 0;
  for (size_t i = std::max<size_t>(scope.size(), 4) - 4; i < scope.size();
       ++i) {
    Tensor plain = convert(scope[i], makePlain(scope[i].type));
    ArrayType known = plain.type;
    known.isDynamic.assign(known.dims.size(), false);
    if (plain.type.hasDynamicDims())
      plain = define(known,
                     formatv("tensor.cast {0} : {1} to {2}", plain.name(),
                             toText(plain.type), toText(known))
                         .str(),
                     copyOf(plain.number));
    RandomProgram::Array array;
    array.dims = known.dims;
    array.number = plain.number;
    std::string view = addView(array, "%out");
    emit(formatv("bufferization.materialize_in_destination {0} in restrict "
                 "writable %out{1} : ({2}, {3}) -> ()",
                 plain.name(), plain.number, toText(known), view));
    program.outputs.push_back(array);
  }
  program.steps = std::move(steps);
  program.text = formatv("{0}func.func @run{1}(%in: memref<{2}xi8>, %out: "
                         "memref<{2}xi8>) {{\n{3}return\n}\n",
                         functions, number, kProgramBytes, text);
  return std::move(program);
}

RandomProgram tessera::makeRandomProgram(RandomLayouts &random,
                                         MLIRContext *context, int number) {
  return Maker(random, context, number).make();
}
