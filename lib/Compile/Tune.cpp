//===- Tune.cpp - Plans by measurement ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Tune.h"

#include "Machine.h"
#include "Race.h"
#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

/// Candidates of a nest that are timed, the cheapest ones.
static constexpr size_t kMaxChoices = 48;
/// The rule stays where a variant is faster by less.
static constexpr double kRuleMargin = 0.99;

namespace {
/// Plans and their code, the rule first.
struct Variants {
  std::vector<TimedPlan> plans;
  std::vector<RelayoutFunction> functions;
};
} // namespace

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

llvm::Error tessera::checkIsThisMachine(const CompileOptions &options) {
  if (options.triple.empty() && options.cpu.empty())
    return llvm::Error::success();
  return unsupportedError("machine to measure", "this one",
                          options.triple.empty() ? options.cpu : options.triple,
                          "name neither a target nor a processor");
}

/// Compiles the relayout by each variant that has a plan of its own, the rule
/// first. Loops over elements, where there is no plan, have no variants.
static llvm::Expected<Variants> compileVariants(const ArrayPart &source,
                                                const ArrayPart &destination,
                                                CompileOptions options) {
  Variants variants;
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
    variants.plans.push_back({tuning, 0});
    variants.functions.push_back(std::move(*function));
  }
  return variants;
}

/// The plans, of which the rule is the first: from fastest to slowest, but that
/// the rule needs to be beaten by a margin.
static void rank(std::vector<TimedPlan> &plans) {
  auto isFaster = [](const TimedPlan &a, const TimedPlan &b) {
    return a.seconds < b.seconds;
  };
  std::sort(plans.begin() + 1, plans.end(), isFaster);
  TimedPlan rule = plans.front();
  rule.seconds *= kRuleMargin;
  auto position =
      std::lower_bound(plans.begin() + 1, plans.end(), rule, isFaster);
  std::rotate(plans.begin(), plans.begin() + 1, position);
}

/// The buffers to time a relayout on.
static llvm::Expected<Arrays> allocateArrays(const ArrayPart &source,
                                             const ArrayPart &destination,
                                             CompileOptions options) {
  auto arrays = Arrays::allocate(source, destination, options.buffers);
  if (!arrays || (source.isWhole() && destination.isWhole()))
    return arrays;
  options.tuning = RelayoutTuning();
  options.tuning.nontemporal = false;
  auto writer = getRelayoutFunction(source, destination, options);
  if (!writer)
    return writer.takeError();
  arrays->setWriter(std::move(*writer));
  return arrays;
}

llvm::Expected<std::vector<TimedPlan>>
tessera::tuneRelayout(const ArrayPart &source, const ArrayPart &destination,
                      const CompileOptions &options) {
  if (llvm::Error error = checkIsThisMachine(options))
    return std::move(error);
  auto variants = compileVariants(source, destination, options);
  if (!variants)
    return variants.takeError();
  auto arrays = allocateArrays(source, destination, options);
  if (!arrays)
    return arrays.takeError();
  std::vector<double> seconds = arrays->race(variants->functions);
  for (auto [plan, time] : llvm::zip_equal(variants->plans, seconds))
    plan.seconds = time;
  rank(variants->plans);
  return std::move(variants->plans);
}
