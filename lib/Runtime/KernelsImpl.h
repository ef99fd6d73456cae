//===- KernelsImpl.h - The kernels, for registers of one width --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included once by each of Kernels*.cpp, with TESSERA_VECTOR_BYTES and
// TESSERA_KERNEL_TABLE defined. Vectors are those that clang and g++ have for
// all processors; nothing here names an instruction, but for stores that bypass
// the caches.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_KERNELSIMPL_H
#define TESSERA_LIB_RUNTIME_KERNELSIMPL_H

#include "Kernels.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tessera::runtime {
namespace {

#define TESSERA_INLINE __attribute__((always_inline)) inline
// Loops over registers, which have to stay in registers.
#if defined(__clang__)
#define TESSERA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TESSERA_UNROLL _Pragma("GCC unroll 64")
#endif

constexpr int kVectorBytes = TESSERA_VECTOR_BYTES;
/// Lanes within which registers are unpacked on all processors.
constexpr int kLaneBytes = 16;

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

template <int RunBytes> struct RunType;
template <> struct RunType<1> {
  using Type = uint8_t;
};
template <> struct RunType<2> {
  using Type = uint16_t;
};
template <> struct RunType<4> {
  using Type = uint32_t;
};
template <> struct RunType<8> {
  using Type = uint64_t;
};

/// `Bytes` bytes as runs; runs of 16 bytes are moved, never shuffled.
template <int RunBytes, int Bytes> struct VectorOf {
  static constexpr int kSize = RunBytes > 8 ? 8 : RunBytes;
  using Element = typename RunType<kSize>::Type;
  typedef Element Type __attribute__((vector_size(Bytes)));
};
template <int RunBytes, int Bytes>
using Vector = typename VectorOf<RunBytes, Bytes>::Type;
using Bytes16 = Vector<8, 16>;

template <typename T> TESSERA_INLINE T load(const char *from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T> TESSERA_INLINE void store(char *to, T value) {
  __builtin_memcpy(to, &value, sizeof(T));
}

/// Stores to an aligned address past the caches.
template <typename T> TESSERA_INLINE void stream(char *to, T value) {
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(value, reinterpret_cast<T *>(to));
#elif defined(__x86_64__)
  const char *bytes = reinterpret_cast<const char *>(&value);
  for (size_t i = 0; i < sizeof(T); i += kLaneBytes)
    _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                     load<__m128i>(bytes + i));
#else
  store(to, value);
#endif
}

template <bool IsStreamed, typename T>
TESSERA_INLINE void write(char *to, T value) {
  if constexpr (IsStreamed)
    stream(to, value);
  else
    store(to, value);
}

/// Streamed stores are seen by others behind this.
TESSERA_INLINE void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// The numbers from 0 to below `Count`.
template <int... I> struct Indices {};
#if __has_builtin(__make_integer_seq)
template <typename, int... I> using IndicesOf = Indices<I...>;
template <int Count>
using FirstIndices = __make_integer_seq<IndicesOf, int, Count>;
#else
template <int Count> using FirstIndices = Indices<__integer_pack(Count)...>;
#endif

/// Runs of `a` and `b` in the order of Order::at.
template <typename Order, typename V, int... I>
TESSERA_INLINE V shuffle(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, Order::at(I)...);
}
template <typename Order, int Count, typename V>
TESSERA_INLINE V shuffle(V a, V b) {
  return shuffle<Order>(a, b, FirstIndices<Count>());
}

/// Runs of two registers in turns, within each group of `Group` runs; the
/// first or the second half of them.
template <int Group, int Count, bool IsHigh> struct Unpack {
  static constexpr int at(int i) {
    int k = i % Group;
    return i / Group * Group + k / 2 + (IsHigh ? Group / 2 : 0) +
           (k % 2 ? Count : 0);
  }
};
/// Every other run of two registers.
template <bool IsOdd> struct EveryOther {
  static constexpr int at(int i) { return 2 * i + (IsOdd ? 1 : 0); }
};

/// Rounds of unpacking within groups of `Group` runs, of registers of `Count`
/// runs: run i of register k becomes run k of register i, in each group of
/// as many runs as registers; longer groups become one run.
template <int Group, int Count, int N, typename V>
TESSERA_INLINE void unpackRegisters(V (&rows)[N]) {
  if constexpr (N > 1) {
    TESSERA_UNROLL
    for (int round = 1; round < N; round *= 2) {
      V mixed[N];
      TESSERA_UNROLL
      for (int k = 0; k < N / 2; ++k) {
        V a = rows[k], b = rows[k + N / 2];
        mixed[2 * k] = shuffle<Unpack<Group, Count, false>, Count>(a, b);
        mixed[2 * k + 1] = shuffle<Unpack<Group, Count, true>, Count>(a, b);
      }
      TESSERA_UNROLL
      for (int k = 0; k < N; ++k)
        rows[k] = mixed[k];
    }
  }
}

/// The same of runs of a lane, in words of 8 bytes.
template <int Lanes, bool IsHigh> struct UnpackLanes {
  static constexpr int at(int i) {
    return Unpack<Lanes, Lanes, IsHigh>::at(i / 2) * 2 + i % 2;
  }
};

/// Whether there is an instruction that shuffles bytes across lanes.
#if defined(__AVX512VBMI__)
constexpr bool kHasByteShuffles = true;
#else
constexpr bool kHasByteShuffles = false;
#endif

/// Runs of N registers in turns: register k becomes the k-th part of them all.
/// Bytes are unpacked within lanes, and then lanes, where no instruction does
/// both.
template <int RunBytes, int N, typename V>
TESSERA_INLINE void interleaveRegisters(V (&rows)[N]) {
  constexpr int kRuns = sizeof(V) / RunBytes, kLanes = sizeof(V) / kLaneBytes;
  if constexpr (RunBytes > 1 || kLanes == 1 || kHasByteShuffles) {
    unpackRegisters<kRuns, kRuns>(rows);
  } else {
    using Words = Vector<8, sizeof(V)>;
    unpackRegisters<kLaneBytes, kRuns>(rows);
    TESSERA_UNROLL
    for (int round = 1; round < N; round *= 2) {
      V mixed[N];
      TESSERA_UNROLL
      for (int k = 0; k < N / 2; ++k) {
        auto a = reinterpret_cast<Words>(rows[k]);
        auto b = reinterpret_cast<Words>(rows[k + N / 2]);
        mixed[2 * k] = reinterpret_cast<V>(
            shuffle<UnpackLanes<kLanes, false>, kLanes * 2>(a, b));
        mixed[2 * k + 1] = reinterpret_cast<V>(
            shuffle<UnpackLanes<kLanes, true>, kLanes * 2>(a, b));
      }
      TESSERA_UNROLL
      for (int k = 0; k < N; ++k)
        rows[k] = mixed[k];
    }
  }
}

