//===- NestEmitter.h - Code for one nest of a plan --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NestEmitter turns one nest of a RelayoutPlan into loops and kernels. Code has
// three levels:
//
//   1. Loops over blocks, by the loops of the plan: affine.for, or
//      affine.parallel where threads share them. The last block of a loop takes
//      what is left, or overlaps the block before it. Loops of few steps are
//      unrolled.
//   2. The block: where its rows and columns begin, which buffers it goes
//      through (staged, carried, packed panels), and what is prefetched.
//   3. The registers of the block, by VectorKernels.
//
// For f32[128,128]{1,0} to {0,1}, blocks of 64 rows by 32 columns and registers
// of 64 bytes, that is
//
//     for each 32 columns  for each 64 rows
//       two times 16 columns, four times 16 rows:
//         16 loads of a row, 64 shuffles, 16 stores of a column
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTEMITTER_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTEMITTER_H

#include "Scratch.h"
#include "VectorKernels.h"

#include "mlir/IR/AffineExpr.h"

#include <algorithm>
#include <optional>

namespace tessera {

/// Repetitions up to this number are unrolled; more become a loop.
inline constexpr int64_t kMaxUnrolled = 4;
/// Rows of narrow elements that are unpacked before their columns are written.
inline constexpr int64_t kSquareRows = 64;
/// Loops around a copy or a interleave in the cache are unrolled until their
/// code moves this many bytes: one piece of code reaches 0.98 of memcpy in tile
/// copies where short loops reach 0.6.
inline constexpr int64_t kUnrolledBytes = 8192;
/// Bytes that one iteration of a copy loop moves.
inline constexpr int64_t kChunkBytes = 256;

/// Where rows or columns of a block begin, in elements.
using Table = llvm::SmallVector<int64_t, 64>;

/// How a loop is emitted.
struct LoopShape {
  int64_t trips = 1;
  bool isParallel = false;
  bool needsFence = false;
  bool isUnrolled = false;
};

/// Loops that have been opened: their variables, and the iteration of each loop
/// of the plan over them; that of an unrolled loop is a constant.
struct OpenLoops {
  llvm::SmallVector<mlir::Value, 6> ivs;
  llvm::SmallVector<mlir::AffineExpr, 6> iterations;
};

/// Orders the nontemporal stores before it before all stores after it.
void emitFence(mlir::ImplicitLocOpBuilder &b);

/// Emits `then` where a condition holds, and else `otherwise`, if there is
/// such.
void emitChoice(mlir::ImplicitLocOpBuilder &b, mlir::Value condition,
                llvm::function_ref<void()> then,
                llvm::function_ref<void()> otherwise = nullptr);

/// Emits `body`, for an iteration of its own each time, in a loop or unrolled.
void emitLoop(mlir::ImplicitLocOpBuilder &b, Scratch &scratch, LoopShape shape,
              llvm::SmallVectorImpl<mlir::Value> &ivs,
              llvm::function_ref<void(mlir::AffineExpr iteration)> body);

/// The distance of groups of `size` positions that repeat one after another in
/// `table`, if they do.
inline std::optional<int64_t> getUniformStride(llvm::ArrayRef<int64_t> table,
                                               size_t size) {
  int64_t stride = table.size() > size ? table[size] : 0;
  for (size_t i = size; i < table.size(); ++i)
    if (table[i] != table[i - size] + stride)
      return std::nullopt;
  return stride;
}

/// Emits one nest within the loops that it shares with others.
class NestEmitter {
public:
  NestEmitter(mlir::ImplicitLocOpBuilder &builder, Scratch &scratch,
              mlir::Value src, mlir::Value dst, mlir::Value phase,
              const NestSchedule &nest, const RelayoutTarget &target,
              mlir::TypedAttr padding, int64_t &shufflesLeft)
      : b(builder), scratch(scratch), src(src), dst(dst), phase(phase),
        nest(nest), padding(padding), shufflesLeft(shufflesLeft),
        kernels(builder,
                llvm::cast<mlir::MemRefType>(dst.getType()).getElementType(),
                target.vectorBytes, nest.runElements) {
    kernels.setPackedBytes(nest.packedBytes, nest.signedBits);
    kernels.setWithin(nest.within);
    if (nest.stores() == StoreKind::Plain)
      kernels.setMaxLoadBytes(target.costs.cachedLoadBytes);
    if (nest.packsPanels())
      kernels.setMaxLoadBytes(16);
    numElements =
        std::min(llvm::cast<mlir::MemRefType>(src.getType()).getNumElements(),
                 llvm::cast<mlir::MemRefType>(dst.getType()).getNumElements());
    hasWideLoads = target.costs.cachedLoadBytes == RelayoutTarget::kLineBytes;
    isInCache = numElements < target.nontemporalBytes / kernels.elementBytes();
    isInFirstLevel =
        numElements * kernels.elementBytes() <=
        target.costs.firstLevelWays * RelayoutTarget::kPageBytes / 2;
    isFenced = target.needsFence && nest.stores() != StoreKind::Plain;
  }

