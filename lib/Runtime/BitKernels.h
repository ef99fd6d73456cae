//===- BitKernels.h - Elements that share bytes -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_BITKERNELS_H
#define TESSERA_LIB_RUNTIME_BITKERNELS_H

#include "TransposeKernels.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Bits of a register of bytes, shifted as those of a part are. What pairs of
/// bytes shift into one another is not in the part's mask.
template <typename V> TESSERA_INLINE V shiftBits(V bytes, int shift) {
  auto pairs = reinterpret_cast<Vector<2, sizeof(V)>>(bytes);
  if (shift > 0)
    pairs = pairs << static_cast<uint16_t>(shift);
  else if (shift < 0)
    pairs = pairs >> static_cast<uint16_t>(-shift);
  return reinterpret_cast<V>(pairs);
}

/// A byte of a step that `NumParts` parts make, with their masks in registers.
template <int Bytes, int NumParts> struct PackedByte {
  using V = Vector<1, Bytes>;

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
template <int Bytes> TESSERA_INLINE Vector<1, Bytes> getSigns(int signedBits) {
  auto sign = static_cast<uint8_t>(signedBits ? 1 << (signedBits - 1) : 0);
  return Vector<1, Bytes>{} + sign;
}

/// A single byte.
inline uint8_t packByte(const ByteParts &byte, const char *src,
                        int signedBits) {
  unsigned sign = signedBits ? 1U << (signedBits - 1) : 0, value = 0;
  for (size_t i = 0; i < byte.numParts; ++i) {
    const BitPart &part = byte.parts[i];
    unsigned bits = static_cast<uint8_t>(src[part.src]);
    value |=
        (part.shift < 0 ? bits >> -part.shift : bits << part.shift) & part.mask;
  }
  return static_cast<uint8_t>((value ^ sign) - sign);
}

TESSERA_INLINE void mergeByte(char *dst, uint8_t value, uint8_t mask) {
  unsigned old = static_cast<uint8_t>(*dst);
  *dst = static_cast<char>((old & ~unsigned{mask}) | (value & mask));
}

/// All bytes of a step, or those of their bits that are written.
TESSERA_INLINE void packStep(const Job &job, const char *src, char *dst) {
  for (size_t i = 0; i < job.numBytes; ++i)
    mergeByte(dst + job.bytes[i].dst,
              packByte(job.bytes[i], src, job.signedBits), job.mask);
}

/// Byte by byte.
void packOneByOne(const Job &job, const char *src, char *dst) {
  const Loop loops[] = {job.rows, job.moreColumns, job.columns};
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    walk(loops, 3, src, dst,
         [&job](const char *src, char *dst) { packStep(job, src, dst); });
  });
}

/// Registers of so many bytes. Those that are streamed bypass the caches where
/// they are aligned.
template <int Bytes, bool IsStreamed> struct Registers {
  static constexpr int kBytes = Bytes;
  using V = Vector<1, Bytes>;

  static TESSERA_INLINE void write(char *to, V value) {
    if (IsStreamed && reinterpret_cast<uintptr_t>(to) % Bytes == 0)
      stream(to, value);
    else
      store(to, value);
  }
};

/// A register of each of `Ways` bytes that are neighbours in the destination.
template <typename R, int Ways, int NumParts>
TESSERA_INLINE void
packTile(const PackedByte<R::kBytes, NumParts> (&bytes)[Ways],
         typename R::V sign, const char *src, char *dst) {
  using V = typename R::V;
  V packed[Ways];
  TESSERA_UNROLL
  for (int i = 0; i < Ways; ++i)
    packed[i] = bytes[i].pack(
        sign, [src](int64_t part) { return load<V>(src + part); });
  interleaveRegisters<1>(packed);
  TESSERA_UNROLL
  for (int i = 0; i < Ways; ++i)
    R::write(dst + i * R::kBytes, packed[i]);
}

/// Steps whose bytes, those of all rows, are neighbours in the destination, as
/// are those of the next column.
template <typename R, int Ways, int NumParts>
void packTiles(const Job &job, const char *src, char *dst) {
  PackedByte<R::kBytes, NumParts> bytes[Ways];
  for (int i = 0; i < Ways; ++i)
    bytes[i] = {job.bytes[i / job.rows.count],
                i % job.rows.count * job.rows.src};
  int64_t last = job.columns.count - R::kBytes;
  auto sign = getSigns<R::kBytes>(job.signedBits);
  dst += job.bytes[0].dst;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    for (int64_t c = 0; c < last; c += R::kBytes)
      packTile<R>(bytes, sign, src + c, dst + c * Ways);
    packTile<R>(bytes, sign, src + last, dst + last * Ways);
  });
}

