//===- KernelsAVX2.cpp - The kernels, for registers of 32 bytes -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define TESSERA_VECTOR_BYTES 32
#define TESSERA_KERNEL_TABLE kAVX2Kernels
#define TESSERA_KERNEL_NAME "AVX2"

#include "KernelsImpl.h"
