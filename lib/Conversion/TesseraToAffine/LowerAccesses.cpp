//===- LowerAccesses.cpp - Loads and stores along the axes ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites accesses in place, while types stay: a load of a laid-out memref
// becomes a load of its tessera.physical_view. Before that, loops are split
// wherever that resolves a digit of some subscript.
//
//===----------------------------------------------------------------------===//

#include "RaiseLoops.h"

#include "tessera/Conversion/TesseraToAffine/ElementAccess.h"
#include "tessera/Conversion/TesseraToAffine/LowerLayouts.h"
#include "tessera/Conversion/TesseraToAffine/OrderLoops.h"
#include "tessera/Conversion/TesseraToAffine/SplitLoops.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Transforms.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

MemRefType tessera::getLaidOutMemRef(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && getLayoutAttr(memref) ? memref : MemRefType();
}

//===----------------------------------------------------------------------===//
// Element accesses
//===----------------------------------------------------------------------===//

namespace {
/// A load, store or atomic update of one element, of the memref or the affine
/// dialect. (The
/// analyzer does not see through optional values.)
// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
struct AccessOp {
  Operation *op = nullptr;
  Value memref;
  AffineMap map;
  SmallVector<Value> operands;
  Value stored; ///< Null unless it is a store.

  MemRefType type() const { return cast<MemRefType>(memref.getType()); }
};
} // namespace

static AccessOp makeAccess(Operation *op, Value memref, ValueRange indices,
                           Value stored = Value()) {
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(indices.size(), op->getContext());
  return {op, memref, identity, indices, stored};
}

/// The access that `op` is, if it is one to a laid-out memref.
static std::optional<AccessOp> getAccess(Operation *op) {
  std::optional<AccessOp> access =
      llvm::TypeSwitch<Operation *, std::optional<AccessOp>>(op)
          .Case([](affine::AffineLoadOp load) {
            return AccessOp{load, load.getMemref(), load.getAffineMap(),
                            llvm::to_vector(load.getMapOperands()), Value()};
          })
          .Case([](affine::AffineStoreOp store) {
            return AccessOp{store, store.getMemref(), store.getAffineMap(),
                            llvm::to_vector(store.getMapOperands()),
                            store.getValue()};
          })
          .Case([](memref::LoadOp load) {
            return makeAccess(load, load.getMemref(), load.getIndices());
          })
          .Case([](memref::StoreOp store) {
            return makeAccess(store, store.getMemref(), store.getIndices(),
                              store.getValue());
          })
          .Case([](memref::AtomicRMWOp update) {
            return makeAccess(update, update.getMemref(), update.getIndices());
          })
          .Default([](Operation *) { return std::nullopt; });
  if (!access || !getLaidOutMemRef(access->memref.getType()))
    return std::nullopt;
  return access;
}

//===----------------------------------------------------------------------===//
// Where to split loops
//===----------------------------------------------------------------------===//

namespace {
/// A subscript that is a sum of operands times coefficients.
struct LinearSubscript {
  SmallVector<int64_t> coefficients;
  int64_t constant = 0;
};

using LoopSplits = llvm::MapVector<AffineForOp, SmallVector<int64_t>>;
} // namespace

/// Values of an operand after its loop was split for `divisor`, and the split
/// that this takes: 1 when it needs none, 0 when none can help.
static IntegerRange getSplitRange(Value operand, int64_t coefficient,
                                  int64_t divisor, int64_t &split) {
  std::optional<IntegerRange> range = getOperandRange(operand);
  // The magnitude of the least number is no number; no split helps there.
  int64_t magnitude = coefficient == INT64_MIN ? 0 : std::abs(coefficient);
  AffineForOp loop = affine::getForInductionVarOwner(operand);
  bool isSplittable =
      loop && canSplit(loop) && magnitude != 0 && divisor % magnitude == 0;
  int64_t size = isSplittable ? divisor / magnitude : 0;
  if (range && (!isSplittable || range->max < size)) {
    split = 1;
    return *range;
  }
  split = size;
  return {0, std::max<int64_t>(size - 1, 0)};
}

