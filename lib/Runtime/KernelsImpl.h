//===- KernelsImpl.h - The kernels, for registers of one width --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included once by each of Kernels*.cpp, with TESSERA_VECTOR_BYTES and
// TESSERA_KERNEL_TABLE defined.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_KERNELSIMPL_H
#define TESSERA_LIB_RUNTIME_KERNELSIMPL_H

#include "BitKernels.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// `runBytes` bytes of the value, or the bits of `mask` of one.
void fill(const Job &job, const char *src, char *dst) {
  if (job.mask != 0xFF)
    return walk(job.loops, job.numLoops, src, dst,
                [&job](const char *, char *dst) {
                  mergeByte(dst, job.value[0], job.mask);
                });
  const Filler filler(job.value);
  int64_t size = job.runBytes;
  walk(job.loops, job.numLoops, src, dst,
       [&filler, size](const char *, char *dst) { filler.write(dst, size); });
}

} // namespace

const KernelTable TESSERA_KERNEL_TABLE = {
    TESSERA_KERNEL_NAME, kVectorBytes, copyRuns, transpose, packBits, fill};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELSIMPL_H
