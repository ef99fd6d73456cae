//===- Literals.cpp - Constants of protocol buffers -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "tessera/HLO/Literal.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

using namespace tessera;
using Components = std::vector<uint64_t>;

/// Empty braces that an array without elements may have.
static constexpr int64_t kMaxEmpty = int64_t(1) << 20;

//===----------------------------------------------------------------------===//
// Elements as they are kept
//===----------------------------------------------------------------------===//

template <typename Range> static Components toBits(const Range &numbers) {
  Components bits;
  bits.reserve(static_cast<size_t>(numbers.size()));
  for (auto number : numbers)
    if constexpr (std::is_same_v<decltype(number), float>)
      bits.push_back(llvm::bit_cast<uint32_t>(number));
    else if constexpr (std::is_same_v<decltype(number), double>)
      bits.push_back(llvm::bit_cast<uint64_t>(number));
    else if constexpr (sizeof(number) == 4)
      bits.push_back(static_cast<uint32_t>(number));
    else
      bits.push_back(static_cast<uint64_t>(number));
  return bits;
}

/// Elements of two bytes, of one, or in the low bits of one.
static Components unpack(llvm::StringRef bytes, PrimitiveType type) {
  auto width = static_cast<unsigned>(getBitWidth(type));
  Components bits;
  if (width == 16)
    for (; bytes.size() >= 2; bytes = bytes.drop_front(2))
      bits.push_back(llvm::support::endian::read16le(bytes.data()));
  else
    for (uint8_t byte : bytes.bytes())
      bits.push_back(byte & llvm::maskTrailingOnes<uint64_t>(width));
  return bits;
}

/// The field that holds bytes of elements of this type.
static llvm::StringRef getBytes(const pb::Literal &literal,
                                PrimitiveType type) {
  switch (type) {
  case PrimitiveType::S1:
    return literal.s1s();
  case PrimitiveType::S2:
    return literal.s2s();
  case PrimitiveType::S4:
    return literal.s4s();
  case PrimitiveType::S8:
    return literal.s8s();
  case PrimitiveType::S16:
    return literal.s16s();
  case PrimitiveType::U1:
    return literal.u1s();
  case PrimitiveType::U2:
    return literal.u2s();
  case PrimitiveType::U4:
    return literal.u4s();
  case PrimitiveType::U8:
    return literal.u8s();
  case PrimitiveType::U16:
    return literal.u16s();
  case PrimitiveType::F16:
    return literal.f16s();
  case PrimitiveType::BF16:
    return literal.bf16s();
  case PrimitiveType::F8E5M2:
    return literal.f8e5m2s();
  case PrimitiveType::F8E4M3:
    return literal.f8e4m3s();
  case PrimitiveType::F8E4M3FN:
    return literal.f8e4m3fns();
  case PrimitiveType::F8E4M3B11FNUZ:
    return literal.f8e4m3b11fnuzs();
  case PrimitiveType::F8E3M4:
    return literal.f8e3m4s();
  case PrimitiveType::F8E5M2FNUZ:
    return literal.f8e5m2fnuzs();
  case PrimitiveType::F8E4M3FNUZ:
    return literal.f8e4m3fnuzs();
  case PrimitiveType::F8E8M0FNU:
    return literal.f8e8m0fnus();
  case PrimitiveType::F4E2M1FN:
    return literal.f4e2m1fns();
  default:
    return {};
  }
}

