//===- Runtime.cpp - C API of relayouts at run time -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Runtime.h"

#include "../CAPI/Objects.h"
#include "Arguments.h"
#include "Threads.h"

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
// Options
//===----------------------------------------------------------------------===//

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

static bool overlap(const Relayout &relayout, const void *src,
                    const void *dst) {
  auto from = reinterpret_cast<uintptr_t>(src);
  auto to = reinterpret_cast<uintptr_t>(dst);
  return from < to + relayout.dstBytes() && to < from + relayout.srcBytes();
}

LLVM_ATTRIBUTE_NOINLINE
static llvm::Error checkBuffers(const Relayout &relayout, const void *src,
                                size_t srcBytes, const void *dst,
                                size_t dstBytes) {
  if (llvm::Error error = checkBuffer(src, srcBytes, relayout.srcBytes(),
                                      "buffer of the source"))
    return error;
  if (llvm::Error error = checkBuffer(dst, dstBytes, relayout.dstBytes(),
                                      "buffer of the destination"))
    return error;
  if (overlap(relayout, src, dst))
    return invalidError("", "buffers", "ones that do not overlap",
                        "ones that do",
                        "give the destination memory of its own");
  return llvm::Error::success();
}

/// Tiny arrays take less time than errors that are not there: those are looked
/// for where a buffer may be wrong.
static inline llvm::Error checkRun(const Relayout &relayout, const void *src,
                                   size_t srcBytes, const void *dst,
                                   size_t dstBytes) {
  auto isEnough = [](const void *data, size_t size, int64_t expected) {
    return data && size >= static_cast<uint64_t>(expected);
  };
  if (isEnough(src, srcBytes, relayout.srcBytes()) &&
      isEnough(dst, dstBytes, relayout.dstBytes()) &&
      !overlap(relayout, src, dst))
    return llvm::Error::success();
  return checkBuffers(relayout, src, srcBytes, dst, dstBytes);
}

static llvm::Error checkShare(int64_t share, int64_t shares) {
  if (shares >= 1 && share >= 0 && share < shares)
    return llvm::Error::success();
  return invalidError("", "share", "one from 0 to below the shares",
                      llvm::Twine(share) + " of " + llvm::Twine(shares));
}

TesseraError *
tesseraRuntimeRelayoutRunShare(const TesseraRuntimeRelayout *relayout,
                               const void *source, size_t sourceBytes,
                               void *destination, size_t destinationBytes,
                               int64_t share, int64_t shares) {
  if (llvm::Error error = checkRun(relayout->relayout, source, sourceBytes,
                                   destination, destinationBytes))
    return wrapError(std::move(error));
  if (llvm::Error error = checkShare(share, shares))
    return wrapError(std::move(error));
  relayout->relayout.run(static_cast<const char *>(source),
                         static_cast<char *>(destination), {share, shares});
  return nullptr;
}

TesseraError *tesseraRuntimeRelayoutRunShareAt(
    const TesseraRuntimeRelayout *relayout, TesseraInt64s sourceOffsets,
    TesseraInt64s destinationOffsets, const void *source, size_t sourceBytes,
    void *destination, size_t destinationBytes, int64_t share, int64_t shares) {
  auto from = read(sourceOffsets, "source offsets");
  if (!from)
    return wrapError(from.takeError());
  auto to = read(destinationOffsets, "destination offsets");
  if (!to)
    return wrapError(to.takeError());
  if (llvm::Error error = checkRun(relayout->relayout, source, sourceBytes,
                                   destination, destinationBytes))
    return wrapError(std::move(error));
  if (llvm::Error error = checkShare(share, shares))
    return wrapError(std::move(error));
  if (llvm::Error error = relayout->relayout.runAt(
          *from, *to, static_cast<const char *>(source),
          static_cast<char *>(destination), {share, shares}))
    return wrapError(std::move(error));
  return nullptr;
}

TesseraError *tesseraRuntimeRelayoutRunAt(
    const TesseraRuntimeRelayout *relayout, TesseraInt64s sourceOffsets,
    TesseraInt64s destinationOffsets, const void *source, size_t sourceBytes,
    void *destination, size_t destinationBytes) {
  return tesseraRuntimeRelayoutRunShareAt(
      relayout, sourceOffsets, destinationOffsets, source, sourceBytes,
      destination, destinationBytes, 0, 1);
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
    relayout.run(source, destination, {share, shares});
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
