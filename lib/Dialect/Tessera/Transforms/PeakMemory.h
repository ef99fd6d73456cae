//===- PeakMemory.h - Bytes live at once in a memory space ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_PEAKMEMORY_H
#define TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_PEAKMEMORY_H

#include "tessera/Layout/Target.h"

#include "mlir/IR/Operation.h"

namespace tessera {

struct PeakMemory {
  int64_t bytes = 0;                    ///< The most that is live at once.
  mlir::Operation *operation = nullptr; ///< Where; null when nothing is.
};

/// The most bytes of `space` that tensors and memrefs of `function` take at
/// once, each rounded up to the alignment of the space. A value lives from its
/// operation to the last use of it or of a view of it; arguments live from the
/// start, and what a block hands on to its end. Sizes that are not known count
/// nothing. Sums saturate.
PeakMemory getPeakMemory(mlir::Operation *function, const MemorySpace &space);

} // namespace tessera

#endif // TESSERA_LIB_DIALECT_TESSERA_TRANSFORMS_PEAKMEMORY_H
