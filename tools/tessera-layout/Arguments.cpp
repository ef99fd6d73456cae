//===- Arguments.cpp - Arguments that subcommands share -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "tessera/Layout/IndexUtil.h"
#include "tessera/Support/ToolSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;

llvm::Expected<llvm::SmallVector<int64_t, 6>>
tessera::parseNumbers(llvm::StringRef text, llvm::StringRef field) {
  llvm::SmallVector<int64_t, 6> numbers;
  if (text.trim().empty())
    return numbers;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    int64_t number;
    if (part.trim().getAsInteger(10, number))
      return invalidError("", field, "numbers as in `2,3`",
                          "`" + part + "` in `" + text + "`");
    numbers.push_back(number);
  }
  return numbers;
}

llvm::Expected<llvm::SmallVector<int64_t, 6>>
tessera::parseIndex(llvm::StringRef text, llvm::ArrayRef<int64_t> dimensions) {
  auto index = parseNumbers(text, "index");
  if (!index)
    return index.takeError();
  if (index->size() != dimensions.size())
    return invalidError("", "index",
                        llvm::Twine(dimensions.size()) + " numbers",
                        llvm::Twine(index->size()) + " in `" + text + "`");
  if (llvm::Error error = index_util::checkIndex(*index, dimensions))
    return std::move(error);
  return index;
}

llvm::Expected<int64_t> tessera::parsePosition(llvm::StringRef text,
                                               llvm::StringRef field,
                                               int64_t positions) {
  int64_t position;
  // Radix 0 takes `0x`; an octal reading of a leading 0 would surprise.
  llvm::StringRef digits = text.trim();
  bool isHex = digits.consume_front("0x");
  if (digits.getAsInteger(isHex ? 16 : 10, position) || position < 0 ||
      position >= positions)
    return invalidError("", field,
                        "a number from 0 to below " + llvm::Twine(positions) +
                            ", the size of the buffer",
                        "`" + text + "`");
  return position;
}

std::string tessera::formatIndex(llvm::ArrayRef<int64_t> index) {
  return llvm::join(
      llvm::map_range(index, [](int64_t i) { return std::to_string(i); }), ",");
}

std::optional<ArrayArgument> tessera::readArrayArgument(llvm::StringRef text) {
  std::optional<Shape> shape = readShapeArgument(text);
  if (!shape)
    return std::nullopt;
  llvm::Expected<AxisList> axes = AxisList::getStatic(*shape);
  if (!axes) {
    reportError(axes.takeError());
    return std::nullopt;
  }
  return ArrayArgument{std::move(*shape), std::move(*axes)};
}
