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
                [&job](const char *src, char *dst) {
                  mergeByte(dst, job.value[0], job.mask);
                });
  auto value = load<Bytes16>(reinterpret_cast<const char *>(job.value));
  int64_t size = job.runBytes;
  walk(job.loops, job.numLoops, src, dst,
       [value, size](const char *src, char *dst) {
         int64_t i = 0;
         for (; i + kLaneBytes <= size; i += kLaneBytes)
           store(dst + i, value);
         for (int64_t k = 0; i < size; ++i, ++k)
           dst[i] = reinterpret_cast<const char *>(&value)[k];
       });
}

} // namespace

const KernelTable TESSERA_KERNEL_TABLE = {TESSERA_KERNEL_NAME, copyRuns,
                                          transpose, packBits, fill};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELSIMPL_H
