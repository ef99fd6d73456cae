//===- RedrawLayouts.h - Random layouts for HLO modules ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_REDRAWLAYOUTS_H
#define TESSERA_HLO_REDRAWLAYOUTS_H

#include "tessera/HLO/Module.h"

namespace tessera::hlo {

/// Gives every array of a module a random order of dimensions and random tiles,
/// the same for the same `seed`. What has to agree with another instruction
/// (tuples and their elements, transfers) does. Memory spaces and the other
/// fields stay. The module is not scheduled any more: then layouts bind nobody,
/// and instructions whose layouts differ are right.
///
/// Values stay the same where no instruction reads bytes: a `bitcast` does.
void redrawLayouts(Module &module, uint64_t seed);

} // namespace tessera::hlo

#endif // TESSERA_HLO_REDRAWLAYOUTS_H
