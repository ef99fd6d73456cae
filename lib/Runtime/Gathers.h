//===- Gathers.h - Plans of gathers -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a few elements of each row become neighbours, as the colours of pixels
// do, a register of the destination is put together from windows of the source:
//
//   u8[2000,3,40]{2,1,0} to {1,2,0}
//
//   gather of 120 bytes, src 0 dst 0, 3 windows of a register
//     for 2000  src 120 dst 120
//
// What each register takes from where is a table that the plan makes, so that
// one kernel does for all shapes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_GATHERS_H
#define TESSERA_LIB_RUNTIME_GATHERS_H

#include "Move.h"

#include <optional>

namespace tessera::runtime {

/// The gather of blocks of the destination. Nothing where there are no blocks,
/// or where as much as a register of lanes would take more than `mostCycles`.
/// Elements that are no whole block are left in `rest`.
std::optional<Move> planGather(ElementNest nest, int64_t elementBytes,
                               const GatherRegisters &registers,
                               int64_t mostCycles,
                               std::optional<ElementNest> &rest);

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_GATHERS_H
