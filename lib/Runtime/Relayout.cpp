//===- Relayout.cpp - A relayout that is run, not compiled ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relayout.h"

#include "Processor.h"

#include "tessera/Layout/PaddingBits.h"
#include "tessera/Layout/Relayout.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace tessera;
using namespace tessera::runtime;

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

/// Beyond any buffer, and far from where sums of offsets would overflow.
static constexpr int64_t kMaxReach = int64_t(1) << 56;

static llvm::Error makeStridesError(const llvm::Twine &expected,
                                    const llvm::Twine &found) {
  return invalidError("", "byte strides", expected, found);
}

/// The bytes up to the end of the last element, and that the first is not in
/// front of the buffer.
static llvm::Expected<int64_t> getStridedSize(const Shape &shape,
                                              const ByteStrides &strided,
                                              int64_t elementBytes) {
  int64_t lowest = strided.offset, highest = strided.offset;
  for (auto [size, stride] :
       llvm::zip_equal(shape.dimensions(), strided.strides)) {
    if (size == 0)
      return 0;
    std::optional<int64_t> reach = llvm::checkedMul(size - 1, stride);
    if (!reach || std::max(-kMaxReach, std::min(*reach, kMaxReach)) != *reach)
      return makeStridesError("a buffer of less than 2^56 bytes",
                              llvm::Twine(stride) + " bytes " +
                                  llvm::Twine(size - 1) + " times");
    (*reach < 0 ? lowest : highest) += *reach;
    if (lowest < -kMaxReach || highest > kMaxReach)
      return makeStridesError("a buffer of less than 2^56 bytes", "more");
  }
  if (lowest < 0)
    return makeStridesError("elements behind the begin of the buffer",
                            "one at byte " + llvm::Twine(lowest));
  return highest + elementBytes;
}

/// The rules for strides, and bytes of the buffer.
static llvm::Expected<int64_t> checkStrides(Side &side, int64_t bits) {
  ByteStrides &strided = *side.strided;
  int64_t rank = side.shape.rank();
  if (static_cast<int64_t>(strided.strides.size()) != rank)
    return makeStridesError("one for each of " + llvm::Twine(rank) +
                                " dimensions",
                            llvm::Twine(strided.strides.size()));
  if (bits % 8 != 0)
    return unsupportedError("byte strides", "elements of whole bytes",
                            llvm::Twine(bits) + " bits", "leave out E");
  if (strided.offset < 0 || strided.offset > kMaxReach)
    return makeStridesError("an offset from 0 to below 2^56",
                            llvm::Twine(strided.offset));
  // A dimension of one index moves by nothing.
  for (auto [size, stride] :
       llvm::zip_equal(side.shape.dimensions(), strided.strides))
    if (size <= 1)
      stride = 0;
  return getStridedSize(side.shape, strided, bits / 8);
}

