//===- StatisticsOfRelease.h - Statistics as a release of LLVM has them ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM chooses the class of statistics by NDEBUG, where it is used as where it
// was built. A debug build next to a release of LLVM would read members that
// the library's constructor never wrote. Included before everything else in a
// build whose LLVM has no assertions.
//
//===----------------------------------------------------------------------===//

#if defined(__cplusplus) && !defined(NDEBUG)
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif
