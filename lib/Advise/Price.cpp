//===- Price.cpp - What advice is worth to a module -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Advise/Advise.h"

#include "tessera/AssignHLO/AssignHLO.h"
#include "tessera/HLO/Leaves.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::hlo;

/// The change of the module's boundary that the advice is; none where it is
/// about a loop or about who may write.
static BoundaryChange getChange(const Module &module, const Advice &advice,
                                LeafCounter &leaves) {
  switch (advice.kind) {
  case Advice::Kind::Argument:
    return {{/*isResult=*/false, advice.number, advice.to}};
  case Advice::Kind::Result: {
    const Shape &results = *module.entry()->root()->shape;
    size_t leaf = advice.number;
    if (results.isTuple())
      leaf = leaves.getRange(results, {static_cast<int64_t>(leaf)})->begin;
    return {{/*isResult=*/true, leaf, advice.to}};
  }
  case Advice::Kind::LoopState:
  case Advice::Kind::Donation:
    return {};
  }
  return {};
}

llvm::Expected<AdvicePrices>
tessera::priceAdvice(const Module &module, llvm::MutableArrayRef<Advice> list) {
  LeafCounter leaves;
  std::vector<BoundaryChange> changes;
  std::vector<Advice *> priced;
  BoundaryChange all;
  for (Advice &advice : list)
    if (BoundaryChange change = getChange(module, advice, leaves);
        !change.empty()) {
      llvm::append_range(all, change);
      changes.push_back(std::move(change));
      priced.push_back(&advice);
    }
  changes.push_back(std::move(all));
  AssignOptions options;
  options.keepsComputation = true;
  auto bytes = priceBoundary(module, changes, options);
  if (!bytes)
    return bytes.takeError();
  auto now = countTouchedBytes(module);
  if (!now)
    return now.takeError();
  for (auto [advice, price] : llvm::zip(priced, llvm::drop_begin(*bytes)))
    advice->moduleBytes = price.bytes;
  return AdvicePrices{*now, bytes->back().bytes, bytes->back().lowerBound};
}
