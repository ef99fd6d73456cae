//===- KernelsAVX512.cpp - The kernels, for registers of 64 bytes ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define TESSERA_VECTOR_BYTES 64
#define TESSERA_KERNEL_TABLE kAVX512Kernels
#define TESSERA_KERNEL_NAME "AVX-512"

#include "KernelsImpl.h"
