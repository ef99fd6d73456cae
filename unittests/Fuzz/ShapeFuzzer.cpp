//===- ShapeFuzzer.cpp - Texts of shapes ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any text is either refused with a position inside it, or its printed form
// parses to the same shape. What is legal can be asked for axes and a size, has
// a default layout or none for a reason, can be drawn and explained, and
// survives the way to a ShapeProto and back. A slice that follows a shape is
// analyzed.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Target.h"
#include "tessera/Layout/Text.h"
#include "tessera/Proto/Proto.h"
#include "tessera/View/Dump.h"
#include "tessera/View/Explain.h"
#include "tessera/View/ExplainSlice.h"
#include "tessera/View/Picture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DJB.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::fuzz;

static void checkError(llvm::Error error, size_t textSize) {
  Diagnostic diagnostic = takeDiagnostic(std::move(error));
  require(diagnostic.position >= 0 &&
              diagnostic.position <= static_cast<int64_t>(textSize),
          "an error without a position in the text");
  require(!diagnostic.rule.empty(), "an error without a rule");
}

/// An error that names no position in a text.
static void checkRefusal(llvm::Error error) {
  if (error)
    require(!takeDiagnostic(std::move(error)).message().empty(),
            "an error without a message");
}

/// The axes give each element a position of its own, and back.
static void checkAxes(const Shape &shape) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return checkRefusal(axes.takeError());
  int64_t allocated = axes->numAllocated();
  for (int64_t position :
       {int64_t(0), allocated / 3, allocated / 2, allocated - 1}) {
    if (position < 0 || position >= allocated)
      continue;
    if (auto index = axes->logicalIndex(position))
      require(axes->linearIndex(*index) == position,
              "an element is not where its position says");
  }
}

static void checkViews(const Shape &shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ExplainOptions options;
  options.verbose = true;
  checkRefusal(explainShape(shape, os, options));
  llvm::Expected<Picture> picture = makePicture(shape);
  if (!picture)
    return checkRefusal(picture.takeError());
  drawText(*picture, os);
  drawSVG(*picture, os);
}

/// Which elements bytes at the ends and within belong to.
static void checkDump(const Shape &shape) {
  llvm::Expected<BufferDump> dump = BufferDump::get(shape, std::nullopt);
  if (!dump)
    return checkRefusal(dump.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t byte : {int64_t(0), dump->bytes() / 3, dump->bytes() - 1})
    if (byte >= 0 && byte < dump->bytes())
      dump->describeByte(byte, os);
}

static void checkBitcasts(const Shape &from, const Shape &to) {
  BitcastOptions options;
  options.enumerationCap = 4096;
  for (const BitcastAnswer &answer :
       {mayBitcast(from, to, options), isRelayoutBitcast(from, to, options),
        isReshapeBitcast(from, to, options)})
    require(answer || !answer.reason.empty(), "a no without a reason");
}

/// What the targets would choose, and whether that moves anything.
static void checkDefaults(const Shape &shape) {
  for (const Target &target : allTargets()) {
    llvm::Expected<Shape> chosen = chooseDefaultLayout(target, shape);
    if (!chosen) {
      checkRefusal(chosen.takeError());
      continue;
    }
    require(!chosen->verify(), "a default layout does not verify");
    checkBitcasts(shape, *chosen);
  }
}

/// Whether it is the turn of what takes long; depends on the text alone.
static bool isTurn(const std::string &text, unsigned oneIn) {
  return llvm::djbHash(text) % oneIn == 0;
}

static void checkShape(const Shape &shape) {
  llvm::Expected<Shape> again = parseShape(shape.toString());
  require(!!again, "a printed shape does not parse");
  require(*again == shape, "a printed shape parses to another one");
  require(!shape.verify(), "a parsed shape does not verify");
  again = parseShapeProto(toProtoText(shape));
  require(!!again && *again == shape, "a shape does not survive its message");
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (size)
    require(size->bytes >= size->logicalBytes, "a negative padding");
  else
    checkRefusal(size.takeError());
  checkAxes(shape);
  if (isTurn(shape.toString(), 32))
    checkViews(shape);
  if (isTurn(shape.toString(), 4))
    checkDefaults(shape);
  checkDump(shape);
}

/// A slice behind a shape has an answer or a reason against it. What it says of
/// a slice at the same begin alone agrees with what it says of all.
static void checkSlice(llvm::StringRef text) {
  size_t end = 0;
  llvm::Expected<Shape> shape = parseShapePrefix(text, end);
  if (!shape)
    return llvm::consumeError(shape.takeError());
  llvm::Expected<SymbolicSlice> slice =
      parseSlice(text.drop_front(end), shape->dimensions());
  if (!slice)
    return checkRefusal(slice.takeError());
  llvm::Expected<SliceAnswer> answer = analyzeSlice(*shape, *slice);
  if (!answer)
    return checkRefusal(answer.takeError());
  require(answer->minRuns >= 1 && answer->minRuns <= answer->maxRuns &&
              answer->maxRuns <= answer->elements,
          "a slice with impossible runs");
  std::string out;
  llvm::raw_string_ostream os(out);
  printSlice(*shape, *slice, *answer, os);
  printSliceJSON(*shape, *slice, *answer, os);
  for (auto [i, begin] : llvm::enumerate(slice->begins)) {
    begin = SliceBegin();
    begin.constant = answer->dimensions[i].first;
  }
  llvm::Expected<SliceAnswer> first = analyzeSlice(*shape, *slice);
  if (!first)
    return checkRefusal(first.takeError());
  require(first->minRuns >= answer->minRuns &&
              first->maxRuns <= answer->maxRuns,
          "a slice has other runs than all slices");
}

/// The text as one that a user has.
static void checkText(llvm::StringRef text) {
  std::string out;
  llvm::raw_string_ostream os(out);
  checkRefusal(explainText(text, os));
}

void tessera::fuzz::runInput(llvm::StringRef text) {
  checkSlice(text);
  if (isTurn(text.str(), 8))
    checkText(text);
  llvm::Expected<Shape> shape = parseShape(text);
  if (shape)
    checkShape(*shape);
  else
    checkError(shape.takeError(), text.size());

  if (llvm::Expected<Shape> shape = parseShapeProto(text))
    require(!shape->verify(), "a message's shape does not verify");
  else
    checkError(shape.takeError(), text.size());

  llvm::Expected<Layout> layout = parseLayout(text);
  if (!layout)
    return checkError(layout.takeError(), text.size());
  llvm::Expected<Layout> again = parseLayout(layout->toString());
  require(!!again && *again == *layout, "a layout does not survive printing");
}

std::string tessera::fuzz::mutateInput(llvm::StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  return mutator.mutate(text, random);
}
