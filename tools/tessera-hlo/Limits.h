//===- Limits.h - The option --fail-if --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_HLO_LIMITS_H
#define TESSERA_TOOLS_TESSERA_HLO_LIMITS_H

#include "tessera/Report/Limit.h"

namespace tessera {

/// The limits of a command line; nothing after an error, which was shown. A
/// growth is one where `canCompare` is false.
std::optional<std::vector<Limit>> parseLimits(llvm::ArrayRef<std::string> texts,
                                              bool canCompare);

/// The exit code: shows what exceeds a limit on standard error.
int checkLimits(llvm::ArrayRef<Limit> limits, const Report &report,
                const Report *before = nullptr);

} // namespace tessera

#endif // TESSERA_TOOLS_TESSERA_HLO_LIMITS_H
