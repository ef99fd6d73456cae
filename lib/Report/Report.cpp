//===- Report.cpp - Where memory and bytes go -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Report.h"

#include "Placement.h"
#include "Suggest.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tessera;
using llvm::Error;
using llvm::Expected;

namespace {
/// Bytes that are live at each step, by space.
using LiveBytes = std::map<int64_t, std::vector<int64_t>>;

/// Adds everything up.
class ReportBuilder {
public:
  explicit ReportBuilder(ReportInput input) : input(std::move(input)) {}

  Expected<Report> build();

private:
  Error addValue(ReportValue value);
  Expected<const ShapeSize *> getSizeOf(const ShapePtr &shape);
  Error addMove(ValueReport &value);
  Error addTouched(ValueReport &value);
  Error addBuffers();
  void addCycles();
  void addScoped();
  Error addBoundary();
  LiveBytes
  countLive(llvm::function_ref<bool(const ReportBuffer &)> counts) const;
  void addLiveBytes();
  void addProgramBytes();
  void addPeak(SpaceReport &space);
  void rank();
  SpaceReport &getSpace(int64_t number) { return spaces[number]; }

  ReportInput input;
  Report report;
  std::map<int64_t, SpaceReport> spaces;
  /// Each shape is measured once.
  llvm::DenseMap<const Shape *, ShapeSize> sizes;
  /// Sizes of each timeline's buffers.
  std::vector<std::vector<int64_t>> bufferBytes;
};
} // namespace

/// A sum of numbers that are not negative, INT64_MAX where it would be more.
static int64_t addSaturated(int64_t lhs, int64_t rhs) {
  int64_t sum = 0;
  return llvm::AddOverflow(lhs, rhs, sum) ? INT64_MAX : sum;
}

/// Leaves of a shape that have a size.
static void forEachArray(const Shape &shape,
                         llvm::function_ref<void(const Shape &)> visit) {
  if (shape.isArray())
    visit(shape);
  for (const Shape &element : shape.elements())
    forEachArray(element, visit);
}

static int64_t getSpaceNumber(const Shape &array) {
  return array.hasLayout() ? array.layout().memorySpace : 0;
}

/// The space S that is the host's memory.
static constexpr int64_t kHostMemorySpace = 5;

/// What the TPU compiler rounds arrays at the boundary up to, and what the
/// table of a tuple takes.
static constexpr uint64_t kGranule = 512;

/// Adds the arrays of `shape` up, rounded, in the memories that they are in.
static Error addBoundaryBytes(const Shape &shape, int64_t &deviceBytes,
                              int64_t &hostBytes) {
  Error error = Error::success();
  forEachArray(shape, [&](const Shape &leaf) {
    Expected<ShapeSize> size = getSizeOnCore(leaf);
    bool isOnHost = getSpaceNumber(leaf) == kHostMemorySpace;
    if (!size)
      error = llvm::joinErrors(std::move(error), size.takeError());
    else
      (isOnHost ? hostBytes : deviceBytes) +=
          llvm::alignTo(size->bytes, kGranule);
  });
  return error;
}

Expected<const ShapeSize *> ReportBuilder::getSizeOf(const ShapePtr &shape) {
  auto [entry, isNew] = sizes.try_emplace(shape.get());
  if (isNew) {
    Expected<ShapeSize> size = getSizeOnCore(*shape);
    if (!size)
      return size.takeError();
    entry->second = std::move(*size);
  }
  return &entry->second;
}

Error ReportBuilder::addMove(ValueReport &value) {
  const ReportMove &move = *value.value.move;
  for (auto [shape, bytes] : {std::pair(&move.from, &value.bytesRead),
                              {&move.to, &value.bytesWritten}}) {
    Expected<const ShapeSize *> size = getSizeOf(*shape);
    if (!size)
      return size.takeError();
    *bytes = (*size)->bytes;
  }
  bool isAsync = move.kind == ReportMove::Kind::Async;
  (isAsync ? report.asyncBytes : report.relayoutBytes) += value.movedBytes();
  getSpace(getSpaceNumber(*move.from)).bytesRead += value.bytesRead;
  getSpace(getSpaceNumber(*move.to)).bytesWritten += value.bytesWritten;
  return Error::success();
}

