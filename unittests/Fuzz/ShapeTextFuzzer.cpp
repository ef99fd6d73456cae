//===- ShapeTextFuzzer.cpp - libFuzzer on the parsers of shapes -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any text is either refused with a position inside it, or its printed form
// parses to the same shape. What is legal can be asked for axes and a size, and
// survives the way to a ShapeProto and back.
//
// Built with -DTESSERA_BUILD_FUZZERS=ON (clang only, best with the asan
// preset). A corpus to start from: a file for each line of
// test/Layout/Inputs/tpu-shapes.txt.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Proto.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "llvm/Support/ErrorHandling.h"

using namespace tessera;

static void require(bool condition, const char *what) {
  if (!condition)
    llvm::report_fatal_error(what);
}

static void checkError(llvm::Error error, size_t textSize) {
  Diagnostic diagnostic = takeDiagnostic(std::move(error));
  require(diagnostic.position >= 0 &&
              diagnostic.position <= static_cast<int64_t>(textSize),
          "an error without a position in the text");
  require(!diagnostic.rule.empty(), "an error without a rule");
}

static void checkShape(const Shape &shape) {
  llvm::Expected<Shape> again = parseShape(shape.toString());
  require(!!again, "a printed shape does not parse");
  require(*again == shape, "a printed shape parses to another one");
  require(!shape.verify(), "a parsed shape does not verify");
  again = parseShapeProto(toProtoText(shape));
  require(!!again && *again == shape, "a shape does not survive its message");
  if (llvm::Expected<ShapeSize> size = getSize(shape))
    require(size->bytes >= size->logicalBytes, "a negative padding");
  else
    llvm::consumeError(size.takeError());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (llvm::Expected<Shape> shape = parseShape(text))
    checkShape(*shape);
  else
    checkError(shape.takeError(), size);

  if (llvm::Expected<Shape> shape = parseShapeProto(text))
    require(!shape->verify(), "a message's shape does not verify");
  else
    checkError(shape.takeError(), size);

  llvm::Expected<Layout> layout = parseLayout(text);
  if (!layout) {
    checkError(layout.takeError(), size);
    return 0;
  }
  llvm::Expected<Layout> again = parseLayout(layout->toString());
  require(!!again && *again == *layout, "a layout does not survive printing");
  return 0;
}
