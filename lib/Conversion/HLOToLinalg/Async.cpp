//===- Async.cpp - Instructions in steps, and among participants ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/HLO/Opcode.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

//===----------------------------------------------------------------------===//
// Asynchronous instructions
//===----------------------------------------------------------------------===//

/// The attributes of the instruction that runs: what `calls` names is called.
static DictionaryAttr getWrappedAttributes(InstructionOp op) {
  NamedAttrList attributes(op.getHloAttributesAttr());
  if (Attribute calls = attributes.erase("calls"))
    attributes.append("to_apply", calls);
  return attributes.getDictionary(op.getContext());
}

/// `slice-start` and the like: the operands, the result, and a context that
/// nothing reads. All is done when it starts.
static LogicalResult convertStart(HLOConverter &c, InstructionOp op,
                                  StringRef opcode) {
  auto tuple = dyn_cast<TupleType>(op.getType());
  if (!tuple || tuple.size() < 2 || c.isScalar())
    return emitUnsupported(op, "result", "operands, result and context");
  std::optional<Opcode> known = parseOpcode(opcode);
  int count = known ? getNumOperands(*known) : -2;
  if (count != kVariadic && count != static_cast<int>(op.getOperands().size()))
    return emitUnsupported(op, "operands", "those of " + opcode);
  // It stands in the module that is replaced.
  OpBuilder builder(op);
  auto wrapped = InstructionOp::create(
      builder, op.getLoc(), tuple.getType(1), builder.getStringAttr(opcode),
      op.getOperands(), StringAttr(), op.getNameAttr(),
      getWrappedAttributes(op));
  if (failed(c.convertInstruction(wrapped)))
    return failure();
  SmallVector<Value> leaves = c.getAllLeaves(op.getOperands());
  llvm::append_range(leaves, c.getLeaves(wrapped.getResult()));
  SmallVector<Type> types = getSignlessLeaves(tuple);
  if (leaves.size() > types.size())
    return emitUnsupported(op, "result", "operands, result and context");
  for (Type type : ArrayRef(types).drop_front(leaves.size()))
    leaves.push_back(EmptyOp::create(c.b, type, ValueRange()));
  c.setLeaves(op.getResult(), leaves);
  return success();
}

/// The result in the tuple of a start.
static LogicalResult convertDone(HLOConverter &c, InstructionOp op) {
  auto tuple = dyn_cast<TupleType>(op.getOperand(0).getType());
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  size_t first =
      tuple && tuple.size() != 0 ? getLeafTypes(tuple.getType(0)).size() : 0;
  SmallVector<Value> leaves(c.getLeaves(op.getOperand(0)));
  if (!tuple || first + types.size() > leaves.size())
    return emitUnsupported(op, "operand", "the start of an instruction");
  ArrayRef<Value> results = ArrayRef(leaves).slice(first, types.size());
  leaves.assign(results.begin(), results.end());
  for (auto [leaf, type] : llvm::zip(leaves, types))
    leaf = c.relayout(leaf, type);
  c.setLeaves(op.getResult(), leaves);
  return success();
}

static LogicalResult convertUpdate(HLOConverter &c, InstructionOp op) {
  c.setLeaves(op.getResult(),
              SmallVector<Value>(c.getLeaves(op.getOperand(0))));
  return success();
}

LogicalResult hlo::convertAsyncStep(HLOConverter &c, InstructionOp op) {
  StringRef opcode = op.getOpcode();
  if (opcode.consume_back("-start"))
    return convertStart(c, op, opcode == "async" ? "call" : opcode);
  if (opcode.ends_with("-done"))
    return convertDone(c, op);
  return convertUpdate(c, op);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Whether the header of the module says that there is more than one program.
static bool isParallel(InstructionOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto header = module ? module->getAttrOfType<DictionaryAttr>(
                             TesseraHLODialect::getAttributesAttrName())
                       : DictionaryAttr();
  StringRef names[] = {"replica_count", "num_partitions"};
  return llvm::any_of(names, [&](StringRef name) {
    auto text = header ? header.getAs<StringAttr>(name) : StringAttr();
    return text && text.getValue() != "1";
  });
}

/// The groups of a collective, and whether its one participant gets what it
/// gives. No groups stand for one of all; without pairs nobody gets anything.
static std::pair<StringRef, bool> getGroups(InstructionOp op) {
  if (op.getOpcode().starts_with("collective-permute")) {
    StringRef pairs = getText(op, "source_target_pairs");
    return {pairs, pairs == "{{0,0}}"};
  }
  StringRef groups = getText(op, "replica_groups");
  return {groups, groups == "{{0}}" || groups == "{}"};
}

/// The number of the one participant.
static Elements emitParticipant(HLOConverter &c, InstructionOp op, ValueRange) {
  if (isParallel(op))
    return emitUnsupported(op, "participants", "one", "more");
  Type type = c.getElementType(op.getResult());
  if (!isa<IntegerType>(type))
    return emitUnsupported(op, "element type", "an integer");
  return SmallVector<Value>{createScalar(c.b, type, 0)};
}

/// Among one participant they hand their operands on.
static LogicalResult convertCollective(HLOConverter &c, InstructionOp op) {
  auto [groups, isAlone] = getGroups(op);
  if (!isAlone || isParallel(op))
    return emitUnsupported(op, "groups", "one participant",
                           groups.empty() ? "none" : groups);
  SmallVector<Value> leaves = c.getAllLeaves(op.getOperands());
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  bool isSame = leaves.size() == types.size() && !c.isScalar();
  for (size_t i = 0; isSame && i < types.size(); ++i)
    isSame = cast<RankedTensorType>(types[i]).getShape() ==
             cast<RankedTensorType>(leaves[i].getType()).getShape();
  if (!isSame)
    return emitUnsupported(op, "result", "the operands' shapes");
  for (auto [leaf, type] : llvm::zip(leaves, types))
    leaf = c.relayout(leaf, type);
  c.setLeaves(op.getResult(), leaves);
  return success();
}

void hlo::populateAsyncConversions(InstructionConversions &conversions) {
  llvm::StringMap<ConvertInstruction> &table = conversions.instructions;
  for (StringRef opcode :
       {"all-gather", "all-reduce", "all-reduce-start", "all-reduce-done",
        "all-to-all", "collective-broadcast", "collective-permute",
        "reduce-scatter"})
    table[opcode] = convertCollective;
  table["all-reduce-done"] = convertUpdate;
  conversions.elements["partition-id"] = emitParticipant;
  conversions.elements["replica-id"] = emitParticipant;
}
