//===- BufferAssignment.h - Where the compiler put buffers ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The buffer assignment that XLA's compilers dump beside a module,
// `*-buffer-assignment.txt`: allocations, and the values that lie in each.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_BUFFERASSIGNMENT_H
#define TESSERA_REPORT_BUFFERASSIGNMENT_H

#include "tessera/Report/Report.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace tessera {

class BufferAssignment {
public:
  /// Memory that the program takes as a whole.
  struct Allocation {
    int64_t bytes = 0;
    int64_t space = 0;
    /// Whether it holds temporaries; else arguments, outputs, constants, or
    /// what is within fusions and reducers.
    bool isTemporary = false;
    /// Bytes of the allocations of temporaries that stand before it in its
    /// space.
    int64_t base = 0;
  };

  /// Where a part of an instruction's result lies.
  struct Place {
    /// Of the part in the result's shape; empty for the whole.
    llvm::SmallVector<int64_t, 1> index;
    size_t allocation = 0;
    int64_t offset = 0; ///< In bytes, within the allocation.
  };

  /// Errors: *invalid*, with the line, for text of another form and for values
  /// that are not within their allocation.
  static llvm::Expected<BufferAssignment> parse(llvm::StringRef text);

  llvm::ArrayRef<Allocation> allocations() const { return allocationList; }

  /// By space.
  const std::map<int64_t, AssignedBytes> &sums() const { return bySpace; }

  /// The places of an instruction's result; none for views.
  llvm::ArrayRef<Place> getPlaces(llvm::StringRef instruction) const;

private:
  llvm::Error addAllocation(llvm::StringRef line);
  llvm::Error addValue(llvm::StringRef line);

  std::vector<Allocation> allocationList;
  std::map<int64_t, AssignedBytes> bySpace;
  llvm::StringMap<std::vector<Place>> places;
};

} // namespace tessera

#endif // TESSERA_REPORT_BUFFERASSIGNMENT_H
