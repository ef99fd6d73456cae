//===- OutOfMemoryLog.cpp - Reading what XLA says of lack of memory -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Logs come with prefixes on each line, as one line, with `\n` for line ends,
// or cut anywhere, so the text is not read line by line. Fields of allocations
// are found by their keys (`Size:`, `Shape:`) and sentences by their words,
// with any white space between them.
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Text.h"
#include "tessera/Report/OutOfMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <set>
#include <tuple>

using namespace tessera;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool PrintedSize::matches(int64_t exact) const {
  return exact >= bytes - tolerance && exact - tolerance <= bytes;
}

static bool isNumberCharacter(char c) { return llvm::isDigit(c) || c == '.'; }

/// The power of 1024 that a unit stands for.
static std::optional<int> takeUnit(StringRef &text) {
  size_t unit = StringRef("KMGTPE").find(text.empty() ? '\0' : text.front());
  if (unit != StringRef::npos) {
    text = text.drop_front();
    text.consume_front("i");
    text.consume_front("B");
    return unit + 1;
  }
  if (text.consume_front("B") || text.ltrim().starts_with("bytes"))
    return 0;
  return std::nullopt;
}

/// `4.00G`, `64.0K`, `0B`, `6.00MiB`, `6291456 bytes` at the beginning of
/// `text`, which is moved behind it; `text` stays where there is none.
static std::optional<PrintedSize> takeSize(StringRef &text) {
  StringRef rest = text;
  StringRef digits = rest.take_while(isNumberCharacter);
  rest = rest.drop_front(digits.size());
  double number;
  if (digits.empty() || digits.getAsDouble(number))
    return std::nullopt;
  std::optional<int> unit = takeUnit(rest);
  if (!unit)
    return std::nullopt;
  double scale = std::pow(1024., *unit);
  double bytes = number * scale;
  if (bytes >= 9.2e18)
    return std::nullopt;
  // Half of the last decimal.
  double step =
      std::pow(10., -static_cast<double>(digits.split('.').second.size()));
  PrintedSize size;
  size.bytes = std::llround(bytes);
  size.tolerance = *unit == 0 ? 0 : std::llround(std::ceil(step * scale / 2));
  text = rest;
  return size;
}

static std::optional<PrintedSize> getSize(StringRef text) {
  text = text.ltrim();
  return takeSize(text);
}

//===----------------------------------------------------------------------===//
// Sentences
//===----------------------------------------------------------------------===//

namespace {
/// A sentence as it may stand in a log. Blanks match any blanks; in it,
/// `{needed}`, `{available}` and `{excess}` are sizes, `{space}` a word,
/// `{instruction}` all up to the word that follows.
struct Sentence {
  Shortage::Kind kind;
  StringRef form;
};
} // namespace

static constexpr Shortage::Kind kProgram = Shortage::Kind::Program;
static constexpr Shortage::Kind kScoped = Shortage::Kind::Scoped;
static constexpr Shortage::Kind kLoad = Shortage::Kind::Load;
static constexpr Shortage::Kind kAllocation = Shortage::Kind::Allocation;

