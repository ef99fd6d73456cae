//===- FieldList.h - Fields and their meanings ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VIEW_FIELDLIST_H
#define TESSERA_LIB_VIEW_FIELDLIST_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera {

/// Lines of a field and its meaning, in two columns. A long field moves its own
/// meaning, and no other.
class FieldList {
public:
  void add(llvm::StringRef field, llvm::StringRef meaning) {
    lines.push_back({field.str(), meaning.str()});
  }
  void addBlank() { lines.emplace_back(); }

  void print(llvm::raw_ostream &os, unsigned indent = 2) const {
    size_t width = 0;
    for (const auto &[field, meaning] : lines)
      if (field.size() <= kMaxWidth)
        width = std::max(width, field.size());
    for (const auto &[field, meaning] : lines) {
      if (!field.empty()) {
        os.indent(indent) << field;
        os.indent(std::max(width, field.size()) - field.size() + 3) << meaning;
      }
      os << '\n';
    }
  }

private:
  /// Of the first column.
  static constexpr size_t kMaxWidth = 80;

  std::vector<std::pair<std::string, std::string>> lines;
};

} // namespace tessera

#endif // TESSERA_LIB_VIEW_FIELDLIST_H
