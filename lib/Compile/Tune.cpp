//===- Tune.cpp - Plans by measurement ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Tune.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

using namespace tessera;

/// The least time between two readings of the clock, which tells microseconds.
static constexpr double kMinSeconds = 200e-6;
/// Rounds of a measurement. What disturbs one round seldom disturbs all.
static constexpr int kRounds = 9;
static constexpr int kFirstRounds = 2;
/// Bytes of buffers that take turns, beyond all caches, and what a pair of
/// empty ones counts as.
static constexpr size_t kRingBytes = size_t(512) << 20;
static constexpr size_t kMinPairBytes = 4 << 10;
/// Plans that are this much slower than the fastest are given up at once.
static constexpr double kMuchSlower = 1.3;
/// Candidates of a nest that are timed, the cheapest ones.
static constexpr size_t kMaxChoices = 48;
/// The rule stays where a variant is faster by less.
static constexpr double kRuleMargin = 0.99;
/// A coefficient stays where another value is faster by less.
static constexpr double kCostMargin = 0.97;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {
/// Buffers of the arrays of one relayout: a pair, or where they are cold, a
/// ring of pairs that is larger than the caches. A hot destination has been
/// written just before.
class Arrays {
public:
  static llvm::Expected<Arrays>
  allocate(const Shape &source, const Shape &destination, BufferState state);

  /// The time of one call, of as many as the clock can tell.
  double time(CompiledModule::Relayout *function);

private:
  using Buffer = std::unique_ptr<llvm::WritableMemoryBuffer>;

  /// The time of so many calls, in seconds.
  double timeCalls(CompiledModule::Relayout *function, int64_t calls);

  std::vector<std::pair<Buffer, Buffer>> pairs;
  size_t next = 0;
  bool isHot = false;
};
} // namespace

static llvm::Expected<std::unique_ptr<llvm::WritableMemoryBuffer>>
allocate(const Shape &shape) {
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (!size)
    return size.takeError();
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
      size->bytes, "", llvm::Align(RelayoutTarget::kPageBytes));
  if (!buffer)
    return unsupportedError("size of " + shape.toString(),
                            "what fits in memory",
                            llvm::Twine(size->bytes) + " bytes");
  // Pages that were never written are all one page of zeros.
  std::memset(buffer->getBufferStart(), 1, buffer->getBufferSize());
  return buffer;
}

llvm::Expected<Arrays> Arrays::allocate(const Shape &source,
                                        const Shape &destination,
                                        BufferState state) {
  Arrays arrays;
  arrays.isHot = state == BufferState::Hot;
  size_t bytes = 0;
  do {
    auto &[from, to] = arrays.pairs.emplace_back();
    if (llvm::Error error = ::allocate(source).moveInto(from))
      return std::move(error);
    if (llvm::Error error = ::allocate(destination).moveInto(to))
      return std::move(error);
    bytes += from->getBufferSize() + to->getBufferSize() + kMinPairBytes;
  } while (state == BufferState::Cold && bytes < kRingBytes);
  return std::move(arrays);
}

double Arrays::timeCalls(CompiledModule::Relayout *function, int64_t calls) {
  auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) {
    auto &[from, to] = pairs[next++ % pairs.size()];
    function(from->getBufferStart(), to->getBufferStart());
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - begin;
  return elapsed.count();
}

double Arrays::time(CompiledModule::Relayout *function) {
  // The first call has the code and the arrays of another in the cache.
  double once = std::max(timeCalls(function, 1), 1e-9);
  int64_t calls = std::max<int64_t>(kMinSeconds / once, 1);
  if (!isHot)
    return timeCalls(function, calls) / calls;
  double seconds = 0;
  for (int64_t i = 0; i < calls; ++i) {
    llvm::WritableMemoryBuffer &to = *pairs.front().second;
    std::memset(to.getBufferStart(), 1, to.getBufferSize());
    seconds += timeCalls(function, 1);
  }
  return seconds / calls;
}

namespace {
/// A plan that takes part in a measurement.
struct Contestant {
  TimedPlan plan;
  RelayoutFunction function;
};
} // namespace

