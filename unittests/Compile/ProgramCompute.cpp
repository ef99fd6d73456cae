//===- ProgramCompute.cpp - Compute in programs ---------------------------===//
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

/// `prefix0, prefix1` without `skip`.
static std::string joinDims(int64_t rank, int64_t skip = -1) {
  SmallVector<std::string> names;
  for (int64_t d = 0; d < rank; ++d)
    if (d != skip)
      names.push_back("d" + std::to_string(d));
  return llvm::join(names, ", ");
}

/// Where the elements of an array lie that has its dimensions in `order`.
static int64_t permutedPosition(llvm::ArrayRef<int64_t> sizes,
                                llvm::ArrayRef<int64_t> order, int64_t n) {
  SmallVector<int64_t> permuted, index(sizes.size());
  for (int64_t dim : order)
    permuted.push_back(sizes[dim]);
  for (auto [dim, i] : llvm::zip_equal(order, indexOf(permuted, n)))
    index[dim] = i;
  return rowMajor(sizes, index);
}

/// A step that reads the elements of `source` at `read(n)`.
static TensorValue gather(unsigned source, int64_t count,
                          std::function<int64_t(int64_t)> read) {
  return [=](const ProgramState &state) {
    const Elements &from = state.tensors.at(source);
    Elements to;
    for (int64_t n = 0; n < count; ++n)
      to.push_back(from[read(n)]);
    return to;
  };
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

static constexpr const char *kBinary[] = {"arith.addi", "arith.muli",
                                          "arith.xori"};

/// A step that applies an operation of kBinary.
static TensorValue applyBinary(unsigned lhs, unsigned rhs, int64_t kind,
                               uint64_t mask) {
  return [=](const ProgramState &state) {
    Elements result;
    for (auto [x, y] :
         llvm::zip_equal(state.tensors.at(lhs), state.tensors.at(rhs)))
      result.push_back(mask & (kind == 0 ? x + y : kind == 1 ? x * y : x ^ y));
    return result;
  };
}

/// Two tensors of one type.
Tensor ProgramMaker::arith(const Tensor &lhs, const Tensor &rhs) {
  int64_t kind = random.number(0, 2);
  return define(lhs.type,
                formatv("{0} {1}, {2} : {3}", kBinary[kind], lhs.name(),
                        rhs.name(), toText(lhs.type))
                    .str(),
                applyBinary(lhs.number, rhs.number, kind, mask()));
}

/// Upstream folds the xor of a value and itself to a constant, of dynamic shape
/// too, which no later pass takes: dynamic operands differ.
void ProgramMaker::addArith() {
  Tensor lhs = pick();
  Tensor rhs =
      lhs.type.hasDynamicDims() ? makeSource(lhs.type) : valueOf(lhs.type);
  scope.push_back(arith(lhs, rhs));
}

/// Tensors of any layouts.
void ProgramMaker::addElementwise() {
  Tensor lhs = pick();
  Tensor rhs = *pickLike(lhs.type);
  Tensor out = random.oneIn(4) ? *pickLike(lhs.type)
                               : makeEmpty(makeRelaidOut(lhs.type));
  int64_t kind = random.number(0, 2);
  scope.push_back(define(
      out.type,
      formatv("linalg.map {{ {0} } ins({1}, {2} : {3}, {4}) outs({5} : {6})",
              kBinary[kind], lhs.name(), rhs.name(), toText(lhs.type),
              toText(rhs.type), out.name(), toText(out.type))
          .str(),
      applyBinary(lhs.number, rhs.number, kind, mask())));
}

/// The operand's element at `sourceMap`, a map from the result's dimensions.
Tensor ProgramMaker::makeGeneric(const Tensor &source, const Tensor &out,
                                 llvm::StringRef sourceMap,
                                 std::function<int64_t(int64_t)> read) {
  int64_t rank = out.type.rank();
  std::string dims = joinDims(rank);
  SmallVector<llvm::StringRef> iterators(rank, "\"parallel\"");
  return define(
      out.type,
      formatv("linalg.generic {{indexing_maps = [affine_map<({0}) -> ({1})>, "
              "affine_map<({0}) -> ({0})>], iterator_types = [{2}]} ins({3} : "
              "{4}) outs({5} : {6}) {{\n^bb0(%in: {7}, %old: {7}):\n"
              "linalg.yield %in : {7}\n} -> {6}",
              dims, sourceMap, llvm::join(iterators, ", "), source.name(),
              toText(source.type), out.name(), toText(out.type), element())
          .str(),
      gather(source.number, out.type.numElements(), std::move(read)));
}

/// What moves a tensor to another layout and computes nothing.
void ProgramMaker::addIdentity() {
  Tensor source = pick();
  Tensor out = makeEmpty(makeRelaidOut(source.type.plain()));
  if (random.oneIn(2)) {
    scope.push_back(makeGeneric(source, out, joinDims(source.type.rank()),
                                [](int64_t n) { return n; }));
    return;
  }
  scope.push_back(define(
      out.type,
      formatv("linalg.copy ins({0} : {1}) outs({2} : {3}) -> {3}",
              source.name(), toText(source.type), out.name(), toText(out.type))
          .str(),
      copyOf(source.number)));
}

/// Some dimensions backwards: out[i] = in[size - 1 - i].
void ProgramMaker::addReverse() {
  Tensor source = pick();
  const SmallVector<int64_t> dims = source.type.dims;
  if (source.type.hasDynamicDims() || source.type.numElements() == 0)
    return;
  SmallVector<bool> isReversed;
  SmallVector<std::string> subscripts;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    isReversed.push_back(!random.oneIn(3));
    std::string subscript = "d" + std::to_string(d);
    if (isReversed.back())
      subscript = std::to_string(dim - 1) + " - " + subscript;
    subscripts.push_back(subscript);
  }
  Tensor out = makeEmpty(makeRelaidOut(source.type.plain()));
  scope.push_back(
      makeGeneric(source, out, llvm::join(subscripts, ", "), [=](int64_t n) {
        SmallVector<int64_t> index = indexOf(dims, n);
        for (auto [i, dim, reverse] : llvm::zip_equal(index, dims, isReversed))
          i = reverse ? dim - 1 - i : i;
        return rowMajor(dims, index);
      }));
}

