//===- Calibrate.cpp - Coefficients by measurement ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One coefficient after another gets the value by which the relayouts of a pool
// are fastest. The planner says which relayouts tell: those that it plans in
// more than one way by the values in question, on this machine.
//
//===----------------------------------------------------------------------===//

#include "Calibrate.h"
#include "Race.h"
#include "tessera/Compile/Tune.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace tessera;

/// A coefficient stays where another value is faster by less.
static constexpr double kMargin = 0.97;
/// How often each coefficient has its turn: what is best depends on the others.
/// Most of what is asked for the second time is known.
static constexpr int kPasses = 2;

//===----------------------------------------------------------------------===//
// Coefficients
//===----------------------------------------------------------------------===//

namespace {
struct Coefficient {
  llvm::StringLiteral key;
  int64_t ProcessorCosts::*field;
  int64_t most;
};
} // namespace

static constexpr Coefficient kCoefficients[] = {
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST)                                 \
  {KEY, &ProcessorCosts::FIELD, MOST},
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
};

/// Parts and multiples of a term of the cost, from near to far.
static llvm::SmallVector<int64_t> getMultiples(int64_t value, int64_t most) {
  llvm::SmallVector<int64_t> values;
  for (int64_t factor : {2, 4, 8}) {
    values.push_back(value / factor);
    values.push_back(std::min(value * factor, most));
  }
  return values;
}

/// Values to try, the current one first.
static llvm::SmallVector<int64_t> getValues(const Coefficient &coefficient,
                                            const ProcessorCosts &costs) {
  using Values = llvm::SmallVector<int64_t>;
  int64_t current = costs.*coefficient.field;
  Values sizes;
  for (int64_t size = 16 << 10; size <= 64 << 20; size *= 2)
    sizes.push_back(size);
  Values values = llvm::StringSwitch<Values>(coefficient.key)
                      .Case("copy-streams", {1, 2, 4, 8})
                      .Case("copy-prefetch-bytes", {0, 8 << 10, 16 << 10})
                      .Case("interleave-rows", {4, 8, 16, 32, coefficient.most})
                      .Case("cached-load-bytes", {16, 32, 64})
                      .Case("first-level-ways", {4, 8, 12, 16})
                      .Case("channel-ps", {0, 500, 1000, 2000})
                      .Case("panel-run-bytes", {64, 128})
                      .Case("pack-ps", {0, 600, 1200, 1800})
                      .Case("latency-ps", {0, 750, 1500, 3000})
                      .EndsWith("-conflicts", {0, 3, 8, 16, 64})
                      .EndsWith("nontemporal-bytes", sizes)
                      .Default(getMultiples(current, coefficient.most));
  llvm::erase(values, current);
  values.insert(values.begin(), current);
  return values;
}

using Machine = std::shared_ptr<const MachineProfile>;

/// The machine with each value of a coefficient, its own first.
static std::vector<Machine> getMachines(const Coefficient &coefficient,
                                        const MachineProfile &profile) {
  std::vector<Machine> machines;
  for (int64_t value : getValues(coefficient, profile.costs)) {
    auto machine = std::make_shared<MachineProfile>(profile);
    machine->costs.*coefficient.field = value;
    machines.push_back(std::move(machine));
  }
  return machines;
}

//===----------------------------------------------------------------------===//
// Relayouts
//===----------------------------------------------------------------------===//

namespace {
struct TextPair {
  llvm::StringLiteral source, destination;
};
} // namespace

