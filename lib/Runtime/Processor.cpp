//===- Processor.cpp - What the processor can do --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processor.h"

#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;

/// The last-level cache of a processor that does not say how large it is, and
/// the most that one core has of it: servers count those of all cores.
static constexpr int64_t kUnknownCache = int64_t(8) << 20;
static constexpr int64_t kLargestCache = int64_t(32) << 20;

/// The widest registers that there are kernels and instructions for.
static int64_t getVectorBytes() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return 64;
  if (__builtin_cpu_supports("avx2"))
    return 32;
#endif
  return 16;
}

#if defined(__x86_64__)
/// What shuffles bytes across a register; processors without it have 64 bytes,
/// too, so that it is taken where none are asked for.
static bool hasByteShuffles() {
  return getVectorBytes() == 64 && __builtin_cpu_supports("avx512vbmi");
}
#endif

const KernelTable &tessera::runtime::getKernels(int64_t vectorBytes) {
  static const int64_t widest = getVectorBytes();
  int64_t bytes = vectorBytes ? std::min(vectorBytes, widest) : widest;
#if defined(__x86_64__)
  static const bool isVBMI = hasByteShuffles();
  if (vectorBytes == 0 && isVBMI)
    return kAVX512VBMIKernels;
  if (bytes >= 64)
    return kAVX512Kernels;
  if (bytes >= 32)
    return kAVX2Kernels;
#endif
  return kBaselineKernels;
}

const ProcessorCosts &tessera::runtime::getProcessorCosts() {
  static const ProcessorCosts costs =
      ProcessorCosts::get(llvm::sys::getHostCPUName());
  return costs;
}

StreamedBytes tessera::runtime::getStreamedBytes() {
  static const StreamedBytes bytes = [] {
    int64_t cache = -1;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    cache = std::min(cache > 0 ? cache : kUnknownCache, kLargestCache);
    // Half of it is for the source, and some for what else is in use, such as
    // other programs. docs/runtime.md says how fast the smallest of these are
    // written either way.
    return StreamedBytes{cache / 7, cache / 16 * 5};
  }();
  return bytes;
}
