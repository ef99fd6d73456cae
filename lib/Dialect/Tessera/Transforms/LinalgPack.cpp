//===- LinalgPack.cpp - Layouts as linalg.pack, and back ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An array in {1,0:T(8,128)} is a row-major array of tiles. linalg.pack says so
// by the order of dimensions outside (outer_dims_perm), the dimensions that are
// tiled (inner_dims_pos), and the sizes of tiles. Each further level of tiles
// is a pack of the tile that the last one made.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_TOLINALGPACK
#define GEN_PASS_DEF_FROMLINALGPACK
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
/// The attributes of a pack, and the type that it is of.
struct PackLevel {
  RankedTensorType source, result;
  SmallVector<int64_t> outerPerm, innerPos, tiles;

  SmallVector<OpFoldResult> getTiles(OpBuilder &builder) const {
    return getAsIndexOpFoldResult(builder.getContext(), tiles);
  }
  /// Whether the last tiles are not full.
  bool isPadded() const {
    return llvm::any_of(llvm::zip_equal(innerPos, tiles), [&](auto pair) {
      auto [dim, tile] = pair;
      return source.getDimSize(dim) % tile != 0;
    });
  }
};
using PackLevels = SmallVector<PackLevel, 2>;
} // namespace

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static RankedTensorType dropLayout(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

/// The level that brings dimensions into an order, most major first, and tiles
/// the last of them.
static PackLevel makeLevel(RankedTensorType source, ArrayRef<int64_t> order,
                           ArrayRef<int64_t> tiles) {
  PackLevel level;
  level.source = source;
  level.outerPerm.assign(order.begin(), order.end());
  level.innerPos.assign(order.end() - tiles.size(), order.end());
  level.tiles.assign(tiles.begin(), tiles.end());
  level.result = linalg::PackOp::inferPackedType(source, tiles, level.innerPos,
                                                 level.outerPerm);
  return level;
}

/// Why packs cannot say a layout; nothing where they can.
static std::optional<std::string> findObstacle(RankedTensorType type,
                                               const Layout &layout) {
  Layout plain = Layout::descending(type.getRank());
  plain.minorToMajor = layout.minorToMajor;
  plain.tiles = layout.tiles;
  if (plain != layout)
    return "other fields";
  if (!type.hasStaticShape())
    return "dynamic sizes, which an unpack would not know";
  size_t rank = type.getRank();
  for (const Tile &tile : layout.tiles) {
    if (llvm::any_of(tile.sizes, [](int64_t size) { return size < 1; }))
      return "a tile that combines dimensions";
    if (tile.sizes.size() > rank)
      return "a tile of more dimensions than there are";
    // The next one is of what this one made.
    rank = tile.sizes.size();
  }
  return std::nullopt;
}

/// The packs that bring row-major order into the layout of a type: none for
/// row-major order.
static llvm::Expected<PackLevels> getLevels(RankedTensorType type) {
  PackLevels levels;
  LayoutAttrInterface attr = getLayoutAttr(type);
  if (!attr)
    return levels;
  std::optional<Layout> layout = attr.asLayout(type.getRank());
  auto refuse = [&](const Twine &found) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return unsupportedError(
        "layout as linalg.pack",
        "an order of dimensions with tiles, of static sizes",
        found + " in " + text);
  };
  if (!layout)
    return refuse("a layout of another dialect");
  if (std::optional<std::string> obstacle = findObstacle(type, *layout))
    return refuse(*obstacle);
  SmallVector<int64_t> order(llvm::reverse(layout->minorToMajor));
  bool isRowMajor = llvm::is_sorted(order);
  if (isRowMajor && layout->tiles.empty())
    return levels;
  RankedTensorType source = dropLayout(type);
  ArrayRef<Tile> tiles(layout->tiles);
  levels.push_back(makeLevel(source, order,
                             tiles.empty()
                                 ? ArrayRef<int64_t>()
                                 : ArrayRef<int64_t>(tiles.front().sizes)));
  for (const Tile &tile : tiles.drop_front(tiles.empty() ? 0 : 1)) {
    source = levels.back().result;
    order = llvm::to_vector(llvm::seq<int64_t>(0, source.getRank()));
    levels.push_back(makeLevel(source, order, tile.sizes));
  }
  return levels;
}

/// Of a tensor in a layout, that of its positions in memory.
static RankedTensorType getPackedType(RankedTensorType type,
                                      const PackLevels &levels) {
  return levels.empty() ? dropLayout(type) : levels.back().result;
}

