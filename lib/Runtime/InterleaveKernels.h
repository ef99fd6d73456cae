//===- InterleaveKernels.h - A few rows or columns in turns -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_INTERLEAVEKERNELS_H
#define TESSERA_LIB_RUNTIME_INTERLEAVEKERNELS_H

#include "TransposeBlocks.h"

namespace tessera::runtime {
namespace {

/// Past the caches, so many bytes ahead of each row are prefetched.
constexpr int64_t kInterleaveAhead = 2048;

/// A register of each of `Ways` rows, run by run in turns. Behind `numRows` of
/// them come registers from `filler`.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTile(const char *src, int64_t pitch, char *dst,
                                   int64_t numRows = Ways,
                                   const char *filler = nullptr) {
  using V = Vector<RunBytes, Bytes>;
  V rows[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    rows[k] = load<V>(k < numRows ? src + k * pitch : filler);
  if constexpr (IsStreamed)
    prefetchRows</*Locality=*/0>(src + kInterleaveAhead, pitch, Ways);
  interleaveRegisters<RunBytes>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * Bytes, rows[k]);
}

/// Registers that make one piece of a column: a line at once where that
/// bypasses the caches, as processors write what waits for the rest of a line
/// part by part.
template <int Bytes, bool IsStreamed>
constexpr int kPieces =
    IsStreamed && Bytes < kLineBytes ? kLineBytes / Bytes : 1;

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTile(const char *src, char *dst,
                                     int64_t pitch) {
  constexpr int kCount = kPieces<Bytes, IsStreamed>;
  using V = Vector<RunBytes, Bytes>;
  V runs[kCount][Ways];
  TESSERA_UNROLL
  for (int i = 0; i < kCount; ++i)
    loadSplit<RunBytes>(src + i * Ways * Bytes, runs[i]);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k) {
    TESSERA_UNROLL
    for (int i = 0; i < kCount; ++i)
      write<IsStreamed>(dst + k * pitch + i * Bytes, runs[i][k]);
  }
}

/// Calls `move` with the size of registers for every `Step` bytes of `size`, at
/// least so many. What is left goes by the last `Step` bytes, which overlap
/// others, or by half registers: most that are a line long lie across two.
template <int Bytes, int64_t Step = Bytes, typename Move>
TESSERA_INLINE void forPieces(int64_t size, const Move &move) {
  constexpr Constant<Bytes> kWhole;
  int64_t i = 0;
  for (; i + 4 * Step <= size; i += 4 * Step) {
    TESSERA_UNROLL
    for (int64_t k = 0; k < 4; ++k)
      move(kWhole, i + k * Step);
  }
  for (; i + Step <= size; i += Step)
    move(kWhole, i);
  if (i >= size)
    return;
  if constexpr (Bytes > 32) {
    constexpr Constant<Bytes / 2> kHalf;
    if (size - i > Bytes / 2)
      move(kHalf, i);
    move(kHalf, size - Bytes / 2);
  } else {
    move(kWhole, size - Step);
  }
}

/// Rows of at least a register.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTiles(const Block &block) {
  const char *src = block.src;
  char *dst = block.dst;
  int64_t pitch = block.srcPitch;
  forPieces<Bytes>(block.columns * RunBytes, [=](auto bytes, int64_t i) {
    constexpr int kBytes = decltype(bytes)::kCount;
    interleaveTile<RunBytes, kBytes, Ways, IsStreamed>(src + i, pitch,
                                                       dst + i * Ways);
  });
}

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTiles(const Block &block) {
  const char *src = block.src;
  char *dst = block.dst;
  int64_t pitch = block.dstPitch;
  constexpr int64_t kPiece = Bytes * kPieces<Bytes, IsStreamed>;
  forPieces<Bytes, kPiece>(block.rows * RunBytes, [=](auto bytes, int64_t i) {
    constexpr int kBytes = decltype(bytes)::kCount;
    deinterleaveTile<RunBytes, kBytes, Ways, IsStreamed>(src + i * Ways,
                                                         dst + i, pitch);
  });
}

