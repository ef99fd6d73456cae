//===- Scratch.cpp - Buffers of the code for a plan -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scratch.h"

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace tessera;
using namespace mlir;

/// Marks the buffers on the stack.
static constexpr llvm::StringLiteral kStage = "relayout_stage";
/// Longer buffers are not for the stack. With one of each shorter size, a power
/// of two, less than twice as much is taken.
static constexpr int64_t kMaxOnStack = 16 << 10;

/// Buffers of the stack stand at the begin of a block, before all points.
Block::iterator Scratch::Point::get() const {
  if (before)
    return std::next(before->getIterator());
  return llvm::find_if(*block,
                       [](Operation &op) { return !op.hasAttr(kStage); });
}

Scratch::Scratch(ImplicitLocOpBuilder &builder, Type element)
    : b(builder), element(element), begin(getPoint()) {}

Scratch::Point Scratch::getPoint() const {
  Block *block = b.getInsertionBlock();
  Block::iterator here = b.getInsertionPoint();
  if (here == block->begin() || std::prev(here)->hasAttr(kStage))
    return {block, nullptr};
  return {block, &*std::prev(here)};
}

Value Scratch::get(int64_t elements) {
  int64_t size = llvm::PowerOf2Ceil(elements);
  auto type = MemRefType::get({size}, element);
  bool isShort = size * element.getIntOrFloatBitWidth() / 8 <= kMaxOnStack;
  return isShort ? getOnStack(type) : getOnHeap(type);
}

/// Allocated once for each thread: loops free what they allocate only in name.
/// Relayouts of a function come one after another and share it, too.
Value Scratch::getOnStack(MemRefType type) {
  Operation *scope = b.getInsertionBlock()->getParentOp();
  while (!isa<affine::AffineParallelOp, FunctionOpInterface>(scope))
    scope = scope->getParentOp();
  Block &block = scope->getRegion(0).front();
  for (Operation &op : block) {
    if (!op.hasAttr(kStage))
      break;
    if (op.getResult(0).getType() == type)
      return op.getResult(0);
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  auto buffer = memref::AllocaOp::create(
      b, type, b.getI64IntegerAttr(RelayoutTarget::kLineBytes));
  buffer->setAttr(kStage, b.getUnitAttr());
  return buffer;
}

Value Scratch::getOnHeap(MemRefType type) {
  Scope &scope = scopes.back();
  for (memref::AllocOp buffer : scope.buffers)
    if (buffer.getType() == type)
      return buffer;
  OpBuilder::InsertionGuard guard(b);
  if (scope.buffers.empty())
    b.setInsertionPoint(scope.begin.block, scope.begin.get());
  else
    b.setInsertionPointAfter(scope.buffers.back());
  auto buffer = memref::AllocOp::create(
      b, type, b.getI64IntegerAttr(RelayoutTarget::kLineBytes));
  // Upstream's deallocation must not free it.
  buffer->setAttr(bufferization::BufferizationDialect::kManualDeallocation,
                  b.getUnitAttr());
  scope.buffers.push_back(buffer);
  return buffer;
}

void Scratch::emitScope(llvm::function_ref<void()> body) {
  scopes.push_back({getPoint(), {}});
  body();
  auto buffers = scopes.pop_back_val().buffers;
  if (buffers.empty())
    return;
  Block *block = b.getInsertionBlock();
  Block::iterator end = b.getInsertionPoint();
  b.setInsertionPointAfter(buffers.back());
  auto first = b.getInsertionPoint();
  Value isThere = emitTest(buffers);
  auto choice = scf::IfOp::create(b, isThere, /*withElseRegion=*/true);
  Block *then = choice.thenBlock();
  then->getOperations().splice(then->begin(), block->getOperations(), first,
                               end);
  b.setInsertionPointToStart(choice.elseBlock());
  Value one = arith::ConstantIntOp::create(b, 1, /*width=*/8);
  memref::StoreOp::create(b, one, getFlag());
  b.setInsertionPointAfter(choice);
  for (memref::AllocOp buffer : buffers) {
    auto free = memref::DeallocOp::create(b, buffer);
    free->setAttr(bufferization::BufferizationDialect::kManualDeallocation,
                  b.getUnitAttr());
  }
}

Value Scratch::emitTest(llvm::ArrayRef<memref::AllocOp> buffers) {
  Value none = arith::ConstantIndexOp::create(b, 0), all;
  for (memref::AllocOp buffer : buffers) {
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
    Value isThere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, address, none);
    all = all ? arith::AndIOp::create(b, all, isThere) : isThere;
  }
  return all;
}

Value Scratch::getFlag() {
  if (flag)
    return flag;
  OpBuilder::InsertionGuard guard(b);
  Operation *function =
      begin.block->getParentOp()->getParentOfType<FunctionOpInterface>();
  if (auto own = dyn_cast<FunctionOpInterface>(begin.block->getParentOp()))
    function = own;
  b.setInsertionPointToStart(&function->getRegion(0).front());
  auto buffer = memref::AllocaOp::create(b, MemRefType::get({}, b.getI8Type()));
  buffer->setAttr(kStage, b.getUnitAttr());
  flag = buffer;
  b.setInsertionPoint(begin.block, begin.get());
  Value zero = arith::ConstantIntOp::create(b, 0, /*width=*/8);
  memref::StoreOp::create(b, zero, flag);
  return flag;
}

void Scratch::emitFallback(llvm::function_ref<void()> otherwise) {
  if (!flag)
    return;
  Value zero = arith::ConstantIntOp::create(b, 0, /*width=*/8);
  Value value = memref::LoadOp::create(b, flag);
  Value isMissing =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
  auto choice = scf::IfOp::create(b, isMissing, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  otherwise();
}
