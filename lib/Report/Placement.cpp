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

  /// The number of moments; 0 where there are too many.
  int64_t countMoments();

  /// When each temporary is there, `add`ed with its buffer and without an
  /// offset. There are moments.
  using Add = llvm::function_ref<void(const ReportBuffer &, ReportPlace)>;
  void flatten(Add add);

private:
  /// A timeline that runs from `moment` on.
  struct Run {
    size_t timeline;
    int64_t moment;
  };

  void addRun(const Run &run, Add add);

  const ReportInput &input;
  llvm::ArrayRef<std::vector<int64_t>> bytes;
  /// Of each timeline, with what runs within it.
  std::vector<int64_t> moments;
  std::vector<Run> runs;
};
} // namespace

/// More are not followed.
static constexpr int64_t kMaxMoments = int64_t(1) << 22;

/// Children stand before their parents.
int64_t Flattener::countMoments() {
  for (const ReportTimeline &timeline : input.timelines) {
    auto total = static_cast<int64_t>(timeline.steps.size());
    for (auto [step, child] : timeline.children)
      total = std::min(total + moments[child], kMaxMoments + 1);
    moments.push_back(total);
  }
  return moments.back() <= kMaxMoments ? moments.back() : 0;
}

void Flattener::addRun(const Run &run, Add add) {
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
    if (size > 0 && !buffer.isBoundary)
      add(buffer,
          {buffer.value, begins[buffer.begin], ends[buffer.end], 0, size});
  }
}

void Flattener::flatten(Add add) {
  runs.push_back({input.timelines.size() - 1, 0});
  while (!runs.empty()) {
    Run run = runs.back();
    runs.pop_back();
    addRun(run, add);
  }
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

/// The offset behind it.
static int64_t getEnd(const ReportPlace &place) {
  int64_t end = 0;
  return llvm::AddOverflow(place.offset, place.bytes, end) ? INT64_MAX : end;
}

namespace {
/// How much of a range of offsets is taken, where places may overlap. A tree:
/// node 1 is the whole, nodes 2i and 2i + 1 are the halves of node i.
class Coverage {
public:
  explicit Coverage(const std::vector<ReportPlace> &places);

  void take(const ReportPlace &place) { change(place, 1); }
  void giveBack(const ReportPlace &place) { change(place, -1); }
  int64_t getTaken() const { return taken[1]; }

private:
  void change(const ReportPlace &place, int by);
  void change(size_t node, size_t begin, size_t end, int by);

  /// Where places begin and end.
  std::vector<int64_t> cuts;
  /// How often a node is taken as a whole, and what is taken of it, in bytes.
  std::vector<int> counts;
  std::vector<int64_t> taken;
  /// The cuts that are changed.
  size_t from = 0, to = 0;
};
} // namespace

Coverage::Coverage(const std::vector<ReportPlace> &places) {
  for (const ReportPlace &place : places) {
    cuts.push_back(place.offset);
    cuts.push_back(getEnd(place));
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  size_t numNodes = 4 * std::max<size_t>(cuts.size(), 1);
  counts.resize(numNodes);
  taken.resize(numNodes);
}

void Coverage::change(const ReportPlace &place, int by) {
  from = llvm::lower_bound(cuts, place.offset) - cuts.begin();
  to = llvm::lower_bound(cuts, getEnd(place)) - cuts.begin();
  change(1, 0, cuts.size() - 1, by);
}

void Coverage::change(size_t node, size_t begin, size_t end, int by) {
  if (from >= end || to <= begin)
    return;
  if (from <= begin && end <= to) {
    counts[node] += by;
  } else {
    size_t middle = (begin + end) / 2;
    change(2 * node, begin, middle, by);
    change(2 * node + 1, middle, end, by);
  }
  bool isLeaf = begin + 1 == end;
  if (counts[node] > 0)
    taken[node] = cuts[end] - cuts[begin];
  else
    taken[node] = isLeaf ? 0 : taken[2 * node] + taken[2 * node + 1];
}

/// The most bytes that are taken at one moment; places stand as they begin.
static int64_t getMostAtOnce(const std::vector<ReportPlace> &places) {
  std::vector<const ReportPlace *> byEnd;
  byEnd.reserve(places.size());
  for (const ReportPlace &place : places)
    byEnd.push_back(&place);
  llvm::sort(byEnd, [](const ReportPlace *lhs, const ReportPlace *rhs) {
    return std::pair(lhs->end, lhs) < std::pair(rhs->end, rhs);
  });
  Coverage coverage(places);
  int64_t most = 0;
  size_t gone = 0;
  for (const ReportPlace &place : places) {
    for (; byEnd[gone]->end < place.begin; ++gone)
      coverage.giveBack(*byEnd[gone]);
    coverage.take(place);
    most = std::max(most, coverage.getTaken());
  }
  return most;
}

/// In the order in which they are placed.
static void sortPlaces(std::vector<ReportPlace> &places) {
  auto rank = [](const ReportPlace &place) {
    return std::tuple(place.begin, -place.bytes, place.value, place.end);
  };
  llvm::sort(places, [&](const ReportPlace &lhs, const ReportPlace &rhs) {
    return rank(lhs) < rank(rhs);
  });
}

/// Gives each its offset, and the whole its size.
static void choosePlaces(ReportMap &map) {
  Heap heap;
  // The last moment of what is there, and its number.
  using End = std::pair<int64_t, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (auto [number, place] : llvm::enumerate(map.places)) {
    for (; !ends.empty() && ends.top().first < place.begin; ends.pop()) {
      const ReportPlace &gone = map.places[ends.top().second];
      heap.giveBack(gone.offset, gone.bytes);
    }
    place.offset = heap.take(place.bytes);
    ends.push({place.end, number});
    map.bytes = std::max(map.bytes, getEnd(place));
  }
}

void tessera::placeTemporaries(const ReportInput &input,
                               llvm::ArrayRef<std::vector<int64_t>> bytes,
                               Report &report) {
  Flattener flattener(input, bytes);
  report.moments = flattener.countMoments();
  if (report.moments == 0)
    return;
  std::map<int64_t, ReportMap> assigned;
  flattener.flatten([&](const ReportBuffer &buffer, ReportPlace place) {
    int64_t space = buffer.shape->layoutOrDefault().memorySpace;
    if (space == 0)
      report.temporaries.places.push_back(place);
    if (!buffer.offset)
      return;
    place.offset = *buffer.offset;
    // The assignment may be of another module.
    auto sums = input.assigned.find(space);
    if (sums != input.assigned.end() && getEnd(place) <= sums->second.temporary)
      assigned[space].places.push_back(place);
  });
  sortPlaces(report.temporaries.places);
  choosePlaces(report.temporaries);
  report.temporaries.usedBytes = getMostAtOnce(report.temporaries.places);
  for (auto &[space, map] : assigned) {
    map.space = space;
    map.bytes = input.assigned.find(space)->second.temporary;
    sortPlaces(map.places);
    map.usedBytes = getMostAtOnce(map.places);
    report.assignedTemporaries.push_back(std::move(map));
  }
}