/// Lets all take turns, so that what changes on the machine meets all.
static void race(llvm::MutableArrayRef<Contestant> contestants, Arrays &arrays,
                 int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (Contestant &contestant : contestants) {
      double seconds = arrays.time(contestant.function.getAddress());
      double &best = contestant.plan.seconds;
      best = best == 0 ? seconds : std::min(best, seconds);
    }
}

//===----------------------------------------------------------------------===//
// Plans of one relayout
//===----------------------------------------------------------------------===//

/// What was chosen, then what overrules it: the cheapest candidates of each
/// nest, orders of loops, and how large arrays are stored and prefetched.
static std::vector<RelayoutTuning> getVariants(const RelayoutPlan &plan) {
  std::vector<RelayoutTuning> variants(1);
  for (const NestTrials &nest : plan.trials)
    llvm::append_range(variants,
                       llvm::ArrayRef(nest.choices).take_front(kMaxChoices));
  auto add = [&](auto set) { set(variants.emplace_back()); };
  for (bool bySource : {false, true})
    add([&](RelayoutTuning &tuning) { tuning.bySource = bySource; });
  add([](RelayoutTuning &tuning) { tuning.nontemporal = false; });
  for (int64_t prefetch : {0, 1, 4, 6, 8})
    add([&](RelayoutTuning &tuning) { tuning.prefetch = prefetch; });
  return variants;
}

/// This machine alone can be measured.
static llvm::Error checkIsHere(const CompileOptions &options) {
  if (options.triple.empty() && options.cpu.empty())
    return llvm::Error::success();
  return invalidError("", "machine to measure", "this one",
                      options.triple.empty() ? options.cpu : options.triple,
                      "name neither a target nor a processor");
}

/// Compiles the relayout by each variant that has a plan of its own, the rule
/// first. Loops over elements, where there is no plan, have no variants.
static llvm::Expected<std::vector<Contestant>>
compileVariants(const ArrayPart &source, const ArrayPart &destination,
                CompileOptions options) {
  std::vector<Contestant> contestants;
  llvm::StringSet<> plans;
  RelayoutPlan chosen;
  if (llvm::Error error =
          getRelayoutPlan(source, destination, options).moveInto(chosen))
    llvm::consumeError(std::move(error));
  for (const RelayoutTuning &tuning : getVariants(chosen)) {
    options.tuning = tuning;
    std::string text;
    llvm::raw_string_ostream os(text);
    if (auto plan = getRelayoutPlan(source, destination, options))
      plan->print(os);
    else
      llvm::consumeError(plan.takeError());
    if (!plans.insert(text).second)
      continue;
    auto function = getRelayoutFunction(source, destination, options);
    if (!function)
      return function.takeError();
    contestants.push_back({{tuning, 0}, std::move(*function)});
  }
  return contestants;
}

/// The plans of all contestants, of which the rule is the first: from fastest
/// to slowest, but that the rule needs to be beaten by a margin.
static std::vector<TimedPlan> rank(llvm::ArrayRef<Contestant> contestants) {
  auto isFaster = [](const TimedPlan &a, const TimedPlan &b) {
    return a.seconds < b.seconds;
  };
  std::vector<TimedPlan> plans;
  for (const Contestant &contestant : contestants.drop_front())
    plans.push_back(contestant.plan);
  llvm::sort(plans, isFaster);
  TimedPlan rule = contestants.front().plan;
  rule.seconds *= kRuleMargin;
  auto position = llvm::lower_bound(plans, rule, isFaster);
  plans.insert(position, contestants.front().plan);
  return plans;
}

llvm::Expected<std::vector<TimedPlan>>
tessera::tuneRelayout(const ArrayPart &source, const ArrayPart &destination,
                      const CompileOptions &options) {
  if (llvm::Error error = checkIsHere(options))
    return std::move(error);
  auto contestants = compileVariants(source, destination, options);
  if (!contestants)
    return contestants.takeError();
  auto arrays =
      Arrays::allocate(source.shape, destination.shape, options.buffers);
  if (!arrays)
    return arrays.takeError();
  race(*contestants, *arrays, kFirstRounds);
  double fastest = INFINITY;
  for (const Contestant &contestant : *contestants)
    fastest = std::min(fastest, contestant.plan.seconds);
  auto others = llvm::MutableArrayRef(*contestants).drop_front();
  auto *slow = std::partition(
      others.begin(), others.end(), [&](const Contestant &contestant) {
        return contestant.plan.seconds <= kMuchSlower * fastest;
      });
  race({contestants->data(), slow}, *arrays, kRounds);
  return rank(*contestants);
}

