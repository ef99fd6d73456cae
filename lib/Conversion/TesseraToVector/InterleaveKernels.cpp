//===- InterleaveKernels.cpp - Rows interleaved into a run ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register of each of n rows becomes n registers of the interleaved side, or
// the other way round, by the shuffles that InterleaveGroups.h counts.
//
// Columns may be further apart than they are wide. What lies between is a
// register of padding to gather from, or none at all.
//
//===----------------------------------------------------------------------===//

#include "InterleaveGroups.h"
#include "VectorKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <utility>

using namespace tessera;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

Value VectorKernels::gatherRuns(llvm::ArrayRef<Value> registers,
                                llvm::ArrayRef<RegisterRun> positions) {
  llvm::SmallVector<int64_t, 8> sources =
      getSources(positions, registers.size());
  Value result = registers[sources.front()];
  if (isRegister(positions))
    return result;
  int64_t size = positions.size();
  llvm::SmallVector<int64_t, 64> runs(size, -1);
  auto take = [&](int64_t source, int64_t shift) {
    for (auto [run, position] : llvm::zip_equal(runs, positions))
      if (position.reg == source)
        run = position.run + shift;
  };
  take(sources.front(), 0);
  if (sources.size() == 1)
    return shuffleRuns(result, result, runs);
  for (int64_t source : llvm::drop_begin(sources)) {
    take(source, size);
    result = shuffleRuns(result, registers[source], runs);
    for (auto [i, run] : llvm::enumerate(runs))
      run = run < 0 ? -1 : static_cast<int64_t>(i);
  }
  return result;
}

/// Chunks of `width` runs of two registers in turn: of the lower halves of
/// their lanes, or the upper ones.
static llvm::SmallVector<int64_t, 64>
getZippedRuns(int64_t size, int64_t lane, int64_t width, bool isUpper) {
  llvm::SmallVector<int64_t, 64> runs;
  for (int64_t i = 0; i < size; ++i) {
    int64_t chunk = (i % lane + (isUpper ? lane : 0)) / width;
    runs.push_back(i / lane * lane + chunk / 2 * width + i % width +
                   chunk % 2 * size);
  }
  return runs;
}

/// The runs of each lane, every n-th one behind another.
static llvm::SmallVector<int64_t, 64> getSortedRuns(int64_t size, int64_t lane,
                                                    int64_t n) {
  llvm::SmallVector<int64_t, 64> runs;
  int64_t width = lane / n;
  for (int64_t i = 0; i < size; ++i)
    runs.push_back(i / lane * lane + i % width * n + i % lane / width);
  return runs;
}

/// Every other chunk of `width` runs of two registers, read as one.
static llvm::SmallVector<int64_t, 64>
getUnzippedRuns(int64_t size, int64_t width, bool isOdd) {
  llvm::SmallVector<int64_t, 64> runs;
  for (int64_t i = 0; i < size; ++i)
    runs.push_back((i / width * 2 + (isOdd ? 1 : 0)) * width + i % width);
  return runs;
}

void VectorKernels::zipRows(llvm::MutableArrayRef<Value> rows, int64_t lane,
                            int64_t width) {
  size_t half = rows.size() / 2;
  if (half == 0)
    return;
  auto first = rows.take_front(half), second = rows.drop_front(half);
  zipRows(first, lane, width);
  zipRows(second, lane, width);
  int64_t size = countRuns(rows.front());
  llvm::SmallVector<Value, 16> zipped;
  for (auto [a, c] : llvm::zip_equal(first, second))
    for (bool isUpper : {false, true})
      zipped.push_back(
          shuffleRuns(a, c, getZippedRuns(size, lane, half * width, isUpper)));
  llvm::copy(zipped, rows.begin());
}

void VectorKernels::unzipRows(llvm::MutableArrayRef<Value> zipped) {
  size_t half = zipped.size() / 2;
  if (half == 0)
    return;
  int64_t size = countRuns(zipped.front());
  llvm::SmallVector<Value, 16> rows;
  for (bool isOdd : {false, true})
    for (size_t i = 0; i < half; ++i)
      rows.push_back(shuffleRuns(zipped[2 * i], zipped[2 * i + 1],
                                 getUnzippedRuns(size, half, isOdd)));
  llvm::copy(rows, zipped.begin());
  unzipRows(zipped.take_front(half));
  unzipRows(zipped.drop_front(half));
}

