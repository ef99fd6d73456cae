//===- Layout.cpp - C API of shapes ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Layout.h"

#include "Objects.h"

#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/IndexUtil.h"
#include "tessera/Layout/Target.h"
#include "tessera/Layout/Text.h"
#include "tessera/View/Explain.h"
#include "tessera/View/ExplainSlice.h"
#include "tessera/View/Picture.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

//===----------------------------------------------------------------------===//
// Whole shapes
//===----------------------------------------------------------------------===//

/// The axes of an array and its size.
static llvm::Expected<AxisList> getAxes(const Shape &shape, ShapeSize &size) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return axes;
  llvm::Expected<ShapeSize> sizes = getSize(shape);
  if (!sizes)
    return sizes.takeError();
  size = std::move(*sizes);
  return axes;
}

TesseraShape::TesseraShape(Shape newShape) : shape(std::move(newShape)) {
  llvm::Expected<AxisList> found = getAxes(shape, size);
  if (found) {
    axes = std::move(*found);
    return;
  }
  std::unique_ptr<TesseraError> error(wrapError(found.takeError()));
  noAxes = std::move(*error);
}

/// Why there are no axes, each time a new one; null where there are.
static TesseraError *checkAxes(const TesseraShape *shape) {
  return shape->axes ? nullptr : new TesseraError(shape->noAxes);
}

TesseraError *tesseraShapeParse(const char *text, size_t length,
                                TesseraShape **shape) {
  llvm::Expected<Shape> parsed = parseShape(llvm::StringRef(text, length));
  if (!parsed)
    return wrapError(parsed.takeError());
  *shape = new TesseraShape(std::move(*parsed));
  return nullptr;
}

void tesseraShapeDestroy(TesseraShape *shape) { delete shape; }

void tesseraShapePrint(const TesseraShape *shape, bool withLayout,
                       TesseraTextCallback callback, void *userData) {
  CallbackStream os(callback, userData);
  shape->shape.print(os, withLayout);
}

bool tesseraShapeEqual(const TesseraShape *lhs, const TesseraShape *rhs) {
  return lhs->shape == rhs->shape;
}

bool tesseraShapeIsArray(const TesseraShape *shape) {
  return shape->shape.isArray();
}

