//===- ExplainSlices.cpp - What slices are in memory ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the offsets of slices as sums over values that are not known, and asks
// lib/Layout what such a slice is in memory.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Layout/SymbolicSlice.h"
#include "tessera/View/ExplainSlice.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/SaveAndRestore.h"

namespace tessera {
#define GEN_PASS_DEF_EXPLAINSLICES
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// A constant and multiples of unknown integers, which have numbers.
struct Sum {
  int64_t constant = 0;
  llvm::MapVector<unsigned, int64_t> terms;

  bool isConstant() const { return terms.empty(); }
};

/// A sum, or nothing where a number leaves 64 bits or it is none.
using MaybeSum = std::optional<Sum>;
} // namespace

static MaybeSum multiply(const Sum &sum, int64_t factor) {
  Sum result;
  std::optional<int64_t> constant = llvm::checkedMul(sum.constant, factor);
  if (!constant)
    return std::nullopt;
  result.constant = *constant;
  for (auto [variable, coefficient] : sum.terms) {
    std::optional<int64_t> product = llvm::checkedMul(coefficient, factor);
    if (!product)
      return std::nullopt;
    if (*product != 0)
      result.terms[variable] = *product;
  }
  return result;
}

static MaybeSum multiply(const MaybeSum &lhs, const MaybeSum &rhs) {
  if (!lhs || !rhs)
    return std::nullopt;
  if (rhs->isConstant())
    return multiply(*lhs, rhs->constant);
  if (lhs->isConstant())
    return multiply(*rhs, lhs->constant);
  return std::nullopt;
}

static MaybeSum add(const MaybeSum &lhs, const MaybeSum &rhs) {
  if (!lhs || !rhs)
    return std::nullopt;
  Sum result = *lhs;
  std::optional<int64_t> constant =
      llvm::checkedAdd(lhs->constant, rhs->constant);
  if (!constant)
    return std::nullopt;
  result.constant = *constant;
  for (auto [variable, coefficient] : rhs->terms) {
    std::optional<int64_t> sum =
        llvm::checkedAdd(result.terms.lookup(variable), coefficient);
    if (!sum)
      return std::nullopt;
    result.terms[variable] = *sum;
  }
  result.terms.remove_if([](auto &term) { return term.second == 0; });
  return result;
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

namespace {
/// Finds values as sums, each once.
class SumFinder {
public:
  explicit SumFinder(Operation *root) : names(root) {}

  Sum get(OpFoldResult value);
  SliceBegin getBegin(OpFoldResult offset);

private:
  Sum get(Value value);
  MaybeSum find(Value value);
  MaybeSum findLoopVariable(BlockArgument argument);
  MaybeSum find(AffineExpr expr, AffineMap map, ValueRange operands);
  Sum getVariable(const llvm::Twine &name);
  std::string getName(Value value);

  AsmState names;
  /// By number.
  std::vector<std::string> variables;
  llvm::DenseMap<Value, Sum> sums;
  unsigned depth = 0;
};
} // namespace

std::string SumFinder::getName(Value value) {
  std::string name;
  llvm::raw_string_ostream os(name);
  value.printAsOperand(os, names);
  return name;
}

Sum SumFinder::getVariable(const llvm::Twine &name) {
  variables.push_back(name.str());
  Sum sum;
  sum.terms[variables.size() - 1] = 1;
  return sum;
}

/// The first value and as many steps as there were iterations.
MaybeSum SumFinder::findLoopVariable(BlockArgument argument) {
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop)
    return std::nullopt;
  std::optional<SmallVector<Value>> loopVariables = loop.getLoopInductionVars();
  std::optional<SmallVector<OpFoldResult>> begins = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!loopVariables || !begins || !steps)
    return std::nullopt;
  for (auto [variable, begin, step] :
       llvm::zip_equal(*loopVariables, *begins, *steps))
    if (variable == argument)
      return add(get(begin),
                 multiply(getVariable("iteration(" + getName(argument) + ")"),
                          get(step)));
  return std::nullopt;
}