//===----------------------------------------------------------------------===//
// To linalg.pack
//===----------------------------------------------------------------------===//

namespace {
struct ToLinalgPackPass : tessera::impl::ToLinalgPackBase<ToLinalgPackPass> {
  void runOnOperation() override;

private:
  LogicalResult check();
  void makePlain(Operation *op);
  void replaceConstant(arith::ConstantOp op);
  void setTypes();
  /// A relayout, or what is one, with the types that it had.
  struct Move {
    Operation *op;
    RankedTensorType from, to;
  };
  void replace(const Move &move);
  Value pack(OpBuilder &builder, Location loc, Value value,
             const PackLevels &levels);
  Value unpack(OpBuilder &builder, Location loc, Value value,
               const PackLevels &levels);
  PackLevels levelsOf(Type type) {
    return llvm::cantFail(getLevels(cast<RankedTensorType>(type)));
  }
};
} // namespace

static bool isLaidOut(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && getLayoutAttr(tensor);
}

/// Whether tensors go through an operation as they are.
static bool handsOn(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return !isa<TensorType>(select.getCondition().getType());
  return isa<BranchOpInterface, CallOpInterface, FunctionOpInterface,
             RegionBranchOpInterface>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether a type is that of a function of tensors with layouts.
static bool isFunctionOfLaidOut(Type type) {
  auto function = dyn_cast<FunctionType>(type);
  return function && (llvm::any_of(function.getInputs(), isLaidOut) ||
                      llvm::any_of(function.getResults(), isLaidOut));
}

/// Operations that can be given other types. Those of this dialect must have a
/// form without layouts, and nothing may stand beside parallel insertions.
static bool isKnown(Operation *op) {
  if (auto relayout = dyn_cast<RelayoutOp>(op))
    return relayout.isTensorForm();
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return isa<FunctionType>(function.getFunctionType());
  if (isa<tensor::ParallelInsertSliceOp>(op) ||
      llvm::any_of(op->getResultTypes(), isFunctionOfLaidOut))
    return false;
  return isa<AssumeLayoutOp, EmptyOp>(op) ||
         op->getName().getDialectNamespace() != "tessera";
}

/// Everything that may fail is asked before anything changes.
LogicalResult ToLinalgPackPass::check() {
  WalkResult result = getOperation()->walk([&](Operation *op) -> WalkResult {
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      llvm::append_range(types, function.getArgumentTypes());
      llvm::append_range(types, function.getResultTypes());
    }
    bool hasLayouts = false;
    for (Type type : types) {
      if (isa<MemRefType>(type) && getLayoutAttr(type))
        return emitLayoutError(
            [&] { return op->emitOpError(); },
            unsupportedError("memref with a layout", "tensors",
                             "a buffer; run this pass before bufferization"));
      hasLayouts |= isFunctionOfLaidOut(type) && !isa<FunctionOpInterface>(op);
      if (!isLaidOut(type))
        continue;
      hasLayouts = true;
      llvm::Expected<PackLevels> levels =
          getLevels(cast<RankedTensorType>(type));
      if (!levels)
        return emitLayoutError([&] { return op->emitOpError(); },
                               levels.takeError());
    }
    if (!hasLayouts || isKnown(op))
      return success();
    return emitLayoutError(
        [&] { return op->emitOpError(); },
        unsupportedError("operation on tensors with layouts",
                         "one that takes tensors without layouts, too",
                         op->getName().getStringRef(),
                         "run --tessera-expand-ops first"));
  });
  return failure(result.wasInterrupted());
}

void ToLinalgPackPass::replaceConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getType());
  Value plain = arith::ConstantOp::create(builder, op.getLoc(),
                                          elements.reshape(dropLayout(type)));
  op.replaceAllUsesWith(
      RelayoutOp::create(builder, op.getLoc(), type, plain).getResult());
  op.erase();
}

/// An operation computes on tensors without layouts, between relayouts.
void ToLinalgPackPass::makePlain(Operation *op) {
  OpBuilder builder(op);
  auto relayout = [&](Value value, RankedTensorType type) -> Value {
    return RelayoutOp::create(builder, op->getLoc(), type, value).getResult();
  };
  for (OpOperand &operand : op->getOpOperands())
    if (isLaidOut(operand.get().getType()))
      operand.set(relayout(operand.get(), dropLayout(cast<RankedTensorType>(
                                              operand.get().getType()))));
  auto free = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !isLaidOut(type))
      return;
    value.setType(dropLayout(type));
    Value moved = relayout(value, type);
    value.replaceAllUsesExcept(moved, moved.getDefiningOp());
  };
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments()) {
      builder.setInsertionPointToStart(argument.getOwner());
      free(argument);
    }
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults())
    free(result);
}

