//===- InterleaveGroups.cpp - Shuffles that interleave rows ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InterleaveGroups.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tessera;

llvm::SmallVector<int64_t, 8>
tessera::getSources(llvm::ArrayRef<RegisterRun> positions,
                    int64_t numRegisters) {
  llvm::SmallVector<int64_t, 8> sources;
  for (RegisterRun position : positions)
    if (position.reg < numRegisters &&
        !llvm::is_contained(sources, position.reg))
      sources.push_back(position.reg);
  return sources;
}

bool tessera::isRegister(llvm::ArrayRef<RegisterRun> positions) {
  return llvm::all_of(llvm::enumerate(positions), [&](auto entry) {
    RegisterRun position = entry.value();
    return position.reg == positions.front().reg &&
           position.run == static_cast<int64_t>(entry.index());
  });
}

InterleaveGroups::InterleaveGroups(int64_t numRows, int64_t pitch, int64_t size,
                                   int64_t zipped, int64_t widest)
    : zipped(zipped), numRows(numRows), pitch(pitch), size(size) {
  for (int64_t first = 0; first < numRows; first += widest) {
    while (widest > numRows - first)
      widest /= 2;
    groups.push_back({first, widest});
  }
}

const InterleaveGroups::Group &InterleaveGroups::findGroup(int64_t row) const {
  return *std::prev(
      llvm::upper_bound(groups, row, [](int64_t row, const Group &group) {
        return row < group.first;
      }));
}

RegisterRuns InterleaveGroups::getInterleaved(int64_t reg) const {
  RegisterRuns positions;
  for (int64_t at = reg * size; at < (reg + 1) * size; ++at) {
    int64_t column = at / pitch, row = at % pitch;
    if (row >= numRows) {
      positions.push_back({numRows, at % size});
      continue;
    }
    const Group &group = findGroup(row);
    int64_t run = column * group.width + row - group.first;
    int64_t part = run / zipped;
    positions.push_back({group.first + part % group.width,
                         part / group.width * zipped + run % zipped});
  }
  return positions;
}

RegisterRuns InterleaveGroups::getGroup(int64_t reg) const {
  RegisterRuns positions;
  const Group &group = findGroup(reg);
  for (int64_t i = 0; i < size; ++i) {
    int64_t part = i / zipped * group.width + reg - group.first;
    int64_t run = part * zipped + i % zipped;
    int64_t column = run / group.width, row = group.first + run % group.width;
    int64_t at = column * pitch + row;
    positions.push_back({at / size, at % size});
  }
  return positions;
}

int64_t InterleaveGroups::countShuffles(bool isInterleave) const {
  int64_t count = 0;
  for (Group group : groups)
    count += group.width * llvm::Log2_64(group.width);
  int64_t numRegisters = isInterleave ? pitch : numRows;
  for (int64_t reg = 0; reg < numRegisters; ++reg) {
    RegisterRuns positions = isInterleave ? getInterleaved(reg) : getGroup(reg);
    if (!isRegister(positions))
      count +=
          std::max<int64_t>(getSources(positions, pitch + 1).size() - 1, 1);
  }
  return count;
}

InterleaveGroups InterleaveGroups::choose(int64_t numRows, int64_t pitch,
                                          int64_t size, int64_t lane,
                                          bool isInterleave) {
  bool isGroup = llvm::isPowerOf2_64(numRows) && numRows == pitch;
  if (isGroup && lane < size && numRows <= lane)
    return {numRows, pitch, size, lane, numRows};
  InterleaveGroups best(numRows, pitch, size, size, 1);
  int64_t least = best.countShuffles(isInterleave);
  for (int64_t widest = 2; widest <= std::min(size, numRows); widest *= 2) {
    InterleaveGroups groups(numRows, pitch, size, size, widest);
    int64_t count = groups.countShuffles(isInterleave);
    if (count >= least)
      continue;
    best = groups;
    least = count;
  }
  return best;
}