  /// Emits what is within `shared`, the outermost loops.
  void emit(const OpenLoops &shared);
  /// Bytes that the loops from number `depth` on move.
  int64_t countBytes(size_t depth) const;
  /// Shuffles that the nest takes if no tile is unrolled: one for each side's
  /// whole blocks and remainders.
  int64_t countTileShuffles() const;
  /// Whether a fence has to follow its stores.
  bool needsFence() const { return isFenced; }
  /// Whether the nest is worth unrolling where it moves few bytes.
  bool isUnrolled() const {
    return isInCache && nest.packedBytes.empty() &&
           (nest.is<CopyKernel>() || nest.is<InterleaveKernel>() ||
            nest.is<DeinterleaveKernel>() || nest.is<FillKernel>());
  }

private:
  /// Where a block begins, over the induction variables so far, and where what
  /// it has in a buffer does: the lines of its columns that wait, or the tile
  /// of a packed panel; of runs that are coalesced, the number of one.
  struct Offsets {
    mlir::AffineExpr src, dst, carry;
  };
  using Body = llvm::function_ref<void(mlir::Value iteration)>;

  /// Emits the loops from number `depth` on, and before those within a panel
  /// what packs it. Blocks have `rows` and `columns` steps of the loops that
  /// continue the block's own.
  void emitLoops(size_t depth, Offsets at, int64_t rows, int64_t columns);
  void emitWithin(size_t depth, Offsets at, int64_t rows, int64_t columns);
  void emitGathers(LoopShape shape,
                   llvm::function_ref<void(mlir::AffineExpr iteration)> body);
  void emitEnds(size_t depth, Offsets at,
                llvm::function_ref<void(mlir::AffineExpr iteration)> body);
  void emitFullBlocks(size_t depth, Offsets at, int64_t rows, int64_t columns);
  int64_t countRemainder(const PlanLoop &loop) const;
  bool overlapsBlocks(const PlanLoop &loop) const;
  void emitOverlappingBlocks(size_t depth, Offsets at, int64_t rows,
                             int64_t columns);
  void emitBlock(Offsets at, int64_t rows, int64_t columns);

  void emitFill(Position to, int64_t count);
  void emitRunEnd(Move move, int64_t count);
  /// Writes some bits of each byte, those of the source or of the padding.
  void emitBits(Move move);
  /// Runs that advance side by side, some lines at a time.
  void emitStreams(const Block &block, llvm::ArrayRef<int64_t> toRows);
  void emitStagedCopy(const Block &block, bool isAligned);
  void emitTranspose(const Block &block, bool isAligned);
  void emitInterleave(const Block &block);
  void emitShiftedInterleave(const Block &block, InterleaveGap gap);
  void emitDeinterleave(const Block &block);
  /// All columns of some rows, as many at a time as one load takes.
  void emitTiles(const Block &block, bool fillsLines, bool unrolls);
  /// As many rows at a time as a register takes.
  void emitRowChunks(const Block &block);
  void emitLongColumns(const Block &block);
  void emitRaggedColumns(const Block &block);
  void emitRaggedColumn(Move column, int64_t count);
  void emitPackedTranspose(const Block &block);
  void emitPackedRows(size_t number, Move move, llvm::ArrayRef<int64_t> rows,
                      int64_t length);
  void emitColumnChunks(const Block &block);
  bool emitSquares(const Block &block);
  void emitGatheredRows(const Block &block);
  /// Copies a panel into its buffer, and transposes it from there by the loops
  /// from number `depth` on.
  void emitPanel(size_t depth, Offsets at, int64_t rows, int64_t columns);
  void packPanel(Position from, llvm::ArrayRef<int64_t> rows);
  void emitPrefetch(Position from, llvm::ArrayRef<int64_t> rows);
  void emitCopyPrefetch(Position from, llvm::ArrayRef<int64_t> runs,
                        int64_t count);
  /// Where the source is so many elements further on, so that as many as
  /// `reach` are within it.
  Position getAhead(Position from, int64_t distance, int64_t reach);
  /// Prefetches the line at `position` of the source.
  void emitPrefetchOfLine(Position position);
  /// A block of a panel; the last panel is shorter, or empty.
  void emitCarried(const Block &block, Position carry, int64_t phase);
  /// One line of each column. `isFirst`, if there is such a value, says whether
  /// it is the first one.
  void emitCarriedLines(const Block &block, Position carry, int64_t phase,
                        mlir::Value isFirst);
  /// A line of a column, which begins `shift` elements behind it.
  struct CarriedLine {
    mlir::Value value;
    Position position;
    int64_t shift;
  };
  void storeLines(llvm::ArrayRef<CarriedLine> lines, mlir::Value isFirst);
  /// What the panels have kept when there are no more lines.
  void emitKeptLines(Position to, Position carry,
                     llvm::ArrayRef<int64_t> columns, int64_t phase);
  /// Writes the columns that a block left in the buffer, those that follow
  /// one another as one run.
  void emitStagedColumns(Move move, llvm::ArrayRef<int64_t> columns,
                         int64_t length, bool isAligned);

