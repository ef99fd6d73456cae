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

constexpr int64_t kPrefetchBytes = 128;

/// A line of each row, and a line of each column at most.
template <int RunBytes, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeLines(Block block, bool isGathered) {
  char buffer[kLineRuns<RunBytes> * kLineBytes];
  // The next line of each row: more rows than a processor foresees.
  if (IsStreamed && RunBytes > 1)
    for (int64_t r = 0; r < block.rows; ++r)
      __builtin_prefetch(block.src + r * block.srcPitch + kPrefetchBytes);
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
/// in the first-level cache; and of the rows that are streamed at once.
constexpr int64_t kBlockRowBytes = 256, kBlockColumnBytes = 128;
constexpr int64_t kStreamedRowBytes = 128;
/// Of runs of columns that are staged.
constexpr int64_t kStagedRunBytes = 512;

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

/// Rows of whole lines of the destination, a few at a time along the source.
template <int RunBytes> void streamRows(const Block &whole) {
  constexpr int64_t kRows = kStreamedRowBytes / RunBytes;
  Block block = whole;
  for (int64_t r = 0; r < whole.rows; r += kRows) {
    block.rows = least(kRows, whole.rows - r);
    block.src = whole.src + r * whole.srcPitch;
    block.dst = whole.dst + r * RunBytes;
    transposeTiles<RunBytes, kVectorBytes, true>(block);
  }
}

/// Rows whose columns begin anywhere in a line: a long run of each of some
/// columns is put together in a buffer, and its whole lines are streamed.
template <int RunBytes> void stageRows(const Block &whole) {
  constexpr int64_t kRows = kStagedRunBytes / RunBytes,
                    kColumns = kLineRuns<RunBytes>;
  char buffer[kColumns * kStagedRunBytes];
  for (int64_t r = 0, rows; r < whole.rows; r += rows) {
    rows = least(kRows, whole.rows - r);
    for (int64_t c = 0; c < whole.columns; c += kColumns) {
      Block block = whole;
      block.rows = rows;
      block.columns = least(kColumns, whole.columns - c);
      block.src += r * whole.srcPitch + c * RunBytes;
      block.dst = buffer;
      block.dstPitch = kStagedRunBytes;
      for (int64_t k = 0; k < rows; ++k)
        __builtin_prefetch(block.src + k * block.srcPitch + kPrefetchBytes);
      transposeBlock<RunBytes>(block);
      for (int64_t k = 0; k < block.columns; ++k)
        streamRun(buffer + k * kStagedRunBytes,
                  whole.dst + (c + k) * whole.dstPitch + r * RunBytes,
                  rows * RunBytes);
    }
  }
}

/// Rows up to where lines begin and behind the last whole one go through the
/// caches.
template <int RunBytes> void transposeStreamed(const Block &whole) {
  constexpr int64_t kLine = kLineRuns<RunBytes>;
  int64_t head = bytesToLine(whole.dst);
  int64_t lines = whole.rows - head / RunBytes;
  if (!isOnLine(whole.dstPitch) || head % RunBytes != 0 || lines < kLine ||
      whole.columns * RunBytes < kLaneBytes)
    return stageRows<RunBytes>(whole);
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
  constexpr int kRuns = Bytes / RunBytes;
  using V = Vector<RunBytes, Bytes>;
  V rows[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    rows[k] = load<V>(src + k * pitch);
  unpackRegisters<kRuns, kRuns>(rows);
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
  TESSERA_UNROLL
  for (int round = 1; round < Ways; round *= 2) {
    V split[Ways];
    TESSERA_UNROLL
    for (int k = 0; k < Ways / 2; ++k) {
      V a = runs[2 * k], b = runs[2 * k + 1];
      split[k] = shuffle<EveryOther<false>, kRuns>(a, b);
      split[k + Ways / 2] = shuffle<EveryOther<true>, kRuns>(a, b);
    }
    TESSERA_UNROLL
    for (int k = 0; k < Ways; ++k)
      runs[k] = split[k];
  }
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * pitch, runs[k]);
}

/// Bytes of each row that are prefetched ahead where rows are streamed.
constexpr int64_t kRowPrefetchBytes = 2048;

/// Rows of at least a register.
template <int RunBytes, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTiles(const Block &block) {
  constexpr int64_t kRuns = Bytes / RunBytes;
  auto moveTile = [&](int64_t c) {
    interleaveTile<RunBytes, Bytes, Ways, IsStreamed>(
        block.src + c * RunBytes, block.srcPitch,
        block.dst + c * Ways * RunBytes);
  };
  if (IsStreamed)
    for (int64_t r = 0; r < Ways; ++r)
      for (int64_t i = 0; i < block.columns * RunBytes; i += kLineBytes)
        __builtin_prefetch(block.src + r * block.srcPitch + i +
                           kRowPrefetchBytes);
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

template <int RunBytes, int Ways>
void interleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    interleave<RunBytes, Ways>(block, isStreamed);
  });
  if (isStreamed)
    fence();
}