//===----------------------------------------------------------------------===//
// Coefficients
//===----------------------------------------------------------------------===//

namespace {
using TextPair = std::pair<llvm::StringRef, llvm::StringRef>;

/// A coefficient, values to try, and relayouts whose plans depend on it: the
/// buffers that they are compiled for, and those that they are timed with.
struct Trial {
  llvm::StringRef key;
  int64_t ProcessorCosts::*cost;
  llvm::SmallVector<int64_t> values;
  llvm::SmallVector<TextPair> relayouts;
  BufferState buffers = BufferState::Unknown;
  llvm::SmallVector<BufferState, 2> arrays = {BufferState::Unknown};
};
} // namespace

/// In the order in which they are measured: what is decided first is used by
/// those that follow. Arrays are 32 to 64 MB, or in the cache.
static std::vector<Trial> getTrials() {
  using Costs = ProcessorCosts;
  TextPair square32 = {"f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}"};
  TextPair odd32 = {"f32[3008,4016]{1,0}", "f32[3008,4016]{0,1}"};
  TextPair square16 = {"bf16[8192,4096]{1,0}", "bf16[8192,4096]{0,1}"};
  TextPair odd16 = {"bf16[6016,4032]{1,0}", "bf16[6016,4032]{0,1}"};
  TextPair square8 = {"s8[8192,8192]{1,0}", "s8[8192,8192]{0,1}"};
  TextPair odd8 = {"s8[8128,8128]{1,0}", "s8[8128,8128]{0,1}"};
  TextPair pitch32 = {"f32[4096,4032]{1,0}", "f32[4096,4032]{0,1}"};
  TextPair wide64 = {"f64[3008,2000]{1,0}", "f64[3008,2000]{0,1}"};
  TextPair odder8 = {"s8[7001,7003]{1,0}", "s8[7001,7003]{0,1}"};
  TextPair odder16 = {"bf16[5001,4999]{1,0}", "bf16[5001,4999]{0,1}"};
  TextPair odder32 = {"f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}"};
  TextPair apart8 = {"s8[8192,4096]{1,0:PD(8192,8192)}", "s8[8192,4096]{0,1}"};
  TextPair apart16 = {"bf16[4096,4096]{1,0:PD(4096,8192)}",
                      "bf16[4096,4096]{0,1}"};
  TextPair tiles = {"f32[4096,4096]{1,0}", "f32[4096,4096]{1,0:T(8,128)}"};
  TextPair rows = {"f32[4096,4096]{1,0:T(8,128)}", "f32[4096,4096]{1,0}"};
  TextPair untiled16 = {"bf16[8192,4096]{1,0:T(8,128)(2,1)}",
                        "bf16[8192,4096]{1,0}"};
  TextPair heads = {"bf16[8,4096,32,64]{3,2,1,0}",
                    "bf16[8,4096,32,64]{3,1,2,0}"};
  llvm::SmallVector<TextPair> sizes = {
      {"f32[32,128]{1,0}", "f32[32,128]{1,0:T(8,128)}"},
      {"f32[128,128]{1,0}", "f32[128,128]{1,0:T(8,128)}"},
      {"f32[256,256]{1,0}", "f32[256,256]{1,0:T(8,128)}"},
      {"f32[512,512]{1,0}", "f32[512,512]{0,1}"},
      {"f32[512,1024]{1,0}", "f32[512,1024]{1,0:T(8,128)}"},
      {"f32[1024,1024]{1,0}", "f32[1024,1024]{0,1}"},
      {"f32[2048,1024]{1,0}", "f32[2048,1024]{1,0:T(8,128)}"},
      {"f32[2048,2048]{1,0}", "f32[2048,2048]{0,1}"},
      {"f32[4096,2048]{1,0}", "f32[4096,2048]{1,0:T(8,128)}"}};
  llvm::SmallVector<TextPair> rowsOfPages = {square32, odd32, pitch32, wide64};
  llvm::SmallVector<TextPair> narrow = {square16, odd16, square8, odd8};
  llvm::SmallVector<TextPair> shortRows = {
      {"f32[262144,60]{1,0}", "f32[262144,60]{0,1}"},
      {"bf16[131072,256]{1,0}", "bf16[131072,256]{0,1}"},
      {"f32[131072,96]{1,0}", "f32[131072,96]{0,1}"}};
  llvm::SmallVector<TextPair> ragged = {odder8, odder16, odder32};
  llvm::SmallVector<TextPair> apart = {apart8, apart16};
  llvm::SmallVector<TextPair> cached = {
      {"f32[256,256]{1,0}", "f32[256,256]{0,1}"},
      {"f32[200,300]{1,0}", "f32[200,300]{0,1}"},
      {"bf16[256,256]{1,0}", "bf16[256,256]{0,1}"},
      {"s8[300,400]{1,0}", "s8[300,400]{0,1}"},
      {"s8[128,1024]{1,0}", "s8[128,1024]{0,1}"}};
  // Half as much and twice as much.
  Costs costs = MachineProfile::getHost().costs;
  auto scaled = [&](llvm::StringRef key, int64_t Costs::*cost,
                    llvm::ArrayRef<TextPair> relayouts) {
    return Trial{key,
                 cost,
                 {costs.*cost / 2, costs.*cost, 2 * (costs.*cost)},
                 llvm::SmallVector<TextPair>(relayouts)};
  };
  auto stores = [&](llvm::StringRef key, int64_t Costs::*cost,
                    BufferState buffers,
                    llvm::SmallVector<BufferState, 2> arrays) {
    return Trial{key,
                 cost,
                 {16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20,
                  8 << 20, 16 << 20, 32 << 20},
                 llvm::SmallVector<TextPair>(sizes),
                 buffers,
                 std::move(arrays)};
  };
  return {
      {"copy-streams",
       &Costs::copyStreams,
       {1, 2, 4, 8},
       {tiles, rows, heads, untiled16}},
      {"copy-prefetch-bytes",
       &Costs::copyPrefetchBytes,
       {0, 8 << 10, 16 << 10},
       {tiles, rows, heads}},
      {"interleave-by-source",
       &Costs::interleavesBySource,
       {0, 1},
       {{"bf16[8192,4096]{1,0}", "bf16[8192,4096]{1,0:T(8,128)(2,1)}"},
        {"s8[8192,4096]{1,0}", "s8[8192,4096]{1,0:T(8,128)(4,1)}"}}},
      {"first-level-conflicts",
       &Costs::firstLevelConflicts,
       {0, 3, 64},
       {odd8, odd16, odd32}},
      {"prefetch-conflicts",
       &Costs::prefetchConflicts,
       {0, 3, 64},
       {square32, odd32, odd16}},
      scaled("jump-ps", &Costs::jumpPs, rowsOfPages),
      {"skip-ps", &Costs::skipPs, {425, 850, 1700, 3400, 6800}, shortRows},
      scaled("stream-ps", &Costs::streamPs, rowsOfPages),
      scaled("wide-ps", &Costs::widePs, rowsOfPages),
      scaled("column-conflict-ps", &Costs::columnConflictPs, rowsOfPages),
      scaled("panel-ps", &Costs::panelPs, narrow),
      scaled("visit-ps", &Costs::visitPs, narrow),
      scaled("reload-ps", &Costs::reloadPs, narrow),
      scaled("buffer-ps", &Costs::bufferPs, apart),
      scaled("carry-ps", &Costs::carryPs, ragged),
      scaled("ragged-ps", &Costs::raggedPs, ragged),
      scaled("allocate-ps", &Costs::allocatePs, ragged),
      {"cached-load-bytes", &Costs::cachedLoadBytes, {16, 64}, cached},
      scaled("cached-run-ps", &Costs::cachedRunPs, cached),
      scaled("cached-visit-ps", &Costs::cachedVisitPs, cached),
      scaled("cached-gather-ps", &Costs::cachedGatherPs, cached),
      scaled("cached-conflict-ps", &Costs::cachedConflictPs, cached),
      scaled("cached-column-ps", &Costs::cachedColumnPs, cached),
      stores("hot-nontemporal-bytes", &Costs::hotBytes, BufferState::Hot,
             {BufferState::Hot}),
      stores("cold-nontemporal-bytes", &Costs::coldBytes, BufferState::Cold,
             {BufferState::Cold}),
      // Not far from either.
      stores("nontemporal-bytes", &Costs::nontemporalBytes,
             BufferState::Unknown, {BufferState::Hot, BufferState::Cold}),
  };
}

