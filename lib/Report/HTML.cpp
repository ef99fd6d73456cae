//===- HTML.cpp - What the pages have in common ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file without scripts and links. Colours follow the reader's light or dark
// setting.
//
//===----------------------------------------------------------------------===//

#include "HTML.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using namespace tessera::html;

static constexpr const char *kStyle = R"css(
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b6570;
  --back: #ffffff; --panel: #f3f5f7; --line: #d5dadf; --bar: #4c78a8;
  --peak: #d1495b; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --soft: #9aa5b1;
  --back: #15181b; --panel: #1f2428; --line: #3a4148; --bar: #6ea0d6;
  --peak: #ef7f8d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--back); max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.note { color: var(--soft); margin: .2rem 0 .8rem; }
code { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
.sums { display: grid; gap: .6rem;
  grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); }
.sums div { background: var(--panel); border-radius: 6px; padding: .6rem .8rem; }
.sums b { display: block; font-size: 1rem; white-space: nowrap; }
.sums span, td.soft { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: .85rem; }
td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
td:has(code) { min-width: 16rem; }
.advice { background: var(--panel); border-left: 3px solid var(--bar);
  padding: .3rem .6rem; margin-top: .3rem; }
.scroll { overflow-x: auto; }
svg.plot { width: 100%; height: auto; }
svg.plot rect.bar { fill: var(--bar); } svg.plot rect.peak { fill: var(--peak); }
svg.plot line { stroke: var(--line); }
svg.plot text { fill: var(--soft); font: 12px system-ui, sans-serif; }
)css";

void html::beginPage(llvm::raw_ostream &os, llvm::StringRef title) {
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
     << escape(title) << "</title>\n<style>" << kStyle
     << "</style>\n</head>\n<body>\n<h1>" << escape(title) << "</h1>\n";
}

void html::endPage(llvm::raw_ostream &os) { os << "</body>\n</html>\n"; }

std::string html::escape(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

std::string html::code(const llvm::Twine &text) {
  return "<code>" + escape(text.str()) + "</code>";
}

void html::printHeading(llvm::raw_ostream &os, llvm::StringRef title,
                        llvm::StringRef note) {
  os << "<h2>" << title << "</h2>\n<p class=\"note\">" << note << "</p>\n";
}

static llvm::StringRef getAttribute(const Column &column) {
  return column.isNumber ? " class=\"number\"" : "";
}

HTMLTable::HTMLTable(llvm::raw_ostream &os, std::vector<Column> titles)
    : os(os), columns(std::move(titles)) {
  os << "<div class=\"scroll\"><table><tr>";
  for (const Column &column : columns)
    os << "<th" << getAttribute(column) << ">" << column.title << "</th>";
  os << "</tr>\n";
}

void HTMLTable::row(llvm::ArrayRef<std::string> cells) {
  os << "<tr>";
  for (auto [cell, column] : llvm::zip_equal(cells, columns))
    os << "<td" << getAttribute(column) << ">" << cell << "</td>";
  os << "</tr>\n";
}
