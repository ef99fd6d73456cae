//===- LayoutProblem.h - Choices of encodings in IR -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_LAYOUTPROBLEM_H
#define TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_LAYOUTPROBLEM_H

#include "tessera/Assign/CostGraph.h"
#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Layout/Target.h"

namespace tessera {

struct LayoutProblemOptions {
  int64_t unknownTrips = 10;
  unsigned maxCandidates = 6;
  /// Whose default layouts are candidates; may be null.
  TargetAttr target;
};

/// The encodings of tensors below an operation, and what they cost.
class LayoutProblem {
public:
  LayoutProblem(mlir::Operation *root, LayoutProblemOptions options);

  /// What is moved now. Nothing where that exceeds int64.
  std::optional<int64_t> getBytes() const;
  llvm::Expected<Solution> solve();

  /// Rewrites the IR below the root: types, and relayouts where they differ.
  struct Changes {
    int64_t changed = 0, erased = 0, inserted = 0;
  };
  Changes apply(const Choices &choices);

private:
  /// Values that have one encoding: those of a tie, the result of a relayout,
  /// or one whose type stays.
  struct Node {
    LayoutTie tie;
    llvm::SmallVector<mlir::Attribute, 4> candidates;
    bool isPinned = false;
  };
  /// A use of a value where another encoding may be wanted.
  struct Edge {
    unsigned from, to;
    mlir::OpOperand *use;
  };

  void addNodes(mlir::Operation *op);
  void addNode(LayoutTie tie);
  unsigned addPinned(mlir::Attribute encoding);
  unsigned getNode(mlir::Value value);
  void addEdges(mlir::Operation *op);
  void addCandidates();
  bool addCandidate(unsigned node, mlir::Attribute encoding);
  void addDefaults();
  void buildGraph();
  int64_t getUnaryCost(const Node &node, mlir::Attribute encoding);
  void addCosts(const Edge &edge);
  int64_t getTrips(mlir::Operation *op) const;
  int64_t getRelayoutBytes(mlir::RankedTensorType from,
                           mlir::RankedTensorType to);
  void setTypes(const Choices &choices, Changes &changes);
  void addRelayout(const Edge &edge, mlir::Attribute wanted, Changes &changes);

  mlir::Operation *root;
  LayoutProblemOptions options;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  llvm::DenseMap<mlir::Value, unsigned> nodeOfValue;
  llvm::DenseMap<mlir::OpOperand *, unsigned> nodeOfUse;
  llvm::SmallVector<RelayoutOp> relayouts;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, int64_t> relayoutBytes;
  CostGraph graph;
};

} // namespace tessera

#endif // TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_LAYOUTPROBLEM_H
