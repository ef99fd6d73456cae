//===- RelayoutPlan.h - How to copy one layout into another -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A RelayoutPlan describes how a relayout is executed: a few strided nests,
// each with a kernel, a block and an order of loops. It is computed from the
// two axis lists. Every dimension is split at all divisors of both sides; a
// piece is a loop with a constant stride on either side, and pieces that are
// neighbours on both sides are merged (StridedNests.h). NestPlanner.h has the
// rule by which kernels and blocks are chosen, and docs/performance.md the cost
// model.
//
// Example 1: a transpose, f32[512,512]{1,0} to {0,1}
//
//   relayout of 32-bit elements, 262144 to 262144
//   nest src 0 dst 0
//     for 512 by 32  src 1 dst 512  columns
//       for 512 by 64  src 512 dst 1  rows
//         transpose 64x32 runs of 1
//
// `for 512 by 32  src 1 dst 512` is a loop of 512 steps, of which a block takes
// 32 at a time; a step moves by 1 element in the source and by 512 in the
// destination. The kernel moves contiguous *runs*, of one element here.
//
// Example 2: into tiles, f32[16,256]{1,0} to {1,0:T(8,128)}
//
//   nest src 0 dst 0
//     for 2  src 2048 dst 2048
//       for 2  src 128 dst 1024
//         for 8  src 256 dst 128
//           copy 1x1 runs of 128
//
// All elements of a row that lie in one tile are contiguous on both sides, and
// are copied as one run.
//
// The plan holds no MLIR, so that it can be computed, printed and tested
// without it. EmitRelayout.h turns it into loops and vector operations.
// `tessera-compile relayout SRC DST --emit=plan` prints it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_RELAYOUTPLAN_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_RELAYOUTPLAN_H

#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Box.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Parameters of a plan that the rule chooses; what is given here overrules it.
/// For measuring what the rule is worth: benchmarks/relayout_variants.py.
struct RelayoutTuning {
  /// Bytes of a block along the destination and along the source.
  std::optional<int64_t> rowBytes, columnBytes;
  /// Whether loops follow the source.
  std::optional<bool> bySource;
  /// Whether stores to large buffers are nontemporal, and whether they go
  /// through the buffer of a block.
  std::optional<bool> nontemporal;
  std::optional<bool> isStaged;
  /// Blocks from a prefetch of rows to their use.
  std::optional<int64_t> prefetch;
  /// LLVM's name of a processor whose costs are taken.
  std::optional<std::string> costsOf;

  /// Whether everything is as the rule has it, by the costs of some processor.
  bool isRule() const;

  /// Calls `visit(name, field)` for each parameter of the plan.
  template <typename Tuning, typename Visitor>
  static void visit(Tuning &tuning, Visitor visit) {
    visit("row-bytes", tuning.rowBytes);
    visit("column-bytes", tuning.columnBytes);
    visit("by-source", tuning.bySource);
    visit("nontemporal", tuning.nontemporal);
    visit("stages", tuning.isStaged);
    visit("prefetch", tuning.prefetch);
  }
};

/// What differs between processors with the same registers; see
/// ProcessorCosts.def.
struct ProcessorCosts {
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST) int64_t FIELD = DEFAULT;
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"

  /// By LLVM's name of the processor, such as `znver5`.
  static ProcessorCosts get(llvm::StringRef cpu);
};

/// What the plan knows of the machine. Sizes in bytes.
struct RelayoutTarget {
  /// The widest register: 16, 32 or 64.
  int64_t vectorBytes = 32;
  /// Whether stores can bypass the cache (and need a fence after them).
  bool hasNontemporalStores = false;
  /// Whether the destination is known to begin at a line. Else lines are found
  /// when the code runs.
  bool isLineAligned = true;
  /// Stores bypass the cache where both buffers are at least this large.
  int64_t nontemporalBytes = ProcessorCosts().nontemporalBytes;
  /// Threads to share the work of buffers of at least `parallelBytes`.
  int64_t threads = 1;
  int64_t parallelBytes = 2 << 20;
  ProcessorCosts costs;
  RelayoutTuning tuning;

  static constexpr int64_t kLineBytes = 64;
  static constexpr int64_t kPageBytes = 4096;
};

/// One side of a relayout: an array, or a part of one, which is a box, or
/// elements at strides of their own.
struct PlanSide {
  /*implicit*/ PlanSide(const AxisList &axes, llvm::ArrayRef<Slice> box = {})
      : axes(axes), box(box) {}