/// What code depends on: its plan, and what kernels take from the costs
/// besides.
static std::string getCodeKey(const Shape &source, const Shape &destination,
                              const CompileOptions &options) {
  std::string key;
  llvm::raw_string_ostream os(key);
  if (auto plan = getRelayoutPlan(source, destination, options))
    plan->print(os);
  else
    llvm::consumeError(plan.takeError());
  const ProcessorCosts &costs = options.machine->costs;
  os << costs.cachedLoadBytes << ' '
     << costs.getNontemporalBytes(options.buffers);
  return key;
}

/// The times of one relayout by each of the values; all 1 where none of them
/// makes other code.
static llvm::Expected<std::vector<double>>
raceValues(const Trial &trial, const TextPair &texts, BufferState state,
           const MachineProfile &profile) {
  Shape source = llvm::cantFail(parseShape(texts.first));
  Shape destination = llvm::cantFail(parseShape(texts.second));
  llvm::StringMap<size_t> numbers;
  std::vector<size_t> codes;
  std::vector<CompileOptions> distinct;
  for (int64_t value : trial.values) {
    auto machine = std::make_shared<MachineProfile>(profile);
    machine->costs.*trial.cost = value;
    CompileOptions options;
    options.machine = std::move(machine);
    options.buffers = trial.buffers;
    auto [known, isNew] = numbers.try_emplace(
        getCodeKey(source, destination, options), distinct.size());
    codes.push_back(known->second);
    if (isNew)
      distinct.push_back(std::move(options));
  }
  std::vector<double> seconds(codes.size(), 1);
  if (distinct.size() == 1)
    return seconds;
  std::vector<Contestant> contestants;
  for (const CompileOptions &options : distinct) {
    auto function = getRelayoutFunction(source, destination, options);
    if (!function)
      return function.takeError();
    contestants.push_back({{}, std::move(*function)});
  }
  auto arrays = Arrays::allocate(source, destination, state);
  if (!arrays)
    return arrays.takeError();
  race(contestants, *arrays, kRounds);
  for (auto [time, code] : llvm::zip_equal(seconds, codes))
    time = contestants[code].plan.seconds;
  return seconds;
}

