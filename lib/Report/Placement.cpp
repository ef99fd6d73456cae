//===- Placement.cpp - Places of temporaries in memory --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps that run within a step come before it, so that all of the program's
// steps and of those that they run stand in one line of moments.
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <queue>
#include <set>

using namespace tessera;

//===----------------------------------------------------------------------===//
// Pieces of memory, moment by moment
//===----------------------------------------------------------------------===//

namespace {
/// Puts the timelines that run within steps in front of these.
class Flattener {
public:
  Flattener(const ReportInput &input,
            llvm::ArrayRef<std::vector<int64_t>> bytes)
      : input(input), bytes(bytes) {}

  /// Places without offsets, and the number of moments.
  std::vector<ReportPlace> flatten(int64_t &numMoments);

private:
  /// A timeline that runs from `moment` on.
  struct Run {
    size_t timeline;
    int64_t moment;
  };

  bool countMoments();
  void addRun(const Run &run);

  const ReportInput &input;
  llvm::ArrayRef<std::vector<int64_t>> bytes;
  /// Of each timeline, with what runs within it.
  std::vector<int64_t> moments;
  std::vector<Run> runs;
  std::vector<ReportPlace> places;
};
} // namespace

/// More are not followed.
static constexpr int64_t kMaxMoments = int64_t(1) << 22;

/// Children stand before their parents.
bool Flattener::countMoments() {
  for (const ReportTimeline &timeline : input.timelines) {
    auto total = static_cast<int64_t>(timeline.steps.size());
    for (auto [step, child] : timeline.children)
      total = std::min(total + moments[child], kMaxMoments + 1);
    moments.push_back(total);
  }
  return moments.back() <= kMaxMoments;
}

void Flattener::addRun(const Run &run) {
  const ReportTimeline &timeline = input.timelines[run.timeline];
  auto children = timeline.children;
  llvm::sort(children);
  // A step begins with what runs within it: its result may be made there.
  std::vector<int64_t> begins, ends;
  int64_t moment = run.moment;
  size_t child = 0;
  for (int64_t step = 0, n = timeline.steps.size(); step < n; ++step) {
    begins.push_back(moment);
    for (; child < children.size() && children[child].first == step; ++child) {
      runs.push_back({children[child].second, moment});
      moment += moments[children[child].second];
    }
    ends.push_back(moment++);
  }
  for (auto [buffer, size] :
       llvm::zip_equal(timeline.buffers, bytes[run.timeline])) {
    bool isInMain = buffer.shape->layoutOrDefault().memorySpace == 0;
    if (size == 0 || buffer.isBoundary || !isInMain)
      continue;
    places.push_back(
        {buffer.value, begins[buffer.begin], ends[buffer.end], 0, size});
  }
}

std::vector<ReportPlace> Flattener::flatten(int64_t &numMoments) {
  if (!countMoments())
    return {};
  numMoments = moments.back();
  runs.push_back({input.timelines.size() - 1, 0});
  while (!runs.empty()) {
    Run run = runs.back();
    runs.pop_back();
    addRun(run);
  }
  return std::move(places);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// Memory without an end, of which parts are taken and given back.
class Heap {
public:
  int64_t take(int64_t size);
  void giveBack(int64_t offset, int64_t size);

private:
  void addGap(int64_t offset, int64_t size) {
    gaps[offset] = size;
    bySize.insert({size, offset});
  }
  void removeGap(std::map<int64_t, int64_t>::iterator gap) {
    bySize.erase({gap->second, gap->first});
    gaps.erase(gap);
  }

  /// Sizes by offset; no two touch each other, and none touches the top.
  std::map<int64_t, int64_t> gaps;
  std::set<std::pair<int64_t, int64_t>> bySize;
  /// Where nothing is taken from on.
  int64_t top = 0;
};
} // namespace

/// From the smallest gap, the first of several, or from the top.
int64_t Heap::take(int64_t size) {
  auto best = bySize.lower_bound({size, 0});
  if (best == bySize.end()) {
    int64_t offset = top;
    top = llvm::SaturatingAdd<uint64_t>(top, size) > INT64_MAX ? INT64_MAX
                                                               : top + size;
    return offset;
  }
  auto [found, offset] = *best;
  removeGap(gaps.find(offset));
  if (found > size)
    addGap(offset + size, found - size);
  return offset;
}

void Heap::giveBack(int64_t offset, int64_t size) {
  auto next = gaps.lower_bound(offset);
  if (next != gaps.end() && next->first == offset + size) {
    size += next->second;
    removeGap(next);
  }
  auto previous = gaps.lower_bound(offset);
  if (previous != gaps.begin()) {
    --previous;
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      removeGap(previous);
    }
  }
  if (offset + size == top)
    top = offset;
  else
    addGap(offset, size);
}

void tessera::placeTemporaries(const ReportInput &input,
                               llvm::ArrayRef<std::vector<int64_t>> bytes,
                               Report &report) {
  std::vector<ReportPlace> &places = report.temporaries;
  places = Flattener(input, bytes).flatten(report.moments);
  auto rank = [](const ReportPlace &place) {
    return std::tuple(place.begin, -place.bytes, place.value, place.end);
  };
  llvm::sort(places, [&](const ReportPlace &lhs, const ReportPlace &rhs) {
    return rank(lhs) < rank(rhs);
  });
  Heap heap;
  // The last moment of what is there, and its number.
  using End = std::pair<int64_t, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (auto [number, place] : llvm::enumerate(places)) {
    for (; !ends.empty() && ends.top().first < place.begin; ends.pop()) {
      const ReportPlace &gone = places[ends.top().second];
      heap.giveBack(gone.offset, gone.bytes);
    }
    place.offset = heap.take(place.bytes);
    ends.push({place.end, number});
  }
}