Value ToLinalgPackPass::pack(OpBuilder &builder, Location loc, Value value,
                             const PackLevels &levels) {
  for (const PackLevel &level : levels) {
    Value empty = tensor::EmptyOp::create(builder, loc, level.result.getShape(),
                                          level.result.getElementType());
    std::optional<Value> padding;
    if (level.isPadded())
      padding = arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(level.result.getElementType()));
    value = linalg::PackOp::create(builder, loc, value, empty, level.innerPos,
                                   level.getTiles(builder), padding,
                                   level.outerPerm)
                .getResult();
    ++numPacks;
  }
  return value;
}

Value ToLinalgPackPass::unpack(OpBuilder &builder, Location loc, Value value,
                               const PackLevels &levels) {
  for (const PackLevel &level : llvm::reverse(levels)) {
    Value empty = tensor::EmptyOp::create(builder, loc, level.source.getShape(),
                                          level.source.getElementType());
    value = linalg::UnPackOp::create(builder, loc, value, empty, level.innerPos,
                                     level.getTiles(builder), level.outerPerm)
                .getResult();
    ++numUnpacks;
  }
  return value;
}

/// The packs and unpacks of a relayout that was between two types.
void ToLinalgPackPass::replace(const Move &move) {
  OpBuilder builder(move.op);
  Location loc = move.op->getLoc();
  Value value =
      unpack(builder, loc, move.op->getOperand(0), levelsOf(move.from));
  value = pack(builder, loc, value, levelsOf(move.to));
  move.op->getResult(0).replaceAllUsesWith(value);
  move.op->erase();
}

/// Tensors with layouts become those of their positions.
void ToLinalgPackPass::setTypes() {
  auto convert = [&](Type type) -> Type {
    return isLaidOut(type)
               ? getPackedType(cast<RankedTensorType>(type), levelsOf(type))
               : type;
  };
  getOperation()->walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(convert(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(convert(argument.getType()));
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (function && isFunctionOfLaidOut(function.getFunctionType()))
      function.setType(function.cloneTypeWith(
          llvm::map_to_vector(function.getArgumentTypes(), convert),
          llvm::map_to_vector(function.getResultTypes(), convert)));
  });
}

