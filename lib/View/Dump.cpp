//===- Dump.cpp - A raw buffer as logical elements ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Dump.h"

#include "tessera/Layout/Size.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

static std::string formatFloat(PrimitiveType type, const llvm::APInt &bits) {
  llvm::APFloat value(*getFloatSemantics(type), bits);
  if (value.isNaN())
    return "nan";
  if (value.isInfinity())
    return value.isNegative() ? "-inf" : "inf";
  llvm::SmallString<32> text;
  value.toString(text);
  return text.str().str();
}

std::string tessera::formatValue(PrimitiveType type, const llvm::APInt &bits) {
  if (type == PrimitiveType::Pred)
    return bits.isZero() ? "false" : "true";
  unsigned width = getBitWidth(type);
  llvm::APInt value = bits.trunc(width);
  if (isComplex(type))
    return "(" + formatFloat(type, value.trunc(width / 2)) + "," +
           formatFloat(type, value.lshr(width / 2).trunc(width / 2)) + ")";
  if (isFloatingPoint(type))
    return formatFloat(type, value);
  return llvm::toString(value, 10, isSignedIntegral(type));
}

llvm::Expected<BufferDump>
BufferDump::get(const Shape &shape, std::optional<llvm::StringRef> buffer) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  if (!axes)
    return axes.takeError();
  BufferDump dump(shape, std::move(*axes));
  Layout layout = shape.layoutOrDefault();
  dump.storageBits = getStorageBits(shape.elementType(), layout);
  if (llvm::Error error =
          getStorageBytes(dump.axes.numAllocated(), shape.elementType(), layout)
              .moveInto(dump.numBytes))
    return std::move(error);
  if (!buffer)
    return dump;
  if (dump.storageBits < getBitWidth(shape.elementType()))
    return unsupportedError("element_size_in_bits",
                            "at least the " +
                                llvm::Twine(getBitWidth(shape.elementType())) +
                                " bits of " + getName(shape.elementType()),
                            llvm::Twine(dump.storageBits));
  if (static_cast<int64_t>(buffer->size()) != dump.numBytes)
    return invalidError("dump_c1", "size of the file",
                        llvm::Twine(dump.numBytes) + " bytes of " +
                            shape.toString(),
                        llvm::Twine(buffer->size()) + " bytes");
  dump.buffer = buffer;
  return dump;
}

static std::string formatIndex(llvm::ArrayRef<int64_t> index) {
  return llvm::join(llvm::map_range(index, llvm::itostr), ",");
}

/// Element number `position` of a little-endian buffer of elements of `width`
/// bits. (The number of a bit fits in 64 bits: no buffer in memory has 2^60
/// bytes.)
static llvm::APInt readBits(llvm::StringRef buffer, int64_t position,
                            unsigned width) {
  llvm::APInt bits(width, 0);
  for (unsigned i = 0; i < width; ++i) {
    int64_t at = position * width + i;
    if (buffer[at / 8] >> (at % 8) & 1)
      bits.setBit(i);
  }
  return bits;
}

void BufferDump::printPosition(int64_t position, llvm::raw_ostream &os) const {
  auto index = axes.logicalIndex(position);
  os << (index ? formatIndex(*index) : "padding") << '\t' << position << '\t'
     << formatValue(shape.elementType(),
                    readBits(*buffer, position, storageBits))
     << '\n';
}

void BufferDump::print(llvm::raw_ostream &os, bool withPadding) const {
  if (withPadding) {
    for (int64_t position = 0; position < axes.numAllocated(); ++position)
      printPosition(position, os);
    return;
  }
  llvm::ArrayRef<int64_t> sizes = axes.dimensions();
  if (llvm::is_contained(sizes, 0))
    return;
  llvm::SmallVector<int64_t, 6> index(sizes.size(), 0);
  for (;;) {
    printPosition(axes.linearIndex(index), os);
    int64_t dim = sizes.size();
    while (dim-- > 0) {
      if (++index[dim] < sizes[dim])
        break;
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// The position that has bit `bit` of byte `offset`. In bits, positions may
/// need more than 64.
static int64_t getPosition(int64_t offset, int64_t bit, int64_t storageBits) {
  return (llvm::APInt(128, offset) * 8 + bit).udiv(storageBits).getSExtValue();
}

/// Bits from the beginning of byte `offset` to that of the element at
/// `position`.
static int64_t getDistance(int64_t offset, int64_t position,
                           int64_t storageBits) {
  llvm::APInt begin = llvm::APInt(128, position) * storageBits;
  return (begin - llvm::APInt(128, offset) * 8).getSExtValue();
}

void BufferDump::describeByte(int64_t offset, llvm::raw_ostream &os) const {
  int64_t first = getPosition(offset, 0, storageBits);
  int64_t last =
      std::min(getPosition(offset, 7, storageBits), axes.numAllocated() - 1);
  for (int64_t position = first; position <= last; ++position) {
    auto index = axes.logicalIndex(position);
    if (index)
      os << "element (" << formatIndex(*index) << ")";
    else
      os << "padding";
    os << " at position " << position;
    int64_t distance = getDistance(offset, position, storageBits);
    if (storageBits > 8)
      os << ", byte " << -llvm::divideFloorSigned(distance, 8) << " of "
         << storageBits / 8;
    else if (storageBits < 8)
      os << ", from bit " << distance;
    if (buffer)
      os << ": "
         << formatValue(shape.elementType(),
                        readBits(*buffer, position, storageBits));
    os << '\n';
  }
}