#if defined(__AVX512BW__)
/// Columns from number `first` on, fewer than a register has, and filler up to
/// `all` bytes from the begin of the block. Whole registers are stored as far
/// as there are: processors take longer for parts of one.
template <int RunBytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveRest(const Block &block, int64_t first,
                                   int64_t all, const Filler &filler) {
  using V = Vector<RunBytes, kVectorBytes>;
  const auto fill = load<V>(filler.get(0));
  int64_t left = (block.columns - first) * RunBytes;
  const char *src = block.src + first * RunBytes;
  char *dst = block.dst + first * Ways * RunBytes, *end = block.dst + all;
  auto writeNext = [&](V value) {
    if (end - dst >= kVectorBytes)
      write<IsStreamed>(dst, value);
    else if (end > dst)
      storeFirst(dst, value, end - dst);
    dst += kVectorBytes;
  };
  if (left > 0) {
    V rows[Ways];
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      rows[k] = k < block.rows
                    ? loadFirst<V>(src + k * block.srcPitch, left, fill)
                    : fill;
    interleaveRegisters<RunBytes>(rows);
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      writeNext(rows[k]);
  }
  while (dst < end)
    writeNext(fill);
}
#endif

/// Column number `c`, run by run: `numRows` of rows, and `filler` behind them.
template <int RunBytes, int Ways>
TESSERA_INLINE void interleaveColumn(const Block &block, int64_t c,
                                     int64_t numRows, const char *filler) {
  const char *src = block.src + c * RunBytes;
  char *dst = block.dst + c * Ways * RunBytes;
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    copyFixed<RunBytes>(k < numRows ? src + k * block.srcPitch : filler,
                        dst + k * RunBytes);
}

/// Rows of less than a register.
template <int RunBytes, int Ways>
TESSERA_INLINE void interleaveShort(const Block &block) {
  int64_t size = block.columns * RunBytes;
  if (size >= kLaneBytes)
    return interleaveTiles<RunBytes, kLaneBytes, Ways, false>(block);
  if constexpr (RunBytes <= 4)
    if (size >= 8)
      return interleaveTiles<RunBytes, 8, Ways, false>(block);
  if constexpr (RunBytes <= 2)
    if (size >= 4)
      return interleaveTiles<RunBytes, 4, Ways, false>(block);
  for (int64_t c = 0; c < block.columns; ++c)
    interleaveColumn<RunBytes, Ways>(block, c, Ways, /*filler=*/nullptr);
}

template <int RunBytes, int Ways>
TESSERA_INLINE void interleave(const Block &block, bool isStreamed) {
  int64_t size = block.columns * RunBytes;
  // A run of whole lines is streamed; others end in registers that may overlap.
  if (isStreamed && size % kVectorBytes == 0 && bytesToLine(block.dst) == 0 &&
      isOnLine(size * Ways))
    return interleaveTiles<RunBytes, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
  interleaveShort<RunBytes, Ways>(block);
}

#if defined(__AVX512BW__)
/// Columns of `Ways` runs, of which rows are the first and filler the others,
/// and filler up to `all` bytes.
template <int RunBytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveFilled(const Block &block, int64_t all,
                                     const Filler &filler) {
  constexpr int64_t kRuns = kVectorBytes / RunBytes;
  int64_t c = 0;
  for (; c + kRuns <= block.columns; c += kRuns)
    interleaveTile<RunBytes, kVectorBytes, Ways, IsStreamed>(
        block.src + c * RunBytes, block.srcPitch,
        block.dst + c * Ways * RunBytes, block.rows, filler.get(0));
  interleaveRest<RunBytes, Ways, IsStreamed>(block, c, all, filler);
}
#else
/// Columns of `Ways` runs of which rows are the first, and `filler` the others.
template <int RunBytes, int Ways>
TESSERA_INLINE void interleaveFew(const Block &block, const char *filler) {
  int64_t c = 0;
  auto interleaveAll = [&](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kRuns = kBytes / RunBytes;
    for (; c + kRuns <= block.columns; c += kRuns)
      interleaveTile<RunBytes, kBytes, Ways, false>(
          block.src + c * RunBytes, block.srcPitch,
          block.dst + c * Ways * RunBytes, block.rows, filler);
  };
  interleaveAll(Constant<kVectorBytes>());
  interleaveAll(Constant<kLaneBytes>());
  for (; c < block.columns; ++c)
    interleaveColumn<RunBytes, Ways>(block, c, block.rows, filler);
}

