//===- CopyKernels.h - Runs of bytes ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_COPYKERNELS_H
#define TESSERA_LIB_RUNTIME_COPYKERNELS_H

#include "KernelVectors.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

template <int Bytes> TESSERA_INLINE void copyFixed(const char *src, char *dst) {
  constexpr int kStep = Bytes < kVectorBytes ? Bytes : kVectorBytes;
  struct Piece {
    char bytes[kStep];
  };
  TESSERA_UNROLL
  for (int i = 0; i < Bytes; i += kStep)
    store(dst + i, load<Piece>(src + i));
}

/// At least `Bytes` bytes, the last of which overlap those before.
template <int Bytes>
TESSERA_INLINE void copyAtLeast(const char *src, char *dst, int64_t size) {
  TESSERA_NO_UNROLL
  for (int64_t i = 0; i < size - Bytes; i += Bytes)
    copyFixed<Bytes>(src + i, dst + i);
  copyFixed<Bytes>(src + size - Bytes, dst + size - Bytes);
}

TESSERA_INLINE void copyRun(const char *src, char *dst, int64_t size) {
  if (size >= kVectorBytes)
    return copyAtLeast<kVectorBytes>(src, dst, size);
  if (size >= 16)
    return copyAtLeast<16>(src, dst, size);
  if (size >= 8)
    return copyAtLeast<8>(src, dst, size);
  if (size >= 4)
    return copyAtLeast<4>(src, dst, size);
  if (size >= 2)
    return copyAtLeast<2>(src, dst, size);
  if (size == 1)
    *dst = *src;
}

/// Runs longer than this are left to the C library.
constexpr int64_t kLongRun = 1 << 14;

/// An element, again and again.
class Filler {
public:
  explicit Filler(const uint8_t (&filler)[kFillerBytes])
      : bytes(reinterpret_cast<const char *>(filler)) {}

  /// What comes `offset` bytes behind the begin of an element.
  TESSERA_INLINE const char *get(int64_t offset) const {
    return bytes + offset % kLaneBytes;
  }

  /// `size` bytes from `offset` on, the last of which overlap those before.
  TESSERA_INLINE void write(char *dst, int64_t size, int64_t offset = 0) const {
    using V = Vector<8, kVectorBytes>;
    if (size < kVectorBytes)
      return copyRun(get(offset), dst, size);
    auto value = load<V>(get(offset));
    for (int64_t i = 0; i < size - kVectorBytes; i += kVectorBytes)
      store(dst + i, value);
    int64_t last = size - kVectorBytes;
    store(dst + last, load<V>(get(offset + last)));
  }

  /// Whole lines past the caches, to where one begins.
  TESSERA_INLINE void stream(char *dst, int64_t size, int64_t offset) const {
    auto value = load<Vector<8, kVectorBytes>>(get(offset));
    for (int64_t i = 0; i < size; i += kVectorBytes)
      runtime::stream(dst + i, value);
  }

  /// `size` bytes, whole lines past the caches.
  TESSERA_INLINE void streamLines(char *dst, int64_t size) const {
    int64_t head = least(bytesToLine(dst), size);
    int64_t end = size - (size - head) % kLineBytes;
    write(dst, head);
    stream(dst + head, end - head, head);
    write(dst + end, size - end, end);
  }

private:
  const char *bytes;
};

/// Padding of at least a register, at the same place of each step: registers
/// that lie on multiples of their size, as stores across lines take longer, and
/// one at each end.
class LongFiller {
public:
  using V = Vector<8, kVectorBytes>;

  LongFiller(const Filler &filler, int64_t begin, int64_t size)
      : begin(begin), second((begin / kVectorBytes + 1) * kVectorBytes),
        last(begin + size - kVectorBytes),
        firstValue(load<V>(filler.get(begin))), value(load<V>(filler.get(0))),
        lastValue(load<V>(filler.get(last))) {}

  /// Of a step that begins at `dst`.
  TESSERA_INLINE void write(char *dst) const {
    // Copies, as each store would make the compiler read members again.
    const V next = value, end = lastValue;
    const int64_t stop = last;
    store(dst + begin, firstValue);
    for (int64_t i = second; i < stop; i += kVectorBytes)
      store(dst + i, next);
    store(dst + stop, end);
  }

private:
  int64_t begin, second, last;
  V firstValue, value, lastValue;
};

