//===- Runs.cpp - How often operations run --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runs.h"

#include "tessera/Assign/CostGraph.h"

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tessera;

int64_t tessera::multiplyCosts(int64_t lhs, int64_t rhs) {
  return std::min(llvm::checkedMul(lhs, rhs).value_or(kInfiniteCost),
                  kInfiniteCost - 1);
}

int64_t tessera::sumCosts(int64_t lhs, int64_t rhs) {
  return std::min(llvm::checkedAdd(lhs, rhs).value_or(kInfiniteCost),
                  kInfiniteCost - 1);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The function of a call that names it, where it stands below the root.
static FunctionOpInterface resolve(CallOpInterface call, Operation *root,
                                   SymbolTableCollection &tables) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(
      call.resolveCallableInTable(&tables));
  return function && root->isProperAncestor(function) ? function
                                                      : FunctionOpInterface();
}

KnownCalls::KnownCalls(Operation *root) {
  SymbolTableCollection tables;
  root->walk([&](CallOpInterface call) {
    if (FunctionOpInterface function = resolve(call, root, tables))
      callers[function].push_back(call);
  });
  // What is seen from outside, or used by another than a call, has callers that
  // are not known.
  SymbolUserMap users(tables, root);
  for (auto &[function, list] : callers) {
    auto symbol = dyn_cast<SymbolOpInterface>(function);
    auto body = cast<FunctionOpInterface>(function);
    if (!symbol || !symbol.isPrivate() || body.isExternal() ||
        users.getUsers(function).size() != list.size())
      list.clear();
    for (CallOpInterface call : list)
      callees[call] = body;
  }
}

ArrayRef<CallOpInterface>
KnownCalls::getCallers(FunctionOpInterface function) const {
  auto found = callers.find(function);
  return found == callers.end() ? ArrayRef<CallOpInterface>() : found->second;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Blocks that branch to each other are loops of unknown length.
int64_t Runs::getOfBlock(Block *block) {
  Region *region = block->getParent();
  if (region->hasOneBlock())
    return 1;
  if (knownRegions.try_emplace(region, true).second) {
    DominanceInfo dominance;
    CFGLoopInfo loops(dominance.getDomTree(region));
    for (Block &each : *region) {
      int64_t count = 1;
      for (unsigned i = 0; i < loops.getLoopDepth(&each); ++i)
        count = multiplyCosts(count, unknownTrips);
      inRegion[&each] = count;
    }
  }
  return inRegion.lookup(block);
}

/// The sum over all calls. A function that calls itself counts as called once
/// from there.
int64_t Runs::getOfFunction(FunctionOpInterface function) {
  auto [known, isNew] = ofFunctions.try_emplace(function, 1);
  ArrayRef<CallOpInterface> callers = calls.getCallers(function);
  if (!isNew || callers.empty())
    return known->second;
  int64_t sum = 0;
  for (CallOpInterface call : callers)
    sum = sumCosts(sum, get(call.getOperation()));
  return ofFunctions[function] = sum;
}

int64_t Runs::get(Operation *op) {
  return op == root || !op->getBlock() ? 1 : get(op->getBlock());
}

int64_t Runs::get(Block *block) {
  Operation *parent = block->getParentOp();
  int64_t count = getOfBlock(block);
  if (auto function = dyn_cast<FunctionOpInterface>(parent))
    return multiplyCosts(count, getOfFunction(function));
  if (parent == root)
    return count;
  if (auto loop = dyn_cast<LoopLikeOpInterface>(parent)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    bool isKnown = trips && trips->getActiveBits() < 63;
    count = multiplyCosts(count, isKnown ? int64_t(trips->getZExtValue())
                                         : unknownTrips);
  }
  return multiplyCosts(count, get(parent));
}