/// Adds to `splits` what makes `subscript floordiv divisor` and `mod divisor`
/// free of divisions, if splitting loops can do that.
static void addSplits(const LinearSubscript &subscript, ValueRange operands,
                      int64_t divisor, LoopSplits &splits) {
  SmallVector<std::pair<AffineForOp, int64_t>> wanted;
  int64_t low = llvm::mod(subscript.constant, divisor), high = low;
  for (auto [operand, coefficient] :
       llvm::zip(operands, subscript.coefficients)) {
    if (coefficient % divisor == 0)
      continue;
    int64_t split = 0, first, last;
    IntegerRange range = getSplitRange(operand, coefficient, divisor, split);
    if (split == 0 || llvm::MulOverflow(range.min, coefficient, first) ||
        llvm::MulOverflow(range.max, coefficient, last) ||
        llvm::AddOverflow(low, std::min(first, last), low) ||
        llvm::AddOverflow(high, std::max(first, last), high))
      return;
    if (split > 1)
      wanted.emplace_back(affine::getForInductionVarOwner(operand), split);
  }
  if (llvm::divideFloorSigned(low, divisor) !=
      llvm::divideFloorSigned(high, divisor))
    return;
  for (auto [loop, split] : wanted)
    splits[loop].push_back(split);
}

/// The subscripts that are linear, by position; others are left out.
static std::optional<LinearSubscript> getLinear(AffineExpr expr,
                                                AffineMap map) {
  SmallVector<int64_t> flat;
  unsigned numInputs = map.getNumInputs();
  if (failed(getFlattenedAffineExpr(expr, map.getNumDims(), map.getNumSymbols(),
                                    &flat)) ||
      flat.size() != numInputs + 1)
    return std::nullopt;
  LinearSubscript linear;
  linear.constant = flat.back();
  linear.coefficients.assign(flat.begin(), flat.begin() + numInputs);
  return linear;
}

/// The subscript of one dimension as a map of operands that are affine; nothing
/// where one is not, as an index that was read.
static std::optional<AccessOp> getAffineSubscript(const AccessOp &access,
                                                  unsigned dim) {
  Region *scope = affine::getAffineScope(access.op);
  AffineMap map = access.map.getSubMap(dim);
  SmallVector<Value> operands = access.operands;
  affine::canonicalizeMapAndOperands(&map, &operands);
  if (!llvm::all_of(operands, [&](Value operand) {
        return affine::isValidDim(operand, scope) ||
               affine::isValidSymbol(operand, scope);
      }))
    return std::nullopt;
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  return AccessOp{access.op, access.memref, map, operands, Value()};
}

/// Adds the splits that the subscripts of one access ask for.
static void collectSplits(const AccessOp &access, LoopSplits &splits) {
  llvm::Expected<AxisList> axes = getAxisList(access.type());
  if (!axes)
    return llvm::consumeError(axes.takeError());
  for (unsigned dim = 0; dim < access.map.getNumResults(); ++dim) {
    DimensionSplit split = getSplit(dim, {&*axes});
    std::optional<AccessOp> subscript = getAffineSubscript(access, dim);
    if (!split.isChain || !subscript)
      continue;
    std::optional<LinearSubscript> linear =
        getLinear(subscript->map.getResult(0), subscript->map);
    for (int64_t divisor : split.divisors)
      if (linear)
        addSplits(*linear, subscript->operands, divisor, splits);
  }
}

/// Makes `divisors` increasing, each a divisor of the next: where accesses ask
/// for splits that do not go together, the smaller one wins.
static SmallVector<int64_t> makeChain(SmallVector<int64_t> divisors) {
  llvm::sort(divisors);
  SmallVector<int64_t> chain;
  for (int64_t divisor : divisors)
    if (chain.empty() ? divisor > 1
                      : divisor > chain.back() && divisor % chain.back() == 0)
      chain.push_back(divisor);
  return chain;
}

/// Whether some dimension of the memref is split at all.
static bool isSplit(MemRefType type) {
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return false;
  }
  return llvm::any_of(llvm::seq<unsigned>(0, type.getRank()), [&](unsigned d) {
    return !getSplit(d, {&*axes}).divisors.empty();
  });
}

