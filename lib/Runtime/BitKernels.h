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

Kernel *choosePackBits(const Job & /*job*/) { return packBits; }

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_BITKERNELS_H
