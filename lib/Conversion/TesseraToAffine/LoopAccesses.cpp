//===- LoopAccesses.cpp - What affine loops read and write ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopAccesses.h"

#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

/// The argument that stands for the memory of `argument`: the first one of a
/// public function, whose callers are not known, unless they promise that it is
/// separate; null for a block's.
static Value getArgumentBuffer(BlockArgument argument) {
  Block *block = argument.getOwner();
  auto function = dyn_cast<FunctionOpInterface>(block->getParentOp());
  if (!function || !block->isEntryBlock())
    return {};
  bool isSeparate =
      !function.isPublic() ||
      function.getArgAttr(argument.getArgNumber(),
                          LLVM::LLVMDialect::getNoAliasAttrName());
  return isSeparate ? argument : block->getArgument(0);
}

/// The buffer that a memref is a view of; null where that is not known. Two
/// operations may name one global: only those that nothing writes are known.
static Value getBuffer(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  if (auto argument = dyn_cast<BlockArgument>(memref))
    return getArgumentBuffer(argument);
  if (auto get = memref.getDefiningOp<memref::GetGlobalOp>()) {
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        get, get.getNameAttr());
    return global && global.getConstant() ? memref : Value();
  }
  bool isNew = isa<memref::AllocOp, memref::AllocaOp>(memref.getDefiningOp());
  return isNew ? memref : Value();
}

bool tessera::areSeparate(AffineForOp loop) {
  llvm::DenseMap<Value, llvm::SmallDenseSet<Value, 2>> memrefs;
  llvm::DenseSet<Value> written;
  bool isKnown = true;
  auto add = [&](Value memref) {
    Value buffer = getBuffer(memref);
    isKnown &= bool(buffer);
    memrefs[buffer].insert(memref);
    return buffer;
  };
  loop.walk([&](Operation *op) {
    if (auto read = dyn_cast<affine::AffineReadOpInterface>(op))
      add(read.getMemRef());
    else if (auto write = dyn_cast<affine::AffineWriteOpInterface>(op))
      written.insert(add(write.getMemRef()));
  });
  return isKnown && llvm::all_of(written, [&](Value buffer) {
           return memrefs.lookup(buffer).size() == 1;
         });
}

std::optional<int64_t> tessera::getStep(MemRefType type, AffineMap map,
                                        ValueRange mapOperands,
                                        AffineForOp loop) {
  SmallVector<int64_t> strides;
  int64_t offset, step = 0;
  SmallVector<Value> operands(mapOperands);
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (auto [index, stride] : llvm::zip_equal(map.getResults(), strides)) {
    // More columns are those of divisions.
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(index, map.getNumDims(),
                                      map.getNumSymbols(), &flat)) ||
        flat.size() != operands.size() + 1)
      return std::nullopt;
    for (auto [operand, coefficient] : llvm::zip(operands, flat)) {
      if (affine::getForInductionVarOwner(operand) != loop || coefficient == 0)
        continue;
      int64_t moved;
      if (ShapedType::isDynamic(stride) ||
          llvm::MulOverflow(stride, coefficient, moved) ||
          llvm::AddOverflow(step, moved, step) || step == INT64_MIN)
        return std::nullopt;
    }
  }
  return step;
}