  /// An array of the dimensions of `axes` in which a step along dimension d
  /// moves by `strides[d]` elements, whatever the axes are. No two elements
  /// share a position.
  static PlanSide getStrided(const AxisList &axes,
                             llvm::ArrayRef<int64_t> strides) {
    PlanSide side(axes);
    side.strides = strides;
    return side;
  }

  /// Whether the buffer has nothing but the array and its padding.
  bool isWhole() const { return box.empty() && !strides; }
  /// The indices of dimension `dim` that take part.
  Slice getSlice(unsigned dim) const {
    return box.empty() ? Slice{0, axes.dimensions()[dim], 1} : box[dim];
  }

  const AxisList &axes;
  llvm::ArrayRef<Slice> box;
  std::optional<llvm::ArrayRef<int64_t>> strides;
};

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
};

/// The innermost code of a nest.
enum class KernelKind : uint8_t {
  Copy,         ///< Runs contiguous on both sides.
  Transpose,    ///< Registers of rows become registers of columns.
  Interleave,   ///< Few rows interleaved into one run, or one row spread in it.
  Deinterleave, ///< The mirror image.
  Gather,       ///< Element by element; neither side is contiguous.
  Fill,         ///< Padding gets its value.
  Merge,        ///< Some bits of single bytes.
  FillBits,     ///< The same of padding.
};

llvm::StringRef getName(KernelKind kind);

/// How the destination is written.
enum class StoreKind : uint8_t {
  Plain,
  Nontemporal, ///< Whole aligned lines that bypass the cache.
  Staged,      ///< Into a small buffer first, written from there in long runs;
               ///< where few rows are interleaved, straight from registers.
  Carried, ///< Whole lines are written, what is left of one waits for the next
           ///< panel of rows, or run. Both may begin anywhere in a line.
};

/// Bits of a byte of the source on their way into one of the destination.
struct BytePart {
  int64_t srcOffset = 0; ///< In bytes, from where the run begins.
  int shift = 0;         ///< To the left; to the right where negative.
  uint8_t mask = 0xFF;   ///< What is taken, after the shift.
};

/// Elements that share bytes and do not keep their position in them: each byte
/// of a run is packed from the same bits of bytes that begin at several
/// positions.
struct PackedBytes {
  int64_t dstOffset = 0; ///< In bytes, from where the run begins.
  llvm::SmallVector<BytePart, 2> parts;
};

/// Elements that one strided nest copies (or fills), and how.
///
/// The kernel moves *runs*: `runElements` elements contiguous on both sides, a
/// few of which may be permuted. A block is a rectangle of rows (runs
/// contiguous in the destination) and columns (runs contiguous in the source).
/// `rows` and `columns` list the loops inside a block, most minor first; each
/// may be continued by one loop in `loops` with that role.
struct PlanNest {
  KernelKind kernel = KernelKind::Copy;
  StoreKind stores = StoreKind::Plain;
  int64_t srcOffset = 0; ///< In elements; unused by Fill.
  int64_t dstOffset = 0;
  int64_t runElements = 1;
  /// The loops of a run whose elements are permuted within it, as those of
  /// `T(2,1)` do that are transposed. None: runs are moved as they are.
  llvm::SmallVector<PlanLoop, 2> within;
  llvm::SmallVector<PlanLoop, 2> rows;
  llvm::SmallVector<PlanLoop, 2> columns;
  /// The loops around a block, outermost first.
  llvm::SmallVector<PlanLoop, 6> loops;
  /// For Merge and FillBits: the bits of a byte that are written.
  uint8_t mask = 0xFF;
  /// Runs to write for each step of the loops, packed from parts of bytes.
  /// None: those of the source as they are. Loops and runs are bytes then.
  llvm::SmallVector<PackedBytes, 2> packedBytes;
  /// Bytes between neighbouring columns of packed bytes to transpose.
  int64_t columnPitch = 1;
  /// For packed bytes of one element of fewer bits each: the bits of the
  /// element, whose sign goes into those above. 0: zeros do.
  int64_t signedBits = 0;
  /// Whether a block's rows are copied side by side before they are transposed.
  bool gathersRows = false;
  /// Whether panels of rows, all columns of each, are copied into a buffer in
  /// the order of the source before their blocks are transposed from there.
  bool packsPanels = false;
  /// Whether runs that are staged begin at lines, or columns of them do, where
  /// the destination does.
  bool isOnLines = false;
  /// Of rows that are taken from the first one that begins a line, for each
  /// step of the outer loops: their distance in the source.
  std::optional<int64_t> shiftStride;
  /// Blocks from a prefetch of rows to their use, along the innermost loop of
  /// columns; rows, where panels are packed; bytes in the order of the source
  /// of a copy.
  int64_t prefetch = 0;
  /// Whether they are prefetched into the second-level cache alone: the first
  /// has no room for so many of one set.
  bool prefetchesToL2 = false;
  /// Elements of padding right behind each run of the destination, or of each
  /// column that is interleaved, which get its value.
  int64_t padding = 0;
  /// Whether what lies between columns that are interleaved is padding, and may
  /// get back what it holds.
  bool isPaddingBetween = false;
  /// Outermost loops that are those of the nest before: its code and that of
  /// this nest share their bodies.
  size_t numFused = 0;

