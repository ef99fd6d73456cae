//===- ToolSupport.cpp - What all tools do alike --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ToolSupport.h"

#include "ReadStream.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

/// Columns of text shown to each side of a caret.
static constexpr size_t kContext = 60;

/// The first byte of a character in UTF-8, which is one column.
static bool startsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

/// The part of a line that is shown: bytes [begin, end) of `line`.
static std::pair<size_t, size_t> getWindow(llvm::StringRef line,
                                           size_t column) {
  size_t begin = column > kContext ? column - kContext : 0;
  size_t end = std::min(line.size(), column + kContext);
  while (begin > 0 && !startsCharacter(line[begin]))
    --begin;
  while (end < line.size() && !startsCharacter(line[end]))
    ++end;
  return {begin, end};
}

/// The line of `text` with `position`, and a caret under that.
static void printCaret(llvm::raw_ostream &os, llvm::StringRef text,
                       size_t position) {
  position = std::min(position, text.size());
  // npos + 1 is 0, the start of the first line.
  size_t start = text.take_front(position).rfind('\n') + 1;
  llvm::StringRef line =
      text.substr(start).take_until([](char c) { return c == '\n'; });
  size_t column = position - start;
  auto [begin, end] = getWindow(line, column);

  os << "  " << (begin > 0 ? "..." : "");
  for (char c : line.slice(begin, end))
    os << (static_cast<unsigned char>(c) < ' ' || c == 0x7F ? ' ' : c);
  os << (end < line.size() ? "..." : "") << "\n  ";
  size_t columns = llvm::count_if(line.slice(begin, column), startsCharacter);
  os.indent(columns + (begin > 0 ? 3 : 0)) << "^\n";
}

void tessera::printError(llvm::raw_ostream &os, const Diagnostic &diagnostic,
                         llvm::StringRef text) {
  os << "error: " << diagnostic.message() << '\n';
  if (diagnostic.position != Diagnostic::kNoPosition && !text.empty())
    printCaret(os, text, diagnostic.position);
}

char ReportedError::ID = 0;

void ReportedError::log(llvm::raw_ostream &os) const { os << "see above"; }

std::error_code ReportedError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

int tessera::reportError(llvm::Error error, llvm::StringRef text) {
  if (error.isA<ReportedError>()) {
    llvm::consumeError(std::move(error));
    return kExitBadInput;
  }
  printError(llvm::errs(), takeDiagnostic(std::move(error)), text);
  return kExitBadInput;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
tessera::readInput(llvm::StringRef path, std::optional<int64_t> maxBytes) {
  if (isStream(path))
    return readStream(path, maxBytes);
  // A volatile file is read, not mapped: a map ends the process where another
  // process truncates the file. The alignment is that of a map, which bytecode
  // needs.
  auto buffer = llvm::MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/true,
      /*IsVolatile=*/true, llvm::Align(kInputAlignment));
  if (buffer)
    return std::move(*buffer);
  return invalidError("", "input file", "a file that can be read",
                      "`" + path + "`: " + buffer.getError().message());
}

std::optional<Shape> tessera::readShapeArgument(llvm::StringRef argument,
                                                ParseShapeOptions options) {
  std::unique_ptr<llvm::MemoryBuffer> input;
  llvm::StringRef text = argument;
  if (argument == "-") {
    auto buffer = readInput(argument);
    if (!buffer) {
      reportError(buffer.takeError());
      return std::nullopt;
    }
    input = std::move(*buffer);
    text = input->getBuffer();
  }
  llvm::Expected<Shape> shape = parseShape(text, options);
  if (shape)
    return std::move(*shape);
  reportError(shape.takeError(), text);
  return std::nullopt;
}

std::function<void(llvm::raw_ostream &)>
tessera::versionPrinter(llvm::StringRef tool) {
  return [name = tool.str()](llvm::raw_ostream &os) {
    os << name << " " TESSERA_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  };
}

int tessera::finish(int code) {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return code;
  std::string reason = llvm::outs().error().message();
  llvm::outs().clear_error();
  return reportError(invalidError("", "standard output",
                                  "a stream that can be written", reason));
}
