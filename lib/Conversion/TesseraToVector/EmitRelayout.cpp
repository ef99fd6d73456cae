//===- EmitRelayout.cpp - Code for a relayout plan ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/EmitRelayout.h"

#include "VectorKernels.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <algorithm>

using namespace tessera;
using namespace mlir;

/// Repetitions up to this number are unrolled; more become a loop.
static constexpr int64_t kMaxUnrolled = 4;
/// The same for the shuffles of a block's tiles between large arrays, where
/// memory hides what a loop costs.
static constexpr int64_t kMaxUnrolledShuffles = 192;
/// Rows of narrow elements that are unpacked before their columns are written.
static constexpr int64_t kSquareRows = 64;
/// Rows of such that are unpacked at once, with code for each such set: twice
/// as many are faster in a loop.
static constexpr int64_t kMaxUnrolledRows = 8;
/// Nests that move less than this part of all are not unrolled.
static constexpr int64_t kLightNests = 32;
/// Arrays that fit into the first-level cache are unrolled where that takes few
/// shuffles: rolled tiles of odd sides overlap.
static constexpr int64_t kFirstLevelBytes = 16 << 10;
static constexpr int64_t kMostFirstLevelShuffles = 512;
/// Shuffles in the unrolled tiles of one relayout: each takes the code
/// generator some 40 microseconds.
static constexpr int64_t kMostShuffles = 2176;
/// Loops around a copy or a weave in the cache are unrolled until their code
/// moves this many bytes: one piece of code reaches 0.98 of memcpy in tile
/// copies where short loops reach 0.6.
static constexpr int64_t kUnrolledBytes = 8192;
/// Lines that are stored under one condition: half the registers.
static constexpr size_t kCarriedGroup = 16;
/// Units that an iteration of a loop of gathers moves.
static constexpr int64_t kUnrolledGathers = 8;
/// Bytes that one iteration of a copy loop moves.
static constexpr int64_t kChunkBytes = 256;
/// Lines that a run of unknown alignment must span to be streamed.
static constexpr int64_t kMinLines = 4;

/// The distance of groups of `size` places that repeat one after another in
/// `table`, if they do.
static std::optional<int64_t> getUniformStride(llvm::ArrayRef<int64_t> table,
                                               size_t size) {
  int64_t stride = table.size() > size ? table[size] : 0;
  for (size_t i = size; i < table.size(); ++i)
    if (table[i] != table[i - size] + stride)
      return std::nullopt;
  return stride;
}

/// What LLVM is told of a loop: to unroll it whole, or to leave it.
static LLVM::LoopAnnotationAttr getUnrolling(MLIRContext *context,
                                             bool unrolls) {
  LLVM::LoopUnrollAttr unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/unrolls ? nullptr : BoolAttr::get(context, true),
      /*count=*/nullptr, /*runtimeDisable=*/nullptr,
      /*full=*/unrolls ? BoolAttr::get(context, true) : nullptr,
      /*followupUnrolled=*/nullptr, /*followupRemainder=*/nullptr,
      /*followupAll=*/nullptr);
  return LLVM::LoopAnnotationAttr::get(
      context, /*disableNonforced=*/nullptr, /*vectorize=*/nullptr,
      /*interleave=*/nullptr, unroll, /*unrollAndJam=*/nullptr,
      /*licm=*/nullptr, /*distribute=*/nullptr, /*pipeline=*/nullptr,
      /*peeled=*/nullptr, /*unswitch=*/nullptr, /*mustProgress=*/nullptr,
      /*isVectorized=*/nullptr, /*startLoc=*/nullptr, /*endLoc=*/nullptr,
      /*parallelAccesses=*/{});
}

namespace {
using Table = llvm::SmallVector<int64_t, 64>;

/// How a loop is emitted.
struct LoopShape {
  int64_t trips = 1;
  bool isParallel = false;
  bool isStreaming = false;
  bool isUnrolled = false;
};

/// Loops that have been opened: their variables, and the iteration of each loop
/// of the plan over them; that of an unrolled loop is a constant.
struct OpenLoops {
  llvm::SmallVector<Value, 6> ivs;
  llvm::SmallVector<AffineExpr, 6> iterations;
};

/// Emits one nest within the loops that it shares with others.
class NestEmitter {
public:
  NestEmitter(ImplicitLocOpBuilder &builder, Value src, Value dst,
              const PlanNest &nest, const RelayoutTarget &target,
              TypedAttr padding, int64_t &shufflesLeft)
      : b(builder), src(src), dst(dst), nest(nest), padding(padding),
        shufflesLeft(shufflesLeft),
        kernels(builder, cast<MemRefType>(dst.getType()).getElementType(),
                target.vectorBytes, nest.unit) {
    kernels.setJoined(nest.joined, nest.signedBits);
    if (nest.stores == StoreKind::Plain)
      kernels.setMostLoadBytes(target.costs.cachedLoadBytes);
    numElements = std::min(cast<MemRefType>(src.getType()).getNumElements(),
                           cast<MemRefType>(dst.getType()).getNumElements());
    hasWideLoads = target.costs.cachedLoadBytes == RelayoutTarget::kLineBytes;
    isInCache = numElements < target.streamingBytes / kernels.elementBytes();
  }

  /// Emits what is within `shared`, the outermost loops.
  void emit(const OpenLoops &shared);
  /// Bytes that the loops from number `depth` on move.
  int64_t countBytes(size_t depth) const;
  /// Shuffles that the nest takes if no tile is unrolled: one for each side's
  /// whole blocks and remainders.
  int64_t countTileShuffles() const;
  /// Whether the nest is worth unrolling where it moves few bytes.
  bool isUnrolled() const {
    static constexpr KernelKind kOthers[] = {
        KernelKind::Transpose, KernelKind::Gather, KernelKind::Merge,
        KernelKind::FillBits};
    return isInCache && nest.joined.empty() &&
           !llvm::is_contained(kOthers, nest.kernel);
  }

private:
  /// Where a block begins, over the induction variables so far; for carried
  /// ones also where the lines of its columns wait, or the number of a run
  /// among those that are joined.
  struct Offsets {
    AffineExpr src, dst, carry;
  };
  using Body = llvm::function_ref<void(Value iteration)>;

  /// Emits the loops from number `depth` on. Blocks have `rows` and `columns`
  /// steps of the loops that continue the block's own.
  void emitLoops(size_t depth, Offsets at, int64_t rows, int64_t columns);
  void emitGathers(LoopShape shape,
                   llvm::function_ref<void(AffineExpr iteration)> body);
  void emitFullBlocks(size_t depth, Offsets at, int64_t rows, int64_t columns);
  bool overlapsBlocks(const PlanLoop &loop) const;
  void emitOverlappingBlocks(size_t depth, Offsets at, int64_t rows,
                             int64_t columns);
  void emitBlock(Offsets at, int64_t rows, int64_t columns);

