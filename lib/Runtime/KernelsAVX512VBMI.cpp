//===- KernelsAVX512VBMI.cpp - The kernels, with shuffles of bytes --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What shuffles single bytes; the other kernels are those of AVX-512.
//
//===----------------------------------------------------------------------===//

#define TESSERA_VECTOR_BYTES 64

#include "KernelTables.h"

namespace tessera::runtime {
namespace {

template <KernelChoice *KernelTable::*Choice>
Kernel *chooseFromAVX512(const Job &job) {
  return (kAVX512Kernels.*Choice)(job);
}

Kernel *chooseTransposeWithShuffles(const Job &job) {
  return job.runBytes == 1 ? chooseTransposeOf<1>(job)
                           : kAVX512Kernels.transpose(job);
}

} // namespace

const KernelTable kAVX512VBMIKernels = makeTable(
    "AVX-512 VBMI", chooseFromAVX512<&KernelTable::copy>,
    chooseTransposeWithShuffles, chooseFromAVX512<&KernelTable::fill>);

} // namespace tessera::runtime