/// Registers, or a shorter one, past the caches.
template <int Bytes>
TESSERA_INLINE void streamFixed(const char *src, char *dst) {
  constexpr int kStep = Bytes < kVectorBytes ? Bytes : kVectorBytes;
  TESSERA_UNROLL
  for (int i = 0; i < Bytes; i += kStep)
    stream(dst + i, load<Vector<8, kStep>>(src + i));
}

/// Whole lines past the caches, to where one begins.
TESSERA_INLINE void streamWholeLines(const char *src, char *dst, int64_t size) {
  TESSERA_NO_UNROLL
  for (int64_t i = 0; i < size; i += kLineBytes)
    streamFixed<kLineBytes>(src + i, dst + i);
}

/// A run past the caches, but for parts of lines at the ends.
TESSERA_INLINE void streamRun(const char *src, char *dst, int64_t size) {
  int64_t head = least(bytesToLine(dst), size);
  copyRun(src, dst, head);
  int64_t end = size - (size - head) % kLineBytes;
  streamWholeLines(src + head, dst + head, end - head);
  copyRun(src + end, dst + end, size - end);
}

/// A line of which the first `count` bytes are those before `first`, and the
/// others those from `second` on. Both may be read for a line on either side.
TESSERA_INLINE void streamSeam(const char *first, const char *second,
                               int64_t count, char *dst) {
  using V = Vector<8, kVectorBytes>;
  struct alignas(kLineBytes) Masks {
    constexpr Masks() : bytes() {
      for (int i = 0; i < kLineBytes; ++i)
        bytes[i] = -1;
    }
    char bytes[2 * kLineBytes];
  };
  static constexpr Masks kMasks;
  for (int64_t i = 0; i < kLineBytes; i += kVectorBytes) {
    auto mask = load<V>(kMasks.bytes + kLineBytes - count + i);
    auto before = load<V>(first - count + i);
    auto after = load<V>(second - count + i);
    stream(dst + i, (before & mask) | (after & ~mask));
  }
}

/// Runs of a line or more that continue one another in the destination, at the
/// steps of loop number `chain`, are streamed as if they were one. A run writes
/// the lines that end in it, of the first one also what the run before has
/// left, and no more of its last one:
///
///   run      | 1  2  3  4 | 5  6
///   next                        | 7  8 | 9 ...
void streamChains(const Job &job, size_t chain, const char *src, char *dst) {
  const Loop loop = job.loops[chain];
  int64_t size = job.runBytes;
  auto streamNext = [=](const char *src, char *dst, bool isFirst, bool isLast) {
    int64_t head = bytesToLine(dst), tail = (size - head) % kLineBytes;
    if (isFirst)
      copyRun(src, dst, head);
    else if (head > 0)
      streamSeam(src - loop.src + size, src, kLineBytes - head,
                 dst + head - kLineBytes);
    streamWholeLines(src + head, dst + head, size - head - tail);
    if (isLast)
      copyRun(src + size - tail, dst + size - tail, tail);
  };
  walk(job.loops, chain, src, dst, [&](const char *src, char *dst) {
    for (int64_t i = 0; i < loop.count; ++i)
      walk(job.loops + chain + 1, job.numLoops - chain - 1, src + i * loop.src,
           dst + i * loop.dst, [&](const char *src, char *dst) {
             streamNext(src, dst, i == 0, i == loop.count - 1);
           });
  });
}

/// Whether all runs are whole lines of the destination.
inline bool areWholeLines(const Job &job, const char *dst) {
  bool isWhole = bytesToLine(dst) == 0 && isOnLine(job.runBytes);
  for (size_t i = 0; i < job.numLoops; ++i)
    isWhole &= isOnLine(job.loops[i].dst);
  return isWhole;
}

/// The loop over such runs, the number of loops where there is none. Each run
/// must lie behind the one before in the source, so that what is read beyond a
/// run is within the buffer.
inline size_t findChain(const Job &job) {
  size_t chain = job.numLoops;
  for (size_t i = 0; i < job.numLoops; ++i)
    if (continuesRuns(job.loops[i], job.runBytes))
      chain = i;
  return chain;
}