template <int RunBytes, int Ways>
void deinterleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
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

/// Bits of `count` bytes, `Stride` apart (0: `stride`), added to those of `to`.
template <int Stride>
TESSERA_INLINE void addPart(const BitPart &part, const char *__restrict src,
                            int64_t stride, uint8_t *__restrict to,
                            int64_t count) {
  int left = part.shift > 0 ? part.shift : 0;
  int right = part.shift < 0 ? -part.shift : 0;
  if (Stride)
    stride = Stride;
  for (int64_t i = 0; i < count; ++i) {
    auto bits = static_cast<uint16_t>(static_cast<uint8_t>(src[i * stride]));
    bits = static_cast<uint16_t>(bits << left) >> right;
    to[i] |= static_cast<uint8_t>(bits) & part.mask;
  }
}

/// Bytes `begin`, `begin` + `stride`, ... of the source packed into `to`. Where
/// an element of `signedBits` is all of a byte, its sign fills the rest.
TESSERA_INLINE void packRun(const ByteParts &byte, const char *src,
                            int64_t stride, uint8_t *to, int64_t count,
                            int signedBits) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = 0;
  for (size_t i = 0; i < byte.numParts; ++i) {
    const BitPart &part = byte.parts[i];
    if (stride == 1)
      addPart<1>(part, src + part.src, 1, to, count);
    else if (stride == 2)
      addPart<2>(part, src + part.src, 2, to, count);
    else if (stride == 4)
      addPart<4>(part, src + part.src, 4, to, count);
    else if (stride == 8)
      addPart<8>(part, src + part.src, 8, to, count);
    else
      addPart<0>(part, src + part.src, stride, to, count);
  }
  if (signedBits == 0)
    return;
  auto sign = static_cast<uint8_t>(1 << (signedBits - 1));
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<uint8_t>((to[i] ^ sign) - sign);
}

TESSERA_INLINE void mergeByte(char *dst, uint8_t value, uint8_t mask) {
  unsigned old = static_cast<uint8_t>(*dst);
  *dst = static_cast<char>((old & ~unsigned{mask}) | (value & mask));
}

/// One byte of which some bits are written.
TESSERA_INLINE void mergeBits(const Job &job, const char *src, char *dst) {
  uint8_t value;
  packRun(job.bytes[0], src, 1, &value, 1, job.signedBits);
  mergeByte(dst + job.bytes[0].dst, value, job.mask);
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
  uint8_t buffer[kPackedRows * kPackedColumns];
  for (size_t i = 0; i < count; ++i)
    for (int64_t r = 0; r < rows; ++r)
      packRun(job.bytes[first + i], src + r * job.rows.src, job.columns.src,
              buffer + (int64_t(i) * rows + r) * kPackedColumns, columns,
              job.signedBits);
  writeColumns({reinterpret_cast<const char *>(buffer),
                dst + job.bytes[first].dst, int64_t(count) * rows, columns,
                kPackedColumns, job.columns.dst});
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

/// Columns that are one run in the destination.
TESSERA_INLINE void packDense(const Job &job, const char *src, char *dst) {
  for (size_t i = 0; i < job.numBytes; ++i)
    packRun(job.bytes[i], src, job.columns.src,
            reinterpret_cast<uint8_t *>(dst) + job.bytes[i].dst,
            job.columns.count, job.signedBits);
}

void packBits(const Job &job, const char *src, char *dst) {
  auto walkBy = [&](auto body) {
    walk(job.loops, job.numLoops, src, dst,
         [&](const char *src, char *dst) { body(job, src, dst); });
  };
  if (job.mask != 0xFF)
    return walkBy([](auto &...at) { mergeBits(at...); });
  if (job.columns.dst == 1)
    return walkBy([](auto &...at) { packDense(at...); });
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
