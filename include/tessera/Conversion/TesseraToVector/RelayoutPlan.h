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
// neighbours on both sides are merged (StridedNests.h). NestPlanner.h chooses
// among many schedules by what they cost; docs/performance.md has the terms of
// the cost.
//
// Example 1: a transpose, f32[512,512]{1,0} to {0,1}
//
//   relayout of 32-bit elements, 262144 to 262144
//   nest src 0 dst 0
//     for 512 by 32  src 1 dst 512  columns
//       for 512 by 64  src 512 dst 1  rows
//         transpose 64x32 runs of 1
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
// Schedule.h says what each nest is made of. The plan holds no MLIR, so that it
// can be computed, printed and tested without it. EmitRelayout.h turns it into
// loops and vector operations. `tessera-compile relayout SRC DST --emit=plan`
// prints it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_RELAYOUTPLAN_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_RELAYOUTPLAN_H

#include "tessera/Conversion/TesseraToVector/Schedule.h"
#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Box.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// How the blocks of a nest move.
enum class PlanKind : uint8_t {
  // Transposes.
  Cached,       ///< Stores go through the cache.
  Direct,       ///< Registers write whole lines that bypass it.
  Dense,        ///< A block is one run of the destination, through a buffer.
  Panels,       ///< Rows are copied from end to end into a buffer first.
  RaggedPanels, ///< The same for columns that begin anywhere in a line.
  Carried,      ///< What a panel of rows leaves of a line waits for the next.
  Staged,       ///< Blocks go through a buffer.
  // Few rows make one run, or one run few columns.
  Interleave,
  Deinterleave,
  // Runs that are contiguous on both sides.
  Gather,        ///< Of a few bytes.
  Copy,          ///< Through the cache.
  LineCopy,      ///< Of whole lines that bypass it.
  CoalescedCopy, ///< The same of runs that continue one another.
  MaskedCopy,    ///< The same of long runs, with masked stores at their ends.
  BufferedCopy,  ///< Runs that continue one another, through a buffer.
};

llvm::StringRef getName(PlanKind kind);
/// All names, for those who read one; and whether `name` is one.
inline constexpr llvm::StringLiteral kPlanKinds =
    "cached, direct, dense, panels, ragged-panels, carried, staged, "
    "interleave, deinterleave, gather, copy, line-copy, coalesced-copy, "
    "masked-copy or buffered-copy";
bool isPlanKind(llvm::StringRef name);

/// Parameters of a plan that are chosen; what is given here overrules that.
/// For measuring what the choice is worth: benchmarks/relayout_variants.py.
struct RelayoutTuning {
  /// Bytes of a block along the destination and along the source.
  std::optional<int64_t> rowBytes, columnBytes;
  /// Whether loops follow the source.
  std::optional<bool> bySource;
  /// Whether stores to large buffers are nontemporal.
  std::optional<bool> nontemporal;
  /// The kind, by name, and whether rows of transposes are gathered.
  std::optional<std::string> kind;
  std::optional<bool> gathers;
  /// Blocks from a prefetch of rows to their use.
  std::optional<int64_t> prefetch;
  /// LLVM's name of a processor whose costs are taken.
  std::optional<std::string> costsOf;

  /// Whether nothing is overruled but the costs.
  bool isRule() const;

  /// Calls `visit(name, field)` for each parameter of the plan.
  template <typename Tuning, typename Visitor>
  static void visit(Tuning &tuning, Visitor visit) {
    visit("row-bytes", tuning.rowBytes);
    visit("column-bytes", tuning.columnBytes);
    visit("by-source", tuning.bySource);
    visit("nontemporal", tuning.nontemporal);
    visit("kind", tuning.kind);
    visit("gathers", tuning.gathers);
    visit("prefetch", tuning.prefetch);
  }
};

/// One way to move a nest; what follows the kind is of transposes.
struct PlanChoice {
  PlanKind kind = PlanKind::Cached;
  /// Bytes of a block along the destination and along the source.
  int64_t rowBytes = 0, columnBytes = 0;
  /// Whether loops follow the source, and rows are gathered.
  bool bySource = false, gathers = false;

  /// What makes this choice and no other.
  RelayoutTuning toTuning() const;
};

/// What a schedule costs beyond others of the same nest: terms in picoseconds
/// for a line of 64 bytes.
struct PlanCost {
  int64_t jumps = 0, streams = 0, conflicts = 0, buffers = 0, shuffles = 0,
          cache = 0;

  /// Calls `visit(name, value)` for each term.
  template <typename Visitor> void visit(Visitor visit) const {
    visit("jumps", jumps);
    visit("streams", streams);
    visit("conflicts", conflicts);
    visit("buffers", buffers);
    visit("shuffles", shuffles);
    visit("cache", cache);
  }
  int64_t total() const {
    int64_t sum = 0;
    visit([&](llvm::StringRef, int64_t value) { sum += value; });
    return sum;
  }
};

/// Where the bytes of both buffers are when a relayout begins.
enum class BufferState : uint8_t {
  Unknown,
  Hot,  ///< In the caches, if they fit there: used a moment ago.
  Cold, ///< In memory.
};

/// `unknown`, `hot` or `cold`; and the state of such a name.
llvm::StringRef getName(BufferState state);
std::optional<BufferState> parseBufferState(llvm::StringRef name);

/// What differs between processors with the same registers; see
/// ProcessorCosts.def.
struct ProcessorCosts {
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST) int64_t FIELD = DEFAULT;
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"

  /// By LLVM's name of the processor, such as `znver5`.
  static ProcessorCosts get(llvm::StringRef cpu);

  /// Size of buffers in that state from which on stores bypass the cache.
  int64_t getNontemporalBytes(BufferState state) const;
};

/// What the plan knows of the machine. Sizes in bytes.
struct RelayoutTarget {
  /// The widest register: 16, 32 or 64.
  int64_t vectorBytes = 32;
  /// Whether stores can bypass the cache, and x86's fence has to follow them.
  bool hasNontemporalStores = false;
  bool needsFence = true;
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

/// What was tried for a nest, and why it was not taken, or what made it the
/// one.
struct PlanTrial {
  std::string name;
  bool isTaken = false;
  std::string reason;
};

/// The trials for one strided nest, in order: the cheapest schedule of each
/// kind, the one that was taken last. Nests that it leaves to others, at the
/// ends of rows and columns, are not part of it.
struct NestTrials {
  int64_t srcOffset = 0;
  int64_t dstOffset = 0;
  std::vector<PlanTrial> trials;
  /// Choices among which the search took one, cheapest first.
  std::vector<RelayoutTuning> choices;

  /// A line for each.
  void print(llvm::raw_ostream &os) const;
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
  llvm::SmallVector<NestSchedule, 4> nests;
  /// How the schedules of elements came about. No part of the text.
  std::vector<NestTrials> trials;

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

  /// Whether code can be made of all nests. Errors: *invalid*.
  llvm::Error verify() const;

  /// One line for each loop and kernel.
  void print(llvm::raw_ostream &os) const;
  /// What was tried for each nest of elements.
  void printTrials(llvm::raw_ostream &os) const;
  /// Reads what `print` has written. Errors: *invalid*, with the position in
  /// the text. The plan is not verified.
  static llvm::Expected<RelayoutPlan> parse(llvm::StringRef text);
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