  void emitFill(Place to, int64_t count);
  void emitRunEnd(Place from, Place to, int64_t count);
  /// Writes some bits of each byte, those of `from` or of the padding.
  void emitBits(Place from, Place to);
  /// Runs that advance side by side, some lines at a time.
  void emitStreams(Place from, Place to, llvm::ArrayRef<int64_t> fromRows,
                   llvm::ArrayRef<int64_t> toRows);
  void emitStagedCopy(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                      bool isAligned);
  void emitTranspose(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                     llvm::ArrayRef<int64_t> columns, bool isAligned);
  void emitInterleave(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                      llvm::ArrayRef<int64_t> columns);
  void emitShiftedInterleave(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                             int64_t numColumns, WeaveGap gap);
  void emitDeinterleave(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                        llvm::ArrayRef<int64_t> columns);
  /// All columns of some rows, as many at a time as one load takes.
  void emitTiles(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                 llvm::ArrayRef<int64_t> columns, bool fillsLines,
                 bool unrolls);
  /// As many rows at a time as a register takes.
  void emitRowChunks(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                     llvm::ArrayRef<int64_t> columns);
  void emitJoinedTranspose(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                           llvm::ArrayRef<int64_t> columns);
  void emitJoinedRows(size_t number, Place from, Place stage,
                      llvm::ArrayRef<int64_t> rows, int64_t length);
  void emitColumnChunks(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                        llvm::ArrayRef<int64_t> columns);
  bool emitSquares(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                   llvm::ArrayRef<int64_t> columns);
  void emitGatheredRows(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                        llvm::ArrayRef<int64_t> columns);
  void emitPrefetch(Place from, llvm::ArrayRef<int64_t> rows);
  /// A block of a strip; the last strip is shorter, or empty.
  void emitCarried(Place from, Place to, Place carry,
                   llvm::ArrayRef<int64_t> rows,
                   llvm::ArrayRef<int64_t> columns, int64_t phase);
  /// One line of each column. `isFirst`, if there is such a value, says whether
  /// it is the first one.
  void emitCarriedLines(Place from, Place to, Place carry,
                        llvm::ArrayRef<int64_t> rows,
                        llvm::ArrayRef<int64_t> columns, int64_t phase,
                        Value isFirst);
  /// A line of a column, which begins `shift` elements behind it.
  struct CarriedLine {
    Value value;
    Place place;
    int64_t shift;
  };
  void storeLines(llvm::ArrayRef<CarriedLine> lines, Value isFirst);
  /// What the strips have kept when there are no more lines.
  void emitKeptLines(Place to, Place carry, llvm::ArrayRef<int64_t> columns,
                     int64_t phase);
  /// Streams out the columns that a block left in the buffer, those that follow
  /// one another as one run.
  void emitStagedColumns(Place stage, Place to, llvm::ArrayRef<int64_t> columns,
                         int64_t length, bool isAligned);

  /// Copies a run so that all whole lines in it bypass the cache.
  void emitStreamedRun(Place from, Place to, int64_t count, bool isAligned);
  void emitMaskedRun(Place from, Place to, int64_t count);
  /// The run of that number among those that continue one another.
  void emitJoinedRun(Place from, Place to, AffineExpr number);
  void emitAlignedRun(Place from, Place to, int64_t count);
  /// Copies elements from `begin` to `end`, maps of `head`, one at a time.
  void emitElements(Place from, Place to, AffineExpr begin, AffineExpr end,
                    Value head);

  /// `body` for iteration numbers 0 to `count`, unrolled if they are few.
  void repeat(int64_t count, Body body);
  void repeatInLoop(int64_t count, Body body);
  /// A loop that LLVM is to unroll last of all, or not.
  void repeatTiles(int64_t count, bool unrolls, Body body);

  /// Some entries of a table: those that follow `begin`, and the same further
  /// on by `iteration` times `stride`.
  struct Part {
    llvm::ArrayRef<int64_t> entries;
    int64_t begin;
    Value iteration;
    int64_t stride;
    /// Entries of the table from one iteration to the next.
    int64_t step;
  };
  /// Cuts a table into parts of `size` that lie alike, and one of what is left,
  /// of at least `least`, or parts of which the last one `overlaps`.
  void forEachPart(llvm::ArrayRef<int64_t> table, int64_t size, int64_t least,
                   bool unrolls, bool overlaps,
                   llvm::function_ref<void(const Part &)> body);
  /// Whether tiles of that many units get code of their own each.
  bool unrollsTiles(int64_t rows, int64_t columns);
  /// Whether blocks of that many units move little of all, here.
  bool isLight(int64_t rows, int64_t columns) const;
  Place advance(Place place, Value iteration, int64_t stride);
  Value createIndex(AffineExpr expr);
  Place getStage();
  /// Elements of the buffer, and those that a step of each loop takes of it.
  int64_t countStage() const;
  int64_t getCarryStride(size_t depth) const;
  /// The steps of the loops `inner`, and `steps` of the loop of `role` that
  /// continues them, as offsets in the source or destination.
  Table getTable(llvm::ArrayRef<PlanLoop> inner, PlanLoop::Role role,
                 int64_t steps, bool inSource) const;
  /// Elements of a column of `rows` that are woven.
  int64_t getColumnElements(llvm::ArrayRef<int64_t> rows) const {
    return rows.size() * std::max<size_t>(nest.joined.size(), 1) * nest.unit;
  }
  int64_t lineElements() const {
    return RelayoutTarget::kLineBytes / kernels.elementBytes();
  }
  bool isStreaming() const { return nest.stores == StoreKind::Streaming; }
  bool isCarried() const { return nest.stores == StoreKind::Carried; }

  ImplicitLocOpBuilder &b;
  Value src, dst;
  const PlanNest &nest;
  TypedAttr padding;
  /// Shuffles that may still be spent on unrolled tiles, by all nests together.
  int64_t &shufflesLeft;
  VectorKernels kernels;
  /// Elements of the smaller buffer, and whether it may stay in the cache.
  int64_t numElements = 0;
  bool isInCache = false;
  /// Whether whole lines are loaded though lanes have to be exchanged then.
  bool hasWideLoads = false;
  /// Iterations of all loops around the insertion point.
  int64_t trips = 1;
  llvm::SmallVector<Value, 6> ivs;
  /// The number of the strip whose blocks are carried on; none for the last.
  Value strip;
  /// The buffer of staged blocks, one for each thread's scope.
  llvm::DenseMap<Operation *, Value> stages;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static void emitFence(ImplicitLocOpBuilder &b) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.x86.sse.sfence"),
                                ValueRange{});
}

