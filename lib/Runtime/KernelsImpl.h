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

#include "KernelTables.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The bits of `mask` of a byte.
void fillBits(const Job &job, const char *src, char *dst) {
  walk(job.loops, job.numLoops, src, dst, [&job](const char *, char *dst) {
    mergeByte(dst, job.filler[0], job.mask);
  });
}

/// `runBytes` bytes of the value.
void fillRuns(const Job &job, const char *src, char *dst) {
  const Filler filler(job.filler);
  int64_t size = job.runBytes;
  walk(job.loops, job.numLoops, src, dst,
       [&filler, size](const char *, char *dst) { filler.write(dst, size); });
}

void streamFill(const Job &job, const char *src, char *dst) {
  const Filler filler(job.filler);
  int64_t size = job.runBytes;
  walk(job.loops, job.numLoops, src, dst,
       [&filler, size](const char *, char *dst) {
         filler.streamLines(dst, size);
       });
}

Kernel *chooseFill(const Job &job) {
  if (job.mask != 0xFF)
    return fillBits;
  return job.isStreamed ? streamFill : fillRuns;
}

} // namespace

const KernelTable TESSERA_KERNEL_TABLE =
    makeTable(TESSERA_KERNEL_NAME, chooseCopy, chooseTranspose, chooseFill);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELSIMPL_H