/// The way back: register k becomes every N-th run, from number k on.
template <int Count, int N, typename V>
TESSERA_INLINE void deinterleaveRegisters(V (&runs)[N]) {
  TESSERA_UNROLL
  for (int round = 1; round < N; round *= 2) {
    V split[N];
    TESSERA_UNROLL
    for (int k = 0; k < N / 2; ++k) {
      V a = runs[2 * k], b = runs[2 * k + 1];
      split[k] = shuffle<EveryOther<false>, Count>(a, b);
      split[k + N / 2] = shuffle<EveryOther<true>, Count>(a, b);
    }
    TESSERA_UNROLL
    for (int k = 0; k < N; ++k)
      runs[k] = split[k];
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Calls `body(src, dst)` at each step of the loops.
template <typename Body>
void walk(const Loop *loops, size_t count, const char *src, char *dst,
          const Body &body) {
  if (count == 0)
    return body(src, dst);
  const Loop loop = loops[0];
  if (count == 1) {
    for (int64_t i = 0; i < loop.count; ++i)
      body(src + i * loop.src, dst + i * loop.dst);
    return;
  }
  for (int64_t i = 0; i < loop.count; ++i)
    walk(loops + 1, count - 1, src + i * loop.src, dst + i * loop.dst, body);
}

TESSERA_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

TESSERA_INLINE bool isOnLine(int64_t distance) {
  return distance % kLineBytes == 0;
}
/// Bytes up to the next line.
TESSERA_INLINE int64_t bytesToLine(const char *address) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(address) %
                              kLineBytes);
}

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
  for (int64_t i = 0; i < size; ++i)
    dst[i] = src[i];
}

/// The same past the caches, but for parts of lines at the ends.
TESSERA_INLINE void streamRun(const char *src, char *dst, int64_t size) {
  int64_t head = least(bytesToLine(dst), size);
  copyRun(src, dst, head);
  int64_t end = size - (size - head) % kLineBytes;
  using V = Vector<8, kVectorBytes>;
  for (int64_t i = head; i < end; i += kVectorBytes)
    stream(dst + i, load<V>(src + i));
  copyRun(src + end, dst + end, size - end);
}

/// Runs longer than this are left to the C library.
constexpr int64_t kLongRun = 4096;

template <int Bytes>
void copyFixedRuns(const Job &job, const char *src, char *dst) {
  walk(job.loops, job.numLoops, src, dst,
       [](const char *src, char *dst) { copyFixed<Bytes>(src, dst); });
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

void copyRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.runBytes;
  if (job.isStreamed && size >= 2 * kLineBytes) {
    walk(job.loops, job.numLoops, src, dst,
         [size](const char *src, char *dst) { streamRun(src, dst, size); });
    return fence();
  }
  switch (size) {
  case 1:
    return copyFixedRuns<1>(job, src, dst);
  case 2:
    return copyFixedRuns<2>(job, src, dst);
  case 4:
    return copyFixedRuns<4>(job, src, dst);
  case 8:
    return copyFixedRuns<8>(job, src, dst);
  case 16:
    return copyFixedRuns<16>(job, src, dst);
  case 32:
    return copyFixedRuns<32>(job, src, dst);
  case 64:
    return copyFixedRuns<64>(job, src, dst);
  case 128:
    return copyFixedRuns<128>(job, src, dst);
  case 256:
    return copyFixedRuns<256>(job, src, dst);
  case 512:
    return copyFixedRuns<512>(job, src, dst);
  default:
    return copyAnyRuns(job, src, dst);
  }
}

//===----------------------------------------------------------------------===//
// Transposes of tiles
//===----------------------------------------------------------------------===//

/// Sixteen bytes of each of `Lanes` rows, `pitch` apart, in one register.
template <int RunBytes, int Bytes>
TESSERA_INLINE Vector<RunBytes, Bytes> loadLanes(const char *src,
                                                 int64_t pitch) {
  Bytes16 lanes[Bytes / kLaneBytes];
  TESSERA_UNROLL
  for (int i = 0; i < Bytes / kLaneBytes; ++i)
    lanes[i] = load<Bytes16>(src + i * pitch);
  return load<Vector<RunBytes, Bytes>>(reinterpret_cast<const char *>(lanes));
}

/// A tile of `Bytes` bytes of each column: register k has row k of each lane,
/// and rounds of unpacking within lanes make it column k.
template <int RunBytes, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeTile(const char *src, int64_t srcPitch, char *dst,
                                  int64_t dstPitch) {
  constexpr int kColumns = kLaneBytes / RunBytes, kRuns = Bytes / RunBytes;
  using V = Vector<RunBytes, Bytes>;
  V rows[kColumns];
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    rows[k] =
        loadLanes<RunBytes, Bytes>(src + k * srcPitch, kColumns * srcPitch);
  unpackRegisters<kColumns, kRuns>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    write<IsStreamed>(dst + k * dstPitch, rows[k]);
}

/// Some rows and columns: where they begin, and how far apart they lie.
struct Block {
  const char *src;
  char *dst;
  int64_t rows, columns;
  int64_t srcPitch, dstPitch;
};

template <int RunBytes>
TESSERA_INLINE void transposeOneByOne(const Block &block) {
  for (int64_t c = 0; c < block.columns; ++c)
    for (int64_t r = 0; r < block.rows; ++r)
      copyFixed<RunBytes>(block.src + r * block.srcPitch + c * RunBytes,
                          block.dst + c * block.dstPitch + r * RunBytes);
}

/// Runs of a line.
template <int RunBytes> constexpr int64_t kLineRuns = kLineBytes / RunBytes;

/// Whether rows of a line each would evict one another from the first-level
/// cache: pages begin at one set, and it has eight ways or a few more.
template <int RunBytes> TESSERA_INLINE bool isInOneSet(int64_t pitch) {
  constexpr int64_t kPage = 4096, kWays = 8;
  int64_t sets = pitch == 0 ? kPage : kPage / (pitch & -pitch);
  return sets == 0 || kLineRuns<RunBytes> / sets > kWays;
}

