//===- Limit.cpp - Conditions on reports, for CI --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Limit.h"

#include "Format.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace tessera;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace tessera {
/// Functions return false after an error.
class LimitParser {
public:
  explicit LimitParser(StringRef text) : text(text), rest(text.ltrim()) {}

  llvm::Expected<Limit> parse();

private:
  bool parseQuantity();
  bool parseSpace();
  bool parseComparison();
  bool parseAmount();
  bool checkMeaning();
  bool fail(StringRef expected, StringRef remedy = "");

  StringRef text;
  StringRef rest;
  Limit limit;
  Diagnostic error;
};
} // namespace tessera

bool LimitParser::fail(StringRef expected, StringRef remedy) {
  error.field = "limit";
  error.expected = expected.str();
  error.found = rest.empty() ? "the end" : ("`" + rest + "`").str();
  error.remedy = remedy.str();
  error.position = rest.data() - text.data();
  return false;
}

bool LimitParser::parseQuantity() {
  using Quantity = Limit::Quantity;
  StringRef word = rest.take_while(llvm::isAlpha);
  std::optional<Quantity> quantity =
      llvm::StringSwitch<std::optional<Quantity>>(word)
          .Case("arguments", Quantity::Arguments)
          .Case("outputs", Quantity::Outputs)
          .Case("buffers", Quantity::Buffers)
          .Case("padding", Quantity::Padding)
          .Case("relayouts", Quantity::Relayouts)
          .Case("async", Quantity::Async)
          .Case("peak", Quantity::Peak)
          .Case("program", Quantity::Program)
          .Default(std::nullopt);
  if (!quantity)
    return fail("arguments, outputs, buffers, padding, relayouts, async, peak "
                "or program, as in `padding>5%`");
  limit.quantity = *quantity;
  rest = rest.drop_front(word.size()).ltrim();
  return true;
}

/// Sums of the whole module have no space.
bool LimitParser::parseSpace() {
  StringRef begin = rest;
  if (!rest.consume_front("("))
    return true;
  bool hasSpaces = limit.quantity == Limit::Quantity::Buffers ||
                   limit.quantity == Limit::Quantity::Padding ||
                   limit.quantity == Limit::Quantity::Peak;
  if (!hasSpaces) {
    rest = begin;
    return fail("no memory space: buffers, padding and peak have one");
  }
  StringRef digits = rest.take_while(llvm::isDigit);
  int64_t number;
  if (digits.getAsInteger(10, number))
    return fail("the number of a memory space");
  limit.space = number;
  rest = rest.drop_front(digits.size());
  if (!rest.consume_front(")"))
    return fail("`)`");
  rest = rest.ltrim();
  return true;
}

bool LimitParser::parseComparison() {
  if (!rest.consume_front(">"))
    return fail("`>` or `>=`");
  limit.inclusive = rest.consume_front("=");
  rest = rest.ltrim();
  limit.growth = rest.consume_front("+");
  rest = rest.ltrim();
  return true;
}

bool LimitParser::parseAmount() {
  StringRef digits =
      rest.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  if (digits.empty() || digits.getAsDouble(limit.amount))
    return fail("a number");
  StringRef unit = rest.drop_front(digits.size()).trim();
  limit.percent = unit == "%";
  int power = llvm::StringSwitch<int>(unit)
                  .Cases({"", "B", "%"}, 0)
                  .Case("KiB", 1)
                  .Case("MiB", 2)
                  .Case("GiB", 3)
                  .Case("TiB", 4)
                  .Default(-1);
  rest = rest.drop_front(digits.size()).ltrim();
  if (power < 0)
    return fail("%, B, KiB, MiB, GiB or TiB");
  limit.amount *= std::pow(1024., power);
  return true;
}

bool LimitParser::checkMeaning() {
  bool isShare = limit.percent && !limit.growth;
  if (!isShare || limit.quantity == Limit::Quantity::Padding)
    return true;
  rest = text;
  return fail("a percentage of padding, or a growth such as `+5%`",
              "other quantities are limited in bytes");
}

llvm::Expected<Limit> LimitParser::parse() {
  limit.text = text.trim().str();
  if (parseQuantity() && parseSpace() && parseComparison() && parseAmount() &&
      checkMeaning())
    return std::move(limit);
  return llvm::make_error<LayoutError>(std::move(error));
}

llvm::Expected<Limit> Limit::parse(StringRef text) {
  return LimitParser(text).parse();
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

/// That of a space that nothing is in has no bytes.
static SpaceReport getSpace(const Report &report, int64_t number) {
  for (const SpaceReport &space : report.spaces)
    if (space.space == number)
      return space;
  return SpaceReport();
}

llvm::Expected<int64_t> Limit::measure(const Report &report) const {
  switch (quantity) {
  case Quantity::Arguments:
    return report.argumentBytes;
  case Quantity::Outputs:
    return report.outputBytes;
  case Quantity::Buffers:
    return space ? getSpace(report, *space).allocatedBytes
                 : report.allocatedBytes;
  case Quantity::Padding:
    return space ? getSpace(report, *space).paddingBytes : report.paddingBytes;
  case Quantity::Relayouts:
    return report.relayoutBytes;
  case Quantity::Async:
    return report.asyncBytes;
  case Quantity::Peak:
  case Quantity::Program:
    if (report.isScheduled)
      return quantity == Quantity::Program
                 ? report.programBytes
                 : getSpace(report, space.value_or(0)).peakBytes;
    return unsupportedError("limit `" + text + "`", "a module with a schedule",
                            "none in " + report.name);
  }
  llvm_unreachable("all quantities are measured");
}

static std::string formatPercents(double part, double whole) {
  return llvm::formatv("{0:f1} %", 100 * part / whole);
}

llvm::Expected<std::optional<std::string>>
Limit::check(const Report &report, const Report *before) const {
  llvm::Expected<int64_t> now = measure(report);
  if (!now)
    return now.takeError();
  std::string found = formatBytes(*now);
  auto bytes = static_cast<double>(*now);
  double whole = 0;
  if (growth) {
    if (!before)
      return invalidError("", "limit `" + text + "`",
                          "a limit without `+`, as nothing is compared",
                          "a growth");
    llvm::Expected<int64_t> then = measure(*before);
    if (!then)
      return then.takeError();
    found += ", before " + formatBytes(*then);
    whole = static_cast<double>(*then);
    bytes -= whole;
  } else if (percent) {
    Limit buffers = *this;
    buffers.quantity = Quantity::Buffers;
    whole = static_cast<double>(llvm::cantFail(buffers.measure(report)));
  }
  bool exceeds =
      percent ? isAbove(100 * bytes, amount * whole) : isAbove(bytes, amount);
  // What does not grow, or is not there, is no growth of 0 % either.
  if (!exceeds || (percent && bytes <= 0))
    return std::nullopt;
  if (percent && whole > 0)
    found += ", " + formatPercents(bytes, whole);
  return text + ": " + found;
}
