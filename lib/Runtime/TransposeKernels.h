//===- TransposeKernels.h - Rows that become columns ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H
#define TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H

#include "ChainKernels.h"
#include "DenseColumns.h"
#include "DenseRows.h"
#include "NarrowColumns.h"
#include "SparseColumns.h"
#include "WordKernels.h"

namespace tessera::runtime {
namespace {

/// Columns that evict one another are few lines at a time in the first-level
/// cache. With registers shorter than a line, long runs of them come faster
/// from a buffer.
template <int RunBytes>
TESSERA_INLINE void transposeCached(const Block &block) {
  if constexpr (RunBytes < kLaneBytes)
    if (const NarrowColumns<RunBytes> columns(block); columns.suits())
      return columns.run();
  if constexpr (kVectorBytes < kLineBytes) {
    constexpr int64_t kLeastBytes = 1 << 16;
    bool isStaged = kLineRuns<RunBytes> > kCacheWays &&
                    isInOneSet<RunBytes>(block.dstPitch) &&
                    block.rows * block.columns * RunBytes >= kLeastBytes;
    if (isStaged)
      return moveStaged<RunBytes, false>(block,
                                         kMostStagedRows / kLineRuns<RunBytes>);
  }
  transposeBlocks<RunBytes>(block);
}

template <int RunBytes>
void transposeRuns(const Job &job, const char *src, char *dst) {
  if (SparseColumns<RunBytes>::suits(job))
    return transposeSparse<RunBytes>(job, src, dst);
  if (!job.isStreamed)
    return walkBlocks(
        job, src, dst,
        [isLarge = kVectorBytes == kLineBytes && isLarge(job)](Block block) {
          block.isLarge = isLarge;
          transposeCached<RunBytes>(block);
        });
  walkBlocks(job, src, dst, [&job](const Block &block) {
    transposeStreamed<RunBytes>(block, job.blocks);
  });
}

/// Squares of `Ways` by `Ways` elements, which are runs or have so many of
/// them.
template <int RunBytes, int Ways> Kernel *chooseSquares(const Job &job) {
  if constexpr (RunBytes >= 4 && RunBytes >= Ways * Ways)
    if (job.squareSides == SquareSides::Both)
      return transposeChains<RunBytes, Squares<RunBytes, Ways, false>>;
  if constexpr (RunBytes == kRunOfSquare) {
    constexpr int kSquare = RunBytes * Ways;
    return job.squareSides == SquareSides::Source
               ? transposeChains<RunBytes, Squares<kSquare, Ways, true>>
               : transposeChains<RunBytes, Squares<kSquare, Ways, false>>;
  }
  return nullptr;
}

template <int RunBytes> Kernel *chooseTransposeOf(const Job &job) {
  if (job.square == 2)
    return chooseSquares<RunBytes, 2>(job);
  if (job.square == 4)
    return chooseSquares<RunBytes, 4>(job);
  Kernel *kernel = chooseTurns<RunBytes, 2>(job);
  if (!kernel)
    kernel = chooseTurns<RunBytes, 4>(job);
  if (kernel)
    return kernel;
  if (job.fillBytes > 0 && SparseColumns<RunBytes>::suits(job))
    return transposeAndFill<RunBytes>;
  if (job.moreRows.count > 1 || job.moreColumns.count > 1)
    return transposeChains<RunBytes, AsTheyAre>;
  if constexpr (RunBytes <= 8) {
    kernel = chooseInterleave<RunBytes, 2>(job);
    if (!kernel)
      kernel = chooseInterleave<RunBytes, 4>(job);
  }
  if (kernel)
    return kernel;
  if (job.fillBytes == 0 && !job.keepsPadding)
    kernel = chooseDense<RunBytes>(job);
  if (kernel)
    return kernel;
  if (job.isStreamed && DenseColumns<RunBytes>::suits(job))
    return transposeDense<RunBytes>;
  return transposeRuns<RunBytes>;
}

inline Kernel *chooseTranspose(const Job &job) {
  switch (job.runBytes) {
  case 1:
    return chooseTransposeOf<1>(job);
  case 2:
    return chooseTransposeOf<2>(job);
  case 4:
    return chooseTransposeOf<4>(job);
  case 8:
    return chooseTransposeOf<8>(job);
  default:
    return chooseTransposeOf<16>(job);
  }
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_TRANSPOSEKERNELS_H
