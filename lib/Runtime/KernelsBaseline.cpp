//===- KernelsBaseline.cpp - The kernels, for registers of 16 bytes -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define TESSERA_VECTOR_BYTES 16
#define TESSERA_KERNEL_TABLE kBaselineKernels
#define TESSERA_KERNEL_NAME "baseline"

#include "KernelsImpl.h"
