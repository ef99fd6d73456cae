//===- LayoutPropagation.cpp - How layouts pass through -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Dialect/Tessera/IR/LayoutPropagation.cpp.inc"

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
template <typename Model, typename Op>
using Base = LayoutPropagationOpInterface::ExternalModel<Model, Op>;

/// A constant is written down in any layout, a tensor without contents has any.
template <typename Op> struct SourceModel : Base<SourceModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    return {{{}, {op->getResult(0)}}};
  }
};

struct ConstantModel : Base<ConstantModel, arith::ConstantOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto constant = cast<arith::ConstantOp>(op);
    if (!isa<DenseElementsAttr>(constant.getValue()))
      return {};
    return {{{}, {constant.getResult()}}};
  }
};

/// A result has the layout of what it is written into. Operands that are read
/// at the same indices have it too, so that loops stay simple; others are read
/// in any layout.
template <typename Op> struct LinalgModel : Base<LinalgModel<Op>, Op> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    SmallVector<LayoutTie> ties;
    if (!linalgOp.hasPureTensorSemantics())
      return ties;
    for (OpOperand &init : linalgOp.getDpsInitsMutable())
      ties.push_back({{&init}, {linalgOp.getTiedOpResult(&init)}});
    for (OpOperand *input : linalgOp.getDpsInputOperands()) {
      AffineMap map = linalgOp.getMatchingIndexingMap(input);
      LayoutTie *same = nullptr;
      for (auto [tie, init] : llvm::zip_equal(
               MutableArrayRef(ties).take_front(linalgOp.getNumDpsInits()),
               linalgOp.getDpsInitsMutable()))
        if (!same && linalgOp.getMatchingIndexingMap(&init) == map)
          same = &tie;
      if (same)
        same->uses.push_back(input);
      else
        ties.push_back({{input}, {}});
    }
    return ties;
  }
};

struct ForModel : Base<ForModel, scf::ForOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto loop = cast<scf::ForOp>(op);
    SmallVector<LayoutTie> ties;
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs(),
                         *loop.getYieldedValuesMutable(), loop.getResults()))
      ties.push_back({{&init, &yielded}, {argument, result}});
    return ties;
  }
};

struct IfModel : Base<IfModel, scf::IfOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    SmallVector<LayoutTie> ties;
    for (OpResult result : op->getResults()) {
      LayoutTie tie{{}, {result}};
      for (Region &region : op->getRegions())
        tie.uses.push_back(&region.front().getTerminator()->getOpOperand(
            result.getResultNumber()));
      ties.push_back(std::move(tie));
    }
    return ties;
  }
};

/// What goes around has one layout, what leaves another.
struct WhileModel : Base<WhileModel, scf::WhileOp> {
  SmallVector<LayoutTie> getLayoutTies(Operation *op) const {
    auto loop = cast<scf::WhileOp>(op);
    SmallVector<LayoutTie> ties;
    for (auto [init, argument, yielded] :
         llvm::zip_equal(loop.getInitsMutable(), loop.getBeforeArguments(),
                         loop.getYieldOp().getResultsMutable()))
      ties.push_back({{&init, &yielded}, {argument}});
    for (auto [passed, argument, result] :
         llvm::zip_equal(loop.getConditionOp().getArgsMutable(),
                         loop.getAfterArguments(), loop.getResults()))
      ties.push_back({{&passed}, {argument, result}});
    return ties;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Ties
//===----------------------------------------------------------------------===//

static SmallVector<LayoutTie> getTiesOfModel(Operation *op) {
  if (auto model = dyn_cast<LayoutPropagationOpInterface>(op))
    return model.getLayoutTies();
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() == 0)
    return {};
  LayoutTie tie;
  for (OpOperand &operand : op->getOpOperands())
    tie.uses.push_back(&operand);
  llvm::append_range(tie.definitions, op->getResults());
  return {std::move(tie)};
}

SmallVector<LayoutTie> tessera::getLayoutTies(Operation *op) {
  SmallVector<LayoutTie> ties = getTiesOfModel(op);
  for (LayoutTie &tie : ties) {
    llvm::erase_if(tie.uses,
                   [](OpOperand *use) { return !isTensor(use->get()); });
    llvm::erase_if(tie.definitions,
                   [](Value value) { return !isTensor(value); });
  }
  llvm::erase_if(ties, [](const LayoutTie &tie) {
    return tie.uses.empty() && tie.definitions.empty();
  });
  return ties;
}

void tessera::registerLayoutPropagationExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::EmptyOp::attachInterface<SourceModel<tensor::EmptyOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    scf::ForOp::attachInterface<ForModel>(*context);
    scf::IfOp::attachInterface<IfModel>(*context);
    scf::WhileOp::attachInterface<WhileModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::GenericOp::attachInterface<LinalgModel<linalg::GenericOp>>(
        *context);
    linalg::FillOp::attachInterface<LinalgModel<linalg::FillOp>>(*context);
    linalg::MapOp::attachInterface<LinalgModel<linalg::MapOp>>(*context);
    linalg::MatmulOp::attachInterface<LinalgModel<linalg::MatmulOp>>(*context);
    linalg::TransposeOp::attachInterface<LinalgModel<linalg::TransposeOp>>(
        *context);
    linalg::BroadcastOp::attachInterface<LinalgModel<linalg::BroadcastOp>>(
        *context);
    linalg::ReduceOp::attachInterface<LinalgModel<linalg::ReduceOp>>(*context);
  });
}