/// A sentence comes before those that are a prefix of it.
static constexpr Sentence kSentences[] = {
    {kScoped, "Ran out of memory in memory space {space} while allocating on "
              "stack for {instruction} Scoped allocation with size {needed} "
              "and limit {available} exceeded scoped {space} limit by "
              "{excess}"},
    {kScoped, "Ran out of memory in memory space {space} while allocating on "
              "stack for"},
    {kScoped, "Scoped allocation with size {needed} and limit {available} "
              "exceeded scoped {space} limit by {excess}"},
    {kProgram, "Ran out of memory in memory space {space} Used {needed} of "
               "{available} {space} Exceeded {space} capacity by {excess}"},
    {kProgram, "Ran out of memory in memory space {space} Used {needed} of "
               "{available}"},
    {kProgram, "Ran out of memory in memory space {space}"},
    {kProgram, "Ran out of memory on {space} the total memory required for HLO "
               "temporaries ({needed}) exceeds available {space} "
               "({available})"},
    {kProgram, "unlikely to have enough memory. Requires {needed} has "
               "{available}"},
    {kLoad, "Attempting to reserve {needed} at the bottom of memory. That was "
            "not possible. There are {available}"},
    {kAllocation, "Attempting to allocate {needed} That was not possible. "
                  "There are {available}"},
    {kAllocation, "Out of memory while trying to allocate {needed}"},
    {kAllocation, "Out of memory allocating {needed}"},
    {kAllocation, "Failed to allocate request for {needed}"},
    {kAllocation, "ran out of memory trying to allocate {needed}"},
    {kProgram, "Total {space} usage >= {needed}"},
    {kProgram, "Program {space} requirement {needed}"},
};

/// Blanks, ends of sentences, and `\n` in a text that was quoted.
static StringRef skipBlanks(StringRef text) {
  for (;;) {
    StringRef rest = text.ltrim(" \t\r\n.,;:");
    if (rest.starts_with("\\n"))
      rest = rest.drop_front(2);
    if (rest.size() == text.size())
      return rest;
    text = rest;
  }
}

static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// A name of a space: `hbm` of `HBM`. Takes it from the text.
static std::string takeSpace(StringRef &text) {
  StringRef word = text.take_while(isWordCharacter);
  text = text.drop_front(word.size());
  return word.lower();
}

/// Where an instruction ends: at the words that follow it. Longer ones than
/// this are no instructions of logs.
static constexpr size_t kMaxInstruction = 1 << 13;

static bool takeInstruction(StringRef &text, StringRef following,
                            std::string &instruction) {
  size_t end = text.take_front(kMaxInstruction).find(following);
  if (end == StringRef::npos)
    return false;
  instruction = skipBlanks(text.take_front(end)).rtrim(" \t\r\n.").str();
  text = text.drop_front(end);
  return true;
}

/// Takes one `{field}` from the text; whether it is there.
static bool takeField(StringRef field, StringRef following, StringRef &text,
                      Shortage &into) {
  if (field == "space") {
    into.space = takeSpace(text);
    return !into.space.empty();
  }
  if (field == "instruction")
    return takeInstruction(text, following, into.instruction);
  std::optional<PrintedSize> size = takeSize(text);
  if (field == "needed")
    into.needed = size;
  else if (field == "available")
    into.available = size;
  else
    into.excess = size;
  return size.has_value();
}

/// The sentence at the beginning of `text`, if it is there.
static std::optional<Shortage> matchSentence(const Sentence &sentence,
                                             StringRef text) {
  Shortage result;
  result.kind = sentence.kind;
  StringRef form = sentence.form;
  while (!form.empty()) {
    if (form.consume_front("{")) {
      auto [field, rest] = form.split('}');
      form = rest;
      StringRef following =
          form.ltrim().take_until([](char c) { return c == '{' || c == ' '; });
      if (!takeField(field, following, text, result))
        return std::nullopt;
    } else if (form.front() == ' ') {
      form = form.ltrim();
      text = skipBlanks(text);
    } else {
      // Blanks may stand for a full stop, thus none is asked for.
      StringRef word =
          form.take_until([](char c) { return c == '{' || c == ' '; });
      form = form.drop_front(word.size());
      if (!text.consume_front(word.rtrim('.')))
        return std::nullopt;
    }
  }
  return result;
}

/// What makes two sentences say the same.
static auto getFacts(const Shortage &shortage) {
  auto bytes = [](const std::optional<PrintedSize> &size) {
    return size ? size->bytes : -1;
  };
  return std::tuple(shortage.kind, shortage.space, bytes(shortage.needed),
                    bytes(shortage.available));
}