/// In the order of memory.
static Components getComponents(const pb::Literal &literal,
                                PrimitiveType type) {
  switch (type) {
  case PrimitiveType::Pred:
    return toBits(literal.preds());
  case PrimitiveType::S32:
    return toBits(literal.s32s());
  case PrimitiveType::S64:
    return toBits(literal.s64s());
  case PrimitiveType::U32:
    return toBits(literal.u32s());
  case PrimitiveType::U64:
    return toBits(literal.u64s());
  case PrimitiveType::F32:
    return toBits(literal.f32s());
  case PrimitiveType::F64:
    return toBits(literal.f64s());
  case PrimitiveType::C64:
    return toBits(literal.c64s());
  case PrimitiveType::C128:
    return toBits(literal.c128s());
  default:
    return unpack(getBytes(literal, type), type);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Positions in memory that neighbours in each dimension are apart.
static llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> sizes,
                                             llvm::ArrayRef<int64_t> order) {
  llvm::SmallVector<int64_t> strides(sizes.size(), 1);
  int64_t stride = 1;
  for (int64_t dim : order) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strides;
}

/// From the order of memory, minor to major, to row-major.
static Components sortRowMajor(const Components &memory,
                               llvm::ArrayRef<int64_t> sizes,
                               llvm::ArrayRef<int64_t> order, unsigned parts) {
  llvm::SmallVector<int64_t> strides = getStrides(sizes, order);
  llvm::SmallVector<int64_t> index(sizes.size(), 0);
  Components sorted;
  sorted.reserve(memory.size());
  while (sorted.size() < memory.size()) {
    int64_t position = 0;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      position += i * stride;
    for (unsigned part = 0; part < parts; ++part)
      sorted.push_back(memory[position * parts + part]);
    for (size_t dim = sizes.size(); dim-- > 0;) {
      if (++index[dim] < sizes[dim])
        break;
      index[dim] = 0;
    }
  }
  return sorted;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// How many empty braces an array without elements is printed as.
static bool hasFewBraces(llvm::ArrayRef<int64_t> sizes) {
  auto outer = sizes.take_until([](int64_t size) { return size == 0; });
  std::optional<int64_t> count = countElements(outer);
  return count && *count <= kMaxEmpty;
}

/// The order of memory that the literal's own shape says, minor to major; that
/// of rows where it says none.
static llvm::SmallVector<int64_t> getOrder(const pb::Literal &literal,
                                           int64_t rank) {
  tessera::Layout layout;
  llvm::append_range(layout.minorToMajor,
                     literal.shape().layout().minor_to_major());
  llvm::Error error = layout.verify();
  if (error || layout.rank() != rank)
    layout = tessera::Layout::descending(rank);
  llvm::consumeError(std::move(error));
  return llvm::SmallVector<int64_t>(layout.minorToMajor);
}

/// *Invalid* where the elements are not as many as the shape has.
static void printArray(const pb::Literal &literal, const tessera::Shape &shape,
                       llvm::raw_ostream &os, pb::ErrorLog &log) {
  llvm::ArrayRef<int64_t> sizes = shape.dimensions();
  unsigned parts = isComplex(shape.elementType()) ? 2 : 1;
  std::optional<int64_t> count = countElements(sizes);
  if (!shape.isStaticArray() || !count || *count > INT32_MAX ||
      llvm::any_of(sizes, [](int64_t size) { return size < 0; }) ||
      (*count == 0 && !hasFewBraces(sizes)))
    return log.report(unsupportedError("constant", "an array of static sizes",
                                       shape.toString()));
  hlo::Literal result;
  result.components = getComponents(literal, shape.elementType());
  if (result.components.empty() && *count > 0 && shape.rank() > 0) {
    // Dumps may leave large constants out.
    result.elided = true;
    return hlo::printLiteral(result, shape, os);
  }
  if (result.components.size() != static_cast<size_t>(*count) * parts)
    return log.report(
        invalidError("", "constant",
                     llvm::Twine(*count) + " elements of " + shape.toString(),
                     llvm::Twine(result.components.size() / parts)));
  if (*count > 1)
    result.components = sortRowMajor(result.components, sizes,
                                     getOrder(literal, shape.rank()), parts);
  hlo::printLiteral(result, shape, os);
}

void pb::printConstant(const Literal &literal, const tessera::Shape &shape,
                       llvm::raw_ostream &os, ErrorLog &log) {
  if (shape.isArray())
    return printArray(literal, shape, os, log);
  if (!shape.isTuple() ||
      shape.elements().size() != static_cast<size_t>(literal.elements_size()))
    return log.report(
        unsupportedError("constant", "arrays and tuples", shape.toString()));
  os << '(';
  for (auto [i, element] : llvm::enumerate(shape.elements())) {
    os << (i == 0 ? "" : ", ");
    printConstant(literal.elements(static_cast<int>(i)), element, os, log);
  }
  os << ')';
}
