//===- LayoutPropagation.cpp - How layouts pass through -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.cpp.inc"

/// The type, where the value is a ranked tensor.
static RankedTensorType asTensor(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

std::optional<Shape> tessera::getSizedShape(RankedTensorType type,
                                            int64_t unknownSize) {
  SmallVector<int64_t> sizes(type.getShape());
  llvm::replace(sizes, ShapedType::kDynamic, unknownSize);
  auto sized =
      RankedTensorType::get(sizes, type.getElementType(), type.getEncoding());
  llvm::Expected<Shape> shape = getShape(sized);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return std::nullopt;
  }
  llvm::Error error =
      checkSupported(shape->layoutOrDefault(), shape->elementType());
  error =
      llvm::joinErrors(std::move(error), getStorageBytes(sized).takeError());
  error = llvm::joinErrors(std::move(error), getSizeOnCore(*shape).takeError());
  bool isSized = !error;
  llvm::consumeError(std::move(error));
  return isSized ? std::optional<Shape>(*shape) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

/// One of dimensions: pairs of one of the operand and one of the result.
static Relation getDimsRelation(ArrayRef<std::pair<int64_t, int64_t>> dims) {
  Relation relation;
  relation.kind = Relation::Kind::Dims;
  relation.dims.append(dims.begin(), dims.end());
  return relation;
}

/// Elements keep their numbers; nothing is known of dynamic sizes.
static Relation getReshapeRelation(RankedTensorType type) {
  Relation relation;
  relation.kind = Relation::Kind::View;
  std::optional<int64_t> count =
      type.hasStaticShape() ? countElements(type.getShape()) : std::nullopt;
  if (count)
    relation.map = IndexMap::identity(*count);
  return relation;
}

/// Dimensions of the operand that the result has, in order.
static Relation getKeptDims(int64_t rank, const llvm::SmallBitVector &dropped) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!dropped[dim])
      dims.emplace_back(dim, dims.size());
  return getDimsRelation(dims);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
template <typename Model, typename Op>
using Base = LayoutPropagationOpInterface::ExternalModel<Model, Op>;

/// A tensor without contents has any layout.
template <typename Op> struct EmptyModel : Base<EmptyModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {LayoutTie({}, op->getResult(0))};
  }
};

/// The elements are written into any layout.
template <typename Op> struct SourceModel : Base<SourceModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {LayoutTie({}, op->getResult(0), op->getResult(0))};
  }
};

/// Elements or sizes are read from any layout.
template <typename Op> struct ReaderModel : Base<ReaderModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {LayoutTie(&op->getOpOperand(0))};
  }
};

/// A constant is written down in any layout.
struct ConstantModel : Base<ConstantModel, arith::ConstantOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto constant = cast<arith::ConstantOp>(op);
    if (!isa<DenseElementsAttr>(constant.getValue()))
      return {};
    return {LayoutTie({}, constant.getResult())};
  }
};

/// One tensor with other sizes in its type.
struct CastModel : Base<CastModel, tensor::CastOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {LayoutTie(&op->getOpOperand(0), op->getResult(0))};
  }
};

/// Written in place.
struct InsertModel : Base<InsertModel, tensor::InsertOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto insert = cast<tensor::InsertOp>(op);
    return {LayoutTie(&insert.getDestMutable(), insert.getResult())};
  }
};

/// A view where both have the same bytes, else bytes are moved.
template <typename Op> struct ReshapeModel : Base<ReshapeModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {LayoutTie(&op->getOpOperand(0)), LayoutTie({}, op->getResult(0))};
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    return {LayoutRelation(op->getOpOperand(0), op->getResult(0),
                           getReshapeRelation(asTensor(op->getOperand(0))),
                           LayoutRelation::Traffic::Moved)};
  }
};

/// The user says what the result is.
struct AssumeLayoutModel : Base<AssumeLayoutModel, AssumeLayoutOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {LayoutTie(&op->getOpOperand(0))};
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    return {LayoutRelation(op->getOpOperand(0), op->getResult(0),
                           getReshapeRelation(asTensor(op->getOperand(0))),
                           LayoutRelation::Traffic::Moved)};
  }
};