TesseraError *tesseraShapeGetDefault(const TesseraShape *shape,
                                     const char *target,
                                     TesseraShape **result) {
  llvm::Expected<const Target *> found = getTarget(target);
  if (!found)
    return wrapError(found.takeError());
  llvm::Expected<Shape> chosen = chooseDefaultLayout(**found, shape->shape);
  if (!chosen)
    return wrapError(chosen.takeError());
  *result = new TesseraShape(std::move(*chosen));
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// The layout, or null for what is no array: parsed arrays have one.
static const Layout *getLayout(const TesseraShape *shape) {
  return shape->shape.isArray() ? &shape->shape.layout() : nullptr;
}

const char *tesseraShapeGetElementType(const TesseraShape *shape) {
  // The names are literals: a zero follows.
  return shape->shape.isArray() ? getName(shape->shape.elementType()).data()
                                : "";
}

int64_t tesseraShapeGetStorageBits(const TesseraShape *shape) {
  const Layout *layout = getLayout(shape);
  return layout ? getStorageBits(shape->shape.elementType(), *layout) : 0;
}

TesseraInt64s tesseraShapeGetDimensions(const TesseraShape *shape) {
  return wrap(shape->shape.dimensions());
}

TesseraInt64s tesseraShapeGetMinorToMajor(const TesseraShape *shape) {
  const Layout *layout = getLayout(shape);
  return layout ? wrap(layout->minorToMajor) : TesseraInt64s{nullptr, 0};
}

size_t tesseraShapeGetNumTiles(const TesseraShape *shape) {
  const Layout *layout = getLayout(shape);
  return layout ? layout->tiles.size() : 0;
}

TesseraInt64s tesseraShapeGetTile(const TesseraShape *shape, size_t tile) {
  return wrap(shape->shape.layout().tiles[tile].sizes);
}

int64_t tesseraShapeGetMemorySpace(const TesseraShape *shape) {
  const Layout *layout = getLayout(shape);
  return layout ? layout->memorySpace : 0;
}

TesseraError *tesseraShapeGetSize(const TesseraShape *shape,
                                  TesseraShapeSize *size) {
  if (TesseraError *error = checkAxes(shape))
    return error;
  const ShapeSize &known = shape->size;
  *size = {wrap(known.physicalShape), known.logicalElements,
           known.allocatedElements, known.bytes, known.paddingBytes};
  return nullptr;
}

TesseraError *tesseraShapeGetLinearIndex(const TesseraShape *shape,
                                         TesseraInt64s index,
                                         int64_t *position) {
  if (TesseraError *error = checkAxes(shape))
    return error;
  if (llvm::Error error =
          index_util::checkIndex(unwrap(index), shape->axes->dimensions()))
    return wrapError(std::move(error));
  *position = shape->axes->linearIndex(unwrap(index));
  return nullptr;
}

TesseraError *tesseraShapeGetLogicalIndex(const TesseraShape *shape,
                                          int64_t position, int64_t *index,
                                          bool *isPadding) {
  if (TesseraError *error = checkAxes(shape))
    return error;
  int64_t positions = shape->axes->numAllocated();
  if (position < 0 || position >= positions)
    return wrapError(invalidError("", "position",
                                  "a number from 0 to below " +
                                      llvm::Twine(positions) +
                                      ", the size of the buffer",
                                  llvm::Twine(position)));
  auto element = shape->axes->logicalIndex(position);
  *isPadding = !element;
  if (element)
    llvm::copy(*element, index);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Two shapes
//===----------------------------------------------------------------------===//

static BitcastAnswer getAnswer(const Shape &from, const Shape &to,
                               TesseraBitcastKind kind) {
  switch (kind) {
  case TesseraBitcastRelayout:
    return isRelayoutBitcast(from, to);
  case TesseraBitcastReshape:
    return isReshapeBitcast(from, to);
  case TesseraBitcastAny:
    break;
  }
  return mayBitcast(from, to);
}

TesseraAnswer tesseraShapeMayBitcast(const TesseraShape *from,
                                     const TesseraShape *to,
                                     TesseraBitcastKind kind,
                                     TesseraTextCallback callback,
                                     void *userData) {
  BitcastAnswer answer = getAnswer(from->shape, to->shape, kind);
  if (answer.answer == Answer::Yes)
    return TesseraAnswerYes;
  if (callback)
    callback(answer.reason.data(), answer.reason.size(), userData);
  return answer.answer == Answer::No ? TesseraAnswerNo : TesseraAnswerUnknown;
}

//===----------------------------------------------------------------------===//
// Pictures and words
//===----------------------------------------------------------------------===//

TesseraDrawOptions tesseraDrawOptionsGetDefault() {
  PictureOptions picture;
  DrawTextOptions text;
  return {/*isSVG=*/false, text.useColor, picture.maxRows, picture.maxColumns,
          text.width};
}

static llvm::Expected<Picture> getPicture(const TesseraShape *shape,
                                          const TesseraShape *to,
                                          const TesseraDrawOptions &options) {
  PictureOptions size;
  size.maxRows = options.maxRows;
  size.maxColumns = options.maxColumns;
  return to ? makeRelayoutPicture(shape->shape, to->shape, size)
            : makePicture(shape->shape, size);
}

TesseraError *tesseraShapeDraw(const TesseraShape *shape,
                               const TesseraShape *to,
                               TesseraDrawOptions options,
                               TesseraTextCallback callback, void *userData) {
  llvm::Expected<Picture> picture = getPicture(shape, to, options);
  if (!picture)
    return wrapError(picture.takeError());
  CallbackStream os(callback, userData);
  DrawTextOptions text;
  text.useColor = options.useColor;
  text.width = options.width;
  if (options.isSVG)
    drawSVG(*picture, os);
  else
    drawText(*picture, os, text);
  return nullptr;
}

TesseraError *tesseraTextExplain(const char *text, size_t length,
                                 bool isVerbose, TesseraTextCallback callback,
                                 void *userData) {
  std::string result;
  llvm::raw_string_ostream os(result);
  ExplainOptions options;
  options.verbose = isVerbose;
  if (llvm::Error error =
          explainText(llvm::StringRef(text, length), os, options))
    return wrapError(std::move(error));
  callback(result.data(), result.size(), userData);
  return nullptr;
}

TesseraError *tesseraShapeExplainSlice(const TesseraShape *shape,
                                       const char *text, size_t length,
                                       bool isJSON,
                                       TesseraTextCallback callback,
                                       void *userData) {
  llvm::Expected<SymbolicSlice> slice =
      parseSlice(llvm::StringRef(text, length), shape->shape.dimensions());
  if (!slice)
    return wrapError(slice.takeError());
  llvm::Expected<SliceAnswer> answer = analyzeSlice(shape->shape, *slice);
  if (!answer)
    return wrapError(answer.takeError());
  CallbackStream os(callback, userData);
  if (isJSON)
    printSliceJSON(shape->shape, *slice, *answer, os);
  else
    printSlice(shape->shape, *slice, *answer, os);
  return nullptr;
}

TesseraError *tesseraShapeExplain(const TesseraShape *shape, bool isVerbose,
                                  TesseraTextCallback callback,
                                  void *userData) {
  // Nothing is said before it is known that all can be.
  std::string text;
  llvm::raw_string_ostream os(text);
  ExplainOptions options;
  options.verbose = isVerbose;
  if (llvm::Error error = explainShape(shape->shape, os, options))
    return wrapError(std::move(error));
  callback(text.data(), text.size(), userData);
  return nullptr;
}
