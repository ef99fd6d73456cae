//===- Schedule.cpp - A relayout as calls of kernels ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "Gathers.h"
#include "MoveCosts.h"
#include "PackedBlocks.h"
#include "PlanMoves.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using namespace tessera::runtime;

/// A nest costs a few words and a call, so that many are no trouble.
static constexpr size_t kMaxRuntimeNests = 4096;
/// The time that planning takes grows with the third power of the axes.
static constexpr size_t kMaxAxes = 64;

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Replaces the last one of `moves`, which moves `elements`, with gathers where
/// those take less time, and a move of what they leave.
static void takeGathers(const ElementNest &elements, int64_t elementBytes,
                        const Kernels &kernels, int64_t wholeBytes,
                        std::vector<Move> &moves) {
  const Move &planned = moves.back();
  const GatherRegisters &registers = kernels.table.gatherRegisters;
  if (registers.laneBytes == 0 || planned.numBytes() == 0 ||
      planned.fillBytes > 0 || planned.keepsPadding)
    return;
  int64_t mostCycles = getCycles(planned, kernels.table,
                                 planned.numBytes() >= kernels.streamedBytes);
  std::optional<ElementNest> rest = elements;
  while (rest) {
    ElementNest nest = std::move(*rest);
    rest.reset();
    auto gather = planGather(nest, elementBytes, registers, mostCycles, rest);
    if (!gather)
      return;
    moves.back() = std::move(*gather);
    if (rest)
      moves.push_back(planElements(*rest, elementBytes, wholeBytes));
  }
}

void Schedule::addElements(const ElementNest &nest, int64_t elementBytes,
                           const Kernels &kernels) {
  moves.push_back(planElements(nest, elementBytes, /*wholeBytes=*/0));
  takeGathers(nest, elementBytes, kernels, /*wholeBytes=*/0, moves);
}

/// Adds moves of whole bytes, and fills unless padding keeps its bytes.
static void addMoves(llvm::ArrayRef<StridedNest> nests,
                     std::vector<StridedNest> fills, bool keepsPadding,
                     int64_t srcBytes, int64_t elementBytes, int64_t wholeBytes,
                     const Kernels &kernels, Schedule &schedule) {
  for (const StridedNest &nest : nests) {
    auto padding = findPadding(nest, fills);
    const ElementNest elements = getBytes(nest, srcBytes, elementBytes);
    Move move = planCopy(elements, padding, elementBytes, wholeBytes);
    if (keepsPadding) {
      move.keepsPadding =
          padding && takeRowPadding(move, *padding, elementBytes);
    } else if (padding && takePadding(move, *padding, elementBytes)) {
      schedule.includedFills.push_back(
          planFill(fills[padding->fill], elementBytes));
      fills.erase(fills.begin() + padding->fill);
    }
    findChains(move);
    schedule.moves.push_back(std::move(move));
    takeGathers(elements, elementBytes, kernels, wholeBytes, schedule.moves);
  }
  if (!keepsPadding)
    for (const StridedNest &nest : fills)
      schedule.moves.push_back(planFill(nest, elementBytes));
}

/// Adds moves of bytes that elements share, on one side at least, and fills.
/// Padding keeps its bytes where these lie behind runs of whole bytes.
static llvm::Error addPackedMoves(llvm::ArrayRef<StridedNest> nests,
                                  llvm::ArrayRef<StridedNest> fills,
                                  bool keepsPadding, const ElementBits &bits,
                                  int64_t wholeBytes, const Kernels &kernels,
                                  Schedule &schedule) {
  auto copied = packNests(nests, bits, /*forFill=*/false, kMaxRuntimeNests);
  if (!copied)
    return copied.takeError();
  auto packed = packNests(fills, ElementBits(bits.dst), /*forFill=*/true,
                          kMaxRuntimeNests);
  if (!packed && !keepsPadding)
    return packed.takeError();
  std::vector<PackedNest> filled;
  if (packed)
    filled = std::move(*packed);
  else
    llvm::consumeError(packed.takeError());
  if (llvm::all_of(*copied, isOfWholeBytes) &&
      llvm::all_of(filled, isOfWholeBytes)) {
    auto getNests = [](llvm::ArrayRef<PackedNest> packed) {
      std::vector<StridedNest> strided;
      for (const PackedNest &nest : packed)
        strided.push_back(nest.strided);
      return strided;
    };
    addMoves(getNests(*copied), getNests(filled), keepsPadding, /*srcBytes=*/1,
             /*elementBytes=*/1, wholeBytes, kernels, schedule);
    return llvm::Error::success();
  }
  for (const PackedNest &nest : *copied)
    addPackedNest(nest, bits, kernels, schedule);
  if (!keepsPadding)
    for (const PackedNest &nest : filled)
      schedule.moves.push_back(planPackedFill(nest));
  return llvm::Error::success();
}

