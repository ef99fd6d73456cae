//===- PackedBlocks.h - Elements that share bytes, by blocks ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes of the destination that are packed from parts of several bytes of the
// source are nests of bytes on both sides, as each part of each byte is at a
// fixed distance from where a step begins. So the kernels for bytes move them,
// by way of two buffers in the first-level cache:
//
//   s4[64,64]{1,0:E(4)} to {0,1:E(4)}, a block of all 32 by 32 steps
//
//     source               buffer                   buffer        destination
//     row 2i     ------>   bytes 0, transposed  \   bytes 0   ->  column 2j
//     row 2i + 1 ------>   bytes 32, transposed /   bytes 1   ->  column 2j + 1
//            moves of bytes                  packed        moves of bytes
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_PACKEDBLOCKS_H
#define TESSERA_LIB_RUNTIME_PACKEDBLOCKS_H

#include "PlanMoves.h"
#include "Schedule.h"

namespace tessera::runtime {

/// Moves between an array and rows of a buffer, the same for each place.
struct RowMoves {
  /// Where they begin in the source and in the destination.
  struct Place {
    int64_t src, dst;
  };

  void run(const char *from, char *to) const;

  Schedule schedule;
  llvm::SmallVector<Place, 1> places;
};

/// How the steps of a block are moved. Each byte of the source that a step
/// takes parts of has a row of the first buffer, with one byte for each step;
/// so does each byte that it writes in the second one. There may be groups of
/// such rows, one behind the other, each for some of the steps.
struct PackedBlock {
  /// Bytes of each of the buffers.
  static constexpr int64_t kBufferBytes = 16 << 10;

  explicit PackedBlock(const KernelTable &kernels) : kernels(kernels) {}

  /// Lets the moves to the destination bypass the caches.
  void streamWrites();

  const KernelTable &kernels;
  int64_t steps = 1;
  /// From the source, the destination where some of its bits are kept, from
  /// one buffer to the other, unless bytes are packed on their way, and to the
  /// destination.
  RowMoves reads, keeps, packs, writes;
};

/// Whether all of a nest is whole bytes, which keep their bits.
bool isOfWholeBytes(const PackedNest &nest);

/// Adds the moves of a nest of bytes that elements share.
void addPackedNest(const PackedNest &nest, const ElementBits &bits,
                   const Kernels &kernels, Schedule &schedule);

/// The kernel that moves all blocks of a job.
void movePackedBlocks(const Job &job, const char *src, char *dst);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_PACKEDBLOCKS_H
