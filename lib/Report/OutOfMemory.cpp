//===- OutOfMemory.cpp - Why allocations are large ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/OutOfMemory.h"

#include "Format.h"
#include "Suggest.h"

#include "tessera/Layout/Size.h"
#include "tessera/View/Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <tuple>

using namespace tessera;

/// Numbers of a log may be any; none is negative.
static int64_t multiply(int64_t lhs, int64_t rhs) {
  uint64_t product = llvm::SaturatingMultiply<uint64_t>(lhs, rhs);
  return std::min<uint64_t>(product, INT64_MAX);
}

int64_t AllocationAnswer::totalBytes() const { return multiply(bytes, count); }

const Suggestion *AllocationAnswer::repair() const {
  bool isThere =
      !repairs.empty() && repairs.front().kind != Suggestion::Kind::Type;
  return isThere ? repairs.data() : nullptr;
}

int64_t AllocationAnswer::gain() const {
  return repair() ? multiply(repair()->gain, count) : 0;
}

static std::optional<ShapeSize> getKnownSize(const Shape &shape) {
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (size)
    return std::move(*size);
  llvm::consumeError(size.takeError());
  return std::nullopt;
}

static bool hasSize(const Shape &shape, const PrintedSize &printed) {
  std::optional<ShapeSize> size = getKnownSize(shape);
  return size && printed.matches(size->bytes);
}

//===----------------------------------------------------------------------===//
// The layout behind a size
//===----------------------------------------------------------------------===//

/// The tiles that TPU compilers use for rows of `packing` elements a word.
static std::vector<Layout> getUsualTiles(const Layout &order, int64_t packing) {
  std::vector<Layout> result;
  for (int64_t rows : {8, 4, 2, 16, 32, 1}) {
    Layout layout = order;
    layout.tiles.push_back({{rows, 128}});
    if (packing > 1 && rows >= packing)
      layout.tiles.push_back({{packing, 1}});
    result.push_back(layout);
    // Older compilers kept elements of less than a word in a word each.
    layout = order;
    layout.tiles.push_back({{rows, 128}});
    layout.elementSizeInBits = 32;
    result.push_back(layout);
  }
  return result;
}

