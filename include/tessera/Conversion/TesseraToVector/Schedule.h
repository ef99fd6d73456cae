//===- Schedule.h - How the elements of one nest move -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule says which elements a strided nest moves, as loops around a block,
// and by which kernel a block moves: one of a closed set, each with the few
// fields that only it has.
//
//   nest src 0 dst 0
//     for 512 by 32  src 1 dst 512  columns
//       for 512 by 64  src 512 dst 1  rows
//         transpose 64x32 runs of 1
//
// That is a loop of 512 steps, of which a block takes 32 at a time; a step
// moves by 1 element in the source and by 512 in the destination. The kernel
// moves contiguous *runs*, of one element here. A block is a rectangle of rows
// (runs contiguous in the destination) and columns (runs contiguous in the
// source).
//
// The text is all of it: parseSchedules reads what print writes. A schedule is
// data, without MLIR; whoever has one checks it by verify, and emits it
// (EmitRelayout.h) or looks at what it costs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_SCHEDULE_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace tessera {

/// A loop of a nest. Strides are elements between neighbouring steps.
struct PlanLoop {
  int64_t count = 1;
  int64_t srcStride = 0;
  int64_t dstStride = 0;
  /// Iterations that one block takes; the last block takes what is left.
  int64_t step = 1;
  /// What the steps of a block are to the kernel: rows, which are contiguous in
  /// the destination, or columns, which are contiguous in the source.
  enum class Role : uint8_t { Outer, DstContiguous, SrcContiguous };
  Role role = Role::Outer;
  /// Whether its blocks are shared among threads.
  bool isParallel = false;
  /// Whether its two steps are the ends of rows that are shifted, the first of
  /// which may be left out where nothing comes before the first line.
  bool isEnds = false;

  int64_t numBlocks() const { return (count + step - 1) / step; }
  int64_t getStride(bool inSource) const {
    return inSource ? srcStride : dstStride;
  }
};

/// Steps of all loops together; at most what fits.
int64_t countSteps(llvm::ArrayRef<PlanLoop> loops);

/// How the destination is written.
enum class StoreKind : uint8_t {
  Plain,
  Nontemporal, ///< Whole aligned lines that bypass the cache.
  Staged,      ///< Into a small buffer first, written from there in long runs;
               ///< where few rows are interleaved, straight from registers.
  Carried, ///< Whole lines are written, what is left of one waits for the next
           ///< panel of rows, or run. Both may begin anywhere in a line.
};

/// What several kernels have; of those that have no choice of it, it stays as
/// it is here.
struct KernelChoices {
  StoreKind stores = StoreKind::Plain;
  /// Elements of padding right behind each run, or each column that is
  /// interleaved, which get its value.
  int64_t padding = 0;
  /// Blocks from a prefetch of rows to their use, along the innermost loop of
  /// columns; rows, where panels are packed.
  int64_t prefetch = 0;
  /// The bits of a byte that are written.
  uint8_t mask = 0xFF;
};

/// Runs that are contiguous on both sides. A block is several of them: read
/// side by side, or, where they are staged, one run of the destination.
struct CopyKernel : KernelChoices {
  /// Bytes from a prefetch to its use, in the order of the source.
  int64_t prefetchBytes = 0;
};

/// Whether registers of so many bytes can make lines of two runs, by loads of
/// some of their elements: those of AVX-512, and those of AVX2 of four or eight
/// bytes.
inline bool joinsRuns(int64_t vectorBytes, int64_t elementBytes) {
  return vectorBytes == 64 ||
         (vectorBytes == 32 && (elementBytes == 4 || elementBytes == 8));
}

/// Runs of a few bytes, one at a time; neither side is contiguous.
struct GatherKernel : KernelChoices {};