/// Whether runs of whole lines that follow one another in the destination are
/// written in pairs.
inline bool hasPairs(const Job &job) {
  if (kVectorBytes >= kLineBytes || job.numLoops == 0)
    return false;
  const Loop &inner = job.loops[job.numLoops - 1];
  return inner.dst == job.runBytes && inner.src >= job.runBytes &&
         inner.count % 2 == 0;
}

/// A line of each run of a pair by turns, as processors read several runs side
/// by side faster than one after another.
void streamPairs(const Job &job, const char *src, char *dst) {
  const Loop inner = job.loops[job.numLoops - 1];
  walk(job.loops, job.numLoops - 1, src, dst, [=](const char *src, char *dst) {
    for (int64_t k = 0; k < inner.count; k += 2)
      for (int64_t i = 0; i < inner.dst; i += kLineBytes) {
        const char *from = src + k * inner.src + i;
        char *to = dst + k * inner.dst + i;
        streamWholeLines(from, to, kLineBytes);
        streamWholeLines(from + inner.src, to + inner.dst, kLineBytes);
      }
  });
}

void streamRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.runBytes;
  if (areWholeLines(job, dst)) {
    if (hasPairs(job))
      return streamPairs(job, src, dst);
    return walk(job.loops, job.numLoops, src, dst,
                [size](const char *src, char *dst) {
                  streamWholeLines(src, dst, size);
                });
  }
  if (size_t chain = findChain(job); chain < job.numLoops)
    return streamChains(job, chain, src, dst);
  walk(job.loops, job.numLoops, src, dst,
       [size](const char *src, char *dst) { streamRun(src, dst, size); });
}

/// Lines go by one load and store: processors foresee the steps of these, and
/// not those of many.
template <int Bytes>
void copyFixedRuns(const Job &job, const char *src, char *dst) {
  walk(job.loops, job.numLoops, src, dst, [](const char *src, char *dst) {
    constexpr int kStep = Bytes < kLineBytes ? Bytes : kLineBytes;
    TESSERA_NO_UNROLL
    for (int i = 0; i < Bytes; i += kStep)
      copyFixed<kStep>(src + i, dst + i);
  });
}

/// The loops over runs of a line or half of one: the innermost one, `rows`,
/// puts them one behind another in the destination, the one around it,
/// `columns`, takes them so from the source. Where there is no such loop, it
/// has one step.
struct ShortRuns {
  Loop rows = {1, 0, 0}, columns = {1, 0, 0};
  size_t numOthers;

  explicit ShortRuns(const Job &job) : numOthers(job.numLoops) {
    if (numOthers > 0 && job.loops[numOthers - 1].dst == job.runBytes)
      rows = job.loops[--numOthers];
    if (numOthers > 0 && job.loops[numOthers - 1].src == job.runBytes)
      columns = job.loops[--numOthers];
  }
};

/// Whether the steps of the innermost loop make whole lines of the destination,
/// one behind another.
inline bool makeWholeLines(const Job &job, const char *dst) {
  if (job.numLoops == 0 || job.loops[job.numLoops - 1].dst != job.runBytes)
    return areWholeLines(job, dst);
  Job rows = job;
  rows.runBytes *= job.loops[--rows.numLoops].count;
  return areWholeLines(rows, dst);
}

/// Some lines of each row at a time, and as many rows as make a line:
///
///   source           destination
///   a0 a1 a2 ...     a0 b0 | c0 ...
///   b0 b1 b2 ...     a1 b1 | c1 ...
///   c0 ...
template <int Bytes, bool IsStreamed>
TESSERA_INLINE void copyShortRows(const ShortRuns &runs, const char *src,
                                  char *dst) {
  constexpr int64_t kInLine = kLineBytes / Bytes;
  constexpr int64_t kColumns = 4 * kInLine, kAhead = 2 * kInLine;
  const Loop rows = runs.rows, columns = runs.columns;
  bool isFar = rows.src > kShortRow || rows.src < -kShortRow;
  auto copyRows = [=](auto numRows, int64_t r, int64_t c) {
    constexpr int64_t kRows = decltype(numRows)::kCount;
    const char *from = src + r * rows.src + c * Bytes;
    char *to = dst + r * Bytes + c * columns.dst;
    for (int64_t i = 0; isFar && i < kRows; ++i)
      for (int64_t k = 0; k < kColumns * Bytes; k += kLineBytes)
        __builtin_prefetch(from + (kAhead + i) * rows.src + k);
    for (int64_t k = least(kColumns, columns.count - c); k > 0; --k) {
      TESSERA_UNROLL
      for (int64_t i = 0; i < kRows; ++i)
        if constexpr (IsStreamed)
          streamFixed<Bytes>(from + i * rows.src, to + i * Bytes);
        else
          copyFixed<Bytes>(from + i * rows.src, to + i * Bytes);
      from += Bytes;
      to += columns.dst;
    }
  };
  for (int64_t c = 0; c < columns.count; c += kColumns) {
    int64_t r = 0;
    for (; r + kInLine <= rows.count; r += kInLine)
      copyRows(Constant<kInLine>(), r, c);
    if (r < rows.count)
      copyRows(Constant<1>(), r, c);
  }
}

