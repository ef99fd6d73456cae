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

/// A register of an element, again and again. Runs are whole elements, so that
/// the last bytes of one may overlap those before.
struct Filled {
  explicit Filled(const uint8_t *element) {
    for (int i = 0; i < kVectorBytes; i += kLaneBytes)
      copyFixed<kLaneBytes>(reinterpret_cast<const char *>(element), bytes + i);
  }

  TESSERA_INLINE void write(char *dst, int64_t size) const {
    if (size < kVectorBytes)
      return copyRun(bytes, dst, size);
    auto value = load<Vector<8, kVectorBytes>>(bytes);
    for (int64_t i = 0; i < size - kVectorBytes; i += kVectorBytes)
      store(dst + i, value);
    store(dst + size - kVectorBytes, value);
  }

  char bytes[kVectorBytes];
};

/// `runBytes` bytes of the value, or the bits of `mask` of one.
void fill(const Job &job, const char *src, char *dst) {
  if (job.mask != 0xFF)
    return walk(job.loops, job.numLoops, src, dst,
                [&job](const char *, char *dst) {
                  mergeByte(dst, job.value[0], job.mask);
                });
  const Filled filled(job.value);
  int64_t size = job.runBytes;
  walk(job.loops, job.numLoops, src, dst,
       [filled, size](const char *, char *dst) { filled.write(dst, size); });
}

} // namespace

const KernelTable TESSERA_KERNEL_TABLE = {TESSERA_KERNEL_NAME, copyRuns,
                                          transpose, packBits, fill};

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELSIMPL_H
