//===- Race.cpp - Which code is fastest -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Race.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <sys/mman.h>

using namespace tessera;

/// The least time between two readings of the clock, which tells microseconds.
static constexpr double kMinSeconds = 200e-6;
/// Rounds of a measurement. What disturbs one round seldom disturbs all.
static constexpr int kFirstRounds = 3, kRounds = 8;
/// Bytes of buffers that take turns, beyond all caches, and what a pair of
/// empty ones counts as.
static constexpr size_t kRingBytes = size_t(512) << 20;
static constexpr size_t kMinPairBytes = 4 << 10;
/// What is this much slower than the fastest is given up at once.
static constexpr double kMuchSlower = 1.3;

static llvm::Expected<std::unique_ptr<llvm::WritableMemoryBuffer>>
allocate(const Shape &shape) {
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (!size)
    return size.takeError();
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
      size->bytes, "", llvm::Align(RelayoutTarget::kPageBytes));
  if (!buffer)
    return unsupportedError("size of " + shape.toString(),
                            "what fits in memory",
                            llvm::Twine(size->bytes) + " bytes");
  // As numpy asks for: misses of the TLB would hide what plans differ in.
  madvise(buffer->getBufferStart(), buffer->getBufferSize(), MADV_HUGEPAGE);
  // Pages that were never written are all one page of zeros.
  std::memset(buffer->getBufferStart(), 1, buffer->getBufferSize());
  return buffer;
}

llvm::Expected<Arrays> Arrays::allocate(const Shape &source,
                                        const Shape &destination,
                                        BufferState state) {
  Arrays arrays;
  arrays.isHot = state == BufferState::Hot;
  size_t bytes = 0;
  do {
    auto &[from, to] = arrays.pairs.emplace_back();
    if (llvm::Error error = ::allocate(source).moveInto(from))
      return std::move(error);
    if (llvm::Error error = ::allocate(destination).moveInto(to))
      return std::move(error);
    bytes += from->getBufferSize() + to->getBufferSize() + kMinPairBytes;
  } while (state == BufferState::Cold && bytes < kRingBytes);
  return std::move(arrays);
}

double Arrays::timeCalls(CompiledModule::Relayout *function, int64_t calls) {
  auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) {
    auto &[from, to] = pairs[next++ % pairs.size()];
    function(from->getBufferStart(), to->getBufferStart());
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - begin;
  return elapsed.count();
}

double Arrays::time(CompiledModule::Relayout *function) {
  // The first call has the code and the arrays of another in the cache.
  double once = std::max(timeCalls(function, 1), 1e-9);
  int64_t calls = std::max<int64_t>(kMinSeconds / once, 1);
  if (!isHot)
    return timeCalls(function, calls) / calls;
  double seconds = 0;
  for (int64_t i = 0; i < calls; ++i) {
    llvm::WritableMemoryBuffer &to = *pairs.front().second;
    std::memset(to.getBufferStart(), 1, to.getBufferSize());
    seconds += timeCalls(function, 1);
  }
  return seconds / calls;
}

std::vector<double> Arrays::race(llvm::ArrayRef<RelayoutFunction> functions) {
  std::vector<double> best(functions.size(), INFINITY);
  double slowest = INFINITY;
  for (int round = 0; round < kFirstRounds + kRounds; ++round) {
    if (round == kFirstRounds)
      slowest = kMuchSlower * *llvm::min_element(best);
    for (size_t i = 0; i < best.size(); ++i)
      if (i == 0 || round < kFirstRounds || best[i] <= slowest)
        best[i] = std::min(best[i], time(functions[i].getAddress()));
  }
  return best;
}
