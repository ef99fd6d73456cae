//===- ExpandBitcasts.cpp - Bitcasts as what they stand for ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/DataFlow/ExpandBitcasts.h"

#include "tessera/DataFlow/IndexMap.h"
#include "tessera/HLO/Rewriter.h"
#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace tessera;
using namespace tessera::hlo;

using Sizes = llvm::SmallVector<int64_t, 8>;

namespace {
/// An instruction that moves elements of the one before.
struct Step {
  Opcode opcode;
  Shape result;
  /// Name and text of its attribute; empty where it has none.
  llvm::StringRef attribute;
  std::string text;
};

/// What becomes of an array, step by step. Steps that do nothing are left out.
class Chain {
public:
  explicit Chain(const Shape &from)
      : type(from.elementType()), sizes(from.dimensions()) {}

  llvm::ArrayRef<Step> steps() const { return list; }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }

  void reshape(llvm::ArrayRef<int64_t> newSizes);
  /// Dimension i of the result is dimension permutation[i].
  void transpose(llvm::ArrayRef<int64_t> permutation);
  /// Adds elements behind the last of each dimension.
  void pad(llvm::ArrayRef<int64_t> newSizes);
  /// Keeps the first elements of each dimension.
  void slice(llvm::ArrayRef<int64_t> newSizes);
  /// Reads bits as another type; between types of different widths the last
  /// dimension counts the narrower elements.
  void convert(PrimitiveType newType);

private:
  void add(Opcode opcode, llvm::StringRef attribute = "",
           const llvm::Twine &text = "");

  PrimitiveType type;
  Sizes sizes;
  std::vector<Step> list;
};
} // namespace

void Chain::add(Opcode opcode, llvm::StringRef attribute,
                const llvm::Twine &text) {
  int64_t rank = sizes.size();
  list.push_back({opcode, Shape::array(type, sizes, Layout::descending(rank)),
                  attribute, text.str()});
}

void Chain::reshape(llvm::ArrayRef<int64_t> newSizes) {
  if (newSizes == llvm::ArrayRef(sizes))
    return;
  sizes.assign(newSizes.begin(), newSizes.end());
  if (!list.empty() && list.back().opcode == Opcode::Reshape)
    list.pop_back();
  add(Opcode::Reshape);
}

/// `{1,0}`.
static std::string formatList(llvm::ArrayRef<int64_t> numbers) {
  std::string text = "{";
  for (auto [i, number] : llvm::enumerate(numbers))
    text += (i ? "," : "") + llvm::itostr(number);
  return text + "}";
}

void Chain::transpose(llvm::ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return;
  Sizes old = sizes;
  for (auto [size, dim] : llvm::zip_equal(sizes, permutation))
    size = old[dim];
  add(Opcode::Transpose, "dimensions", formatList(permutation));
}

void Chain::pad(llvm::ArrayRef<int64_t> newSizes) {
  if (newSizes == llvm::ArrayRef(sizes))
    return;
  std::string text;
  for (auto [size, newSize] : llvm::zip_equal(sizes, newSizes)) {
    text += (text.empty() ? "0_" : "x0_") + llvm::itostr(newSize - size);
    size = newSize;
  }
  add(Opcode::Pad, "padding", text);
}

void Chain::slice(llvm::ArrayRef<int64_t> newSizes) {
  if (newSizes == llvm::ArrayRef(sizes))
    return;
  sizes.assign(newSizes.begin(), newSizes.end());
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "[0:" : ", [0:") + llvm::itostr(size) + "]";
  add(Opcode::Slice, "slice", "{" + text + "}");
}

void Chain::convert(PrimitiveType newType) {
  if (newType == type)
    return;
  int64_t from = getBitWidth(type), to = getBitWidth(newType);
  type = newType;
  if (from > to)
    sizes.push_back(from / to);
  if (from < to)
    sizes.pop_back();
  add(Opcode::BitcastConvert);
}

//===----------------------------------------------------------------------===//
// Rearranged elements
//===----------------------------------------------------------------------===//

