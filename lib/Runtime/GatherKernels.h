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

namespace tessera::runtime {
namespace {

/// Registers of lanes, and those that bytes are picked from as a whole; 0:
/// there is no such instruction.
#if defined(__AVX2__)
constexpr int kGatherBytes = 32;
#else
constexpr int kGatherBytes = kHasLanePicks ? 16 : 0;
#endif
constexpr int kWideGatherBytes = kHasByteShuffles ? 64 : 0;

/// The bytes of a register that come from one window, or one of each lane.
template <int Bytes> class Picks {
  using V = Vector<8, Bytes>;

public:
  TESSERA_INLINE explicit Picks(const uint8_t *from)
      : numbers(load<V>(reinterpret_cast<const char *>(from))) {}

  TESSERA_INLINE V addTo(V others, V window) const {
    return others | pickInLanes(window, numbers);
  }

private:
  V numbers;
};

#if defined(__AVX512VBMI__)
template <> class Picks<64> {
  using V = Vector<8, 64>;

public:
  TESSERA_INLINE explicit Picks(const uint8_t *from)
      : numbers(_mm512_loadu_si512(from)), isOwn(getOwn(numbers)) {}

  TESSERA_INLINE V addTo(V others, V window) const {
    return reinterpret_cast<V>(_mm512_mask_permutexvar_epi8(
        reinterpret_cast<__m512i>(others), isOwn, numbers,
        reinterpret_cast<__m512i>(window)));
  }

private:
  static_assert(GatherTable::kNone == 0x80, "the high bit of a number");
  /// The compiler knows nothing of the mask: it would make two instructions of
  /// each pick otherwise.
  static TESSERA_INLINE __mmask64 getOwn(__m512i numbers) {
    __mmask64 mask = ~_mm512_movepi8_mask(numbers);
    __asm__("" : "+k"(mask));
    return mask;
  }

  __m512i numbers;
  __mmask64 isOwn;
};
#endif

/// Blocks that are gathered register by register of all of them: what the table
/// says of one stays in registers.
constexpr int64_t kGatheredBlocks = 8;

template <int Bytes, int Ways> struct PicksOfAll {
  Picks<Bytes> of[Ways];
};
template <int Bytes, int... I>
TESSERA_INLINE PicksOfAll<Bytes, sizeof...(I)> makePicks(const uint8_t *numbers,
                                                         Indices<I...>) {
  return {{Picks<Bytes>(numbers + I * Bytes)...}};
}

/// Register number `r` of some blocks.
template <int Bytes, int Ways, int Windows>
TESSERA_INLINE void gatherRegister(const GatherTable &table, int64_t r,
                                   const char *src, char *dst,
                                   const Loop &blocks) {
  constexpr int kWindow =
      Bytes == kWideGatherBytes ? Bytes / Windows : kLaneBytes;
  constexpr int kParts = Bytes / kWindow, kPlaces = Ways * Windows;
  using V = Vector<8, Bytes>;
  int64_t places[kPlaces];
  TESSERA_UNROLL
  for (int k = 0; k < kPlaces; ++k)
    places[k] = table.places[r * kPlaces + k];
  const uint8_t *numbers = table.numbers + r * Ways * Bytes;
  const auto picks = makePicks<Bytes>(numbers, FirstIndices<Ways>());
  const Loop loop = blocks;
  for (int64_t i = loop.count; i > 0; --i) {
    V all = {};
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k) {
      Vector<8, kWindow> parts[kParts];
      TESSERA_UNROLL
      for (int l = 0; l < kParts; ++l)
        parts[l] =
            load<Vector<8, kWindow>>(src + places[k * Windows + l % Windows]);
      V window = load<V>(reinterpret_cast<const char *>(parts));
      all = picks.of[k].addTo(all, window);
    }
    store(dst, all);
    src += loop.src;
    dst += loop.dst;
  }
}

template <int Bytes, int Ways, int Windows>
__attribute__((noinline)) void gatherBlocks(const GatherTable &table,
                                            int64_t size, const char *src,
                                            char *dst, const Loop &blocks) {
  for (int64_t r = 0, at = 0; at < size; ++r, at += Bytes)
    gatherRegister<Bytes, Ways, Windows>(table, r, src,
                                         dst + least(at, size - Bytes), blocks);
}

using GatherBlocks = void(const GatherTable &table, int64_t size,
                          const char *src, char *dst, const Loop &blocks);

template <int Bytes, int Windows, int Ways = 1>
GatherBlocks *chooseGatherBlocks(int64_t ways) {
  if (ways == Ways)
    return gatherBlocks<Bytes, Ways, Windows>;
  constexpr int kMost = Windows == 1                ? kMostGatherWays
                        : Bytes == kWideGatherBytes ? kMostWideWays
                                                    : kMostSeparateWays;
  if constexpr (Ways < kMost)
    return chooseGatherBlocks<Bytes, Windows, Ways + 1>(ways);
  return nullptr;
}

GatherBlocks *chooseGatherBlocks(const GatherTable &table) {
  if constexpr (kWideGatherBytes > 0)
    if (table.registerBytes == kWideGatherBytes)
      return table.windows == 1
                 ? chooseGatherBlocks<kWideGatherBytes, 1>(table.ways)
             : table.windows == 2
                 ? chooseGatherBlocks<kWideGatherBytes, 2>(table.ways)
                 : chooseGatherBlocks<kWideGatherBytes, 4>(table.ways);
  if constexpr (kGatherBytes > kLaneBytes)
    if (table.registerBytes == kGatherBytes)
      return table.windows == 1
                 ? chooseGatherBlocks<kGatherBytes, 1>(table.ways)
                 : chooseGatherBlocks<kGatherBytes, kGatherBytes / kLaneBytes>(
                       table.ways);
  if constexpr (kGatherBytes > 0)
    return chooseGatherBlocks<kLaneBytes, 1>(table.ways);
  return nullptr;
}

/// Calls `move(src, dst, blocks)` with some blocks of a loop at a time.
template <typename Move>
TESSERA_INLINE void forSomeBlocks(const char *src, char *dst, const Loop &loop,
                                  const Move &move) {
  for (int64_t i = 0; i < loop.count; i += kGatheredBlocks)
    move(src + i * loop.src, dst + i * loop.dst,
         Loop{least(kGatheredBlocks, loop.count - i), loop.src, loop.dst});
}

/// The same for all blocks, a loop at a time.
template <typename Move>
TESSERA_INLINE void forBlocks(const Job &job, const char *src, char *dst,
                              const Move &move) {
  constexpr Loop kOnce = {1, 0, 0};
  size_t numOuter = job.numLoops > 0 ? job.numLoops - 1 : 0;
  const Loop loop = job.numLoops > 0 ? job.loops[numOuter] : kOnce;
  walk(job.loops, numOuter, src, dst, [=](const char *src, char *dst) {
    forSomeBlocks(src, dst, loop, move);
  });
}

/// The same, those of the two innermost loops by turns: the innermost one has
/// few steps.
template <typename Move>
TESSERA_INLINE void forFewBlocks(const Job &job, const char *src, char *dst,
                                 const Move &move) {
  size_t numOuter = job.numLoops - 2;
  const Loop outer = job.loops[numOuter], inner = job.loops[numOuter + 1];
  auto moveInner = [=](const char *src, char *dst, const Loop &blocks) {
    for (int64_t i = 0; i < inner.count; ++i)
      move(src + i * inner.src, dst + i * inner.dst, blocks);
  };
  walk(job.loops, numOuter, src, dst, [=](const char *src, char *dst) {
    forSomeBlocks(src, dst, outer, moveInner);
  });
}

/// Blocks go through a buffer, so that lines are written from end to end.
void streamGathered(const Job &job, const char *src, char *dst) {
  const GatherTable table = job.gather;
  GatherBlocks *const gather = chooseGatherBlocks(table);
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

/// Whether the innermost loop has few blocks, and more that lie close follow in
/// the one around it.
TESSERA_INLINE bool hasFewBlocks(const Job &job) {
  if (job.numLoops < 2)
    return false;
  const Loop *outer = job.loops + job.numLoops - 2, *inner = outer + 1;
  return inner->count < kGatheredBlocks && inner->count < outer->count &&
         outer->src >= -kShortRow && outer->src <= kShortRow;
}

void gatherRuns(const Job &job, const char *src, char *dst) {
  const GatherTable table = job.gather;
  GatherBlocks *const gather = chooseGatherBlocks(table);
  int64_t size = job.runBytes;
  auto move = [=](const char *src, char *dst, const Loop &blocks) {
    gather(table, size, src, dst, blocks);
  };
  if (hasFewBlocks(job))
    forFewBlocks(job, src, dst, move);
  else
    forBlocks(job, src, dst, move);
}

Kernel *chooseGather(const Job &job) {
  return job.isStreamed ? streamGathered : gatherRuns;
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_GATHERKERNELS_H