static llvm::Expected<int64_t> getBytes(Side &side, int64_t bits) {
  if (side.strided)
    return checkStrides(side, bits);
  llvm::Expected<ShapeSize> size = getSize(side.shape);
  if (!size)
    return size.takeError();
  return size->bytes;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// The element that padding gets.
static std::optional<std::array<uint8_t, 16>>
getPadding(const Shape &shape, int64_t bits, const Options &options) {
  std::optional<PaddingValue> value = shape.layoutOrDefault().paddingValue;
  std::array<uint8_t, 16> bytes = {};
  if (!value)
    return options.zeroPadding ? std::optional(bytes) : std::nullopt;
  int64_t width = std::max<int64_t>(bits, 8);
  llvm::APInt element = getStoredPadding(shape.elementType(), *value, bits);
  element = element.zextOrTrunc(width);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = element.extractBitsAsZExtValue(8, i * 8 % width);
  return bytes;
}

llvm::Expected<Relayout> Relayout::get(Side src, Side dst,
                                       const Options &options) {
  if (llvm::Error error =
          checkRelayout({src.shape, src.box}, {dst.shape, dst.box}))
    return std::move(error);
  if (dst.strided)
    return unsupportedError("byte strides", "those of the source alone",
                            "strides of the destination");
  llvm::Expected<AxisList> from = AxisList::getStatic(src.shape);
  if (!from)
    return from.takeError();
  llvm::Expected<AxisList> to = AxisList::getStatic(dst.shape);
  if (!to)
    return to.takeError();
  PrimitiveType type = src.shape.elementType();
  ElementBits bits(getStorageBits(type, src.shape.layoutOrDefault()),
                   getStorageBits(type, dst.shape.layoutOrDefault()),
                   isSignedIntegral(type));
  llvm::Expected<int64_t> srcBytes = getBytes(src, bits.src);
  if (!srcBytes)
    return srcBytes.takeError();
  llvm::Expected<int64_t> dstBytes = getBytes(dst, bits.dst);
  if (!dstBytes)
    return dstBytes.takeError();
  Relayout result(std::move(src), std::move(*from), std::move(dst),
                  std::move(*to), bits);
  result.sizeOfSrc = *srcBytes;
  result.sizeOfDst = *dstBytes;
  result.options = options;
  if (result.dst.box.empty())
    result.padding = getPadding(result.dst.shape, bits.dst, options);
  // With all bits that have no element, those behind the last position go.
  if (int64_t bitsInLast = result.dstAxes.numAllocated() % 8 * bits.dst % 8;
      bitsInLast != 0 && result.dst.box.empty() && options.zeroPadding)
    result.tailMask = 0xFF << bitsInLast;
  result.kernels = &getKernels(options.vectorBytes);
  result.schedule = result.makeSchedule(result.src.box, result.dst.box);
  result.prepareOffsets();
  return result;
}

/// The side as plans have it; a part of it where `box` is one.
static PlanSide getPlanSide(const Side &side, const AxisList &axes,
                            llvm::ArrayRef<Slice> box) {
  PlanSide plan = side.strided
                      ? PlanSide::getStrided(axes, side.strided->strides)
                      : PlanSide(axes);
  plan.box = box;
  return plan;
}

std::optional<Schedule>
Relayout::makeSchedule(llvm::ArrayRef<Slice> srcBox,
                       llvm::ArrayRef<Slice> dstBox) const {
  bool isShort = kernels->vectorBytes < kLineBytes;
  StreamedBytes least = getStreamedBytes();
  if (options.streamedBytes)
    least = {options.streamedBytes, options.streamedBytes};
  auto made = Schedule::get(getPlanSide(src, srcAxes, srcBox),
                            getPlanSide(dst, dstAxes, dstBox), bits,
                            padding.has_value(), {*kernels, least.others});
  if (!made) {
    llvm::consumeError(made.takeError());
    return std::nullopt;
  }
  if (src.strided)
    for (Move &move : made->moves)
      move.srcOffset += src.strided->offset;
  RelayoutTarget target;
  target.vectorBytes = kernels->vectorBytes;
  target.costs = getProcessorCosts();
  made->streamStores(least, target);
  made->divideChains(*kernels);
  // Parts of lines that short registers have written wait for the rest of them
  // outside of the first-level cache.
  made->orderDivided(isShort ? 2 * kCacheWays : kCacheWays);
  made->findTogether();
  made->makeTasks(*kernels, padding);
  return std::move(*made);
}

//===----------------------------------------------------------------------===//
// Running the schedule
//===----------------------------------------------------------------------===//

/// Work that is not worth to be shared.
static constexpr int64_t kMinSharedBytes = 1 << 14;
/// Loops of this many steps a share are even enough.
static constexpr int64_t kMinSteps = 4;
/// Rows and columns are shared by so many, so that shares have lines of their
/// own; runs by so many bytes.
static constexpr int64_t kStepRows = 64, kStepBytes = 4096;

namespace {
/// A part of a range: where it begins and how long it is.
struct Range {
  int64_t begin, count;
};
} // namespace

/// A share of [0, count), in whole steps.
static Range getRange(int64_t count, int64_t step, Share share) {
  int64_t steps = (count + step - 1) / step;
  auto getBegin = [&](int64_t i) {
    int64_t begin = steps / share.of * i + std::min(i, steps % share.of);
    return std::min(begin * step, count);
  };
  int64_t begin = getBegin(share.number);
  return {begin, getBegin(share.number + 1) - begin};
}

namespace {
/// A move whose loops one share takes in part.
struct PartialMove {
  explicit PartialMove(const Move &move)
      : loops(move.loops), rows(move.rows), columns(move.columns),
        moreRows(move.moreRows), moreColumns(move.moreColumns),
        runBytes(move.runBytes), src(move.srcOffset), dst(move.dstOffset) {}

  void takeShare(const Move &move, Share share);

  llvm::SmallVector<Loop, 6> loops;
  Loop rows, columns, moreRows, moreColumns;
  int64_t runBytes, src, dst;

private:
  void take(Loop &loop, int64_t step, Share share) {
    Range range = getRange(loop.count, step, share);
    loop.count = range.count;
    src += range.begin * loop.src;
    dst += range.begin * loop.dst;
  }
};
} // namespace

/// Takes a part of the outermost loop that is long enough, or else of the
/// longest one. A run is a loop over pages.
void PartialMove::takeShare(const Move &move, Share share) {
  bool isRun = move.kind == Move::Kind::Copy || move.kind == Move::Kind::Fill;
  Loop run = {runBytes, move.kind == Move::Kind::Fill ? 0 : 1, 1};
  Loop *best = nullptr;
  int64_t bestSteps = 1, step = 1;
  auto consider = [&](Loop &loop, int64_t size) {
    int64_t steps = loop.count / size;
    if (bestSteps / kMinSteps >= share.of || steps <= bestSteps)
      return;
    best = &loop;
    bestSteps = steps;
    step = size;
  };
  for (Loop &loop : loops)
    consider(loop, 1);
  if (isRun) {
    if (move.fillBytes == 0)
      consider(run, kStepBytes);
  } else {
    // What goes on in the next tile is not parted within one, nor are words of
    // bits. Rows that padding follows are too few to be parted.
    auto considerRuns = [&](Loop &inner, Loop &more) {
      if (more.count > 1 && move.kind != Move::Kind::PackBits)
        consider(more, std::max<int64_t>(kStepRows / inner.count, 1));
      else
        consider(inner, kStepRows);
    };
    if (!move.isFilledBehindColumns() && move.fillBehind == 0)
      considerRuns(columns, moreColumns);
    considerRuns(rows, moreRows);
  }
  if (best)
    take(*best, step, share);
  runBytes = best || share.number == 0 ? (isRun ? run.count : runBytes) : 0;
}

/// A share of a move.
static void runShare(const Move &move, const Task &task,
                     const KernelTable &kernels, const char *from, char *to,
                     Share share) {
  PartialMove part(move);
  part.takeShare(move, share);
  Job job = task.job;
  job.loops = part.loops.data();
  job.numLoops = part.loops.size();
  job.runBytes = part.runBytes;
  job.rows = part.rows;
  job.columns = part.columns;
  job.moreRows = part.moreRows;
  job.moreColumns = part.moreColumns;
  getKernel(kernels, move.kind, job)(job, from + part.src, to + part.dst);
}

static void runTasks(llvm::ArrayRef<Task> tasks, llvm::ArrayRef<Move> moves,
                     size_t depth, const char *from, char *to);

/// Runs tasks that take turns at the steps of the loop at `depth`.
static void runTurns(llvm::ArrayRef<Task> tasks, llvm::ArrayRef<Move> moves,
                     size_t depth, const char *from, char *to) {
  const Loop loop = moves.front().loops[depth];
  bool shareMore = llvm::any_of(tasks.drop_front(), [=](const Task &task) {
    return task.numShared > depth + 1;
  });
  for (int64_t i = 0; i < loop.count; ++i) {
    const char *src = from + i * loop.src;
    char *dst = to + i * loop.dst;
    if (shareMore)
      runTasks(tasks, moves, depth + 1, src, dst);
    else
      for (const Task &task : tasks)
        task.run(src, dst);
  }
}

/// Runs the tasks for `moves`, which share `depth` loops, for a step of these.
static void runTasks(llvm::ArrayRef<Task> tasks, llvm::ArrayRef<Move> moves,
                     size_t depth, const char *from, char *to) {
  while (!tasks.empty()) {
    size_t count = 1;
    while (count < tasks.size() && tasks[count].numShared > depth)
      ++count;
    if (count == 1)
      tasks.front().run(from, to);
    else
      runTurns(tasks.take_front(count), moves, depth, from, to);
    tasks = tasks.drop_front(count);
    moves = moves.drop_front(count);
  }
}

/// One of several shares of all moves.
static void runShares(const Schedule &moves, const KernelTable &kernels,
                      const char *from, char *to, Share share) {
  for (auto [i, move, task] : llvm::enumerate(moves.moves, moves.tasks)) {
    // Bits of one byte may be those of several moves.
    bool isOneShare = move.mask != 0xFF || move.numBytes() < kMinSharedBytes;
    int64_t owner = move.mask != 0xFF ? 0 : i % share.of;
    if (!isOneShare)
      runShare(move, task, kernels, from, to, share);
    else if (share.number == owner)
      runShare(move, task, kernels, from, to, {});
  }
}

void Relayout::runSchedule(const Schedule &moves, const char *from, char *to,
                           Share share) const {
  if (share.of > 1)
    runShares(moves, *kernels, from, to, share);
  else if (moves.takesTurns)
    runTasks(moves.tasks, moves.moves, /*depth=*/0, from, to);
  else
    for (const Task &task : moves.tasks)
      task.run(from, to);
  if (moves.isStreamed)
    kernels->fence();
}

void Relayout::run(const char *from, char *to, Share share) const {
  if (!schedule)
    return runElements(src.box, dst.box, from, to, share);
  runSchedule(*schedule, from, to, share);
  // Like the other bits of its byte, by the first share.
  if (share.number == 0)
    clearTail(to);
}

/// What the moves of parts of the array leave out.
void Relayout::runFills(char *to) const {
  auto runFill = [&](const Move &move) {
    if (move.kind != Move::Kind::Fill)
      return;
    makeTask(move, *kernels, padding).run(/*from=*/to, to); // Unread.
  };
  llvm::for_each(schedule->moves, runFill);
  llvm::for_each(schedule->includedFills, runFill);
  clearTail(to);
}

//===----------------------------------------------------------------------===//
// Parts that begin elsewhere
//===----------------------------------------------------------------------===//

/// Where the slice may begin in a dimension of that size, at most.
static int64_t getLastBegin(const Slice &slice, int64_t size) {
  return slice.count == 0 ? size : size - 1 - (slice.count - 1) * slice.step;
}

llvm::Expected<Box> Side::getBoxAt(llvm::ArrayRef<int64_t> offsets,
                                   llvm::StringRef field) const {
  if (offsets.empty())
    return box;
  int64_t rank = shape.rank();
  if (static_cast<int64_t>(offsets.size()) != rank)
    return invalidError("", field,
                        "one for each of " + llvm::Twine(rank) + " dimensions",
                        llvm::Twine(offsets.size()));
  Box moved = box;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = shape.dimensions()[dim];
    Slice slice = box.empty() ? Slice{0, size, 1} : box[dim];
    int64_t last = getLastBegin(slice, size);
    if (offsets[dim] < 0 || offsets[dim] > last)
      return invalidError("", (field + " of d" + llvm::Twine(dim)).str(),
                          last == 0 ? "0" : "from 0 to " + llvm::Twine(last),
                          llvm::Twine(offsets[dim]));
    if (!box.empty())
      moved[dim].begin = offsets[dim];
  }
  return moved;
}