/// Tiles over all rows, of a line of each or, where `Tiles` is 1, of 16 bytes.
template <int RunBytes, int Bytes, bool IsStreamed, int Tiles>
TESSERA_INLINE void transposeRows(const Block &block) {
  constexpr int64_t kRows = Bytes / RunBytes, kColumns = kLaneBytes / RunBytes;
  for (int64_t row = 0; row < block.rows; row += kRows) {
    int64_t r = least(row, block.rows - kRows);
    for (int i = 0; i < Tiles; ++i)
      transposeTile<RunBytes, Bytes, IsStreamed>(
          block.src + r * block.srcPitch + i * kLaneBytes, block.srcPitch,
          block.dst + i * kColumns * block.dstPitch + r * RunBytes,
          block.dstPitch);
  }
}

constexpr int64_t kPrefetchBytes = 2 * kLineBytes;

/// Prefetches a line of each of some rows to the second-level cache: the first
/// one has room for what is used at once.
TESSERA_INLINE void prefetchRows(const char *src, int64_t pitch, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    __builtin_prefetch(src + r * pitch, /*rw=*/0, /*locality=*/2);
}

/// A line of each row, and a line of each column at most.
template <int RunBytes, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeLines(Block block, bool isGathered) {
  char buffer[kLineRuns<RunBytes> * kLineBytes];
  // The line after the next of each row: more rows than a processor foresees.
  if ((IsStreamed || isGathered) && RunBytes > 1)
    prefetchRows(block.src + kPrefetchBytes, block.srcPitch, block.rows);
  if (isGathered) {
    for (int64_t r = 0; r < block.rows; ++r)
      copyFixed<kLineBytes>(block.src + r * block.srcPitch,
                            buffer + r * kLineBytes);
    block.src = buffer;
    block.srcPitch = kLineBytes;
  }
  transposeRows<RunBytes, Bytes, IsStreamed, kLineBytes / kLaneBytes>(block);
}

/// Tiles of `Bytes` bytes of each column. The last ones overlap those before
/// where sides are no multiple; both sides have a whole tile.
template <int RunBytes, int Bytes, bool IsStreamed>
void transposeTiles(const Block &whole) {
  constexpr int64_t kColumns = kLaneBytes / RunBytes,
                    kLine = kLineRuns<RunBytes>;
  bool isGathered = isInOneSet<RunBytes>(whole.srcPitch);
  Block block = whole;
  auto moveTo = [&](int64_t row, int64_t column) {
    block.src = whole.src + row * whole.srcPitch + column * RunBytes;
    block.dst = whole.dst + column * whole.dstPitch + row * RunBytes;
  };
  int64_t column = 0;
  for (; column + kLine <= whole.columns; column += kLine) {
    for (int64_t row = 0; row < whole.rows; row += kLine) {
      int64_t r = least(row, whole.rows - Bytes / RunBytes);
      block.rows = least(kLine, whole.rows - r);
      moveTo(r, column);
      transposeLines<RunBytes, Bytes, IsStreamed>(block, isGathered);
    }
  }
  block.rows = whole.rows;
  for (; column < whole.columns; column += kColumns) {
    moveTo(0, least(column, whole.columns - kColumns));
    transposeRows<RunBytes, Bytes, IsStreamed, 1>(block);
  }
}

/// By the widest tiles that there is room for.
template <int RunBytes> TESSERA_INLINE void transposeBlock(const Block &block) {
  if (block.columns * RunBytes < kLaneBytes ||
      block.rows * RunBytes < kLaneBytes)
    return transposeOneByOne<RunBytes>(block);
  if (block.rows * RunBytes >= kVectorBytes)
    return transposeTiles<RunBytes, kVectorBytes, false>(block);
  if constexpr (kVectorBytes > 32)
    if (block.rows * RunBytes >= 32)
      return transposeTiles<RunBytes, 32, false>(block);
  transposeTiles<RunBytes, kLaneBytes, false>(block);
}

/// Bytes of a block along the destination and along the source, that both are
/// in the first-level cache.
constexpr int64_t kBlockRowBytes = 256, kBlockColumnBytes = 128;
/// As much of a side as a block takes; what is left is no less than `smallest`.
TESSERA_INLINE int64_t takeBlock(int64_t left, int64_t block,
                                 int64_t smallest) {
  return left - block < smallest ? left : block;
}

/// In blocks that fit into the first-level cache, along the destination.
template <int RunBytes> void transposeBlocks(const Block &whole) {
  constexpr int64_t kRows = kBlockRowBytes / RunBytes;
  constexpr int64_t kColumns = kBlockColumnBytes / RunBytes;
  Block block = whole;
  for (int64_t c = 0; c < whole.columns; c += block.columns) {
    block.columns =
        takeBlock(whole.columns - c, kColumns, kLaneBytes / RunBytes);
    for (int64_t r = 0; r < whole.rows; r += block.rows) {
      block.rows = takeBlock(whole.rows - r, kRows, kVectorBytes / RunBytes);
      block.src = whole.src + r * whole.srcPitch + c * RunBytes;
      block.dst = whole.dst + c * whole.dstPitch + r * RunBytes;
      transposeBlock<RunBytes>(block);
    }
  }
}

/// Rows of whole lines of the destination, those of one line at a time along
/// the source, or of two where rows are gathered.
template <int RunBytes> void streamRows(const Block &whole) {
  int64_t rows =
      kLineRuns<RunBytes> * (isInOneSet<RunBytes>(whole.srcPitch) ? 2 : 1);
  Block block = whole;
  for (int64_t r = 0; r < whole.rows; r += rows) {
    block.rows = least(rows, whole.rows - r);
    block.src = whole.src + r * whole.srcPitch;
    block.dst = whole.dst + r * RunBytes;
    transposeTiles<RunBytes, kVectorBytes, true>(block);
  }
}

/// Columns of which the last line is kept, and their lines.
constexpr int64_t kCarriedColumns = 512, kWindowBytes = 2 * kLineBytes;

