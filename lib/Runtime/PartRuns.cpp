//===- PartRuns.cpp - The contiguous bytes of a part of an array ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartRuns.h"

#include "tessera/Conversion/TesseraToVector/StridedNests.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>
#include <queue>

using namespace tessera;

static constexpr size_t kMaxPartNests = 4096;
/// Runs that are listed, and elements that are looked at one by one.
static constexpr int64_t kMaxRuns = int64_t(1) << 24;
static constexpr int64_t kMaxListed = int64_t(1) << 20;

int64_t StridedRuns::numRuns() const {
  int64_t runs = 1;
  for (const RunLoop &loop : loops)
    runs *= loop.count;
  return runs;
}

//===----------------------------------------------------------------------===//
// Runs in the order of memory
//===----------------------------------------------------------------------===//

namespace {
/// The next run of a loop nest.
class RunCursor {
public:
  explicit RunCursor(const StridedRuns &runs)
      : runs(&runs), index(runs.loops.size()), run(runs.first) {}

  ByteRun get() const { return run; }

  /// False behind the last one.
  bool advance() {
    for (size_t i = index.size(); i-- > 0;) {
      const RunLoop &loop = runs->loops[i];
      run.offset += loop.stride;
      if (++index[i] < loop.count)
        return true;
      run.offset -= loop.count * loop.stride;
      index[i] = 0;
    }
    return false;
  }

  /// For a queue that has the first one in memory on top.
  bool operator<(const RunCursor &other) const {
    return run.offset > other.run.offset;
  }

private:
  const StridedRuns *runs;
  llvm::SmallVector<int64_t, 6> index;
  ByteRun run;
};

/// Joins runs that are neighbours, and passes on those that are whole.
class RunMerger {
public:
  explicit RunMerger(llvm::function_ref<bool(ByteRun)> visit) : visit(visit) {}

  /// False to stop, as of `visit`.
  bool add(ByteRun run) {
    if (run.offset == merged.end() && merged.bytes > 0) {
      merged.bytes += run.bytes;
      return true;
    }
    bool goesOn = finish();
    merged = run;
    return goesOn;
  }
  bool finish() { return merged.bytes == 0 || visit(merged); }

private:
  llvm::function_ref<bool(ByteRun)> visit;
  ByteRun merged;
};
} // namespace

/// Each nest is in order; the least of their next runs is the next of all.
static void visitRuns(llvm::ArrayRef<StridedRuns> nests,
                      llvm::function_ref<bool(ByteRun)> visit) {
  RunMerger merger(visit);
  std::priority_queue<RunCursor> queue;
  for (const StridedRuns &nest : nests)
    queue.emplace(nest);
  while (!queue.empty()) {
    RunCursor cursor = queue.top();
    queue.pop();
    do {
      if (!merger.add(cursor.get()))
        return;
      if (!cursor.advance())
        break;
      if (!queue.empty() && cursor < queue.top()) {
        queue.push(cursor);
        break;
      }
    } while (true);
  }
  merger.finish();
}

void PartRuns::visit(llvm::function_ref<bool(ByteRun)> visit) const {
  visitRuns(strided, visit);
}

//===----------------------------------------------------------------------===//
// The nests of a part
//===----------------------------------------------------------------------===//

/// A nest of elements. Its innermost loop is a run where it is contiguous.
static StridedRuns makeRuns(const StridedNest &nest) {
  StridedRuns runs = {{nest.dstOffset, 1}, {}};
  for (const PlanLoop &loop : nest.loops)
    runs.loops.push_back({loop.count, loop.dstStride});
  if (!runs.loops.empty() && runs.loops.back().stride == 1)
    runs.first.bytes = runs.loops.pop_back_val().count;
  return runs;
}

/// The number of elements; nothing where that is beyond int64.
static std::optional<int64_t> countElements(const ArrayPart &part) {
  std::optional<int64_t> count = 1;
  for (int64_t size : part.dimensions())
    count = count ? llvm::checkedMul(*count, size) : count;
  return count;
}

/// The positions of all elements, one by one, as runs without loops.
static std::vector<StridedRuns> listElements(const AxisList &axes,
                                             const ArrayPart &part) {
  llvm::SmallVector<int64_t, 4> sizes = part.dimensions();
  llvm::SmallVector<int64_t, 6> index(sizes.size());
  std::vector<int64_t> positions;
  for (int64_t i = 0, count = *countElements(part); i < count; ++i) {
    int64_t rest = i;
    for (size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim]) {
      Slice slice = part.isWhole() ? Slice{0, sizes[dim], 1} : part.box[dim];
      index[dim] = slice.begin + rest % sizes[dim] * slice.step;
    }
    positions.push_back(axes.linearIndex(index));
  }
  llvm::sort(positions);
  std::vector<StridedRuns> runs;
  auto keep = [&](ByteRun run) {
    runs.push_back({run, {}});
    return true;
  };
  RunMerger merger(keep);
  for (int64_t position : positions)
    merger.add({position, 1});
  merger.finish();
  return runs;
}