/// The sentence at the beginning of `text`, whichever it is.
static std::optional<Shortage> matchAnySentence(StringRef text) {
  for (const Sentence &sentence : kSentences)
    if (text.starts_with(sentence.form.take_until(llvm::isSpace)))
      if (std::optional<Shortage> match = matchSentence(sentence, text))
        return match;
  return std::nullopt;
}

/// The sentences of a text, each once, in their order.
static std::vector<Shortage> findShortages(StringRef text) {
  std::vector<Shortage> result;
  std::set<decltype(getFacts(Shortage()))> seen;
  bool isInWord = false;
  for (size_t i = 0; i < text.size(); ++i) {
    // Sentences begin with words, and a quoted text has `\n` in front of some.
    bool isBegin = !isInWord || text.take_front(i).ends_with("\\n");
    isInWord = isWordCharacter(text[i]);
    if (!isInWord || !isBegin)
      continue;
    std::optional<Shortage> match = matchAnySentence(text.drop_front(i));
    if (match && seen.insert(getFacts(*match)).second)
      result.push_back(std::move(*match));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Lists of allocations
//===----------------------------------------------------------------------===//

namespace {
enum class Key : uint8_t {
  Section,
  Size,
  Operator,
  Shape,
  Parameter,
  Unpadded,
  Padding,
  Label,
  Type,
  None
};

/// A field in the text: its key, as it is written too, and what stands between
/// this key and the next.
struct Field {
  Key key;
  StringRef name;
  StringRef value;
};
} // namespace

static constexpr std::pair<StringRef, Key> kKeys[] = {
    {"program allocations in hbm:", Key::Section},
    {"program allocations in vmem:", Key::Section},
    {"program allocations in smem:", Key::Section},
    {"program allocations in cmem:", Key::Section},
    {"program allocations in sflag:", Key::Section},
    {"Peak buffers:", Key::Section},
    {"Unpadded size:", Key::Unpadded},
    {"Extra memory due to padding:", Key::Padding},
    {"Entry Parameter Subshape:", Key::Parameter},
    {"Allocation type:", Key::Type},
    {"XLA label:", Key::Label},
    {"XLA Label:", Key::Label},
    {"Operator:", Key::Operator},
    {"Shape:", Key::Shape},
    {"Size:", Key::Size},
};

/// The key that ends at `colon`, which is one of the text, and where it begins.
static std::pair<Key, size_t> findKey(StringRef text, size_t colon) {
  StringRef before = text.take_front(colon + 1);
  for (const auto &[word, key] : kKeys) {
    if (!before.ends_with(word))
      continue;
    size_t start = before.size() - word.size();
    // `Subshape:` is not `Shape:`; in a quoted text `\n` may stand in front.
    StringRef front = before.take_front(start);
    if (front.empty() || llvm::isSpace(front.back()) ||
        front.ends_with("\\n") || front.ends_with("\\t"))
      return {key, start};
  }
  return {Key::None, 0};
}

static std::vector<Field> findFields(StringRef text) {
  std::vector<Field> fields;
  auto endValue = [&](const char *end) {
    if (!fields.empty())
      fields.back().value =
          StringRef(fields.back().name.end(), end - fields.back().name.end());
  };
  for (size_t colon = text.find(':'); colon != StringRef::npos;
       colon = text.find(':', colon + 1)) {
    auto [key, start] = findKey(text, colon);
    if (key == Key::None)
      continue;
    endValue(text.begin() + start);
    fields.push_back({key, text.slice(start, colon + 1), ""});
  }
  endValue(text.end());
  return fields;
}

/// What stands in quotes behind `name=`, or what stands there as a word.
static StringRef getAttribute(StringRef text, StringRef name) {
  size_t start = text.find(name);
  if (start == StringRef::npos)
    return "";
  text = text.drop_front(start + name.size());
  text.consume_front("\\");
  if (text.consume_front("\""))
    return text.take_until([](char c) { return c == '"'; }).rtrim('\\');
  return text.take_while(isWordCharacter);
}

/// Of a field that is one line: without the end of the line and what the log
/// puts in front of the next one.
static StringRef getLine(StringRef value) {
  value = value.take_until([](char c) { return c == '\n'; });
  value = value.take_front(value.find("\\n ")).trim();
  value.consume_back("\\n");
  return value;
}

/// A line of `=` ends an entry, also for fields of several lines.
static StringRef getEntry(StringRef value) {
  value = value.take_front(value.find("=====")).trim();
  return value.take_front(value.find("\n\n"));
}

namespace {
/// Makes allocations of fields. A `Size:` begins one; those of one list are
/// kept apart until its end, where a list that was there already is dropped.
class ListReader {
public:
  void read(const Field &field);
  std::vector<LoggedAllocation> take();

private:
  void readSource(StringRef text);
  void readShape(StringRef text);
  void endList();

  std::string space;
  std::vector<LoggedAllocation> list;
  std::vector<LoggedAllocation> all;
  /// The texts of the lists that were read.
  std::set<std::string> seen;
  std::string current;
};
} // namespace

void ListReader::readSource(StringRef text) {
  LoggedAllocation &entry = list.back();
  if (entry.origin.empty())
    entry.origin = getAttribute(text, "op_name=").str();
  if (entry.file.empty())
    entry.file = getAttribute(text, "source_file=").str();
  int64_t line;
  if (entry.line == 0 &&
      !getAttribute(text, "source_line=").getAsInteger(10, line))
    entry.line = line;
}

void ListReader::readShape(StringRef text) {
  LoggedAllocation &entry = list.back();
  entry.shapeText = getLine(text).str();
  size_t end = 0;
  ParseShapeOptions options;
  options.fillDefaultLayouts = false;
  llvm::Expected<Shape> shape = parseShapePrefix(entry.shapeText, end, options);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return;
  }
  entry.shape = std::move(*shape);
  entry.shapeText.resize(end);
}

void ListReader::endList() {
  if (seen.insert(current).second)
    llvm::append_range(all, list);
  current.clear();
  list.clear();
}

void ListReader::read(const Field &field) {
  if (field.key == Key::Section) {
    endList();
    space = field.name.drop_back().rsplit(" in ").second.str();
    return;
  }
  if (field.key == Key::Size) {
    if (std::optional<PrintedSize> size = ::getSize(field.value)) {
      list.emplace_back();
      list.back().size = *size;
      list.back().space = space;
    }
  }
  if (list.empty())
    return;
  current += getLine(field.value);
  current += '\n';
  LoggedAllocation &entry = list.back();
  switch (field.key) {
  case Key::Operator:
    return readSource(getEntry(field.value));
  case Key::Shape:
    return readShape(field.value);
  case Key::Parameter:
    entry.type = "parameter";
    return readShape(field.value);
  case Key::Padding:
    entry.padding = ::getSize(field.value);
    return;
  case Key::Label:
    entry.label = getLine(getEntry(field.value)).str();
    return readSource(getEntry(field.value));
  case Key::Type:
    entry.type = getLine(getEntry(field.value)).str();
    return;
  case Key::Section:
  case Key::Size:
  case Key::Unpadded:
  case Key::None:
    return;
  }
}

std::vector<LoggedAllocation> ListReader::take() {
  endList();
  return std::move(all);
}

llvm::Expected<OutOfMemoryLog> tessera::parseOutOfMemoryLog(StringRef text) {
  OutOfMemoryLog log;
  log.shortages = findShortages(text);
  ListReader reader;
  for (const Field &field : findFields(text))
    reader.read(field);
  log.allocations = reader.take();
  if (log.shortages.empty() && log.allocations.empty())
    return invalidError("", "log",
                        "a text in which XLA says that memory ran out, such as "
                        "`Ran out of memory in memory space hbm`",
                        "none in " + llvm::Twine(text.size()) + " bytes");
  return log;
}
