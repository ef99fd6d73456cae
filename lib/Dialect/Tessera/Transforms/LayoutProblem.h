//===- LayoutProblem.h - Choices of encodings in IR -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relayouts that stay in their memory space are no operations here: what uses
// one uses what it relayouts, and says which encoding it wants. A value has a
// variable for its encoding, together with all that it is tied to, and where
// several uses may want others, one for the copies of it that they share.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_LAYOUTPROBLEM_H
#define TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_LAYOUTPROBLEM_H

#include "Runs.h"

#include "tessera/Assign/CostGraph.h"
#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Layout/Target.h"

#include "mlir/IR/Dominance.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

struct LayoutProblemOptions {
  /// How often a loop runs, and how large a dimension is, where that is not
  /// known.
  int64_t unknownTrips = 10;
  int64_t unknownSize = 1024;
  unsigned maxCandidates = 6;
  /// Whose default layouts are candidates; may be null.
  TargetAttr target;
};

/// The encodings of tensors below an operation, and what they cost.
class LayoutProblem {
public:
  LayoutProblem(mlir::Operation *root, LayoutProblemOptions options);

  /// What is moved now. Nothing where that exceeds int64.
  std::optional<int64_t> countBytes();
  llvm::Expected<Solution> solve();

  /// Rewrites the IR below the root: types, and relayouts where they differ.
  struct Changes {
    int64_t changed = 0, erased = 0, inserted = 0;
  };
  Changes apply(const Choices &choices);

private:
  using Encodings = llvm::SmallVector<mlir::Attribute, 4>;
  /// An encoding of a value, and those of copies of it.
  using Versions = llvm::SmallVector<mlir::Attribute, 3>;

  /// Values that have one encoding: those of a tie, or one whose type stays.
  struct Node {
    LayoutTie tie;
    /// What is read or written as a whole, and by what.
    std::vector<std::pair<mlir::RankedTensorType, mlir::Operation *>> touched;
    /// The first is what it has.
    Encodings candidates;
    bool isPinned = false;
  };
  /// A use that wants the encoding of a node: of a value, or of a relayout of
  /// it.
  struct Use {
    mlir::OpOperand *operand;
    unsigned node;
  };
  /// A value, its uses, and its encoding together with its copies, where there
  /// is a variable for that.
  struct Source {
    unsigned node = 0;
    std::vector<Use> uses;
    /// Its encoding, and those of copies that several uses share: a set of them
    /// for each choice of its variable, if it has one.
    std::vector<Versions> versions;
    std::optional<unsigned> variable;
    /// Where copies are made, and how often that runs.
    mlir::Block *place = nullptr;
    int64_t runs = 1;
  };

  void addNodes();
  void addTies(std::vector<LayoutTie> &ties);
  void addCallTies(std::vector<LayoutTie> &ties);
  void addTouched(mlir::Operation *op);
  void addNode(llvm::ArrayRef<const LayoutTie *> ties);
  unsigned addPinned(mlir::Attribute encoding);
  unsigned getNode(mlir::Value value);
  void addUses(mlir::Operation *op);
  void addRelations(mlir::Operation *op);

  void addCandidates();
  void addCandidate(unsigned number, mlir::Attribute encoding);
  void addInduced(const LayoutRelation &relation, bool isResult,
                  mlir::Attribute encoding);
  void findRule();
  void addDefaults();
  void propagate();
  void addVersions();
  void addVersions(mlir::Value value, Source &source);
  mlir::Block *findPlace(mlir::Value value,
                         llvm::ArrayRef<mlir::OpOperand *> uses);

  void buildGraph();
  void addSource(mlir::Value value, Source &source);
  void addVersionVariable(mlir::Value value, Source &source);
  void addRelation(const LayoutRelation &relation);
  int64_t getPadding(const Node &node, mlir::Attribute encoding);
  int64_t getRelayoutBytes(mlir::RankedTensorType from,
                           mlir::RankedTensorType to);
  int64_t getMovedBytes(const LayoutRelation &relation, mlir::Attribute from,
                        mlir::Attribute to);
  /// Which of `versions`, the first of which there is, each of the others is
  /// best made of, in the order in which they are made.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2>
  orderCopies(mlir::RankedTensorType type,
              llvm::ArrayRef<mlir::Attribute> versions);
  unsigned findCheapest(mlir::RankedTensorType type,
                        llvm::ArrayRef<mlir::Attribute> versions,
                        mlir::Attribute wanted);
  int64_t getBytes(mlir::RankedTensorType type) const;
  std::optional<Shape> getSized(mlir::RankedTensorType type) const {
    return getSizedShape(type, options.unknownSize);
  }
  bool isTransparent(mlir::Operation *op) const;
  mlir::Value getOrigin(mlir::Value value) const;

  void setTypes(const Choices &choices, Changes &changes);
  void setFunctionTypes();
  void relayoutUses(mlir::Value value, const Source &source,
                    const Choices &choices, Changes &changes);
  mlir::Value relayout(mlir::OpBuilder &builder, mlir::Value value,
                       mlir::Attribute encoding, Changes &changes);

  mlir::Operation *root;
  LayoutProblemOptions options;
  Runs runs;
  mlir::DominanceInfo dominance;
  LayoutRule rule = LayoutRule::RowMajor;
  /// Whether types say row-major order, rather than nothing.
  bool namesRowMajor = false;
  std::vector<Node> nodes;
  llvm::MapVector<mlir::Value, Source> sources;
  std::vector<LayoutRelation> relations;
  llvm::DenseMap<mlir::Value, unsigned> nodeOfValue;
  llvm::DenseMap<mlir::OpOperand *, unsigned> nodeOfUse;
  /// Of each node: nodes that its uses, or what it uses, are in, and relations
  /// that it is an operand (false) or the result of.
  std::vector<llvm::SmallVector<unsigned, 4>> neighbours;
  std::vector<llvm::SmallVector<std::pair<unsigned, bool>, 2>> joined;
  std::vector<std::pair<unsigned, mlir::Attribute>> worklist;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, int64_t> relayoutBytes;
  CostGraph graph;
};

} // namespace tessera

#endif // TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_LAYOUTPROBLEM_H