void ToLinalgPackPass::runOnOperation() {
  if (failed(check()))
    return signalPassFailure();
  SmallVector<Operation *> ops;
  getOperation()->walk([&](Operation *op) {
    bool hasLayouts = llvm::any_of(op->getOperandTypes(), isLaidOut) ||
                      llvm::any_of(op->getResultTypes(), isLaidOut);
    if (hasLayouts && !handsOn(op) &&
        !isa<AssumeLayoutOp, EmptyOp, RelayoutOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      replaceConstant(constant);
    else
      makePlain(op);
  std::vector<Move> moves;
  SmallVector<EmptyOp> empties;
  getOperation()->walk([&](Operation *op) {
    if (auto empty = dyn_cast<EmptyOp>(op))
      empties.push_back(empty);
    if (isa<AssumeLayoutOp, RelayoutOp>(op))
      moves.push_back({op, cast<RankedTensorType>(op->getOperand(0).getType()),
                       cast<RankedTensorType>(op->getResult(0).getType())});
  });
  setTypes();
  for (const Move &move : moves)
    replace(move);
  for (EmptyOp op : empties) {
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(
        tensor::EmptyOp::create(builder, op.getLoc(), op.getType(),
                                op.getOperands())
            .getResult());
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// From linalg.pack
//===----------------------------------------------------------------------===//

namespace {
struct FromLinalgPackPass
    : tessera::impl::FromLinalgPackBase<FromLinalgPackPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void replace(linalg::PackOp op);
  void replace(linalg::UnPackOp op);
  void refuse(Operation *op, const Twine &reason);
};
} // namespace

/// The layout that a pack or unpack is of, for the tensor that is not packed;
/// nothing where no tiles say it.
template <typename OpTy>
static std::optional<Layout> getLayoutOf(OpTy op, RankedTensorType plain) {
  int64_t rank = plain.getRank();
  SmallVector<int64_t> order(op.getOuterDimsPerm());
  if (order.empty())
    order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  ArrayRef<int64_t> tiled = op.getInnerDimsPos();
  if (ArrayRef(order).take_back(tiled.size()) != tiled ||
      ShapedType::isDynamicShape(op.getStaticTiles()) ||
      !plain.hasStaticShape())
    return std::nullopt;
  Layout layout;
  layout.minorToMajor.assign(order.rbegin(), order.rend());
  if (!tiled.empty()) {
    Tile tile;
    llvm::append_range(tile.sizes, op.getStaticTiles());
    layout.tiles.push_back(tile);
  }
  return layout;
}

static RankedTensorType withLayout(RankedTensorType type,
                                   const Layout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

/// Whether an unpack takes what a pack gave.
static bool isInverse(linalg::UnPackOp unpack, linalg::PackOp pack) {
  return unpack.getType() == pack.getSource().getType() &&
         unpack.getStaticTiles() == pack.getStaticTiles() &&
         unpack.getInnerDimsPos() == pack.getInnerDimsPos() &&
         getLayoutOf(unpack, unpack.getType()) ==
             getLayoutOf(pack, pack.getSourceType());
}

void FromLinalgPackPass::refuse(Operation *op, const Twine &reason) {
  ++numKept;
  if (remarks)
    op->emitRemark() << "stays: " << reason;
}

/// Packed tensors that only unpacks read become tensors in a layout. For others
/// it is read as what it was, which padding prevents: it is no element.
void FromLinalgPackPass::replace(linalg::PackOp op) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto result = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!source || !result)
    return refuse(op, "expected tensors");
  std::optional<Layout> layout = getLayoutOf(op, source);
  if (!layout)
    return refuse(op,
                  "no order of dimensions with tiles of the last of them, of "
                  "static sizes, says what it does");
  OpBuilder builder(op);
  RankedTensorType laidOut = withLayout(source, *layout);
  SmallVector<linalg::UnPackOp> inverses;
  for (Operation *user : op.getResult().getUsers())
    if (auto unpack = dyn_cast<linalg::UnPackOp>(user);
        unpack && unpack.getSource() == op.getResult() && isInverse(unpack, op))
      inverses.push_back(unpack);
  bool hasOthers = !llvm::hasNItems(op.getResult().getUses(), inverses.size());
  bool isPadded = source.getNumElements() != result.getNumElements();
  if (hasOthers && isPadded)
    return refuse(op,
                  "something other than an unpack reads its padding, of which "
                  "no layout says what it holds");
  Value moved =
      RelayoutOp::create(builder, op.getLoc(), laidOut, op.getSource())
          .getResult();
  for (linalg::UnPackOp unpack : inverses) {
    OpBuilder there(unpack);
    unpack.getResult().replaceAllUsesWith(
        RelayoutOp::create(there, unpack.getLoc(), unpack.getType(), moved)
            .getResult());
    unpack.erase();
    ++numUnpacks;
  }
  if (hasOthers)
    op.getResult().replaceAllUsesWith(BitcastOp::create(
        builder, op.getLoc(), result, moved, /*fused=*/false));
  op.erase();
  ++numPacks;
}

/// What somebody else packed has the bytes of a layout.
void FromLinalgPackPass::replace(linalg::UnPackOp op) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto result = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!source || !result)
    return refuse(op, "expected tensors");
  std::optional<Layout> layout = getLayoutOf(op, result);
  if (!layout || source.getEncoding())
    return refuse(op,
                  "no order of dimensions with tiles of the last of them, of "
                  "static sizes, says what it does");
  OpBuilder builder(op);
  Value value = BitcastOp::create(builder, op.getLoc(),
                                  withLayout(result, *layout), op.getSource(),
                                  /*fused=*/false);
  op.getResult().replaceAllUsesWith(
      RelayoutOp::create(builder, op.getLoc(), result, value).getResult());
  op.erase();
  ++numUnpacks;
}

void FromLinalgPackPass::runOnOperation() {
  SmallVector<linalg::PackOp> packs;
  getOperation()->walk([&](linalg::PackOp op) { packs.push_back(op); });
  for (linalg::PackOp op : packs)
    replace(op);
  SmallVector<linalg::UnPackOp> unpacks;
  getOperation()->walk([&](linalg::UnPackOp op) { unpacks.push_back(op); });
  for (linalg::UnPackOp op : unpacks)
    replace(op);
}
