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

template <int Unit> struct UnitType;
template <> struct UnitType<1> {
  using Type = uint8_t;
};
template <> struct UnitType<2> {
  using Type = uint16_t;
};
template <> struct UnitType<4> {
  using Type = uint32_t;
};
template <> struct UnitType<8> {
  using Type = uint64_t;
};

/// `Bytes` bytes as units; units of 16 bytes are moved, never shuffled.
template <int Unit, int Bytes> struct VectorOf {
  static constexpr int kSize = Unit > 8 ? 8 : Unit;
  using Element = typename UnitType<kSize>::Type;
  typedef Element Type __attribute__((vector_size(Bytes)));
};
template <int Unit, int Bytes>
using Vector = typename VectorOf<Unit, Bytes>::Type;
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

/// Units of `a` and `b` in the order of Order::at.
template <typename Order, typename V, int... I>
TESSERA_INLINE V shuffle(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, Order::at(I)...);
}
template <typename Order, int Count, typename V>
TESSERA_INLINE V shuffle(V a, V b) {
  return shuffle<Order>(a, b, FirstIndices<Count>());
}

/// Units of two registers in turns, within each group of `Group` units; the
/// first or the second half of them.
template <int Group, int Count, bool IsHigh> struct Unpack {
  static constexpr int at(int i) {
    int k = i % Group;
    return i / Group * Group + k / 2 + (IsHigh ? Group / 2 : 0) +
           (k % 2 ? Count : 0);
  }
};
/// Every other unit of two registers.
template <bool IsOdd> struct EveryOther {
  static constexpr int at(int i) { return 2 * i + (IsOdd ? 1 : 0); }
};

/// Rounds of unpacking within groups of `Group` units, of registers of `Count`
/// units: unit i of register k becomes unit k of register i, in each group of
/// as many units as registers; longer groups become one run.
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
  int64_t size = job.unit;
  if (size > kLongRun)
    return walk(job.loops, job.numLoops, src, dst,
                [size](const char *src, char *dst) {
                  __builtin_memcpy(dst, src, size);
                });
  walk(job.loops, job.numLoops, src, dst,
       [size](const char *src, char *dst) { copyRun(src, dst, size); });
}

void copyRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.unit;
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
template <int Unit, int Bytes>
TESSERA_INLINE Vector<Unit, Bytes> loadLanes(const char *src, int64_t pitch) {
  Bytes16 lanes[Bytes / kLaneBytes];
  TESSERA_UNROLL
  for (int i = 0; i < Bytes / kLaneBytes; ++i)
    lanes[i] = load<Bytes16>(src + i * pitch);
  return load<Vector<Unit, Bytes>>(reinterpret_cast<const char *>(lanes));
}