  /// Copies a run so that all whole lines in it bypass the cache.
  void emitNontemporalRun(Move run, int64_t count, bool isAligned);
  void emitMaskedRun(Move run, int64_t count, bool hasHead);
  /// Elements of a run up to the first line that begins in it.
  mlir::Value createHead(Position to) { return createInLine(to, true); }
  /// Elements of its line that come before a position.
  mlir::Value createShift(Position to) { return createInLine(to, false); }
  mlir::Value createInLine(Position to, bool isNegative);
  Position skip(Position position, mlir::Value elements);
  Move skip(Move move, mlir::Value elements) {
    return {skip(move.from, elements), skip(move.to, elements)};
  }
  /// The run of that number among those that continue one another.
  void emitCoalescedRun(Move run, mlir::AffineExpr number);
  void emitCoalescedEnd(Move run, mlir::Value shift, int64_t remainder,
                        mlir::Value isLast);
  void emitAlignedRun(Move run, int64_t count);
  /// Copies elements from number `begin` to `end`, one at a time.
  void emitElements(Move run, mlir::Value begin, mlir::Value end);

  /// `body` for iteration numbers 0 to `count`, unrolled if they are few.
  void repeat(int64_t count, Body body);
  void repeatInLoop(int64_t count, Body body);
  void repeatBetween(mlir::Value begin, mlir::Value end, Body body);
  /// A loop that LLVM is to unroll last of all, or not.
  void repeatTiles(int64_t count, bool unrolls, Body body);
  /// `body` for chunks of a run, and for what is left of it. `At` is a
  /// position, or a move.
  template <typename At>
  void forEachChunk(At at, int64_t count,
                    llvm::function_ref<void(At chunk, int64_t size)> body) {
    int64_t chunk = kChunkBytes / kernels.elementBytes();
    int64_t whole = count / chunk * chunk;
    repeat(count / chunk,
           [&](mlir::Value i) { body(advance(at, i, chunk), chunk); });
    if (whole < count)
      body(at + whole, count - whole);
  }

