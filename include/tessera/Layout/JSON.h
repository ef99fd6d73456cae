//===- JSON.h - JSON that may be anything -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_JSON_H
#define TESSERA_LAYOUT_JSON_H

#include "llvm/Support/JSON.h"

namespace tessera {

/// Levels of lists and objects that are parsed.
constexpr int64_t kMaxJSONLevels = 200;

/// What LLVM's parser gives, which calls itself for each level: an error where
/// there are more than kMaxJSONLevels.
llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_LAYOUT_JSON_H