/// Measures one coefficient and puts the best value into `profile`.
static llvm::Expected<CalibrationStep> measure(Trial trial,
                                               MachineProfile &profile) {
  int64_t &current = profile.costs.*trial.cost;
  llvm::erase(trial.values, current);
  trial.values.insert(trial.values.begin(), current);
  // Logarithms of times relative to those of the current value.
  std::vector<double> sums(trial.values.size());
  for (const TextPair &texts : trial.relayouts)
    for (BufferState state : trial.arrays) {
      auto seconds = raceValues(trial, texts, state, profile);
      if (!seconds)
        return seconds.takeError();
      for (auto [sum, time] : llvm::zip_equal(sums, *seconds))
        sum += std::log(time / seconds->front());
    }
  size_t best = llvm::min_element(sums) - sums.begin();
  double ratio =
      std::exp(sums[best] / (trial.relayouts.size() * trial.arrays.size()));
  if (ratio > kCostMargin)
    return CalibrationStep{trial.key, current, 1};
  current = trial.values[best];
  return CalibrationStep{trial.key, current, ratio};
}

llvm::Expected<MachineProfile>
tessera::calibrate(llvm::function_ref<void(const CalibrationStep &)> report) {
  MachineProfile profile = MachineProfile::getHost();
  for (const Trial &trial : getTrials()) {
    auto step = measure(trial, profile);
    if (!step)
      return step.takeError();
    if (report)
      report(*step);
  }
  return profile;
}