/// A tile of `Bytes` bytes of each column: register k has row k of each lane,
/// and rounds of unpacking within lanes make it column k.
template <int Unit, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeTile(const char *src, int64_t srcPitch, char *dst,
                                  int64_t dstPitch) {
  constexpr int kColumns = kLaneBytes / Unit, kUnits = Bytes / Unit;
  using V = Vector<Unit, Bytes>;
  V rows[kColumns];
  TESSERA_UNROLL
  for (int k = 0; k < kColumns; ++k)
    rows[k] = loadLanes<Unit, Bytes>(src + k * srcPitch, kColumns * srcPitch);
  unpackRegisters<kColumns, kUnits>(rows);
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

template <int Unit> TESSERA_INLINE void transposeUnits(const Block &block) {
  for (int64_t c = 0; c < block.columns; ++c)
    for (int64_t r = 0; r < block.rows; ++r)
      copyFixed<Unit>(block.src + r * block.srcPitch + c * Unit,
                      block.dst + c * block.dstPitch + r * Unit);
}

/// Units of a line.
template <int Unit> constexpr int64_t kLineUnits = kLineBytes / Unit;

/// Whether rows of a line each would evict one another from the first-level
/// cache: pages begin at one set, and it has eight ways or a few more.
template <int Unit> TESSERA_INLINE bool isInOneSet(int64_t pitch) {
  constexpr int64_t kPage = 4096, kWays = 8;
  int64_t sets = pitch == 0 ? kPage : kPage / (pitch & -pitch);
  return sets == 0 || kLineUnits<Unit> / sets > kWays;
}

/// Tiles over all rows, of a line of each or, where `Tiles` is 1, of 16 bytes.
template <int Unit, int Bytes, bool IsStreamed, int Tiles>
TESSERA_INLINE void transposeRows(const Block &block) {
  constexpr int64_t kRows = Bytes / Unit, kColumns = kLaneBytes / Unit;
  for (int64_t row = 0; row < block.rows; row += kRows) {
    int64_t r = least(row, block.rows - kRows);
    for (int i = 0; i < Tiles; ++i)
      transposeTile<Unit, Bytes, IsStreamed>(
          block.src + r * block.srcPitch + i * kLaneBytes, block.srcPitch,
          block.dst + i * kColumns * block.dstPitch + r * Unit, block.dstPitch);
  }
}

constexpr int64_t kPrefetchBytes = 128;

/// A line of each row, and a line of each column at most.
template <int Unit, int Bytes, bool IsStreamed>
TESSERA_INLINE void transposeLines(Block block, bool isGathered) {
  char buffer[kLineUnits<Unit> * kLineBytes];
  // The next line of each row: more rows than a processor foresees.
  if (IsStreamed && Unit > 1)
    for (int64_t r = 0; r < block.rows; ++r)
      __builtin_prefetch(block.src + r * block.srcPitch + kPrefetchBytes);
  if (isGathered) {
    for (int64_t r = 0; r < block.rows; ++r)
      copyFixed<kLineBytes>(block.src + r * block.srcPitch,
                            buffer + r * kLineBytes);
    block.src = buffer;
    block.srcPitch = kLineBytes;
  }
  transposeRows<Unit, Bytes, IsStreamed, kLineBytes / kLaneBytes>(block);
}

/// Tiles of `Bytes` bytes of each column. The last ones overlap those before
/// where sides are no multiple; both sides have a whole tile.
template <int Unit, int Bytes, bool IsStreamed>
void transposeTiles(const Block &whole) {
  constexpr int64_t kColumns = kLaneBytes / Unit, kLine = kLineUnits<Unit>;
  bool isGathered = isInOneSet<Unit>(whole.srcPitch);
  Block block = whole;
  auto moveTo = [&](int64_t row, int64_t column) {
    block.src = whole.src + row * whole.srcPitch + column * Unit;
    block.dst = whole.dst + column * whole.dstPitch + row * Unit;
  };
  int64_t column = 0;
  for (; column + kLine <= whole.columns; column += kLine) {
    for (int64_t row = 0; row < whole.rows; row += kLine) {
      int64_t r = least(row, whole.rows - Bytes / Unit);
      block.rows = least(kLine, whole.rows - r);
      moveTo(r, column);
      transposeLines<Unit, Bytes, IsStreamed>(block, isGathered);
    }
  }
  block.rows = whole.rows;
  for (; column < whole.columns; column += kColumns) {
    moveTo(0, least(column, whole.columns - kColumns));
    transposeRows<Unit, Bytes, IsStreamed, 1>(block);
  }
}

/// By the widest tiles that there is room for.
template <int Unit> TESSERA_INLINE void transposeBlock(const Block &block) {
  if (block.columns * Unit < kLaneBytes || block.rows * Unit < kLaneBytes)
    return transposeUnits<Unit>(block);
  if (block.rows * Unit >= kVectorBytes)
    return transposeTiles<Unit, kVectorBytes, false>(block);
  if constexpr (kVectorBytes > 32)
    if (block.rows * Unit >= 32)
      return transposeTiles<Unit, 32, false>(block);
  transposeTiles<Unit, kLaneBytes, false>(block);
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
template <int Unit> void transposeBlocks(const Block &whole) {
  constexpr int64_t kRows = kBlockRowBytes / Unit;
  constexpr int64_t kColumns = kBlockColumnBytes / Unit;
  Block block = whole;
  for (int64_t c = 0; c < whole.columns; c += block.columns) {
    block.columns = takeBlock(whole.columns - c, kColumns, kLaneBytes / Unit);
    for (int64_t r = 0; r < whole.rows; r += block.rows) {
      block.rows = takeBlock(whole.rows - r, kRows, kVectorBytes / Unit);
      block.src = whole.src + r * whole.srcPitch + c * Unit;
      block.dst = whole.dst + c * whole.dstPitch + r * Unit;
      transposeBlock<Unit>(block);
    }
  }
}

/// Rows of whole lines of the destination, a few at a time along the source.
template <int Unit> void streamRows(const Block &whole) {
  constexpr int64_t kRows = kStreamedRowBytes / Unit;
  Block block = whole;
  for (int64_t r = 0; r < whole.rows; r += kRows) {
    block.rows = least(kRows, whole.rows - r);
    block.src = whole.src + r * whole.srcPitch;
    block.dst = whole.dst + r * Unit;
    transposeTiles<Unit, kVectorBytes, true>(block);
  }
}

/// Rows whose columns begin anywhere in a line: a long run of each of some
/// columns is put together in a buffer, and its whole lines are streamed.
template <int Unit> void stageRows(const Block &whole) {
  constexpr int64_t kRows = kStagedRunBytes / Unit, kColumns = kLineUnits<Unit>;
  char buffer[kColumns * kStagedRunBytes];
  for (int64_t r = 0, rows; r < whole.rows; r += rows) {
    rows = least(kRows, whole.rows - r);
    for (int64_t c = 0; c < whole.columns; c += kColumns) {
      Block block = whole;
      block.rows = rows;
      block.columns = least(kColumns, whole.columns - c);
      block.src += r * whole.srcPitch + c * Unit;
      block.dst = buffer;
      block.dstPitch = kStagedRunBytes;
      for (int64_t k = 0; k < rows; ++k)
        __builtin_prefetch(block.src + k * block.srcPitch + kPrefetchBytes);
      transposeBlock<Unit>(block);
      for (int64_t k = 0; k < block.columns; ++k)
        streamRun(buffer + k * kStagedRunBytes,
                  whole.dst + (c + k) * whole.dstPitch + r * Unit, rows * Unit);
    }
  }
}

/// Rows up to where lines begin and behind the last whole one go through the
/// caches.
template <int Unit> void transposeStreamed(const Block &whole) {
  constexpr int64_t kLine = kLineUnits<Unit>;
  int64_t head = bytesToLine(whole.dst);
  int64_t lines = whole.rows - head / Unit;
  if (!isOnLine(whole.dstPitch) || head % Unit != 0 || lines < kLine ||
      whole.columns * Unit < kLaneBytes)
    return stageRows<Unit>(whole);
  auto part = [&](int64_t begin, int64_t count) {
    Block block = whole;
    block.src += begin * whole.srcPitch;
    block.dst += begin * Unit;
    block.rows = count;
    return block;
  };
  head /= Unit;
  lines = lines / kLine * kLine;
  transposeBlocks<Unit>(part(0, head));
  streamRows<Unit>(part(head, lines));
  transposeBlocks<Unit>(part(head + lines, whole.rows - head - lines));
}

//===----------------------------------------------------------------------===//
// Interleaves: few rows, or few columns
//===----------------------------------------------------------------------===//

/// A register of each of `Ways` rows, unit by unit in turns.
template <int Unit, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTile(const char *src, int64_t pitch, char *dst) {
  constexpr int kUnits = Bytes / Unit;
  using V = Vector<Unit, Bytes>;
  V rows[Ways];
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    rows[k] = load<V>(src + k * pitch);
  unpackRegisters<kUnits, kUnits>(rows);
  TESSERA_UNROLL
  for (int k = 0; k < Ways; ++k)
    write<IsStreamed>(dst + k * Bytes, rows[k]);
}

template <int Unit, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTile(const char *src, char *dst,
                                     int64_t pitch) {
  constexpr int kUnits = Bytes / Unit;
  using V = Vector<Unit, Bytes>;
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
      split[k] = shuffle<EveryOther<false>, kUnits>(a, b);
      split[k + Ways / 2] = shuffle<EveryOther<true>, kUnits>(a, b);
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
template <int Unit, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void interleaveTiles(const Block &block) {
  constexpr int64_t kUnits = Bytes / Unit;
  auto moveTile = [&](int64_t c) {
    interleaveTile<Unit, Bytes, Ways, IsStreamed>(
        block.src + c * Unit, block.srcPitch, block.dst + c * Ways * Unit);
  };
  if (IsStreamed)
    for (int64_t r = 0; r < Ways; ++r)
      for (int64_t i = 0; i < block.columns * Unit; i += kLineBytes)
        __builtin_prefetch(block.src + r * block.srcPitch + i +
                           kRowPrefetchBytes);
  int64_t c = 0;
  for (; c + 4 * kUnits <= block.columns; c += 4 * kUnits) {
    TESSERA_UNROLL
    for (int i = 0; i < 4; ++i)
      moveTile(c + i * kUnits);
  }
  for (; c < block.columns; c += kUnits)
    moveTile(least(c, block.columns - kUnits));
}

template <int Unit, int Bytes, int Ways, bool IsStreamed>
TESSERA_INLINE void deinterleaveTiles(const Block &block) {
  constexpr int64_t kUnits = Bytes / Unit;
  auto moveTile = [&](int64_t r) {
    deinterleaveTile<Unit, Bytes, Ways, IsStreamed>(
        block.src + r * Ways * Unit, block.dst + r * Unit, block.dstPitch);
  };
  int64_t r = 0;
  for (; r + 4 * kUnits <= block.rows; r += 4 * kUnits) {
    TESSERA_UNROLL
    for (int i = 0; i < 4; ++i)
      moveTile(r + i * kUnits);
  }
  for (; r < block.rows; r += kUnits)
    moveTile(least(r, block.rows - kUnits));
}

template <int Unit, int Ways>
TESSERA_INLINE void interleave(const Block &block, bool isStreamed) {
  int64_t size = block.columns * Unit;
  // A run of whole lines is streamed; others end in a register that overlaps.
  if (isStreamed && size % kVectorBytes == 0 && bytesToLine(block.dst) == 0 &&
      isOnLine(size * Ways))
    return interleaveTiles<Unit, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return interleaveTiles<Unit, kVectorBytes, Ways, false>(block);
  if (size >= kLaneBytes)
    return interleaveTiles<Unit, kLaneBytes, Ways, false>(block);
  transposeUnits<Unit>(block);
}

template <int Unit, int Ways>
TESSERA_INLINE void deinterleave(const Block &block, bool isStreamed) {
  int64_t size = block.rows * Unit;
  if (isStreamed && isOnLine(size) && bytesToLine(block.dst) == 0 &&
      isOnLine(block.dstPitch))
    return deinterleaveTiles<Unit, kVectorBytes, Ways, true>(block);
  if (size >= kVectorBytes)
    return deinterleaveTiles<Unit, kVectorBytes, Ways, false>(block);
  if (size >= kLaneBytes)
    return deinterleaveTiles<Unit, kLaneBytes, Ways, false>(block);
  transposeUnits<Unit>(block);
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

template <int Unit, int Ways>
void interleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    interleave<Unit, Ways>(block, isStreamed);
  });
  if (isStreamed)
    fence();
}

template <int Unit, int Ways>
void deinterleaveRuns(const Job &job, const char *src, char *dst) {
  bool isStreamed = job.isStreamed;
  walkBlocks(job, src, dst, [isStreamed](const Block &block) {
    deinterleave<Unit, Ways>(block, isStreamed);
  });
  if (isStreamed)
    fence();
}

template <int Unit>
void transposeRuns(const Job &job, const char *src, char *dst) {
  if (!job.isStreamed)
    return walkBlocks(job, src, dst,
                      [](const Block &block) { transposeBlocks<Unit>(block); });
  walkBlocks(job, src, dst,
             [](const Block &block) { transposeStreamed<Unit>(block); });
  fence();
}

template <int Unit>
void transposeOf(const Job &job, const char *src, char *dst) {
  if constexpr (Unit <= 8) {
    if (job.columns.dst == job.rows.count * Unit) {
      if (job.rows.count == 2)
        return interleaveRuns<Unit, 2>(job, src, dst);
      if (job.rows.count == 4)
        return interleaveRuns<Unit, 4>(job, src, dst);
    }
    if (job.rows.src == job.columns.count * Unit) {
      if (job.columns.count == 2)
        return deinterleaveRuns<Unit, 2>(job, src, dst);
      if (job.columns.count == 4)
        return deinterleaveRuns<Unit, 4>(job, src, dst);
    }
  }
  transposeRuns<Unit>(job, src, dst);
}

void transpose(const Job &job, const char *src, char *dst) {
  switch (job.unit) {
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

/// `unit` bytes of the value, or the bits of `mask` of one.
void fill(const Job &job, const char *src, char *dst) {
  if (job.mask != 0xFF)
    return walk(job.loops, job.numLoops, src, dst,
                [&job](const char *src, char *dst) {
                  mergeByte(dst, job.value[0], job.mask);
                });
  auto value = load<Bytes16>(reinterpret_cast<const char *>(job.value));
  int64_t size = job.unit;
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