Error ReportBuilder::addTouched(ValueReport &value) {
  value.touchedBytes = value.physicalBytes;
  for (const ShapePtr &operand : value.value.operands) {
    Expected<const ShapeSize *> size = getSizeOf(operand);
    if (!size)
      return size.takeError();
    value.touchedBytes = addSaturated(value.touchedBytes, (*size)->bytes);
  }
  return Error::success();
}

Error ReportBuilder::addValue(ReportValue value) {
  ValueReport &result = report.values.emplace_back();
  result.value = std::move(value);
  Expected<const ShapeSize *> size = getSizeOf(result.value.shape);
  if (!size)
    return size.takeError();
  result.physicalShape = (*size)->physicalShape;
  result.logicalBytes = (*size)->logicalBytes;
  result.physicalBytes = (*size)->bytes;
  result.paddingBytes = (*size)->paddingBytes;
  result.expansion = (*size)->expansion();
  if (result.value.cycles > 0)
    if (Error error = addTouched(result))
      return error;
  return result.value.move ? addMove(result) : Error::success();
}

Error ReportBuilder::addBuffers() {
  for (const ReportTimeline &timeline : input.timelines) {
    std::vector<int64_t> &bytes = bufferBytes.emplace_back();
    for (const ReportBuffer &buffer : timeline.buffers) {
      bytes.push_back(0);
      if (!buffer.shape->isArray())
        continue;
      Expected<const ShapeSize *> measured = getSizeOf(buffer.shape);
      if (!measured)
        return measured.takeError();
      const ShapeSize *size = *measured;
      bytes.back() = size->bytes;
      if (buffer.isCallers)
        continue;
      ValueReport &value = report.values[buffer.value];
      value.allocatedBytes += size->bytes;
      value.wastedBytes += size->paddingBytes;
      report.allocatedBytes += size->bytes;
      report.logicalBytes += size->logicalBytes;
      report.paddingBytes += size->paddingBytes;
      SpaceReport &space = getSpace(getSpaceNumber(*buffer.shape));
      space.allocatedBytes += size->bytes;
      space.paddingBytes += size->paddingBytes;
    }
  }
  return Error::success();
}

/// The buffers of a timeline, each from its first step to its last.
static LiveBytes
sumBuffers(const ReportTimeline &timeline, llvm::ArrayRef<int64_t> bytes,
           llvm::function_ref<bool(const ReportBuffer &)> counts) {
  LiveBytes live;
  // Differences between steps, then their sums.
  for (auto [buffer, size] : llvm::zip_equal(timeline.buffers, bytes)) {
    if (!counts(buffer))
      continue;
    std::vector<int64_t> &steps = live[getSpaceNumber(*buffer.shape)];
    steps.resize(timeline.steps.size() + 1);
    steps[buffer.begin] += size;
    steps[buffer.end + 1] -= size;
  }
  for (auto &[space, steps] : live) {
    std::partial_sum(steps.begin(), steps.end(), steps.begin());
    steps.pop_back();
  }
  return live;
}

/// Live bytes of the program's steps, over the buffers that count. What runs
/// within a step comes on top; of several, one at a time.
LiveBytes ReportBuilder::countLive(
    llvm::function_ref<bool(const ReportBuffer &)> counts) const {
  LiveBytes live;
  // The most at one step of each timeline, children first.
  std::vector<std::map<int64_t, int64_t>> peaks;
  for (auto [timeline, bytes] : llvm::zip_equal(input.timelines, bufferBytes)) {
    live = sumBuffers(timeline, bytes, counts);
    std::map<std::pair<int64_t, int64_t>, int64_t> extra;
    for (auto [step, child] : timeline.children)
      for (auto [space, most] : peaks[child]) {
        int64_t &inside = extra[{space, step}];
        inside = std::max(inside, most);
      }
    for (auto [position, most] : extra) {
      std::vector<int64_t> &steps = live[position.first];
      steps.resize(timeline.steps.size());
      steps[position.second] += most;
    }
    std::map<int64_t, int64_t> &peak = peaks.emplace_back();
    for (const auto &[space, steps] : live)
      if (!steps.empty())
        peak[space] = *llvm::max_element(steps);
  }
  return live;
}

