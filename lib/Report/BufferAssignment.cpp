//===- BufferAssignment.cpp - Where the compiler put buffers --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text has a line for each allocation, and below it one for each value:
//
//   allocation 40: size 15429632, color 1, page 0, preallocated-temp:
//    value: <54 copy-start{0} @1> (size=3964928,offset=0): f32[700,1300]{...}
//
// A color is a memory space; no color is 0.
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/BufferAssignment.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using llvm::StringRef;

/// Takes `key` and a number that is not negative from the front of `text`.
static bool takeNumber(StringRef &text, StringRef key, int64_t &number) {
  return text.consume_front(key) && !text.consumeInteger(10, number) &&
         number >= 0;
}

/// `size 8, color 2, page 0, preallocated-temp:`.
static bool parseAllocation(StringRef text,
                            BufferAssignment::Allocation &allocation) {
  if (!takeNumber(text, "size ", allocation.bytes))
    return false;
  for (StringRef field : llvm::split(text.rtrim(':'), ',')) {
    field = field.trim();
    if (field == "preallocated-temp")
      allocation.isTemporary = true;
    else if (field.starts_with("color ") &&
             !takeNumber(field, "color ", allocation.space))
      return false;
  }
  return true;
}

/// `{1,0}`, `{}` or nothing.
static bool takeIndex(StringRef &text, llvm::SmallVectorImpl<int64_t> &index) {
  if (!text.consume_front("{") || text.consume_front("}"))
    return true;
  do
    if (!takeNumber(text, "", index.emplace_back()))
      return false;
  while (text.consume_front(","));
  return text.consume_front("}");
}

/// `<54 copy-start{0} @1> (size=3964928,offset=0): `. A value is a `(phi)`
/// where a loop or a branch chooses between others.
static bool parseValue(StringRef text, StringRef &instruction,
                       BufferAssignment::Place &place, int64_t &bytes) {
  int64_t number, color;
  if (!takeNumber(text, "<", number) || !text.consume_front(" "))
    return false;
  instruction = text.take_until([](char c) { return c == ' ' || c == '{'; });
  text = text.drop_front(instruction.size());
  if (!takeIndex(text, place.index))
    return false;
  text.consume_front(" (phi)");
  return takeNumber(text, " @", color) && takeNumber(text, "> (size=", bytes) &&
         takeNumber(text, ",offset=", place.offset) && text.starts_with(")");
}

static llvm::Error makeError(const llvm::Twine &expected, StringRef line) {
  constexpr size_t kMaxShown = 80;
  return invalidError("", "buffer assignment", expected,
                      "`" + line.take_front(kMaxShown) + "`",
                      "take the file as XLA dumps it");
}

llvm::Error BufferAssignment::addAllocation(StringRef line) {
  StringRef rest = line;
  int64_t number;
  Allocation allocation;
  if (!takeNumber(rest, "allocation ", number) || !rest.consume_front(": ") ||
      !parseAllocation(rest, allocation))
    return makeError("an allocation as `allocation 0: size 512`", line);
  AssignedBytes &sums = bySpace[allocation.space];
  if (llvm::AddOverflow(sums.all, allocation.bytes, sums.all))
    return makeError("less than 2^63 bytes in all", line);
  if (allocation.isTemporary) {
    allocation.base = sums.temporary;
    sums.temporary += allocation.bytes;
  }
  allocationList.push_back(allocation);
  return llvm::Error::success();
}

llvm::Error BufferAssignment::addValue(StringRef line) {
  StringRef rest = line, instruction;
  Place place;
  int64_t bytes, end;
  if (!rest.consume_front(" value: ") || allocationList.empty() ||
      !parseValue(rest, instruction, place, bytes))
    return makeError("a value in an allocation, as "
                     "` value: <54 copy-start{0} @1> (size=512,offset=0): `",
                     line);
  if (llvm::AddOverflow(place.offset, bytes, end) ||
      end > allocationList.back().bytes)
    return makeError("a value within its allocation", line);
  place.allocation = allocationList.size() - 1;
  places[instruction].push_back(std::move(place));
  return llvm::Error::success();
}

llvm::Expected<BufferAssignment> BufferAssignment::parse(StringRef text) {
  auto [title, rest] = text.split('\n');
  if (title.rtrim() != "BufferAssignment:")
    return makeError("`BufferAssignment:` in the first line", title);
  BufferAssignment result;
  for (StringRef line : llvm::split(rest, '\n')) {
    line = line.rtrim();
    bool isAllocation = line.starts_with("allocation ");
    // What follows is statistics, which older versions of XLA print.
    if (!isAllocation && !line.starts_with(" value:"))
      break;
    if (llvm::Error error =
            isAllocation ? result.addAllocation(line) : result.addValue(line))
      return std::move(error);
  }
  return result;
}

llvm::ArrayRef<BufferAssignment::Place>
BufferAssignment::getPlaces(StringRef instruction) const {
  auto found = places.find(instruction);
  if (found == places.end())
    return {};
  return found->second;
}
