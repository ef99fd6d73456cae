//===- Print.cpp - Advice for people and for programs ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Advise/Advise.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

/// `1,703,936 bytes`.
static std::string formatBytes(int64_t bytes) {
  return llvm::formatv("{0:N} bytes", bytes);
}

static std::string describe(const Advice &advice) {
  std::string number = std::to_string(advice.number);
  switch (advice.kind) {
  case Advice::Kind::Argument:
  case Advice::Kind::Donation:
    return "argument " + number + ", %" + advice.value->name.str();
  case Advice::Kind::Result:
    return "result " + number + ", %" + advice.value->name.str();
  case Advice::Kind::LoopState:
    return "state " + number + " of loop %" + advice.value->name.str();
  }
  return "";
}

/// How often the moves run.
static std::string describeRuns(const Advice &advice) {
  std::optional<int64_t> runs = advice.maxRuns();
  if (!runs)
    return "each time the loop runs";
  if (*runs == 1)
    return "a step";
  bool differ = llvm::any_of(
      advice.moves, [&](const AdvisedMove &move) { return move.runs != runs; });
  return llvm::formatv("a step, in {0}{1:N} runs of a loop",
                       differ ? "up to " : "", *runs);
}

static void printMemory(const Advice &advice, llvm::raw_ostream &os) {
  os << "     " << advice.from << " -> " << advice.to << ": "
     << formatBytes(advice.bytesThen);
  int64_t more = advice.bytesThen - advice.bytesNow;
  if (more == 0)
    os << " as before\n";
  else
    os << ", " << formatBytes(more > 0 ? more : -more)
       << (more > 0 ? " more\n" : " fewer\n");
}

static void printMoves(const hlo::Module &module, const Advice &advice,
                       llvm::raw_ostream &os) {
  constexpr size_t kMaxMoves = 5;
  os << "     moved by ";
  llvm::interleaveComma(llvm::ArrayRef(advice.moves).take_front(kMaxMoves), os,
                        [&](const AdvisedMove &move) {
                          StringRef name = move.instruction->name;
                          os << '%' << name << " (line "
                             << module.getLocation(name).line << ')';
                        });
  if (advice.moves.size() > kMaxMoves)
    os << " and " << advice.moves.size() - kMaxMoves << " more";
  if (advice.otherUses > 0)
    os << "; " << advice.otherUses
       << (advice.otherUses == 1 ? " other use reads" : " other uses read")
       << " it as it is";
  os << '\n';
}

/// What the module reads and writes with a piece of advice.
static void printPrice(int64_t now, int64_t then, llvm::raw_ostream &os) {
  os << "     the module reads and writes " << formatBytes(then) << " then, ";
  if (then == now)
    os << "as before\n";
  else
    os << formatBytes(std::abs(now - then))
       << (then < now ? " fewer\n" : " more\n");
}

void tessera::printAdvice(const hlo::Module &module,
                          llvm::ArrayRef<Advice> list,
                          const AdvicePrices *prices, size_t limit,
                          llvm::raw_ostream &os) {
  os << "module " << module.name() << ": " << list.size()
     << (list.size() == 1 ? " piece" : " pieces") << " of advice\n";
  if (prices)
    os << "  the module reads and writes " << formatBytes(prices->now)
       << " a step; " << formatBytes(prices->then)
       << " with all that is priced here, and no less than "
       << formatBytes(prices->lowerBound) << '\n';
  for (auto [rank, advice] : llvm::enumerate(list.take_front(limit))) {
    os << "\n  " << rank + 1 << ". " << describe(advice) << ": "
       << formatBytes(advice.bytesPerStep()) << " read and written "
       << describeRuns(advice) << '\n';
    printMoves(module, advice, os);
    if (advice.from != advice.to)
      printMemory(advice, os);
    if (prices && advice.moduleBytes)
      printPrice(prices->now, *advice.moduleBytes, os);
    os << "     " << advice.line << '\n';
  }
  if (list.size() > limit)
    os << "\n  " << list.size() - limit << " more with --limit=0\n";
}

/// Text of dumps need not be UTF-8, strings of JSON must.
static std::string repair(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static void printAdvice(llvm::json::OStream &json, const hlo::Module &module,
                        const Advice &advice) {
  json.attribute("kind", getName(advice.kind));
  json.attribute("name", repair(advice.value->name));
  json.attribute("line", static_cast<int64_t>(
                             module.getLocation(advice.value->name).line));
  json.attribute("number", static_cast<int64_t>(advice.number));
  json.attribute("from", advice.from.toString());
  json.attribute("to", advice.to.toString());
  json.attribute("bytes_moved", advice.bytesMoved());
  if (std::optional<int64_t> runs = advice.maxRuns())
    json.attribute("runs", *runs);
  else
    json.attribute("runs", nullptr);
  json.attribute("bytes_per_step", advice.bytesPerStep());
  json.attribute("bytes_now", advice.bytesNow);
  json.attribute("bytes_then", advice.bytesThen);
  if (advice.moduleBytes)
    json.attribute("module_bytes_then", *advice.moduleBytes);
  json.attribute("other_uses", static_cast<int64_t>(advice.otherUses));
  json.attributeArray("moves", [&] {
    for (const AdvisedMove &move : advice.moves)
      json.value(repair(move.instruction->name));
  });
  json.attribute("python", repair(advice.line));
}

void tessera::printAdviceJSON(const hlo::Module &module,
                              llvm::ArrayRef<Advice> list,
                              const AdvicePrices *prices,
                              llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "tessera.advice");
    json.attribute("version", 1);
    json.attribute("module", repair(module.name()));
    if (prices) {
      json.attribute("module_bytes", prices->now);
      json.attribute("module_bytes_then", prices->then);
      json.attribute("lower_bound", prices->lowerBound);
    }
    json.attributeArray("advice", [&] {
      for (const Advice &advice : list)
        json.object([&] { ::printAdvice(json, module, advice); });
    });
  });
  os << '\n';
}