/// The loops around accesses to split dimensions, innermost first.
template <typename... LoopTys>
static llvm::SetVector<Operation *> getLoops(ArrayRef<AccessOp> accesses) {
  llvm::SetVector<Operation *> loops;
  llvm::DenseMap<Type, bool> isSplitType;
  for (const AccessOp &access : accesses) {
    auto [known, isNew] = isSplitType.try_emplace(access.type());
    if (isNew)
      known->second = isSplit(access.type());
    if (!known->second)
      continue;
    for (Operation *op = access.op; op; op = op->getParentOp())
      if (isa<LoopTys...>(op))
        loops.insert(op);
  }
  return loops;
}

/// Gives loops around accesses to split dimensions the form that can be split.
static void normalizeLoops(ArrayRef<AccessOp> accesses) {
  for (Operation *op : getLoops<AffineForOp>(accesses)) {
    auto loop = cast<AffineForOp>(op);
    if (!canSplit(loop))
      (void)affine::normalizeAffineFor(loop);
  }
}

/// Splits loops for all accesses; returns how many.
static int64_t splitLoops(ArrayRef<AccessOp> accesses, IRRewriter &rewriter) {
  LoopSplits splits;
  for (const AccessOp &access : accesses)
    collectSplits(access, splits);
  for (auto &[loop, divisors] : splits)
    splitLoop(rewriter, loop, makeChain(divisors));
  return splits.size();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static Value createPhysicalView(OpBuilder &builder, Location loc, Value memref,
                                MemRefType physical) {
  return PhysicalViewOp::create(builder, loc, physical, memref);
}

/// Lets an atomic update address the physical memref.
static void lowerUpdate(memref::AtomicRMWOp op, const ElementAccess &element,
                        Value physical, const Subscripts &logical,
                        ValueRange sizes, IRRewriter &rewriter) {
  Location loc = op.getLoc();
  Subscripts position =
      element.getPhysicalSubscripts(rewriter, loc, logical, sizes);
  SmallVector<Value> indices;
  for (AffineExpr result : position.map.getResults())
    indices.push_back(
        position.isAffine
            ? affine::makeComposedAffineApply(
                  rewriter, loc,
                  AffineMap::get(position.map.getNumDims(),
                                 position.map.getNumSymbols(), result),
                  getAsOpFoldResult(position.operands))
                  .getResult()
            : position.operands[indices.size()]);
  rewriter.replaceOpWithNewOp<memref::AtomicRMWOp>(
      op, op.getKind(), op.getValue(), physical, indices);
}

static void lowerAccess(const AccessOp &access, const ElementAccess &element,
                        IRRewriter &rewriter) {
  rewriter.setInsertionPoint(access.op);
  Location loc = access.op->getLoc();
  Value physical =
      createPhysicalView(rewriter, loc, access.memref, element.physicalType());
  SmallVector<Value> sizes;
  if (element.needsSizes())
    for (unsigned dim = 0; dim < access.type().getRank(); ++dim)
      if (access.type().isDynamicDim(dim))
        sizes.push_back(
            memref::DimOp::create(rewriter, loc, access.memref, dim));
  Subscripts subscripts =
      Subscripts::get(rewriter, access.op, access.map, access.operands);
  if (auto update = dyn_cast<memref::AtomicRMWOp>(access.op))
    return lowerUpdate(update, element, physical, subscripts, sizes, rewriter);
  if (!access.stored) {
    rewriter.replaceOp(
        access.op, element.load(rewriter, loc, physical, subscripts, sizes));
    return;
  }
  element.store(rewriter, loc, access.stored, physical, subscripts, sizes);
  rewriter.eraseOp(access.op);
}

//===----------------------------------------------------------------------===//
// Whole memrefs
//===----------------------------------------------------------------------===//

/// Whether `op` takes its laid-out operands as strided memrefs: what it makes
/// of them has no layout of ours.
static bool takesStridedMemRefs(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  bool isKnown = dialect == "memref" || dialect == "vector" ||
                 dialect == "linalg" || dialect == "affine";
  return isKnown && llvm::any_of(op->getOperandTypes(), getLaidOutMemRef) &&
         llvm::none_of(op->getResultTypes(), getLaidOutMemRef) &&
         llvm::all_of(op->getOperandTypes(), [](Type type) {
           MemRefType memref = getLaidOutMemRef(type);
           return !memref || memref.isStrided();
         });
}

/// The memref with strides that stands for one whose layout has them; in
/// row-major order the physical memref does.
static MemRefType getStridedType(MemRefType type) {
  if (type.getLayout().isIdentity())
    return llvm::cantFail(getPhysicalMemRefType(type));
  auto [strides, offset] = type.getStridesAndOffset();
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), offset, strides),
      type.getMemorySpace());
}

