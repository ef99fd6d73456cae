//===- TargetText.cpp - Targets that users describe -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/JSON.h"
#include "tessera/Layout/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

static llvm::Error makeError(const Twine &field, const Twine &expected,
                             const Twine &found) {
  return invalidError("", field + " of a target", expected, found);
}

static std::string toText(const json::Value *value) {
  if (!value)
    return "none";
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  return text;
}

namespace tessera {
/// Reads the fields of a target; the first error ends it.
class TargetReader {
public:
  llvm::Error read(const json::Value &value, OwnTarget &target);

private:
  llvm::Error readSpace(const json::Value &value, OwnTarget &target);
};
} // namespace tessera

/// Refuses fields that are none, which are most often misspelled.
static llvm::Error checkFields(const json::Object &object,
                               llvm::ArrayRef<StringRef> known) {
  for (const auto &[name, value] : object)
    if (!llvm::is_contained(known, StringRef(name)))
      return makeError("field", "one of " + llvm::join(known, ", "),
                       "\"" + StringRef(name) + "\"");
  return llvm::Error::success();
}

/// A number from `low` to `high`; `low` where there is none.
static llvm::Expected<int64_t> readNumber(const json::Object &object,
                                          StringRef field, int64_t low,
                                          int64_t high) {
  const json::Value *value = object.get(field);
  if (!value)
    return low;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= low && *number <= high)
    return *number;
  return makeError(field, Twine(low) + " to " + Twine(high), toText(value));
}

static llvm::Expected<std::string> readName(const json::Object &object) {
  std::optional<StringRef> name = object.getString("name");
  if (name && !name->empty())
    return name->str();
  return makeError("name", "a text", toText(object.get("name")));
}

llvm::Error TargetReader::readSpace(const json::Value &value,
                                    OwnTarget &target) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return makeError("space", "an object", toText(&value));
  if (llvm::Error error = checkFields(*object, {"number", "name", "capacity",
                                                "alignment", "address_space"}))
    return error;
  llvm::Expected<std::string> name = readName(*object);
  if (!name)
    return name.takeError();
  // Numbers increase, 0 first.
  bool isFirst = target.spaces.empty();
  int64_t least = isFirst ? 0 : target.spaces.back().number + 1;
  if (!object->get("number"))
    return makeError("number", "a number", "none");
  auto number = readNumber(*object, "number", least, isFirst ? 0 : 127);
  if (!number)
    return number.takeError();
  auto capacity = readNumber(*object, "capacity", 0, INT64_MAX);
  if (!capacity)
    return capacity.takeError();
  auto alignment = readNumber(*object, "alignment", 1, INT64_MAX);
  if (!alignment)
    return alignment.takeError();
  if (!llvm::isPowerOf2_64(*alignment))
    return makeError("alignment", "a power of two", Twine(*alignment));
  auto address = readNumber(*object, "address_space", 0, INT32_MAX);
  if (!address)
    return address.takeError();
  target.spaceNames.push_back(std::move(*name));
  target.spaces.push_back(
      {*number, target.spaceNames.back(), *capacity, *alignment, *address});
  return llvm::Error::success();
}

llvm::Error TargetReader::read(const json::Value &value, OwnTarget &target) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return makeError("description", "an object", toText(&value));
  if (llvm::Error error =
          checkFields(*object, {"name", "layout_rule", "spaces"}))
    return error;
  llvm::Expected<std::string> name = readName(*object);
  if (!name)
    return name.takeError();
  target.name = std::move(*name);
  std::optional<LayoutRule> rule =
      parseLayoutRule(object->getString("layout_rule").value_or(StringRef()));
  if (!rule)
    return makeError("layout_rule", "row_major, tpu or tpu_v2",
                     toText(object->get("layout_rule")));
  target.layoutRule = *rule;
  const json::Array *spaces = object->getArray("spaces");
  if (!spaces || spaces->empty())
    return makeError("spaces", "a list, the space 0 first",
                     toText(object->get("spaces")));
  for (const json::Value &space : *spaces)
    if (llvm::Error error = readSpace(space, target))
      return error;
  return llvm::Error::success();
}

llvm::Expected<OwnTarget> OwnTarget::parse(StringRef text) {
  llvm::Expected<json::Value> value = parseJSON(text);
  if (!value)
    return makeError("description", "JSON", llvm::toString(value.takeError()));
  OwnTarget target;
  if (llvm::Error error = TargetReader().read(*value, target))
    return std::move(error);
  return std::move(target);
}
