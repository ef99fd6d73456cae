//===- WordKernels.h - Words that exchange their parts ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A word is two or four runs that are contiguous on both sides, of different
// rows in the source and of different columns in the destination, as where
// `T(8,128)(2,1)` packs another dimension. Words themselves follow one another
// on both sides.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_WORDKERNELS_H
#define TESSERA_LIB_RUNTIME_WORDKERNELS_H

#include "InterleaveKernels.h"

namespace tessera::runtime {
namespace {

/// Of two words, what becomes the first or the second one when the upper run of
/// each pair that is `Distance` apart in the first one is exchanged for the
/// lower one of the second.
template <int Distance, int Count, bool IsSecond> struct ExchangeRuns {
  static constexpr int at(int i) {
    bool isUpper = (i & Distance) != 0;
    if (IsSecond)
      return isUpper ? Count + i : i + Distance;
    return isUpper ? Count + i - Distance : i;
  }
};

/// Registers of words of N runs, one for each row: run c of register r becomes
/// run r of register c, in each word.
template <int Count, int Distance = 1, int N, typename V>
TESSERA_INLINE void turnWords(V (&words)[N]) {
  if constexpr (Distance < N) {
    TESSERA_UNROLL
    for (int k = 0; k < N; ++k) {
      if (k & Distance)
        continue;
      V a = words[k], b = words[k + Distance];
      words[k] = shuffle<ExchangeRuns<Distance, Count, false>, Count>(a, b);
      words[k + Distance] =
          shuffle<ExchangeRuns<Distance, Count, true>, Count>(a, b);
    }
    turnWords<Count, Distance * 2>(words);
  }
}

/// What words hold of rows that there are not.
struct MissingRows {
  const char *filler; ///< Runs for them.
  const char *masks;  ///< Bytes of words that keep what they hold, or null.
};

/// Registers of words, those of a line at once where it bypasses the caches.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed, bool Keeps>
TESSERA_INLINE void turnTile(const Block &block, MissingRows missing,
                             int64_t begin) {
  constexpr int kCount = kPieces<Bytes, IsStreamed>;
  using V = Vector<RunBytes, Bytes>;
  V words[kCount][Ways];
  TESSERA_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const char *src = block.src + begin + i * Bytes;
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      words[i][k] =
          load<V>(k < block.rows ? src + k * block.srcPitch : missing.filler);
    turnWords<Bytes / RunBytes>(words[i]);
  }
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k) {
    char *dst = block.dst + k * block.dstPitch + begin;
    if (k >= block.columns)
      continue;
    TESSERA_UNROLL
    for (int i = 0; i < kCount; ++i) {
      V &word = words[i][k];
      if constexpr (Keeps)
        word |= load<V>(dst + i * Bytes) & load<V>(missing.masks);
      write<IsStreamed>(dst + i * Bytes, word);
    }
  }
}

/// A word of each row and column, run by run.
template <int RunBytes, int Ways, bool Keeps>
__attribute__((noinline)) void turnWord(const Block &block, MissingRows missing,
                                        int64_t begin) {
  for (int64_t c = 0; c < block.columns; ++c) {
    const char *src = block.src + begin + c * RunBytes;
    char *dst = block.dst + begin + c * block.dstPitch;
    for (int64_t r = 0; r < (Keeps ? block.rows : Ways); ++r)
      copyFixed<RunBytes>(r < block.rows ? src + r * block.srcPitch
                                         : missing.filler,
                          dst + r * RunBytes);
  }
}

/// `size` bytes of words of each row and column. Nothing is read behind the
/// last columns of a source that has fewer of them.
template <int RunBytes, int Ways, bool IsStreamed, bool Keeps>
TESSERA_INLINE void turnRun(const Block &block, MissingRows missing,
                            int64_t size) {
  constexpr int64_t kWord = RunBytes * Ways;
  int64_t whole = block.columns == Ways ? size : size - kWord;
  auto turn = [&](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kStep = kBytes * kPieces<kBytes, IsStreamed>;
    for (int64_t begin = 0; begin < whole; begin += kStep)
      turnTile<RunBytes, kBytes, Ways, IsStreamed, Keeps>(
          block, missing, least(begin, whole - kStep));
  };
  if (IsStreamed || whole >= kVectorBytes)
    turn(Constant<kVectorBytes>());
  else if (whole >= kLaneBytes)
    turn(Constant<kLaneBytes>());
  else if (whole >= kMaxWordBytes)
    turn(Constant<kMaxWordBytes>());
  else
    whole = 0;
  for (; whole < size; whole += kWord)
    turnWord<RunBytes, Ways, Keeps>(block, missing, whole);
}

template <int RunBytes, int Ways>
void turnRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.moreRows.count * job.moreRows.dst;
  MissingRows missing = {Filler(job.filler).get(0), nullptr};
  bool isStreamed = job.isStreamed && job.columns.count == Ways &&
                    isOnLine(size) && isOnLine(job.columns.dst);
  walkBlocks(job, src, dst, [=](const Block &block) {
    if (isStreamed && bytesToLine(block.dst) == 0)
      turnRun<RunBytes, Ways, true, false>(block, missing, size);
    else
      turnRun<RunBytes, Ways, false, false>(block, missing, size);
  });
}

template <int RunBytes, int Ways>
void turnKeptRuns(const Job &job, const char *src, char *dst) {
  static constexpr char kNone[kVectorBytes] = {};
  int64_t size = job.moreRows.count * job.moreRows.dst;
  char masks[kVectorBytes];
  for (int i = 0; i < kVectorBytes; ++i)
    masks[i] = i / RunBytes % Ways < job.rows.count ? 0 : -1;
  MissingRows missing = {kNone, masks};
  walkBlocks(job, src, dst, [=](const Block &block) {
    turnRun<RunBytes, Ways, false, true>(block, missing, size);
  });
}

/// Words of 2 or 4 runs; null where they are none.
template <int RunBytes, int Ways> Kernel *chooseTurns(const Job &job) {
  constexpr int64_t kWord = RunBytes * Ways;
  if constexpr (kWord <= kMaxWordBytes) {
    bool isOfWords = job.moreRows.src == kWord && job.moreRows.dst == kWord &&
                     job.columns.count <= Ways;
    if (!isOfWords)
      return nullptr;
    return job.keepsPadding ? turnKeptRuns<RunBytes, Ways>
                            : turnRuns<RunBytes, Ways>;
  }
  return nullptr;
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_WORDKERNELS_H