/// The same, and filler up to `all` bytes.
template <int RunBytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveFilled(const Block &block, int64_t all,
                                     const Filler &filler) {
  int64_t size = block.columns * Ways * RunBytes;
  if (block.rows == Ways)
    interleave<RunBytes, Ways>(block, IsStreamed);
  else
    interleaveFew<RunBytes, Ways>(block, filler.get(0));
  if (all == size)
    return;
  if (IsStreamed && isOnLine(size))
    filler.stream(block.dst + size, all - size, size);
  else
    filler.write(block.dst + size, all - size, size);
}
#endif

#if defined(__AVX512BW__)
/// Rows from number `first` on, fewer than a register has; nothing is read
/// beyond the last run, or written beyond the columns.
template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleaveRest(const Block &block, int64_t first) {
  using V = Vector<RunBytes, kVectorBytes>;
  int64_t rows = block.rows - first;
  int64_t left = ((rows - 1) * Ways + block.columns) * RunBytes;
  const char *src = block.src + first * Ways * RunBytes;
  V runs[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k) {
    int64_t begin = k * kVectorBytes;
    runs[k] = loadFirst<V>(src + begin, left - least(begin, left));
  }
  deinterleaveRegisters<kVectorBytes / RunBytes>(runs);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    if (k < block.columns)
      storeFirst(block.dst + k * block.dstPitch + first * RunBytes, runs[k],
                 rows * RunBytes);
}
#endif

/// Some of `Ways` columns. What lies between their runs is loaded as long as
/// others follow, so that nothing is read beyond the last one.
template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleaveSome(const Block &block) {
  int64_t r = 0;
  auto deinterleaveAll = [&](auto bytes) {
    constexpr int kBytes = decltype(bytes)::kCount;
    constexpr int64_t kRuns = kBytes / RunBytes;
    for (; r + kRuns < block.rows; r += kRuns) {
      Vector<RunBytes, kBytes> runs[Ways];
      loadSplit<RunBytes>(block.src + r * Ways * RunBytes, runs);
      TESSERA_UNROLL
      for (int k = 0; k < Ways; ++k)
        if (k < block.columns)
          store(block.dst + k * block.dstPitch + r * RunBytes, runs[k]);
    }
  };
  deinterleaveAll(Constant<kVectorBytes>());
  deinterleaveAll(Constant<kLaneBytes>());
#if defined(__AVX512BW__)
  deinterleaveRest<RunBytes, Ways>(block, r);
#else
  Block rest = block;
  rest.rows -= r;
  rest.src += r * block.srcPitch;
  rest.dst += r * RunBytes;
  callApart(transposeOneByOne<RunBytes>, rest);
#endif
}

/// Columns of less than a register.
template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleaveShort(const Block &block) {
  int64_t size = block.rows * RunBytes;
  if (size >= kLaneBytes)
    return deinterleaveTiles<RunBytes, kLaneBytes, Ways, false>(block);
  if constexpr (RunBytes <= 4)
    if (size >= 8)
      return deinterleaveTiles<RunBytes, 8, Ways, false>(block);
  if constexpr (RunBytes <= 2)
    if (size >= 4)
      return deinterleaveTiles<RunBytes, 4, Ways, false>(block);
  for (int64_t r = 0; r < block.rows; ++r) {
    const char *src = block.src + r * Ways * RunBytes;
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      copyFixed<RunBytes>(src + k * RunBytes,
                          block.dst + k * block.dstPitch + r * RunBytes);
  }
}

