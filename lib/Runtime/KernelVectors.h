//===- KernelVectors.h - Registers and loops of the kernels -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors are those that clang and g++ have for all processors; nothing here
// names an instruction, but for stores that bypass the caches, and for shuffles
// that are not known before they are done.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_KERNELVECTORS_H
#define TESSERA_LIB_RUNTIME_KERNELVECTORS_H

#include "Kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tessera::runtime {
namespace {

#define TESSERA_INLINE __attribute__((always_inline)) inline
// Loops over registers, which have to stay in registers; and loops whose code
// is long.
#if defined(__clang__)
#define TESSERA_UNROLL _Pragma("clang loop unroll(full)")
#define TESSERA_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TESSERA_UNROLL _Pragma("GCC unroll 64")
#define TESSERA_NO_UNROLL _Pragma("GCC unroll 1")
#endif

/// Short loops that lie across two lines of code take longer.
#if defined(__clang__) && __has_cpp_attribute(clang::code_align)
#define TESSERA_ALIGN_LOOP [[clang::code_align(64)]]
#else
#define TESSERA_ALIGN_LOOP
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
inline void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// A number that is part of a type.
template <int Count> struct Constant {
  static constexpr int kCount = Count;
};

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

/// Every other lane of two registers, in words of 8 bytes.
template <bool IsOdd> struct EveryOtherLane {
  static constexpr int at(int i) { return i / 2 * 4 + i % 2 + (IsOdd ? 2 : 0); }
};

/// Register k becomes every N-th lane of them all, from number k on.
template <int N, typename V> TESSERA_INLINE void splitLanes(V (&lanes)[N]) {
  using Words = Vector<8, sizeof(V)>;
  TESSERA_UNROLL
  for (int round = 1; round < N; round *= 2) {
    V split[N];
    TESSERA_UNROLL
    for (int k = 0; k < N / 2; ++k) {
      auto a = reinterpret_cast<Words>(lanes[2 * k]);
      auto b = reinterpret_cast<Words>(lanes[2 * k + 1]);
      split[k] = reinterpret_cast<V>(
          shuffle<EveryOtherLane<false>, sizeof(V) / 8>(a, b));
      split[k + N / 2] = reinterpret_cast<V>(
          shuffle<EveryOtherLane<true>, sizeof(V) / 8>(a, b));
    }
    TESSERA_UNROLL
    for (int k = 0; k < N; ++k)
      lanes[k] = split[k];
  }
}

/// Lane number `i`.
template <typename V> TESSERA_INLINE Bytes16 getLane(V value, int i) {
  return load<Bytes16>(reinterpret_cast<const char *>(&value) + i * kLaneBytes);
}

/// A register of the lanes at `getPlace(i)`.
template <typename V, typename GetPlace>
TESSERA_INLINE V loadLanes(const GetPlace &getPlace) {
  constexpr int kLanes = sizeof(V) / kLaneBytes;
  Bytes16 lanes[kLanes];
  TESSERA_UNROLL
  for (int i = 0; i < kLanes; ++i)
    lanes[i] = load<Bytes16>(getPlace(i));
  return load<V>(reinterpret_cast<const char *>(lanes));
}

/// A register of the same lanes, but for the last one where that is given.
template <typename V>
TESSERA_INLINE V repeatLane(const uint8_t *lane,
                            const uint8_t *last = nullptr) {
  constexpr int kLanes = sizeof(V) / kLaneBytes;
  return loadLanes<V>([=](int i) {
    return reinterpret_cast<const char *>(last && i + 1 == kLanes ? last
                                                                  : lane);
  });
}

/// Bytes of each lane that are picked by number, zeros for numbers of
/// `GatherTable::kNone`, where there is such an instruction.
#if defined(__AVX2__) || defined(__aarch64__)
constexpr bool kHasLanePicks = true;
#else
constexpr bool kHasLanePicks = false;
#endif
template <typename V> TESSERA_INLINE V pickInLanes(V from, V numbers) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64)
    return reinterpret_cast<V>(_mm512_shuffle_epi8(
        reinterpret_cast<__m512i>(from), reinterpret_cast<__m512i>(numbers)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32)
    return reinterpret_cast<V>(_mm256_shuffle_epi8(
        reinterpret_cast<__m256i>(from), reinterpret_cast<__m256i>(numbers)));
  if constexpr (sizeof(V) == 16)
    return reinterpret_cast<V>(_mm_shuffle_epi8(
        reinterpret_cast<__m128i>(from), reinterpret_cast<__m128i>(numbers)));
#elif defined(__aarch64__)
  return reinterpret_cast<V>(vqtbl1q_u8(reinterpret_cast<uint8x16_t>(from),
                                        reinterpret_cast<uint8x16_t>(numbers)));
#endif
  return from;
}

