//===- CopyKernels.h - Runs of bytes ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_COPYKERNELS_H
#define TESSERA_LIB_RUNTIME_COPYKERNELS_H

#include "KernelVectors.h"

namespace tessera::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

template <int Bytes> TESSERA_INLINE void copyFixed(const char *src, char *dst) {
  constexpr int kStep = Bytes < kVectorBytes ? Bytes : kVectorBytes;
  struct Piece {
    char bytes[kStep];
  };
  TESSERA_UNROLL
  for (int i = 0; i < Bytes; i += kStep)
    store(dst + i, load<Piece>(src + i));
}

/// At least `Bytes` bytes, the last of which overlap those before.
template <int Bytes>
TESSERA_INLINE void copyAtLeast(const char *src, char *dst, int64_t size) {
  for (int64_t i = 0; i < size - Bytes; i += Bytes)
    copyFixed<Bytes>(src + i, dst + i);
  copyFixed<Bytes>(src + size - Bytes, dst + size - Bytes);
}

TESSERA_INLINE void copyRun(const char *src, char *dst, int64_t size) {
  if (size >= kVectorBytes)
    return copyAtLeast<kVectorBytes>(src, dst, size);
  if (size >= 16)
    return copyAtLeast<16>(src, dst, size);
  if (size >= 8)
    return copyAtLeast<8>(src, dst, size);
  if (size >= 4)
    return copyAtLeast<4>(src, dst, size);
  for (int64_t i = 0; i < size; ++i)
    dst[i] = src[i];
}

/// The same past the caches, but for parts of lines at the ends.
TESSERA_INLINE void streamRun(const char *src, char *dst, int64_t size) {
  int64_t head = least(bytesToLine(dst), size);
  copyRun(src, dst, head);
  int64_t end = size - (size - head) % kLineBytes;
  using V = Vector<8, kVectorBytes>;
  for (int64_t i = head; i < end; i += kVectorBytes)
    stream(dst + i, load<V>(src + i));
  copyRun(src + end, dst + end, size - end);
}

/// Runs longer than this are left to the C library.
constexpr int64_t kLongRun = 4096;

template <int Bytes>
void copyFixedRuns(const Job &job, const char *src, char *dst) {
  walk(job.loops, job.numLoops, src, dst,
       [](const char *src, char *dst) { copyFixed<Bytes>(src, dst); });
}

void copyAnyRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.runBytes;
  if (size > kLongRun)
    return walk(job.loops, job.numLoops, src, dst,
                [size](const char *src, char *dst) {
                  __builtin_memcpy(dst, src, size);
                });
  walk(job.loops, job.numLoops, src, dst,
       [size](const char *src, char *dst) { copyRun(src, dst, size); });
}

void copyRuns(const Job &job, const char *src, char *dst) {
  int64_t size = job.runBytes;
  if (job.isStreamed && size >= 2 * kLineBytes) {
    walk(job.loops, job.numLoops, src, dst,
         [size](const char *src, char *dst) { streamRun(src, dst, size); });
    return fence();
  }
  switch (size) {
  case 1:
    return copyFixedRuns<1>(job, src, dst);
  case 2:
    return copyFixedRuns<2>(job, src, dst);
  case 4:
    return copyFixedRuns<4>(job, src, dst);
  case 8:
    return copyFixedRuns<8>(job, src, dst);
  case 16:
    return copyFixedRuns<16>(job, src, dst);
  case 32:
    return copyFixedRuns<32>(job, src, dst);
  case 64:
    return copyFixedRuns<64>(job, src, dst);
  case 128:
    return copyFixedRuns<128>(job, src, dst);
  case 256:
    return copyFixedRuns<256>(job, src, dst);
  case 512:
    return copyFixedRuns<512>(job, src, dst);
  default:
    return copyAnyRuns(job, src, dst);
  }
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_COPYKERNELS_H
