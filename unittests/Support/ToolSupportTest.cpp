//===- ToolSupportTest.cpp - Tests of what tools share --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ToolSupport.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using testing::HasSubstr;

namespace {
/// What printError shows for an error at `position` of `text`.
std::string show(llvm::StringRef text, int64_t position) {
  Diagnostic diagnostic;
  diagnostic.field = "x";
  diagnostic.position = position;
  std::string shown;
  llvm::raw_string_ostream os(shown);
  printError(os, diagnostic, text);
  return shown;
}

/// A fresh folder that is removed at the end.
class Folder {
public:
  Folder() { llvm::sys::fs::createUniqueDirectory("tessera", path); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string file(llvm::StringRef name) const {
    return (path + "/" + name).str();
  }
  size_t count() const {
    size_t entries = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(path, code), end; it != end;
         it.increment(code))
      ++entries;
    return entries;
  }

private:
  llvm::SmallString<128> path;
};

std::string contents(const std::string &path) {
  return llvm::cantFail(readInput(path))->getBuffer().str();
}
} // namespace

TEST(ToolSupport, CaretStandsUnderThePosition) {
  EXPECT_EQ(show("abc", 1), "error: invalid x\n  abc\n   ^\n");
  EXPECT_EQ(show("abc", 3), "error: invalid x\n  abc\n     ^\n");
  EXPECT_EQ(show("ab\ncd\nef", 4), "error: invalid x\n  cd\n   ^\n");
  // The end of a line belongs to it, and so does the end of the text.
  EXPECT_EQ(show("ab\ncd\n", 2), "error: invalid x\n  ab\n    ^\n");
  EXPECT_EQ(show("ab\ncd\n", 5), "error: invalid x\n  cd\n    ^\n");
  EXPECT_EQ(show("\nab", 0), "error: invalid x\n  \n  ^\n");
  EXPECT_EQ(show("a\n\nb", 2), "error: invalid x\n  \n  ^\n");
  // One column for a tab, and one for a character of several bytes.
  EXPECT_EQ(show("\tb", 1), "error: invalid x\n   b\n   ^\n");
  EXPECT_EQ(show("\xc3\xa9"
                 "b",
                 2),
            "error: invalid x\n  \xc3\xa9"
            "b\n   ^\n");
  EXPECT_EQ(show("abc", Diagnostic::kNoPosition), "error: invalid x\n");
  EXPECT_EQ(show("", 0), "error: invalid x\n");
}

TEST(ToolSupport, LongLinesAreCut) {
  std::string text(1000, 'a');
  text[500] = 'b';
  std::string shown = show(text, 500);
  EXPECT_LT(shown.size(), 300u);
  llvm::SmallVector<llvm::StringRef, 3> lines;
  llvm::StringRef(shown).split(lines, '\n');
  EXPECT_EQ(lines[1].find('b'), lines[2].find('^'));
  EXPECT_TRUE(lines[1].starts_with("  ...a"));
  EXPECT_TRUE(lines[1].ends_with("a..."));
  // Never within a character.
  std::string wide;
  for (int i = 0; i < 400; ++i)
    wide += "\xc3\xa9";
  shown = show(wide, 400);
  EXPECT_THAT(shown, HasSubstr("...\xc3\xa9"));
  EXPECT_THAT(shown, HasSubstr("\xc3\xa9..."));
}

TEST(ToolSupport, FilesAreWrittenWholeOrNotAtAll) {
  Folder folder;
  std::string path = folder.file("out");
  auto write = [&](bool fails) {
    return writeOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
      os << (fails ? "half" : "whole");
      if (fails)
        return invalidError("rule_c1", "x", "y", "z");
      return llvm::Error::success();
    });
  };
  // A failure leaves nothing, the temporary file neither, and is passed on.
  EXPECT_EQ(takeDiagnostic(write(true)).rule, "rule_c1");
  EXPECT_EQ(folder.count(), 0u);
  EXPECT_FALSE(write(false));
  EXPECT_EQ(contents(path), "whole");
  EXPECT_EQ(takeDiagnostic(write(true)).rule, "rule_c1");
  EXPECT_EQ(contents(path), "whole");
  EXPECT_EQ(folder.count(), 1u);
}

// Devices are written to, not replaced, and a full one is an error.
TEST(ToolSupport, DevicesAreWrittenInPlace) {
  auto write = [](llvm::raw_ostream &os) -> llvm::Error {
    os << std::string(100000, 'a');
    return llvm::Error::success();
  };
  EXPECT_FALSE(writeOutput("/dev/null", write));
  EXPECT_THAT(takeDiagnostic(writeOutput("/dev/full", write)).message(),
              HasSubstr("/dev/full"));
  EXPECT_TRUE(llvm::sys::fs::exists("/dev/null") &&
              !llvm::sys::fs::is_regular_file("/dev/null"));
}

TEST(ToolSupport, FileErrorsNameTheFile) {
  Folder folder;
  auto nothing = [](llvm::raw_ostream &) { return llvm::Error::success(); };
  std::string missing = folder.file("no/such");
  EXPECT_THAT(takeDiagnostic(writeOutput(missing, nothing)).message(),
              HasSubstr(missing));
  EXPECT_THAT(takeDiagnostic(readInput(missing).takeError()).message(),
              HasSubstr(missing));
  EXPECT_THAT(takeDiagnostic(readInput(folder.file(".")).takeError()).message(),
              HasSubstr("directory"));
}
