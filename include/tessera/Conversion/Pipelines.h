//===- Pipelines.h - Chains of passes ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PIPELINES_H
#define TESSERA_CONVERSION_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace tessera {

/// From tensors with layouts, or laid-out memrefs, to affine, memref, arith and
/// func (and what the module had besides): --tessera-to-affine.
struct ToAffineOptions : mlir::PassPipelineOptions<ToAffineOptions> {
  ListOption<std::string> addressSpaces{
      *this, "address-spaces",
      llvm::cl::desc("Pairs SPACE:ADDRESS-SPACE, as for "
                     "tessera-assign-address-spaces; none means those of the "
                     "target, or without one the same numbers, but *:0 for "
                     "tessera-to-llvm")};
  Option<unsigned> maxNests{
      *this, "max-nests", llvm::cl::init(16),
      llvm::cl::desc("Main and remainder nests of a relayout, as for "
                     "tessera-lower-relayouts")};
  Option<bool> deallocate{
      *this, "deallocate", llvm::cl::init(false),
      llvm::cl::desc("Free the buffers that were allocated, by upstream's "
                     "ownership-based deallocation; functions then own none of "
                     "their arguments, and callers all results")};
  Option<bool> poisonPadding{
      *this, "poison-padding", llvm::cl::init(false),
      llvm::cl::desc("Fill new buffers with numbers that nobody expects, as by "
                     "tessera-poison-padding")};
  Option<bool> stridedBoundaries{
      *this, "strided-boundaries", llvm::cl::init(false),
      llvm::cl::desc(
          "Functions keep the logical shape of untiled memrefs, with "
          "strides, as by tessera-lower-layouts")};
};
void buildToAffinePipeline(mlir::OpPassManager &manager,
                           const ToAffineOptions &options);

/// The same, and on to the LLVM dialect: --tessera-to-llvm. The default maps
/// every memory space to address space 0, that of a CPU.
struct ToLLVMOptions : ToAffineOptions {
  Option<bool> vectorize{
      *this, "vectorize", llvm::cl::init(true),
      llvm::cl::desc("Relayouts become vector kernels where there is a plan, "
                     "as by tessera-vectorize-relayouts")};
  Option<int64_t> vectorBytes{
      *this, "vector-bytes", llvm::cl::init(32),
      llvm::cl::desc("Bytes of the widest vector register")};
  Option<int64_t> vectorRegisters{
      *this, "vector-registers", llvm::cl::init(16),
      llvm::cl::desc("Vector registers that there are")};
  Option<bool> bf16Pairs{
      *this, "bf16-pairs", llvm::cl::init(false),
      llvm::cl::desc("Whether the processor has AVX512_BF16, for sums of "
                     "products of bf16, and for rounding to it")};
  Option<std::string> cpu{
      *this, "cpu", llvm::cl::init(""),
      llvm::cl::desc("The processor, by LLVM's name, for how it reads rows, as "
                     "for tessera-vectorize-relayouts")};
  Option<std::string> machine{
      *this, "machine", llvm::cl::init(""),
      llvm::cl::desc("File of measurements of the processor, as for "
                     "tessera-vectorize-relayouts")};
  Option<std::string> buffers{
      *this, "buffers", llvm::cl::init("unknown"),
      llvm::cl::desc("Where buffers of relayouts are when the code runs, "
                     "unknown, hot or cold: which measurements are taken")};
  Option<int64_t> threads{
      *this, "threads", llvm::cl::init(1),
      llvm::cl::desc("Threads that share large loops, by OpenMP")};
  Option<int64_t> parallelBytes{
      *this, "parallel-bytes", llvm::cl::init(2 << 20),
      llvm::cl::desc("Smallest loop that is shared, in bytes, as for "
                     "tessera-parallelize-loops")};
};
void buildToLLVMPipeline(mlir::OpPassManager &manager,
                         const ToLLVMOptions &options);

/// Makes the pipelines known by name.
void registerTesseraPipelines();

struct AffineToLLVMOptions {
  /// Memrefs of static shape are passed to functions as bare pointers.
  bool useBarePointers = false;
  /// Threads of parallel loops, by OpenMP; 1 makes them serial.
  unsigned threads = 1;
  /// Whether the processor rounds to bf16; else operations on integers do.
  bool roundsToBF16 = false;
};

/// From affine, memref, arith, scf and func to the LLVM dialect (and OpenMP's,
/// with threads); memory spaces must be integers.
void buildAffineToLLVMPipeline(mlir::OpPassManager &manager,
                               const AffineToLLVMOptions &options = {});

} // namespace tessera

#endif // TESSERA_CONVERSION_PIPELINES_H
