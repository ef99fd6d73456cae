//===- Kernels.h - What moves bytes at run time -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few kernels, each with the loops around it, that are compiled once for each
// kind of processor (KernelsImpl.h) and chosen when the program starts. All
// distances are in bytes. A file that is compiled for some processors alone may
// share no inline function with others, so that there are plain structs only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_KERNELS_H
#define TESSERA_LIB_RUNTIME_KERNELS_H

// No header of C++, so that no inline function of one is compiled here.
#include <stddef.h> // NOLINT(modernize-deprecated-headers)
#include <stdint.h> // NOLINT(modernize-deprecated-headers)

namespace tessera::runtime {

struct Loop {
  int64_t count;
  int64_t src, dst; ///< Bytes between neighbouring steps.
};

/// Whether runs of so many bytes follow one another in the destination, and in
/// the source do not overlap, at the steps of a loop.
constexpr bool continuesRuns(const Loop &loop, int64_t runBytes) {
  return loop.dst == runBytes && loop.src >= runBytes;
}

/// Bits of a byte of the source on their way into one of the destination.
struct BitPart {
  int64_t src; ///< From where the step begins.
  int shift;   ///< To the left; to the right where negative.
  uint8_t mask;
};

/// A byte of the destination that is put together from parts.
struct ByteParts {
  int64_t dst; ///< From where the step begins.
  const BitPart *parts;
  size_t numParts;
};

/// How transposes bypass the caches.
struct StreamedBlocks {
  /// Lines of each column that are written one behind another, at most
  /// `kMostLines`, of chains `kMostChainedLines`; where registers are shorter
  /// than a line `kMostStagedLines`, or those of `kMostStagedRows`; and
  /// `kMostPackedLines` where rows are packed: copied side by side first.
  int64_t lines = 1;
  bool packsRows = false;
  /// Whether rows are prefetched into the second-level cache alone.
  bool prefetchesToL2 = false;
};

constexpr int64_t kMostLines = 3, kMostChainedLines = 8, kMostStagedLines = 4,
                  kMostPackedLines = 4;
constexpr int64_t kMostStagedRows = 256;

/// Bytes that hold a register of an element that is repeated, at any place of
/// one of 16 bytes. A kernel loads it as it lies there: what it would put
/// together itself waits behind stores that miss the caches.
constexpr int64_t kFillerBytes = 64 + 16;

/// Words of two or four runs, which exchange these, have at most so many bytes;
/// longer ones are rare and go as chains.
constexpr int64_t kMaxWordBytes = 8;

/// On which sides squares of elements are contiguous. Where on both, they are
/// runs; else runs are the rows of those of the destination, or what becomes
/// columns of those of the source, and have `kRunOfSquare` bytes.
enum class SquareSides : uint8_t { Both, Source, Destination };
constexpr int64_t kRunOfSquare = 4;

/// The registers of gathers. Wide ones pick bytes from one, two or four windows
/// that together are as long as they are; each lane of others, of `laneBytes`
/// or of one lane, from a window as long as a lane. 0: there are none.
struct GatherRegisters {
  static constexpr int64_t kWindowBytes = 16;

  int64_t wideBytes, laneBytes;
};

/// Transposes of three or more rows to columns without gaps, and back, have a
/// kernel of their own. Rows have at least `leastRowBytes`, columns at most
/// `mostWritten` of them where they are written, `mostRead` where they are read
/// in the caches, or `mostStreamed` past these; 0: there is no kernel.
struct DenseLimits {
  static constexpr int64_t kLeastRows = 3, kMostRows = 16;
  static constexpr int64_t kLongRowBytes = 1024;

  int64_t leastRowBytes, mostWritten, mostRead, mostStreamed;
  /// Whether there is one for each number of rows; otherwise there is one for
  /// each power of two that is no less.
  bool isExact;

  /// Whether such columns of all rows are written, of runs of so many bytes.
  constexpr bool writes(const Loop &rows, const Loop &columns,
                        int64_t runBytes) const {
    return columns.dst == rows.count * runBytes && rows.count <= mostWritten &&
           suits(rows, columns, runBytes);
  }
  /// Whether they are read, the other way round. Past the caches, short rows
  /// have to be one behind another, as they begin and end anywhere in a line.
  constexpr bool reads(const Loop &rows, const Loop &columns, int64_t runBytes,
                       bool isStreamed) const {
    int64_t most = isStreamed ? mostStreamed : mostRead;
    int64_t size = rows.count * runBytes;
    return rows.src == columns.count * runBytes && columns.count <= most &&
           suits(columns, rows, runBytes) &&
           (!isStreamed || size >= kLongRowBytes || columns.dst == size);
  }

private:
  constexpr bool suits(const Loop &few, const Loop &many,
                       int64_t runBytes) const {
    return few.count >= kLeastRows && many.count * runBytes >= leastRowBytes;
  }
};

/// How the registers of a block of the destination are put together, one behind
/// another: each in some ways, which are windows of the source of which it
/// picks bytes. The last register ends with the block.
struct GatherTable {
  /// The number of a byte that comes from another window.
  static constexpr uint8_t kNone = 0x80;