void Relayout::prepareOffsets() {
  if (src.box.empty() && dst.box.empty())
    return;
  auto srcPeriods = getPeriods(getPlanSide(src, srcAxes, {}), bits.src);
  auto dstPeriods = getPeriods(getPlanSide(dst, dstAxes, {}), bits.dst);
  if (!srcPeriods || !dstPeriods)
    return;
  offsets = std::make_unique<Offsets>();
  offsets->src = std::move(*srcPeriods);
  offsets->dst = std::move(*dstPeriods);
  Box srcBox = src.box, dstBox = dst.box;
  offsets->srcBase = takePeriods(offsets->src, srcBox);
  offsets->dstBase = takePeriods(offsets->dst, dstBox);
  offsets->ownBegins = getBegins(srcBox, dstBox);
}

llvm::Error Relayout::runAt(llvm::ArrayRef<int64_t> srcOffsets,
                            llvm::ArrayRef<int64_t> dstOffsets,
                            const char *from, char *to, Share share) const {
  auto srcBox = src.getBoxAt(srcOffsets, "source offsets");
  if (!srcBox)
    return srcBox.takeError();
  auto dstBox = dst.getBoxAt(dstOffsets, "destination offsets");
  if (!dstBox)
    return dstBox.takeError();
  auto isEmpty = [](const Slice &slice) { return slice.count == 0; };
  bool isWhole = srcBox->empty() && dstBox->empty();
  if (isWhole || llvm::any_of(*srcBox, isEmpty) ||
      llvm::any_of(*dstBox, isEmpty))
    run(from, to, share);
  else
    runBoxes(*srcBox, *dstBox, from, to, share);
  return llvm::Error::success();
}

