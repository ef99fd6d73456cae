//===- Limits.cpp - The option --fail-if ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Limits.h"

#include "tessera/Support/ToolSupport.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;

std::optional<std::vector<Limit>>
tessera::parseLimits(llvm::ArrayRef<std::string> texts, bool canCompare) {
  std::vector<Limit> limits;
  for (const std::string &text : texts) {
    llvm::Expected<Limit> limit = Limit::parse(text);
    if (!limit) {
      reportError(limit.takeError(), text);
      return std::nullopt;
    }
    if (limit->isGrowth() && !canCompare) {
      reportError(invalidError("", "limit `" + text + "`",
                               "a limit without `+`, as nothing is compared",
                               "a growth", "use tessera-hlo diff"));
      return std::nullopt;
    }
    limits.push_back(std::move(*limit));
  }
  return limits;
}

int tessera::checkLimits(llvm::ArrayRef<Limit> limits, const Report &report,
                         const Report *before) {
  int code = kExitSuccess;
  for (const Limit &limit : limits) {
    auto excess = limit.check(report, before);
    if (!excess)
      return reportError(excess.takeError());
    if (!*excess)
      continue;
    llvm::errs() << "exceeded: " << **excess << '\n';
    code = kExitNo;
  }
  return code;
}