//===----------------------------------------------------------------------===//
// Other dimensions
//===----------------------------------------------------------------------===//

/// out[i, j] = in[j, i]
void ProgramMaker::addTranspose() {
  Tensor source = pick();
  if (source.type.dims.empty()) // The verifier upstream dies of these.
    return;
  SmallVector<int64_t> order = makeOrder(source.type.rank());
  if (options.isFolded && (numTransposes > 0 || llvm::is_sorted(order)))
    return;
  ++numTransposes;
  Tensor out = makeEmpty(makeRelaidOut(source.type.permuted(order)));
  SmallVector<int64_t> sizes = source.type.dims;
  scope.push_back(define(
      out.type,
      formatv("linalg.transpose ins({0} : {1}) outs({2} : {3}) permutation = "
              "[{4}]",
              source.name(), toText(source.type), out.name(), toText(out.type),
              join(order))
          .str(),
      gather(source.number, out.type.numElements(),
             [=](int64_t n) { return permutedPosition(sizes, order, n); })));
}

/// The operand along one more dimension.
void ProgramMaker::addBroadcast() {
  Tensor source = pick();
  int64_t dim = random.number(0, source.type.rank()),
          size = random.number(0, 3);
  if (source.type.rank() > 6 || source.type.numElements() * size > 200)
    return;
  ArrayType type = source.type.plain();
  type.dims.insert(type.dims.begin() + dim, size);
  type.isDynamic.insert(type.isDynamic.begin() + dim, false);
  Tensor out = makeEmpty(makeRelaidOut(type));
  auto read = [=, dims = type.dims, sizes = source.type.dims](int64_t n) {
    SmallVector<int64_t> index = indexOf(dims, n);
    index.erase(index.begin() + dim);
    return rowMajor(sizes, index);
  };
  if (random.oneIn(2)) {
    scope.push_back(
        makeGeneric(source, out, joinDims(type.rank(), /*skip=*/dim), read));
    return;
  }
  scope.push_back(define(
      out.type,
      formatv("linalg.broadcast ins({0} : {1}) outs({2} : {3}) dimensions = "
              "[{4}]",
              source.name(), toText(source.type), out.name(), toText(out.type),
              dim)
          .str(),
      gather(source.number, out.type.numElements(), read)));
}

/// Sums over one dimension into what was there before.
void ProgramMaker::addReduce() {
  Tensor source = pick();
  if (source.type.dims.empty())
    return;
  int64_t dim = random.number(0, source.type.rank() - 1);
  ArrayType type = source.type;
  type.dims.erase(type.dims.begin() + dim);
  type.isDynamic.erase(type.isDynamic.begin() + dim);
  Tensor init = makeFilled(makeRelaidOut(type));
  int64_t inner = 1, size = source.type.dims[dim];
  for (int64_t d : llvm::ArrayRef(source.type.dims).drop_front(dim + 1))
    inner *= d;
  unsigned from = source.number, start = init.number;
  uint64_t mask = this->mask();
  scope.push_back(define(
      init.type,
      formatv("linalg.reduce {{ arith.addi } ins({0} : {1}) outs({2} : {3}) "
              "dimensions = [{4}]",
              source.name(), toText(source.type), init.name(),
              toText(init.type), dim)
          .str(),
      [=](const ProgramState &state) {
        Elements sums = state.tensors.at(start);
        const Elements &elements = state.tensors.at(from);
        for (size_t n = 0; n < elements.size(); ++n) {
          uint64_t &sum = sums[n / inner / size * inner + n % inner];
          sum = (sum + elements[n]) & mask;
        }
        return sums;
      }));
}

