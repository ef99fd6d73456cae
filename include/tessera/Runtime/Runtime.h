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

#include <memory>
#include <string>

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

} // namespace tessera

#endif // TESSERA_RUNTIME_RUNTIME_H
