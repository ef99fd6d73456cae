//===- Runtime.cpp - C API of relayouts at run time -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Runtime.h"

#include "../CAPI/Objects.h"
#include "Relayout.h"
#include "Threads.h"

#include "tessera/Layout/Text.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::runtime;

static constexpr int64_t kMaxThreads = 1024;
/// What is worth a thread of its own, which takes some 20 us to begin and end.
static constexpr int64_t kShareBytes = 1 << 20;

struct TesseraRuntimeRelayout {
  Relayout relayout;
};

//===----------------------------------------------------------------------===//
// What comes from outside
//===----------------------------------------------------------------------===//

static llvm::Error makeNullError(llvm::StringRef field) {
  return invalidError("", field, "a pointer", "null");
}

/// The numbers, where there is a place that has them.
static llvm::Expected<llvm::ArrayRef<int64_t>> read(TesseraInt64s numbers,
                                                    llvm::StringRef field) {
  if (numbers.size > 0 && !numbers.data)
    return makeNullError(field);
  return unwrap(numbers);
}

static llvm::Error readTiles(const TesseraRuntimeArray &array, Layout &layout) {
  auto sizes = read(array.tileDims, "tile_dims");
  if (!sizes)
    return sizes.takeError();
  if (array.numTiles > 0 && !array.tileDimSizes)
    return makeNullError("tile_dim_sizes");
  llvm::ArrayRef<int64_t> left = *sizes;
  for (size_t length : llvm::ArrayRef(array.tileDimSizes, array.numTiles)) {
    if (length > left.size())
      return invalidError("", "tile_dims",
                          "as many sizes as tile_dim_sizes say",
                          llvm::Twine(sizes->size()));
    layout.tiles.push_back(
        {llvm::SmallVector<int64_t, 4>(left.take_front(length))});
    left = left.drop_front(length);
  }
  if (!left.empty())
    return invalidError("", "tile_dims", "as many sizes as tile_dim_sizes say",
                        llvm::Twine(left.size()) + " more");
  return llvm::Error::success();
}

static llvm::Expected<Layout> readLayout(const TesseraRuntimeArray &array) {
  auto order = read(array.minorToMajor, "minor_to_major");
  if (!order)
    return order.takeError();
  Layout layout = Layout::descending(array.dimensions.size);
  if (!order->empty())
    layout.minorToMajor.assign(order->begin(), order->end());
  layout.elementSizeInBits = array.elementBits;
  if (llvm::Error error = readTiles(array, layout))
    return std::move(error);
  return layout;
}

static llvm::Expected<Side> readArray(const TesseraRuntimeArray *array,
                                      llvm::StringRef field) {
  if (!array)
    return makeNullError(field);
  if (!array->elementType)
    return makeNullError("element type");
  auto type = parsePrimitiveType(array->elementType);
  if (!type || !isArrayElement(*type))
    return invalidError("", "element type", "one such as bf16",
                        "'" + llvm::Twine(array->elementType) + "'");
  auto dimensions = read(array->dimensions, "dimensions");
  if (!dimensions)
    return dimensions.takeError();
  llvm::Expected<Layout> layout = readLayout(*array);
  if (!layout)
    return layout.takeError();
  auto strides = read(array->byteStrides, "byte strides");
  if (!strides)
    return strides.takeError();
  Side side;
  side.shape = Shape::array(*type, *dimensions, std::move(*layout));
  if (!strides->empty())
    side.strided = {llvm::SmallVector<int64_t, 6>(*strides), array->byteOffset};
  return side;
}

static llvm::Expected<Side> readText(const char *text, llvm::StringRef field) {
  if (!text)
    return makeNullError(field);
  llvm::Expected<Shape> shape = parseShape(text);
  if (!shape)
    return shape.takeError();
  return Side{std::move(*shape)};
}