/// out[i] = in[(i * factor + offset) mod size], or from behind: subscripts that
/// are computed.
void ProgramMaker::addGather() {
  Tensor source = pick();
  const ArrayType &from = source.type;
  if (from.numElements() == 0 || from.dims.empty())
    return;
  Tensor out = makeEmpty(makeRelaidOut(from.plain()));
  SmallVector<int64_t> factors, offsets;
  SmallVector<std::string> subscripts;
  std::string body;
  bool isReversed = random.oneIn(3);
  for (auto [d, dim] : llvm::enumerate(from.dims)) {
    factors.push_back(random.number(1, 3));
    offsets.push_back(random.number(0, 5));
    std::string id = formatv("{0}_{1}", numValues, d);
    body += formatv("%i{0} = linalg.index {1} : index\n"
                    "%f{0} = arith.constant {2} : index\n"
                    "%o{0} = arith.constant {3} : index\n"
                    "%s{0} = arith.constant {4} : index\n"
                    "%l{0} = arith.constant {5} : index\n"
                    "%p{0} = arith.muli %i{0}, %f{0} : index\n"
                    "%q{0} = arith.addi %p{0}, %o{0} : index\n"
                    "%m{0} = arith.remui %q{0}, %s{0} : index\n"
                    "%n{0} = arith.subi %l{0}, %i{0} : index\n",
                    id, d, factors.back(), offsets.back(), dim, dim - 1);
    subscripts.push_back((isReversed ? "%n" : "%m") + id);
  }
  SmallVector<int64_t> dims = from.dims;
  std::string map = joinDims(from.rank());
  SmallVector<llvm::StringRef> iterators(from.rank(), "\"parallel\"");
  scope.push_back(define(
      out.type,
      formatv("linalg.generic {{indexing_maps = [affine_map<({0}) -> ({0})>], "
              "iterator_types = [{1}]} outs({2} : {3}) {{\n^bb0(%old: {4}):\n"
              "{5}%e{6} = tensor.extract {7}[{8}] : {9}\nlinalg.yield %e{6} : "
              "{4}\n} -> {3}",
              map, llvm::join(iterators, ", "), out.name(), toText(out.type),
              element(), body, numValues, source.name(),
              llvm::join(subscripts, ", "), toText(from))
          .str(),
      gather(source.number, from.numElements(), [=](int64_t n) {
        SmallVector<int64_t> index = indexOf(dims, n);
        for (auto [d, i] : llvm::enumerate(index))
          i = isReversed ? dims[d] - 1 - i
                         : (i * factors[d] + offsets[d]) % dims[d];
        return rowMajor(dims, index);
      })));
}

//===----------------------------------------------------------------------===//
// Elements, choices and sizes
//===----------------------------------------------------------------------===//

/// One element of a tensor changes; the old tensor may still be read.
void ProgramMaker::addInsert() {
  std::optional<Tensor> target = pickNonEmpty();
  if (!target)
    return;
  Scalar value = anyElement();
  SmallVector<int64_t> dims = target->type.dims;
  SmallVector<Scalar> index = anyIndices(dims);
  unsigned to = target->number;
  scope.push_back(
      define(target->type,
             formatv("tensor.insert {0} into {1}[{2}] : {3}", value.name(),
                     target->name(), joinNames(index), toText(target->type))
                 .str(),
             [=](const ProgramState &state) {
               Elements elements = state.tensors.at(to);
               elements[rowMajor(dims, evaluate(state, index))] =
                   state.scalars.at(value.number);
               return elements;
             }));
}

void ProgramMaker::addSelect() {
  ArrayType type = pick().type;
  Tensor lhs = valueOf(type), rhs = valueOf(type);
  Scalar chooses = condition();
  unsigned a = lhs.number, b = rhs.number, c = chooses.number;
  scope.push_back(
      define(type,
             formatv("arith.select {0}, {1}, {2} : {3}", chooses.name(),
                     lhs.name(), rhs.name(), toText(type))
                 .str(),
             [=](const ProgramState &state) {
               Elements chosen = state.tensors.at(state.scalars.at(c) ? a : b);
               return chosen;
             }));
}

/// The size of a dimension.
void ProgramMaker::addDim() {
  Tensor source = pick();
  if (source.type.dims.empty())
    return;
  int64_t dim = random.number(0, source.type.rank() - 1);
  int64_t size = source.type.dims[dim];
  Scalar number = constant(dim);
  indices.push_back(
      defineScalar(formatv("tensor.dim {0}, {1} : {2}", source.name(),
                           number.name(), toText(source.type))
                       .str(),
                   [size](const ProgramState &) { return size; }));
}