/// The order of digits of `map` by falling strides, if every element of the
/// operand is read once; nothing else.
static std::optional<Sizes> getOperandOrder(const IndexMap &map) {
  llvm::ArrayRef<MapDigit> digits = map.digits();
  Sizes order = llvm::to_vector<8>(llvm::seq<int64_t>(0, digits.size()));
  llvm::sort(order, [&](int64_t lhs, int64_t rhs) {
    return digits[lhs].stride > digits[rhs].stride;
  });
  int64_t stride = 1;
  for (int64_t digit : llvm::reverse(order)) {
    if (digits[digit].stride != stride)
      return std::nullopt;
    stride *= digits[digit].size;
  }
  return map.offset() == 0 ? std::optional(order) : std::nullopt;
}

static bool rearrange(Chain &chain, const IndexMap &map, const Shape &to) {
  std::optional<Sizes> order = getOperandOrder(map);
  if (!order)
    return false;
  Sizes sizes, permutation(order->size());
  for (auto [position, digit] : llvm::enumerate(*order)) {
    sizes.push_back(map.digits()[digit].size);
    permutation[digit] = position;
  }
  if (!llvm::is_sorted(permutation)) {
    chain.reshape(sizes);
    chain.transpose(permutation);
  }
  chain.reshape(to.dimensions());
  return true;
}

//===----------------------------------------------------------------------===//
// Memory as an array
//===----------------------------------------------------------------------===//

namespace {
/// How an array becomes its memory: padded, cut into digits, which are put into
/// the order of the axes, and made one dimension.
struct MemoryForm {
  /// The dimensions, and one of size 1 for each axis of nothing but padding.
  Sizes sizes;
  Sizes padded;
  Sizes digits;
  /// For each axis of more than one position, the digit that it is.
  Sizes order;
  int64_t positions = 1;
  int64_t allocated = 1;

  static std::optional<MemoryForm> get(const Shape &shape);

  void writeTo(Chain &chain) const;
  void readFrom(Chain &chain, const Shape &to) const;

private:
  static constexpr int64_t kNoDigit = -1;

  /// Appends the digits of a dimension, axes by growing divisor.
  bool addDimension(llvm::ArrayRef<std::pair<int64_t, int64_t>> axes,
                    const AxisList &list);
};
} // namespace

/// For each dimension the divisors of its axes, with their numbers; behind them
/// axes of padding. Nothing where an axis is not one digit.
static std::optional<std::vector<std::vector<std::pair<int64_t, int64_t>>>>
getAxes(const AxisList &list) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> axes(
      list.dimensions().size());
  for (auto [number, axis] : llvm::enumerate(list.axes())) {
    if (std::optional<Digit> digit = axis.index.asDigit())
      axes[digit->variable].emplace_back(digit->divisor, number);
    else if (!axis.index.isZero())
      return std::nullopt;
    else if (axis.extent.value != 1)
      axes.push_back({{1, number}});
  }
  for (auto &ofDimension : axes)
    llvm::sort(ofDimension);
  return axes;
}

bool MemoryForm::addDimension(llvm::ArrayRef<std::pair<int64_t, int64_t>> axes,
                              const AxisList &list) {
  int64_t product = 1;
  for (auto [divisor, number] : axes) {
    if (divisor != product)
      return false;
    product *= list[number].extent.value;
  }
  padded.push_back(product);
  for (auto [divisor, number] : llvm::reverse(axes)) {
    order[number] = digits.size();
    digits.push_back(list[number].extent.value);
  }
  return product >= sizes[padded.size() - 1];
}

std::optional<MemoryForm> MemoryForm::get(const Shape &shape) {
  llvm::Expected<AxisList> list = AxisList::getStatic(shape);
  if (!list) {
    llvm::consumeError(list.takeError());
    return std::nullopt;
  }
  auto axes = getAxes(*list);
  if (!axes)
    return std::nullopt;
  MemoryForm form;
  form.sizes.assign(shape.dimensions().begin(), shape.dimensions().end());
  form.sizes.resize(axes->size(), 1);
  form.order.resize(list->size(), kNoDigit);
  for (const auto &ofDimension : *axes)
    if (!form.addDimension(ofDimension, *list))
      return std::nullopt;
  llvm::erase(form.order, kNoDigit);
  form.positions = list->numPositions();
  form.allocated = list->numAllocated();
  return form;
}

