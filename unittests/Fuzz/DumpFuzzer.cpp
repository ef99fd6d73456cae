//===- DumpFuzzer.cpp - Questions about dumps of modules ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each question about a valid module has an answer or an error: advice and its
// prices, kernels, layouts that move fewer bytes, and what it computes, which
// is what it computes itself and with its bitcasts expanded.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "tessera/Advise/Advise.h"
#include "tessera/AssignHLO/AssignHLO.h"
#include "tessera/DataFlow/ExpandBitcasts.h"
#include "tessera/DataFlow/Prove.h"
#include "tessera/HLO/Verifier.h"
#include "tessera/Kernels/Kernels.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::fuzz;

static void checkError(llvm::Error error) {
  require(!takeDiagnostic(std::move(error)).message().empty(),
          "an error without a message");
}

static void checkAdvice(const hlo::Module &module, llvm::raw_ostream &os) {
  std::vector<Advice> list = advise(module);
  for (const Advice &advice : list)
    require(advice.bytesMoved() > 0 && advice.bytesPerStep() > 0,
            "advice that spares nothing");
  llvm::Expected<AdvicePrices> prices = priceAdvice(module, list);
  if (!prices)
    checkError(prices.takeError());
  else
    require(prices->lowerBound <= prices->then, "a price below its bound");
  const AdvicePrices *known = prices ? &*prices : nullptr;
  printAdvice(module, list, known, list.size(), os);
  printAdviceJSON(module, list, known, os);
}

static void checkKernels(const hlo::Module &module, llvm::raw_ostream &os) {
  std::vector<Kernel> kernels = findKernels(module);
  for (const Kernel &kernel : kernels)
    for (const hlo::SourceDiagnostic &problem : checkKernel(module, kernel))
      require(!problem.diagnostic.message().empty(),
              "a problem without a message");
  printKernels(module, kernels, /*withBody=*/true, os);
  printKernelsJSON(module, kernels, os);
}

static void checkAssignment(const hlo::Module &module, llvm::raw_ostream &os) {
  AssignOptions options;
  options.keep = true;
  options.writesText = true;
  options.solver.maxNodes = 50;
  llvm::Expected<HLOAssignment> assignment = assignLayouts(module, options);
  if (!assignment)
    return checkError(assignment.takeError());
  require(assignment->solution.cost <= assignment->before,
          "an assignment that moves more bytes than the module");
  require(assignment->solution.lowerBound <= assignment->solution.cost,
          "an assignment below its bound");
  printAssignment(module, *assignment, 10, os);
}

/// The module is changed.
static void checkFlow(hlo::Module &module, const hlo::Module &original) {
  require(proveSameFlow(original, original).answer != Answer::No,
          "a module computes something else than itself");
  std::vector<hlo::SourceDiagnostic> errors;
  if (!expandBitcasts(module, errors)) {
    require(!errors.empty(), "bitcasts are refused without an error");
    return;
  }
  require(proveSameFlow(original, module).answer != Answer::No,
          "a module computes something else with its bitcasts expanded");
}

void tessera::fuzz::runInput(llvm::StringRef text) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  if (!module || !hlo::verify(*module, errors))
    return;
  std::string out;
  llvm::raw_string_ostream os(out);
  checkAdvice(*module, os);
  checkKernels(*module, os);
  checkAssignment(*module, os);
  std::unique_ptr<hlo::Module> expanded = hlo::parse(text, errors);
  checkFlow(*expanded, *module);
}

std::string tessera::fuzz::mutateInput(llvm::StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  return mutator.mutate(text, random);
}
