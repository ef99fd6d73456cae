//===- Proto.cpp - tessera-layout proto -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Proto/Proto.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("proto", "Print shapes as XLA's ShapeProto, or read them", run);
static cl::list<std::string> texts(cl::Positional, cl::desc("[TEXT...]"),
                                   cl::sub(command));
static cl::opt<bool>
    fromProto("from-proto", cl::sub(command),
              cl::desc("The texts (by default standard input) are ShapeProtos "
                       "in text form; print the shapes"));
static cl::opt<bool>
    onlyLayout("layout", cl::sub(command),
               cl::desc("Layouts, `{1,0}`, and LayoutProtos instead of shapes "
                        "and ShapeProtos"));

/// The answer to one text, without a newline at its end.
static llvm::Expected<std::string> convert(llvm::StringRef text) {
  auto printed = [](auto value) -> llvm::Expected<std::string> {
    if (!value)
      return value.takeError();
    return value->toString();
  };
  if (fromProto)
    return onlyLayout ? printed(parseLayoutProto(text))
                      : printed(parseShapeProto(text));
  if (onlyLayout) {
    llvm::Expected<Layout> layout = parseLayout(text);
    return layout ? toProtoText(*layout) : layout.takeError();
  }
  llvm::Expected<Shape> shape = parseShape(text);
  if (!shape)
    return shape.takeError();
  return toProtoText(*shape);
}

static int run() {
  if (texts.empty() && !fromProto)
    return reportError(
        invalidError("", "command line", "at least one shape", "none"));
  if (texts.empty())
    texts.push_back("-");
  for (auto [i, text] : llvm::enumerate(texts)) {
    std::unique_ptr<llvm::MemoryBuffer> input;
    llvm::StringRef content = text;
    if (text == "-") {
      if (llvm::Error error = readInput(text).moveInto(input))
        return reportError(std::move(error));
      content = input->getBuffer();
    }
    llvm::Expected<std::string> answer = convert(content);
    if (!answer)
      return reportError(answer.takeError(), content);
    // Messages are parted by an empty line.
    llvm::outs() << (i != 0 && !fromProto ? "\n" : "") << *answer
                 << (fromProto ? "\n" : "");
  }
  return kExitSuccess;
}
