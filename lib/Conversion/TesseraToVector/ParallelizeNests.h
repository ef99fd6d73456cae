//===- ParallelizeNests.h - Share a plan among threads ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_PARALLELIZENESTS_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_PARALLELIZENESTS_H

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

namespace tessera {

/// Marks one loop of each nest that is large enough as parallel and moves it
/// outside. Blocks write disjoint bytes, so that threads never wait for one
/// another but at the end of a nest.
void parallelizeNests(RelayoutPlan &plan, const RelayoutTarget &target);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_PARALLELIZENESTS_H
