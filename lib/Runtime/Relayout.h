//===- Relayout.h - A relayout that is run, not compiled --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_RELAYOUT_H
#define TESSERA_LIB_RUNTIME_RELAYOUT_H

#include "Slices.h"

namespace tessera::runtime {

/// Bytes between the elements of an array along each dimension, and where its
/// first element lies.
struct ByteStrides {
  llvm::SmallVector<int64_t, 6> strides;
  int64_t offset = 0;
};

/// A side of a relayout: an array with its layout, or with strides of its own
/// in place of one.
struct Side {
  Shape shape;
  /// The part of it that is moved; none for the whole array.
  Box box = {};
  std::optional<ByteStrides> strided = std::nullopt;

  /// The part that begins at `offsets`, none for where it does; `field` is what
  /// messages name. Error: *invalid* unless it is within the array.
  llvm::Expected<Box> getBoxAt(llvm::ArrayRef<int64_t> offsets,
                               llvm::StringRef field) const;
};

/// Which part of a run's work is done.
struct Share {
  int64_t number = 0, of = 1;
};

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

/// What moves one array into another. Any number of threads may run it: nothing
/// changes but for schedules that are made when they are first needed.
class Relayout {
public:
  /// Errors: as of checkRelayout; *invalid* for strides that are not those of
  /// an array in a buffer, *unsupported* for strides of packed elements.
  static llvm::Expected<Relayout> get(Side src, Side dst,
                                      const Options &options);

  /// Bytes that the buffers must have.
  int64_t srcBytes() const { return sizeOfSrc; }
  int64_t dstBytes() const { return sizeOfDst; }

  /// Whether it goes by strided nests, not element by element.
  bool isPlanned() const { return schedule.has_value(); }

  /// Does a share of the work. Shares may run at once, in any order. Buffers
  /// are as long as they must be, and do not overlap.
  void run(const char *from, char *to, Share share = {}) const;

  /// The same of parts that begin elsewhere. Error: *invalid* for indices that
  /// are not within the arrays; then nothing is moved.
  llvm::Error runAt(llvm::ArrayRef<int64_t> srcOffsets,
                    llvm::ArrayRef<int64_t> dstOffsets, const char *from,
                    char *to, Share share) const;

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

  /// Plans the move of parts; nothing where it goes by element.
  std::optional<Schedule> makeSchedule(llvm::ArrayRef<Slice> srcBox,
                                       llvm::ArrayRef<Slice> dstBox) const;
  /// Lets parts begin where a run says.
  void prepareOffsets();
  /// The schedule for parts that begin there in their tiles: one that is kept,
  /// or else `made`. Null where there is none.
  const Schedule *
  getSchedule(const Box &srcBox, const Box &dstBox,
              std::unique_ptr<ScheduleTable::Entry> &made) const;
  void runBoxes(const Box &srcBox, const Box &dstBox, const char *from,
                char *to, Share share) const;

  void runSchedule(const Schedule &moves, const char *from, char *to,
                   Share share) const;
  void runFills(char *to) const;
  void clearTail(char *to) const {
    if (tailMask)
      to[sizeOfDst - 1] &= ~tailMask;
  }
  void runPadding(char *to, Share share) const;
  /// Element by element, or as many as follow one another in a row.
  void runElements(const Box &srcBox, const Box &dstBox, const char *from,
                   char *to, Share share) const;

  Side src, dst;
  AxisList srcAxes, dstAxes;
  ElementBits bits;
  Options options;
  int64_t sizeOfSrc = 0, sizeOfDst = 0;
  /// The element that padding gets, again and again; nothing: it stays.
  std::optional<std::array<uint8_t, 16>> padding;
  /// Bits of the last byte of the destination that have no position, and become
  /// zero.
  uint8_t tailMask = 0;
  const KernelTable *kernels = nullptr;
  /// Nothing: element by element.
  std::optional<Schedule> schedule;

  /// What parts that begin elsewhere need.
  struct Offsets {
    Periods src, dst;
    /// What `schedule` is made for: where its parts begin in their tiles, and
    /// the bytes up to those.
    BoxBegins ownBegins;
    int64_t srcBase = 0, dstBase = 0;
    ScheduleTable others;
  };
  /// Nothing where the whole arrays are moved, or always by element.
  std::unique_ptr<Offsets> offsets;
};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_RELAYOUT_H
