//===- Prove.cpp - Whether two modules compute the same -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal functions are one node. Where they are not, the search goes down to the
// first node whose operands are the same and which is not.
//
//===----------------------------------------------------------------------===//

#include "tessera/DataFlow/Prove.h"

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using hlo::Instruction;
using llvm::StringRef;
using Kind = TermNode::Kind;

namespace {
/// Looks for what differs between two terms.
class DifferenceFinder {
public:
  explicit DifferenceFinder(const TermTable &terms) : terms(terms) {}

  FlowAnswer find(Term before, Term after);

private:
  FlowAnswer compareMaps(Term before, Term after);
  FlowAnswer compareNodes(const TermNode &before, const TermNode &after);
  FlowAnswer answer(Answer answer, const llvm::Twine &reason) const;

  const TermTable &terms;
  /// The nodes that use what is compared.
  const TermNode *users[2] = {nullptr, nullptr};
  /// What is compared goes into an operation that is the same with its parts in
  /// another order: the arrays of a loop's state, and factors.
  bool mayBeReordered = false;
};
} // namespace

/// What a node is, for people.
static std::string describe(const TermNode &node) {
  StringRef label = node.label;
  if (label.starts_with("parameter ")) {
    auto [number, rest] = label.substr(strlen("parameter ")).split(' ');
    auto [leaf, type] = rest.split(' ');
    return ("parameter " + number +
            (leaf == "0" ? "" : ", leaf " + leaf.str()) + ", " + type)
        .str();
  }
  if (node.kind == Kind::Function)
    return "a " + label.str();
  StringRef name = label.split(' ').first;
  for (const Instruction *instruction : node.instructions)
    if (instruction)
      return ("%" + instruction->name + ", " + name).str();
  return name.str();
}

/// The instruction of this module that the node is.
static const Instruction *getInstruction(const TermNode &node, unsigned side) {
  return node.instructions[side];
}

FlowAnswer DifferenceFinder::answer(Answer answer,
                                    const llvm::Twine &reason) const {
  FlowAnswer result;
  result.answer = answer;
  result.reason = reason.str();
  if (mayBeReordered && answer == Answer::No) {
    result.answer = Answer::Unknown;
    result.reason += ", in a loop or a sum of products whose parts may be in "
                     "another order";
  }
  if (users[0])
    result.before = getInstruction(*users[0], 0);
  if (users[1])
    result.after = getInstruction(*users[1], 1);
  return result;
}

static std::string toText(llvm::ArrayRef<int64_t> index) {
  std::string text = "(";
  llvm::raw_string_ostream os(text);
  llvm::interleave(index, os, ",");
  return text + ")";
}

/// An element of a node, by the sizes that its instruction gives, if those are
/// the node's.
static std::string describeElement(const TermNode &node, int64_t element) {
  for (const Instruction *instruction : node.instructions) {
    if (!instruction || !instruction->shape->isArray() ||
        node.kind == Kind::Elementwise)
      continue;
    llvm::ArrayRef<int64_t> sizes = instruction->shape->dimensions();
    if (countElements(sizes) == node.count)
      return toText(getIndex(sizes, element));
  }
  return "number " + std::to_string(element);
}

/// One node, read in two ways.
FlowAnswer DifferenceFinder::compareMaps(Term before, Term after) {
  const TermNode &node = terms.node(before.node);
  const IndexMap &lhs = terms.map(before.map), &rhs = terms.map(after.map);
  std::optional<int64_t> element = IndexMap::findDifference(lhs, rhs);
  if (!element)
    return answer(Answer::Unknown,
                  "other numbers of elements are read of " + describe(node));
  // Elements at different positions may still be equal: those of a constant, or
  // of a move whose elements are not followed.
  Answer kind = node.kind == Kind::Move ? Answer::Unknown : Answer::No;
  FlowAnswer result =
      answer(kind, "element number " + llvm::Twine(*element) + " is element " +
                       describeElement(node, lhs(*element)) + " of " +
                       describe(node) + " before, and element " +
                       describeElement(node, rhs(*element)) + " after");
  result.witness =
      FlowAnswer::Witness{*element, {lhs(*element), rhs(*element)}};
  return result;
}

/// The opcode in front of a label; one for those that may do the same.
static StringRef getOperation(const TermNode &node) {
  StringRef name = node.label.split(' ').first;
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"convolution", "dot"}, "sum-of-products")
      .Case("reduce-window", "reduce")
      .Default(name);
}