/// Columns that begin anywhere in a line. As many rows as a line has are
/// transposed into a window for each column, behind those before them; each
/// window then has a whole line of the destination, which is streamed:
///
///   window   | 5  6  7  8 | 9 10 11 12 |
///   line            | 7  8  9 10 |
template <int RunBytes> class CarriedColumns {
public:
  CarriedColumns(const Block &whole) : whole(whole) {}

  void run() {
    int64_t blocks = whole.rows / kLineRuns<RunBytes>;
    for (int64_t i = 0; i < blocks; ++i) {
      transposeRows(i);
      for (int64_t c = 0; c < whole.columns; ++c)
        writeLine(c, i);
    }
    for (int64_t c = 0; c < whole.columns; ++c)
      writeEnd(c, blocks);
  }

private:
  char *getWindow(int64_t c) { return windows + c * kWindowBytes; }
  char *getColumn(int64_t c) const { return whole.dst + c * whole.dstPitch; }

  /// Block `i` of rows, into the second halves of the windows.
  void transposeRows(int64_t i) {
    constexpr int64_t kLine = kLineRuns<RunBytes>;
    Block block = whole;
    block.dstPitch = kWindowBytes;
    block.rows = kLine;
    const char *src = whole.src + i * kLine * whole.srcPitch;
    for (int64_t c = 0; c < whole.columns; c += block.columns) {
      block.columns =
          takeBlock(whole.columns - c, kLine, kLaneBytes / RunBytes);
      block.src = src + c * RunBytes;
      block.dst = getWindow(c) + kLineBytes;
      prefetchRows(block.src + kLine * whole.srcPitch, whole.srcPitch, kLine);
      transposeBlock<RunBytes>(block);
    }
  }

  /// The line that ends in block `i`, or what comes before the first one.
  TESSERA_INLINE void writeLine(int64_t c, int64_t i) {
    using V = Vector<8, kVectorBytes>;
    char *window = getWindow(c), *dst = getColumn(c) + i * kLineBytes;
    int64_t head = bytesToLine(dst);
    if (i == 0 && head > 0) {
      copyRun(window + kLineBytes, dst, head);
    } else {
      const char *line = window + (head > 0 ? head : kLineBytes);
      dst += line - window - kLineBytes;
      TESSERA_UNROLL
      for (int k = 0; k < kLineBytes; k += kVectorBytes)
        stream(dst + k, load<V>(line + k));
    }
    copyFixed<kLineBytes>(window + kLineBytes, window);
  }

  /// What is left of the last block.
  void writeEnd(int64_t c, int64_t blocks) {
    char *dst = getColumn(c) + blocks * kLineBytes;
    int64_t head = bytesToLine(dst);
    if (head > 0)
      copyRun(getWindow(c) + head, dst + head - kLineBytes, kLineBytes - head);
  }

  const Block &whole;
  alignas(kLineBytes) char windows[kCarriedColumns * kWindowBytes];
};

template <int RunBytes> void carryRows(const Block &whole) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  Block block = whole;
  block.rows = whole.rows / kLine * kLine;
  for (int64_t c = 0; block.rows > 0 && c < whole.columns; c += block.columns) {
    block.columns = least(kCarriedColumns, whole.columns - c);
    block.src = whole.src + c * RunBytes;
    block.dst = whole.dst + c * whole.dstPitch;
    CarriedColumns<RunBytes>(block).run();
  }
  block = whole;
  block.rows = whole.rows % kLine;
  block.src += (whole.rows - block.rows) * whole.srcPitch;
  block.dst += (whole.rows - block.rows) * RunBytes;
  transposeBlocks<RunBytes>(block);
}

/// Rows up to where lines begin and behind the last whole one go through the
/// caches.
template <int RunBytes> void transposeStreamed(const Block &whole) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  int64_t head = bytesToLine(whole.dst);
  int64_t lines = whole.rows - head / RunBytes;
  if (!isOnLine(whole.dstPitch) || head % RunBytes != 0 || lines < kLine ||
      whole.columns * RunBytes < kLaneBytes)
    return carryRows<RunBytes>(whole);
  auto part = [&](int64_t begin, int64_t count) {
    Block block = whole;
    block.src += begin * whole.srcPitch;
    block.dst += begin * RunBytes;
    block.rows = count;
    return block;
  };
  head /= RunBytes;
  lines = lines / kLine * kLine;
  transposeBlocks<RunBytes>(part(0, head));
  streamRows<RunBytes>(part(head, lines));
  transposeBlocks<RunBytes>(part(head + lines, whole.rows - head - lines));
}

//===----------------------------------------------------------------------===//
// Interleaves: few rows, or few columns
//===----------------------------------------------------------------------===//

/// A register of each of `Ways` rows, run by run in turns.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTile(const char *src, int64_t pitch, char *dst) {
  using V = Vector<RunBytes, Bytes>;
  V rows[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    rows[k] = load<V>(src + k * pitch);
  interleaveRegisters<RunBytes>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * Bytes, rows[k]);
}

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTile(const char *src, char *dst,
                                     int64_t pitch) {
  constexpr int kRuns = Bytes / RunBytes;
  using V = Vector<RunBytes, Bytes>;
  V runs[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    runs[k] = load<V>(src + k * Bytes);
  deinterleaveRegisters<kRuns>(runs);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * pitch, runs[k]);
}

/// Rows of at least a register.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTiles(const Block &block) {
  constexpr int64_t kRuns = Bytes / RunBytes;
  auto moveTile = [&](int64_t c) {
    interleaveTile<RunBytes, Bytes, Ways, IsStreamed>(
        block.src + c * RunBytes, block.srcPitch,
        block.dst + c * Ways * RunBytes);
  };
  int64_t c = 0;
  for (; c + 4 * kRuns <= block.columns; c += 4 * kRuns) {
    TESSERA_UNROLL
    for (int i = 0; i < 4; ++i)
      moveTile(c + i * kRuns);
  }
  for (; c < block.columns; c += kRuns)
    moveTile(least(c, block.columns - kRuns));
}

template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTiles(const Block &block) {
  constexpr int64_t kRuns = Bytes / RunBytes;
  auto moveTile = [&](int64_t r) {
    deinterleaveTile<RunBytes, Bytes, Ways, IsStreamed>(
        block.src + r * Ways * RunBytes, block.dst + r * RunBytes,
        block.dstPitch);
  };
  int64_t r = 0;
  for (; r + 4 * kRuns <= block.rows; r += 4 * kRuns) {
    TESSERA_UNROLL
    for (int i = 0; i < 4; ++i)
      moveTile(r + i * kRuns);
  }
  for (; r < block.rows; r += kRuns)
    moveTile(least(r, block.rows - kRuns));
}

template <int RunBytes, int Ways>
TESSERA_INLINE void interleave(const Block &block, bool isStreamed) {
  int64_t size = block.columns * RunBytes;
  // A run of whole lines is streamed; others end in a register that overlaps.
  if (isStreamed && size % kVectorBytes == 0 && bytesToLine(block.dst) == 0 &&
      isOnLine(size * Ways))
    return interleaveTiles<RunBytes, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
  if (size >= kLaneBytes)
    return interleaveTiles<RunBytes, kLaneBytes, Ways, false>(block);
  transposeOneByOne<RunBytes>(block);
}

template <int RunBytes, int Ways>
TESSERA_INLINE void deinterleave(const Block &block, bool isStreamed) {
  int64_t size = block.rows * RunBytes;
  if (isStreamed && isOnLine(size) && bytesToLine(block.dst) == 0 &&
      isOnLine(block.dstPitch))
    return deinterleaveTiles<RunBytes, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return deinterleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
  if (size >= kLaneBytes)
    return deinterleaveTiles<RunBytes, kLaneBytes, Ways, false>(block);
  transposeOneByOne<RunBytes>(block);
}

