//===- AssignAddressSpaces.cpp - Memory spaces as integers ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"
#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Layout/Diagnostic.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {
#define GEN_PASS_DEF_ASSIGNADDRESSSPACES
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct AssignAddressSpacesPass
    : tessera::impl::AssignAddressSpacesBase<AssignAddressSpacesPass> {
  using AssignAddressSpacesBase::AssignAddressSpacesBase;

  void runOnOperation() override;

private:
  LogicalResult parseMap();
  void readTarget();
  FailureOr<Attribute> getAddressSpace(MemorySpaceAttr space) const;
  LogicalResult checkOperation(Operation *op) const;

  /// From the number of a space to its address space.
  llvm::DenseMap<int64_t, int64_t> addressSpaces;
  /// Where they are from, unless from the option.
  TargetAttr target;
};
} // namespace

/// The key of the entry `*`, for spaces without one of their own.
static constexpr int64_t kEverySpace = -1;

LogicalResult AssignAddressSpacesPass::parseMap() {
  addressSpaces.clear();
  for (StringRef entry : map) {
    auto [from, to] = entry.split(':');
    int64_t space, addressSpace;
    bool isDefault = from == "*";
    if (isDefault)
      space = kEverySpace;
    else if (from.getAsInteger(10, space) || space < 1)
      space = 0;
    bool isValid =
        space != 0 && !to.getAsInteger(10, addressSpace) && addressSpace >= 0;
    if (failed(checkOption(
            getOperation(), map.ArgStr, isValid,
            "entries SPACE:ADDRESS-SPACE, where SPACE is 1 or more, or `*` for "
            "all others",
            "`" + entry + "`")))
      return failure();
    addressSpaces[space] = addressSpace;
  }
  return success();
}

/// Without a map the target of the module says where its spaces are.
void AssignAddressSpacesPass::readTarget() {
  target = TargetAttr();
  if (!map.empty())
    return;
  target = TargetAttr::lookup(getOperation());
  if (!target)
    return;
  for (const MemorySpace &space : target.getMemorySpaces())
    addressSpaces[space.number] = space.addressSpace;
}

/// The integer attribute that stands for `space`, null for 0.
FailureOr<Attribute>
AssignAddressSpacesPass::getAddressSpace(MemorySpaceAttr space) const {
  int64_t number = space.getNumber();
  if (!addressSpaces.empty()) {
    auto found = addressSpaces.find(number);
    if (found == addressSpaces.end())
      found = addressSpaces.find(kEverySpace);
    if (found == addressSpaces.end())
      return failure();
    number = found->second;
  }
  if (number == 0)
    return Attribute();
  return Attribute(
      IntegerAttr::get(IntegerType::get(space.getContext(), 64), number));
}

/// Whether every space in the operation's types and attributes has a number.
LogicalResult AssignAddressSpacesPass::checkOperation(Operation *op) const {
  MemorySpaceAttr unmapped;
  AttrTypeWalker walker;
  walker.addWalk([&](MemorySpaceAttr space) {
    if (!unmapped && failed(getAddressSpace(space)))
      unmapped = space;
  });
  auto walkTypes = [&](TypeRange types) {
    for (Type type : types)
      walker.walk(type);
  };
  walkTypes(op->getResultTypes());
  walker.walk(op->getAttrDictionary());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      walkTypes(block.getArgumentTypes());
  if (!unmapped)
    return success();
  std::string owner =
      target ? ("the target " + target.getName()).str() : "the option map";
  std::string remedy = "add " + std::to_string(unmapped.getNumber()) + ":N to ";
  remedy += target ? "the option map, which comes before the target" : "map";
  return emitLayoutError([&] { return op->emitOpError(); },
                         unsupportedError("memory space",
                                          "a space that " + owner + " has",
                                          Twine(unmapped.getNumber()), remedy));
}

void AssignAddressSpacesPass::runOnOperation() {
  if (failed(parseMap()))
    return signalPassFailure();
  readTarget();
  bool isMapped = true;
  getOperation()->walk(
      [&](Operation *op) { isMapped &= succeeded(checkOperation(op)); });
  if (!isMapped)
    return signalPassFailure();

  AttrTypeReplacer replacer;
  replacer.addReplacement([&](MemRefType type) -> std::optional<Type> {
    auto space = dyn_cast_or_null<MemorySpaceAttr>(type.getMemorySpace());
    if (!space)
      return std::nullopt;
    ++numTypes;
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout(), *getAddressSpace(space));
  });
  replacer.addReplacement([&](UnrankedMemRefType type) -> std::optional<Type> {
    auto space = dyn_cast_or_null<MemorySpaceAttr>(type.getMemorySpace());
    if (!space)
      return std::nullopt;
    ++numTypes;
    return UnrankedMemRefType::get(type.getElementType(),
                                   *getAddressSpace(space));
  });
  replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  // Nothing is left that the target could be asked about.
  getOperation()->walk(
      [](ModuleOp module) { module->removeAttr(TargetAttr::kAttrName); });
}
