//===- ToolSupport.h - What all tools do alike ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading arguments and files, showing errors, and writing results, so that
// every tool has the same exit codes, the same messages, reads `-` as standard
// input and never leaves a half-written file.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_TOOLSUPPORT_H
#define TESSERA_SUPPORT_TOOLSUPPORT_H

#include "tessera/Layout/Text.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/MemoryBuffer.h"

#include <functional>
#include <memory>

namespace tessera {

/// Exit codes of all tools.
enum ExitCode : int {
  kExitSuccess = 0,
  kExitNo = 1,       ///< The answer is no, or a comparison failed.
  kExitBadInput = 2, ///< Bad arguments, texts, IR, files.
  kExitUnknown = 3,  ///< The question was left open.
};

/// Prints `error: message` and, when the position in `text` is known, that line
/// of the text with a caret under the position:
///
///     error: invalid tile size: expected a positive number or `*`, ...
///       f32[3,5]{1,0:T(2,0)}
///                        ^
///
/// Long lines are cut around the caret.
void printError(llvm::raw_ostream &os, const Diagnostic &diagnostic,
                llvm::StringRef text = {});

/// An error that the user knows of already: reportError prints nothing.
class ReportedError : public llvm::ErrorInfo<ReportedError> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

/// Consumes `error`, prints it to stderr as above and returns kExitBadInput.
int reportError(llvm::Error error, llvm::StringRef text = {});

/// The whole of a file, or of standard input for `-`. The error names the file
/// and the reason.
///
/// Devices and pipes may have no end: no more than about `maxBytes` is read of
/// them. Without that number, a device must give text, without zeros.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInput(llvm::StringRef path, std::optional<int64_t> maxBytes = std::nullopt);

/// Makes a program that is out of memory end with a message and kExitBadInput.
void exitWhenOutOfMemory();

/// Parses the shape in a command-line argument; `-` reads standard input. An
/// error is reported to stderr, and nothing returned: the tool then exits with
/// kExitBadInput.
std::optional<Shape> readShapeArgument(llvm::StringRef argument,
                                       ParseShapeOptions options = {});

/// What a file is to hold. The function returns what is wrong with that; errors
/// of the file itself are found by writeOutputs.
struct Output {
  std::string path;
  std::function<llvm::Error(llvm::raw_ostream &)> write;
};

/// Whether `path` is standard output, a device, a pipe or else no file that
/// could be replaced.
bool isStream(llvm::StringRef path);

/// Writes files through temporary ones beside them, which replace them when all
/// are complete: a failure leaves what was there. Symbolic links are followed,
/// and a file keeps its mode. Streams are written in place. The error names the
/// file and the reason.
llvm::Error writeOutputs(llvm::ArrayRef<Output> outputs);

/// Writes one file like that.
llvm::Error
writeOutput(llvm::StringRef path,
            const std::function<llvm::Error(llvm::raw_ostream &)> &write);

/// The same for a function that reports its errors itself, as MLIR does.
llvm::Error writeMLIROutput(
    llvm::StringRef path,
    llvm::function_ref<llvm::LogicalResult(llvm::raw_ostream &)> write);

/// What --version prints of a tool, a function for cl::SetVersionPrinter.
std::function<void(llvm::raw_ostream &)> versionPrinter(llvm::StringRef tool);

/// Flushes standard output and returns `code`, or reports that it could not be
/// written. The last thing that a tool's main does.
int finish(int code);

} // namespace tessera

#endif // TESSERA_SUPPORT_TOOLSUPPORT_H
