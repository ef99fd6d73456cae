//===- Frames.cpp - Operations whose elements have one order --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axes of an operation are split into digits, which stand in the node in an
// order that operands alone say: the first operand goes down, then the second.
// So an operation on transposed operands is the node of the one that is not,
// with another map of the result's elements.
//
//===----------------------------------------------------------------------===//

#include "Axes.h"
#include "Terms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;
using Kind = FlowAxis::Kind;
using Digits = IndexMap::Digits;

namespace {
/// A digit of an axis, with its stride in each operand.
struct JointDigit {
  int64_t size = 1;
  llvm::SmallVector<int64_t, 3> strides;
  /// In the numbers of the node's elements.
  int64_t stride = 0;
  /// Among the digits of the operation, in the order of its axes.
  size_t place = 0;
  /// The node counts it from the end.
  bool isReversed = false;
};

/// What is known of an axis.
struct AxisDigits {
  /// Sizes in each operand and, last, the result; -1 where they have none.
  llvm::SmallVector<int64_t, 4> sizes;
  /// Of each operand.
  llvm::SmallVector<Digits, 3> digits;
  /// Of all operands together, most major first; not of Whole.
  std::vector<JointDigit> joint;
  /// Of Whole: the stride in the node.
  int64_t stride = 0;
};

/// Makes one node.
class Framer {
public:
  Framer(TermTable &terms, const AxisForm &form, ArrayRef<Term> operands)
      : terms(terms), form(form), operands(operands), axes(form.axes.size()) {}

  bool run();
  std::string describe() const;
  std::vector<Term> getOperands(ArrayRef<Term> all) const;
  IndexMap getResultMap() const;
  int64_t count() const { return elements; }

private:
  bool splitOperands();
  bool splitAxis(AxisDigits &axis, Kind kind);
  void turn(JointDigit &digit);
  bool order();
  bool countElements();
  void makeOperands();

  TermTable &terms;
  const AxisForm &form;
  ArrayRef<Term> operands;
  std::vector<AxisDigits> axes;
  llvm::SmallVector<int64_t, 3> offsets;
  std::vector<unsigned> wholes;
  std::vector<JointDigit *> each, summed;
  std::vector<Term> framed;
  int64_t elements = 1, sums = 1;
};
} // namespace

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

