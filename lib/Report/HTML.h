//===- HTML.h - What the pages have in common ----------------- -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_HTML_H
#define TESSERA_LIB_REPORT_HTML_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace tessera {
namespace html {

/// The beginning of a page up to its first heading, and its end.
void beginPage(llvm::raw_ostream &os, llvm::StringRef title);
void endPage(llvm::raw_ostream &os);

std::string escape(llvm::StringRef text);

/// Text in the type of code.
std::string code(const llvm::Twine &text);

void printHeading(llvm::raw_ostream &os, llvm::StringRef title,
                  llvm::StringRef note);

/// A column: its title, and whether it holds numbers.
struct Column {
  llvm::StringRef title;
  bool isNumber;
};

/// Writes a table row by row; cells are HTML already.
class HTMLTable {
public:
  HTMLTable(llvm::raw_ostream &os, std::vector<Column> titles);
  ~HTMLTable() { os << "</table></div>\n"; }

  void row(llvm::ArrayRef<std::string> cells);

private:
  llvm::raw_ostream &os;
  std::vector<Column> columns;
};

} // namespace html
} // namespace tessera

#endif // TESSERA_LIB_REPORT_HTML_H