//===----------------------------------------------------------------------===//
// The choice among them
//===----------------------------------------------------------------------===//

/// Calls `body` with a block for each step of the loops.
template <typename Body>
TESSERA_INLINE void walkBlocks(const Job &job, const char *src, char *dst,
                               const Body &body) {
  Block block = {src,
                 dst,
                 job.rows.count,
                 job.columns.count,
                 job.rows.src,
                 job.columns.dst};
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    Block at = block;
    at.src = src;
    at.dst = dst;
    body(at);
  });
}

/// Runs of a row of a tile, in most layouts: loops over so many have no end to
/// look for.
constexpr int64_t kTileRuns = 128;

template <int RunBytes, int Ways>
void interleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  if (!isStreamed && job.columns.count == kTileRuns)
    return walkBlocks(job, src, dst, [](Block block) {
      block.columns = kTileRuns;
      interleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
    });
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    interleave<RunBytes, Ways>(block, isStreamed);
  });
  if (isStreamed)
    fence();
}

template <int RunBytes, int Ways>
void deinterleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  if (!isStreamed && job.rows.count == kTileRuns)
    return walkBlocks(job, src, dst, [](Block block) {
      block.rows = kTileRuns;
      deinterleaveTiles<RunBytes, kVectorBytes, Ways, false>(block);
    });
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    deinterleave<RunBytes, Ways>(block, isStreamed);
  });
  if (isStreamed)
    fence();
}

template <int RunBytes>
void transposeRuns(const Job &job, const char *src, char *dst) {
  if (!job.isStreamed)
    return walkBlocks(job, src, dst, [](const Block &block) {
      transposeBlocks<RunBytes>(block);
    });
  walkBlocks(job, src, dst,
             [](const Block &block) { transposeStreamed<RunBytes>(block); });
  fence();
}

template <int RunBytes>
void transposeOf(const Job &job, const char *src, char *dst) {
  if constexpr (RunBytes <= 8) {
    if (job.columns.dst == job.rows.count * RunBytes) {
      if (job.rows.count == 2)
        return interleaveRuns<RunBytes, 2>(job, src, dst);
      if (job.rows.count == 4)
        return interleaveRuns<RunBytes, 4>(job, src, dst);
    }
    if (job.rows.src == job.columns.count * RunBytes) {
      if (job.columns.count == 2)
        return deinterleaveRuns<RunBytes, 2>(job, src, dst);
      if (job.columns.count == 4)
        return deinterleaveRuns<RunBytes, 4>(job, src, dst);
    }
  }
  transposeRuns<RunBytes>(job, src, dst);
}

