//===- Scratch.h - Buffers of the code for a plan ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short buffers are on the stack, of which a relayout takes less than 32 KiB in
// all. The others are of the heap, which may have no more: code that needs them
// runs only where it got all of them, and a flag says where it did not.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_SCRATCH_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_SCRATCH_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

class Scratch {
public:
  /// Buffers of `element`, for the code that is emitted from here on.
  Scratch(mlir::ImplicitLocOpBuilder &builder, mlir::Type element);

  /// A buffer of at least that many elements, aligned to a cache line. Two
  /// calls in one scope get the same buffer if their sizes round up to the same
  /// power of two.
  mlir::Value get(int64_t elements);

  /// Emits `body`, whose buffers of the heap are made before it and freed
  /// behind it; without them it does not run. Bodies of parallel loops are
  /// scopes, too, so that each thread has its own.
  void emitScope(llvm::function_ref<void()> body);

  /// Emits `otherwise`, which runs if a scope did not.
  void emitFallback(llvm::function_ref<void()> otherwise);

private:
  /// A position in a block, behind an operation or at the begin.
  struct Point {
    mlir::Block *block;
    mlir::Operation *before;

    mlir::Block::iterator get() const;
  };
  struct Scope {
    Point begin;
    llvm::SmallVector<mlir::memref::AllocOp, 2> buffers;
  };

  Point getPoint() const;
  mlir::Value getOnStack(mlir::MemRefType type);
  mlir::Value getOnHeap(mlir::MemRefType type);
  /// Whether all buffers were allocated.
  mlir::Value emitTest(llvm::ArrayRef<mlir::memref::AllocOp> buffers);
  mlir::Value getFlag();

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type element;
  Point begin;
  llvm::SmallVector<Scope, 2> scopes;
  /// A byte that is 1 if a scope did not run; null if there is none that needs
  /// buffers.
  mlir::Value flag;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_SCRATCH_H
