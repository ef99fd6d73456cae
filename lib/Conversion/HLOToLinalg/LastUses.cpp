//===- LastUses.cpp - Arrays that may be overwritten ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LastUses.h"

#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

/// Of calls in calls. Beyond, a copy is no worse.
static constexpr unsigned kMaxDepth = 16;

/// The functions that an attribute of an instruction names.
static SmallVector<StringAttr> getSymbols(InstructionOp op, StringRef name) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  Attribute value = attributes ? attributes.get(name) : Attribute();
  SmallVector<StringAttr> names;
  if (auto reference = dyn_cast_or_null<FlatSymbolRefAttr>(value))
    names.push_back(reference.getAttr());
  if (auto list = dyn_cast_or_null<ArrayAttr>(value))
    for (Attribute element : list)
      if (auto reference = dyn_cast<FlatSymbolRefAttr>(element))
        names.push_back(reference.getAttr());
  return names;
}

/// The arrays of values, one after the other.
static SmallVector<std::pair<Value, unsigned>> getLeaves(ValueRange values) {
  SmallVector<std::pair<Value, unsigned>> leaves;
  for (Value value : values)
    for (unsigned i = 0, e = getLeafTypes(value.getType()).size(); i < e; ++i)
      leaves.push_back({value, i});
  return leaves;
}

LastUses::LastUses(ModuleOp module) : symbols(module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (llvm::hasSingleElement(function.getBody()))
      visitFunction(function);
}

void LastUses::addCallers(InstructionOp op) {
  for (StringRef name : {"calls", "to_apply"})
    for (StringAttr symbol : getSymbols(op, name))
      callers[symbols.lookup(symbol)].push_back({op, 0});
  unsigned operand = 1;
  for (StringRef name :
       {"branch_computations", "true_computation", "false_computation"})
    for (StringAttr symbol : getSymbols(op, name))
      callers[symbols.lookup(symbol)].push_back({op, operand++});
  for (StringAttr symbol : getSymbols(op, "body"))
    bodies.insert(symbols.lookup(symbol));
  // A condition leaves the state as it is.
  for (StringAttr symbol : getSymbols(op, "condition"))
    callers[symbols.lookup(symbol)].append(2, {op, 0});
}

RankedTensorType LastUses::getType(Leaf leaf) {
  return getLeafTypes(leaf.first.getType())[leaf.second];
}

/// The leaves of `result` have the memory of `leaves`. What is no bitcast and
/// changes the layout is a copy.
void LastUses::shareLeaves(Value result, ArrayRef<Leaf> leaves) {
  SmallVector<RankedTensorType> types = getLeafTypes(result.getType());
  if (leaves.size() != types.size())
    return;
  for (auto [number, leaf] : llvm::enumerate(leaves))
    if (result.getDefiningOp<BitcastOp>() || getType(leaf) == types[number])
      sources[{result, number}] = getOrigin(leaf);
}

/// Whether the result is all operands, one behind the other.
static bool isTuple(InstructionOp op) {
  return llvm::is_contained(
      {"tuple", "opt-barrier", "add-dependency", "domain"}, op.getOpcode());
}

/// Whether the operation hands arrays on, and neither reads nor writes them.
static bool isForward(Operation *op) {
  auto instruction = dyn_cast<InstructionOp>(op);
  return isa<BitcastOp>(op) ||
         (instruction && (isTuple(instruction) ||
                          instruction.getOpcode() == "get-tuple-element"));
}

void LastUses::visit(InstructionOp op) {
  addCallers(op);
  SmallVector<Leaf> leaves = getLeaves(op.getOperands());
  if (isTuple(op))
    return shareLeaves(op.getResult(), leaves);
  int64_t index = getInteger(op, "index", -1);
  auto tuple = op.getOperands().empty()
                   ? TupleType()
                   : dyn_cast<TupleType>(op.getOperand(0).getType());
  if (op.getOpcode() != "get-tuple-element" || !tuple || index < 0 ||
      static_cast<size_t>(index) >= tuple.size())
    return;
  size_t first = 0;
  for (Type type : tuple.getTypes().take_front(index))
    first += getLeafTypes(type).size();
  size_t count = getLeafTypes(tuple.getType(index)).size();
  shareLeaves(op.getResult(), ArrayRef(leaves).slice(first, count));
}

void LastUses::visitFunction(func::FuncOp function) {
  for (Operation &op : function.front()) {
    if (auto instruction = dyn_cast<InstructionOp>(op))
      visit(instruction);
    if (auto bitcast = dyn_cast<BitcastOp>(op))
      shareLeaves(bitcast, Leaf(bitcast.getSource(), 0));
    if (isForward(&op))
      continue;
    for (OpOperand &operand : op.getOpOperands())
      for (Leaf leaf : getLeaves(operand.get()))
        uses[getOrigin(leaf)].push_back(&operand);
  }
}

LastUses::Leaf LastUses::getOrigin(Leaf leaf) const {
  auto found = sources.find(leaf);
  return found == sources.end() ? leaf : found->second;
}

bool LastUses::isInvariant(func::FuncOp body, unsigned number) const {
  if (!llvm::hasSingleElement(body.getBody()))
    return false;
  SmallVector<Leaf> state = getLeaves(body.getArguments());
  SmallVector<Leaf> results =
      getLeaves(body.front().getTerminator()->getOperands());
  // The same memory is the same array where it has the same type.
  return number < state.size() && number < results.size() &&
         getOrigin(results[number]) == state[number] &&
         getType(results[number]) == getType(state[number]);
}

bool LastUses::isCallersLast(BlockArgument argument, unsigned number,
                             unsigned depth) const {
  // Functions may call themselves.
  if (depth > kMaxDepth)
    return false;
  Operation *function = argument.getOwner()->getParentOp();
  if (bodies.contains(function))
    return true;
  auto found = callers.find(function);
  if (found == callers.end() || found->second.size() != 1)
    return false;
  auto [caller, firstOperand] = found->second.front();
  unsigned operand = firstOperand + argument.getArgNumber();
  if (operand >= caller.getOperands().size())
    return false;
  Operation *op = caller;
  return mayOverwrite(
      {caller.getOperand(operand), number},
      [&](OpOperand &use) {
        return use.getOwner() == op ? use.getOperandNumber() != operand
                                    : op->isBeforeInBlock(use.getOwner());
      },
      depth + 1);
}

bool LastUses::mayOverwrite(
    Value array, llvm::function_ref<bool(OpOperand &use)> isLater) const {
  return mayOverwrite(Leaf(array, 0), isLater, /*depth=*/0);
}

bool LastUses::mayOverwrite(Leaf leaf,
                            llvm::function_ref<bool(OpOperand &use)> isLater,
                            unsigned depth) const {
  auto [origin, number] = getOrigin(leaf);
  auto found = uses.find({origin, number});
  if (origin.getDefiningOp<arith::ConstantOp>() ||
      (found != uses.end() && llvm::any_of(found->second, [&](OpOperand *use) {
         return isLater(*use);
       })))
    return false;
  auto argument = dyn_cast<BlockArgument>(origin);
  return !argument || isCallersLast(argument, number, depth);
}
