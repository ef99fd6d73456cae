//===- Objects.h - What the handles of the C API point to -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CAPI_OBJECTS_H
#define TESSERA_LIB_CAPI_OBJECTS_H

#include "tessera-c/Layout.h"

#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Size.h"

#include "llvm/Support/raw_ostream.h"

struct TesseraError {
  TesseraErrorKind kind;
  std::string message;
  std::string rule;
  int64_t position;
};

struct TesseraShape {
  explicit TesseraShape(tessera::Shape shape);

  tessera::Shape shape;
  /// Made once, so that questions about positions are fast and need no lock; or
  /// why there are none.
  std::optional<tessera::AxisList> axes;
  tessera::ShapeSize size;
  TesseraError noAxes;
};

namespace tessera {

/// The error as the C API returns it; null for none.
TesseraError *wrapError(llvm::Error error);

inline TesseraInt64s wrap(llvm::ArrayRef<int64_t> numbers) {
  return {numbers.data(), numbers.size()};
}
inline llvm::ArrayRef<int64_t> unwrap(TesseraInt64s numbers) {
  return {numbers.data, numbers.size};
}

/// A stream whose pieces go to a callback.
class CallbackStream : public llvm::raw_ostream {
public:
  CallbackStream(TesseraTextCallback callback, void *userData)
      : llvm::raw_ostream(/*unbuffered=*/false), callback(callback),
        userData(userData) {}
  ~CallbackStream() override { flush(); }

private:
  void write_impl(const char *data, size_t length) override {
    callback(data, length, userData);
    position += length;
  }
  uint64_t current_pos() const override { return position; }

  TesseraTextCallback callback;
  void *userData;
  uint64_t position = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_CAPI_OBJECTS_H
