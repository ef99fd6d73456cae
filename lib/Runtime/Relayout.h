//===- Relayout.h - A relayout that is run, not compiled --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_RELAYOUT_H
#define TESSERA_LIB_RUNTIME_RELAYOUT_H

#include "Schedule.h"

namespace tessera::runtime {

struct Options {
  /// Whether padding of a destination without PV becomes zeros.
  bool zeroPadding = false;
  /// The widest registers; 0 for those of the processor.
  int64_t vectorBytes = 0;
  /// Bytes of the destination from which on its stores bypass the caches; 0 for
  /// what the caches of the processor hold.
  int64_t streamedBytes = 0;
  /// Bytes that a move in place copies at a time, about: in the second-level
  /// cache.
  int64_t scratchBytes = 256 << 10;
};

/// What moves one array into another. It never changes, and any number of
/// threads may run it.
class Relayout {
public:
  /// Errors: as of checkRelayout; *invalid* for strides that are not those of
  /// an array in a buffer, *unsupported* for strides of packed elements.
  static llvm::Expected<Relayout> get(Side src, Side dst,
                                      const Options &options);

  /// Bytes that the buffers must have.
  int64_t srcBytes() const { return sizeOfSrc; }
  int64_t dstBytes() const { return sizeOfDst; }

  /// Whether it goes by strided nests, not by position.
  bool isPlanned() const { return schedule.has_value(); }

  /// Does part `share` of `shares` of the work. Parts may run at once, in any
  /// order. Buffers are as long as they must be, and do not overlap.
  void run(const char *from, char *to, int64_t share, int64_t shares) const;

  /// Moves the array at the beginning of a buffer that has room for either
  /// side, to the beginning. Errors: *unsupported* for parts and strides, and
  /// where there is no memory for what waits; then nothing was moved.
  llvm::Error runInPlace(char *buffer) const;

  void print(llvm::raw_ostream &os) const;

private:
  Relayout(Side src, AxisList srcAxes, Side dst, AxisList dstAxes,
           ElementBits bits)
      : src(std::move(src)), dst(std::move(dst)), srcAxes(std::move(srcAxes)),
        dstAxes(std::move(dstAxes)), bits(bits) {}

  /// Parts of the array that are one behind another on both sides: `indices` of
  /// one dimension each, but for a last part of fewer.
  struct Bands {
    unsigned dim;
    int64_t indices;
    int64_t srcBytes, dstBytes;
  };
  std::optional<Bands> findBands() const;

  void runMove(const Move &move, const char *from, char *to, int64_t share,
               int64_t shares) const;
  void runFills(char *to) const;
  void clearTail(char *to) const {
    if (tailMask)
      to[sizeOfDst - 1] &= ~tailMask;
  }
  void runPositions(const char *from, char *to, int64_t share,
                    int64_t shares) const;
  /// Where the element for that index of the destination begins; nothing for
  /// one outside of the part that is moved.
  std::optional<int64_t> getSrcBit(llvm::ArrayRef<int64_t> dstIndex) const;

  Side src, dst;
  AxisList srcAxes, dstAxes;
  ElementBits bits;
  int64_t sizeOfSrc = 0, sizeOfDst = 0, scratchBytes = 0;
  /// The element that padding gets, again and again; nothing: it stays.
  std::optional<std::array<uint8_t, 16>> padding;
  /// Bits of the last byte of the destination that have no position, and become
  /// zero.
  uint8_t tailMask = 0;
  const KernelTable *kernels = nullptr;
  /// Nothing: position by position.
  std::optional<Schedule> schedule;
};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_RELAYOUT_H
