//===- NestEmitter.cpp - Code for one nest of a plan ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace mlir;

/// Runs that an iteration of a loop of gathers moves.
static constexpr int64_t kUnrolledGathers = 8;

/// What LLVM is told of a loop: to unroll it whole, or to leave it.
static Attribute getUnrolling(MLIRContext *context, bool unrolls) {
  return parseAttribute(
      unrolls ? "#llvm.loop_annotation<unroll = <full = true>>"
              : "#llvm.loop_annotation<unroll = <disable = true>>",
      context);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void tessera::emitFence(ImplicitLocOpBuilder &b) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.x86.sse.sfence"),
                                ValueRange{});
}

void tessera::emitChoice(ImplicitLocOpBuilder &b, Value condition,
                         llvm::function_ref<void()> then,
                         llvm::function_ref<void()> otherwise) {
  auto choice = scf::IfOp::create(b, condition,
                                  /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  then();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(choice.elseBlock());
  otherwise();
}

/// Emits `body` into a loop, for its variable.
template <typename Loop>
static void emitBody(OpBuilder &b, Loop loop,
                     llvm::function_ref<void(Value iteration)> body) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void tessera::emitLoop(ImplicitLocOpBuilder &b, Scratch &scratch,
                       LoopShape shape, llvm::SmallVectorImpl<Value> &ivs,
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
  AffineExpr iteration = b.getAffineDimExpr(ivs.size() - 1);
  if (shape.isParallel)
    scratch.emitScope([&] { body(iteration); });
  else
    body(iteration);
  // A thread's stores are ordered by a fence of its own.
  if (shape.isParallel && shape.needsFence)
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
  if (!nest.is<TransposeKernel>())
    return 0;
  int64_t height = kernels.registerRows(nest.blockRows()), tiles = 1;
  int64_t width = kernels.registerColumns(height, nest.blockColumns());
  auto hasRemainder = [&](PlanLoop::Role role) {
    return llvm::any_of(nest.loops, [&](const PlanLoop &loop) {
      return loop.role == role && loop.count % loop.step != 0;
    });
  };
  for (auto [role, runs, size] :
       {std::tuple(PlanLoop::Role::DstContiguous, nest.blockRows(), height),
        std::tuple(PlanLoop::Role::SrcContiguous, nest.blockColumns(), width)})
    tiles *= 1 + (runs % size != 0) + hasRemainder(role);
  return tiles * kernels.countShuffles(height, width);
}

void NestEmitter::emitLoops(size_t depth, Offsets at, int64_t rows,
                            int64_t columns) {
  if (nest.packsPanels() && isWithinPanel(depth) &&
      (depth == 0 || !isWithinPanel(depth - 1)))
    emitPanel(depth, at, rows, columns);
  else
    emitWithin(depth, at, rows, columns);
}

void NestEmitter::emitWithin(size_t depth, Offsets at, int64_t rows,
                             int64_t columns) {
  if (depth == nest.loops.size())
    return emitBlock(at, rows, columns);
  const PlanLoop &loop = nest.loops[depth];
  int64_t full = countFullBlocks(loop), remainder = countRemainder(loop);
  auto withSteps = [&](int64_t steps, auto emitPart, Offsets from) {
    (this->*emitPart)(
        depth, from, loop.role == PlanLoop::Role::DstContiguous ? steps : rows,
        loop.role == PlanLoop::Role::SrcContiguous ? steps : columns);
  };
  if (full > 0)
    withSteps(loop.step, &NestEmitter::emitFullBlocks, at);
  // A panel without rows writes what the others have left.
  bool isPanel = isCarried() && loop.role == PlanLoop::Role::DstContiguous;
  if ((remainder > 0 || isPanel) && !overlapsBlocks(loop)) {
    int64_t begin = loop.count - remainder;
    Offsets last = {at.src + begin * loop.srcStride,
                    at.dst + begin * loop.dstStride,
                    at.carry + full * getCarryStride(depth)};
    ++depth;
    withSteps(remainder, &NestEmitter::emitLoops, last);
  }
}

/// Steps of the last block, where it is not full. Columns fill loads, a few of
/// them twice.
int64_t NestEmitter::countRemainder(const PlanLoop &loop) const {
  int64_t remainder = loop.count - countFullBlocks(loop) * loop.step;
  if (!nest.is<TransposeKernel>() ||
      loop.role != PlanLoop::Role::SrcContiguous || !nest.columns.empty() ||
      !nest.packedBytes.empty() || nest.packsPanels() || loop.isParallel)
    return remainder;
  int64_t filled = llvm::alignTo(remainder, kernels.laneRuns());
  return filled <= loop.count ? filled : remainder;
}

/// Whether the last block of a loop overlaps the block before it, so that a
/// short block needs no code of its own. It may not where another thread may
/// write the block before, or where lines must be aligned.
bool NestEmitter::overlapsBlocks(const PlanLoop &loop) const {
  bool isTranspose = nest.is<TransposeKernel>();
  bool isAnywhere = !isNontemporal() ||
                    (isTranspose && loop.role == PlanLoop::Role::SrcContiguous);
  return !nest.packedBytes.empty() && nest.stores() != StoreKind::Staged &&
         loop.step > 1 && loop.count > loop.step && !loop.isParallel &&
         isAnywhere;
}

void NestEmitter::emitOverlappingBlocks(size_t depth, Offsets at, int64_t rows,
                                        int64_t columns) {
  const PlanLoop &loop = nest.loops[depth];
  repeatInLoop(loop.numBlocks(), [&](Value iteration) {
    ivs.push_back(applyMin(b.getAffineDimExpr(0) * loop.step,
                           b.getAffineConstantExpr(loop.count - loop.step),
                           iteration));
    AffineExpr begin = b.getAffineDimExpr(ivs.size() - 1);
    emitLoops(depth + 1,
              {at.src + begin * loop.srcStride, at.dst + begin * loop.dstStride,
               at.carry},
              rows, columns);
    ivs.pop_back();
  });
}

/// Leaves out the first end where nothing comes before the first line, if that
/// is the same in all loops that are still to come.
void NestEmitter::emitEnds(
    size_t depth, Offsets at,
    llvm::function_ref<void(AffineExpr iteration)> body) {
  auto isOuter = [](const PlanLoop &loop) {
    return loop.role == PlanLoop::Role::Outer;
  };
  llvm::ArrayRef<PlanLoop> loops = nest.loops;
  bool isKnown = llvm::all_of(loops.take_front(depth), isOuter) &&
                 llvm::none_of(loops.drop_front(depth + 1), isOuter);
  Value first = constant(0);
  if (isKnown)
    first = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                         isEqual(createRowHead(at), first));
  Value end = constant(2);
  repeatBetween(first, end, [&](Value number) {
    ivs.push_back(number);
    body(b.getAffineDimExpr(ivs.size() - 1));
    ivs.pop_back();
  });
}

