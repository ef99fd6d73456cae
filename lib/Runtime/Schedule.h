//===- Schedule.h - A relayout as calls of kernels --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two layouts become strided nests by the code that compiled relayouts use
// (StridedNests.h, PackedNests.h). Here each nest gets a kernel:
//
//   f32[16,256]{1,0} to {1,0:T(8,128)}
//
//   copy of 512 bytes, src 0 dst 0
//     for 2  src 8192 dst 8192
//     for 2  src 512 dst 4096
//     for 8  src 1024 dst 512
//
// What no strided nests cover (a `*` that merges axes that are not aligned,
// tiles that do not divide one another) is moved element by element.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_SCHEDULE_H
#define TESSERA_LIB_RUNTIME_SCHEDULE_H

#include "Move.h"

#include "tessera/Conversion/TesseraToVector/PackedNests.h"

#include <array>
#include <optional>

namespace tessera::runtime {

/// Bytes of a destination from which on moves bypass the caches: transposes, of
/// which columns evict one another, and others.
struct StreamedBytes {
  int64_t transposes, others;
};

/// A move that is ready to run: nothing of it is put together when it is
/// called, as what is written then waits behind stores that miss the caches.
struct Task {
  Kernel *kernel;
  size_t numShared; ///< As of the move.
  int64_t src, dst;
  Job job; ///< Its loops and bits are those of the move.

  void run(const char *from, char *to) const {
    kernel(job, from + src, to + dst);
  }
};

/// The kernels that moves are planned for, and bytes from which on these bypass
/// the caches.
struct Kernels {
  const KernelTable &table;
  int64_t streamedBytes;
};

/// The task for a move, which must stay where it is. Without `padding` there is
/// nothing to fill.
Task makeTask(const Move &move, const KernelTable &kernels,
              const std::optional<std::array<uint8_t, 16>> &padding);

/// The kernel for a job; one that does nothing where that moves nothing.
Kernel *getKernel(const KernelTable &kernels, Move::Kind kind, const Job &job);

/// The moves of a relayout. They write different bytes, but for those of which
/// they write some bits alone.
class Schedule {
public:
  /// Strides of `src`, where it has any, are bytes. Error: *unsupported* where
  /// there are no strided nests.
  static llvm::Expected<Schedule> get(const PlanSide &src, const PlanSide &dst,
                                      ElementBits bits, bool fillPadding,
                                      const Kernels &kernels);

  /// Adds the moves of a nest without padding.
  void addElements(const ElementNest &nest, int64_t elementBytes,
                   const Kernels &kernels);

  /// Bytes that are written.
  int64_t numBytes() const;

  /// Lets moves of long runs, of shorter ones that make whole lines, and
  /// transposes bypass the caches where the destination has at least as many
  /// bytes; with registers shorter than a line twice as many where runs are
  /// divided among few columns. Moves of long runs and transposes of tiles
  /// follow the source, but with such registers those that read fewer runs side
  /// by side than they would write the destination.
  /// Others get the order and the blocks that suit the costs of `target`. Long
  /// fills bypass the caches where what lies between them does.
  void streamStores(const StreamedBytes &least, const RelayoutTarget &target);

  /// Makes loops of what comes behind the rows and columns of transposes, where
  /// that takes less time than chains: through the caches where rows or columns
  /// alone go on behind whole lines, where `kernels` has one for few rows
  /// without gaps, and where rows are lanes that are read so; past them where
  /// columns begin anywhere in a line.
  void divideChains(const KernelTable &kernels);

  /// Lets moves that divide runs of the source among few columns, or exchange
  /// words within the caches, follow the source, as it is read fastest from end
  /// to end, unless more columns of a tile than that begin at one set of the
  /// first-level cache: they would evict one another before their next lines
  /// are written. So do copies, within the caches, that write to fewer places
  /// by turns than they would read from in the order of the destination. Few
  /// columns go at a time where short ones are a multiple of a page apart.
  void orderDivided(int64_t mostInOneSet);

  /// Finds moves that have outer loops in common, such as those of whole tiles
  /// and of the last ones, and lets them take turns at each step of these: what
  /// lies together is moved together, while it is in the caches, and lines are
  /// written one behind the other. Within a step, some of them may take turns
  /// again. All are put in the order of the destination.
  void findTogether();

  /// Makes `tasks` of the moves, which do not change any more.
  void makeTasks(const KernelTable &kernels,
                 const std::optional<std::array<uint8_t, 16>> &padding);

  std::vector<Move> moves;
  /// One for each move, for a step of the loops that it shares with another.
  std::vector<Task> tasks;
  /// Whether a move bypasses the caches, and whether some take turns.
  bool isStreamed = false, takesTurns = false;
  /// What `moves` fill besides their elements, as moves of their own.
  std::vector<Move> includedFills;
};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_SCHEDULE_H
