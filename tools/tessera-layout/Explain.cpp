//===- Explain.cpp - tessera-layout explain -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Explain.h"
#include "tessera/HLO/Parser.h"
#include "tessera/Layout/Text.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("explain", "Say in words what a shape or a line of HLO means", run);
static cl::opt<std::string>
    text(cl::Positional, cl::Required,
         cl::desc("SHAPE, or NAME = SHAPE OPCODE(ARGUMENTS), ATTRIBUTES"),
         cl::sub(command));
static cl::opt<bool>
    verbose("verbose", cl::sub(command),
            cl::desc("Add the axes, and an element's address step by step"));

static bool isNameCharacter(char c) {
  return llvm::isAlnum(c) || StringRef("%_.-").contains(c);
}

/// Whether a line of HLO begins as the text does, or goes on as a shape does
/// not: with an opcode and its arguments.
static bool isInstruction(StringRef text) {
  StringRef rest = text.ltrim();
  if (rest.consume_front("ROOT"))
    return true;
  StringRef name = rest.take_while(isNameCharacter);
  if (!name.empty() && rest.drop_front(name.size()).ltrim().starts_with("="))
    return true;
  size_t offset = text.size() - text.ltrim().size();
  llvm::Expected<Shape> shape = parseShapePrefix(text, offset);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return false;
  }
  rest = text.drop_front(offset).ltrim();
  StringRef opcode = rest.take_while(isNameCharacter);
  return !opcode.empty() && rest.drop_front(opcode.size()).starts_with("(");
}

/// The byte of the text at a place of its lines.
static int64_t getPosition(StringRef text, hlo::SourceLocation location) {
  size_t start = 0;
  for (unsigned line = 1; line < location.line; ++line)
    start = text.find('\n', start) + 1;
  return start + location.column - 1;
}

static int explainInstruction(StringRef text, ExplainOptions options) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> line = hlo::parseLine(text, errors);
  for (hlo::SourceDiagnostic &error : errors) {
    error.diagnostic.position = getPosition(text, error.location);
    printError(llvm::errs(), error.diagnostic, text);
  }
  if (!line)
    return kExitBadInput;
  if (llvm::Error error = explainLine(*line, llvm::outs(), options))
    return reportError(std::move(error));
  return kExitSuccess;
}

static int run() {
  ExplainOptions options;
  options.verbose = verbose;
  std::unique_ptr<llvm::MemoryBuffer> input;
  StringRef argument = text;
  if (text == "-") {
    auto buffer = readInput(text);
    if (!buffer)
      return reportError(buffer.takeError());
    input = std::move(*buffer);
    argument = input->getBuffer();
  }
  if (isInstruction(argument))
    return explainInstruction(argument, options);
  llvm::Expected<Shape> shape = parseShape(argument);
  if (!shape)
    return reportError(shape.takeError(), argument);
  if (llvm::Error error = explainShape(*shape, llvm::outs(), options))
    return reportError(std::move(error));
  return kExitSuccess;
}