template <int Bytes>
void copyShortRuns(const Job &job, const char *src, char *dst) {
  const ShortRuns runs(job);
  if (job.isStreamed && makeWholeLines(job, dst))
    return walk(job.loops, runs.numOthers, src, dst,
                [=](const char *src, char *dst) {
                  copyShortRows<Bytes, true>(runs, src, dst);
                });
  // A few rows are each read from end to end.
  if (runs.columns.count > 1 && runs.rows.count > kCacheWays)
    return walk(job.loops, runs.numOthers, src, dst,
                [=](const char *src, char *dst) {
                  copyShortRows<Bytes, false>(runs, src, dst);
                });
  copyFixedRuns<Bytes>(job, src, dst);
}

void copyAnyRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.runBytes;
  if (size > kLongRun)
    return walk(job.loops, job.numLoops, src, dst,
                [size](const char *src, char *dst) {
                  __builtin_memcpy(dst, src, size);
                });
  walk(job.loops, job.numLoops, src, dst,
       [size](const char *src, char *dst) { copyRun(src, dst, size); });
}

/// Runs of more than `Bytes` and fewer than twice as many: their begin and
/// their end, which overlap.
template <int Bytes>
void copyBothEnds(const Job &job, const char *src, char *dst) {
  int64_t end = job.runBytes - Bytes;
  walk(job.loops, job.numLoops, src, dst, [end](const char *src, char *dst) {
    copyFixed<Bytes>(src, dst);
    copyFixed<Bytes>(src + end, dst + end);
  });
}

/// Of runs that are no power of two.
template <int Bytes = 4> Kernel *chooseCopyOfAny(int64_t size) {
  if constexpr (Bytes <= kLineBytes) {
    if (Bytes < size && size < 2 * Bytes)
      return copyBothEnds<Bytes>;
    return chooseCopyOfAny<2 * Bytes>(size);
  }
  return copyAnyRuns;
}

/// Long runs, and what fills the bytes behind them.
void copyLongAndFill(const Job &job, const char *src, char *dst) {
  const Filler filler(job.filler);
  int64_t size = job.runBytes, padding = job.fillBytes;
  walk(job.loops, job.numLoops, src, dst,
       [&filler, size, padding](const char *src, char *dst) {
         __builtin_memcpy(dst, src, size);
         filler.write(dst + size, padding, size);
       });
}

#if defined(__AVX512BW__)
/// A run and what fills the bytes behind it up to `all`: each register is
/// stored once, the one in which both meet, too. Past the caches if `dst` and
/// `all` are whole lines.
template <bool IsStreamed>
TESSERA_INLINE void copyAndFill(const char *src, char *dst, int64_t size,
                                int64_t all, Vector<8, kVectorBytes> filler) {
  using V = Vector<8, kVectorBytes>;
  int64_t i = 0;
  TESSERA_NO_UNROLL
  for (; i + kVectorBytes <= size; i += kVectorBytes)
    write<IsStreamed>(dst + i, load<V>(src + i));
  V next = size > i ? loadFirst<V>(src + i, size - i, filler) : filler;
  TESSERA_NO_UNROLL
  for (; i + kVectorBytes <= all; i += kVectorBytes) {
    write<IsStreamed>(dst + i, next);
    next = filler;
  }
  if (i < all)
    storeFirst(dst + i, next, all - i);
}

