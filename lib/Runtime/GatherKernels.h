//===- GatherKernels.h - Runs put together byte by byte ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_GATHERKERNELS_H
#define TESSERA_LIB_RUNTIME_GATHERKERNELS_H

#include "CopyKernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tessera::runtime {
namespace {

/// Bytes of each lane that are picked by number, or zero for a number of
/// `GatherTable::kNone`. Registers have at most `kGatherBytes`; 0: there is no
/// such instruction.
#if defined(__AVX2__)
constexpr int kGatherBytes = 32;
TESSERA_INLINE Vector<8, 32> pickBytes(Vector<8, 32> from,
                                       Vector<8, 32> numbers) {
  return reinterpret_cast<Vector<8, 32>>(_mm256_shuffle_epi8(
      reinterpret_cast<__m256i>(from), reinterpret_cast<__m256i>(numbers)));
}
TESSERA_INLINE Bytes16 pickBytes(Bytes16 from, Bytes16 numbers) {
  return reinterpret_cast<Bytes16>(_mm_shuffle_epi8(
      reinterpret_cast<__m128i>(from), reinterpret_cast<__m128i>(numbers)));
}
#elif defined(__aarch64__)
constexpr int kGatherBytes = 16;
TESSERA_INLINE Bytes16 pickBytes(Bytes16 from, Bytes16 numbers) {
  return reinterpret_cast<Bytes16>(
      vqtbl1q_u8(reinterpret_cast<uint8x16_t>(from),
                 reinterpret_cast<uint8x16_t>(numbers)));
}
#else
constexpr int kGatherBytes = 0;
#endif

/// Blocks that are gathered register by register of all of them: what the table
/// says of one stays in registers.
constexpr int64_t kGatheredBlocks = 8;

/// Register number `r` of some blocks.
template <int Bytes, int Ways, bool IsShared>
TESSERA_INLINE void gatherRegister(const GatherTable &table, int64_t r,
                                   const char *src, char *dst,
                                   const Loop &blocks) {
  constexpr int kLanes = Bytes / kLaneBytes;
  constexpr int kPlaces = IsShared ? Ways : Ways * kLanes;
  using V = Vector<8, Bytes>;
  int64_t places[kPlaces];
  V numbers[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < kPlaces; ++k)
    places[k] = table.places[r * kPlaces + k];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    numbers[k] = load<V>(reinterpret_cast<const char *>(table.numbers) +
                         (r * Ways + k) * Bytes);
  for (int64_t i = 0; i < blocks.count; ++i) {
    V all = {};
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k) {
      Bytes16 lanes[kLanes];
      TESSERA_UNROLL
      for (int l = 0; l < kLanes; ++l)
        lanes[l] = load<Bytes16>(src + places[IsShared ? k : k * kLanes + l]);
      V window = load<V>(reinterpret_cast<const char *>(lanes));
      all |= pickBytes(window, numbers[k]);
    }
    store(dst, all);
    src += blocks.src;
    dst += blocks.dst;
  }
}

template <int Bytes, int Ways, bool IsShared>
__attribute__((noinline)) void gatherBlocks(const GatherTable &table,
                                            int64_t size, const char *src,
                                            char *dst, const Loop &blocks) {
  for (int64_t r = 0, at = 0; at < size; ++r, at += Bytes)
    gatherRegister<Bytes, Ways, IsShared>(
        table, r, src, dst + least(at, size - Bytes), blocks);
}

using GatherBlocks = void(const GatherTable &table, int64_t size,
                          const char *src, char *dst, const Loop &blocks);

template <int Bytes, bool IsShared, int Ways = 1>
GatherBlocks *chooseGatherBlocks(int64_t ways) {
  if (ways == Ways)
    return gatherBlocks<Bytes, Ways, IsShared>;
  if constexpr (Ways < (IsShared ? kMostGatherWays : kMostSeparateWays))
    return chooseGatherBlocks<Bytes, IsShared, Ways + 1>(ways);
  return nullptr;
}

GatherBlocks *chooseGatherBlocks(const Job &job) {
  if constexpr (kGatherBytes > kLaneBytes)
    if (job.runBytes >= kGatherBytes)
      return job.gather.isShared
                 ? chooseGatherBlocks<kGatherBytes, true>(job.gather.ways)
                 : chooseGatherBlocks<kGatherBytes, false>(job.gather.ways);
  if constexpr (kGatherBytes > 0)
    return chooseGatherBlocks<kLaneBytes, true>(job.gather.ways);
  return nullptr;
}

/// Calls `move(src, dst, blocks)` with some blocks at a time.
template <typename Move>
TESSERA_INLINE void forBlocks(const Job &job, const char *src, char *dst,
                              const Move &move) {
  constexpr Loop kOnce = {1, 0, 0};
  bool hasLoop = job.numLoops > 0;
  const Loop all = hasLoop ? job.loops[job.numLoops - 1] : kOnce;
  walk(job.loops, job.numLoops - hasLoop, src, dst,
       [=](const char *src, char *dst) {
         for (int64_t i = 0; i < all.count; i += kGatheredBlocks)
           move(src + i * all.src, dst + i * all.dst,
                Loop{least(kGatheredBlocks, all.count - i), all.src, all.dst});
       });
}

/// Blocks go through a buffer, so that lines are written from end to end.
void streamGathered(const Job &job, const char *src, char *dst) {
  GatherBlocks *const gather = chooseGatherBlocks(job);
  const GatherTable table = job.gather;
  int64_t size = job.runBytes;
  forBlocks(job, src, dst, [=](const char *src, char *dst, Loop blocks) {
    alignas(kLineBytes) char buffer[kGatheredBlocks * kMostGatheredBytes];
    gather(table, size, src, buffer, {blocks.count, blocks.src, size});
    if (blocks.dst == size)
      return streamRun(buffer, dst, blocks.count * size);
    for (int64_t i = 0; i < blocks.count; ++i)
      streamRun(buffer + i * size, dst + i * blocks.dst, size);
  });
}

void gatherRuns(const Job &job, const char *src, char *dst) {
  GatherBlocks *const gather = chooseGatherBlocks(job);
  const GatherTable table = job.gather;
  int64_t size = job.runBytes;
  forBlocks(job, src, dst, [=](const char *src, char *dst, Loop blocks) {
    gather(table, size, src, dst, blocks);
  });
}

Kernel *chooseGather(const Job &job) {
  return job.isStreamed ? streamGathered : gatherRuns;
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_GATHERKERNELS_H