/// What reads the same bytes with another shape reads the same elements of
/// others, or cannot.
struct BitcastModel : Base<BitcastModel, BitcastOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    if (!getMap(op))
      return {};
    return {LayoutTie(&op->getOpOperand(0)), LayoutTie({}, op->getResult(0))};
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    std::optional<IndexMap> map = getMap(op);
    if (!map)
      return {};
    Relation relation{Relation::Kind::View, {}, map};
    return {LayoutRelation(op->getOpOperand(0), op->getResult(0),
                           std::move(relation),
                           LayoutRelation::Traffic::Fixed)};
  }

private:
  static std::optional<IndexMap> getMap(Operation *op) {
    auto bitcast = cast<BitcastOp>(op);
    RankedTensorType from = bitcast.getSource().getType(),
                     to = bitcast.getType();
    std::optional<Shape> source = getSizedShape(from),
                         result = getSizedShape(to);
    if (bitcast.getFused() || !from.hasStaticShape() || !to.hasStaticShape() ||
        !source || !result)
      return std::nullopt;
    Shape plainSource = withoutSpace(*source),
          plainResult = withoutSpace(*result);
    if (!mayBitcast(plainSource, plainResult))
      return std::nullopt;
    return getBitcastMap(plainSource, plainResult);
  }
};

/// Elements of a part are read one by one, in any layout.
struct ExtractSliceModel : Base<ExtractSliceModel, tensor::ExtractSliceOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    return {{{&slice.getSourceMutable()}, {}},
            {{}, {slice.getResult()}, {slice.getResult()}}};
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    return {LayoutRelation(
        slice.getSourceMutable(), slice.getResult(),
        getKeptDims(slice.getSourceType().getRank(), slice.getDroppedDims()))};
  }
};

struct InsertSliceModel : Base<InsertSliceModel, tensor::InsertSliceOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    return {{{&slice.getSourceMutable()}, {}, {slice.getSource()}},
            {{&slice.getDestMutable()}, {slice.getResult()}}};
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    Relation relation =
        getKeptDims(slice.getDestType().getRank(), slice.getDroppedDims());
    for (auto &[large, small] : relation.dims)
      std::swap(large, small);
    return {
        LayoutRelation(slice.getSourceMutable(), slice.getResult(), relation)};
  }
};

/// Operands of the result's rank, read in any layout.
template <typename Op> struct SameRankModel : Base<SameRankModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    // Upstream canonicalizes a concatenation of equal fills to one without an
    // encoding.
    auto isFill = [](Value value) {
      return isa_and_present<linalg::FillOp>(value.getDefiningOp());
    };
    if (isa<tensor::ConcatOp>(op) && llvm::all_of(op->getOperands(), isFill))
      return {};
    SmallVector<LayoutTie> ties = {
        {{}, {op->getResult(0)}, {op->getResult(0)}}};
    for (OpOperand *operand : getArrays(op))
      ties.push_back({{operand}, {}, {operand->get()}});
    return ties;
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    std::vector<LayoutRelation> relations;
    Relation order{Relation::Kind::Order, {}, {}};
    for (OpOperand *operand : getArrays(op))
      relations.emplace_back(*operand, op->getResult(0), order);
    return relations;
  }

private:
  static SmallVector<OpOperand *> getArrays(Operation *op) {
    SmallVector<OpOperand *> arrays;
    for (OpOperand &operand : op->getOpOperands())
      if (asTensor(operand.get()))
        arrays.push_back(&operand);
    return arrays;
  }
};

/// What is looked up, and where, is read in any layout.
struct GatherModel : Base<GatherModel, tensor::GatherOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto gather = cast<tensor::GatherOp>(op);
    return {{{&gather.getSourceMutable()}, {}},
            {{&gather.getIndicesMutable()}, {}, {gather.getIndices()}},
            {{}, {gather.getResult()}, {gather.getResult()}}};
  }
};

