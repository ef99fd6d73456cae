//===- ProgramSources.cpp - Operations that make tensors of nothing -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramMaker.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

using llvm::formatv;
using llvm::SmallVector;

/// A step of a tensor that does not depend on others.
static TensorValue always(Elements elements) {
  return [elements = std::move(elements)](const ProgramState &) {
    return elements;
  };
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Elements ProgramMaker::makeElements(int64_t count) {
  bool isSplat = random.oneIn(4);
  Elements elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(isSplat && i > 0 ? elements[0] : random.next() & mask());
  return elements;
}

/// `dense<...> : type`, as it is printed.
std::string ProgramMaker::denseText(const ArrayType &type,
                                    const Elements &elements) const {
  Attribute encoding;
  if (type.layout)
    encoding = LayoutAttr::get(context, *type.layout);
  auto tensorType = RankedTensorType::get(
      type.dims, tessera::getElementType(context, program.type), encoding);
  std::vector<llvm::APInt> values;
  for (uint64_t element : elements)
    values.emplace_back(elementBits(), element);
  std::string text;
  llvm::raw_string_ostream(text) << DenseElementsAttr::get(tensorType, values);
  return text;
}

Tensor ProgramMaker::makeConstant(const ArrayType &type) {
  Elements elements = makeElements(type.numElements());
  return define(type, "arith.constant " + denseText(type, elements),
                always(elements));
}

/// A sum of constants, which folding makes one.
Tensor ProgramMaker::makeComputedConstant(const ArrayType &type) {
  Tensor lhs = makeConstant(type);
  return arith(lhs, random.oneIn(4) ? lhs : makeConstant(type));
}

//===----------------------------------------------------------------------===//
// From scalars
//===----------------------------------------------------------------------===//

/// Elements that are a sum of multiples of their index.
Tensor ProgramMaker::makeGenerated(const ArrayType &type) {
  std::string sizes = dynamicSizes(type);
  std::string id = std::to_string(nextNumber());
  SmallVector<int64_t> factors;
  SmallVector<std::string> arguments;
  int64_t offset = random.number(0, 100);
  std::string body =
      formatv("%s{0}_0 = arith.constant {1} : index\n", id, offset);
  for (int64_t d = 0; d < type.rank(); ++d) {
    factors.push_back(random.number(1, 9));
    arguments.push_back(formatv("%i{0}_{1}: index", id, d));
    body += formatv("%f{0}_{1} = arith.constant {2} : index\n"
                    "%p{0}_{1} = arith.muli %i{0}_{1}, %f{0}_{1} : index\n"
                    "%s{0}_{3} = arith.addi %s{0}_{1}, %p{0}_{1} : index\n",
                    id, d, factors.back(), d + 1);
  }
  Elements elements;
  for (int64_t n = 0; n < type.numElements(); ++n) {
    uint64_t sum = offset;
    for (auto [i, factor] : llvm::zip_equal(indexOf(type.dims, n), factors))
      sum += i * factor;
    elements.push_back(sum & mask());
  }
  return define(type,
                formatv("tensor.generate {0} {{\n^bb0({1}):\n{2}"
                        "%e{3} = arith.index_cast %s{3}_{4} : index to {5}\n"
                        "tensor.yield %e{3} : {5}\n} : {6}",
                        sizes, llvm::join(arguments, ", "), body, id,
                        type.rank(), element(), toText(type))
                    .str(),
                always(elements));
}

Tensor ProgramMaker::makeFromElements(const ArrayType &type) {
  SmallVector<Scalar> elements;
  for (int64_t n = type.numElements(); n > 0; --n)
    elements.push_back(anyElement());
  return define(type,
                formatv("tensor.from_elements {0} : {1}", joinNames(elements),
                        toText(type))
                    .str(),
                [=](const ProgramState &state) {
                  SmallVector<int64_t> values = evaluate(state, elements);
                  return Elements(values.begin(), values.end());
                });
}

Tensor ProgramMaker::makeSplat(const ArrayType &type) {
  Scalar value = anyElement();
  std::string sizes = dynamicSizes(type);
  if (!sizes.empty())
    sizes = "[" + sizes + "]";
  int64_t count = type.numElements();
  return define(
      type,
      formatv("tensor.splat {0}{1} : {2}", value.name(), sizes, toText(type))
          .str(),
      [=](const ProgramState &state) {
        return Elements(count, state.scalars.at(value.number));
      });
}

//===----------------------------------------------------------------------===//
// Into empty tensors
//===----------------------------------------------------------------------===//

/// A tensor whose elements nothing reads.
Tensor ProgramMaker::makeEmpty(const ArrayType &type) {
  std::string sizes = dynamicSizes(type);
  llvm::StringRef dialect =
      !type.layout || random.oneIn(2) ? "tensor" : "tessera";
  return define(
      type, formatv("{0}.empty({1}) : {2}", dialect, sizes, toText(type)).str(),
      always({}));
}

Tensor ProgramMaker::makeFilled(const ArrayType &type) {
  Scalar value = anyElement();
  Tensor empty = makeEmpty(type);
  int64_t count = type.numElements();
  return define(type,
                formatv("linalg.fill ins({0} : {1}) outs({2} : {3}) -> {3}",
                        value.name(), element(), empty.name(), toText(type))
                    .str(),
                [=](const ProgramState &state) {
                  return Elements(count, state.scalars.at(value.number));
                });
}

/// Element by element, last to first.
Tensor ProgramMaker::makeInserted(const ArrayType &type) {
  Tensor result = makeEmpty(type);
  for (int64_t n = type.numElements(); n-- > 0;) {
    SmallVector<Scalar> index;
    for (int64_t i : indexOf(type.dims, n))
      index.push_back(constant(i));
    Scalar value = anyElement();
    unsigned from = result.number;
    int64_t count = type.numElements();
    result =
        define(type,
               formatv("tensor.insert {0} into {1}[{2}] : {3}", value.name(),
                       result.name(), joinNames(index), toText(type))
                   .str(),
               [=](const ProgramState &state) {
                 Elements elements = state.tensors.at(from);
                 elements.resize(count);
                 elements[n] = state.scalars.at(value.number);
                 return elements;
               });
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Any of them
//===----------------------------------------------------------------------===//

Tensor ProgramMaker::makeSource(const ArrayType &type) {
  bool isStatic = !type.hasDynamicDims();
  switch (random.number(0, 8)) {
  case 0:
    if (isStatic)
      return makeComputedConstant(type);
    [[fallthrough]];
  case 1:
  case 2:
    if (isStatic)
      return makeConstant(type);
    [[fallthrough]];
  case 3:
    return makeGenerated(type);
  case 4:
    if (isStatic && type.numElements() <= 24)
      return makeFromElements(type);
    [[fallthrough]];
  case 5:
    return makeSplat(type);
  case 6:
    if (isStatic && type.numElements() <= 6)
      return makeInserted(type);
    [[fallthrough]];
  case 7:
    return makeFilled(type);
  default:
    return castTo(makeConstant(makeRelaidOut(ArrayType::getStatic(type.dims))),
                  type);
  }
}

/// A type of any dimensions, or like one that is there.
void ProgramMaker::addSource() {
  ArrayType type = random.oneIn(2) ? makeSmallType(/*maxElements=*/60)
                                   : makeRelaidOut(pick().type);
  scope.push_back(makeSource(type));
}

void ProgramMaker::addSourceAndReader() {
  addSource();
  if (random.oneIn(2))
    addReader();
}