/// Emits `body`, for an iteration of its own each time, in a loop or unrolled.
static void emitLoop(ImplicitLocOpBuilder &b, LoopShape shape,
                     llvm::SmallVectorImpl<Value> &ivs,
                     llvm::function_ref<void(AffineExpr iteration)> body) {
  if (shape.trips == 1 || shape.isUnrolled) {
    for (int64_t trip = 0; trip < shape.trips; ++trip)
      body(b.getAffineConstantExpr(trip));
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  if (shape.isParallel) {
    auto parallel = affine::AffineParallelOp::create(
        b, TypeRange{}, ArrayRef<arith::AtomicRMWKind>{},
        ArrayRef<int64_t>{shape.trips});
    b.setInsertionPointToStart(parallel.getBody());
    ivs.push_back(parallel.getIVs().front());
  } else {
    auto serial = affine::AffineForOp::create(b, 0, shape.trips);
    b.setInsertionPointToStart(serial.getBody());
    ivs.push_back(serial.getInductionVar());
  }
  body(b.getAffineDimExpr(ivs.size() - 1));
  // A thread's stores are ordered by a fence of its own.
  if (shape.isParallel && shape.isStreaming)
    emitFence(b);
  ivs.pop_back();
}

void NestEmitter::emit(const OpenLoops &shared) {
  ivs = shared.ivs;
  AffineExpr zero = b.getAffineConstantExpr(0);
  Offsets at = {zero + nest.srcOffset, zero + nest.dstOffset, zero};
  for (auto [i, loop, iteration] : llvm::enumerate(
           llvm::ArrayRef(nest.loops).take_front(shared.iterations.size()),
           shared.iterations))
    at = {at.src + iteration * loop.srcStride,
          at.dst + iteration * loop.dstStride,
          at.carry + iteration * getCarryStride(i)};
  trips = 1;
  for (const PlanLoop &loop :
       llvm::ArrayRef(nest.loops).take_front(shared.iterations.size()))
    trips *= loop.count;
  emitLoops(shared.iterations.size(), at, 1, 1);
}

int64_t NestEmitter::countBytes(size_t depth) const {
  int64_t elements = nest.numElements(), blocks = 1;
  for (const PlanLoop &loop : llvm::ArrayRef(nest.loops).take_front(depth))
    elements /= loop.numBlocks();
  for (const PlanLoop &loop : llvm::drop_begin(nest.loops, depth))
    blocks *= loop.numBlocks();
  // A block is code, however little it moves.
  return std::max(elements * kernels.elementBytes(),
                  blocks * RelayoutTarget::kLineBytes);
}

int64_t NestEmitter::countTileShuffles() const {
  if (nest.kernel != KernelKind::Transpose)
    return 0;
  int64_t height = kernels.registerRows(nest.blockRows()), tiles = 1;
  int64_t width = kernels.registerColumns(height, nest.blockColumns());
  auto hasRest = [&](PlanLoop::Role role) {
    return llvm::any_of(nest.loops, [&](const PlanLoop &loop) {
      return loop.role == role && loop.count % loop.step != 0;
    });
  };
  for (auto [role, units, size] :
       {std::tuple(PlanLoop::Role::Rows, nest.blockRows(), height),
        std::tuple(PlanLoop::Role::Columns, nest.blockColumns(), width)})
    tiles *= 1 + (units % size != 0) + hasRest(role);
  return tiles * kernels.countShuffles(height, width);
}

void NestEmitter::emitLoops(size_t depth, Offsets at, int64_t rows,
                            int64_t columns) {
  if (depth == nest.loops.size())
    return emitBlock(at, rows, columns);
  const PlanLoop &loop = nest.loops[depth];
  int64_t full = loop.count / loop.step, rest = loop.count % loop.step;
  auto withSteps = [&](int64_t steps, auto emitPart, Offsets from) {
    (this->*emitPart)(depth, from,
                      loop.role == PlanLoop::Role::Rows ? steps : rows,
                      loop.role == PlanLoop::Role::Columns ? steps : columns);
  };
  if (full > 0)
    withSteps(loop.step, &NestEmitter::emitFullBlocks, at);
  // A strip without rows writes what the others have left.
  bool isStrip = isCarried() && loop.role == PlanLoop::Role::Rows;
  if ((rest > 0 || isStrip) && !overlapsBlocks(loop)) {
    int64_t begin = full * loop.step;
    Offsets last = {at.src + begin * loop.srcStride,
                    at.dst + begin * loop.dstStride,
                    at.carry + full * getCarryStride(depth)};
    ++depth;
    withSteps(rest, &NestEmitter::emitLoops, last);
  }
}

/// Whether the last block of a loop overlaps the one before, rather than being
/// one of its own: where blocks are much code. Not where another thread may
/// have that one, or where lines must be aligned.
bool NestEmitter::overlapsBlocks(const PlanLoop &loop) const {
  bool isTranspose = nest.kernel == KernelKind::Transpose;
  bool isAligned =
      isStreaming() && !(isTranspose && loop.role == PlanLoop::Role::Columns);
  return !nest.joined.empty() && nest.stores != StoreKind::Staged &&
         loop.step > 1 && loop.count > loop.step && !loop.isParallel &&
         !isAligned;
}

void NestEmitter::emitOverlappingBlocks(size_t depth, Offsets at, int64_t rows,
                                        int64_t columns) {
  const PlanLoop &loop = nest.loops[depth];
  OpBuilder::InsertionGuard guard(b);
  auto serial = affine::AffineForOp::create(b, 0, loop.numBlocks());
  b.setInsertionPointToStart(serial.getBody());
  AffineExpr block = b.getAffineDimExpr(0) * loop.step;
  AffineExpr last = b.getAffineConstantExpr(loop.count - loop.step);
  ivs.push_back(affine::AffineMinOp::create(
      b, AffineMap::get(1, 0, {block, last}, b.getContext()),
      ValueRange{serial.getInductionVar()}));
  AffineExpr begin = b.getAffineDimExpr(ivs.size() - 1);
  emitLoops(depth + 1,
            {at.src + begin * loop.srcStride, at.dst + begin * loop.dstStride,
             at.carry},
            rows, columns);
  ivs.pop_back();
}

/// So little is done at a time that a loop is unrolled in part.
void NestEmitter::emitGathers(
    LoopShape shape, llvm::function_ref<void(AffineExpr iteration)> body) {
  int64_t trips = shape.trips, done = trips - trips % kUnrolledGathers;
  shape.trips = trips / kUnrolledGathers;
  if (done > 0)
    emitLoop(b, shape, ivs, [&](AffineExpr iteration) {
      for (int64_t i = 0; i < kUnrolledGathers; ++i)
        body(iteration * kUnrolledGathers + i);
    });
  for (int64_t i = done; i < trips; ++i)
    body(b.getAffineConstantExpr(i));
}

void NestEmitter::emitFullBlocks(size_t depth, Offsets at, int64_t rows,
                                 int64_t columns) {
  const PlanLoop &loop = nest.loops[depth];
  if (loop.count % loop.step != 0 && overlapsBlocks(loop))
    return emitOverlappingBlocks(depth, at, rows, columns);
  LoopShape shape = {loop.count / loop.step, loop.isParallel,
                     nest.stores != StoreKind::Plain,
                     isUnrolled() && countBytes(depth) <= kUnrolledBytes};
  trips *= shape.trips;
  bool isStrip = isCarried() && loop.role == PlanLoop::Role::Rows;
  auto emitIteration = [&](AffineExpr iteration) {
    if (isStrip)
      strip = ivs.back();
    emitLoops(depth + 1,
              {at.src + iteration * (loop.step * loop.srcStride),
               at.dst + iteration * (loop.step * loop.dstStride),
               at.carry + iteration * getCarryStride(depth)},
              rows, columns);
  };
  if (nest.kernel == KernelKind::Gather && depth + 1 == nest.loops.size())
    emitGathers(shape, emitIteration);
  else
    emitLoop(b, shape, ivs, emitIteration);
  trips /= shape.trips;
  if (isStrip)
    strip = {};
}

void NestEmitter::repeat(int64_t count, Body body) {
  if (count <= kMaxUnrolled) {
    for (int64_t i = 0; i < count; ++i)
      body(arith::ConstantIndexOp::create(b, i));
    return;
  }
  repeatInLoop(count, body);
}

void NestEmitter::repeatInLoop(int64_t count, Body body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = affine::AffineForOp::create(b, 0, count);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void NestEmitter::repeatTiles(int64_t count, bool unrolls, Body body) {
  OpBuilder::InsertionGuard guard(b);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value end = arith::ConstantIndexOp::create(b, count);
  // Loops of `affine` lose their annotations.
  auto loop = scf::ForOp::create(b, zero, end, one);
  loop->setAttr("loop_annotation", getUnrolling(b.getContext(), unrolls));
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Place NestEmitter::advance(Place place, Value iteration, int64_t stride) {
  if (auto constant = iteration.getDefiningOp<arith::ConstantIndexOp>())
    return place + constant.value() * stride;
  AffineExpr index = b.getAffineDimExpr(0), i = b.getAffineDimExpr(1);
  Value moved =
      affine::AffineApplyOp::create(b, AffineMap::get(2, 0, index + i * stride),
                                    ValueRange{place.index, iteration});
  return {place.memref, moved, place.offset};
}

Value NestEmitter::createIndex(AffineExpr expr) {
  return affine::AffineApplyOp::create(b, AffineMap::get(ivs.size(), 0, expr),
                                       ivs);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Table NestEmitter::getTable(llvm::ArrayRef<PlanLoop> inner, PlanLoop::Role role,
                            int64_t steps, bool inSource) const {
  Table table = {0};
  auto addLoop = [&](const PlanLoop &loop, int64_t count) {
    int64_t stride = inSource ? loop.srcStride : loop.dstStride;
    size_t size = table.size();
    for (int64_t i = 1; i < count; ++i)
      for (size_t k = 0; k < size; ++k)
        table.push_back(table[k] + i * stride);
  };
  for (const PlanLoop &loop : inner)
    addLoop(loop, loop.count);
  for (const PlanLoop &loop : nest.loops)
    if (loop.role == role)
      addLoop(loop, steps);
  return table;
}

void NestEmitter::emitBlock(Offsets at, int64_t rows, int64_t columns) {
  Place to = {dst, createIndex(at.dst)};
  if (nest.kernel == KernelKind::Fill)
    return emitFill(to, nest.unit);
  if (nest.kernel == KernelKind::FillBits)
    return emitBits(to, to);
  Place from = {src, createIndex(at.src)};
  Table fromRows = getTable(nest.rows, PlanLoop::Role::Rows, rows, true);
  Table toColumns =
      getTable(nest.columns, PlanLoop::Role::Columns, columns, false);
  bool isAligned = at.dst.getLargestKnownDivisor() % lineElements() == 0;

  switch (nest.kernel) {
  case KernelKind::Merge:
    return emitBits(from, to);
  case KernelKind::Transpose:
    if (isCarried()) {
      // Loops move on by whole lines.
      AffineExpr zero = b.getAffineConstantExpr(0);
      llvm::SmallVector<AffineExpr> zeros(ivs.size(), zero);
      int64_t begin =
          cast<AffineConstantExpr>(at.dst.replaceDims(zeros)).getValue();
      Place carry = getStage();
      carry.index = createIndex(at.carry);
      return emitCarried(from, to, carry,
                         rows ? llvm::ArrayRef(fromRows)
                              : llvm::ArrayRef<int64_t>(),
                         toColumns, begin % lineElements());
    }
    return emitTranspose(from, to, fromRows, toColumns, isAligned);
  case KernelKind::Interleave:
    return emitInterleave(from, to, fromRows, toColumns);
  case KernelKind::Deinterleave:
    return emitDeinterleave(from, to, fromRows, toColumns);
  default:
    break;
  }
  if (isCarried())
    return emitJoinedRun(from, to, at.carry);
  if (nest.stores == StoreKind::Staged)
    return emitStagedCopy(from, to, fromRows, isAligned);
  Table toRows = getTable(nest.rows, PlanLoop::Role::Rows, rows, false);
  emitStreams(from, to, fromRows, toRows);
}

void NestEmitter::emitFill(Place to, int64_t count) {
  Value value = arith::ConstantOp::create(b, padding);
  int64_t chunk = kChunkBytes / kernels.elementBytes();
  int64_t chunks = count / chunk, rest = count % chunk;
  repeat(chunks, [&](Value i) {
    kernels.fill(value, advance(to, i, chunk), chunk, isStreaming());
  });
  if (rest)
    kernels.fill(value, to + chunks * chunk, rest, isStreaming());
}

void NestEmitter::emitBits(Place from, Place to) {
  Value value;
  if (nest.kernel == KernelKind::FillBits)
    value = arith::ConstantOp::create(b, padding);
  auto emitRun = [&](Place src, Place dst, int64_t count) {
    if (value)
      kernels.fillBits(value, dst, count, nest.mask);
    else
      kernels.merge(src, dst, count, nest.mask);
  };
  int64_t chunks = nest.unit / kChunkBytes, rest = nest.unit % kChunkBytes;
  repeat(chunks, [&](Value i) {
    emitRun(advance(from, i, kChunkBytes), advance(to, i, kChunkBytes),
            kChunkBytes);
  });
  if (rest)
    emitRun(from + chunks * kChunkBytes, to + chunks * kChunkBytes, rest);
}

void NestEmitter::emitStreams(Place from, Place to,
                              llvm::ArrayRef<int64_t> fromRows,
                              llvm::ArrayRef<int64_t> toRows) {
  int64_t chunk = kChunkBytes / kernels.elementBytes();
  int64_t chunks = nest.unit / chunk, rest = nest.unit % chunk;
  auto copyAll = [&](Place src, Place dst, int64_t count) {
    for (auto [fromRow, toRow] : llvm::zip_equal(fromRows, toRows))
      kernels.copy(src + fromRow, dst + toRow, count, isStreaming());
  };
  repeat(chunks, [&](Value i) {
    copyAll(advance(from, i, chunk), advance(to, i, chunk), chunk);
  });
  from = from + chunks * chunk;
  to = to + chunks * chunk;
  if (nest.padding)
    for (auto [fromRow, toRow] : llvm::zip_equal(fromRows, toRows))
      emitRunEnd(from + fromRow, to + toRow, rest);
  else if (rest)
    copyAll(from, to, rest);
}

/// What is left of a run, and the padding behind it.
void NestEmitter::emitRunEnd(Place from, Place to, int64_t count) {
  // Up to the end of a chunk at once, for the sake of lines.
  int64_t chunk = kChunkBytes / kernels.elementBytes();
  int64_t first = std::min(nest.padding, chunk - count);
  Value value = arith::ConstantOp::create(b, padding);
  kernels.copyAndFill(from, to, count, value, first, isStreaming());
  if (first < nest.padding)
    emitFill(to + (count + first), nest.padding - first);
}

/// Rows one behind the other into the buffer, which then streams as one run. A
/// single row needs no buffer.
void NestEmitter::emitStagedCopy(Place from, Place to,
                                 llvm::ArrayRef<int64_t> rows, bool isAligned) {
  int64_t numRows = rows.size();
  if (numRows == 1)
    return emitStreamedRun(from, to, nest.unit, isAligned);
  Place stage = getStage();
  auto copyRow = [&](Place row, Place place) {
    kernels.copy(row, place, nest.unit);
  };
  if (std::optional<int64_t> stride = getUniformStride(rows, 1))
    repeat(numRows, [&](Value i) {
      copyRow(advance(from, i, *stride), advance(stage, i, nest.unit));
    });
  else
    for (auto [i, row] : llvm::enumerate(rows))
      copyRow(from + row, stage + i * nest.unit);
  emitStreamedRun(stage, to, numRows * nest.unit, isAligned);
}

void NestEmitter::emitInterleave(Place from, Place to,
                                 llvm::ArrayRef<int64_t> rows,
                                 llvm::ArrayRef<int64_t> columns) {
  int64_t width = getColumnElements(rows), numColumns = columns.size();
  WeaveGap gap;
  gap.units = numColumns > 1 ? (columns[1] - width) / nest.unit : 0;
  gap.isPadding = nest.isPaddingBetween;
  if (nest.padding)
    gap.filler = arith::ConstantOp::create(b, padding);
  bool isWritten =
      gap.units == 0 || gap.filler || gap.isPadding || kernels.hasMasks();
  // The rest of a long side may be too short for registers of it.
  if (!kernels.fillsLane(numColumns) || !isWritten) {
    kernels.transpose(from, rows, to, columns, /*isStreaming=*/false);
    if (nest.padding)
      for (int64_t column : columns)
        kernels.fill(gap.filler, to + (column + width), nest.padding);
    return;
  }
  if (nest.stores == StoreKind::Staged)
    return emitShiftedInterleave(from, to, rows, numColumns, gap);
  emitPrefetch(from, rows);
  kernels.interleave(from, rows, to, numColumns, gap, isStreaming());
}

void NestEmitter::emitDeinterleave(Place from, Place to,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns) {
  if (!kernels.fillsLane(rows.size()))
    return kernels.transpose(from, rows, to, columns, /*isStreaming=*/false);
  int64_t parts = nest.joined.empty() ? 1 : nest.joined.front().parts.size();
  int64_t pitch =
      rows.size() > 1 ? rows[1] / nest.unit : columns.size() * parts;
  kernels.deinterleave(from, rows.size(), pitch, to, columns, isStreaming());
}

/// A run that begins at any column. As many columns as a register holds make
/// whole lines, so that from one of the first such columns on all is aligned.
void NestEmitter::emitShiftedInterleave(Place from, Place to,
                                        llvm::ArrayRef<int64_t> rows,
                                        int64_t numColumns, WeaveGap gap) {
  int64_t size = kernels.weaveUnits(numColumns);
  int64_t pitch = getColumnElements(rows) + gap.units * nest.unit;
  auto weave = [&](Place src, Place dst, bool isStreaming) {
    kernels.interleave(src, rows, dst, size, gap, isStreaming);
  };
  if (numColumns < 2 * size)
    return kernels.interleave(from, rows, to, numColumns, gap,
                              /*isStreaming=*/false);
  // What comes before the first line, and what is left after the last one.
  for (int64_t column : {int64_t(0), numColumns - 2 * size, numColumns - size})
    weave(from + column * nest.unit, to + column * pitch, false);
  AffineExpr index = b.getAffineDimExpr(0);
  auto apply = [&](AffineExpr expr, Value operand) -> Value {
    return affine::AffineApplyOp::create(b, AffineMap::get(1, 0, expr),
                                         ValueRange{operand});
  };
  Value head = apply((-(index + to.offset).floorDiv(pitch)) % size, to.index);
  auto atHead = [&](Place place, int64_t stride) {
    Value moved =
        arith::AddIOp::create(b, place.index, apply(index * stride, head));
    return Place{place.memref, moved, place.offset};
  };
  from = atHead(from, nest.unit);
  to = atHead(to, pitch);
  repeatInLoop((numColumns - size + 1) / size, [&](Value i) {
    weave(advance(from, i, size * nest.unit), advance(to, i, size * pitch),
          true);
  });
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

void NestEmitter::emitTranspose(Place from, Place to,
                                llvm::ArrayRef<int64_t> rows,
                                llvm::ArrayRef<int64_t> columns,
                                bool isAligned) {
  if (nest.stores != StoreKind::Staged)
    return emitRowChunks(from, to, rows, columns);
  // In the buffer, columns lie one behind the other.
  Place stage = getStage();
  int64_t length = rows.size() * nest.unit;
  Table stageColumns;
  for (size_t i = 0; i < columns.size(); ++i)
    stageColumns.push_back(i * length);
  emitRowChunks(from, stage, rows, stageColumns);
  emitStagedColumns(stage, to, columns, length, isAligned);
}

void NestEmitter::emitTiles(Place from, Place to, llvm::ArrayRef<int64_t> rows,
                            llvm::ArrayRef<int64_t> columns, bool fillsLines,
                            bool unrolls) {
  int64_t width = kernels.registerColumns(rows.size(), columns.size());
  auto emitTile = [&](const Part &part) {
    Place first = advance(from + part.begin * nest.unit, part.iteration,
                          part.step * nest.unit);
    kernels.transpose(first, rows, advance(to, part.iteration, part.stride),
                      part.entries, fillsLines);
  };
  forEachPart(columns, width, kernels.laneUnits(), unrolls,
              /*overlaps=*/!unrolls, emitTile);
}

/// Transposes squares of whole registers in two steps, where that is what the
/// block consists of: rows are unpacked into the buffer of the block, and
/// columns put together from there.
bool NestEmitter::emitSquares(Place from, Place to,
                              llvm::ArrayRef<int64_t> rows,
                              llvm::ArrayRef<int64_t> columns) {
  int64_t q = kernels.laneUnits(), line = lineElements(),
          side = line / nest.unit;
  int64_t numRows = rows.size(), numColumns = columns.size();
  int64_t height = std::min(numRows, kSquareRows);
  std::optional<int64_t> columnStride = getUniformStride(columns, 1);
  if (numColumns != side || numRows % height != 0 || height % side != 0 ||
      !columnStride || !getUniformStride(rows, q))
    return false;
  Place stage = getStage();
  Table lanes;
  for (int64_t i = 0; i < side; i += q)
    lanes.push_back(columns[i]);
  forEachPart(rows, height, height, /*unrolls=*/false, /*overlaps=*/false,
              [&](const Part &part) {
                Place first = advance(from, part.iteration, part.stride);
                Place column = advance(to, part.iteration, height * nest.unit);
                forEachPart(part.entries, q, q, q <= kMaxUnrolledRows,
                            /*overlaps=*/false, [&](const Part &set) {
                              kernels.unpackRows(
                                  advance(first, set.iteration, set.stride),
                                  set.entries,
                                  advance(stage, set.iteration, q * line));
                            });
                repeatTiles(q, /*unrolls=*/false, [&](Value i) {
                  for (int64_t row = 0; row < height; row += side)
                    kernels.splitColumns(
                        advance(stage + row * line, i, line),
                        advance(column + row * nest.unit, i, *columnStride),
                        lanes, isStreaming());
                });
              });
  return true;
}

/// Loads each row once, side by side into the buffer of the block, from where
/// the kernel takes its parts.
void NestEmitter::emitGatheredRows(Place from, Place to,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns) {
  if (hasWideLoads && emitSquares(from, to, rows, columns))
    return;
  int64_t size =
      std::min<int64_t>(kernels.registerRows(rows.size()), rows.size());
  int64_t length = columns.size() * nest.unit;
  Place stage = getStage();
  auto emitRows = [&](const Part &part) {
    Place first = advance(from, part.iteration, part.stride);
    Table stageRows;
    for (auto [i, row] : llvm::enumerate(part.entries)) {
      stageRows.push_back(i * length);
      kernels.copy(first + row, stage + i * length, length);
    }
    Place column = advance(to + part.begin * nest.unit, part.iteration,
                           part.step * nest.unit);
    emitTiles(stage, column, stageRows, columns,
              isStreaming() && part.begin % size == 0, /*unrolls=*/false);
  };
  forEachPart(rows, size, size, /*unrolls=*/false,
              /*overlaps=*/!isStreaming(), emitRows);
}

void NestEmitter::emitRowChunks(Place from, Place to,
                                llvm::ArrayRef<int64_t> rows,
                                llvm::ArrayRef<int64_t> columns) {
  if (!nest.joined.empty())
    return emitJoinedTranspose(from, to, rows, columns);
  if (nest.gathersRows)
    return emitGatheredRows(from, to, rows, columns);
  int64_t height = kernels.registerRows(rows.size());
  bool unrolls = unrollsTiles(rows.size(), columns.size());
  bool fetches = !isLight(rows.size(), columns.size());
  if (unrolls && fetches)
    emitPrefetch(from, rows);
  auto emitRows = [&](const Part &part) {
    Place first = advance(from, part.iteration, part.stride);
    if (!unrolls && fetches)
      emitPrefetch(first, part.entries);
    Place column = advance(to + part.begin * nest.unit, part.iteration,
                           part.step * nest.unit);
    emitTiles(first, column, part.entries, columns,
              isStreaming() && part.begin % height == 0,
              unrolls || unrollsTiles(part.entries.size(), columns.size()));
  };
  // Lines stream from where registers begin; a register may be stored in part.
  forEachPart(rows, height, kernels.hasMasks() ? 1 : height, unrolls,
              /*overlaps=*/!unrolls && !isStreaming(), emitRows);
}

bool NestEmitter::isLight(int64_t rows, int64_t columns) const {
  return trips * rows * columns * nest.unit < numElements / kLightNests;
}

/// Whether a part of the nest is worth code for each of its tiles: where the
/// data is in the second-level cache, processors fetch ahead for many loads of
/// their own better than for few that return. Large arrays only gain by short
/// code, and those in the first-level cache lose little in loops.
bool NestEmitter::unrollsTiles(int64_t rows, int64_t columns) {
  if (isLight(rows, columns))
    return false;
  int64_t most = isInCache ? shufflesLeft : kMaxUnrolledShuffles;
  if (numElements * kernels.elementBytes() <= kFirstLevelBytes)
    most = std::min(most, kMostFirstLevelShuffles);
  int64_t shuffles = kernels.countShuffles(rows, columns);
  if (shuffles > most)
    return false;
  shufflesLeft -= shuffles;
  return true;
}

void NestEmitter::forEachPart(llvm::ArrayRef<int64_t> table, int64_t size,
                              int64_t least, bool unrolls, bool overlaps,
                              llvm::function_ref<void(const Part &)> body) {
  int64_t count = table.size(), full = count / size, rest = count % size;
  std::optional<int64_t> stride =
      getUniformStride(table.take_front(full * size), size);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  if (full == 0 || !stride)
    return body({table, 0, zero, 0, size});
  llvm::ArrayRef<int64_t> first = table.take_front(size);
  std::optional<int64_t> single = getUniformStride(table, 1);
  if (rest && overlaps && single)
    // One piece of code for all: the last part overlaps the one before.
    return repeatTiles(full + 1, unrolls, [&](Value i) {
      Value begin =
          arith::MulIOp::create(b, i, arith::ConstantIndexOp::create(b, size));
      Value last = arith::ConstantIndexOp::create(b, count - size);
      begin = arith::MinUIOp::create(b, begin, last);
      body({first, 0, begin, *single, 1});
    });
  if (full == 1)
    body({first, 0, zero, *stride, size});
  else
    repeatTiles(full, unrolls,
                [&](Value i) { body({first, 0, i, *stride, size}); });
  if (rest) {
    int64_t begin = count - std::max(rest, least);
    body({table.drop_front(begin), begin, zero, 0, size});
  }
}

/// Joins the rows of a block side by side in the buffer of the block, once for
/// each byte of a unit, and transposes them from there as bytes: there is one
/// piece of code for all columns, and but a loop for each byte.
void NestEmitter::emitJoinedTranspose(Place from, Place to,
                                      llvm::ArrayRef<int64_t> rows,
                                      llvm::ArrayRef<int64_t> columns) {
  int64_t length = columns.size() * nest.unit, run = nest.joinedRun();
  int64_t numRows = rows.size() * run, numJoined = nest.joined.size();
  Place stage = getStage();
  Table stageRows, places;
  for (int64_t i = 0; i < numJoined; ++i) {
    if (i % run == 0)
      places.push_back(nest.joined[i].dstOffset);
    int64_t row = i / run * numRows + i % run;
    emitJoinedRows(i, from, stage + row * length, rows, length);
  }
  for (int64_t i = 0; i < numRows; ++i)
    stageRows.push_back(i * length);
  auto transposeAll = [&](Place rowsAt, Place columnsAt) {
    emitColumnChunks(rowsAt, columnsAt, stageRows, columns);
  };
  if (std::optional<int64_t> stride = getUniformStride(places, 1);
      stride && places.size() > 1)
    return repeatInLoop(places.size(), [&](Value i) {
      transposeAll(advance(stage, i, numRows * length),
                   advance(to, i, *stride));
    });
  for (auto [i, place] : llvm::enumerate(places))
    transposeAll(stage + i * numRows * length, to + place);
}

/// The rows of a block in the buffer, of the joined bytes of one number: at a
/// distance where others come between.
void NestEmitter::emitJoinedRows(size_t number, Place from, Place stage,
                                 llvm::ArrayRef<int64_t> rows, int64_t length) {
  int64_t numRows = rows.size(), size = 1;
  int64_t distance = nest.joinedRun() * length;
  while (size < numRows && !getUniformStride(rows, size))
    ++size;
  std::optional<int64_t> stride;
  if (numRows % size == 0)
    stride = getUniformStride(rows, size);
  else
    size = numRows;
  std::optional<int64_t> inner = getUniformStride(rows.take_front(size), 1);
  repeat(numRows / size, [&](Value i) {
    Place group = advance(from, i, stride.value_or(0));
    Place to = advance(stage, i, size * distance);
    if (inner)
      return repeat(size, [&](Value k) {
        kernels.join(number, advance(group, k, *inner),
                     advance(to, k, distance), length, nest.columnPitch);
      });
    for (int64_t k = 0; k < size; ++k)
      kernels.join(number, group + rows[k], to + k * distance, length,
                   nest.columnPitch);
  });
}

/// As many columns at a time as one load takes, the last of which overlap.
void NestEmitter::emitColumnChunks(Place from, Place to,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns) {
  int64_t size = 16 / nest.unit, numColumns = columns.size();
  std::optional<int64_t> stride = getUniformStride(columns, 1);
  if (numColumns <= size || !stride)
    return kernels.transpose(from, rows, to, columns, isStreaming());
  AffineExpr part = b.getAffineDimExpr(0) * size;
  AffineExpr last = b.getAffineConstantExpr(numColumns - size);
  repeatInLoop(llvm::divideCeil(numColumns, size), [&](Value i) {
    Value begin = affine::AffineMinOp::create(
        b, AffineMap::get(1, 0, {part, last}, b.getContext()), ValueRange{i});
    kernels.transpose(advance(from, begin, nest.unit), rows,
                      advance(to, begin, *stride), columns.take_front(size),
                      isStreaming());
  });
}

void NestEmitter::emitCarried(Place from, Place to, Place carry,
                              llvm::ArrayRef<int64_t> rows,
                              llvm::ArrayRef<int64_t> columns, int64_t phase) {
  int64_t line = lineElements(), size = line / nest.unit;
  int64_t lines = rows.size() / size;
  emitPrefetch(from, rows);
  Value zero = arith::ConstantIndexOp::create(b, 0), isFirst;
  auto isZero = [&](Value number) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, zero);
  };
  if (strip)
    isFirst = isZero(strip);
  auto stride = getUniformStride(rows.take_front(lines * size), size);
  if (lines <= kMaxUnrolled || !stride) {
    for (int64_t i = 0; i < lines; ++i)
      emitCarriedLines(from, to + i * line, carry, rows.slice(i * size, size),
                       columns, phase, i == 0 ? isFirst : Value());
  } else {
    repeatInLoop(lines, [&](Value i) {
      Value first = isFirst;
      if (first)
        first = arith::AndIOp::create(b, first, isZero(i));
      emitCarriedLines(advance(from, i, *stride), advance(to, i, line), carry,
                       rows.take_front(size), columns, phase, first);
    });
  }
  if (strip)
    return;
  // What makes no line any more is little: it goes through the cache, by short
  // code.
  Place end = to + lines * line;
  emitKeptLines(end, carry, columns, phase);
  if (llvm::ArrayRef<int64_t> rest = rows.drop_front(lines * size);
      !rest.empty())
    emitRowChunks(from, end, rest, columns);
}

void NestEmitter::emitCarriedLines(Place from, Place to, Place carry,
                                   llvm::ArrayRef<int64_t> rows,
                                   llvm::ArrayRef<int64_t> columns,
                                   int64_t phase, Value isFirst) {
  int64_t line = lineElements();
  llvm::SmallBitVector isDone(columns.size());
  llvm::SmallVector<CarriedLine, kCarriedGroup> group;
  kernels.transposeRows(
      from, rows, columns.size(), [&](Value column, int64_t number) {
        if (isDone.test(number))
          return;
        isDone.set(number);
        int64_t shift = (phase + columns[number]) % line;
        Value whole = column;
        if (Place kept = carry + number * line; shift) {
          whole = kernels.joinLines(kernels.load(kept, line), column, shift);
          kernels.store(column, kept);
        }
        group.push_back({whole, to + (columns[number] - shift), shift});
        if (group.size() < kCarriedGroup && !isDone.all())
          return;
        storeLines(group, isFirst);
        group.clear();
      });
}

void NestEmitter::storeLines(llvm::ArrayRef<CarriedLine> lines, Value isFirst) {
  auto storeWhole = [&] {
    for (const CarriedLine &line : lines)
      kernels.store(line.value, line.place, /*isStreaming=*/true);
  };
  if (!isFirst)
    return storeWhole();
  auto choice = scf::IfOp::create(b, isFirst, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  for (const CarriedLine &line : lines)
    kernels.storePart(line.value, line.place, line.shift, lineElements());
  b.setInsertionPointToStart(choice.elseBlock());
  storeWhole();
}

void NestEmitter::emitKeptLines(Place to, Place carry,
                                llvm::ArrayRef<int64_t> columns,
                                int64_t phase) {
  int64_t line = lineElements();
  for (auto [number, column] : llvm::enumerate(columns)) {
    int64_t shift = (phase + column) % line;
    if (shift == 0)
      continue;
    Value kept = kernels.load(carry + number * line, line);
    kernels.storePart(kernels.joinLines(kept, kept, shift),
                      to + (column - shift), 0, shift);
  }
}

/// Fetches what the same rows have some blocks of columns ahead.
void NestEmitter::emitPrefetch(Place from, llvm::ArrayRef<int64_t> rows) {
  if (!nest.prefetch || rows.empty())
    return;
  const PlanLoop &inner = nest.loops.back();
  int64_t width = nest.blockColumns() * nest.unit;
  int64_t elements = cast<MemRefType>(src.getType()).getNumElements();
  int64_t last = elements - width - *llvm::max_element(rows);
  int64_t ahead = from.offset + nest.prefetch * inner.srcStride * inner.step;
  AffineExpr end = b.getAffineConstantExpr(std::max<int64_t>(last, 0));
  AffineMap map = AffineMap::get(1, 0, {b.getAffineDimExpr(0) + ahead, end},
                                 b.getContext());
  Place begin = {src,
                 affine::AffineMinOp::create(b, map, ValueRange{from.index})};
  for (int64_t row : rows)
    for (int64_t i = 0; i < width; i += lineElements())
      memref::PrefetchOp::create(
          b, src, ValueRange{kernels.getIndex(begin + (row + i))},
          /*isWrite=*/false, /*localityHint=*/nest.fetchesFar ? 2 : 3,
          /*isDataCache=*/true);
}

//===----------------------------------------------------------------------===//
// Streaming
//===----------------------------------------------------------------------===//

int64_t NestEmitter::getCarryStride(size_t depth) const {
  if (!isCarried())
    return 0;
  if (nest.kernel == KernelKind::Copy)
    return nest.loops[depth].dstStride == nest.unit ? 1 : 0;
  int64_t stride = nest.blockColumns() * lineElements();
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const PlanLoop &loop = nest.loops[i];
    if (loop.role == PlanLoop::Role::Rows)
      return 0;
    if (i == depth)
      break;
    stride *= loop.numBlocks();
  }
  return stride;
}

int64_t NestEmitter::countStage() const {
  if (!isCarried())
    return (nest.gathersRows ? std::min(nest.blockRows(), kSquareRows)
                             : nest.blockRows()) *
           nest.blockColumns() * nest.unit *
           std::max<int64_t>(nest.joined.size(), 1);
  // What a step of the loop over strips would take.
  int64_t size = nest.blockColumns() * lineElements();
  for (const PlanLoop &loop : llvm::reverse(nest.loops)) {
    if (loop.role == PlanLoop::Role::Rows)
      break;
    size *= loop.numBlocks();
  }
  return size;
}

/// The buffer of a block, allocated once for each thread: loops free what they
/// allocate only in name.
Place NestEmitter::getStage() {
  Operation *scope = b.getInsertionBlock()->getParentOp();
  while (!isa<affine::AffineParallelOp, FunctionOpInterface>(scope))
    scope = scope->getParentOp();
  Value &stage = stages[scope];
  if (!stage) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&scope->getRegion(0).front());
    auto type = MemRefType::get(
        {countStage()}, cast<MemRefType>(dst.getType()).getElementType());
    stage = memref::AllocaOp::create(
        b, type, b.getI64IntegerAttr(RelayoutTarget::kLineBytes));
  }
  return {stage, arith::ConstantIndexOp::create(b, 0)};
}

void NestEmitter::emitStagedColumns(Place stage, Place to,
                                    llvm::ArrayRef<int64_t> columns,
                                    int64_t length, bool isAligned) {
  // Columns that all follow one another are one run.
  auto emitColumns = [&](Place from, Place at, int64_t count, bool aligned) {
    emitStreamedRun(from, at, count * length, aligned);
  };
  int64_t numColumns = columns.size(), group = 1;
  while (group < numColumns && columns[group] == group * length)
    ++group;
  bool isDivided = numColumns % group == 0;
  std::optional<int64_t> stride;
  if (isDivided)
    stride = getUniformStride(columns, group);
  if (stride)
    return repeat(numColumns / group, [&](Value i) {
      emitColumns(advance(stage, i, group * length), advance(to, i, *stride),
                  group, isAligned && *stride % lineElements() == 0);
    });
  for (auto [i, column] : llvm::enumerate(columns))
    emitColumns(stage + i * length, to + column, 1,
                isAligned && column % lineElements() == 0);
}

void NestEmitter::emitStreamedRun(Place from, Place to, int64_t count,
                                  bool isAligned) {
  int64_t line = lineElements();
  if (isAligned)
    return emitAlignedRun(from, to, count);
  if (count < kMinLines * line) {
    kernels.copy(from, to, count);
    return;
  }
  if (kernels.hasMasks())
    return emitMaskedRun(from, to, count);
  // Elements up to the first line, whole lines, and what is left.
  AffineExpr index = b.getAffineDimExpr(0);
  Value head = affine::AffineApplyOp::create(
      b, AffineMap::get(1, 0, (-(index + to.offset)) % line),
      ValueRange{to.index});
  AffineExpr zero = b.getAffineConstantExpr(0);
  AffineExpr lines = (b.getAffineConstantExpr(count) - index).floorDiv(line);
  emitElements(from, to, zero, index, head);
  OpBuilder::InsertionGuard guard(b);
  auto loop = affine::AffineForOp::create(
      b, ValueRange{}, AffineMap::get(0, 0, zero), ValueRange{head},
      AffineMap::get(1, 0, lines));
  emitElements(from, to, index + lines * line, b.getAffineConstantExpr(count),
               head);
  b.setInsertionPointToStart(loop.getBody());
  auto atLine = [&](Place place) {
    AffineExpr i = b.getAffineDimExpr(1), start = b.getAffineDimExpr(2);
    Value moved = affine::AffineApplyOp::create(
        b, AffineMap::get(3, 0, index + start + i * line),
        ValueRange{place.index, loop.getInductionVar(), head});
    return Place{place.memref, moved, place.offset};
  };
  kernels.copy(atLine(from), atLine(to), line, /*isStreaming=*/true);
}

/// A run that begins anywhere, without a branch: one masked store up to the
/// first line, as many lines as there are wherever it begins, and masked stores
/// for the one or two lines that are left.
void NestEmitter::emitMaskedRun(Place from, Place to, int64_t count) {
  int64_t line = lineElements(), lines = (count - line + 1) / line;
  AffineExpr index = b.getAffineDimExpr(0);
  auto apply = [&](AffineExpr expr, Value operand) -> Value {
    return affine::AffineApplyOp::create(b, AffineMap::get(1, 0, expr),
                                         ValueRange{operand});
  };
  Value head = apply((-(index + to.offset)) % line, to.index);
  kernels.copyFirst(from, to, head);
  from = {from.memref, arith::AddIOp::create(b, from.index, head), from.offset};
  to = {to.memref, arith::AddIOp::create(b, to.index, head), to.offset};
  emitAlignedRun(from, to, lines * line);
  // What is left of `count - lines * line` elements once the head is gone.
  for (int64_t done = lines * line; done < count; done += line)
    kernels.copyFirst(from + done, to + done,
                      apply(-index + (count - done), head));
}

/// All runs begin at the same place of a line, as they are whole lines long: a
/// run writes whole lines from the first one that it has a part of, which it
/// shares with the run before. The first run and the last one have masked
/// stores at their ends.
void NestEmitter::emitJoinedRun(Place from, Place to, AffineExpr number) {
  int64_t line = lineElements(), count = nest.unit;
  emitPrefetch(from, {0});
  if (!kernels.hasMasks())
    return emitStreamedRun(from, to, count, /*isAligned=*/false);
  const PlanLoop &chain = *llvm::find_if(nest.loops, [&](const PlanLoop &loop) {
    return loop.dstStride == count;
  });
  AffineExpr index = b.getAffineDimExpr(0);
  Value shift = affine::AffineApplyOp::create(
      b, AffineMap::get(1, 0, (index + to.offset) % line),
      ValueRange{to.index});
  from.index = arith::SubIOp::create(b, from.index, shift);
  to.index = arith::SubIOp::create(b, to.index, shift);
  Value run = createIndex(number);
  auto isRun = [&](int64_t other) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, run,
                                 arith::ConstantIndexOp::create(b, other));
  };
  auto isFirst = scf::IfOp::create(b, isRun(0), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isFirst.thenBlock());
    kernels.copyLast(from, to, shift);
    b.setInsertionPointToStart(isFirst.elseBlock());
    kernels.copySeam(from + (count - chain.srcStride), from, to, shift);
  }
  emitAlignedRun(from + line, to + line, count - line);
  auto isLast =
      scf::IfOp::create(b, isRun(chain.count - 1), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(isLast.thenBlock());
  kernels.copyFirst(from + count, to + count, shift);
}