/// Beyond the caches, up to 64 MB.
static constexpr TextPair kLarge[] = {
    {"f32[4096,4096]{1,0}", "f32[4096,4096]{0,1}"},
    {"f32[3008,4016]{1,0}", "f32[3008,4016]{0,1}"},
    {"bf16[8192,4096]{1,0}", "bf16[8192,4096]{0,1}"},
    {"bf16[6016,4032]{1,0}", "bf16[6016,4032]{0,1}"},
    {"s8[8192,8192]{1,0}", "s8[8192,8192]{0,1}"},
    {"s8[8128,8128]{1,0}", "s8[8128,8128]{0,1}"},
    {"f64[3008,2000]{1,0}", "f64[3008,2000]{0,1}"},
    {"f32[4096,4032]{1,0}", "f32[4096,4032]{0,1}"},
    // Rows of less than a page.
    {"f32[262144,60]{1,0}", "f32[262144,60]{0,1}"},
    {"bf16[131072,256]{1,0}", "bf16[131072,256]{0,1}"},
    {"f32[131072,96]{1,0}", "f32[131072,96]{0,1}"},
    {"f32[320,1040,24]{2,1,0}", "f32[320,1040,24]{1,2,0}"},
    {"s8[490,1088,60]{2,1,0}", "s8[490,1088,60]{1,2,0}"},
    // Columns a multiple of 512 bytes apart.
    {"f32[6400,1552]{1,0}", "f32[6400,1552]{0,1}"},
    {"f32[128,65536]{1,0}", "f32[128,65536]{0,1}"},
    // An odd number of lines apart.
    {"f32[2064,2064]{1,0}", "f32[2064,2064]{0,1}"},
    // Columns that begin anywhere in a line.
    {"s8[7001,7003]{1,0}", "s8[7001,7003]{0,1}"},
    {"bf16[5001,4999]{1,0}", "bf16[5001,4999]{0,1}"},
    {"f32[4099,3001]{1,0}", "f32[4099,3001]{0,1}"},
    // Rows that lie apart.
    {"s8[8192,4096]{1,0:PD(8192,8192)}", "s8[8192,4096]{0,1}"},
    {"bf16[4096,4096]{1,0:PD(4096,8192)}", "bf16[4096,4096]{0,1}"},
    // Copies and few rows.
    {"f32[4096,4096]{1,0}", "f32[4096,4096]{1,0:T(8,128)}"},
    {"f32[4096,4096]{1,0:T(8,128)}", "f32[4096,4096]{1,0}"},
    {"bf16[8192,4096]{1,0:T(8,128)(2,1)}", "bf16[8192,4096]{1,0}"},
    {"bf16[8192,4096]{1,0}", "bf16[8192,4096]{1,0:T(8,128)(2,1)}"},
    {"s8[8192,4096]{1,0}", "s8[8192,4096]{1,0:T(8,128)(4,1)}"},
    {"s8[8192,4096]{1,0}", "s8[8192,4096]{1,0:T(32,128)(4,1)}"},
    {"f32[16,16,24,24,64]{4,3,2,1,0}", "f32[16,16,24,24,64]{2,4,1,3,0}"},
    {"bf16[8,4096,32,64]{3,2,1,0}", "bf16[8,4096,32,64]{3,1,2,0}"},
    {"f32[8,300,31,300]{3,2,1,0}", "f32[8,300,31,300]{3,1,2,0}"},
    // In the third-level cache of some machines.
    {"f32[1504,2512]{1,0}", "f32[1504,2512]{0,1}"},
    {"f32[2048,1024]{1,0}", "f32[2048,1024]{1,0:T(8,128)}"},
};

/// In the caches.
static constexpr TextPair kSmall[] = {
    {"f32[256,256]{1,0}", "f32[256,256]{0,1}"},
    {"f32[200,300]{1,0}", "f32[200,300]{0,1}"},
    {"bf16[256,256]{1,0}", "bf16[256,256]{0,1}"},
    {"s8[300,400]{1,0}", "s8[300,400]{0,1}"},
    {"s8[128,1024]{1,0}", "s8[128,1024]{0,1}"},
    {"f64[120,200]{1,0}", "f64[120,200]{0,1}"},
    {"bf16[127,129]{1,0}", "bf16[127,129]{0,1}"},
    {"f32[1024,64]{1,0}", "f32[1024,64]{0,1}"},
    // Columns that share a set of the first-level cache.
    {"f32[2048,96]{1,0}", "f32[2048,96]{0,1}"},
    {"bf16[2048,128]{1,0}", "bf16[2048,128]{0,1}"},
};

/// Those that the caches hold, and those that they do not.
static constexpr TextPair kSizes[] = {
    {"f32[32,128]{1,0}", "f32[32,128]{1,0:T(8,128)}"},
    {"f32[128,128]{1,0}", "f32[128,128]{1,0:T(8,128)}"},
    {"f32[256,256]{1,0}", "f32[256,256]{1,0:T(8,128)}"},
    {"f32[512,512]{1,0}", "f32[512,512]{0,1}"},
    {"f32[512,1024]{1,0}", "f32[512,1024]{1,0:T(8,128)}"},
    {"f32[1024,1024]{1,0}", "f32[1024,1024]{0,1}"},
    {"f32[2048,1024]{1,0}", "f32[2048,1024]{1,0:T(8,128)}"},
    {"f32[2048,2048]{1,0}", "f32[2048,2048]{0,1}"},
    {"f32[4096,2048]{1,0}", "f32[4096,2048]{1,0:T(8,128)}"},
};

