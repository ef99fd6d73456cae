//===- OutputOptions.h - The options --json, --html and -o ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_HLO_OUTPUTOPTIONS_H
#define TESSERA_TOOLS_TESSERA_HLO_OUTPUTOPTIONS_H

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Support/Subcommand.h"

namespace tessera {

/// In which form a subcommand prints a report, and where. A static variable.
struct OutputOptions {
  explicit OutputOptions(llvm::cl::SubCommand &command)
      : asJSON("json", llvm::cl::sub(command),
               llvm::cl::desc("Print JSON, as docs/report.md has it")),
        asHTML("html", llvm::cl::sub(command),
               llvm::cl::desc("Print a page that needs nothing else")),
        file("o", llvm::cl::sub(command), llvm::cl::init("-"),
             llvm::cl::value_desc("file"),
             llvm::cl::desc("Where to print it")) {}

  llvm::Error check() const {
    if (asJSON && asHTML)
      return invalidError("", "command line", "either --json or --html",
                          "both");
    return llvm::Error::success();
  }

  llvm::cl::opt<bool> asJSON;
  llvm::cl::opt<bool> asHTML;
  llvm::cl::opt<std::string> file;
};

} // namespace tessera

#endif // TESSERA_TOOLS_TESSERA_HLO_OUTPUTOPTIONS_H