/// Whether what stands in front of one of two nodes may be a move on one side,
/// and have been moved behind it on the other.
static bool mayHidesMove(const TermNode &before, const TermNode &after) {
  if (before.kind == Kind::Move || after.kind == Kind::Move)
    return true;
  // Nobody but who made a custom call knows what it does.
  for (const TermNode *node : {&before, &after})
    if (getOperation(*node) == "custom-call")
      return true;
  // The same operation on arrays of other sizes.
  return before.kind == Kind::Operation && after.kind == Kind::Operation &&
         getOperation(before) == getOperation(after);
}

/// Two nodes of which one is not the other for what they are.
FlowAnswer DifferenceFinder::compareNodes(const TermNode &before,
                                          const TermNode &after) {
  users[0] = &before;
  users[1] = &after;
  std::string what =
      describe(before) + " before is " + describe(after) + " after";
  if (mayHidesMove(before, after))
    return answer(Answer::Unknown,
                  what + "; a move of data could be on either side of it");
  bool isOperation =
      before.kind == Kind::Elementwise || before.kind == Kind::Operation;
  if (isOperation && getOperation(before) == getOperation(after))
    what += ", with other attributes or another type";
  return answer(Answer::No, what);
}

FlowAnswer DifferenceFinder::find(Term before, Term after) {
  // Each step goes to an operand, which was made before.
  for (;;) {
    if (before.node == after.node)
      return compareMaps(before, after);
    const TermNode &lhs = terms.node(before.node);
    const TermNode &rhs = terms.node(after.node);
    bool areAlike = lhs.kind == rhs.kind && lhs.label == rhs.label &&
                    lhs.operands.size() == rhs.operands.size();
    if (!areAlike)
      return compareNodes(lhs, rhs);
    // The functions in front of an operation's operands have no user to name.
    users[0] = lhs.instructions[0] ? &lhs : users[0];
    users[1] = rhs.instructions[1] ? &rhs : users[1];
    mayBeReordered |=
        getOperation(lhs) == "while" || getOperation(lhs) == "sum-of-products";
    size_t i = 0;
    while (i < lhs.operands.size() && lhs.operands[i] == rhs.operands[i])
      ++i;
    if (i == lhs.operands.size())
      return answer(Answer::Unknown,
                    describe(lhs) + " gives other numbers of elements");
    before = lhs.operands[i];
    after = rhs.operands[i];
  }
}

/// What a caller has to know: parameters and results, without layouts.
static std::string describeBoundary(const hlo::Module &module) {
  std::string text;
  for (const Instruction *parameter : module.entry()->parameters())
    text += parameter->shape->toString(/*printLayout=*/false) + " ";
  return text + "-> " +
         module.entry()->root()->shape->toString(/*printLayout=*/false);
}

/// The constants without elements that a node is computed from, in the order in
/// which they were made.
static std::vector<const Instruction *> findElided(const TermTable &terms,
                                                   unsigned root) {
  std::vector<bool> isUsed(root + 1);
  isUsed[root] = true;
  // Operands were made before.
  for (unsigned number = root + 1; number-- > 0;)
    if (isUsed[number])
      for (const Term &operand : terms.node(number).operands)
        isUsed[operand.node] = true;
  std::vector<const Instruction *> constants;
  for (unsigned number = 0; number <= root; ++number)
    if (isUsed[number] && terms.node(number).label.contains(kElided))
      constants.push_back(terms.node(number).instructions[0]);
  return constants;
}

FlowAnswer tessera::proveSameFlow(const hlo::Module &before,
                                  const hlo::Module &after) {
  FlowAnswer result;
  std::string boundary = describeBoundary(before);
  if (boundary != describeBoundary(after)) {
    result.answer = Answer::No;
    result.reason = "parameters and results are " + boundary + " before, and " +
                    describeBoundary(after) + " after";
    return result;
  }
  TermTable terms;
  ExactTable exact;
  auto lhs = evaluateModule(before, 0, terms, exact);
  auto rhs = evaluateModule(after, 1, terms, exact);
  if (!lhs || !rhs) {
    result.reason = "calls within calls are too many to be followed";
    return result;
  }
  if (lhs->node != rhs->node)
    return DifferenceFinder(terms).find(terms.getWhole(lhs->node),
                                        terms.getWhole(rhs->node));
  result.answer = Answer::Yes;
  result.assumedEqual = findElided(terms, lhs->node);
  return result;
}