namespace {
/// A relayout of the pool, and what is known of the times of its codes.
class Trial {
public:
  /// The buffers that it is compiled for, and those that it is timed with.
  Trial(const TextPair &texts, const RelayoutTarget &target,
        BufferState buffers, BufferState state)
      : source(llvm::cantFail(parseShape(texts.source))),
        destination(llvm::cantFail(parseShape(texts.destination))),
        sourceAxes(llvm::cantFail(AxisList::get(source))),
        destinationAxes(llvm::cantFail(AxisList::get(destination))),
        target(target), state(state) {
    options.buffers = buffers;
  }

  /// What its code for a machine depends on.
  std::string getCode(const Machine &machine);
  /// The times of `codes`, those for the machines, relative to the first code
  /// that was ever timed. Those that are known are not timed again.
  llvm::Expected<std::vector<double>>
  getTimes(llvm::ArrayRef<Machine> machines, llvm::ArrayRef<std::string> codes);
  /// The times of the codes for the machines, which take turns.
  llvm::Expected<std::vector<double>> race(llvm::ArrayRef<Machine> machines);

private:
  Shape source, destination;
  AxisList sourceAxes, destinationAxes;
  RelayoutTarget target;
  BufferState state;
  CompileOptions options;
  Machine first;
  llvm::StringMap<double> known;
};

/// The pool: sizes are what tells where stores should bypass the cache.
struct Trials {
  explicit Trials(const RelayoutTarget &target);

  llvm::MutableArrayRef<Trial> get(const Coefficient &coefficient) {
    return coefficient.key.ends_with("nontemporal-bytes") ? sizes : others;
  }

  std::vector<Trial> sizes, others;
};
} // namespace

Trials::Trials(const RelayoutTarget &target) {
  constexpr auto unknown = BufferState::Unknown, hot = BufferState::Hot,
                 cold = BufferState::Cold;
  for (const TextPair &texts : kLarge)
    others.emplace_back(texts, target, unknown, unknown);
  for (const TextPair &texts : kSmall)
    others.emplace_back(texts, target, hot, hot);
  for (const TextPair &texts : kSizes) {
    sizes.emplace_back(texts, target, hot, hot);
    sizes.emplace_back(texts, target, cold, cold);
    // Not far from the better one of either.
    sizes.emplace_back(texts, target, unknown, hot);
    sizes.emplace_back(texts, target, unknown, cold);
  }
}

std::string Trial::getCode(const Machine &machine) {
  target.costs = machine->costs;
  target.nontemporalBytes = target.costs.getNontemporalBytes(options.buffers);
  int64_t bits = getStorageBits(source.elementType(), source.layoutOrDefault());
  std::vector<RelayoutVersion> versions = llvm::cantFail(
      planVersions(sourceAxes, destinationAxes, bits, false, target));
  const RelayoutPlan &plan = versions.front().plan;
  std::string code;
  llvm::raw_string_ostream os(code);
  plan.print(os);
  // What stores through the cache take from the costs besides.
  int64_t size = std::min(plan.srcElements, plan.dstElements) * bits / 8;
  if (!plan.isNontemporal())
    os << target.costs.cachedLoadBytes << ' '
       << (size < target.nontemporalBytes);
  return code;
}

llvm::Expected<std::vector<double>>
Trial::race(llvm::ArrayRef<Machine> machines) {
  std::vector<RelayoutFunction> functions;
  for (const Machine &machine : machines) {
    options.machine = machine;
    auto function = getRelayoutFunction(source, destination, options);
    if (!function)
      return function.takeError();
    functions.push_back(std::move(*function));
  }
  auto arrays = Arrays::allocate(source, destination, state);
  if (!arrays)
    return arrays.takeError();
  return arrays->race(functions);
}

