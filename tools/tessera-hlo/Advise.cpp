//===- Advise.cpp - tessera-hlo advise ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Advise/Advise.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("advise",
                          "Tell which layouts of arguments, results and loops "
                          "to ask for, what that saves and costs, and how",
                          run);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print JSON, as docs/report.md has it"));
static cl::opt<unsigned> limit("limit", cl::sub(command), cl::init(10),
                               cl::value_desc("n"),
                               cl::desc("Pieces of advice for people; 0 for "
                                        "all"));
static cl::opt<cl::boolOrDefault>
    price("price", cl::sub(command),
          cl::desc("Say what the module reads and writes with the advice; by "
                   "default where it has at most 50,000 instructions"));

/// What comes behind these saves little, and each price takes milliseconds for
/// a thousand instructions.
static constexpr size_t kMaxPrices = 20;

static bool isPriced(const hlo::Module &module) {
  constexpr size_t kMaxInstructions = 50000;
  if (price != cl::boolOrDefault::BOU_UNSET)
    return price == cl::boolOrDefault::BOU_TRUE;
  size_t instructions = 0;
  for (const hlo::Computation *computation : module.computations())
    instructions += computation->instructions().size();
  return instructions <= kMaxInstructions;
}

static int run() {
  std::optional<Dump> dump = readDump(file);
  if (!dump)
    return kExitBadInput;
  const hlo::Module &module = *dump->module;
  std::vector<Advice> list = advise(module);
  std::optional<AdvicePrices> prices;
  if (!list.empty() && isPriced(module)) {
    if (auto found = priceAdvice(
            module, llvm::MutableArrayRef(list).take_front(kMaxPrices)))
      prices = *found;
    else
      llvm::errs() << dump->path << ": note: the advice has no prices: "
                   << llvm::toString(found.takeError()) << '\n';
  }
  const AdvicePrices *known = prices ? &*prices : nullptr;
  if (asJSON)
    printAdviceJSON(module, list, known, llvm::outs());
  else
    printAdvice(module, list, known, limit == 0 ? list.size() : limit,
                llvm::outs());
  return kExitSuccess;
}
