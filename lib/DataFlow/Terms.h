//===- Terms.h - What values are computed from ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation that is no move of data is a node: a function, not looked
// into, of the elements of its operands. Equal nodes are one, also between
// modules. A value is a node and a map into its elements.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DATAFLOW_TERMS_H
#define TESSERA_LIB_DATAFLOW_TERMS_H

#include "tessera/DataFlow/IndexMap.h"
#include "tessera/HLO/Module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace tessera {

/// A value, or one leaf of a tuple: element i is element map(i) of the node.
struct Term {
  unsigned node = 0;
  unsigned map = 0;

  bool operator==(const Term &other) const {
    return node == other.node && map == other.map;
  }
  bool operator!=(const Term &other) const { return !(*this == other); }
};

/// In a label: the elements of a constant, which the text does not have. Its
/// name follows.
inline constexpr llvm::StringLiteral kElided = "{...} of %";

struct TermNode {
  enum class Kind : uint8_t {
    Leaf,        ///< A parameter or a constant.
    Elementwise, ///< Each element is of the operands' elements of its number.
    Operation,   ///< Anything else that computes.
    Move,        ///< A move of data that no map stands for.
    Function,    ///< A called computation: its results.
  };
  Kind kind = Kind::Leaf;
  /// Opcode, attributes, type, and sizes where they matter.
  llvm::StringRef label;
  std::vector<Term> operands;
  int64_t count = 0;
  /// Of a Move: the operands, in front, whose elements it hands on. Each
  /// element of it is one of theirs.
  unsigned numMoved = 0;
  /// The first instruction of each module that is this, if any.
  const hlo::Instruction *instructions[2] = {nullptr, nullptr};
};

struct AxisForm;

/// All nodes and maps.
class TermTable {
public:
  TermTable();

  /// The node that is so, made where there is none. `side` is the module that
  /// `instruction` is of.
  unsigned getNode(TermNode::Kind kind, llvm::StringRef label,
                   llvm::ArrayRef<Term> operands, int64_t count,
                   const hlo::Instruction *instruction, unsigned side);
  const TermNode &node(unsigned number) const { return nodes[number]; }
  size_t numNodes() const { return nodes.size(); }

  unsigned getMap(const IndexMap &map);
  const IndexMap &map(unsigned number) const { return *maps[number]; }

  /// The node as it is.
  Term getWhole(unsigned node) {
    return {node, getMap(IndexMap::identity(nodes[node].count))};
  }

  /// The elementwise node of operands with `count` elements each, and what maps
  /// the result's elements to it. What all operands have in common (an order
  /// of elements, a broadcast) becomes part of that map.
  Term getElementwise(llvm::StringRef label, llvm::ArrayRef<Term> operands,
                      int64_t count, const hlo::Instruction *instruction,
                      unsigned side);

  /// Says that the first operands of a node are moved, and nothing else.
  void setMoved(unsigned node, unsigned count) { nodes[node].numMoved = count; }

  /// The node of an operation over axes, and what maps each result's elements
  /// to it: of `functions`, and of the operands in `all` that the form names.
  /// Nothing where dimensions are no products of whole digits.
  std::optional<Term> getFramed(TermNode::Kind kind, llvm::StringRef label,
                                llvm::ArrayRef<Term> functions,
                                llvm::ArrayRef<Term> all, const AxisForm &form,
                                const hlo::Instruction *instruction,
                                unsigned side);

private:
  std::optional<Term> getMovedBehind(llvm::StringRef label, Term operand,
                                     const hlo::Instruction *instruction,
                                     unsigned side);
  unsigned internLabel(llvm::StringRef label);

  std::vector<TermNode> nodes;
  llvm::StringMap<unsigned> labels;
  std::map<std::vector<uint64_t>, unsigned> nodeNumbers;
  std::map<std::vector<int64_t>, unsigned> mapNumbers;
  std::vector<std::unique_ptr<IndexMap>> maps;
  /// Moves that an elementwise operation was put in front of, by its label, and
  /// how many it is being put in front of, one in another.
  std::map<std::pair<unsigned, unsigned>, unsigned> movedBehind;
  unsigned depthBehind = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_DATAFLOW_TERMS_H
