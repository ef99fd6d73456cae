//===- Part.cpp - C API of the bytes of a part ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CAPI/Objects.h"
#include "Arguments.h"
#include "PartRuns.h"

using namespace tessera;
using namespace tessera::runtime;

struct TesseraRuntimePart {
  explicit TesseraRuntimePart(PartRuns part);

  PartRuns runs;
  /// The loops of all descriptors, one behind the other, and those.
  std::vector<TesseraRuntimeLoop> loops;
  std::vector<TesseraRuntimeDescriptor> descriptors;
};

TesseraRuntimePart::TesseraRuntimePart(PartRuns part) : runs(std::move(part)) {
  for (const StridedRuns &each : runs.descriptors())
    for (const RunLoop &loop : each.loops)
      loops.push_back({loop.count, loop.stride});
  const TesseraRuntimeLoop *next = loops.data();
  for (const StridedRuns &each : runs.descriptors()) {
    descriptors.push_back(
        {each.first.offset, each.first.bytes, next, each.loops.size()});
    next += each.loops.size();
  }
}

static TesseraError *create(llvm::Expected<Side> side, const char *box,
                            TesseraRuntimePart **result) {
  if (!side)
    return wrapError(side.takeError());
  if (side->strided)
    return wrapError(unsupportedError("byte strides", "a layout", "strides"));
  if (llvm::Error error = readBox(box, "box", *side))
    return wrapError(std::move(error));
  auto runs = PartRuns::get({std::move(side->shape), std::move(side->box)});
  if (!runs)
    return wrapError(runs.takeError());
  *result = new TesseraRuntimePart(std::move(*runs));
  return nullptr;
}

TesseraError *tesseraRuntimePartCreate(const char *shape, const char *box,
                                       TesseraRuntimePart **part) {
  return create(readText(shape, "shape"), box, part);
}

TesseraError *tesseraRuntimePartCreateOfArray(const TesseraRuntimeArray *array,
                                              const char *box,
                                              TesseraRuntimePart **part) {
  return create(readArray(array, "array"), box, part);
}

void tesseraRuntimePartDestroy(TesseraRuntimePart *part) { delete part; }

int64_t tesseraRuntimePartGetArrayBytes(const TesseraRuntimePart *part) {
  return part->runs.arrayBytes();
}

int64_t tesseraRuntimePartGetBytes(const TesseraRuntimePart *part) {
  return part->runs.partBytes();
}

int64_t tesseraRuntimePartGetAlignment(const TesseraRuntimePart *part) {
  return part->runs.alignment();
}

int64_t tesseraRuntimePartGetNumRuns(const TesseraRuntimePart *part) {
  return part->runs.numRuns();
}

int64_t tesseraRuntimePartGetRuns(const TesseraRuntimePart *part,
                                  TesseraRuntimeRun *runs, int64_t capacity) {
  int64_t count = 0;
  if (capacity <= 0)
    return count;
  part->runs.visit([&](ByteRun run) {
    runs[count++] = {run.offset, run.bytes};
    return count < capacity;
  });
  return count;
}

void tesseraRuntimePartVisitRuns(const TesseraRuntimePart *part,
                                 TesseraRuntimeRunCallback callback,
                                 void *userData) {
  part->runs.visit(
      [&](ByteRun run) { return callback({run.offset, run.bytes}, userData); });
}

int64_t tesseraRuntimePartGetNumDescriptors(const TesseraRuntimePart *part) {
  return static_cast<int64_t>(part->descriptors.size());
}

TesseraRuntimeDescriptor
tesseraRuntimePartGetDescriptor(const TesseraRuntimePart *part, int64_t i) {
  if (i < 0 || i >= tesseraRuntimePartGetNumDescriptors(part))
    return {};
  return part->descriptors[i];
}