/// The same register, of which the compiler knows nothing: it does not merge
/// the shuffles before with those behind into others that cross lanes, nor make
/// two shuffles of one by numbers that it knows.
template <typename V> TESSERA_INLINE V hideRegister(V value) {
#if defined(__x86_64__)
  __asm__("" : "+x"(value));
#endif
  return value;
}

/// Squares of `Ways` by `Ways` elements, columns for rows.
template <int Ways, int Element = 1> struct TurnSquares {
  static constexpr int at(int i) {
    constexpr int kSize = Ways * Ways;
    int k = i / Element;
    int from = k / kSize * kSize + k % Ways * Ways + k / Ways % Ways;
    return from * Element + i % Element;
  }
};

/// The numbers of the bytes in the order of Order::at, for `pickInLanes`.
template <typename V, typename Order, int... I>
TESSERA_INLINE V getNumbers(Indices<I...>) {
  return reinterpret_cast<V>(
      Vector<1, sizeof...(I)>{static_cast<uint8_t>(Order::at(I))...});
}

/// Runs of `RunBytes`, which are squares of `Ways` by `Ways` elements, with
/// columns for rows.
template <int RunBytes, int Ways, typename V>
TESSERA_INLINE V turnSquares(V runs) {
  constexpr int kElement = RunBytes / (Ways * Ways), kSize = sizeof(V);
  if constexpr (kHasLanePicks && kElement < 4)
    return pickInLanes(runs,
                       hideRegister(getNumbers<V, TurnSquares<Ways, kElement>>(
                           FirstIndices<kSize>())));
  using Elements = Vector<kElement, kSize>;
  auto elements = load<Elements>(reinterpret_cast<const char *>(&runs));
  elements = shuffle<TurnSquares<Ways>, kSize / kElement>(elements, elements);
  return load<V>(reinterpret_cast<const char *>(&elements));
}

/// Whether there is an instruction that shuffles bytes across lanes.
#if defined(__AVX512VBMI__)
constexpr bool kHasByteShuffles = true;
#else
constexpr bool kHasByteShuffles = false;
#endif

/// Whether there is an instruction that picks runs of two registers by number.
#if defined(__AVX512F__)
template <int RunBytes>
constexpr bool kHasPicks = RunBytes > 1 || kHasByteShuffles;
#else
template <int RunBytes> constexpr bool kHasPicks = false;
#endif

/// The runs of two registers by number, where `kHasPicks`: those of `high` come
/// behind those of `low`.
template <int RunBytes, typename V>
TESSERA_INLINE V pickRuns(V low, V high, V numbers) {
#if defined(__AVX512F__)
  auto a = reinterpret_cast<__m512i>(low), b = reinterpret_cast<__m512i>(high);
  auto at = reinterpret_cast<__m512i>(numbers);
  if constexpr (RunBytes == 8)
    return reinterpret_cast<V>(_mm512_permutex2var_epi64(a, at, b));
  if constexpr (RunBytes == 4)
    return reinterpret_cast<V>(_mm512_permutex2var_epi32(a, at, b));
  if constexpr (RunBytes == 2)
    return reinterpret_cast<V>(_mm512_permutex2var_epi16(a, at, b));
#endif
#if defined(__AVX512VBMI__)
  if constexpr (RunBytes == 1)
    return reinterpret_cast<V>(_mm512_permutex2var_epi8(a, at, b));
#endif
  return low;
}

#if defined(__AVX512F__)
template <typename V, int... I> TESSERA_INLINE V countUp(Indices<I...>) {
  return V{I...};
}

