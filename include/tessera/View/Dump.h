//===- Dump.h - A raw buffer as logical elements ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_VIEW_DUMP_H
#define TESSERA_VIEW_DUMP_H

#include "tessera/Layout/AxisList.h"

namespace tessera {

/// The bytes of an array, looked at element by element.
class BufferDump {
public:
  /// `buffer` may be left out when only positions are asked for; it must
  /// outlive this. Errors: those of AxisList::getStatic; *invalid* where the
  /// buffer has another number of bytes than the array.
  static llvm::Expected<BufferDump> get(const Shape &shape,
                                        std::optional<llvm::StringRef> buffer);

  /// Bytes of the array.
  int64_t bytes() const { return numBytes; }

  /// A line for each element in row-major order, or with `withPadding` for each
  /// position: index, position, value. Needs the buffer.
  void print(llvm::raw_ostream &os, bool withPadding) const;

  /// A line for each element that has bits in byte `offset`: what lies there,
  /// at which position, and its value where there is a buffer.
  void describeByte(int64_t offset, llvm::raw_ostream &os) const;

private:
  BufferDump(const Shape &shape, AxisList axes)
      : shape(shape), axes(std::move(axes)) {}

  void printPosition(int64_t position, llvm::raw_ostream &os) const;

  Shape shape;
  AxisList axes;
  std::optional<llvm::StringRef> buffer;
  int64_t storageBits = 8;
  int64_t numBytes = 0;
};

/// The value of the low bits of `bits` as text: numbers in the shortest form
/// that reads back the same, `true` and `false`, complex ones as `(1,-2)`.
std::string formatValue(PrimitiveType type, const llvm::APInt &bits);

} // namespace tessera

#endif // TESSERA_VIEW_DUMP_H