MaybeSum SumFinder::find(AffineExpr expr, AffineMap map, ValueRange operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Sum{constant.getValue(), {}};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return get(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return get(operands[map.getNumDims() + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(find(binary.getLHS(), map, operands),
               find(binary.getRHS(), map, operands));
  case AffineExprKind::Mul:
    return multiply(find(binary.getLHS(), map, operands),
                    find(binary.getRHS(), map, operands));
  default:
    // A quotient or remainder is an integer that nothing is known of.
    return getVariable("(" + llvm::Twine(debugString(expr)) + ")");
  }
}

/// Nothing where `value` is a variable itself.
MaybeSum SumFinder::find(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getSignificantBits() <= 64)
    return Sum{constant.getSExtValue(), {}};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return findLoopVariable(argument);
  Operation *op = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, MaybeSum>(op)
      .Case([&](arith::AddIOp add) {
        return ::add(get(add.getLhs()), get(add.getRhs()));
      })
      .Case([&](arith::SubIOp sub) {
        return ::add(get(sub.getLhs()), multiply(get(sub.getRhs()), -1));
      })
      .Case([&](arith::MulIOp mul) {
        return multiply(get(mul.getLhs()), get(mul.getRhs()));
      })
      .Case([&](arith::ShLIOp shift) {
        Sum bits = get(shift.getRhs());
        bool isKnown =
            bits.isConstant() && bits.constant >= 0 && bits.constant < 63;
        return isKnown
                   ? multiply(get(shift.getLhs()), int64_t(1) << bits.constant)
                   : MaybeSum();
      })
      .Case([&](arith::IndexCastOp cast) { return get(cast.getIn()); })
      .Case([&](affine::AffineApplyOp apply) {
        AffineMap map = apply.getAffineMap();
        return find(map.getResult(0), map, apply.getMapOperands());
      })
      .Default([](Operation *) { return MaybeSum(); });
}

Sum SumFinder::get(Value value) {
  auto known = sums.find(value);
  if (known != sums.end())
    return known->second;
  // Longer chains than anybody writes end in a variable.
  constexpr unsigned kMaxDepth = 100;
  MaybeSum sum;
  if (depth < kMaxDepth) {
    llvm::SaveAndRestore deeper(depth, depth + 1);
    sum = find(value);
  }
  if (!sum)
    sum = getVariable(getName(value));
  return sums[value] = *sum;
}

Sum SumFinder::get(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return {*constant, {}};
  return get(cast<Value>(value));
}

SliceBegin SumFinder::getBegin(OpFoldResult offset) {
  Sum sum = get(offset);
  SliceBegin begin;
  begin.constant = sum.constant;
  for (auto [variable, coefficient] : sum.terms)
    begin.terms.push_back({variables[variable], coefficient});
  return begin;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The array that a slice is taken from or put into; null for operations that
/// take no layouts.
static ShapedType getSlicedType(OffsetSizeAndStrideOpInterface op) {
  return llvm::TypeSwitch<Operation *, ShapedType>(op)
      .Case([](tensor::ExtractSliceOp op) { return op.getSourceType(); })
      .Case<tensor::InsertSliceOp, tensor::ParallelInsertSliceOp>(
          [](auto slice) { return slice.getDestType(); })
      .Default([](Operation *) { return ShapedType(); });
}

/// Errors: *unsupported* for sizes that are not known, and steps.
static llvm::Expected<SymbolicSlice> getSlice(OffsetSizeAndStrideOpInterface op,
                                              SumFinder &sums) {
  if (llvm::any_of(op.getMixedStrides(), [](OpFoldResult stride) {
        return getConstantIntValue(stride) != 1;
      }))
    return unsupportedError("strides of the slice", "1 in each dimension",
                            debugString(*op.getOperation()));
  SymbolicSlice slice;
  for (OpFoldResult size : op.getMixedSizes()) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (!known)
      return unsupportedError("sizes of the slice", "numbers",
                              debugString(*op.getOperation()));
    slice.sizes.push_back(*known);
  }
  for (OpFoldResult offset : op.getMixedOffsets())
    slice.begins.push_back(sums.getBegin(offset));
  return slice;
}

namespace {
struct ExplainSlicesPass : tessera::impl::ExplainSlicesBase<ExplainSlicesPass> {
  using Base::Base;

  void runOnOperation() override {
    SumFinder sums(getOperation());
    getOperation()->walk([&](OffsetSizeAndStrideOpInterface op) {
      ShapedType type = getSlicedType(op);
      if (!type || !getLayoutAttr(type))
        return;
      if (llvm::Error error = explain(op, type, sums))
        op->emitRemark() << "slice that is not analyzed: "
                         << llvm::toString(std::move(error));
    });
  }

private:
  llvm::Error explain(OffsetSizeAndStrideOpInterface op, ShapedType type,
                      SumFinder &sums) {
    llvm::Expected<SymbolicSlice> slice = getSlice(op, sums);
    if (!slice)
      return slice.takeError();
    llvm::Expected<Shape> shape = getShape(type);
    if (!shape)
      return shape.takeError();
    llvm::Expected<SliceAnswer> answer = analyzeSlice(*shape, *slice);
    if (!answer)
      return answer.takeError();
    bool isWhole = answer->isWholeTiles();
    ++(isWhole ? numWhole : numPartial);
    if (!isWhole || !onlyPartial)
      op->emitRemark() << "slice of " << shape->toString() << ": "
                       << summarizeSlice(*shape, *slice, *answer);
    return llvm::Error::success();
  }
};
} // namespace