void MemoryForm::writeTo(Chain &chain) const {
  chain.reshape(sizes);
  chain.pad(padded);
  chain.reshape(digits);
  chain.transpose(order);
  chain.reshape(positions);
  chain.pad(allocated);
}

void MemoryForm::readFrom(Chain &chain, const Shape &to) const {
  chain.slice(positions);
  Sizes axes, inverse(order.size());
  for (auto [axis, digit] : llvm::enumerate(order)) {
    axes.push_back(digits[digit]);
    inverse[digit] = axis;
  }
  chain.reshape(axes);
  chain.transpose(inverse);
  chain.reshape(padded);
  chain.slice(sizes);
  chain.reshape(to.dimensions());
}

/// Whether the bits of elements may be read as elements of another type.
static bool mayConvert(const Shape &from, const Shape &to) {
  auto isDense = [](const Shape &shape) {
    int64_t bits = getBitWidth(shape.elementType());
    return getStorageBits(shape.elementType(), shape.layoutOrDefault()) == bits;
  };
  return isDense(from) && isDense(to) && !isComplex(from.elementType()) &&
         !isComplex(to.elementType());
}

/// Reads one dimension of elements as elements of another type.
static bool reinterpret(Chain &chain, const Shape &from, const Shape &to) {
  if (from.elementType() == to.elementType())
    return getStorageBits(from.elementType(), from.layoutOrDefault()) ==
           getStorageBits(to.elementType(), to.layoutOrDefault());
  if (!mayConvert(from, to))
    return false;
  int64_t fromBits = getBitWidth(from.elementType());
  int64_t toBits = getBitWidth(to.elementType());
  auto bits = llvm::checkedMul(chain.getSizes().front(), fromBits);
  if (!bits || *bits % toBits != 0)
    return false;
  if (fromBits < toBits)
    chain.reshape({*bits / toBits, toBits / fromBits});
  chain.convert(to.elementType());
  chain.reshape(*bits / toBits);
  return true;
}

static bool goThroughMemory(Chain &chain, const Shape &from, const Shape &to) {
  auto fromForm = MemoryForm::get(from), toForm = MemoryForm::get(to);
  if (!fromForm || !toForm)
    return false;
  fromForm->writeTo(chain);
  if (!reinterpret(chain, from, to) ||
      chain.getSizes() != llvm::ArrayRef(toForm->allocated))
    return false;
  toForm->readFrom(chain, to);
  return true;
}

//===----------------------------------------------------------------------===//
// Bitcasts
//===----------------------------------------------------------------------===//

/// Arrays of no elements are one as good as the other.
static bool reshapeNothing(Chain &chain, const Shape &from, const Shape &to) {
  if (!llvm::is_contained(from.dimensions(), 0) ||
      !llvm::is_contained(to.dimensions(), 0))
    return false;
  chain.reshape(0);
  if (!reinterpret(chain, from, to))
    return false;
  chain.reshape(to.dimensions());
  return true;
}

/// The steps from one array to the other; nothing where they are not known.
static std::optional<Chain> expand(const Shape &from, const Shape &to) {
  if (!from.isStaticArray() || !to.isStaticArray())
    return std::nullopt;
  if (from.elementType() == to.elementType() || mayConvert(from, to))
    if (std::optional<IndexMap> map = getBitcastMap(from, to)) {
      Chain chain(from);
      chain.convert(to.elementType());
      if (rearrange(chain, *map, to))
        return chain;
    }
  Chain chain(from);
  if (reshapeNothing(chain, from, to) || goThroughMemory(chain, from, to))
    return chain;
  return std::nullopt;
}

namespace {
/// Writes the steps of the bitcasts of one computation.
class Expander {
public:
  Expander(Module &module, Computation &computation);

  /// Whether all was expanded.
  bool run(std::vector<SourceDiagnostic> &errors);

private:
  bool expandOne(Instruction &bitcast);
  void write(Instruction &bitcast, llvm::ArrayRef<Step> steps);
  llvm::ArrayRef<Instruction *> getOperands(const Step &step,
                                            Instruction *operand);
  llvm::StringRef makeName(llvm::StringRef stem);

