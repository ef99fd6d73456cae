//===- MachineProfile.cpp - What was measured on a machine ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/MachineProfile.h"

#include "tessera/Dialect/Tessera/IR/PassOptions.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/JSON.h"
#include "tessera/Support/ToolSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

using namespace tessera;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kSchema = "tessera.machine";
static constexpr int64_t kVersion = 1;
/// Blocks and prefetches of plans are far below this, in bytes or blocks.
static constexpr int64_t kMaxChoice = 1 << 20;

/// A number within its range. False where there is one that is not.
static bool readNumber(const json::Value &value, int64_t least, int64_t most,
                       int64_t &number, json::Path path) {
  std::optional<int64_t> read = value.getAsInteger();
  bool isValid = read && *read >= least && *read <= most;
  if (isValid)
    number = *read;
  else
    path.report("a value that is no number in the range");
  return isValid;
}

/// The fields of a value; null where it has none.
static const json::Object *getObject(const json::Value &value,
                                     json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object)
    path.report("a value that is no object");
  return object;
}

/// Refuses keys that are none, which are most often misspelled.
static bool checkKeys(const json::Object &object,
                      llvm::ArrayRef<llvm::StringRef> known, json::Path path) {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, llvm::StringRef(key))) {
      path.field(key).report("a key that is no field");
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static bool readCosts(const json::Value &value, ProcessorCosts &costs,
                      json::Path path) {
  const json::Object *object = getObject(value, path);
  if (!object)
    return false;
  llvm::SmallVector<llvm::StringRef> known;
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST)                                 \
  known.push_back(KEY);                                                        \
  if (const json::Value *number = object->get(KEY);                            \
      number &&                                                                \
      !readNumber(*number, LEAST, MOST, costs.FIELD, path.field(KEY)))         \
    return false;
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  return checkKeys(*object, known, path);
}

static json::Object toObject(const ProcessorCosts &costs) {
  json::Object object;
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST) object[KEY] = costs.FIELD;
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  return object;
}

//===----------------------------------------------------------------------===//
// Relayouts
//===----------------------------------------------------------------------===//

namespace {
/// Reads the choices of a plan from an object.
struct ChoiceReader {
  void operator()(llvm::StringRef key, std::optional<bool> &choice) {
    const json::Value *value = next(key);
    if (!value)
      return;
    choice = value->getAsBoolean();
    isValid = choice.has_value();
    if (!isValid)
      path.field(key).report("a value that is neither true nor false");
  }
  void operator()(llvm::StringRef key, std::optional<std::string> &choice) {
    const json::Value *value = next(key);
    if (!value)
      return;
    std::optional<llvm::StringRef> name = value->getAsString();
    isValid = name && isPlanKind(*name);
    if (isValid)
      choice = name->str();
    else
      path.field(key).report("a value that names no kind of plans");
  }
  void operator()(llvm::StringRef key, std::optional<int64_t> &choice) {
    const json::Value *value = next(key);
    // Blocks have bytes; nothing need be prefetched.
    if (value)
      isValid = readNumber(*value, key == "prefetch" ? 0 : 1, kMaxChoice,
                           choice.emplace(), path.field(key));
  }

  const json::Object &object;
  json::Path path;
  llvm::SmallVector<llvm::StringRef> known = {};
  bool isValid = true;

private:
  const json::Value *next(llvm::StringRef key) {
    known.push_back(key);
    return isValid ? object.get(key) : nullptr;
  }
};
} // namespace