void ReportBuilder::addLiveBytes() {
  auto all = [](const ReportBuffer &) { return true; };
  for (auto &[space, steps] : countLive(all))
    getSpace(space).liveBytes = std::move(steps);
}

/// Arguments and results are there all the time, each rounded up, and a table
/// where the result is a tuple.
void ReportBuilder::addProgramBytes() {
  placeTemporaries(input, bufferBytes, report);
  report.temporaryBytes = report.temporaries.bytes;
  if (auto main = input.assigned.find(0); main != input.assigned.end())
    report.assignedBytes = main->second.all;
  if (report.moments == 0) {
    LiveBytes live = countLive(
        [](const ReportBuffer &buffer) { return !buffer.isBoundary; });
    if (auto main = live.find(0); main != live.end() && !main->second.empty())
      report.temporaryBytes = *llvm::max_element(main->second);
  }
  report.programBytes = report.temporaryBytes;
  if (input.result->isTuple())
    report.programBytes = addSaturated(report.programBytes, kGranule);
  for (auto [buffer, bytes] :
       llvm::zip_equal(input.timelines.back().buffers, bufferBytes.back()))
    if (buffer.isBoundary && getSpaceNumber(*buffer.shape) == 0)
      report.programBytes =
          addSaturated(report.programBytes,
                       static_cast<int64_t>(llvm::alignTo(bytes, kGranule)));
}

/// Cycles of each timeline, children first, and those of the program's steps.
void ReportBuilder::addCycles() {
  std::vector<int64_t> totals;
  for (const ReportTimeline &timeline : input.timelines) {
    std::vector<int64_t> cycles(timeline.steps.size(), 0);
    for (auto [step, value] : llvm::enumerate(timeline.stepValues))
      if (step < cycles.size())
        cycles[step] = report.values[value].value.cycles;
    for (auto [step, child] : timeline.children)
      if (step < static_cast<int64_t>(cycles.size()))
        cycles[step] = addSaturated(cycles[step], totals[child]);
    totals.push_back(std::accumulate(cycles.begin(), cycles.end(), int64_t(0),
                                     addSaturated));
    report.stepCycles = std::move(cycles);
  }
  if (totals.back() == 0)
    report.stepCycles.clear();
}

/// What steps have beside live values.
void ReportBuilder::addScoped() {
  const ReportTimeline &program = input.timelines.back();
  for (auto [step, value] : llvm::enumerate(program.stepValues))
    for (auto [number, bytes] : report.values[value].value.scopedMemory) {
      SpaceReport &space = getSpace(number);
      space.scopedBytes.resize(program.steps.size());
      space.scopedBytes[step] = addSaturated(space.scopedBytes[step], bytes);
    }
  for (auto &[number, space] : spaces)
    for (auto [step, scoped] : llvm::enumerate(space.scopedBytes)) {
      int64_t live = step < space.liveBytes.size() ? space.liveBytes[step] : 0;
      int64_t bytes = addSaturated(live, scoped);
      if (bytes > space.scopedPeakBytes) {
        space.scopedPeakBytes = bytes;
        space.scopedPeakStep = static_cast<int64_t>(step);
      }
    }
}

