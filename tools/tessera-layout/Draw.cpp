//===- Draw.cpp - tessera-layout draw -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"
#include "tessera/View/Picture.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("draw",
                          "Draw which element lies where in memory, or what a "
                          "relayout moves",
                          run);
static cl::opt<std::string> shapeText(cl::Positional, cl::Required,
                                      cl::desc("SHAPE"), cl::sub(command));
static cl::opt<std::string> toText(cl::Positional, cl::desc("[TO]"),
                                   cl::sub(command));
static cl::opt<std::string>
    outputPath("o", cl::value_desc("file.svg"), cl::sub(command),
               cl::desc("Write an SVG picture instead of text"));
static cl::opt<cl::boolOrDefault>
    color("color", cl::sub(command),
          cl::desc("Colour the text (by default on a terminal)"));
static cl::opt<int64_t> maxRows("rows", cl::init(16), cl::sub(command),
                                cl::desc("Draw about so many rows of a grid"));
static cl::opt<int64_t>
    maxColumns("columns", cl::init(16), cl::sub(command),
               cl::desc("Draw about so many columns of a grid"));
static cl::opt<int64_t>
    width("width", cl::sub(command),
          cl::desc("Columns that text may take for grids side by side (the "
                   "terminal's, else 100)"));

static llvm::Expected<Picture> getPicture(const Shape &shape,
                                          const std::optional<Shape> &to) {
  PictureOptions options;
  options.maxRows = maxRows;
  options.maxColumns = maxColumns;
  return to ? makeRelayoutPicture(shape, *to, options)
            : makePicture(shape, options);
}

static void printText(const Picture &picture) {
  DrawTextOptions options;
  options.useColor = color == cl::BOU_UNSET ? llvm::outs().has_colors()
                                            : color == cl::BOU_TRUE;
  unsigned terminalWidth = llvm::sys::Process::StandardOutColumns();
  if (width.getNumOccurrences())
    options.width = width;
  else if (terminalWidth != 0)
    options.width = terminalWidth;
  drawText(picture, llvm::outs(), options);
}

static int run() {
  if (width < 0)
    return reportError(invalidError("", "--width", "a number of at least 0",
                                    llvm::Twine(width)));
  std::optional<Shape> shape = readShapeArgument(shapeText), to;
  if (!shape)
    return kExitBadInput;
  if (toText.getNumOccurrences() && !(to = readShapeArgument(toText)))
    return kExitBadInput;
  llvm::Expected<Picture> picture = getPicture(*shape, to);
  if (!picture)
    return reportError(picture.takeError());
  if (!outputPath.getNumOccurrences()) {
    printText(*picture);
    return kExitSuccess;
  }
  llvm::Error error =
      writeOutput(outputPath, [&](llvm::raw_ostream &os) -> llvm::Error {
        drawSVG(*picture, os);
        return llvm::Error::success();
      });
  return error ? reportError(std::move(error)) : kExitSuccess;
}
