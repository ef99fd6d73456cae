//===- Placement.h - Places of temporaries in memory ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_PLACEMENT_H
#define TESSERA_LIB_REPORT_PLACEMENT_H

#include "tessera/Report/Report.h"

namespace tessera {

/// Places for the temporaries, where `bytes` has the size of each buffer of
/// each timeline: in main memory they are placed one by one as they begin, the
/// larger first, each in the smallest gap that holds it, as the TPU compiler
/// does. In all spaces those that the compiler placed are where it put them.
/// None, and no moments, where calls within calls take too many steps to be
/// followed.
void placeTemporaries(const ReportInput &input,
                      llvm::ArrayRef<std::vector<int64_t>> bytes,
                      Report &report);

} // namespace tessera

#endif // TESSERA_LIB_REPORT_PLACEMENT_H
