//===- Runtime.h - Relayouts at run time, in C++ ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tessera-c/Runtime.h with destructors and strings, in headers of the standard
// library alone.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RUNTIME_H
#define TESSERA_RUNTIME_RUNTIME_H

#include "tessera-c/Runtime.h"

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

/// What a function of the runtime has to say; true when it is an error.
class RuntimeError {
public:
  RuntimeError() = default;
  /*implicit*/ RuntimeError(TesseraError *error) : error(error) {}

  explicit operator bool() const { return error != nullptr; }
  TesseraErrorKind getKind() const { return tesseraErrorGetKind(error.get()); }
  /// The field, what was expected, what was found, and a remedy.
  std::string getMessage() const {
    return error ? tesseraErrorGetMessage(error.get()) : "";
  }

private:
  struct Destroy {
    void operator()(TesseraError *error) const { tesseraErrorDestroy(error); }
  };
  std::unique_ptr<TesseraError, Destroy> error;
};

/// An index for each dimension, where a part begins; none: where its box does.
/// It refers to the numbers that it is made of.
class RuntimeOffsets {
public:
  RuntimeOffsets() = default;
  RuntimeOffsets(const int64_t *data, size_t size) : numbers{data, size} {}
  /*implicit*/ RuntimeOffsets(const std::vector<int64_t> &offsets)
      : RuntimeOffsets(offsets.data(), offsets.size()) {}
  /// For an argument alone: the list ends with the statement.
  /*implicit*/ RuntimeOffsets(std::initializer_list<int64_t> offsets)
      : RuntimeOffsets(offsets.begin(), offsets.size()) {}

  TesseraInt64s get() const { return numbers; }

private:
  TesseraInt64s numbers = {};
};

/// A relayout, or none before `create` succeeds. Threads may share it.
class RuntimeRelayout {
public:
  RuntimeRelayout() = default;

  static RuntimeError create(const std::string &source,
                             const std::string &destination,
                             const TesseraRuntimeOptions &options,
                             RuntimeRelayout &result) {
    TesseraRuntimeRelayout *made = nullptr;
    RuntimeError error = tesseraRuntimeRelayoutCreate(
        source.c_str(), destination.c_str(), &options, &made);
    if (!error)
      result.relayout.reset(made);
    return error;
  }
  static RuntimeError create(const TesseraRuntimeArray &source,
                             const TesseraRuntimeArray &destination,
                             const TesseraRuntimeOptions &options,
                             RuntimeRelayout &result) {
    TesseraRuntimeRelayout *made = nullptr;
    RuntimeError error = tesseraRuntimeRelayoutCreateOfArrays(
        &source, &destination, &options, &made);
    if (!error)
      result.relayout.reset(made);
    return error;
  }

  explicit operator bool() const { return relayout != nullptr; }

  /// Bytes that the buffers must have at least.
  int64_t getSourceBytes() const {
    return tesseraRuntimeRelayoutGetSourceBytes(relayout.get());
  }
  int64_t getDestinationBytes() const {
    return tesseraRuntimeRelayoutGetDestinationBytes(relayout.get());
  }

  /// Does part `share` of `shares` of the work, all of it by default.
  RuntimeError run(const void *source, size_t sourceBytes, void *destination,
                   size_t destinationBytes, int64_t share = 0,
                   int64_t shares = 1) const {
    return tesseraRuntimeRelayoutRunShare(relayout.get(), source, sourceBytes,
                                          destination, destinationBytes, share,
                                          shares);
  }

  /// The same with the parts that begin at these offsets, whatever the boxes
  /// of the options begin at.
  RuntimeError runAt(RuntimeOffsets sourceOffsets,
                     RuntimeOffsets destinationOffsets, const void *source,
                     size_t sourceBytes, void *destination,
                     size_t destinationBytes, int64_t share = 0,
                     int64_t shares = 1) const {
    return tesseraRuntimeRelayoutRunShareAt(
        relayout.get(), sourceOffsets.get(), destinationOffsets.get(), source,
        sourceBytes, destination, destinationBytes, share, shares);
  }

  /// Moves the array within one buffer that has room for either side.
  RuntimeError runInPlace(void *buffer, size_t bufferBytes) const {
    return tesseraRuntimeRelayoutRunInPlace(relayout.get(), buffer,
                                            bufferBytes);
  }

  /// Does all of the work by up to `threads` new threads.
  RuntimeError runParallel(const void *source, size_t sourceBytes,
                           void *destination, size_t destinationBytes,
                           int64_t threads) const {
    return tesseraRuntimeRelayoutRunParallel(
        relayout.get(), source, sourceBytes, destination, destinationBytes,
        threads, nullptr, nullptr);
  }

private:
  struct Destroy {
    void operator()(TesseraRuntimeRelayout *relayout) const {
      tesseraRuntimeRelayoutDestroy(relayout);
    }
  };
  std::unique_ptr<TesseraRuntimeRelayout, Destroy> relayout;
};

/// The bytes of an array or of a part of one, or none before `create` succeeds.
/// Threads may share it.
class RuntimePart {
public:
  RuntimePart() = default;

  /// The part `box` of a shape, the whole array where it is empty.
  static RuntimeError create(const std::string &shape, const std::string &box,
                             RuntimePart &result) {
    TesseraRuntimePart *made = nullptr;
    RuntimeError error = tesseraRuntimePartCreate(
        shape.c_str(), box.empty() ? nullptr : box.c_str(), &made);
    if (!error)
      result.part.reset(made);
    return error;
  }

  explicit operator bool() const { return part != nullptr; }

  int64_t getArrayBytes() const {
    return tesseraRuntimePartGetArrayBytes(part.get());
  }
  int64_t getBytes() const { return tesseraRuntimePartGetBytes(part.get()); }
  int64_t getAlignment() const {
    return tesseraRuntimePartGetAlignment(part.get());
  }
  int64_t getNumRuns() const {
    return tesseraRuntimePartGetNumRuns(part.get());
  }

  /// All runs, in the order of memory.
  std::vector<TesseraRuntimeRun> getRuns() const {
    std::vector<TesseraRuntimeRun> runs(static_cast<size_t>(getNumRuns()));
    tesseraRuntimePartGetRuns(part.get(), runs.data(), getNumRuns());
    return runs;
  }

  /// Calls `visit` with each run, until it says false.
  template <typename Visitor> void visitRuns(Visitor &&visit) const {
    tesseraRuntimePartVisitRuns(
        part.get(),
        [](TesseraRuntimeRun run, void *to) -> bool {
          return (*static_cast<std::remove_reference_t<Visitor> *>(to))(run);
        },
        &visit);
  }

  /// Their loops live as long as the part.
  std::vector<TesseraRuntimeDescriptor> getDescriptors() const {
    std::vector<TesseraRuntimeDescriptor> result;
    int64_t count = tesseraRuntimePartGetNumDescriptors(part.get());
    result.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      result.push_back(tesseraRuntimePartGetDescriptor(part.get(), i));
    return result;
  }

private:
  struct Destroy {
    void operator()(TesseraRuntimePart *part) const {
      tesseraRuntimePartDestroy(part);
    }
  };
  std::unique_ptr<TesseraRuntimePart, Destroy> part;
};

} // namespace tessera

#endif // TESSERA_RUNTIME_RUNTIME_H