/// Registers of rows become registers of columns.
struct TransposeKernel : KernelChoices {
  /// Where the rows of a block are read.
  enum class Rows : uint8_t {
    InSource,
    Gathered, ///< Copied side by side first.
    Panel,    ///< All columns of some rows are copied in the order of the
              ///< source into a buffer, of which a block is a part.
  };
  Rows rows = Rows::InSource;
  /// Whether they are prefetched into the second-level cache alone: the first
  /// has no room for so many of one set.
  bool prefetchesToL2 = false;
};

/// Few rows interleaved into one run, or one row spread in it.
struct InterleaveKernel : KernelChoices {
  /// Whether what lies between columns is padding, and may get back what it
  /// holds.
  bool keepsPadding = false;
};

/// The mirror image: one run becomes few columns.
struct DeinterleaveKernel : KernelChoices {};

/// Padding gets its value.
struct FillKernel : KernelChoices {};

/// Some bits of single bytes.
struct MergeKernel : KernelChoices {};

/// The same of padding.
struct FillBitsKernel : KernelChoices {};

using NestKernel =
    std::variant<CopyKernel, GatherKernel, TransposeKernel, InterleaveKernel,
                 DeinterleaveKernel, FillKernel, MergeKernel, FillBitsKernel>;

/// Bits of a byte of the source on their way into one of the destination.
struct BytePart {
  int64_t srcOffset = 0; ///< In bytes, from where the run begins.
  int shift = 0;         ///< To the left; to the right where negative.
  uint8_t mask = 0xFF;   ///< What is taken, after the shift.

  /// The order of the parts of a byte. No two have the same position.
  bool operator<(const BytePart &other) const {
    return std::pair(srcOffset, shift) <
           std::pair(other.srcOffset, other.shift);
  }
};

/// Elements that share bytes and do not keep their position in them: each byte
/// of a run is packed from the same bits of bytes that begin at several
/// positions.
struct PackedBytes {
  int64_t dstOffset = 0; ///< In bytes, from where the run begins.
  llvm::SmallVector<BytePart, 2> parts;
};

/// Elements that one strided nest copies (or fills), and the kernel.
///
/// `rows` and `columns` list the loops inside a block, most minor first; each
/// may be continued by one loop in `loops` with that role.
struct NestSchedule {
  int64_t srcOffset = 0; ///< In elements; unused by fills.
  int64_t dstOffset = 0;
  int64_t runElements = 1;
  /// The loops of a run whose elements are permuted within it, as those of
  /// `T(2,1)` do that are transposed. None: runs are moved as they are.
  llvm::SmallVector<PlanLoop, 2> within;
  llvm::SmallVector<PlanLoop, 2> rows;
  llvm::SmallVector<PlanLoop, 2> columns;
  /// The loops around a block, outermost first.
  llvm::SmallVector<PlanLoop, 6> loops;
  /// Outermost loops that are those of the nest before: its code and that of
  /// this nest share their bodies.
  size_t numFused = 0;
  /// Whether rows are taken from the first one that begins a line, for each
  /// step of the outer loops.
  bool shiftsRows = false;
  /// Runs to write for each step of the loops, packed from parts of bytes.
  /// None: those of the source as they are. Loops and runs are bytes then.
  llvm::SmallVector<PackedBytes, 2> packedBytes;
  /// For packed bytes of one element of fewer bits each: the bits of the
  /// element, whose sign goes into those above. 0: zeros do.
  int64_t signedBits = 0;
  NestKernel kernel;

  /// The kernel if it is of that kind, else null.
  template <typename K> const K *get() const { return std::get_if<K>(&kernel); }
  template <typename K> bool is() const {
    return std::holds_alternative<K>(kernel);
  }
  llvm::StringRef getKernelName() const;
  bool isFill() const { return is<FillKernel>() || is<FillBitsKernel>(); }