/// The shape of the text if it has the size of the text, else with the first
/// of the usual tiles that gives this size: older texts leave tiles out.
static void findLayout(const LoggedAllocation &allocation,
                       AllocationAnswer &answer) {
  if (!allocation.shape || allocation.shape->hasUnboundedDimension())
    return;
  Shape shape = *allocation.shape;
  if (hasSize(shape, allocation.size)) {
    answer.shape = std::move(shape);
    return;
  }
  if (!shape.isArray() || !shape.layoutOrDefault().tiles.empty())
    return;
  int64_t packing = std::max<int64_t>(
      1, 32 / getStorageBits(shape.elementType(), shape.layoutOrDefault()));
  for (const Layout &layout : getUsualTiles(shape.layoutOrDefault(), packing)) {
    shape.setLayout(layout);
    if (!llvm::errorToBool(shape.verify()) && hasSize(shape, allocation.size)) {
      answer.shape = std::move(shape);
      answer.isInferred = true;
      return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Why
//===----------------------------------------------------------------------===//

static std::string formatTimes(int64_t whole, int64_t part) {
  return part == 0 ? "more than"
                   : formatExpansion(static_cast<double>(whole) /
                                     static_cast<double>(part));
}

/// Elements that take more bits than their type has.
static std::string describeWideElements(const Shape &shape) {
  int64_t stored = getStorageBits(shape.elementType(), shape.layoutOrDefault());
  int64_t natural = 8 * getByteWidth(shape.elementType());
  if (stored <= natural)
    return "";
  return "each element takes " + std::to_string(stored) + " bits for " +
         std::to_string(natural) + ", E(" + std::to_string(stored) + ")";
}

static std::string describeArray(const Shape &shape, const ShapeSize &size) {
  std::string text;
  if (size.paddingBytes > 0)
    text = formatSize(size.paddingBytes) + " of it is padding, " +
           formatTimes(size.bytes, size.logicalBytes) + " its elements" +
           describeGrowth(shape);
  else
    text = "nothing of it is padding: " + std::to_string(size.logicalElements) +
           " elements";
  std::string wide = describeWideElements(shape);
  return wide.empty() ? text : text + "; " + wide;
}

/// Of a text without a shape that explains the size.
static std::string describePrinted(const LoggedAllocation &allocation) {
  if (allocation.label.find("spill") != std::string::npos)
    return "registers that the compiler had to keep in memory, no array: the "
           "kernel holds too much at once";
  if (allocation.padding)
    return formatSize(allocation.padding->bytes) +
           " of it is padding, by the text";
  if (allocation.shapeText.empty())
    return "the text gives no shape";
  return "the shape does not give this size, nor with the usual tiles";
}

static void addRepairs(AllocationAnswer &answer) {
  SuggestOptions options;
  options.tiles = false;
  options.types = true;
  options.rule = answer.shape->layoutOrDefault().tiles.empty()
                     ? LayoutRule::RowMajor
                     : LayoutRule::TPU;
  answer.repairs = suggestLayouts(*answer.shape, options);
}

static AllocationAnswer answerAllocation(const LoggedAllocation &allocation) {
  AllocationAnswer answer;
  answer.allocation = allocation;
  answer.bytes = allocation.size.bytes;
  answer.paddingBytes = allocation.padding ? allocation.padding->bytes : 0;
  findLayout(allocation, answer);
  std::optional<ShapeSize> size;
  if (answer.shape)
    size = getKnownSize(*answer.shape);
  if (!size || !answer.shape->isArray()) {
    answer.why = describePrinted(allocation);
    return answer;
  }
  answer.bytes = size->bytes;
  answer.paddingBytes = size->paddingBytes;
  answer.why = describeArray(*answer.shape, *size);
  if (answer.isInferred)
    answer.why += "; the text leaves the tile out, " +
                  answer.shape->toString() + " has this size";
  if (!answer.shape->hasLayout())
    answer.shape->setLayout(answer.shape->layoutOrDefault());
  addRepairs(answer);
  return answer;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// The answers, with allocations that are described alike counted together.
static std::vector<AllocationAnswer>
answerAll(llvm::ArrayRef<LoggedAllocation> allocations) {
  using Identity = std::tuple<int64_t, std::string, std::string, std::string,
                              int64_t, std::string, std::string>;
  std::map<Identity, size_t> known;
  std::vector<AllocationAnswer> answers;
  for (const LoggedAllocation &each : allocations) {
    std::string label = each.shapeText.empty() ? each.label : "";
    Identity identity(each.size.bytes, each.shapeText, each.origin, each.file,
                      each.line, each.type, label);
    auto [position, isNew] = known.try_emplace(identity, answers.size());
    if (isNew)
      answers.push_back(answerAllocation(each));
    else
      ++answers[position->second].count;
  }
  std::multimap<int64_t, AllocationAnswer, std::greater<>> sorted;
  for (AllocationAnswer &answer : answers)
    sorted.emplace(answer.totalBytes(), std::move(answer));
  answers.clear();
  for (auto &[bytes, answer] : sorted)
    answers.push_back(std::move(answer));
  return answers;
}

/// Keeps, for each kind and space, the sentences that give the available bytes;
/// if there is none, the first sentence.
static std::vector<Shortage> dropVague(llvm::ArrayRef<Shortage> shortages) {
  using Topic = std::pair<Shortage::Kind, std::string>;
  std::map<Topic, bool> isKnown;
  for (const Shortage &shortage : shortages)
    isKnown[{shortage.kind, shortage.space}] |= shortage.available.has_value();
  std::vector<Shortage> result;
  for (const Shortage &shortage : shortages) {
    bool &isSaid = isKnown[{shortage.kind, shortage.space}];
    if (shortage.available || !isSaid)
      result.push_back(shortage);
    isSaid = true;
  }
  return result;
}

static std::vector<std::string> advise(const OutOfMemoryReport &report) {
  std::vector<std::string> advice;
  auto has = [&](Shortage::Kind kind) {
    return llvm::any_of(report.shortages, [&](const Shortage &shortage) {
      return shortage.kind == kind;
    });
  };
  if (report.allocations.empty() && has(Shortage::Kind::Program))
    advice.push_back(
        "the text lists no allocations; dump the module by "
        "XLA_FLAGS=--xla_dump_to=DIR, and ask `tessera-hlo report` of its "
        "*after_optimizations.txt, or of the last one before the error");
  if (has(Shortage::Kind::Scoped))
    advice.push_back(
        "a kernel's own buffers are too large: take smaller blocks, or raise "
        "its limit, pltpu.CompilerParams(vmem_limit_bytes=...)");
  if (has(Shortage::Kind::Load) || has(Shortage::Kind::Allocation))
    advice.push_back(
        "memory is taken by what runs or is kept already: drop arrays that "
        "nothing needs (jax.live_arrays() has them), donate arguments "
        "(donate_argnums), or make the largest ones smaller");
  return advice;
}

OutOfMemoryReport tessera::explainOutOfMemory(const OutOfMemoryLog &log) {
  OutOfMemoryReport report;
  report.shortages = dropVague(log.shortages);
  report.allocations = answerAll(log.allocations);
  for (const AllocationAnswer &answer : report.allocations)
    report.gain =
        std::min<uint64_t>(uint64_t(report.gain) + answer.gain(), INT64_MAX);
  report.advice = advise(report);
  return report;
}