  /// Bytes that are packed for each run; 1 where runs are moved as they are.
  int64_t numPackedBytes() const {
    return packedBytes.empty() ? 1 : packedBytes.size();
  }
  /// Packed runs that follow one another in the destination, as do those
  /// behind them; so many rows of a block are one step of the loops.
  int64_t packedRun() const;
  /// Runs of a full block, without those of one step.
  int64_t blockRows() const;
  int64_t blockColumns() const;
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
};

/// A whole relayout: the nests write all elements, in any order, but not at
/// once where they merge bits; what is written twice is the same. Nests that
/// walk along the same loops are emitted as one, so that memory is passed over
/// once.
struct RelayoutPlan {
  /// Elements of less than a byte are moved as bytes.
  int64_t elementBits = 0;
  int64_t srcElements = 0; ///< Of the buffers, padding included.
  int64_t dstElements = 0;
  /// Whether it was made for destinations that begin at a line.
  bool isLineAligned = true;
  llvm::SmallVector<PlanNest, 4> nests;

  /// Whether any store bypasses the cache.
  bool isNontemporal() const;

  /// Whether any store relies on lines of the destination that are a run's own,
  /// without a search for them.
  bool hasWholeLines() const;

  /// Bytes to which the destination must be aligned.
  int64_t getAlignment() const;

  /// Elements whose stores bypass the cache.
  int64_t numNontemporal() const;

  /// Whether any nest is more than copies, interleaves and fills. Those are
  /// bound by memory alone and are best left in the order in which they are
  /// written; the code of the others gains by moving loads ahead.
  bool isReordered() const;

  /// One line for each loop and kernel.
  void print(llvm::raw_ostream &os) const;
};

/// The distance of neighbours on both sides, in bits. It differs where elements
/// of less than a byte are packed on one side and have a byte each on the
/// other.
struct ElementBits {
  /*implicit*/ ElementBits(int64_t both) : src(both), dst(both) {}
  ElementBits(int64_t src, int64_t dst, bool isSigned)
      : src(src), dst(dst), isSigned(isSigned) {}

  int64_t src, dst;
  /// What unpacked elements are extended with: their sign, else zeros.
  bool isSigned = false;
};

/// Plans the copy of all elements from `src` to `dst`, which have the same
/// dimensions, those of the boxes where there are such. With `fillPadding` all
/// padding of `dst`, which must be whole, is filled too.
///
/// Errors: *unsupported* where a list is dynamic, where the divisors of a
/// dimension in one list form no chain, where remainders make more than 24
/// nests, where elements are no 1, 2, 4, 8 or 16 bytes (or 1, 2 or 4 bits, see
/// PackedNests.h), and for padding that is not the tail of a dimension.
llvm::Expected<RelayoutPlan> planRelayout(const PlanSide &src,
                                          const PlanSide &dst, ElementBits bits,
                                          bool fillPadding,
                                          const RelayoutTarget &target);

/// A plan and what it was made for.
struct RelayoutVersion {
  RelayoutTarget target;
  RelayoutPlan plan;
};

/// Plans for destinations that begin at a line, at an element, and anywhere: as
/// many as it takes until one asks for no alignment, the best ones first. The
/// first is left out where the second is nearly as good. Errors as of
/// planRelayout.
llvm::Expected<std::vector<RelayoutVersion>>
planVersions(const PlanSide &src, const PlanSide &dst, ElementBits bits,
             bool fillPadding, const RelayoutTarget &target);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_RELAYOUTPLAN_H