llvm::Expected<std::vector<double>>
Trial::getTimes(llvm::ArrayRef<Machine> machines,
                llvm::ArrayRef<std::string> codes) {
  if (!first) {
    first = machines.front();
    known[codes.front()] = 1;
  }
  std::vector<Machine> unknown = {first};
  std::vector<double *> times = {&known[""]};
  for (auto [machine, code] : llvm::zip_equal(machines, codes))
    if (auto [it, isNew] = known.try_emplace(code, 1); isNew) {
      unknown.push_back(machine);
      times.push_back(&it->second);
    }
  if (unknown.size() > 1) {
    auto seconds = race(unknown);
    if (!seconds)
      return seconds.takeError();
    for (auto [time, second] : llvm::zip_equal(times, *seconds))
      *time = second / seconds->front();
  }
  std::vector<double> all;
  for (const std::string &code : codes)
    all.push_back(known.lookup(code));
  return all;
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

namespace {
/// A trial that tells of a coefficient, and its code for each machine.
struct Telling {
  Trial &trial;
  std::vector<std::string> codes;
};
} // namespace

/// The trials whose code is not the same for all of the machines.
static std::vector<Telling> select(llvm::MutableArrayRef<Trial> trials,
                                   llvm::ArrayRef<Machine> machines) {
  std::vector<Telling> selected;
  for (Trial &trial : trials) {
    std::vector<std::string> codes;
    for (const Machine &machine : machines)
      codes.push_back(trial.getCode(machine));
    if (!llvm::all_equal(codes))
      selected.push_back({trial, std::move(codes)});
  }
  return selected;
}

/// The number of the machine that is fastest in the geometric mean.
static llvm::Expected<size_t> findBest(llvm::ArrayRef<Telling> selected,
                                       llvm::ArrayRef<Machine> machines) {
  std::vector<double> sums(machines.size());
  for (const auto &[trial, codes] : selected) {
    auto times = trial.getTimes(machines, codes);
    if (!times)
      return times.takeError();
    for (auto [sum, time] : llvm::zip_equal(sums, *times))
      sum += std::log(time);
  }
  return llvm::min_element(sums) - sums.begin();
}

/// The time for machine number `best`, relative to the first, of the trials
/// whose codes for the two differ, in the geometric mean. They are timed anew:
/// of many values one is the best by chance.
static llvm::Expected<double> confirm(llvm::ArrayRef<Telling> selected,
                                      llvm::ArrayRef<Machine> machines,
                                      size_t best) {
  double sum = 0;
  size_t count = 0;
  for (const auto &[trial, codes] : selected) {
    if (codes[best] == codes.front())
      continue;
    auto seconds = trial.race({machines.front(), machines[best]});
    if (!seconds)
      return seconds.takeError();
    sum += std::log(seconds->back() / seconds->front());
    ++count;
  }
  return count == 0 ? 1 : std::exp(sum / count);
}

/// Measures one coefficient and puts the best value into `profile`.
static llvm::Expected<CalibrationStep> measure(const Coefficient &coefficient,
                                               Trials &trials,
                                               MachineProfile &profile) {
  std::vector<Machine> machines = getMachines(coefficient, profile);
  std::vector<Telling> selected = select(trials.get(coefficient), machines);
  auto best = findBest(selected, machines);
  if (!best)
    return best.takeError();
  auto ratio = confirm(selected, machines, *best);
  if (!ratio)
    return ratio.takeError();
  bool isFaster = *ratio <= kMargin;
  if (isFaster)
    profile = *machines[*best];
  return CalibrationStep{coefficient.key, profile.costs.*coefficient.field,
                         isFaster ? *ratio : 1, selected.size()};
}

/// The coefficients of these keys, in the order of the table; all where there
/// are none. Error: *invalid* for a key that is none of them.
static llvm::Expected<std::vector<const Coefficient *>>
find(llvm::ArrayRef<std::string> keys) {
  for (const std::string &key : keys)
    if (llvm::none_of(kCoefficients, [&](const Coefficient &coefficient) {
          return coefficient.key == key;
        }))
      return invalidError("", "coefficient", "a key of ProcessorCosts.def",
                          "`" + key + "`",
                          "leave out --only to see all that are measured");
  std::vector<const Coefficient *> found;
  for (const Coefficient &coefficient : kCoefficients)
    if (keys.empty() || llvm::is_contained(keys, coefficient.key))
      found.push_back(&coefficient);
  return found;
}

llvm::Expected<MachineProfile>
tessera::calibrate(const CalibrationOptions &options) {
  auto coefficients = find(options.keys);
  if (!coefficients)
    return coefficients.takeError();
  auto target = getRelayoutTarget({});
  if (!target)
    return target.takeError();
  Trials trials(*target);
  MachineProfile profile = MachineProfile::getHost();
  profile.costs = options.start.value_or(profile.costs);
  for (int pass = 0; pass < kPasses; ++pass)
    for (const Coefficient *coefficient : *coefficients) {
      auto step = measure(*coefficient, trials, profile);
      if (!step)
        return step.takeError();
      if (options.report && (pass == 0 || step->ratio < 1))
        options.report(*step);
    }
  return profile;
}

bool tessera::isMeasured(llvm::StringRef key, int64_t vectorBytes) {
  const Coefficient &coefficient = *llvm::cantFail(find(key.str())).front();
  std::vector<Machine> machines = getMachines(coefficient, MachineProfile());
  RelayoutTarget target;
  target.vectorBytes = vectorBytes;
  target.hasNontemporalStores = true;
  Trials trials(target);
  return llvm::any_of(trials.get(coefficient), [&](Trial &trial) {
    return !select(trial, machines).empty();
  });
}