  /// Some entries of a table: those that follow `begin`, and the same further
  /// on by `iteration` times `stride`.
  struct Part {
    llvm::ArrayRef<int64_t> entries;
    int64_t begin;
    mlir::Value iteration;
    int64_t stride;
    /// Entries of the table from one iteration to the next.
    int64_t step;
  };
  /// Splits a table into parts of `size` that lie alike, and one of what is
  /// left, of at least `least`, or parts of which the last one `overlaps`.
  void forEachPart(llvm::ArrayRef<int64_t> table, int64_t size, int64_t least,
                   bool unrolls, bool overlaps,
                   llvm::function_ref<void(const Part &)> body);
  /// Whether tiles of that many runs get code of their own each.
  bool unrollsTiles(int64_t rows, int64_t columns);
  /// Whether blocks of that many runs move little of all, here.
  bool isLight(int64_t rows, int64_t columns) const;
  Position advance(Position position, mlir::Value iteration, int64_t stride);
  Move advance(Move move, mlir::Value iteration, int64_t fromStride,
               int64_t toStride) {
    return {advance(move.from, iteration, fromStride),
            advance(move.to, iteration, toStride)};
  }
  Move advance(Move move, mlir::Value iteration, int64_t stride) {
    return advance(move, iteration, stride, stride);
  }
  Position advance(Position position, const Part &part) {
    return advance(position, part.iteration, part.stride);
  }
  /// Where a part of rows or columns begins on the side on which their runs
  /// are one run.
  Position advanceRuns(Position position, const Part &part) {
    return advance(position + part.begin * nest.runElements, part.iteration,
                   part.step * nest.runElements);
  }
  mlir::Value constant(int64_t value);
  mlir::Value isEqual(mlir::Value value, mlir::Value other);
  mlir::Value createIndex(mlir::AffineExpr expr);
  /// `expr` of one dimension, for `operand`.
  mlir::Value apply(mlir::AffineExpr expr, mlir::Value operand);
  mlir::Value applyMin(mlir::AffineExpr first, mlir::AffineExpr second,
                       mlir::Value operand);
  /// Where rows are taken from, and where they go.
  Position getSource(Offsets at);
  Position getDestination(Offsets at);
  /// Elements of its line that come before a block that carries.
  int64_t getPhase(Offsets at);
  /// Elements of the destination before the rows that are taken.
  mlir::Value createRowHead(Offsets at);
  Position getStage() { return getStage(countStage()); }
  Position getStage(int64_t elements);
  /// Whether the loops from number `depth` on are those within a panel.
  bool isWithinPanel(size_t depth) const;
  /// Elements of a tile, a line of each row of a panel. One line more keeps
  /// tiles out of one another's sets of the cache.
  int64_t countTile() const {
    return (nest.blockRows() + haloRows() + 1) * lineElements();
  }
  /// Rows of the next panel that a panel has too, where its columns end
  /// anywhere in a line: each line is written by the panel that it begins in.
  int64_t haloRows() const {
    bool isRagged = nest.packsPanels() && nest.stores() == StoreKind::Staged;
    return isRagged ? lineElements() / nest.runElements : 0;
  }
  /// Full blocks of a loop; a last panel has as many rows as a halo.
  int64_t countFullBlocks(const PlanLoop &loop) const {
    int64_t halo = loop.role == PlanLoop::Role::DstContiguous ? haloRows() : 0;
    return std::max<int64_t>(loop.count - halo, 0) / loop.step;
  }
  /// Elements of the buffer, and those that a step of each loop takes of it.
  int64_t countStage() const;
  int64_t getCarryStride(size_t depth) const;
  /// Elements of a column of `rows` that are interleaved.
  int64_t getColumnElements(llvm::ArrayRef<int64_t> rows) const {
    return rows.size() * nest.numPackedBytes() * nest.runElements;
  }
  int64_t lineElements() const {
    return RelayoutTarget::kLineBytes / kernels.elementBytes();
  }
  bool isNontemporal() const { return nest.stores() == StoreKind::Nontemporal; }
  bool isCarried() const { return nest.stores() == StoreKind::Carried; }
  /// Whether a block's rows are copied side by side before they are transposed.
  bool gathersRows() const {
    return nest.takesRows(TransposeKernel::Rows::Gathered);
  }

  mlir::ImplicitLocOpBuilder &b;
  Scratch &scratch;
  mlir::Value src, dst;
  /// Elements of its line that come before the destination; null if it begins
  /// at one.
  mlir::Value phase;
  const NestSchedule &nest;
  mlir::TypedAttr padding;
  /// Shuffles that may still be spent on unrolled tiles, by all nests together.
  int64_t &shufflesLeft;
  VectorKernels kernels;
  /// Elements of the smaller buffer, and whether it may stay in the cache, and
  /// both buffers in that of the first level.
  int64_t numElements = 0;
  bool isInCache = false, isInFirstLevel = false;
  /// Whether whole lines are loaded though lanes have to be exchanged then.
  bool hasWideLoads = false;
  bool isFenced = false;
  /// Iterations of all loops around the insertion point.
  int64_t trips = 1;
  llvm::SmallVector<mlir::Value, 6> ivs;
  /// The number of the panel that hands on what is left of lines; none for the
  /// last one.
  mlir::Value panel;
  /// The buffer of packed panels.
  mlir::Value panelBuffer;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_NESTEMITTER_H