namespace tessera {
static bool fromJSON(const json::Value &value, RelayoutTuning &tuning,
                     json::Path path) {
  const json::Object *object = getObject(value, path);
  if (!object)
    return false;
  ChoiceReader reader{*object, path};
  RelayoutTuning::visit(
      tuning, [&](llvm::StringRef key, auto &choice) { reader(key, choice); });
  return reader.isValid && checkKeys(*object, reader.known, path);
}

static bool fromJSON(const json::Value &value, BufferState &state,
                     json::Path path) {
  std::optional<llvm::StringRef> name = value.getAsString();
  std::optional<BufferState> known =
      name ? parseBufferState(*name) : std::nullopt;
  if (known)
    state = *known;
  else
    path.report("a value that is none of unknown, hot and cold");
  return known.has_value();
}

static bool fromJSON(const json::Value &value, TunedRelayout &relayout,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("source", relayout.source) &&
         map.map("destination", relayout.destination) &&
         map.map("threads", relayout.threads) &&
         map.mapOptional("buffers", relayout.buffers) &&
         map.map("plan", relayout.tuning) &&
         checkKeys(*value.getAsObject(),
                   {"source", "destination", "threads", "buffers", "plan"},
                   path) &&
         readNumber(*value.getAsObject()->get("threads"), 1, kMaxThreads,
                    relayout.threads, path.field("threads"));
}

static bool fromJSON(const json::Value &value, MachineProfile &profile,
                     json::Path path) {
  std::string schema;
  int64_t version = 0;
  json::ObjectMapper map(value, path);
  if (!map || !map.map("schema", schema) || !map.map("version", version) ||
      !map.map("cpu", profile.cpu))
    return false;
  if (schema != kSchema || version != kVersion) {
    path.field("schema").report("another than tessera.machine, version 1");
    return false;
  }
  const json::Object &object = *value.getAsObject();
  profile.costs = ProcessorCosts::get(profile.cpu);
  if (const json::Value *costs = object.get("costs");
      costs && !readCosts(*costs, profile.costs, path.field("costs")))
    return false;
  return map.mapOptional("relayouts", profile.relayouts) &&
         checkKeys(object, {"schema", "version", "cpu", "costs", "relayouts"},
                   path);
}

static json::Value toJSON(const TunedRelayout &relayout) {
  json::Object plan;
  RelayoutTuning::visit(relayout.tuning,
                        [&](llvm::StringRef key, const auto &choice) {
                          if (choice)
                            plan[key] = *choice;
                        });
  return json::Object{{"source", relayout.source},
                      {"destination", relayout.destination},
                      {"threads", relayout.threads},
                      {"buffers", getName(relayout.buffers)},
                      {"plan", std::move(plan)}};
}
} // namespace tessera

//===----------------------------------------------------------------------===//
// MachineProfile
//===----------------------------------------------------------------------===//

MachineProfile MachineProfile::getHost() {
  std::string cpu = llvm::sys::getHostCPUName().str();
  ProcessorCosts costs = ProcessorCosts::get(cpu);
  return {std::move(cpu), costs, {}};
}

llvm::Expected<MachineProfile> MachineProfile::parse(llvm::StringRef text) {
  auto makeError = [](llvm::Error error) {
    return invalidError("", "file of a machine",
                        "what tessera-compile calibrate writes, with "
                        "numbers in the ranges of ProcessorCosts.def",
                        llvm::toString(std::move(error)),
                        "calibrate again, or mend the field");
  };
  llvm::Expected<json::Value> value = parseJSON(text);
  if (!value)
    return makeError(value.takeError());
  MachineProfile profile;
  json::Path::Root root("machine");
  if (!fromJSON(*value, profile, root))
    return makeError(root.getError());
  return profile;
}

llvm::Expected<MachineProfile> MachineProfile::read(llvm::StringRef path) {
  auto file = readInput(path);
  if (!file)
    return file.takeError();
  llvm::Expected<MachineProfile> profile = parse((*file)->getBuffer());
  if (profile)
    return profile;
  Diagnostic diagnostic = takeDiagnostic(profile.takeError());
  diagnostic.remedy += " in `" + path.str() + "`";
  return llvm::make_error<LayoutError>(std::move(diagnostic));
}

std::string MachineProfile::toJSON() const {
  json::Object object{{"schema", kSchema},
                      {"version", kVersion},
                      {"cpu", cpu},
                      {"costs", toObject(costs)},
                      {"relayouts", relayouts}};
  return llvm::formatv("{0:2}\n", json::Value(std::move(object)));
}

llvm::Error MachineProfile::checkProcessor(llvm::StringRef name) const {
  if (cpu == name)
    return llvm::Error::success();
  return invalidError("", "file of a machine",
                      "measurements of `" + name + "`, which code is for",
                      "those of `" + cpu + "`",
                      "name that processor, or another file");
}

std::string MachineProfile::getText(ArrayPart part) {
  Layout layout = part.shape.layoutOrDefault();
  layout.memorySpace = 0;
  part.shape.setLayout(std::move(layout));
  return part.toString();
}

const TunedRelayout *MachineProfile::find(llvm::StringRef source,
                                          llvm::StringRef destination,
                                          int64_t threads,
                                          BufferState buffers) const {
  auto it = llvm::find_if(relayouts, [&](const TunedRelayout &entry) {
    return entry.source == source && entry.destination == destination &&
           entry.threads == threads && entry.buffers == buffers;
  });
  return it == relayouts.end() ? nullptr : &*it;
}

const TunedRelayout *MachineProfile::find(const ArrayPart &source,
                                          const ArrayPart &destination,
                                          int64_t threads,
                                          BufferState buffers) const {
  if (relayouts.empty())
    return nullptr;
  return find(getText(source), getText(destination), threads, buffers);
}

void MachineProfile::add(TunedRelayout relayout) {
  llvm::erase_if(relayouts, [&](const TunedRelayout &entry) {
    return entry.source == relayout.source &&
           entry.destination == relayout.destination &&
           entry.threads == relayout.threads &&
           entry.buffers == relayout.buffers;
  });
  relayouts.push_back(std::move(relayout));
}
