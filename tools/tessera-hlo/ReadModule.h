//===- ReadModule.h - Reading the modules of tessera-hlo --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_HLO_READMODULE_H
#define TESSERA_TOOLS_TESSERA_HLO_READMODULE_H

#include "tessera/HLO/Parser.h"
#include "tessera/Report/Report.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tessera {

/// Parses and verifies `text`; null when that fails, with all errors printed to
/// `os` as `name:line:column: error: message`.
std::unique_ptr<hlo::Module>
readModule(llvm::StringRef text, llvm::StringRef name, llvm::raw_ostream &os);

/// The report on a file, `-` for standard input; nothing after an error, which
/// was shown.
std::optional<Report> reportOn(llvm::StringRef path);

} // namespace tessera

#endif // TESSERA_TOOLS_TESSERA_HLO_READMODULE_H