/// Within each lane, the runs of a row make a word, and words are transposed,
/// as zipping does.
void VectorKernels::unzipLanes(llvm::MutableArrayRef<Value> zipped,
                               int64_t lane) {
  int64_t size = countRuns(zipped.front()), numRows = zipped.size();
  if (numRows < lane)
    for (Value &vector : zipped)
      vector = shuffleRuns(vector, vector, getSortedRuns(size, lane, numRows));
  zipRows(zipped, lane, lane / numRows);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

int64_t VectorKernels::interleavedRuns(int64_t length) const {
  int64_t size = vectorBytes / runBytes();
  while (size > length && (size > laneRuns() || !packedBytes.empty()))
    size /= 2;
  return size;
}

Value VectorKernels::fillRegister(Value value, int64_t count) {
  Value vector =
      vector::BroadcastOp::create(b, getMemoryType(count * runElements), value);
  return recast(vector, getWorkType(count * runElements));
}

void VectorKernels::storeRuns(Value vector, Position position,
                              llvm::ArrayRef<bool> isRun) {
  vector = recast(vector, getMemoryType(countRuns(vector) * runElements));
  llvm::SmallVector<bool, 64> bits;
  for (bool taken : isRun)
    bits.append(runElements, taken);
  Value mask = createMask(bits);
  vector::MaskedStoreOp::create(b, position.memref,
                                ValueRange{getIndex(position)}, mask, vector,
                                llvm::Align(1));
}

/// Stores a register of the interleaved side; what is no run of a row lies
/// between columns.
void VectorKernels::storeBetween(Value vector, Position position,
                                 InterleaveGap gap,
                                 llvm::ArrayRef<bool> isRun) {
  if (gap.filler || !llvm::is_contained(isRun, false))
    return store(vector, position);
  if (hasMasks())
    return storeRuns(vector, position, isRun);
  // Padding gets back what it holds: it belongs to no other element, and to no
  // other thread, which has columns of its own.
  llvm::SmallVector<int64_t, 64> runs;
  int64_t size = isRun.size();
  for (auto [i, taken] : llvm::enumerate(isRun))
    runs.push_back(static_cast<int64_t>(i) + (taken ? 0 : size));
  store(shuffleRuns(vector, load(position, size * runElements), runs),
        position);
}

/// Stores the runs of a register from number `first` on, and touches no line
/// that ends before: a store touches lines where its mask is false, too.
void VectorKernels::storeEnd(Value vector, Position position, int64_t first) {
  int64_t size = countRuns(vector);
  if (!hasMasks())
    return storePart(vector, position, first * runElements, size * runElements);
  llvm::SmallVector<bool, 64> isRun;
  for (int64_t i = first; i < size + first; ++i)
    isRun.push_back(i < size);
  auto runs = llvm::to_vector(llvm::seq(first, first + size));
  storeRuns(shuffleRuns(vector, vector, runs), position + first * runElements,
            isRun);
}

/// Packed bytes are rows too: those of the first position of all rows before
/// those of the second.
void VectorKernels::interleave(Move move, llvm::ArrayRef<int64_t> rows,
                               int64_t numColumns, InterleaveGap gap,
                               bool isNontemporal) {
  int64_t numRows = rows.size() * std::max<size_t>(packedBytes.size(), 1);
  int64_t size = interleavedRuns(numColumns), pitch = numRows + gap.runs;
  InterleaveGroups groups = InterleaveGroups::choose(
      numRows, pitch, size, zippedRuns(size), /*isInterleave=*/true);
  int64_t numWritten = 0;
  for (int64_t column : getWindows(numColumns, size)) {
    llvm::SmallVector<Value, 16> registers;
    forEachPackedByte([&](int64_t) {
      for (int64_t row : rows)
        registers.push_back(loadPacked(move.from + (row + column * runElements),
                                       size * runElements));
    });
    for (InterleaveGroups::Group group : groups.groups)
      zipRows(llvm::MutableArrayRef<Value>(registers).slice(group.first,
                                                            group.width),
              groups.zipped, /*width=*/1);
    if (gap.filler)
      registers.push_back(fillRegister(gap.filler, size));
    int64_t begin = column * pitch;
    bool isAligned = begin % size == 0 && size * runBytes() == vectorBytes;
    // What has bypassed the cache is not written again: it would be read back
    // from memory.
    int64_t firstRegister = std::max<int64_t>(numWritten - begin, 0) / size;
    numWritten = begin + pitch * size;
    for (int64_t i = firstRegister; i < pitch; ++i) {
      RegisterRuns positions = groups.getInterleaved(i);
      // Narrow registers may have room for nothing but what stays as it is.
      int64_t numSources = registers.size();
      auto isKept = [&](RegisterRun from) { return from.reg >= numSources; };
      if (llvm::all_of(positions, isKept))
        continue;
      Value vector = gatherRuns(registers, positions);
      Position position = move.to + (begin + i * size) * runElements;
      if (isNontemporal && isAligned) {
        store(vector, position, /*isNontemporal=*/true);
        continue;
      }
      llvm::SmallVector<bool, 64> isRun;
      for (RegisterRun from : positions)
        isRun.push_back(from.reg < numRows);
      storeBetween(vector, position, gap, isRun);
    }
  }
}

/// A lane of a register is loaded to its place, which takes no shuffle.
Value VectorKernels::loadLanes(Position src,
                               llvm::ArrayRef<RegisterRun> positions,
                               int64_t lane) {
  Value result;
  int64_t size = positions.size();
  for (int64_t i = 0; i < size; i += lane) {
    auto [reg, run] = positions[i];
    Value loaded =
        load(src + (reg * size + run) * runElements, lane * runElements);
    result = result ? concat(result, loaded) : loaded;
  }
  return result;
}

llvm::SmallVector<Value, 16> VectorKernels::loadStrands(Position src,
                                                        int64_t numStrands,
                                                        int64_t pitch,
                                                        int64_t size) {
  // Strands are here what rows are where they are interleaved. No register ends
  // behind the last run, however little lies there.
  int64_t count = pitch * (size - 1) + numStrands;
  auto getBegin = [&](int64_t reg) {
    return std::min(reg * size, count - size);
  };
  InterleaveGroups groups = InterleaveGroups::choose(
      numStrands, pitch, size, zippedRuns(size), /*isInterleave=*/false);
  llvm::SmallVector<Value, 16> registers, strands;
  for (int64_t i = 0; i < pitch; ++i)
    registers.push_back(
        load(src + getBegin(i) * runElements, size * runElements));
  for (int64_t i = 0; i < numStrands; ++i) {
    RegisterRuns positions = groups.getGroup(i);
    if (groups.zipped < size) {
      strands.push_back(loadLanes(src, positions, groups.zipped));
      continue;
    }
    for (RegisterRun &position : positions)
      position.run += position.reg * size - getBegin(position.reg);
    strands.push_back(gatherRuns(registers, positions));
  }
  for (InterleaveGroups::Group group : groups.groups) {
    auto zipped =
        llvm::MutableArrayRef<Value>(strands).slice(group.first, group.width);
    if (groups.zipped < size)
      unzipLanes(zipped, groups.zipped);
    else
      unzipRows(zipped);
  }
  return strands;
}

/// Parts of packed bytes are strands as columns are: the first parts of all
/// columns before the second ones. Registers are stored in the order of their
/// positions within a line: a processor writes what waits for the rest of a
/// line part by part.
void VectorKernels::deinterleave(const Block &block, int64_t pitch,
                                 bool isNontemporal) {
  int64_t numRows = block.rows.size();
  int64_t size = interleavedRuns(numRows),
          line = RelayoutTarget::kLineBytes / runBytes();
  llvm::SmallVector<int64_t, 8> windows = getWindows(numRows, size);
  bool fillsLines = isNontemporal && numRows % line == 0;
  size_t inLine = fillsLines ? std::max<int64_t>(line / size, 1) : 1;
  for (llvm::ArrayRef<int64_t> left = windows; !left.empty();
       left = left.drop_front(inLine)) {
    llvm::SmallVector<std::pair<Value, Position>, 32> stores;
    for (int64_t row : left.take_front(inLine))
      loadColumns(block.from + row * pitch * runElements, pitch, size,
                  block.columns, [&](Value value, int64_t offset) {
                    stores.push_back(
                        {value, block.to + (offset + row * runElements)});
                  });
    // What has bypassed the cache is not written again: it would be read back
    // from memory.
    int64_t written = isNontemporal ? (size - left.front() % size) % size : 0;
    bool isAligned = size * runBytes() == vectorBytes;
    size_t count = stores.size() / inLine;
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; k < inLine; ++k) {
        auto [value, position] = stores[k * count + i];
        if (written)
          storeEnd(value, position, written);
        else
          store(value, position, isNontemporal && isAligned);
      }
  }
}

void VectorKernels::loadColumns(
    Position src, int64_t pitch, int64_t size, llvm::ArrayRef<int64_t> columns,
    llvm::function_ref<void(Value value, int64_t offset)> sink) {
  int64_t numColumns = columns.size();
  int64_t numParts = packedBytes.empty() ? 1 : packedBytes.front().parts.size();
  llvm::SmallDenseMap<int64_t, llvm::SmallVector<Value, 16>, 2> loaded;
  forEachPackedByte([&](int64_t dstOffset) {
    int64_t first = current ? current->parts.front().srcOffset : 0;
    auto &strands = loaded[first];
    if (strands.empty())
      strands = loadStrands(src + first, numParts * numColumns, pitch, size);
    for (int64_t i = 0; i < numColumns; ++i)
      sink(packParts([&](int64_t offset) {
             return strands[(offset - first) / runElements + i];
           }),
           dstOffset + columns[i]);
  });
}