/// The sizes of the digits that all maps can be split into, most major first;
/// nothing where there are none.
static std::optional<llvm::SmallVector<int64_t, 6>>
getCommonSizes(ArrayRef<IndexMap> maps) {
  llvm::SmallVector<int64_t, 8> cuts;
  for (const IndexMap &map : maps) {
    int64_t below = 1;
    for (MapDigit digit : llvm::reverse(map.digits()))
      cuts.push_back(below *= digit.size);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  llvm::SmallVector<int64_t, 6> sizes;
  int64_t below = 1;
  for (int64_t cut : cuts) {
    if (cut % below != 0)
      return std::nullopt;
    sizes.push_back(cut / below);
    below = cut;
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

/// The digits of an axis, as all operands see them.
static std::optional<std::vector<JointDigit>>
getJointDigits(ArrayRef<IndexMap> maps) {
  auto sizes = getCommonSizes(maps);
  if (!sizes)
    return std::nullopt;
  std::vector<JointDigit> joint(sizes->size());
  for (const IndexMap &map : maps) {
    auto parts = map.split(*sizes);
    if (!parts)
      return std::nullopt;
    for (auto [digit, size, part] : llvm::zip_equal(joint, *sizes, *parts)) {
      // A part of several digits would have been cut there.
      digit.size = size;
      digit.strides.push_back(part.empty() ? 0 : part.front().stride);
    }
  }
  return joint;
}

/// An axis that an array does not have is one of one index.
static int64_t getSize(int64_t size) { return size == -1 ? 1 : size; }

/// Sets the sizes of all axes, and the digits that operands have of them.
bool Framer::splitOperands() {
  for (AxisDigits &axis : axes) {
    axis.sizes.assign(operands.size() + 1, -1);
    axis.digits.resize(operands.size());
  }
  for (auto [number, operand] : llvm::enumerate(form.operands)) {
    const IndexMap &map = terms.map(operands[number].map);
    llvm::SmallVector<int64_t, 6> sizes;
    for (AxisDimension dimension : operand.dimensions)
      sizes.push_back(dimension.size);
    auto parts = map.split(sizes);
    if (!parts)
      return false;
    for (auto [dimension, part] : llvm::zip_equal(operand.dimensions, *parts)) {
      axes[dimension.axis].sizes[number] = dimension.size;
      axes[dimension.axis].digits[number] = part;
    }
    offsets.push_back(map.offset());
  }
  for (AxisDimension dimension : form.result)
    axes[dimension.axis].sizes.back() = dimension.size;
  return true;
}

/// Sets the joint digits of an axis that can be split.
bool Framer::splitAxis(AxisDigits &axis, Kind kind) {
  int64_t size = *llvm::max_element(axis.sizes);
  // What is not there may be so because it has one index.
  bool isInResult = axis.sizes.back() != -1;
  if (size > 1 && isInResult != (kind == Kind::Each))
    return false;
  if (size == 0 || llvm::any_of(axis.sizes, [&](int64_t other) {
        return other != size && other != -1;
      }))
    return false;
  std::vector<IndexMap> maps;
  for (auto [ofOperand, digits] : llvm::zip(axis.sizes, axis.digits))
    maps.push_back(
        ofOperand == -1
            ? IndexMap::get(MapDigit{std::max<int64_t>(size, 1), 0}, 0)
            : IndexMap::get(digits, 0));
  if (maps.empty() && size > 1)
    maps.push_back(IndexMap::get(MapDigit{size, 0}, 0));
  auto joint = getJointDigits(maps);
  if (!joint)
    return false;
  axis.joint = std::move(*joint);
  for (JointDigit &digit : axis.joint) {
    digit.strides.resize(operands.size());
    turn(digit);
  }
  return true;
}

/// Lets the first operand that has the digit go up.
void Framer::turn(JointDigit &digit) {
  auto *first =
      llvm::find_if(digit.strides, [](int64_t stride) { return stride != 0; });
  if (first == digit.strides.end() || *first > 0)
    return;
  digit.isReversed = true;
  // The last index of a digit is an element too, so nothing overflows.
  for (auto [offset, stride] : llvm::zip_equal(offsets, digit.strides)) {
    offset += (digit.size - 1) * stride;
    stride = -stride;
  }
}

//===----------------------------------------------------------------------===//
// The order of the node's elements
//===----------------------------------------------------------------------===//

static bool isEarlier(const JointDigit *lhs, const JointDigit *rhs) {
  return lhs->strides != rhs->strides ? lhs->strides > rhs->strides
                                      : lhs->place < rhs->place;
}

/// Puts axes that are whole in front, by what they are, and then the digits of
/// the others: of those of the result the ones that some operand has.
bool Framer::order() {
  for (auto [number, axis] : llvm::enumerate(axes)) {
    Kind kind = form.axes[number].kind;
    if (kind == Kind::Whole)
      wholes.push_back(number);
    for (JointDigit &digit : axis.joint) {
      digit.place = each.size() + summed.size();
      bool isRead = llvm::any_of(digit.strides,
                                 [](int64_t stride) { return stride != 0; });
      if (kind == Kind::Sum)
        summed.push_back(&digit);
      else if (isRead)
        each.push_back(&digit);
    }
  }
  auto isBefore = [&](unsigned lhs, unsigned rhs) {
    if (form.axes[lhs].label != form.axes[rhs].label)
      return form.axes[lhs].label < form.axes[rhs].label;
    if (axes[lhs].sizes != axes[rhs].sizes)
      return axes[lhs].sizes > axes[rhs].sizes;
    for (auto [l, r] : llvm::zip_equal(axes[lhs].digits, axes[rhs].digits))
      if (!l.empty() && !r.empty() && l.back().stride != r.back().stride)
        return l.back().stride > r.back().stride;
    return lhs < rhs;
  };
  llvm::sort(wholes, isBefore);
  llvm::sort(each, isEarlier);
  llvm::sort(summed, isEarlier);
  return countElements();
}

/// Multiplies `product`; false on overflow, and where there are no elements.
static bool multiply(int64_t &product, int64_t size) {
  std::optional<int64_t> result = llvm::checkedMul(product, size);
  product = result.value_or(0);
  return product > 0;
}

/// Sets the strides of digits in the node and the number of its elements; false
/// on overflow, also of the number that an operand has.
bool Framer::countElements() {
  elements = 1;
  for (JointDigit *digit : llvm::reverse(each)) {
    digit->stride = elements;
    if (!multiply(elements, digit->size))
      return false;
  }
  for (JointDigit *digit : summed)
    if (!multiply(sums, digit->size))
      return false;
  int64_t most = elements;
  if (!multiply(most, sums))
    return false;
  bool doAllFit =
      llvm::all_of(llvm::seq<size_t>(0, operands.size()), [&](size_t number) {
        int64_t count = most;
        return llvm::all_of(wholes, [&](unsigned whole) {
          return multiply(count, getSize(axes[whole].sizes[number]));
        });
      });
  if (!doAllFit)
    return false;
  for (unsigned whole : llvm::reverse(wholes)) {
    axes[whole].stride = elements;
    multiply(elements, getSize(axes[whole].sizes.back()));
  }
  // A product that is none stays so.
  return elements > 0;
}

/// The maps of operands whose elements have the node's order.
void Framer::makeOperands() {
  for (auto [number, operand] : llvm::enumerate(operands)) {
    Digits digits;
    for (unsigned whole : wholes)
      llvm::append_range(digits, axes[whole].digits[number]);
    for (const auto &list : {each, summed})
      for (const JointDigit *digit : list)
        digits.push_back({digit->size, digit->strides[number]});
    framed.push_back(
        {operand.node, terms.getMap(IndexMap::get(digits, offsets[number]))});
  }
}

bool Framer::run() {
  if (!splitOperands())
    return false;
  for (auto [axis, said] : llvm::zip_equal(axes, form.axes))
    if (said.kind != Kind::Whole && !splitAxis(axis, said.kind))
      return false;
  if (!order())
    return false;
  makeOperands();
  return true;
}

/// What the operation does but for its operands: all that the order of their
/// elements does not say.
std::string Framer::describe() const {
  std::string text;
  if (!summed.empty())
    text = " sum " + llvm::itostr(sums);
  for (unsigned whole : wholes) {
    text += " along (" + form.axes[whole].label;
    for (int64_t size : axes[whole].sizes)
      text += " " + llvm::itostr(getSize(size));
    text += ")";
  }
  return text;
}

/// Arrays in the node's order, then scalars that belong to axes.
std::vector<Term> Framer::getOperands(ArrayRef<Term> all) const {
  std::vector<Term> result(framed);
  for (unsigned whole : wholes)
    for (unsigned scalar : form.axes[whole].scalars)
      result.push_back(all[scalar]);
  return result;
}

/// Of the result's elements to those of the node.
IndexMap Framer::getResultMap() const {
  Digits digits;
  int64_t offset = 0;
  for (AxisDimension dimension : form.result) {
    const AxisDigits &axis = axes[dimension.axis];
    if (form.axes[dimension.axis].kind == Kind::Whole) {
      digits.push_back({dimension.size, axis.stride});
      continue;
    }
    for (const JointDigit &digit : axis.joint) {
      int64_t stride = digit.isReversed ? -digit.stride : digit.stride;
      offset += digit.isReversed ? (digit.size - 1) * digit.stride : 0;
      digits.push_back({digit.size, stride});
    }
  }
  return IndexMap::get(digits, offset);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

std::optional<Term> TermTable::getFramed(TermNode::Kind kind, StringRef label,
                                         ArrayRef<Term> functions,
                                         ArrayRef<Term> all,
                                         const AxisForm &form,
                                         const hlo::Instruction *instruction,
                                         unsigned side) {
  llvm::SmallVector<Term, 3> arrays;
  for (const AxisForm::Operand &operand : form.operands)
    arrays.push_back(all[operand.number]);
  Framer framer(*this, form, arrays);
  if (!framer.run())
    return std::nullopt;
  std::vector<Term> operands = functions.vec();
  llvm::append_range(operands, framer.getOperands(all));
  unsigned node = getNode(kind, (label + framer.describe()).str(), operands,
                          framer.count(), instruction, side);
  return Term{node, getMap(framer.getResultMap())};
}

/// An operation on each element that a move gives is the move of what it makes
/// of those that are moved.
std::optional<Term>
TermTable::getMovedBehind(StringRef label, Term operand,
                          const hlo::Instruction *instruction, unsigned side) {
  constexpr unsigned kMaxDepth = 100;
  unsigned numMoved = nodes[operand.node].numMoved;
  if (numMoved == 0 || depthBehind >= kMaxDepth)
    return std::nullopt;
  std::pair<unsigned, unsigned> key(internLabel(label), operand.node);
  auto known = movedBehind.find(key);
  if (known != movedBehind.end())
    return Term{known->second, operand.map};
  llvm::SaveAndRestore deeper(depthBehind, depthBehind + 1);
  TermNode move = nodes[operand.node];
  for (Term &moved : llvm::MutableArrayRef(move.operands).take_front(numMoved))
    moved =
        getElementwise(label, moved, map(moved.map).count(), instruction, side);
  unsigned node = getNode(move.kind, move.label, move.operands, move.count,
                          move.instructions[side], side);
  setMoved(node, numMoved);
  movedBehind[key] = node;
  return Term{node, operand.map};
}

Term TermTable::getElementwise(StringRef label, ArrayRef<Term> operands,
                               int64_t count,
                               const hlo::Instruction *instruction,
                               unsigned side) {
  constexpr auto kKind = TermNode::Kind::Elementwise;
  if (operands.size() == 1)
    if (auto moved = getMovedBehind(label, operands.front(), instruction, side))
      return *moved;
  // One map of all operands is as good after the operation as before it.
  bool haveOneMap = llvm::all_of(operands, [&](Term term) {
    return term.map == operands.front().map &&
           nodes[term.node].count == nodes[operands.front().node].count;
  });
  if (haveOneMap && !operands.empty() && count > 0) {
    llvm::SmallVector<Term, 3> wholes;
    for (Term term : operands)
      wholes.push_back(getWhole(term.node));
    unsigned node =
        getNode(kKind, label, wholes, nodes[operands.front().node].count,
                instruction, side);
    return {node, operands.front().map};
  }
  AxisForm form;
  form.axes.emplace_back();
  form.result = {{count, 0}};
  for (unsigned number = 0; number < operands.size(); ++number)
    form.operands.push_back({number, {{count, 0}}});
  if (auto framed =
          getFramed(kKind, label, {}, operands, form, instruction, side))
    return *framed;
  return getWhole(getNode(kKind, label, operands, count, instruction, side));
}