/// The first step with the most live bytes, and what is live there.
void ReportBuilder::addPeak(SpaceReport &space) {
  if (space.liveBytes.empty())
    return;
  auto most = llvm::max_element(space.liveBytes);
  space.peakBytes = *most;
  space.peakStep = most - space.liveBytes.begin();
  std::map<size_t, int64_t> live;
  for (auto [buffer, bytes] :
       llvm::zip_equal(input.timelines.back().buffers, bufferBytes.back()))
    if (getSpaceNumber(*buffer.shape) == space.space && bytes > 0 &&
        buffer.begin <= space.peakStep && space.peakStep <= buffer.end)
      live[buffer.value] += bytes;
  space.liveAtPeak.assign(live.begin(), live.end());
  llvm::sort(space.liveAtPeak, [](auto lhs, auto rhs) {
    return std::pair(-lhs.second, lhs.first) <
           std::pair(-rhs.second, rhs.first);
  });
}

/// What fixes the layout of the value.
static std::string getPin(const ReportValue &value) {
  return llvm::StringRef(value.pinnedBy).ends_with(" %" + value.name)
             ? "this " + value.operation
             : value.pinnedBy;
}

/// Worst first; ties in the order of the values. Suggestions are looked for
/// where there is something to gain, of values without neighbours once for each
/// shape.
void ReportBuilder::rank() {
  auto order = [&](std::vector<size_t> &list, auto measure) {
    for (size_t i = 0; i < report.values.size(); ++i)
      if (measure(report.values[i]) > 0)
        list.push_back(i);
    llvm::sort(list, [&](size_t lhs, size_t rhs) {
      return std::pair(-measure(report.values[lhs]), lhs) <
             std::pair(-measure(report.values[rhs]), rhs);
    });
  };
  order(report.byWaste, [](const ValueReport &v) { return v.wastedBytes; });
  order(report.byMove, [](const ValueReport &v) { return v.movedBytes(); });
  std::map<std::string, std::optional<Suggestion>> known;
  for (size_t i : report.byWaste) {
    ValueReport &value = report.values[i];
    const Shape &shape = *value.value.shape;
    if (!shape.isArray())
      continue;
    if (!value.value.neighbours.empty()) {
      value.suggestion = suggestLayout(shape, value.value.neighbours);
    } else {
      auto [entry, isNew] = known.try_emplace(shape.toString());
      if (isNew)
        entry->second = suggestLayout(shape);
      value.suggestion = entry->second;
    }
    if (value.suggestion && !value.value.pinnedBy.empty())
      value.suggestion->text += "; " + getPin(value.value) +
                                " fixes the layout and has to change too";
  }
  for (size_t i : report.byMove)
    report.values[i].moveSuggestion = suggestMove(report.values[i]);
}

/// The table of a tuple result is the device's, wherever its arrays are.
Error ReportBuilder::addBoundary() {
  for (const ShapePtr &argument : input.arguments)
    if (Error error = addBoundaryBytes(*argument, report.argumentBytes,
                                       report.hostArgumentBytes))
      return error;
  if (input.result->isTuple())
    report.outputBytes = kGranule;
  return addBoundaryBytes(*input.result, report.outputBytes,
                          report.hostOutputBytes);
}

Expected<Report> ReportBuilder::build() {
  report.name = input.name;
  report.isScheduled = input.isScheduled;
  report.values.reserve(input.values.size());
  for (ReportValue &value : input.values)
    if (Error error = addValue(std::move(value)))
      return std::move(error);
  if (Error error = addBuffers())
    return std::move(error);
  if (Error error = addBoundary())
    return std::move(error);
  if (input.isScheduled && !input.timelines.empty()) {
    addLiveBytes();
    addProgramBytes();
    addCycles();
    addScoped();
    report.steps = std::move(input.timelines.back().steps);
  }
  for (auto &[number, space] : spaces) {
    space.space = number;
    addPeak(space);
    report.spaces.push_back(std::move(space));
  }
  rank();
  return std::move(report);
}

Expected<Report> tessera::makeReport(ReportInput input) {
  return ReportBuilder(std::move(input)).build();
}
