//===- MoveCosts.h - The time that moves take -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In cycles, about, in which as much as a register has is moved. Gathers, which
// move any nest, are taken where they need fewer.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_MOVECOSTS_H
#define TESSERA_LIB_RUNTIME_MOVECOSTS_H

#include "Move.h"

namespace tessera::runtime {

/// Of few rows that become columns without gaps, or the other way round, by a
/// kernel of their own; 0 for others. Chains are divided. Measured on Zen 4.
int64_t getDenseCycles(const Move &move, const KernelTable &kernels,
                       bool isStreamed);

/// Of these, of copies of short runs, and of transposes of few rows or columns;
/// 0 for others, which registers suit.
int64_t getCycles(const Move &move, const KernelTable &kernels,
                  bool isStreamed);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_MOVECOSTS_H