void transpose(const Job &job, const char *src, char *dst) {
  switch (job.runBytes) {
  case 1:
    return transposeOf<1>(job, src, dst);
  case 2:
    return transposeOf<2>(job, src, dst);
  case 4:
    return transposeOf<4>(job, src, dst);
  case 8:
    return transposeOf<8>(job, src, dst);
  default:
    return transposeOf<16>(job, src, dst);
  }
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Bits of a register of bytes, shifted as those of a part are. What pairs of
/// bytes shift into one another is not in the part's mask.
TESSERA_INLINE Vector<1, kVectorBytes> shiftBits(Vector<1, kVectorBytes> bytes,
                                                 int shift) {
  auto pairs = reinterpret_cast<Vector<2, kVectorBytes>>(bytes);
  if (shift > 0)
    pairs = pairs << static_cast<uint16_t>(shift);
  else if (shift < 0)
    pairs = pairs >> static_cast<uint16_t>(-shift);
  return reinterpret_cast<Vector<1, kVectorBytes>>(pairs);
}

/// A byte of a step that `NumParts` parts make, with their masks in registers.
template <int NumParts> struct PackedByte {
  using V = Vector<1, kVectorBytes>;

  PackedByte() = default;
  PackedByte(const ByteParts &byte, int64_t row) {
    for (int i = 0; i < NumParts; ++i) {
      src[i] = row + byte.parts[i].src;
      shift[i] = byte.parts[i].shift;
      mask[i] = V{} + byte.parts[i].mask;
    }
  }

  /// A register of it, whose parts `loadPart` loads. The sign of an element
  /// that has a byte of its own fills what is above it.
  template <typename LoadPart>
  TESSERA_INLINE V pack(V sign, const LoadPart &loadPart) const {
    V value = shiftBits(loadPart(src[0]), shift[0]) & mask[0];
    if constexpr (NumParts == 1)
      return (value ^ sign) - sign;
    TESSERA_UNROLL
    for (int i = 1; i < NumParts; ++i)
      value |= shiftBits(loadPart(src[i]), shift[i]) & mask[i];
    return value;
  }

  int64_t src[NumParts];
  int shift[NumParts];
  V mask[NumParts];
};

/// The sign of elements of so many bits, in each byte.
TESSERA_INLINE Vector<1, kVectorBytes> getSigns(int signedBits) {
  auto sign = static_cast<uint8_t>(signedBits ? 1 << (signedBits - 1) : 0);
  return Vector<1, kVectorBytes>{} + sign;
}

/// The first or the last of each `Stride` bytes of as many registers.
template <int Stride, bool IsLast = false>
TESSERA_INLINE Vector<1, kVectorBytes> loadStrided(const char *src) {
  using V = Vector<1, kVectorBytes>;
  V bytes[Stride];
  TESSERA_UNROLL
  for (int i = 0; i < Stride; ++i)
    bytes[i] = load<V>(src + i * kVectorBytes);
  TESSERA_UNROLL
  for (int left = Stride / 2; left > 0; left /= 2) {
    TESSERA_UNROLL
    for (int i = 0; i < left; ++i)
      bytes[i] = shuffle<EveryOther<IsLast>, kVectorBytes>(bytes[2 * i],
                                                           bytes[2 * i + 1]);
  }
  return bytes[0];
}

/// Fewer bytes than a register: through buffers, so that no byte of others is
/// touched.
template <int Stride, int NumParts>
__attribute__((noinline)) void packShortRun(const PackedByte<NumParts> &byte,
                                            const char *src, char *dst,
                                            int64_t count, int signedBits) {
  char buffer[kVectorBytes * Stride] = {};
  auto value = byte.pack(getSigns(signedBits), [&](int64_t part) {
    __builtin_memcpy(buffer, src + part, (count - 1) * Stride + 1);
    return loadStrided<Stride>(buffer);
  });
  __builtin_memcpy(dst, &value, count);
}

/// Bytes `Stride` apart in the source. The last register overlaps the one
/// before, and ends with the last byte.
template <int Stride, int NumParts>
TESSERA_INLINE void packRun(const PackedByte<NumParts> &byte, const char *src,
                            char *dst, int64_t count, int signedBits) {
  if (count < kVectorBytes + (Stride > 1 ? 1 : 0))
    return packShortRun<Stride>(byte, src, dst, count, signedBits);
  auto sign = getSigns(signedBits);
  int64_t i = 0, last = count - kVectorBytes;
  for (; i < last; i += kVectorBytes)
    store(dst + i, byte.pack(sign, [&](int64_t part) {
      return loadStrided<Stride>(src + part + i * Stride);
    }));
  store(dst + last, byte.pack(sign, [&](int64_t part) {
    return loadStrided<Stride, true>(src + part + last * Stride - (Stride - 1));
  }));
}

/// Byte by byte: strides that no shuffle has, and other numbers of parts.
inline void packOneByOne(const ByteParts &byte, const char *src, int64_t stride,
                         char *dst, int64_t count, int signedBits) {
  unsigned sign = signedBits ? 1U << (signedBits - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    unsigned value = 0;
    for (size_t k = 0; k < byte.numParts; ++k) {
      const BitPart &part = byte.parts[k];
      unsigned bits = static_cast<uint8_t>(src[part.src + i * stride]);
      value |= (part.shift < 0 ? bits >> -part.shift : bits << part.shift) &
               part.mask;
    }
    dst[i] = static_cast<char>((value ^ sign) - sign);
  }
}

template <int NumParts>
TESSERA_INLINE void packParts(const ByteParts &byte, const char *src,
                              int64_t stride, char *dst, int64_t count,
                              int signedBits) {
  const PackedByte<NumParts> packed(byte, 0);
  switch (stride) {
  case 1:
    return packRun<1>(packed, src, dst, count, signedBits);
  case 2:
    return packRun<2>(packed, src, dst, count, signedBits);
  case 4:
    return packRun<4>(packed, src, dst, count, signedBits);
  default:
    return packRun<8>(packed, src, dst, count, signedBits);
  }
}

/// Bytes `begin`, `begin` + `stride`, ... of the source packed into `dst`.
/// Where an element of `signedBits` is all of a byte, its sign fills the rest.
inline void packRun(const ByteParts &byte, const char *src, int64_t stride,
                    char *dst, int64_t count, int signedBits) {
  constexpr int64_t kShort = 8;
  bool isShuffled = stride == 1 || stride == 2 || stride == 4 || stride == 8;
  switch (count < kShort || !isShuffled ? 0 : byte.numParts) {
  case 1:
    return packParts<1>(byte, src, stride, dst, count, signedBits);
  case 2:
    return packParts<2>(byte, src, stride, dst, count, signedBits);
  case 4:
    return packParts<4>(byte, src, stride, dst, count, signedBits);
  case 8:
    return packParts<8>(byte, src, stride, dst, count, signedBits);
  default:
    return packOneByOne(byte, src, stride, dst, count, signedBits);
  }
}

TESSERA_INLINE void mergeByte(char *dst, uint8_t value, uint8_t mask) {
  unsigned old = static_cast<uint8_t>(*dst);
  *dst = static_cast<char>((old & ~unsigned{mask}) | (value & mask));
}

/// One byte of which some bits are written.
TESSERA_INLINE void mergeBits(const Job &job, const char *src, char *dst) {
  char value;
  packOneByOne(job.bytes[0], src, 1, &value, 1, job.signedBits);
  mergeByte(dst + job.bytes[0].dst, static_cast<uint8_t>(value), job.mask);
}

/// A register of each of `Ways` bytes that are neighbours in the destination.
template <int Ways, int NumParts>
TESSERA_INLINE void packTile(const PackedByte<NumParts> (&bytes)[Ways],
                             Vector<1, kVectorBytes> sign, const char *src,
                             char *dst) {
  using V = Vector<1, kVectorBytes>;
  V packed[Ways];
  TESSERA_UNROLL
  for (int i = 0; i < Ways; ++i)
    packed[i] = bytes[i].pack(
        sign, [src](int64_t part) { return load<V>(src + part); });
  interleaveRegisters<1>(packed);
  TESSERA_UNROLL
  for (int i = 0; i < Ways; ++i)
    store(dst + i * kVectorBytes, packed[i]);
}

/// Steps whose bytes, those of all rows, are neighbours in the destination, as
/// are those of the next column.
template <int Ways, int NumParts>
void packTiles(const Job &job, const char *src, char *dst) {
  PackedByte<NumParts> bytes[Ways];
  for (int i = 0; i < Ways; ++i)
    bytes[i] = {job.bytes[i / job.rows.count],
                i % job.rows.count * job.rows.src};
  int64_t last = job.columns.count - kVectorBytes;
  auto sign = getSigns(job.signedBits);
  dst += job.bytes[0].dst;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    for (int64_t c = 0; c < last; c += kVectorBytes)
      packTile(bytes, sign, src + c, dst + c * Ways);
    packTile(bytes, sign, src + last, dst + last * Ways);
  });
}

/// Packed bytes on their way to the destination: rows of a block.
constexpr int64_t kPackedRows = 64, kPackedColumns = 256;

/// Bytes of a step that are neighbours in the destination, after so many rows.
TESSERA_INLINE size_t countNeighbours(const Job &job) {
  for (size_t i = 1; i < job.numBytes; ++i)
    if (job.bytes[i].dst != job.bytes[0].dst + int64_t(i) * job.rows.count)
      return 1;
  return int64_t(job.numBytes) * job.rows.count <= kPackedRows ? job.numBytes
                                                               : 1;
}

/// Writes the rows of a block as columns.
TESSERA_INLINE void writeColumns(const Block &block) {
  if (block.dstPitch == block.rows) {
    if (block.rows == 2)
      return interleave<1, 2>(block, false);
    if (block.rows == 4)
      return interleave<1, 4>(block, false);
    if (block.rows == 8)
      return interleave<1, 8>(block, false);
  }
  transposeBlock<1>(block);
}

/// `count` bytes of a step, from number `first` on, for some rows and columns:
/// packed into a buffer, row by row, and written from there.
TESSERA_INLINE void packBlock(const Job &job, size_t first, size_t count,
                              const char *src, char *dst, int64_t rows,
                              int64_t columns) {
  char buffer[kPackedRows * kPackedColumns];
  for (size_t i = 0; i < count; ++i)
    for (int64_t r = 0; r < rows; ++r)
      packRun(job.bytes[first + i], src + r * job.rows.src, job.columns.src,
              buffer + (int64_t(i) * rows + r) * kPackedColumns, columns,
              job.signedBits);
  writeColumns({buffer, dst + job.bytes[first].dst, int64_t(count) * rows,
                columns, kPackedColumns, job.columns.dst});
}