/// Bytes of all positions of an array.
static int64_t countBytes(const AxisList &axes, int64_t bits) {
  int64_t positions = axes.numAllocated();
  return bits < 8 ? llvm::divideCeil(positions, 8 / bits)
                  : positions * (bits / 8);
}

llvm::Expected<Schedule> Schedule::get(const PlanSide &src, const PlanSide &dst,
                                       ElementBits bits, bool fillPadding,
                                       const Kernels &kernels) {
  if (src.axes.size() > kMaxAxes || dst.axes.size() > kMaxAxes)
    return unsupportedError(
        "schedule", "at most " + llvm::Twine(kMaxAxes) + " axes", "more");
  auto nests = splitElements(src, dst, kMaxRuntimeNests);
  if (!nests)
    return nests.takeError();
  // What is padding may be written back where it keeps its bytes.
  std::vector<StridedNest> fills;
  if (fillPadding || dst.isWhole()) {
    auto padding = splitPadding(dst.axes, kMaxRuntimeNests);
    if (padding)
      fills = std::move(*padding);
    else if (fillPadding)
      return padding.takeError();
    else
      llvm::consumeError(padding.takeError());
  }
  Schedule schedule;
  int64_t wholeBytes = src.isWhole() ? countBytes(src.axes, bits.src) : 0;
  if (bits.src == bits.dst && bits.dst % 8 == 0) {
    int64_t bytes = bits.dst / 8;
    addMoves(*nests, std::move(fills), /*keepsPadding=*/!fillPadding,
             src.strides ? 1 : bytes, bytes, wholeBytes, kernels, schedule);
  } else if (llvm::Error error =
                 addPackedMoves(*nests, fills, /*keepsPadding=*/!fillPadding,
                                bits, wholeBytes, kernels, schedule)) {
    return std::move(error);
  }
  return schedule;
}

int64_t Schedule::numBytes() const {
  int64_t bytes = 0;
  for (const Move &move : moves)
    bytes += move.numBytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

static bool isEmpty(const Job &job) {
  return job.runBytes == 0 || job.rows.count == 0 || job.columns.count == 0 ||
         job.moreRows.count == 0 || job.moreColumns.count == 0 ||
         llvm::any_of(llvm::ArrayRef(job.loops, job.numLoops),
                      [](const Loop &loop) { return loop.count == 0; });
}

Kernel *tessera::runtime::getKernel(const KernelTable &kernels, Move::Kind kind,
                                    const Job &job) {
  if (isEmpty(job))
    return [](const Job &, const char *, char *) {}; // Nothing.
  switch (kind) {
  case Move::Kind::Copy:
    return kernels.copy(job);
  case Move::Kind::Transpose:
    return kernels.transpose(job);
  case Move::Kind::Gather:
    return kernels.gather(job);
  case Move::Kind::PackBits:
    return job.block ? movePackedBlocks : kernels.packBits(job);
  case Move::Kind::Fill:
    return kernels.fill(job);
  }
  return nullptr;
}

Task tessera::runtime::makeTask(
    const Move &move, const KernelTable &kernels,
    const std::optional<std::array<uint8_t, 16>> &padding) {
  Task task = {};
  task.numShared = move.numShared;
  task.src = move.srcOffset;
  task.dst = move.dstOffset;
  Job &job = task.job;
  job.loops = move.loops.data();
  job.numLoops = move.loops.size();
  job.runBytes = move.runBytes;
  job.rows = move.rows;
  job.columns = move.columns;
  job.moreRows = move.moreRows;
  job.moreColumns = move.moreColumns;
  job.square = move.square;
  job.squareSides = move.squareSides;
  job.isStreamed = move.isStreamed;
  job.blocks = move.blocks;
  job.fillBytes = move.fillBytes;
  job.fillBehind = move.fillBehind;
  job.keepsPadding = move.keepsPadding;
  job.gather = move.gather.getTable();
  job.bytes = move.bytes.data();
  job.numBytes = move.bytes.size();
  job.mask = move.mask;
  job.signedBits = move.signedBits;
  job.halves = findHalves(move.bytes);
  job.block = move.block.get();
  if (padding)
    for (size_t i = 0; i < kFillerBytes; ++i)
      job.filler[i] = (*padding)[i % padding->size()];
  task.kernel = getKernel(kernels, move.kind, job);
  return task;
}

void Schedule::makeTasks(
    const KernelTable &kernels,
    const std::optional<std::array<uint8_t, 16>> &padding) {
  tasks.reserve(moves.size());
  for (auto [i, move] : llvm::enumerate(moves)) {
    Task task = makeTask(move, kernels, padding);
    size_t next = i + 1 < moves.size() ? moves[i + 1].numShared : 0;
    size_t numShared = std::max(move.numShared, next);
    task.job.loops += numShared;
    task.job.numLoops -= numShared;
    tasks.push_back(task);
  }
  isStreamed = llvm::any_of(moves, [](const Move &m) { return m.isStreamed; });
  takesTurns = llvm::any_of(moves, [](const Move &m) { return m.numShared; });
}