/// Runs of elements, in the order of where they begin.
static llvm::Expected<std::vector<StridedRuns>>
getNests(const AxisList &axes, const ArrayPart &part) {
  PlanSide side(axes, part.box);
  auto nests = splitElements(side, side, kMaxPartNests);
  if (!nests) {
    std::optional<int64_t> count = countElements(part);
    if (!count || *count > kMaxListed)
      return nests.takeError();
    llvm::consumeError(nests.takeError());
    return listElements(axes, part);
  }
  std::vector<StridedRuns> runs;
  for (const StridedNest &nest : *nests)
    runs.push_back(makeRuns(nest));
  llvm::sort(runs, [](const StridedRuns &a, const StridedRuns &b) {
    return a.first.offset < b.first.offset;
  });
  return runs;
}

/// Whether there are so few runs that they can be listed.
static llvm::Error checkCount(llvm::ArrayRef<StridedRuns> nests) {
  int64_t count = 0;
  for (const StridedRuns &nest : nests)
    count = llvm::checkedAdd(count, nest.numRuns()).value_or(kMaxRuns + 1);
  if (count <= kMaxRuns)
    return llvm::Error::success();
  return unsupportedError("runs of a part", "at most " + llvm::Twine(kMaxRuns),
                          llvm::Twine(count), "take a smaller part");
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Makes runs of elements runs of bytes; false where they are not whole ones.
static bool convertToBytes(StridedRuns &runs, int64_t bits) {
  bool isWhole = true;
  // The bits of all elements may be more than 64 bits count.
  auto convert = [&](int64_t &elements) {
    int64_t bitsOfRest = elements % 8 * bits;
    isWhole &= bitsOfRest % 8 == 0;
    elements = elements / 8 * bits + bitsOfRest / 8;
  };
  convert(runs.first.offset);
  convert(runs.first.bytes);
  for (RunLoop &loop : runs.loops)
    convert(loop.stride);
  return isWhole;
}

/// Runs of elements that share bytes, each on its own: what begins within a
/// byte in one nest may continue another.
static std::vector<StridedRuns> listRuns(llvm::ArrayRef<StridedRuns> nests) {
  std::vector<StridedRuns> runs;
  visitRuns(nests, [&](ByteRun run) {
    runs.push_back({run, {}});
    return true;
  });
  return runs;
}

static llvm::Expected<std::vector<StridedRuns>>
convertToBytes(llvm::ArrayRef<StridedRuns> nests, int64_t bits) {
  auto convertAll = [bits](std::vector<StridedRuns> &runs) {
    bool isWhole = true;
    for (StridedRuns &each : runs)
      isWhole &= convertToBytes(each, bits);
    return isWhole;
  };
  std::vector<StridedRuns> result = nests.vec();
  if (convertAll(result))
    return result;
  result = listRuns(nests);
  if (convertAll(result))
    return result;
  return unsupportedError("runs of a part", "whole bytes",
                          "elements of " + llvm::Twine(bits) +
                              " bits that share bytes with others",
                          "let the part begin and end at whole bytes");
}

llvm::Expected<PartRuns> PartRuns::get(const ArrayPart &part) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(part.shape);
  if (!axes)
    return axes.takeError();
  llvm::Expected<ShapeSize> size = getSize(part.shape);
  if (!size)
    return size.takeError();
  if (part.shape.layoutOrDefault().dynamicShapeMetadataPrefixBytes != 0)
    return unsupportedError("M of a part", "no metadata before the data",
                            part.shape.toString(), "drop M");
  PartRuns result;
  result.sizeOfArray = size->bytes;
  auto nests = getNests(*axes, part);
  if (!nests)
    return nests.takeError();
  if (llvm::Error error = checkCount(*nests))
    return std::move(error);
  auto inBytes =
      convertToBytes(*nests, getStorageBits(part.shape.elementType(),
                                            part.shape.layoutOrDefault()));
  if (!inBytes)
    return inBytes.takeError();
  result.strided = std::move(*inBytes);
  result.visit([&](ByteRun run) {
    ++result.count;
    result.sizeOfPart += run.bytes;
    result.multiple =
        std::gcd(std::gcd(result.multiple, run.offset), run.bytes);
    return true;
  });
  return result;
}