/// A move to another space takes any layout there and here; what stays in one
/// space is no operation to the problem.
struct RelayoutModel : Base<RelayoutModel, RelayoutOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    if (!cast<RelayoutOp>(op).isTensorForm())
      return {};
    return {LayoutTie(&op->getOpOperand(0)), LayoutTie({}, op->getResult(0))};
  }
  std::vector<LayoutRelation> getLayoutRelations(Operation *op) const {
    if (!cast<RelayoutOp>(op).isTensorForm())
      return {};
    Relation order{Relation::Kind::Order, {}, {}};
    return {LayoutRelation(op->getOpOperand(0), op->getResult(0), order,
                           LayoutRelation::Traffic::Always)};
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

/// The tie of the first init that has the same indices.
static LayoutTie *findSame(linalg::LinalgOp op, OpOperand *input,
                           MutableArrayRef<LayoutTie> ties) {
  AffineMap map = op.getMatchingIndexingMap(input);
  for (auto [number, init] : llvm::enumerate(op.getDpsInitsMutable()))
    if (op.getMatchingIndexingMap(&init) == map)
      return &ties[number];
  return nullptr;
}

/// Upstream folds transpositions that move no dimension together to what the
/// first of them reads, whatever its type: it has that of the last.
static OpOperand *findUntransposed(Operation *op) {
  auto transpose = dyn_cast<linalg::TransposeOp>(op);
  if (!transpose)
    return nullptr;
  SmallVector<int64_t> permutation(transpose.getPermutation());
  while (!isIdentityPermutation(permutation)) {
    transpose = transpose.getInput().getDefiningOp<linalg::TransposeOp>();
    if (!transpose)
      return nullptr;
    permutation = applyPermutation(transpose.getPermutation(), permutation);
  }
  return &transpose.getInputMutable();
}

/// A result has the layout of what it is written into. Operands that are read
/// at the same indices have it too, so that loops stay simple; others are read
/// in any layout.
static SmallVector<LayoutTie> getLinalgTies(linalg::LinalgOp op) {
  SmallVector<LayoutTie> ties;
  if (!op.hasPureTensorSemantics())
    return ties;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value result = op.getTiedOpResult(&init);
    ties.push_back(LayoutTie(&init, result, result));
    if (op.payloadUsesValueFromOperand(&init))
      ties.back().touched.push_back(init.get());
  }
  for (OpOperand *input : op.getDpsInputOperands()) {
    LayoutTie *same = findSame(op, input, ties);
    if (!same)
      same = &ties.emplace_back();
    same->uses.push_back(input);
    same->touched.push_back(input->get());
  }
  if (OpOperand *first = findUntransposed(op))
    ties.front().uses.push_back(first);
  return ties;
}

static SmallVector<std::pair<int64_t, int64_t>> getSharedDims(AffineMap from,
                                                              AffineMap to) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [i, expr] : llvm::enumerate(from.getResults()))
    for (auto [j, other] : llvm::enumerate(to.getResults()))
      if (isa<AffineDimExpr>(expr) && expr == other)
        dims.emplace_back(i, j);
  return dims;
}

/// Dimensions that go through the same indices.
static std::vector<LayoutRelation> getLinalgRelations(linalg::LinalgOp op) {
  std::vector<LayoutRelation> relations;
  if (!op.hasPureTensorSemantics())
    return relations;
  for (OpOperand *input : op.getDpsInputOperands())
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Relation relation = getDimsRelation(getSharedDims(
          op.getMatchingIndexingMap(input), op.getMatchingIndexingMap(&init)));
      if (!relation.dims.empty())
        relations.emplace_back(*input, op.getTiedOpResult(&init), relation);
    }
  return relations;
}

//===----------------------------------------------------------------------===//
// Ties
//===----------------------------------------------------------------------===//

/// What a branch hands on to the arguments of blocks.
static SmallVector<LayoutTie> getBranchTies(BranchOpInterface branch) {
  SmallVector<LayoutTie> ties;
  for (auto [number, block] : llvm::enumerate(branch->getSuccessors())) {
    SuccessorOperands operands = branch.getSuccessorOperands(number);
    for (BlockArgument argument : block->getArguments()) {
      unsigned i = argument.getArgNumber();
      LayoutTie &tie = ties.emplace_back();
      tie.definitions = {argument};
      tie.isPinned = operands.isOperandProduced(i);
      if (!tie.isPinned)
        tie.uses = {&branch->getOpOperand(operands.getOperandIndex(i))};
    }
  }
  return ties;
}