/// `memref`, whose layout has strides, as a memref with these strides.
static Value createStridedView(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  MemRefType physical = llvm::cantFail(getPhysicalMemRefType(type));
  MemRefType viewType = getStridedType(type);
  Value view = createPhysicalView(builder, loc, memref, physical);
  if (viewType == physical)
    return view;
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, loc, memref);
  // Strides that are not known come from the sizes of more minor dimensions.
  Layout layout = llvm::cantFail(getLayout(type));
  SmallVector<OpFoldResult> steps(type.getRank());
  OpFoldResult step = builder.getIndexAttr(1);
  for (auto [i, dim] : llvm::enumerate(layout.minorToMajor)) {
    if (!ShapedType::isDynamic(strides[dim]))
      step = builder.getIndexAttr(strides[dim]);
    steps[dim] = step;
    step = affine::makeComposedFoldedAffineApply(
        builder, loc,
        builder.getAffineSymbolExpr(0) * builder.getAffineSymbolExpr(1),
        {step, sizes[dim]});
  }
  return memref::ReinterpretCastOp::create(
      builder, loc, viewType, view, builder.getIndexAttr(offset), sizes, steps);
}

/// A copy between equal layouts copies the bytes, padding included.
static bool isPlainCopy(memref::CopyOp copy) {
  return getLaidOutMemRef(copy.getSource().getType()) &&
         cast<MemRefType>(copy.getSource().getType()).getLayout() ==
             cast<MemRefType>(copy.getTarget().getType()).getLayout();
}

static void lowerPlainCopy(memref::CopyOp copy, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(copy);
  auto view = [&](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    return createPhysicalView(rewriter, copy.getLoc(), memref,
                              llvm::cantFail(getPhysicalMemRefType(type)));
  };
  rewriter.replaceOpWithNewOp<memref::CopyOp>(copy, view(copy.getSource()),
                                              view(copy.getTarget()));
}

static void giveStridedViews(Operation *op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  for (OpOperand &operand : op->getOpOperands())
    if (getLaidOutMemRef(operand.get().getType()))
      operand.set(createStridedView(rewriter, op->getLoc(), operand.get()));
}

/// Copies, and operations that see a layout without tiles as strides.
static void lowerWholeMemRefs(Operation *root, IRRewriter &rewriter) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (llvm::any_of(op->getOperandTypes(), getLaidOutMemRef))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto copy = dyn_cast<memref::CopyOp>(op); copy && isPlainCopy(copy))
      lowerPlainCopy(copy, rewriter);
    else if (!isConvertedByType(op) && takesStridedMemRefs(op))
      giveStridedViews(op, rewriter);
  }
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

AccessStatistics tessera::lowerAccesses(Operation *root) {
  AccessStatistics statistics;
  IRRewriter rewriter(root->getContext());
  auto collect = [&] {
    SmallVector<AccessOp> accesses;
    root->walk([&](Operation *op) {
      if (std::optional<AccessOp> access = getAccess(op))
        accesses.push_back(std::move(*access));
    });
    return accesses;
  };
  auto collectLoops = [&] {
    return getLoops<scf::ForOp, affine::AffineParallelOp>(collect());
  };
  dropCarriedMemRefs(collectLoops().getArrayRef());
  raiseLoops(rewriter, collectLoops().getArrayRef());
  normalizeLoops(collect());
  statistics.numSplitLoops = splitLoops(collect(), rewriter);
  for (Operation *loop : getLoops<AffineForOp>(collect()))
    detachReductions(rewriter, cast<AffineForOp>(loop));

  // One ElementAccess for each type: there are few types and many accesses.
  llvm::DenseMap<Type, std::unique_ptr<ElementAccess>> elements;
  for (const AccessOp &collected : collect()) {
    // Its operands may be results of accesses that are lowered by now.
    AccessOp access = *getAccess(collected.op);
    std::unique_ptr<ElementAccess> &element = elements[access.type()];
    if (!element)
      element = std::make_unique<ElementAccess>(
          llvm::cantFail(ElementAccess::get(access.type())));
    lowerAccess(access, *element, rewriter);
    ++statistics.numAccesses;
  }
  makeParallel(root);
  lowerWholeMemRefs(root, rewriter);
  // Accesses address the new loops; few other uses of the old variables stay.
  root->walk([&](affine::AffineApplyOp apply) {
    if (apply->use_empty())
      rewriter.eraseOp(apply);
  });
  statistics.numOrderedNests = orderLoops(root);
  return statistics;
}

