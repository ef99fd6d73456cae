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

#include "llvm/Support/MemoryBuffer.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tessera {

/// Parses and verifies `text`; null when that fails, with all errors printed to
/// `os` as `name:line:column: error: message`.
std::unique_ptr<hlo::Module>
readModule(llvm::StringRef text, llvm::StringRef name, llvm::raw_ostream &os);

/// The text of a file, `-` for standard input; of a protocol buffer the text of
/// the module in it. Null after an error, which was shown.
std::unique_ptr<llvm::MemoryBuffer> readText(llvm::StringRef path);

/// A module and the text that it is of.
struct Dump {
  /// The file that was read.
  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> text;
  std::unique_ptr<hlo::Module> module;
};

/// The module of such a file, or of a folder as
/// `--xla_dump_to` leaves it: its largest module after optimizations. Nothing
/// after an error, which was shown.
std::optional<Dump> readDump(llvm::StringRef path);

/// The report on what readDump reads, `-` for standard input; nothing after an
/// error, which was shown. `withBound` compares its traffic with the least.
std::optional<Report> reportOn(llvm::StringRef path, bool withBound = false);

} // namespace tessera

#endif // TESSERA_TOOLS_TESSERA_HLO_READMODULE_H
