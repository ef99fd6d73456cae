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

/// Bytes that are written so that nothing else is in the caches.
static constexpr size_t kOtherBytes = size_t(128) << 20;

static std::unique_ptr<llvm::WritableMemoryBuffer> allocate(size_t bytes) {
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
      bytes, "", llvm::Align(RelayoutTarget::kPageBytes));
  if (!buffer)
    return nullptr;
  // As numpy asks for: misses of the TLB would hide what plans differ in.
  madvise(buffer->getBufferStart(), buffer->getBufferSize(), MADV_HUGEPAGE);
  // Pages that were never written are all one page of zeros.
  std::memset(buffer->getBufferStart(), 1, buffer->getBufferSize());
  return buffer;
}

static llvm::Expected<std::unique_ptr<llvm::WritableMemoryBuffer>>
allocate(const Shape &shape) {
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (!size)
    return size.takeError();
  if (auto buffer = allocate(size->bytes))
    return buffer;
  return unsupportedError("size of " + shape.toString(), "what fits in memory",
                          llvm::Twine(size->bytes) + " bytes");
}

llvm::Expected<Arrays> Arrays::allocate(const ArrayPart &source,
                                        const ArrayPart &destination,
                                        BufferState state) {
  Arrays arrays;
  arrays.isHot = state == BufferState::Hot;
  bool isCold = state == BufferState::Cold;
  bool isWhole = source.isWhole() && destination.isWhole();
  if (isCold && !isWhole) {
    arrays.other = ::allocate(kOtherBytes);
    if (!arrays.other)
      return unsupportedError("memory for cold boxes", "what fits in memory",
                              llvm::Twine(kOtherBytes) + " bytes");
  }
  // One pair has its code made warm, others are timed.
  size_t minPairs = arrays.other ? 2 : 1;
  size_t bytes = 0;
  do {
    auto &[from, to] = arrays.pairs.emplace_back();
    if (llvm::Error error = ::allocate(source.shape).moveInto(from))
      return std::move(error);
    if (llvm::Error error = ::allocate(destination.shape).moveInto(to))
      return std::move(error);
    bytes += from->getBufferSize() + to->getBufferSize() + kMinPairBytes;
  } while (arrays.pairs.size() < minPairs || (isCold && bytes < kRingBytes));
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

void Arrays::writeDestination() {
  auto &[from, to] = pairs.front();
  if (writer)
    (*writer)(from->getBufferStart(), to->getBufferStart());
  else
    std::memset(to->getBufferStart(), 1, to->getBufferSize());
}

double Arrays::timeColdBoxes(CompiledModule::Relayout *function) {
  // A large memset bypasses the caches.
  for (size_t i = 0; i < kOtherBytes; i += RelayoutTarget::kPageBytes)
    std::memset(other->getBufferStart() + i, 1, RelayoutTarget::kPageBytes);
  double once = std::max(timeCalls(function, 1), 1e-9);
  int64_t calls = std::clamp<int64_t>(kMinSeconds / once, 1, pairs.size() - 1);
  return timeCalls(function, calls) / calls;
}

double Arrays::time(CompiledModule::Relayout *function) {
  if (other)
    return timeColdBoxes(function);
  // The first call has the code and the arrays of another in the cache.
  double once = std::max(timeCalls(function, 1), 1e-9);
  int64_t calls = std::max<int64_t>(kMinSeconds / once, 1);
  if (!isHot)
    return timeCalls(function, calls) / calls;
  double seconds = 0;
  for (int64_t i = 0; i < calls; ++i) {
    writeDestination();
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
