//===- PartRuns.h - The contiguous bytes of a part of an array --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the bytes of a part of an array lie, for engines that move memory by
// lists of addresses (DMA):
//
//   f32[16,256]{1,0:T(8,128)}, part 0:8,64:256
//
//   runs         256-512, 768-1024, ..., 3840-8192
//   descriptors  at 256: 8 times, 512 apart, 256 bytes
//                at 4096: 4096 bytes
//
// Runs are maximal: the last one above ends where its tile does, and goes on in
// the next one. Descriptors are the strided nests of the part
// (StridedNests.h), each of which is one loop nest with a run in it.
//
// SymbolicSlice.h says how many runs there are for all begins of a slice; here
// the begin is known, steps may be more than 1, and runs are listed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_PARTRUNS_H
#define TESSERA_LIB_RUNTIME_PARTRUNS_H

#include "tessera/Layout/Box.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace tessera {

/// Neighbouring bytes of a buffer.
struct ByteRun {
  int64_t offset = 0;
  int64_t bytes = 0;

  int64_t end() const { return offset + bytes; }
};

/// A loop over runs, `stride` bytes apart.
struct RunLoop {
  int64_t count = 1;
  int64_t stride = 0;
};

/// Runs of one length: `first`, for each step of the loops, outermost first. An
/// outer loop goes beyond the end of the inner ones, so that they follow one
/// another in memory.
struct StridedRuns {
  ByteRun first;
  llvm::SmallVector<RunLoop, 6> loops;

  int64_t numRuns() const;
};

class PartRuns {
public:
  /// Errors: *invalid* for what is no array; *unsupported* where elements share
  /// a byte with others that are not in the part, for unbounded dimensions, for
  /// more than 2^24 runs, and where dimensions are entangled or remainders make
  /// too many nests, for more than 2^20 elements.
  static llvm::Expected<PartRuns> get(const ArrayPart &part);

  /// Bytes of the whole array, padding included; and of the part.
  int64_t arrayBytes() const { return sizeOfArray; }
  int64_t partBytes() const { return sizeOfPart; }
  /// Maximal runs.
  int64_t numRuns() const { return count; }
  /// The largest number of which offsets and lengths of all runs are multiples;
  /// 0 without runs.
  int64_t alignment() const { return multiple; }

  /// Disjoint, in the order of their first bytes. They cover the part, and may
  /// divide a run that `visit` has in one.
  llvm::ArrayRef<StridedRuns> descriptors() const { return strided; }

  /// Calls `visit` with each maximal run, in the order of memory, until it says
  /// false.
  void visit(llvm::function_ref<bool(ByteRun)> visit) const;

private:
  PartRuns() = default;

  std::vector<StridedRuns> strided;
  int64_t sizeOfArray = 0, sizeOfPart = 0, count = 0, multiple = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_RUNTIME_PARTRUNS_H