void NestEmitter::emitAlignedRun(Place from, Place to, int64_t count) {
  int64_t line = lineElements(), chunk = kChunkBytes / kernels.elementBytes();
  int64_t chunks = count / chunk;
  repeat(chunks, [&](Value i) {
    kernels.copy(advance(from, i, chunk), advance(to, i, chunk), chunk,
                 /*isStreaming=*/true);
  });
  int64_t done = chunks * chunk, lines = (count - done) / line * line;
  if (lines)
    kernels.copy(from + done, to + done, lines, /*isStreaming=*/true);
  done += lines;
  if (done < count)
    kernels.copy(from + done, to + done, count - done);
}

void NestEmitter::emitElements(Place from, Place to, AffineExpr begin,
                               AffineExpr end, Value head) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = affine::AffineForOp::create(
      b, ValueRange{head}, AffineMap::get(1, 0, begin), ValueRange{head},
      AffineMap::get(1, 0, end));
  b.setInsertionPointToStart(loop.getBody());
  Place src = advance(from, loop.getInductionVar(), 1);
  kernels.store(kernels.load(src, 1), advance(to, loop.getInductionVar(), 1));
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

/// Emits nests, those that share their next loop in that loop. `nests` and
/// `emitters` are the same ones.
static void emitNests(ImplicitLocOpBuilder &b, llvm::ArrayRef<PlanNest> nests,
                      llvm::MutableArrayRef<NestEmitter> emitters,
                      const OpenLoops &open) {
  size_t depth = open.iterations.size();
  for (size_t begin = 0, end = 0; begin < nests.size(); begin = end) {
    LoopShape shape = {1, false, false, true};
    int64_t bytes = 0;
    do {
      shape.isStreaming |= nests[end].stores != StoreKind::Plain;
      shape.isUnrolled &= emitters[end].isUnrolled();
      bytes += emitters[end].countBytes(depth);
    } while (++end < nests.size() && nests[end].numShared > depth);
    if (end == begin + 1) {
      emitters[begin].emit(open);
      continue;
    }
    const PlanLoop &loop = nests[begin].loops[depth];
    shape.trips = loop.count;
    shape.isParallel = loop.isParallel;
    shape.isUnrolled &= bytes <= kUnrolledBytes;
    OpenLoops inner = open;
    emitLoop(b, shape, inner.ivs, [&](AffineExpr iteration) {
      inner.iterations.push_back(iteration);
      emitNests(b, nests.slice(begin, end - begin),
                emitters.slice(begin, end - begin), inner);
      inner.iterations.pop_back();
    });
  }
}