  int64_t registerBytes;
  int64_t ways;
  /// Of each way: 1, or as many as are put together to a register. Lanes share
  /// one, or have one each.
  int64_t windows;
  /// For each register and way, where these begin, from where the source of the
  /// block does.
  const int64_t *places;
  /// For each register and way, the number that each byte has in the windows,
  /// or in that of its lane.
  const uint8_t *numbers;
};
/// The most ways of one window, of one for each lane, and of several that a
/// wide register picks from; and the bytes of a block: its last register may be
/// one that overlaps the one before, and its table is soon made.
constexpr int64_t kMostGatherWays = 16, kMostSeparateWays = 8,
                  kMostWideWays = 4;
constexpr int64_t kMostGatheredBytes = 256;

/// Two bytes of a step that get the halves of one byte of the source or, zipped
/// with them, those of another: the round of an interleave below bytes.
struct Halves {
  bool isFound, isZip;
  int64_t src[2];
};

struct PackedBlock;

/// The loops of one call of a kernel, outermost first, and what each step of
/// them moves.
struct Job {
  const Loop *loops;
  size_t numLoops;
  /// Bytes that are contiguous on both sides.
  int64_t runBytes;
  /// Of a transpose: runs that are contiguous in the destination, and those
  /// that are contiguous in the source. Of bits: those that become the bytes of
  /// a column, and bytes or words that are neighbours in the source.
  Loop rows, columns;
  /// Of a transpose: what comes behind the rows in the destination, and behind
  /// the columns in the source, as in tiles. 1 step: nothing does. Of bits: the
  /// steps within a word.
  Loop moreRows, moreColumns;
  /// Of a transpose: elements on each side of squares of which columns become
  /// rows; 1: there are none. `columns.count` may be less where the source
  /// alone has squares: those runs of each are moved.
  int64_t square;
  SquareSides squareSides;
  /// Whether whole lines of the destination bypass the caches.
  bool isStreamed;
  StreamedBlocks blocks;
  /// Of copies: bytes behind each run that are filled. Of a transpose to
  /// columns of 2 or 4 runs: not 0 where those behind the rows are; if there
  /// are as many rows, bytes behind the last column.
  int64_t fillBytes;
  /// Of a transpose to columns of 2 or 4 runs of which rows are the first:
  /// bytes behind the last column that are filled.
  int64_t fillBehind;
  /// Of a transpose: whether those behind the rows are written as they were.
  bool keepsPadding;

  /// Of a gather, whose block is the run.
  GatherTable gather;

  /// Of bits: the bytes of a step, which bits of them are written, and the
  /// width of an element whose sign goes into those above (0: zeros do).
  const ByteParts *bytes;
  size_t numBytes;
  uint8_t mask;
  int signedBits;
  Halves halves;
  /// Of bits that are moved by blocks, these.
  const PackedBlock *block;

  /// Of a fill, or where runs or columns are filled: the element, again and
  /// again.
  uint8_t filler[kFillerBytes];
};

using Kernel = void(const Job &job, const char *src, char *dst);
/// Finds the kernel for a job, once for all its calls: those of small arrays
/// take no longer than a few lines of memory.
using KernelChoice = Kernel *(const Job &job);

/// Each step of the loops moves or fills one run.
struct KernelTable {
  const char *name;
  int64_t vectorBytes;
  KernelChoice *copy;
  /// Runs of 1, 2, 4, 8 and 16 bytes.
  KernelChoice *transpose;
  KernelChoice *packBits;
  KernelChoice *fill;
  KernelChoice *gather;
  GatherRegisters gatherRegisters;
  /// Of runs of 1, 2, 4, 8 and 16 bytes.
  DenseLimits dense[5];
  /// What others must wait for behind moves that bypass the caches.
  void (*fence)();
};

constexpr int64_t kLineBytes = 64;
/// Pages begin at one set of the first-level cache.
constexpr int64_t kPageBytes = 4096;
/// That cache has so many ways or a few more.
constexpr int64_t kCacheWays = 8;
/// Whether so many lines, `pitch` bytes apart, evict one another from some ways
/// of that cache. Of a pitch that is close to a page, or to a part of one, the
/// lines drift from set to set.
constexpr bool isInFewSets(int64_t lines, int64_t pitch,
                           int64_t ways = kCacheWays) {
  for (int64_t sets = 1; sets * ways < lines && sets < kPageBytes; sets *= 2) {
    int64_t part = kPageBytes / sets, behind = pitch & (part - 1);
    int64_t drift = behind < part - behind ? behind : part - behind;
    if (drift * sets * ways < kLineBytes - kLineBytes * sets * ways / lines)
      return true;
  }
  return false;
}
/// Rows of up to so many bytes are read from one to the next, longer ones along
/// the row.
constexpr int64_t kShortRow = 1024;

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kAVX2Kernels, kAVX512Kernels, kAVX512VBMIKernels;
#endif

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELS_H