template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleave(const Block &block, bool isStreamed) {
  int64_t size = block.rows * RunBytes;
  if (isStreamed && isOnLine(size) && bytesToLine(block.dst) == 0 &&
      isOnLine(block.dstPitch))
    return deinterleaveTiles<RunBytes, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return deinterleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
  deinterleaveShort<RunBytes, Ways>(block);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Runs of a row of a tile, in most layouts: loops over so many have no end to
/// look for, which takes a part of the time with registers of 32 bytes.
constexpr int64_t kTileRuns = 128;
constexpr bool kHasTileLoops = kVectorBytes == 32;

/// Calls `move` for each block, with the size of the widest registers that
/// `runs` of it fill. Returns whether they fill any.
template <int RunBytes, typename Move>
TESSERA_INLINE bool walkWidest(const Job &job, int64_t runs, const char *src,
                               char *dst, const Move &move) {
  return withWidest<RunBytes>(runs, [&](auto bytes) {
    walkBlocks(job, src, dst, [=](const Block &block) { move(bytes, block); });
  });
}

template <int RunBytes, int Ways>
void interleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  if (kHasTileLoops && !isStreamed && job.columns.count == kTileRuns)
    return walkBlocks(job, src, dst, [](Block block) {
      block.columns = kTileRuns;
      interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
    });
  auto moveCached = [](auto bytes, const Block &block) {
    constexpr int kBytes = decltype(bytes)::kCount;
    interleaveTiles<RunBytes, kBytes, Ways, false>(block);
  };
  if (isStreamed ||
      !walkWidest<RunBytes>(job, job.columns.count, src, dst, moveCached))
    walkBlocks(job, src, dst, [isStreamed](const Block &block) {
      interleave<RunBytes, Ways>(block, isStreamed);
    });
}

template <int RunBytes, int Ways>
void deinterleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  if (kHasTileLoops && !isStreamed && job.rows.count == kTileRuns)
    return walkBlocks(job, src, dst, [](Block block) {
      block.rows = kTileRuns;
      deinterleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
    });
  auto moveCached = [](auto bytes, const Block &block) {
    constexpr int kBytes = decltype(bytes)::kCount;
    deinterleaveTiles<RunBytes, kBytes, Ways, false>(block);
  };
  if (isStreamed ||
      !walkWidest<RunBytes>(job, job.rows.count, src, dst, moveCached))
    walkBlocks(job, src, dst, [isStreamed](const Block &block) {
      deinterleave<RunBytes, Ways>(block, isStreamed);
    });
}

/// Interleaves of rows and padding, which lies behind the rows of each column,
/// and behind the last column.
template <int RunBytes, int Ways>
void interleaveFilledRuns(const Job &job, const char *src, char *dst) {
  const Filler filler(job.filler);
  int64_t all = job.columns.count * Ways * RunBytes;
  all += job.rows.count == Ways ? job.fillBytes : job.fillBehind;
  bool isStreamed = job.isStreamed && isOnLine(all);
  walkBlocks(job, src, dst, [&filler, all, isStreamed](const Block &block) {
    if (isStreamed && bytesToLine(block.dst) == 0)
      interleaveFilled<RunBytes, Ways, true>(block, all, filler);
    else
      interleaveFilled<RunBytes, Ways, false>(block, all, filler);
  });
}

#if defined(__AVX512BW__)
template <int RunBytes, int Ways> Kernel *chooseInterleaveFilled(const Job &) {
  return interleaveFilledRuns<RunBytes, Ways>;
}
#else
/// The same through the caches, of all rows, and of padding of at least a
/// register behind the last column.
template <int RunBytes, int Ways>
void interleaveFilledLong(const Job &job, const char *src, char *dst) {
  int64_t size = job.columns.count * Ways * RunBytes;
  LongFiller padding(Filler(job.filler), size, job.fillBytes);
  if (job.columns.count * RunBytes >= kVectorBytes)
    return walkBlocks(job, src, dst, [=](const Block &block) {
      interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
      padding.write(block.dst);
    });
  walkBlocks(job, src, dst, [=](const Block &block) {
    interleaveShort<RunBytes, Ways>(block);
    padding.write(block.dst);
  });
}

