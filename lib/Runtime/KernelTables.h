//===- KernelTables.h - What all tables of kernels have ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_KERNELTABLES_H
#define TESSERA_LIB_RUNTIME_KERNELTABLES_H

#include "BitKernels.h"
#include "GatherKernels.h"

namespace tessera::runtime {
namespace {

constexpr KernelTable makeTable(const char *name, KernelChoice *copy,
                                KernelChoice *transpose, KernelChoice *fill) {
  return {name,
          kVectorBytes,
          copy,
          transpose,
          choosePackBits,
          fill,
          chooseGather,
          {kWideGatherBytes, kGatherBytes},
          {getDenseLimits<1>(), getDenseLimits<2>(), getDenseLimits<4>(),
           getDenseLimits<8>(), getDenseLimits<16>()},
          fence};
}

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_KERNELTABLES_H