TESSERA_INLINE void packStep(const Job &job, const char *src, char *dst) {
  size_t together = countNeighbours(job);
  for (size_t i = 0; i < job.numBytes; i += together)
    for (int64_t r = 0; r < job.rows.count; r += kPackedRows)
      for (int64_t c = 0; c < job.columns.count; c += kPackedColumns)
        packBlock(job, i, together,
                  src + r * job.rows.src + c * job.columns.src,
                  dst + r + c * job.columns.dst,
                  least(kPackedRows, job.rows.count - r),
                  least(kPackedColumns, job.columns.count - c));
}

//===----------------------------------------------------------------------===//
// Halves of bytes
//===----------------------------------------------------------------------===//

/// Two bytes of a step that get the halves of one byte of the source or, zipped
/// with them, those of another: the round of an interleave below bytes.
struct Halves {
  bool isFound = false, isZip = false;
  int64_t src[2] = {0, 0};
};

TESSERA_INLINE bool isPart(const BitPart &part, int shift, uint8_t mask) {
  return part.shift == shift && part.mask == mask;
}

TESSERA_INLINE Halves findHalves(const Job &job) {
  Halves halves;
  if (job.numBytes != 2 || job.bytes[0].numParts != job.bytes[1].numParts)
    return halves;
  const BitPart *low = job.bytes[0].parts, *high = job.bytes[1].parts;
  size_t numParts = job.bytes[0].numParts;
  halves.isFound = isPart(low[0], 0, 0x0F) && isPart(high[0], -4, 0x0F) &&
                   low[0].src == high[0].src && numParts <= 2;
  halves.src[0] = low[0].src;
  if (numParts != 2)
    return halves;
  halves.isFound &= isPart(low[1], 4, 0xF0) && isPart(high[1], 0, 0xF0) &&
                    low[1].src == high[1].src;
  halves.isZip = true;
  halves.src[1] = low[1].src;
  return halves;
}

/// The low halves of `a`, and of `b` above them; and the high ones. Without a
/// zip, the signs of `a`.
template <bool IsZip>
TESSERA_INLINE void
takeHalves(Vector<1, kVectorBytes> a, Vector<1, kVectorBytes> b,
           Vector<1, kVectorBytes> sign, Vector<1, kVectorBytes> &low,
           Vector<1, kVectorBytes> &high) {
  using V = Vector<1, kVectorBytes>;
  using Pairs = Vector<2, kVectorBytes>;
  V lowMask = V{} + 0x0F;
  V fromHigh = reinterpret_cast<V>(reinterpret_cast<Pairs>(a) >> 4) & lowMask;
  low = a & lowMask;
  high = fromHigh;
  if constexpr (IsZip) {
    low |= reinterpret_cast<V>(reinterpret_cast<Pairs>(b) << 4) & ~lowMask;
    high |= b & ~lowMask;
  } else {
    low = (low ^ sign) - sign;
    high = (high ^ sign) - sign;
  }
}

/// Both halves of `Ways` / 2 rows, in turns.
template <int Ways, bool IsZip>
TESSERA_INLINE void packHalvesTile(const Halves &halves, int64_t pitch,
                                   Vector<1, kVectorBytes> sign,
                                   const char *src, char *dst) {
  using V = Vector<1, kVectorBytes>;
  V packed[Ways];
  TESSERA_UNROLL
  for (int r = 0; r < Ways / 2; ++r)
    takeHalves<IsZip>(load<V>(src + r * pitch + halves.src[0]),
                      load<V>(src + r * pitch + halves.src[1]), sign, packed[r],
                      packed[Ways / 2 + r]);
  interleaveRegisters<1>(packed);
  TESSERA_UNROLL
  for (int i = 0; i < Ways; ++i)
    store(dst + i * kVectorBytes, packed[i]);
}

template <int Ways, bool IsZip>
void packHalvesTiles(const Job &job, const Halves &halves, const char *src,
                     char *dst) {
  int64_t last = job.columns.count - kVectorBytes, pitch = job.rows.src;
  auto sign = getSigns(job.signedBits);
  dst += job.bytes[0].dst;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    auto pack = [&](int64_t column) {
      packHalvesTile<Ways, IsZip>(halves, pitch, sign, src + column,
                                  dst + column * Ways);
    };
    for (int64_t c = 0; c < last; c += kVectorBytes)
      pack(c);
    pack(last);
  });
}

/// Where the halves of a register go.
struct HalfRuns {
  Vector<1, kVectorBytes> sign;
  int64_t toLow, toHigh;

  TESSERA_INLINE void write(Vector<1, kVectorBytes> bytes, char *dst) const {
    Vector<1, kVectorBytes> low, high;
    takeHalves<false>(bytes, bytes, sign, low, high);
    store(dst + toLow, low);
    store(dst + toHigh, high);
  }
};

/// Bytes `Stride` apart whose halves go to two runs.
template <int Stride>
void packHalvesRuns(const Job &job, const HalfRuns &halves, const char *src,
                    char *dst) {
  int64_t last = job.columns.count - kVectorBytes;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    for (int64_t c = 0; c < last; c += kVectorBytes)
      halves.write(loadStrided<Stride>(src + c * Stride), dst + c);
    // Ends with the last byte.
    halves.write(loadStrided<Stride, true>(src + last * Stride - (Stride - 1)),
                 dst + last);
  });
}

/// The same where a loop over `Stride` neighbours is the innermost one, so that
/// all bytes of registers are taken.
template <int Stride>
void packHalvesGroups(const Job &job, const HalfRuns &halves, const char *src,
                      char *dst) {
  using V = Vector<1, kVectorBytes>;
  int64_t last = job.columns.count - kVectorBytes;
  int64_t pitch = job.loops[job.numLoops - 1].dst;
  walk(job.loops, job.numLoops - 1, src, dst, [&](const char *src, char *dst) {
    auto pack = [&](int64_t column) {
      V runs[Stride];
      TESSERA_UNROLL
      for (int k = 0; k < Stride; ++k)
        runs[k] = load<V>(src + column * Stride + k * kVectorBytes);
      deinterleaveRegisters<kVectorBytes>(runs);
      TESSERA_UNROLL
      for (int k = 0; k < Stride; ++k)
        halves.write(runs[k], dst + k * pitch + column);
    };
    for (int64_t c = 0; c < last; c += kVectorBytes)
      pack(c);
    pack(last);
  });
}

