//===- Format.h - Numbers of the report for people --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_FORMAT_H
#define TESSERA_LIB_REPORT_FORMAT_H

#include "tessera/Report/Report.h"

#include "llvm/Support/JSON.h"

namespace tessera {

/// `1,703,936`.
std::string formatNumber(int64_t number);

/// `512 bytes`, `1,703,936 bytes (1.6 MiB)`.
std::string formatBytes(int64_t bytes);

/// `1.6 MiB`, `512 bytes`.
std::string formatSize(int64_t bytes);

/// Text of dumps need not be UTF-8, strings of JSON must.
llvm::json::Value makeString(llvm::StringRef text);

/// `order`, `avoid_move`: the kind of a suggestion in JSON.
llvm::StringRef getSuggestionName(Suggestion::Kind kind);

/// `S(1), fast on-chip memory`.
std::string formatSpace(int64_t space);

/// `12.5 %` of a whole.
std::string formatPercent(int64_t part, int64_t whole);

/// `1.25 times`; `only padding` for infinity.
std::string formatExpansion(double expansion);

/// `, as 2x4x16x1x8x128 in memory`; nothing for tuples.
std::string formatExtents(const ValueReport &value);

/// What a move does: `f32[8]{0} in S(0) to ...`, its bytes, its overlap.
std::string describeMove(const ValueReport &value);

/// `%name`, with its computation where it isn't the program's.
std::string describeValue(const Report &report, const ValueReport &value);

} // namespace tessera

#endif // TESSERA_LIB_REPORT_FORMAT_H