template <int RunBytes, int Ways>
Kernel *chooseInterleaveFilled(const Job &job) {
  bool isLong = !job.isStreamed && job.rows.count == Ways &&
                job.fillBytes >= kVectorBytes;
  return isLong ? interleaveFilledLong<RunBytes, Ways>
                : interleaveFilledRuns<RunBytes, Ways>;
}
#endif

/// Columns of `Ways` runs of which rows are the first; the others are written
/// as they were.
template <int RunBytes, int Ways>
TESSERA_INLINE void interleaveKept(const Block &block, const char *masks) {
  int64_t size = block.columns * RunBytes;
  auto interleaveAll = [&](auto bytes) {
    forPieces<decltype(bytes)::kCount>(size, [&](auto bytes, int64_t i) {
      constexpr int kBytes = decltype(bytes)::kCount;
      using V = Vector<RunBytes, kBytes>;
      const auto mask = load<V>(masks);
      V rows[Ways];
      TESSERA_UNROLL
      for (int k = 0; k < Ways; ++k)
        rows[k] =
            k < block.rows ? load<V>(block.src + k * block.srcPitch + i) : V();
      interleaveRegisters<RunBytes>(rows);
      TESSERA_UNROLL
      for (int k = 0; k < Ways; ++k) {
        char *dst = block.dst + i * Ways + k * kBytes;
        store(dst, rows[k] | (load<V>(dst) & mask));
      }
    });
  };
  if (size >= kVectorBytes)
    return interleaveAll(Constant<kVectorBytes>());
  if (size >= kLaneBytes)
    return interleaveAll(Constant<kLaneBytes>());
  callApart(transposeOneByOne<RunBytes>, block);
}

template <int RunBytes, int Ways>
void interleaveKeptRuns(const Job &job, const char *src, char *dst) {
  char masks[kVectorBytes];
  for (int i = 0; i < kVectorBytes; ++i)
    masks[i] = i / RunBytes % Ways < job.rows.count ? 0 : -1;
  walkBlocks(job, src, dst, [&masks](const Block &block) {
    interleaveKept<RunBytes, Ways>(block, masks);
  });
}

/// Fewer columns than there are runs side by side.
template <int RunBytes, int Ways>
void deinterleaveSomeRuns(const Job &job, const char *src, char *dst) {
  walkBlocks(job, src, dst, [](const Block &block) {
    deinterleaveSome<RunBytes, Ways>(block);
  });
}

/// Of 2 or 4 ways; null where it is none.
template <int RunBytes, int Ways> Kernel *chooseInterleave(const Job &job) {
  bool isColumn = job.columns.dst == Ways * RunBytes;
  bool isRow = job.rows.src == Ways * RunBytes;
  bool isFilled = job.fillBytes > 0; // Others fill nothing.
  if constexpr (RunBytes <= 4)
    if (isColumn && job.keepsPadding)
      return interleaveKeptRuns<RunBytes, Ways>;
  if (job.keepsPadding)
    return nullptr;
  if (isColumn && isFilled)
    return chooseInterleaveFilled<RunBytes, Ways>(job);
  if (isFilled)
    return nullptr;
  if (isColumn && job.rows.count == Ways)
    return interleaveRuns<RunBytes, Ways>;
  if (isRow && job.columns.count == Ways)
    return deinterleaveRuns<RunBytes, Ways>;
  if (isRow && job.columns.count < Ways)
    return deinterleaveSomeRuns<RunBytes, Ways>;
  return nullptr;
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_INTERLEAVEKERNELS_H