  /// What kernels have in common.
  KernelChoices &choices() {
    return std::visit([](KernelChoices &any) -> auto & { return any; }, kernel);
  }
  const KernelChoices &choices() const {
    return const_cast<NestSchedule *>(this)->choices();
  }
  StoreKind stores() const { return choices().stores; }
  int64_t padding() const { return choices().padding; }
  uint8_t mask() const { return choices().mask; }
  /// Whether rows are read in that way.
  bool takesRows(TransposeKernel::Rows how) const {
    const auto *transpose = get<TransposeKernel>();
    return transpose && transpose->rows == how;
  }
  /// Whether panels of rows are packed.
  bool packsPanels() const { return takesRows(TransposeKernel::Rows::Panel); }

  /// The loops inside a block that are its rows, or its columns; the loop that
  /// continues them; and the innermost one of all. Null if there is none.
  llvm::ArrayRef<PlanLoop> getInner(PlanLoop::Role role) const {
    return role == PlanLoop::Role::DstContiguous ? rows : columns;
  }
  const PlanLoop *findLoop(PlanLoop::Role role) const;
  const PlanLoop *findInnermost(PlanLoop::Role role) const {
    return getInner(role).empty() ? findLoop(role) : &getInner(role).front();
  }

  /// Runs of a full block, without those of one step.
  int64_t countRuns(PlanLoop::Role role) const;
  int64_t blockRows() const { return countRuns(PlanLoop::Role::DstContiguous); }
  int64_t blockColumns() const {
    return countRuns(PlanLoop::Role::SrcContiguous);
  }
  /// Where the rows or columns of a block begin on either side, from where the
  /// block does, in elements: `steps` of the loop that continues the block's
  /// own, or as many as a full block has.
  llvm::SmallVector<int64_t, 64>
  getOffsets(PlanLoop::Role role, bool inSource,
             std::optional<int64_t> steps = std::nullopt) const;
  /// Runs of a row of a packed panel: of all columns.
  int64_t panelColumns() const;
  /// Elements that a full block writes, padding included.
  int64_t numBlockElements() const;
  /// Elements that the nest writes.
  int64_t numElements() const;

  /// Bytes that are packed for each run; 1 where runs are moved as they are.
  int64_t numPackedBytes() const {
    return packedBytes.empty() ? 1 : packedBytes.size();
  }
  /// Packed runs that follow one another in the destination, as do those
  /// behind them; so many rows of a block are one step of the loops.
  int64_t packedRun() const;
  /// Bytes between neighbouring columns of packed bytes to transpose.
  int64_t columnPitch() const;
  /// The distance in the source of rows that are shifted.
  int64_t shiftStride() const;
  /// Whether all runs of `run` elements in the destination are whole lines if
  /// it begins at one: a run for each step of the loops around a block and of
  /// `inner`. Columns of a block are runs of their own unless they are `dense`.
  bool isWholeLines(int64_t run, int64_t elementBytes,
                    llvm::ArrayRef<PlanLoop> inner = {},
                    bool isDense = false) const;
  /// Whether runs that are staged begin at lines, or some of their columns do,
  /// where the destination does.
  bool isOnLines(int64_t elementBytes) const;

  /// Whether code can be made of it that moves `elementBytes` at a time, and
  /// stays within buffers of so many elements. Errors: *invalid*, with the
  /// field that is wrong.
  llvm::Error verify(int64_t elementBytes, int64_t srcElements,
                     int64_t dstElements) const;

  /// A line for each loop that it does not share, and for the kernel.
  void print(llvm::raw_ostream &os) const;
};

/// Adds what lies at `offsets` once more for each of `count - 1` steps.
void addSteps(llvm::SmallVectorImpl<int64_t> &offsets, int64_t stride,
              int64_t count);

/// Where rows go on behind one another by words of `width` runs, one run for
/// each column: how many words so begin with the first one, those of `width`
/// rows being side by side. 1 where a row has no other word, or its columns are
/// no power of two.
int64_t countWords(llvm::ArrayRef<int64_t> rows, int64_t width,
                   int64_t runElements);

/// Reads what NestSchedule::print has written, of nests one after another.
/// Errors: *invalid*, with the position in the text. They are not verified.
llvm::Expected<std::vector<NestSchedule>> parseSchedules(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_SCHEDULE_H
