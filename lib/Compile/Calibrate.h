//===- Calibrate.h - What calibrate times -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_CALIBRATE_H
#define TESSERA_LIB_COMPILE_CALIBRATE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tessera {

/// Whether `calibrate` times any relayout for the coefficient `key` on a
/// machine of such registers, beginning with the defaults: one whose code
/// depends on it.
bool isMeasured(llvm::StringRef key, int64_t vectorBytes);

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_CALIBRATE_H