/// A register of the runs from number `first` on of two that follow one
/// another.
template <int RunBytes, typename V>
TESSERA_INLINE V pickFrom(V low, V high, int64_t first) {
  using Index = Vector<RunBytes, kVectorBytes>;
  using Element = typename VectorOf<RunBytes, kVectorBytes>::Element;
  auto numbers =
      countUp<Index>(FirstIndices<sizeof(Index) / sizeof(Element)>());
  numbers += static_cast<Element>(first * RunBytes / sizeof(Element));
  return reinterpret_cast<V>(pickRuns<sizeof(Element)>(
      reinterpret_cast<Index>(low), reinterpret_cast<Index>(high), numbers));
}
#endif

/// Runs of N registers in turns: register k becomes the k-th part of them all.
/// Bytes are unpacked within lanes, and then lanes, where no instruction does
/// both.
template <int RunBytes, int N, typename V>
TESSERA_INLINE void interleaveRegisters(V (&rows)[N]) {
  constexpr int kRuns = sizeof(V) / RunBytes, kLanes = sizeof(V) / kLaneBytes;
  if constexpr (RunBytes > 1 || kLanes <= 1 || kHasByteShuffles) {
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

/// Within each lane of `Runs` runs, those of every N-th number one behind
/// another, from number 0 on.
template <int N, int Runs> struct GroupRuns {
  static constexpr int at(int i) {
    constexpr int kGroup = Runs / N;
    int k = i % Runs;
    return i / Runs * Runs + k % kGroup * N + k / kGroup;
  }
};

/// Whether registers are longer than lanes, no instruction picks runs across
/// lanes, and a lane has a run or more of every N-th number.
template <int RunBytes, int N, int Bytes>
constexpr bool kSplitsWithinLanes =
    Bytes > kLaneBytes && !kHasPicks<RunBytes> && N * RunBytes <= kLaneBytes;

/// N registers that follow one another at `src`, split like
/// deinterleaveRegisters does. Without an instruction that picks runs across
/// lanes, lanes are put where they belong as they are loaded: lane i of
/// register k is number i * N + k of all. Shuffles and a transposition of words
/// within lanes do the rest.
template <int RunBytes, int N, typename V>
TESSERA_INLINE void loadSplit(const char *src, V (&runs)[N]) {
  constexpr int kRuns = sizeof(V) / RunBytes;
  if constexpr (!kSplitsWithinLanes<RunBytes, N, sizeof(V)>) {
    TESSERA_UNROLL
    for (int k = 0; k < N; ++k)
      runs[k] = load<V>(src + k * sizeof(V));
    deinterleaveRegisters<kRuns>(runs);
  } else {
    constexpr int kWord = kLaneBytes / N;
    using Words = Vector<kWord, sizeof(V)>;
    Words words[N];
    TESSERA_UNROLL
    for (int k = 0; k < N; ++k) {
      auto row =
          loadLanes<V>([=](int i) { return src + (i * N + k) * kLaneBytes; });
      words[k] = hideRegister(reinterpret_cast<Words>(
          shuffle<GroupRuns<N, kLaneBytes / RunBytes>, kRuns>(row, row)));
    }
    unpackRegisters<N, sizeof(V) / kWord>(words);
    TESSERA_UNROLL
    for (int k = 0; k < N; ++k)
      runs[k] = reinterpret_cast<V>(words[k]);
  }
}

//===----------------------------------------------------------------------===//
// Parts of registers
//===----------------------------------------------------------------------===//

#if defined(__AVX512BW__)
/// The first `count` bytes of a register, at least 0; all if they are more.
TESSERA_INLINE __mmask64 getFirst(int64_t count) {
  constexpr uint64_t kAll = ~uint64_t(0);
  return count < kVectorBytes ? ~(kAll << count) : kAll;
}

/// The bytes behind the first `count` are those of `others`; nothing is read
/// there.
template <typename V>
TESSERA_INLINE V loadFirst(const char *from, int64_t count, V others = V{}) {
  return reinterpret_cast<V>(_mm512_mask_loadu_epi8(
      reinterpret_cast<__m512i>(others), getFirst(count), from));
}
template <typename V>
TESSERA_INLINE void storeFirst(char *to, V value, int64_t count) {
  _mm512_mask_storeu_epi8(to, getFirst(count),
                          reinterpret_cast<__m512i>(value));
}
#endif

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The same value, of which the compiler knows nothing: it makes no variable of
/// each sum with it, which would be more than there are registers.
template <typename T> TESSERA_INLINE T hide(T value) {
  __asm__("" : "+r"(value));
  return value;
}

/// Rows so many bytes apart. Eight of them are reached from one address by
/// four multiples, which processors scale.
class Pitch {
public:
  TESSERA_INLINE explicit Pitch(int64_t bytes)
      : one(bytes), three(hide(3 * bytes)), five(hide(5 * bytes)),
        seven(hide(7 * bytes)) {}

  template <typename T> TESSERA_INLINE T *getRow(T *first, int row) const {
    constexpr int kOdd[] = {1, 1, 1, 3, 1, 5, 3, 7};
    constexpr int kScale[] = {0, 1, 2, 1, 4, 1, 2, 1};
    int64_t odd = kOdd[row] == 1   ? one
                  : kOdd[row] == 3 ? three
                  : kOdd[row] == 5 ? five
                                   : seven;
    return first + kScale[row] * odd;
  }
  int64_t getBytes() const { return one; }

private:
  int64_t one, three, five, seven;
};

/// `Count` rows from an address on.
template <typename T, int Count> class Rows {
public:
  TESSERA_INLINE Rows(T *first, const Pitch &pitch) : pitch(pitch) {
    begins[0] = hide(first);
    TESSERA_UNROLL
    for (int i = 1; i < kGroups; ++i)
      begins[i] = hide(begins[i - 1] + kGroup * pitch.getBytes());
  }
  TESSERA_INLINE T *operator[](int row) const {
    return pitch.getRow(begins[row / kGroup], row % kGroup);
  }
  /// The same rows, some bytes farther.
  TESSERA_INLINE Rows from(int64_t bytes) const {
    return Rows(begins[0] + bytes, pitch);
  }

private:
  static constexpr int kGroup = 8, kGroups = (Count + kGroup - 1) / kGroup;
  const Pitch &pitch;
  T *begins[kGroups];
};

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A copy of a small body, in registers: what memory holds of one is read again
/// after each store.
template <typename Body, bool IsSmall = sizeof(Body) <= 16> struct HeldBody {
  using Type = const Body &;
};
template <typename Body> struct HeldBody<Body, true> {
  using Type = const Body;
};

/// Calls `body(src, dst)` at each step of the loops. The two innermost ones are
/// one piece of code, so that what a body needs is made ready once for both.
/// Addresses are hidden, else one is kept for each place that a body touches.
template <typename Body>
void walk(const Loop *loops, size_t count, const char *src, char *dst,
          const Body &body) {
  constexpr Loop kOnce = {1, 0, 0};
  if (count > 2) {
    const Loop loop = loops[0];
    for (int64_t i = 0; i < loop.count; ++i)
      walk(loops + 1, count - 1, src + i * loop.src, dst + i * loop.dst, body);
    return;
  }
  const Loop outer = count == 2 ? loops[0] : kOnce;
  const Loop inner = count > 0 ? loops[count - 1] : kOnce;
  typename HeldBody<Body>::Type move = body;
  for (int64_t i = outer.count; i > 0; --i) {
    const char *from = hide(src);
    char *to = hide(dst);
    TESSERA_ALIGN_LOOP
    for (int64_t j = inner.count; j > 0; --j) {
      move(from, to);
      from += inner.src;
      to += inner.dst;
    }
    src += outer.src;
    dst += outer.dst;
  }
}

TESSERA_INLINE constexpr int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

TESSERA_INLINE bool isOnLine(int64_t distance) {
  return distance % kLineBytes == 0;
}
/// Bytes up to the next line.
TESSERA_INLINE int64_t bytesToLine(const char *address) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(address) %
                              kLineBytes);
}
/// Bytes from where its line begins.
TESSERA_INLINE int64_t bytesFromLine(const char *address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) %
                              kLineBytes);
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELVECTORS_H