//===----------------------------------------------------------------------===//
// Halves of bytes
//===----------------------------------------------------------------------===//

/// The low halves of `a`, and of `b` above them; and the high ones. Without a
/// zip, the signs of `a`.
template <bool IsZip, typename V>
TESSERA_INLINE void takeHalves(V a, V b, V sign, V &low, V &high) {
  using Pairs = Vector<2, sizeof(V)>;
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
template <typename R, int Ways, bool IsZip>
TESSERA_INLINE void packHalvesTile(const Halves &halves, int64_t pitch,
                                   typename R::V sign, const char *src,
                                   char *dst) {
  using V = typename R::V;
  V packed[Ways];
  TESSERA_UNROLL
  for (int r = 0; r < Ways / 2; ++r)
    takeHalves<IsZip>(load<V>(src + r * pitch + halves.src[0]),
                      load<V>(src + r * pitch + halves.src[1]), sign, packed[r],
                      packed[Ways / 2 + r]);
  interleaveRegisters<1>(packed);
  TESSERA_UNROLL
  for (int i = 0; i < Ways; ++i)
    R::write(dst + i * R::kBytes, packed[i]);
}

template <typename R, int Ways, bool IsZip>
void packHalvesTiles(const Job &job, const char *src, char *dst) {
  const Halves halves = job.halves;
  int64_t last = job.columns.count - R::kBytes, pitch = job.rows.src;
  auto sign = getSigns<R::kBytes>(job.signedBits);
  dst += job.bytes[0].dst;
  walk(job.loops, job.numLoops, src, dst, [&](const char *src, char *dst) {
    auto pack = [&](int64_t column) {
      packHalvesTile<R, Ways, IsZip>(halves, pitch, sign, src + column,
                                     dst + column * Ways);
    };
    for (int64_t c = 0; c < last; c += R::kBytes)
      pack(c);
    pack(last);
  });
}

/// Columns whose halves go to two runs.
template <typename R>
void packHalvesRuns(const Job &job, const char *src, char *dst) {
  using V = typename R::V;
  int64_t last = job.columns.count - R::kBytes;
  int64_t toLow = job.bytes[0].dst, toHigh = job.bytes[1].dst;
  auto sign = getSigns<R::kBytes>(job.signedBits);
  src += job.halves.src[0];
  walk(job.loops, job.numLoops, src, dst, [=](const char *src, char *dst) {
    auto pack = [&](int64_t column) {
      V bytes = load<V>(src + column), low, high;
      takeHalves<false>(bytes, bytes, sign, low, high);
      R::write(dst + column + toLow, low);
      R::write(dst + column + toHigh, high);
    };
    for (int64_t c = 0; c < last; c += R::kBytes)
      pack(c);
    pack(last);
  });
}

/// Columns that are words of `Ways` bytes, of which the halves go to runs:
/// those of each byte, or zipped with those of one half a word behind it.
template <typename R, int Ways, bool IsZip>
void packHalvesGroups(const Job &job, const char *src, char *dst) {
  using V = typename R::V;
  constexpr int kSteps = IsZip ? Ways / 2 : Ways;
  int64_t last = job.columns.count - R::kBytes;
  int64_t toLow = job.bytes[0].dst, toHigh = job.bytes[1].dst;
  int64_t pitch = job.moreColumns.dst;
  auto sign = getSigns<R::kBytes>(job.signedBits);
  walk(job.loops, job.numLoops, src, dst, [=](const char *src, char *dst) {
    auto pack = [&](int64_t column) {
      V bytes[Ways];
      TESSERA_UNROLL
      for (int i = 0; i < Ways; ++i)
        bytes[i] = load<V>(src + column * Ways + i * R::kBytes);
      deinterleaveRegisters<R::kBytes>(bytes);
      TESSERA_UNROLL
      for (int i = 0; i < kSteps; ++i) {
        V low, high;
        takeHalves<IsZip>(bytes[i], bytes[i + Ways - kSteps], sign, low, high);
        R::write(dst + i * pitch + column + toLow, low);
        R::write(dst + i * pitch + column + toHigh, high);
      }
    };
    for (int64_t c = 0; c < last; c += R::kBytes)
      pack(c);
    pack(last);
  });
}

/// Null where the halves of a word are not all taken so.
template <typename R, int Ways> Kernel *chooseGroups(const Job &job) {
  const Halves &halves = job.halves;
  bool isGroup = halves.isFound && job.columns.dst == 1 && halves.src[0] == 0;
  if (isGroup && halves.isZip && halves.src[1] == Ways / 2 &&
      job.moreColumns.count == Ways / 2)
    return packHalvesGroups<R, Ways, true>;
  if (isGroup && !halves.isZip && job.moreColumns.count == Ways)
    return packHalvesGroups<R, Ways, false>;
  return nullptr;
}

/// Columns that are one run in the destination, for each byte of a step.
template <typename R, int NumParts>
void packRuns(const Job &job, const char *src, char *dst) {
  struct {
    PackedByte<R::kBytes, NumParts> byte;
    typename R::V sign;
  } packed;
  packed.sign = getSigns<R::kBytes>(job.signedBits);
  int64_t last = job.columns.count - R::kBytes;
  for (size_t i = 0; i < job.numBytes; ++i) {
    packed.byte = {job.bytes[i], 0};
    walk(job.loops, job.numLoops, src, dst + job.bytes[i].dst,
         [&packed, last](const char *src, char *dst) {
           const auto own = packed; // What is stored changes none of it.
           auto pack = [&](int64_t column) {
             R::write(dst + column, own.byte.pack(own.sign, [=](int64_t part) {
               return load<typename R::V>(src + part + column);
             }));
           };
           for (int64_t c = 0; c < last; c += R::kBytes)
             pack(c);
           pack(last);
         });
  }
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// A byte packed from parts of a word of `Ways` bytes.
template <int Bytes, int Ways, int NumParts> class PackedWord {
  using V = Vector<1, Bytes>;
  using Words = Vector<Ways, Bytes>;
  using Word = typename VectorOf<Ways, Bytes>::Element;

public:
  /// Of words that begin `before` bytes before those of the step.
  PackedWord(const ByteParts &byte, int signedBits, int64_t before)
      : sign(getSigns<Bytes>(signedBits)) {
    for (int i = 0; i < NumParts; ++i) {
      const BitPart &part = byte.parts[i];
      shift[i] = static_cast<Word>(8 * (part.src + before) - part.shift);
      mask[i] = Words{} + Word{part.mask};
    }
  }

  /// A register of it.
  TESSERA_INLINE V pack(const char *src) const {
    V bytes[Ways];
    TESSERA_UNROLL
    for (int i = 0; i < Ways; ++i)
      bytes[i] = packInWords(load<Words>(src + i * Bytes));
    TESSERA_UNROLL
    for (int left = Ways / 2; left > 0; left /= 2) {
      TESSERA_UNROLL
      for (int i = 0; i < left; ++i)
        bytes[i] =
            shuffle<EveryOther<false>, Bytes>(bytes[2 * i], bytes[2 * i + 1]);
    }
    if constexpr (NumParts == 1)
      return (bytes[0] ^ sign) - sign;
    return bytes[0];
  }

private:
  TESSERA_INLINE V packInWords(Words words) const {
    Words packed = words >> shift[0] & mask[0];
    TESSERA_UNROLL
    for (int i = 1; i < NumParts; ++i)
      packed |= words >> shift[i] & mask[i];
    return reinterpret_cast<V>(packed);
  }

  V sign;
  Word shift[NumParts];
  Words mask[NumParts];
};

/// Bytes of a word behind the last one of which a step takes a part.
TESSERA_INLINE int64_t countUnused(const Job &job) {
  int64_t last = 0;
  for (size_t i = 0; i < job.numBytes; ++i)
    for (size_t k = 0; k < job.bytes[i].numParts; ++k)
      if (job.bytes[i].parts[k].src > last)
        last = job.bytes[i].parts[k].src;
  return job.columns.src - 1 - last;
}

/// Words of which all bytes are used.
template <typename R, int Ways>
void packWholeWords(const Job &job, const char *src, char *dst) {
  int64_t last = job.columns.count - R::kBytes;
  for (size_t i = 0; i < job.numBytes; ++i) {
    const PackedWord<R::kBytes, Ways, Ways> words(job.bytes[i], 0, 0);
    walk(job.loops, job.numLoops, src, dst + job.bytes[i].dst,
         [&words, last](const char *src, char *dst) {
           const auto own = words;
           for (int64_t c = 0; c < last; c += R::kBytes)
             R::write(dst + c, own.pack(src + c * Ways));
           R::write(dst + last, own.pack(src + last * Ways));
         });
  }
}

/// Others: the last register ends with the last byte that is used.
template <typename R, int Ways, int NumParts>
void packWords(const Job &job, const char *src, char *dst) {
  using Packed = PackedWord<R::kBytes, Ways, NumParts>;
  int64_t last = job.columns.count - R::kBytes, unused = countUnused(job);
  for (size_t i = 0; i < job.numBytes; ++i) {
    const Packed words(job.bytes[i], job.signedBits, 0);
    const Packed lastWords(job.bytes[i], job.signedBits, unused);
    walk(job.loops, job.numLoops, src, dst + job.bytes[i].dst,
         [&, last, unused](const char *src, char *dst) {
           const Packed own = words;
           for (int64_t c = 0; c < last; c += R::kBytes)
             R::write(dst + c, own.pack(src + c * Ways));
           R::write(dst + last, lastWords.pack(src + last * Ways - unused));
         });
  }
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// How many parts each byte has; 0 where they differ.
TESSERA_INLINE size_t countParts(const Job &job) {
  for (size_t i = 1; i < job.numBytes; ++i)
    if (job.bytes[i].numParts != job.bytes[0].numParts)
      return 0;
  return job.bytes[0].numParts;
}

template <typename R> Kernel *chooseRuns(const Job &job) {
  const Halves &halves = job.halves;
  if (halves.isFound && !halves.isZip)
    return packHalvesRuns<R>;
  switch (countParts(job)) {
  case 1:
    return packRuns<R, 1>;
  case 2:
    return packRuns<R, 2>;
  case 4:
    return packRuns<R, 4>;
  case 8:
    return packRuns<R, 8>;
  default:
    return packOneByOne;
  }
}

/// All bytes of a step are neighbours, and so are those of the next column.
template <typename R, int Ways> Kernel *chooseTiles(const Job &job) {
  const Halves &halves = job.halves;
  if (halves.isFound)
    return halves.isZip ? packHalvesTiles<R, Ways, true>
                        : packHalvesTiles<R, Ways, false>;
  switch (countParts(job)) {
  case 1:
    return packTiles<R, Ways, 1>;
  case 2:
    return packTiles<R, Ways, 2>;
  default:
    return packOneByOne;
  }
}

template <typename R, int Ways> Kernel *chooseWords(const Job &job) {
  if (Kernel *kernel = chooseGroups<R, Ways>(job))
    return kernel;
  size_t numParts = job.moreColumns.count > 1 ? 0 : countParts(job);
  if constexpr (R::kBytes == kVectorBytes || Ways == 2)
    if (numParts == Ways)
      return packWholeWords<R, Ways>;
  // Words that begin before those of the first step may not be read.
  if constexpr (R::kBytes == kVectorBytes)
    if (job.columns.count > R::kBytes && numParts < Ways) {
      if (numParts == 1)
        return packWords<R, Ways, 1>;
      if (numParts == 2)
        return packWords<R, Ways, 2>;
    }
  return packOneByOne;
}

/// For no fewer columns than a register has bytes.
template <typename R> Kernel *chooseRegisters(const Job &job) {
  switch (job.columns.src) {
  case 1:
    break;
  case 2:
    return chooseWords<R, 2>(job);
  case 4:
    return chooseWords<R, 4>(job);
  case 8:
    return chooseWords<R, 8>(job);
  default:
    return packOneByOne;
  }
  switch (job.columns.dst) {
  case 1:
    return chooseRuns<R>(job);
  case 2:
    return chooseTiles<R, 2>(job);
  case 4:
    return chooseTiles<R, 4>(job);
  default:
    return chooseTiles<R, 8>(job);
  }
}

inline Kernel *choosePackBits(const Job &job) {
  Kernel *kernel = packOneByOne;
  if (job.mask == 0xFF)
    withWidest<1>(job.columns.count, [&](auto bytes) {
      constexpr int kBytes = decltype(bytes)::kCount;
      kernel = chooseRegisters<Registers<kBytes, false>>(job);
      if constexpr (kBytes > kLaneBytes && kBytes == kVectorBytes)
        if (job.isStreamed)
          kernel = chooseRegisters<Registers<kBytes, true>>(job);
    });
  return kernel;
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_BITKERNELS_H