void copyAndFillRuns(const Job &job, const char *src, char *dst) {
  using V = Vector<8, kVectorBytes>;
  const auto filler = load<V>(Filler(job.filler).get(0));
  int64_t size = job.runBytes, all = size + job.fillBytes;
  if (!job.isStreamed || !isOnLine(all))
    return walk(job.loops, job.numLoops, src, dst,
                [size, all, filler](const char *src, char *dst) {
                  copyAndFill<false>(src, dst, size, all, filler);
                });
  walk(job.loops, job.numLoops, src, dst,
       [size, all, filler](const char *src, char *dst) {
         if (bytesToLine(dst) == 0)
           copyAndFill<true>(src, dst, size, all, filler);
         else
           copyAndFill<false>(src, dst, size, all, filler);
       });
}

Kernel *chooseCopyAndFill(const Job &) { return copyAndFillRuns; }
#else
/// A run past the caches, and padding behind it. The line in which that begins
/// goes through them.
TESSERA_INLINE void streamAndFill(const char *src, char *dst, int64_t size,
                                  int64_t padding, const Filler &filler) {
  streamRun(src, dst, size);
  filler.streamLines(dst + size, padding);
}

/// Whole registers of a run, then those of `padding`, which begins with the
/// register in which the run ends; at last the run's end. Lines that miss the
/// caches come fastest one behind the other. A shorter run than a register has
/// `Part` bytes at least, and fewer than twice as many.
template <int Part>
TESSERA_INLINE void copyAndFill(const char *src, char *dst, int64_t size,
                                const LongFiller &padding) {
  TESSERA_NO_UNROLL
  for (int64_t i = 0; i + kVectorBytes <= size; i += kVectorBytes)
    copyFixed<kVectorBytes>(src + i, dst + i);
  padding.write(dst);
  if constexpr (Part < kVectorBytes)
    copyFixed<Part>(src, dst);
  copyFixed<Part>(src + size - Part, dst + size - Part);
}

template <int Part>
void copyAndFillLong(const Job &job, const char *src, char *dst) {
  int64_t size = job.runBytes, whole = size / kVectorBytes * kVectorBytes;
  LongFiller padding(Filler(job.filler), whole, size - whole + job.fillBytes);
  walk(job.loops, job.numLoops, src, dst, [=](const char *src, char *dst) {
    copyAndFill<Part>(src, dst, size, padding);
  });
}

void copyAndFillRuns(const Job &job, const char *src, char *dst) {
  const Filler filler(job.filler);
  int64_t size = job.runBytes, padding = job.fillBytes;
  if (job.isStreamed)
    return walk(job.loops, job.numLoops, src, dst,
                [&filler, size, padding](const char *src, char *dst) {
                  streamAndFill(src, dst, size, padding, filler);
                });
  walk(job.loops, job.numLoops, src, dst,
       [&filler, size, padding](const char *src, char *dst) {
         copyRun(src, dst, size);
         filler.write(dst + size, padding, size);
       });
}

template <int Part = kVectorBytes> Kernel *chooseCopyAndFillLong(int64_t size) {
  if constexpr (Part > 1)
    if (size < Part)
      return chooseCopyAndFillLong<Part / 2>(size);
  return copyAndFillLong<Part>;
}

Kernel *chooseCopyAndFill(const Job &job) {
  int64_t end = job.runBytes % kVectorBytes + job.fillBytes;
  return job.isStreamed || end < kVectorBytes
             ? copyAndFillRuns
             : chooseCopyAndFillLong(job.runBytes);
}
#endif

inline Kernel *chooseCopy(const Job &job) {
  if (job.fillBytes > 0)
    return !job.isStreamed && job.runBytes > kLongRun ? copyLongAndFill
                                                      : chooseCopyAndFill(job);
  if (job.isStreamed && job.runBytes > kLineBytes)
    return streamRuns;
  switch (job.runBytes) {
  case 1:
    return copyFixedRuns<1>;
  case 2:
    return copyFixedRuns<2>;
  case 4:
    return copyFixedRuns<4>;
  case 8:
    return copyFixedRuns<8>;
  case 16:
    return copyFixedRuns<16>;
  case 32:
    return copyShortRuns<32>;
  case 64:
    return copyShortRuns<64>;
  case 128:
    return copyFixedRuns<128>;
  case 256:
    return copyFixedRuns<256>;
  case 512:
    return copyFixedRuns<512>;
  default:
    return chooseCopyOfAny(job.runBytes);
  }
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_COPYKERNELS_H