const Schedule *
Relayout::getSchedule(const Box &srcBox, const Box &dstBox,
                      std::unique_ptr<ScheduleTable::Entry> &made) const {
  BoxBegins begins = getBegins(srcBox, dstBox);
  const ScheduleTable::Entry *entry = offsets->others.find(begins);
  if (!entry) {
    made = std::make_unique<ScheduleTable::Entry>();
    made->begins = std::move(begins);
    made->schedule = makeSchedule(srcBox, dstBox);
    entry = offsets->others.insert(made);
  }
  if (!entry)
    entry = made.get();
  return entry->schedule ? &*entry->schedule : nullptr;
}

void Relayout::runBoxes(const Box &srcBox, const Box &dstBox, const char *from,
                        char *to, Share share) const {
  const Schedule *moves = nullptr;
  std::unique_ptr<ScheduleTable::Entry> made; // Of this run alone.
  int64_t srcBytes = 0, dstBytes = 0;
  if (offsets) {
    Box srcInTile = srcBox, dstInTile = dstBox;
    srcBytes = takePeriods(offsets->src, srcInTile);
    dstBytes = takePeriods(offsets->dst, dstInTile);
    if (getBegins(srcInTile, dstInTile) == offsets->ownBegins) {
      moves = schedule ? &*schedule : nullptr;
      srcBytes -= offsets->srcBase;
      dstBytes -= offsets->dstBase;
    } else {
      moves = getSchedule(srcInTile, dstInTile, made);
    }
  }
  if (!moves)
    return runElements(srcBox, dstBox, from, to, share);
  runSchedule(*moves, from + srcBytes, to + dstBytes, share);
  if (share.number == 0)
    clearTail(to);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Where the element for that index of a part lies, in bits, and those behind
/// it along the last dimension. Of the whole array where `box` is empty.
static IndexRun getElementRun(const Side &side, const AxisList &axes,
                              int64_t bits, const Box &box,
                              llvm::ArrayRef<int64_t> index) {
  if (index.empty())
    return {axes.linearIndex(index) * bits};
  llvm::SmallVector<int64_t, 6> at(index);
  for (auto [i, slice] : llvm::zip(at, box))
    i = slice.begin + i * slice.step;
  bool isStepped = !box.empty() && box.back().count > 1;
  int64_t step = isStepped ? box.back().step : 1;
  IndexRun run;
  if (side.strided) {
    run = {side.strided->offset, side.strided->strides.back()};
    for (auto [i, stride] : llvm::zip_equal(at, side.strided->strides))
      run.value += i * stride;
    bits = 8;
  } else {
    run = axes.linearRun(at, at.size() - 1);
  }
  return {run.value * bits, run.stride * step * bits,
          llvm::divideCeilSigned(run.steps, step)};
}

/// Copies an element of less than a byte between positions in bits.
static void copyBits(const char *src, int64_t srcBit, char *dst, int64_t dstBit,
                     const ElementBits &bits) {
  unsigned value = static_cast<uint8_t>(src[srcBit / 8]) >> (srcBit % 8);
  value &= (1U << bits.src) - 1;
  if (bits.isSigned && bits.src < bits.dst) {
    unsigned sign = 1U << (bits.src - 1);
    value = (value ^ sign) - sign;
  }
  unsigned mask = ((1U << bits.dst) - 1) << (dstBit % 8);
  unsigned old = static_cast<uint8_t>(dst[dstBit / 8]);
  dst[dstBit / 8] =
      static_cast<char>((old & ~mask) | ((value << (dstBit % 8)) & mask));
}

/// Copies an element between positions in bits.
static void copyElement(const char *src, int64_t srcBit, char *dst,
                        int64_t dstBit, const ElementBits &bits) {
  if (bits.src == bits.dst && bits.dst % 8 == 0)
    std::memcpy(dst + dstBit / 8, src + srcBit / 8, bits.dst / 8);
  else
    copyBits(src, srcBit, dst, dstBit, bits);
}

/// Copies `count` elements.
static void copyElements(const char *src, const IndexRun &from, char *dst,
                         const IndexRun &to, int64_t count,
                         const ElementBits &bits) {
  bool isDense = bits.src == bits.dst && bits.dst % 8 == 0 &&
                 from.stride == bits.src && to.stride == bits.dst;
  if (isDense)
    return void(std::memcpy(dst + to.value / 8, src + from.value / 8,
                            count * bits.dst / 8));
  for (int64_t i = 0; i < count; ++i)
    copyElement(src, from.value + i * from.stride, dst,
                to.value + i * to.stride, bits);
}

/// The share of all padding.
void Relayout::runPadding(char *to, Share share) const {
  const auto *value = reinterpret_cast<const char *>(padding->data());
  Range range = getRange(dstAxes.numAllocated(), /*step=*/1, share);
  PositionRun run;
  for (int64_t at = range.begin, left = range.count; left > 0;
       at += run.count, left -= run.count) {
    run = dstAxes.positionRun(at);
    run.count = std::min(run.count, left);
    if (run.isPadding)
      copyElements(value, /*from=*/{0, 0}, to, {at * bits.dst, bits.dst},
                   run.count, ElementBits(bits.dst));
  }
}

/// The index of element `number` of an array, in row-major order.
static void getIndex(int64_t number, llvm::ArrayRef<int64_t> sizes,
                     llvm::MutableArrayRef<int64_t> index) {
  for (size_t dim = sizes.size(); dim-- > 0;) {
    index[dim] = number % sizes[dim];
    number /= sizes[dim];
  }
}

void Relayout::runElements(const Box &srcBox, const Box &dstBox,
                           const char *from, char *to, Share share) const {
  // Elements that share a byte are moved by one share.
  if (bits.dst % 8 != 0) {
    if (share.number != 0)
      return;
    share = {};
  }
  if (padding && dstBox.empty())
    runPadding(to, share);
  if (share.number == 0)
    clearTail(to);
  llvm::SmallVector<int64_t, 6> sizes(dstAxes.dimensions());
  for (auto [size, slice] : llvm::zip(sizes, dstBox))
    size = slice.count;
  if (llvm::is_contained(sizes, 0))
    return;
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  llvm::SmallVector<int64_t, 6> index(sizes.size());
  Range range = getRange(count, /*step=*/1, share);
  for (int64_t i = range.begin, end = i + range.count, steps; i < end;
       i += steps) {
    getIndex(i, sizes, index);
    IndexRun src = getElementRun(this->src, srcAxes, bits.src, srcBox, index);
    IndexRun dst = getElementRun(this->dst, dstAxes, bits.dst, dstBox, index);
    int64_t left = sizes.empty() ? 1 : sizes.back() - index.back();
    steps = std::min({end - i, left, src.steps, dst.steps});
    copyElements(from, src, to, dst, steps, bits);
  }
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

void Relayout::print(llvm::raw_ostream &os) const {
  os << sizeOfSrc << " bytes to " << sizeOfDst << ", by "
     << (schedule ? kernels->name : "runs of elements") << "\n";
  if (!schedule)
    return;
  for (const Move &move : schedule->moves)
    move.print(os);
}