void tessera::emitRelayout(OpBuilder &builder, Location loc, Value source,
                           Value destination, const RelayoutPlan &plan,
                           const RelayoutTarget &target, TypedAttr padding) {
  ImplicitLocOpBuilder b(loc, builder);
  int64_t shufflesLeft = kMostShuffles;
  std::vector<NestEmitter> emitters;
  for (const PlanNest &nest : plan.nests)
    emitters.emplace_back(b, source, destination, nest, target, padding,
                          shufflesLeft);
  for (const NestEmitter &emitter : emitters)
    shufflesLeft -= emitter.countTileShuffles();
  emitNests(b, plan.nests, emitters, {});
  if (plan.isStreaming())
    emitFence(b);
}

/// Whether the memref begins at a line.
static Value isLineAligned(ImplicitLocOpBuilder &b, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  Value mask =
      arith::ConstantIndexOp::create(b, RelayoutTarget::kLineBytes - 1);
  Value rest = arith::AndIOp::create(b, address, mask);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, zero);
}

llvm::Error tessera::buildVectorRelayout(OpBuilder &builder, Location loc,
                                         Value source, Value destination,
                                         const PlanSide &src,
                                         const PlanSide &dst, ElementBits bits,
                                         TypedAttr padding,
                                         const RelayoutTarget &target) {
  bool fillPadding = static_cast<bool>(padding);
  auto plan = planRelayout(src, dst, bits, fillPadding, target);
  if (!plan)
    return plan.takeError();
  auto emit = [&](OpBuilder &at, const RelayoutPlan &chosen) {
    emitRelayout(at, loc, source, destination, chosen, target, padding);
  };
  if (!plan->isStreaming()) {
    emit(builder, *plan);
    return llvm::Error::success();
  }
  RelayoutTarget plain = target;
  plain.isLineAligned = false;
  auto plainPlan = planRelayout(src, dst, bits, fillPadding, plain);
  if (!plainPlan)
    return plainPlan.takeError();
  ImplicitLocOpBuilder b(loc, builder);
  auto choice = scf::IfOp::create(b, isLineAligned(b, destination),
                                  /*withElseRegion=*/true);
  OpBuilder thenBuilder = choice.getThenBodyBuilder();
  emit(thenBuilder, *plan);
  OpBuilder elseBuilder = choice.getElseBodyBuilder();
  emit(elseBuilder, *plainPlan);
  return llvm::Error::success();
}