/// What an operation hands on to its regions, these to each other, and to its
/// results.
static SmallVector<LayoutTie> getRegionTies(RegionBranchOpInterface op) {
  SmallVector<LayoutTie> ties;
  // Iterations that write one result at the same time do so in their own way.
  if (op->hasTrait<OpTrait::HasParallelRegion>())
    return ties;
  RegionBranchSuccessorMapping mapping;
  op.getSuccessorOperandInputMapping(mapping);
  auto addUses = [&](Operation &source) {
    for (OpOperand &use : source.getOpOperands())
      for (Value input : mapping.lookup(&use))
        ties.push_back({{&use}, {input}});
  };
  addUses(*op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        addUses(*block.getTerminator());
  return ties;
}

static SmallVector<LayoutTie> getElementwiseTies(Operation *op) {
  LayoutTie tie;
  for (OpOperand &operand : op->getOpOperands())
    tie.uses.push_back(&operand);
  llvm::append_range(tie.definitions, op->getResults());
  llvm::append_range(tie.touched, op->getOperands());
  llvm::append_range(tie.touched, op->getResults());
  return {std::move(tie)};
}

static SmallVector<LayoutTie> getTiesOfModel(Operation *op) {
  if (auto model = dyn_cast<LayoutPropagationOpInterface>(op))
    return model.getLayoutTies();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return getLinalgTies(structured);
  if (auto branch = dyn_cast<BranchOpInterface>(op))
    return getBranchTies(branch);
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return getRegionTies(branch);
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() != 0)
    return getElementwiseTies(op);
  return {};
}

SmallVector<LayoutTie> tessera::getLayoutTies(Operation *op) {
  SmallVector<LayoutTie> ties = getTiesOfModel(op);
  auto isOther = [](Value value) { return !asTensor(value); };
  for (LayoutTie &tie : ties) {
    llvm::erase_if(tie.uses,
                   [&](OpOperand *use) { return isOther(use->get()); });
    llvm::erase_if(tie.definitions, isOther);
    llvm::erase_if(tie.touched, isOther);
  }
  llvm::erase_if(ties, [](const LayoutTie &tie) {
    return tie.uses.empty() && tie.definitions.empty();
  });
  return ties;
}

std::vector<LayoutRelation> tessera::getLayoutRelations(Operation *op) {
  if (auto model = dyn_cast<LayoutPropagationOpInterface>(op))
    return model.getLayoutRelations();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return getLinalgRelations(structured);
  return {};
}

void tessera::registerLayoutPropagationExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    using namespace tensor;
    tensor::CastOp::attachInterface<CastModel>(*context);
    CollapseShapeOp::attachInterface<ReshapeModel<CollapseShapeOp>>(*context);
    ConcatOp::attachInterface<SameRankModel<ConcatOp>>(*context);
    DimOp::attachInterface<ReaderModel<DimOp>>(*context);
    tensor::EmptyOp::attachInterface<EmptyModel<tensor::EmptyOp>>(*context);
    ExpandShapeOp::attachInterface<ReshapeModel<ExpandShapeOp>>(*context);
    ExtractOp::attachInterface<ReaderModel<ExtractOp>>(*context);
    ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    FromElementsOp::attachInterface<SourceModel<FromElementsOp>>(*context);
    GatherOp::attachInterface<GatherModel>(*context);
    GenerateOp::attachInterface<SourceModel<GenerateOp>>(*context);
    InsertOp::attachInterface<InsertModel>(*context);
    InsertSliceOp::attachInterface<InsertSliceModel>(*context);
    PadOp::attachInterface<SameRankModel<PadOp>>(*context);
    SplatOp::attachInterface<SourceModel<SplatOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TesseraDialect *) {
    AssumeLayoutOp::attachInterface<AssumeLayoutModel>(*context);
    BitcastOp::attachInterface<BitcastModel>(*context);
    EmptyOp::attachInterface<EmptyModel<EmptyOp>>(*context);
    RelayoutOp::attachInterface<RelayoutModel>(*context);
    ReshapeOp::attachInterface<ReshapeModel<ReshapeOp>>(*context);
  });
}