/// Emits the error about one type, if it has no physical type.
static LogicalResult checkType(Operation *op, Type type) {
  MemRefType memref = getLaidOutMemRef(type);
  if (!memref)
    return success();
  llvm::Expected<MemRefType> physical = getPhysicalMemRefType(memref);
  if (physical)
    return success();
  return emitLayoutError([&] { return op->emitOpError(); },
                         physical.takeError());
}

static LogicalResult checkTypes(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (failed(checkType(op, type)))
        return failure();
  for (Region &region : op->getRegions())
    for (Type type : region.getArgumentTypes())
      if (failed(checkType(op, type)))
        return failure();
  return success();
}

/// Whether the operation has anything to do with laid-out memrefs.
static bool mentionsLayouts(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return llvm::any_of(function.getArgumentTypes(), getLaidOutMemRef) ||
           llvm::any_of(function.getResultTypes(), getLaidOutMemRef);
  if (auto global = dyn_cast<memref::GlobalOp>(op))
    return bool(getLaidOutMemRef(global.getType()));
  if (isa<BitcastViewOp>(op))
    return true;
  return llvm::any_of(op->getOperandTypes(), getLaidOutMemRef) ||
         llvm::any_of(op->getResultTypes(), getLaidOutMemRef);
}

/// Whether the dimension that is asked for exists, where that is known.
static LogicalResult checkDim(memref::DimOp op) {
  std::optional<int64_t> index = op.getConstantIndex();
  int64_t rank = cast<MemRefType>(op.getSource().getType()).getRank();
  if (!index || (*index >= 0 && *index < rank))
    return success();
  return op.emitOpError("unsupported dimension: expected an index below the "
                        "rank ")
         << rank << ", found " << *index
         << "; the result would be undefined, so ask for another";
}

static LogicalResult checkOp(Operation *op) {
  if (failed(checkTypes(op)))
    return failure();
  if (!mentionsLayouts(op))
    return success();
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return checkDim(dim);
  if (std::optional<AccessOp> access = getAccess(op)) {
    llvm::Expected<ElementAccess> element = ElementAccess::get(access->type());
    if (element && isa<memref::AtomicRMWOp>(op) && !element->holdsElements())
      return op->emitOpError(
          "unsupported update of packed elements: expected elements that have "
          "an address each, in their own width; relayout to a layout without "
          "E");
    if (element)
      return success();
    return emitLayoutError([&] { return op->emitOpError(); },
                           element.takeError());
  }
  auto copy = dyn_cast<memref::CopyOp>(op);
  if (isConvertedByType(op) || (copy && isPlainCopy(copy)) ||
      takesStridedMemRefs(op))
    return success();
  if (isa<memref::GlobalOp>(op))
    return op->emitOpError(
        "unsupported initial value: expected dense elements in at most 2^24 "
        "positions; take smaller tiles, or leave the global uninitialized");
  if (isa<memref::CastOp>(op))
    return op->emitOpError(
        "unsupported cast of a laid-out memref: expected a memref of the same "
        "layout and, where the layout has PD, no dimension of size 0; use "
        "tessera.relayout");
  if (isa<BitcastViewOp>(op))
    return op->emitOpError(
        "unsupported view: expected identity layouts or layouts of tessera, "
        "and physical memrefs of the same element type or a flat one of bytes; "
        "use tessera.relayout");
  if (isa<RelayoutOp, FillPaddingOp>(op) || copy)
    return op->emitOpError(
        "unsupported here: expected relayouts and copies between layouts to be "
        "lowered; run --tessera-lower-relayouts first");
  return op->emitOpError(
      "unsupported operation on a laid-out memref: expected loads, stores, "
      "calls, branches, loops and what makes or views memrefs; lower it to "
      "affine or memref accesses first");
}

LogicalResult tessera::checkLowerable(Operation *root) {
  bool failed = false;
  root->walk([&](Operation *op) { failed |= mlir::failed(checkOp(op)); });
  return failure(failed);
}