  const Module &module;
  Rewriter rewriter;
  Computation &computation;
  llvm::StringSet<> names;
  std::vector<Instruction *> body;
  llvm::SmallVector<Instruction *, 2> operands;
};
} // namespace

Expander::Expander(Module &module, Computation &computation)
    : module(module), rewriter(module), computation(computation) {
  for (const Instruction *instruction : computation.instructions())
    names.insert(instruction->name);
}

llvm::StringRef Expander::makeName(llvm::StringRef stem) {
  for (unsigned number = 0;; ++number) {
    std::string name = (stem + ".step" + llvm::Twine(number)).str();
    if (names.insert(name).second)
      return rewriter.own(llvm::Twine(name));
  }
}

/// The operand, and of a pad what padding is: zeros, which nobody reads.
llvm::ArrayRef<Instruction *> Expander::getOperands(const Step &step,
                                                    Instruction *operand) {
  operands = {operand};
  if (step.opcode == Opcode::Pad) {
    PrimitiveType type = step.result.elementType();
    Instruction *zero =
        rewriter.create(Opcode::Constant, makeName(operand->name),
                        Shape::array(type, {}, Layout()), {});
    zero->payload = type == PrimitiveType::Pred ? "false"
                    : isComplex(type)           ? "(0, 0)"
                                                : "0";
    body.push_back(zero);
    operands.push_back(zero);
  }
  return operands;
}

/// The last step takes the place of the bitcast, with its name and layout.
void Expander::write(Instruction &bitcast, llvm::ArrayRef<Step> steps) {
  Instruction *operand = bitcast.operands.front();
  for (auto [number, step] : llvm::enumerate(steps)) {
    llvm::SmallVector<Attribute, 4> attributes;
    if (!step.attribute.empty())
      attributes.push_back({step.attribute,
                            rewriter.own(llvm::Twine(step.text)),
                            AttributeKind::IntList,
                            {},
                            {},
                            {}});
    bool isLast = number + 1 == steps.size();
    if (isLast)
      llvm::append_range(attributes, bitcast.attributes);
    Instruction *next = rewriter.create(
        step.opcode, isLast ? bitcast.name : makeName(bitcast.name),
        isLast ? *bitcast.shape : step.result, getOperands(step, operand),
        attributes);
    if (isLast) {
      bitcast.opcode = next->opcode;
      bitcast.operands = next->operands;
      bitcast.attributes = next->attributes;
    } else {
      body.push_back(next);
    }
    operand = next;
  }
  if (steps.empty())
    bitcast.opcode = Opcode::Copy;
}

bool Expander::expandOne(Instruction &bitcast) {
  std::optional<Chain> chain =
      expand(*bitcast.operands.front()->shape, *bitcast.shape);
  if (chain)
    write(bitcast, chain->steps());
  return chain.has_value();
}

static SourceDiagnostic makeError(const Module &module,
                                  const Instruction &bitcast) {
  SourceDiagnostic error;
  error.location = module.getLocation(bitcast.name);
  error.diagnostic.kind = DiagnosticKind::Unsupported;
  error.diagnostic.field = "bitcast";
  error.diagnostic.expected = "arrays of static shape whose axes are digits of "
                              "dimensions, and whose elements are as wide as "
                              "in memory";
  error.diagnostic.found = bitcast.operands.front()->shape->toString() +
                           " read as " + bitcast.shape->toString();
  return error;
}

bool Expander::run(std::vector<SourceDiagnostic> &errors) {
  bool isRight = true;
  for (Instruction *instruction : computation.instructions()) {
    bool isBitcast =
        instruction->opcode == Opcode::Bitcast && !instruction->asyncWrapped;
    if (isBitcast && !expandOne(*instruction)) {
      errors.push_back(makeError(module, *instruction));
      isRight = false;
    }
    body.push_back(instruction);
  }
  rewriter.setBody(computation, std::move(body));
  return isRight;
}

bool tessera::expandBitcasts(Module &module,
                             std::vector<SourceDiagnostic> &errors) {
  bool isRight = true;
  for (Computation *computation : module.computations())
    isRight &= Expander(module, *computation).run(errors);
  return isRight;
}