/// So little is done at a time that a loop is unrolled in part.
void NestEmitter::emitGathers(
    LoopShape shape, llvm::function_ref<void(AffineExpr iteration)> body) {
  int64_t trips = shape.trips, done = trips - trips % kUnrolledGathers;
  shape.trips = trips / kUnrolledGathers;
  if (done > 0)
    emitLoop(b, scratch, shape, ivs, [&](AffineExpr iteration) {
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
  LoopShape shape = {countFullBlocks(loop), loop.isParallel, needsFence(),
                     isUnrolled() && countBytes(depth) <= kUnrolledBytes};
  trips *= shape.trips;
  bool isPanel =
      (isCarried() || haloRows()) && loop.role == PlanLoop::Role::DstContiguous;
  auto emitIteration = [&](AffineExpr iteration) {
    if (isPanel)
      panel = createIndex(iteration);
    emitLoops(depth + 1,
              {at.src + iteration * (loop.step * loop.srcStride),
               at.dst + iteration * (loop.step * loop.dstStride),
               at.carry + iteration * getCarryStride(depth)},
              rows, columns);
  };
  if (nest.is<GatherKernel>() && depth + 1 == nest.loops.size())
    emitGathers(shape, emitIteration);
  else if (loop.isEnds)
    emitEnds(depth, at, emitIteration);
  else
    emitLoop(b, scratch, shape, ivs, emitIteration);
  trips /= shape.trips;
  if (isPanel)
    panel = {};
}

void NestEmitter::repeat(int64_t count, Body body) {
  if (count > kMaxUnrolled)
    return repeatInLoop(count, body);
  for (int64_t i = 0; i < count; ++i)
    body(constant(i));
}

void NestEmitter::repeatInLoop(int64_t count, Body body) {
  emitBody(b, affine::AffineForOp::create(b, 0, count), body);
}

void NestEmitter::repeatTiles(int64_t count, bool unrolls, Body body) {
  Value zero = constant(0), one = constant(1), end = constant(count);
  // Loops of `affine` lose their annotations.
  auto loop = scf::ForOp::create(b, zero, end, one);
  loop->setAttr("loop_annotation", getUnrolling(b.getContext(), unrolls));
  emitBody(b, loop, body);
}

void NestEmitter::repeatBetween(Value begin, Value end, Body body) {
  // Bounds that depend on an address are none that `affine` knows.
  emitBody(b, scf::ForOp::create(b, begin, end, constant(1)), body);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value NestEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value NestEmitter::isEqual(Value value, Value other) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, other);
}

Position NestEmitter::advance(Position position, Value iteration,
                              int64_t stride) {
  if (auto constant = iteration.getDefiningOp<arith::ConstantIndexOp>())
    return position + constant.value() * stride;
  AffineExpr index = b.getAffineDimExpr(0), i = b.getAffineDimExpr(1);
  Value moved =
      affine::AffineApplyOp::create(b, AffineMap::get(2, 0, index + i * stride),
                                    ValueRange{position.index, iteration});
  return {position.memref, moved, position.offset};
}

Value NestEmitter::createIndex(AffineExpr expr) {
  return affine::AffineApplyOp::create(b, AffineMap::get(ivs.size(), 0, expr),
                                       ivs);
}

Value NestEmitter::apply(AffineExpr expr, Value operand) {
  return affine::AffineApplyOp::create(b, AffineMap::get(1, 0, expr),
                                       ValueRange{operand});
}

Value NestEmitter::applyMin(AffineExpr first, AffineExpr second,
                            Value operand) {
  return affine::AffineMinOp::create(
      b, AffineMap::get(1, 0, {first, second}, b.getContext()),
      ValueRange{operand});
}

Value NestEmitter::createRowHead(Offsets at) {
  AffineExpr inLine = at.dst % lineElements();
  return createHead({dst, createIndex(inLine)});
}

Position NestEmitter::getSource(Offsets at) {
  Position position = {src, createIndex(at.src)};
  if (!nest.shiftsRows)
    return position;
  AffineExpr rows = b.getAffineDimExpr(0).floorDiv(nest.runElements);
  return skip(position, apply(rows * nest.shiftStride(), createRowHead(at)));
}

Position NestEmitter::getDestination(Offsets at) {
  Position position = {dst, createIndex(at.dst)};
  return nest.shiftsRows ? skip(position, createRowHead(at)) : position;
}

int64_t NestEmitter::getPhase(Offsets at) {
  if (nest.shiftsRows)
    return 0;
  // Loops move on by whole lines.
  AffineExpr zero = b.getAffineConstantExpr(0);
  llvm::SmallVector<AffineExpr> zeros(ivs.size(), zero);
  AffineExpr begin = at.dst.replaceDims(zeros);
  return cast<AffineConstantExpr>(begin).getValue() % lineElements();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void NestEmitter::emitBlock(Offsets at, int64_t rows, int64_t columns) {
  Position to = getDestination(at);
  if (nest.is<FillKernel>())
    return emitFill(to, nest.runElements);
  if (nest.is<FillBitsKernel>())
    return emitBits({to, to});
  Position from = getSource(at);
  Table fromRows =
      nest.getOffsets(PlanLoop::Role::DstContiguous, /*inSource=*/true, rows);
  if (nest.packsPanels()) {
    from = {panelBuffer, createIndex(at.carry)};
    for (auto [i, row] : llvm::enumerate(fromRows))
      row = i * lineElements();
  }
  Table toColumns = nest.getOffsets(PlanLoop::Role::SrcContiguous,
                                    /*inSource=*/false, columns);
  bool isAligned =
      nest.shiftsRows
          ? nest.isOnLines(kernels.elementBytes())
          : !phase && at.dst.getLargestKnownDivisor() % lineElements() == 0;

  Block block = {{from, to}, fromRows, toColumns};
  if (nest.is<MergeKernel>())
    return emitBits(block);
  if (nest.is<InterleaveKernel>())
    return emitInterleave(block);
  if (nest.is<DeinterleaveKernel>())
    return emitDeinterleave(block);
  if (nest.is<TransposeKernel>()) {
    if (!isCarried())
      return emitTranspose(block, isAligned);
    Position carry = getStage();
    carry.index = createIndex(at.carry);
    if (rows == 0)
      block.rows = {};
    return emitCarried(block, carry, getPhase(at));
  }
  if (isCarried())
    return emitCoalescedRun(block, at.carry);
  if (nest.stores() == StoreKind::Staged)
    return emitStagedCopy(block, isAligned);
  emitStreams(block, nest.getOffsets(PlanLoop::Role::DstContiguous,
                                     /*inSource=*/false, rows));
}

void NestEmitter::emitFill(Position to, int64_t count) {
  Value value = arith::ConstantOp::create(b, padding);
  forEachChunk<Position>(to, count, [&](Position chunk, int64_t size) {
    kernels.fill(value, chunk, size, isNontemporal());
  });
}

void NestEmitter::emitBits(Move move) {
  Value value;
  if (nest.is<FillBitsKernel>())
    value = arith::ConstantOp::create(b, padding);
  forEachChunk<Move>(move, nest.runElements, [&](Move chunk, int64_t size) {
    if (value)
      kernels.fillBits(value, chunk.to, size, nest.mask());
    else
      kernels.merge(chunk, size, nest.mask());
  });
}

void NestEmitter::emitStreams(const Block &block,
                              llvm::ArrayRef<int64_t> toRows) {
  int64_t chunk = kChunkBytes / kernels.elementBytes();
  int64_t chunks = nest.runElements / chunk,
          remainder = nest.runElements % chunk;
  auto forEachRun = [&](Move move, auto body) {
    for (auto [fromRow, toRow] : llvm::zip_equal(block.rows, toRows))
      body(Move{move.from + fromRow, move.to + toRow});
  };
  auto copyAll = [&](Move move, int64_t count) {
    forEachRun(move,
               [&](Move run) { kernels.copy(run, count, isNontemporal()); });
  };
  repeat(chunks, [&](Value i) {
    emitCopyPrefetch(advance(block.from, i, chunk), block.rows, chunk);
    copyAll(advance(block, i, chunk), chunk);
  });
  Move end = block + chunks * chunk;
  emitCopyPrefetch(end.from, block.rows, remainder);
  if (nest.padding())
    forEachRun(end, [&](Move run) { emitRunEnd(run, remainder); });
  else if (remainder)
    copyAll(end, remainder);
}

/// What is left of a run, and the padding behind it.
void NestEmitter::emitRunEnd(Move move, int64_t count) {
  // Up to the end of a chunk at once, for the sake of lines.
  int64_t chunk = kChunkBytes / kernels.elementBytes();
  int64_t first = std::min(nest.padding(), chunk - count);
  Value value = arith::ConstantOp::create(b, padding);
  kernels.copyAndFill(move, count, value, first, isNontemporal());
  if (first < nest.padding())
    emitFill(move.to + (count + first), nest.padding() - first);
}

void NestEmitter::emitInterleave(const Block &block) {
  int64_t width = getColumnElements(block.rows);
  int64_t numColumns = block.columns.size();
  InterleaveGap gap;
  gap.runs = numColumns > 1 ? (block.columns[1] - width) / nest.runElements : 0;
  gap.isPadding = nest.get<InterleaveKernel>()->keepsPadding;
  if (nest.padding())
    gap.filler = arith::ConstantOp::create(b, padding);
  bool isWritten =
      gap.runs == 0 || gap.filler || gap.isPadding || kernels.hasMasks();
  // The remainder of a long side may be too short for registers of it.
  if (!kernels.fillsLane(numColumns) || !isWritten) {
    kernels.transpose(block);
    if (nest.padding())
      for (int64_t column : block.columns)
        kernels.fill(gap.filler, block.to + (column + width), nest.padding());
    return;
  }
  if (nest.stores() == StoreKind::Staged)
    return emitShiftedInterleave(block, gap);
  emitPrefetch(block.from, block.rows);
  kernels.interleave(block, block.rows, numColumns, gap, isNontemporal());
}

void NestEmitter::emitDeinterleave(const Block &block) {
  llvm::ArrayRef<int64_t> rows = block.rows;
  if (!kernels.fillsLane(rows.size()))
    return kernels.transpose(block);
  int64_t parts =
      nest.packedBytes.empty() ? 1 : nest.packedBytes.front().parts.size();
  int64_t pitch = rows.size() > 1 ? rows[1] / nest.runElements
                                  : block.columns.size() * parts;
  kernels.deinterleave(block, pitch, isNontemporal());
}

/// A run that begins at any column. As many columns as a register holds make
/// whole lines, so that from one of the first such columns on all is aligned.
void NestEmitter::emitShiftedInterleave(const Block &block, InterleaveGap gap) {
  int64_t numColumns = block.columns.size();
  int64_t size = kernels.interleavedRuns(numColumns);
  int64_t pitch = getColumnElements(block.rows) + gap.runs * nest.runElements;
  auto interleave = [&](Move move, int64_t count, bool isNontemporal) {
    kernels.interleave(move, block.rows, count, gap, isNontemporal);
  };
  if (numColumns < 2 * size)
    return interleave(block, numColumns, false);
  // What comes before the first line, and what is left after the last one.
  for (int64_t column : {int64_t(0), numColumns - 2 * size, numColumns - size})
    interleave(
        {block.from + column * nest.runElements, block.to + column * pitch},
        size, false);
  auto [from, to] = static_cast<const Move &>(block);
  AffineExpr index = b.getAffineDimExpr(0);
  Value head = apply((-(index + to.offset).floorDiv(pitch)) % size, to.index);
  auto atHead = [&](Position position, int64_t stride) {
    Value moved =
        arith::AddIOp::create(b, position.index, apply(index * stride, head));
    return Position{position.memref, moved, position.offset};
  };
  Move first = {atHead(from, nest.runElements), atHead(to, pitch)};
  repeatInLoop((numColumns - size + 1) / size, [&](Value i) {
    interleave(advance(first, i, size * nest.runElements, size * pitch), size,
               true);
  });
}
