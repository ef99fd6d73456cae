//===- Draft.cpp - A schedule in the making -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draft.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

using namespace tessera;

/// Gaps may take one part in so many of what is read from end to end.
static constexpr int64_t kMaxGap = 8;

void Draft::takeRun(bool bothSides) {
  PlanLoop *it = llvm::find_if(loops, [&](const PlanLoop &loop) {
    return loop.dstStride == 1 && (!bothSides || loop.srcStride == 1);
  });
  if (it == loops.end())
    return;
  runElements = it->count;
  loops.erase(it);
}

bool Draft::takePermutedRun(int64_t maxBytes) {
  auto isRun = [&](Chain chain) {
    llvm::sort(chain, [](const PlanLoop &a, const PlanLoop &b) {
      return a.dstStride < b.dstStride;
    });
    int64_t next = runElements;
    for (const PlanLoop &loop : chain) {
      if (loop.dstStride != next)
        return false;
      next *= loop.count;
    }
    return true;
  };
  Chain taken;
  int64_t size = runElements;
  for (const PlanLoop &loop : findChain(/*inDestination=*/false, {})) {
    taken.push_back(loop);
    size *= loop.count;
    if (size * bytes > maxBytes)
      return false;
    if (isRun(taken))
      break;
  }
  if (!isRun(taken) || !llvm::isPowerOf2_64(size))
    return false;
  if (runElements > 1)
    within.push_back({runElements, 1, 1});
  within.append(taken.begin(), taken.end());
  llvm::erase_if(loops,
                 [&](const PlanLoop &loop) { return hasSame(taken, loop); });
  runElements = size;
  return true;
}

Chain Draft::findChain(bool inDestination,
                       llvm::ArrayRef<PlanLoop> taken) const {
  Chain chain;
  int64_t next = runElements * (inDestination ? packedRun() : 1);
  while (true) {
    const PlanLoop *it = llvm::find_if(loops, [&](const PlanLoop &loop) {
      return loop.getStride(/*inSource=*/!inDestination) == next;
    });
    if (it == loops.end() || hasSame(taken, *it))
      return chain;
    chain.push_back(*it);
    next *= it->count;
  }
}

std::pair<Chain, Chain> Draft::findRowsAndColumns(int64_t columnBytes) const {
  Chain source = findChain(/*inDestination=*/false, {});
  Chain first(llvm::ArrayRef<PlanLoop>(source).take_front(1));
  Chain rows = findChain(/*inDestination=*/true, first);
  Chain columns = findChain(/*inDestination=*/false, rows);
  if (columns.size() == source.size())
    return {rows, columns};
  Chain own(rows.begin(), findSame(rows, source[columns.size()]));
  // What rows alone, and columns alone, have of what a block is to take.
  constexpr int64_t kRowBytes = RelayoutTarget::kLineBytes;
  int64_t high = std::min(countSteps(own) * runBytes(), kRowBytes);
  int64_t wide = std::min(countSteps(columns) * runBytes(), columnBytes);
  if (high * columnBytes <= wide * kRowBytes)
    return {rows, columns};
  return {own, findChain(/*inDestination=*/false, own)};
}

void Draft::takeBlock(llvm::ArrayRef<PlanLoop> chain, int64_t wanted,
                      int64_t most, Role role) {
  auto &inner = role == Role::DstContiguous ? rows : columns;
  int64_t runs = 1;
  for (const PlanLoop &loop : chain) {
    PlanLoop *it = findSame(loops, loop);
    if (runs * loop.count <= most) {
      inner.push_back(loop);
      inner.back().role = role;
      runs *= loop.count;
      loops.erase(it);
      continue;
    }
    int64_t step = std::max<int64_t>(wanted / runs, 1);
    if (step > 1 || runs == 1) {
      it->step = step;
      it->role = role;
    }
    return;
  }
}

void Draft::orderLoops(bool bySource) {
  llvm::sort(loops, [&](const PlanLoop &a, const PlanLoop &b) {
    auto src = std::pair(a.srcStride * a.step, b.srcStride * b.step);
    auto dst = std::pair(a.dstStride * a.step, b.dstStride * b.step);
    auto [first, second] = bySource ? std::pair(src, dst) : std::pair(dst, src);
    return first.first != first.second ? first.first > first.second
                                       : second.first > second.second;
  });
}

int64_t Draft::countRowsSideBySide() const {
  Chain outer;
  llvm::copy_if(loops, std::back_inserter(outer), [](const PlanLoop &loop) {
    return loop.role == PlanLoop::Role::Outer;
  });
  auto *along = llvm::min_element(outer, [](const auto &a, const auto &b) {
    return a.srcStride < b.srcStride;
  });
  int64_t count = blockRows();
  for (const PlanLoop &loop : outer)
    if (loop.dstStride < along->dstStride)
      count *= loop.count;
  return count;
}

size_t Draft::findPanels() const {
  const PlanLoop *panels = findLoop(Role::DstContiguous);
  return panels ? panels - loops.begin() : loops.size();
}

int64_t Draft::countCarried(size_t depth) const {
  int64_t size = blockColumns() * RelayoutTarget::kLineBytes;
  for (size_t i = depth + 1; i < loops.size(); ++i)
    size *= loops[i].numBlocks();
  return size;
}

bool Draft::isReadInOrder(int64_t partBytes) const {
  int64_t length = runElements;
  for (const PlanLoop &loop : llvm::reverse(loops)) {
    int64_t gap = loop.srcStride - length;
    if (gap < 0 || gap > length / kMaxGap)
      return length * bytes >= partBytes;
    length = loop.srcStride * loop.count;
  }
  return true;
}

bool Draft::isDensePanel(const PlanLoop &row, const Chain &columns) const {
  int64_t width = countSteps(columns) * runElements;
  int64_t gap = row.srcStride - width;
  return gap >= 0 && gap <= width / kMaxGap;
}
