//===- MosaicToLinalg.h - Kernels as functions of tensors -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of Mosaic writes to memory; here it becomes a function of tensors.
// Each array that it refers to (operands, results, blocks of them, scratch) is
// a tensor in row-major order, a store makes the next one of it, and loops and
// branches carry those that they write. One-Shot Bufferize finds that they are
// written in place. Vectors are tensors, too.
//
// Example: a kernel that adds 1 to blocks of 8 of f32[20] is
//
//   func.func @kernel(%x: tensor<20xf32>) -> tensor<20xf32> {
//     %r, %b = scf.for %i = %c0 to %c3 iter_args(%r0 = %empty, %b0 = %empty8) {
//       %start = 8 * %i, %size = min(8, 20 - %start)
//       %part = tensor.extract_slice %x[%start] [%size] [1]
//       %block = tensor.insert_slice %part into %empty8[0] [%size] [1]
//       %sum = linalg.generic ... ins(%block)
//       %valid = tensor.extract_slice %sum[0] [%size] [1]
//       %r1 = tensor.insert_slice %valid into %r0[%start] [%size] [1]
//       scf.yield %r1, %sum
//     }
//     return %r
//   }
//
// docs/running.md says which operations there are, and what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_MOSAICTOLINALG_H
#define TESSERA_CONVERSION_MOSAICTOLINALG_H

#include "tessera/Layout/Diagnostic.h"

#include "mlir/IR/BuiltinTypes.h"

namespace tessera::mosaic {

/// A kernel, and the arrays that it is called with.
struct KernelCall {
  /// Bytecode, or text.
  llvm::StringRef body;
  /// Tensors without layouts; integers have no sign.
  llvm::SmallVector<mlir::RankedTensorType> operands, results;
  /// Which operand each result lies in the memory of, if any.
  llvm::SmallVector<std::optional<unsigned>> aliases;
};

/// The text of a module with one function, of the operands to the results.
/// Nothing after errors, which say all that is *unsupported*.
std::optional<std::string> convertKernel(const KernelCall &call,
                                         std::vector<Diagnostic> &errors);

} // namespace tessera::mosaic

#endif // TESSERA_CONVERSION_MOSAICTOLINALG_H
