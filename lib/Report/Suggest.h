//===- Suggest.h - Suggestions of the report --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_SUGGEST_H
#define TESSERA_LIB_REPORT_SUGGEST_H

#include "tessera/Report/Report.h"

namespace tessera {

/// How the move of `value` could be avoided or hidden, or nothing.
std::optional<Suggestion> suggestMove(const ValueReport &value);

} // namespace tessera

#endif // TESSERA_LIB_REPORT_SUGGEST_H