template <int Stride>
bool packHalvesBy(const Job &job, const HalfRuns &halves, const char *src,
                  char *dst) {
  bool isGroup = job.numLoops > 0 && job.loops[job.numLoops - 1].src == 1 &&
                 job.loops[job.numLoops - 1].count == Stride;
  if (isGroup && Stride > 1)
    packHalvesGroups<Stride>(job, halves, src, dst);
  else
    packHalvesRuns<Stride>(job, halves, src, dst);
  return true;
}

/// False where they are no halves, or too short.
template <int Ways>
bool packHalvesOf(const Job &job, const char *src, char *dst) {
  Halves halves = findHalves(job);
  if (!halves.isFound)
    return false;
  if (halves.isZip)
    packHalvesTiles<Ways, true>(job, halves, src, dst);
  else
    packHalvesTiles<Ways, false>(job, halves, src, dst);
  return true;
}

bool packHalvesDense(const Job &job, const char *src, char *dst) {
  Halves halves = findHalves(job);
  if (!halves.isFound || halves.isZip || job.columns.count <= kVectorBytes)
    return false;
  HalfRuns runs = {getSigns(job.signedBits), job.bytes[0].dst,
                   job.bytes[1].dst};
  src += halves.src[0];
  switch (job.columns.src) {
  case 1:
    return packHalvesBy<1>(job, runs, src, dst);
  case 2:
    return packHalvesBy<2>(job, runs, src, dst);
  case 4:
    return packHalvesBy<4>(job, runs, src, dst);
  case 8:
    return packHalvesBy<8>(job, runs, src, dst);
  default:
    return false;
  }
}

/// Columns that are one run in the destination.
TESSERA_INLINE void packDense(const Job &job, const char *src, char *dst) {
  for (size_t i = 0; i < job.numBytes; ++i)
    packRun(job.bytes[i], src, job.columns.src, dst + job.bytes[i].dst,
            job.columns.count, job.signedBits);
}

/// The most bytes of a step whose parts are made ready for all steps.
constexpr size_t kMaxReady = 16;

/// The same where all bytes have `NumParts` parts.
template <int Stride, int NumParts>
void packDenseRuns(const Job &job, const char *src, char *dst) {
  PackedByte<NumParts> bytes[kMaxReady];
  for (size_t i = 0; i < job.numBytes; ++i)
    bytes[i] = {job.bytes[i], 0};
  int64_t count = job.columns.count;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    for (size_t i = 0; i < job.numBytes; ++i)
      packRun<Stride>(bytes[i], src, dst + job.bytes[i].dst, count,
                      job.signedBits);
  });
}

/// How many parts each byte has; 0 where they differ.
TESSERA_INLINE size_t countParts(const Job &job) {
  for (size_t i = 1; i < job.numBytes; ++i)
    if (job.bytes[i].numParts != job.bytes[0].numParts)
      return 0;
  return job.bytes[0].numParts;
}

template <int NumParts>
bool packDenseOf(const Job &job, const char *src, char *dst) {
  switch (job.columns.src) {
  case 1:
    packDenseRuns<1, NumParts>(job, src, dst);
    return true;
  case 2:
    packDenseRuns<2, NumParts>(job, src, dst);
    return true;
  case 4:
    packDenseRuns<4, NumParts>(job, src, dst);
    return true;
  default:
    return false;
  }
}

/// False where a step at a time must do.
TESSERA_INLINE bool packDenseFast(const Job &job, const char *src, char *dst) {
  if (job.numBytes > kMaxReady || job.columns.count < kLaneBytes)
    return false;
  switch (countParts(job)) {
  case 1:
    return packDenseOf<1>(job, src, dst);
  case 2:
    return packDenseOf<2>(job, src, dst);
  default:
    return false;
  }
}

/// False where there are other numbers of parts.
template <int Ways>
bool packTilesOf(const Job &job, const char *src, char *dst) {
  if (packHalvesOf<Ways>(job, src, dst))
    return true;
  switch (countParts(job)) {
  case 1:
    packTiles<Ways, 1>(job, src, dst);
    return true;
  case 2:
    packTiles<Ways, 2>(job, src, dst);
    return true;
  default:
    return false;
  }
}

/// Where all bytes of a step are neighbours, and so are those of the next
/// column, of which there is a register on both sides; else false.
TESSERA_INLINE bool packInterleaved(const Job &job, const char *src,
                                    char *dst) {
  if (countNeighbours(job) != job.numBytes || job.columns.src != 1 ||
      job.columns.dst != int64_t(job.numBytes) * job.rows.count ||
      job.columns.count < kVectorBytes)
    return false;
  switch (job.columns.dst) {
  case 2:
    return packTilesOf<2>(job, src, dst);
  case 4:
    return packTilesOf<4>(job, src, dst);
  case 8:
    return packTilesOf<8>(job, src, dst);
  default:
    return false;
  }
}

void packBits(const Job &job, const char *src, char *dst) {
  auto walkBy = [&](auto body) {
    walk(job.loops, job.numLoops, src, dst,
         [&](const char *src, char *dst) { body(job, src, dst); });
  };
  if (job.mask != 0xFF)
    return walkBy([](auto &...at) { mergeBits(at...); });
  if (job.columns.dst == 1 &&
      (packHalvesDense(job, src, dst) || packDenseFast(job, src, dst)))
    return;
  if (job.columns.dst == 1)
    return walkBy([](auto &...at) { packDense(at...); });
  if (!packInterleaved(job, src, dst))
    walkBy([](auto &...at) { packStep(at...); });
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// `runBytes` bytes of the value, or the bits of `mask` of one.
void fill(const Job &job, const char *src, char *dst) {
  if (job.mask != 0xFF)
    return walk(job.loops, job.numLoops, src, dst,
                [&job](const char *src, char *dst) {
                  mergeByte(dst, job.value[0], job.mask);
                });
  auto value = load<Bytes16>(reinterpret_cast<const char *>(job.value));
  int64_t size = job.runBytes;
  walk(job.loops, job.numLoops, src, dst,
       [value, size](const char *src, char *dst) {
         int64_t i = 0;
         for (; i + kLaneBytes <= size; i += kLaneBytes)
           store(dst + i, value);
         for (int64_t k = 0; i < size; ++i, ++k)
           dst[i] = reinterpret_cast<const char *>(&value)[k];
       });
}

} // namespace

const KernelTable TESSERA_KERNEL_TABLE = {TESSERA_KERNEL_NAME, copyRuns,
                                          transpose, packBits, fill};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELSIMPL_H
