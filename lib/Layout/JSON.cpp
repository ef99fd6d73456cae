//===- JSON.cpp - JSON that may be anything -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/JSON.h"

#include "llvm/Support/Error.h"

using namespace tessera;

/// `text` from behind the string that it begins in.
static llvm::StringRef skipString(llvm::StringRef text) {
  while (!text.empty() && text.front() != '"')
    text = text.drop_front(text.front() == '\\' && text.size() > 1 ? 2 : 1);
  return text.drop_front(text.empty() ? 0 : 1);
}

/// Whether brackets outside of strings nest deeper than the parser may go. It
/// ends at the first one that closes nothing.
static bool isDeep(llvm::StringRef text) {
  int64_t level = 0;
  while (!text.empty() && level >= 0 && level <= kMaxJSONLevels) {
    char c = text.front();
    text = text.drop_front();
    if (c == '"')
      text = skipString(text);
    level += c == '{' || c == '[';
    level -= c == '}' || c == ']';
  }
  return level > kMaxJSONLevels;
}

llvm::Expected<llvm::json::Value> tessera::parseJSON(llvm::StringRef text) {
  if (isDeep(text))
    return llvm::createStringError("more than " + llvm::Twine(kMaxJSONLevels) +
                                   " levels");
  return llvm::json::parse(text);
}