static llvm::Expected<Options>
readOptions(const TesseraRuntimeOptions *options) {
  if (!options)
    return Options();
  int64_t bytes = options->vectorBytes;
  if (bytes != 0 && bytes != 16 && bytes != 32 && bytes != 64)
    return invalidError("", "vectorBytes", "0, 16, 32 or 64",
                        llvm::Twine(bytes));
  if (options->streamedBytes < 0)
    return invalidError("", "streamedBytes", "0 or more",
                        llvm::Twine(options->streamedBytes));
  if (options->scratchBytes < 0)
    return invalidError("", "scratchBytes", "0 or more",
                        llvm::Twine(options->scratchBytes));
  Options result{options->zeroPadding, bytes, options->streamedBytes};
  if (options->scratchBytes > 0)
    result.scratchBytes = options->scratchBytes;
  return result;
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

/// The part of an array that is meant; what is no array is refused later.
static llvm::Error readBox(const char *text, llvm::StringRef field,
                           Side &side) {
  if (!text || !side.shape.isArray())
    return llvm::Error::success();
  llvm::Expected<Box> box = parseBox(text, side.shape, field);
  if (!box)
    return box.takeError();
  side.box = std::move(*box);
  return llvm::Error::success();
}

static llvm::Error readBoxes(const TesseraRuntimeOptions *options, Side &src,
                             Side &dst) {
  if (!options)
    return llvm::Error::success();
  if (llvm::Error error = readBox(options->sourceBox, "sourceBox", src))
    return error;
  return readBox(options->destinationBox, "destinationBox", dst);
}

static TesseraError *create(llvm::Expected<Side> src, llvm::Expected<Side> dst,
                            const TesseraRuntimeOptions *options,
                            TesseraRuntimeRelayout **result) {
  if (!src || !dst) {
    // One error is enough to say.
    llvm::Error error = src ? dst.takeError() : src.takeError();
    if (!src && !dst)
      llvm::consumeError(dst.takeError());
    return wrapError(std::move(error));
  }
  llvm::Expected<Options> read = readOptions(options);
  if (!read)
    return wrapError(read.takeError());
  if (llvm::Error error = readBoxes(options, *src, *dst))
    return wrapError(std::move(error));
  auto relayout = Relayout::get(std::move(*src), std::move(*dst), *read);
  if (!relayout)
    return wrapError(relayout.takeError());
  *result = new TesseraRuntimeRelayout{std::move(*relayout)};
  return nullptr;
}

TesseraError *tesseraRuntimeRelayoutCreate(const char *source,
                                           const char *destination,
                                           const TesseraRuntimeOptions *options,
                                           TesseraRuntimeRelayout **relayout) {
  return create(readText(source, "source"),
                readText(destination, "destination"), options, relayout);
}

TesseraError *tesseraRuntimeRelayoutCreateOfArrays(
    const TesseraRuntimeArray *source, const TesseraRuntimeArray *destination,
    const TesseraRuntimeOptions *options, TesseraRuntimeRelayout **relayout) {
  return create(readArray(source, "source"),
                readArray(destination, "destination"), options, relayout);
}

void tesseraRuntimeRelayoutDestroy(TesseraRuntimeRelayout *relayout) {
  delete relayout;
}

int64_t
tesseraRuntimeRelayoutGetSourceBytes(const TesseraRuntimeRelayout *relayout) {
  return relayout->relayout.srcBytes();
}

int64_t tesseraRuntimeRelayoutGetDestinationBytes(
    const TesseraRuntimeRelayout *relayout) {
  return relayout->relayout.dstBytes();
}

void tesseraRuntimeRelayoutPrint(const TesseraRuntimeRelayout *relayout,
                                 TesseraTextCallback callback, void *userData) {
  CallbackStream os(callback, userData);
  relayout->relayout.print(os);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static llvm::Error checkBuffer(const void *data, size_t size, int64_t expected,
                               llvm::StringRef field) {
  if (size < static_cast<uint64_t>(expected))
    return invalidError("", field,
                        "at least " + llvm::Twine(expected) + " bytes",
                        llvm::Twine(size));
  if (!data && expected > 0)
    return makeNullError(field);
  return llvm::Error::success();
}

static llvm::Error checkRun(const Relayout &relayout, const void *src,
                            size_t srcBytes, const void *dst, size_t dstBytes) {
  if (llvm::Error error = checkBuffer(src, srcBytes, relayout.srcBytes(),
                                      "buffer of the source"))
    return error;
  if (llvm::Error error = checkBuffer(dst, dstBytes, relayout.dstBytes(),
                                      "buffer of the destination"))
    return error;
  auto from = reinterpret_cast<uintptr_t>(src);
  auto to = reinterpret_cast<uintptr_t>(dst);
  if (from < to + relayout.dstBytes() && to < from + relayout.srcBytes())
    return invalidError("", "buffers", "ones that do not overlap",
                        "ones that do",
                        "give the destination memory of its own");
  return llvm::Error::success();
}

TesseraError *
tesseraRuntimeRelayoutRunShare(const TesseraRuntimeRelayout *relayout,
                               const void *source, size_t sourceBytes,
                               void *destination, size_t destinationBytes,
                               int64_t share, int64_t shares) {
  if (llvm::Error error = checkRun(relayout->relayout, source, sourceBytes,
                                   destination, destinationBytes))
    return wrapError(std::move(error));
  if (shares < 1 || share < 0 || share >= shares)
    return wrapError(
        invalidError("", "share", "one from 0 to below the shares",
                     llvm::Twine(share) + " of " + llvm::Twine(shares)));
  relayout->relayout.run(static_cast<const char *>(source),
                         static_cast<char *>(destination), share, shares);
  return nullptr;
}

TesseraError *
tesseraRuntimeRelayoutRunInPlace(const TesseraRuntimeRelayout *relayout,
                                 void *buffer, size_t bufferBytes) {
  const Relayout &move = relayout->relayout;
  if (llvm::Error error =
          checkBuffer(buffer, bufferBytes,
                      std::max(move.srcBytes(), move.dstBytes()), "buffer"))
    return wrapError(std::move(error));
  if (llvm::Error error = move.runInPlace(static_cast<char *>(buffer)))
    return wrapError(std::move(error));
  return nullptr;
}

namespace {
/// A move whose parts threads do.
struct SharedRun {
  const Relayout &relayout;
  const char *source;
  char *destination;
  int64_t shares;

  void run(int64_t share) const {
    relayout.run(source, destination, share, shares);
  }
};
} // namespace

TesseraError *tesseraRuntimeRelayoutRunParallel(
    const TesseraRuntimeRelayout *relayout, const void *source,
    size_t sourceBytes, void *destination, size_t destinationBytes,
    int64_t threads, TesseraRuntimeParallelFor parallelFor, void *userData) {
  const Relayout &move = relayout->relayout;
  if (llvm::Error error =
          checkRun(move, source, sourceBytes, destination, destinationBytes))
    return wrapError(std::move(error));
  if (threads < 1 || threads > kMaxThreads)
    return wrapError(invalidError("", "number of threads",
                                  "one from 1 to " + llvm::Twine(kMaxThreads),
                                  llvm::Twine(threads)));
  int64_t shares = std::clamp<int64_t>(
      std::max(move.srcBytes(), move.dstBytes()) / kShareBytes, 1, threads);
  SharedRun run = {move, static_cast<const char *>(source),
                   static_cast<char *>(destination), shares};
  if (shares == 1)
    run.run(0);
  else if (parallelFor)
    parallelFor(
        shares,
        [](void *context, int64_t share) {
          static_cast<const SharedRun *>(context)->run(share);
        },
        &run, userData);
  else
    runOnThreads(shares, [&](int64_t share) { run.run(share); });
  return nullptr;
}

TesseraError *tesseraRuntimeRelayoutRun(const TesseraRuntimeRelayout *relayout,
                                        const void *source, size_t sourceBytes,
                                        void *destination,
                                        size_t destinationBytes) {
  return tesseraRuntimeRelayoutRunShare(relayout, source, sourceBytes,
                                        destination, destinationBytes, 0, 1);
}
