//===- CustomCalls.cpp - Calls of what the TPU compiler has of its own ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their definitions are nowhere published. What they do was found out from
// modules whose values are known.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

/// Memory without contents; zeros, so that runs are alike.
static LogicalResult convertAllocateBuffer(HLOConverter &c, InstructionOp op) {
  SmallVector<Value> leaves;
  for (Type type : getSignlessLeaves(op.getType())) {
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
      return emitUnsupported(op, "shape", "numbers of static shape");
    Value empty = EmptyOp::create(c.b, type, ValueRange());
    Value zero = createScalar(c.b, tensor.getElementType(), 0);
    leaves.push_back(linalg::FillOp::create(c.b, zero, empty).getResult(0));
  }
  c.setLeaves(op.getResult(), leaves);
  return success();
}

/// A computation that the host runs.
static LogicalResult convertHostExecute(HLOConverter &c, InstructionOp op) {
  func::FuncOp computation = c.getCalledComputation(op);
  return computation ? convertCallOf(c, op, computation) : failure();
}

//===----------------------------------------------------------------------===//
// ConcatBitcast
//===----------------------------------------------------------------------===//

/// The dimension along which the operands lie one behind the other: the only
/// one in which they have other sizes than the result. -1 if there is none.
static int64_t getConcatenated(InstructionOp op) {
  RankedTensorType result = getArrayType(op.getResult());
  int64_t found = result.getRank() == 0 ? -1 : 0, numOthers = 0, sum = 0;
  for (Value operand : op.getOperands())
    if (getArrayType(operand).getRank() != result.getRank())
      return -1;
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    bool isSame = llvm::all_of(op.getOperands(), [&](Value operand) {
      return getArrayType(operand).getDimSize(dim) == result.getDimSize(dim);
    });
    found = isSame ? found : dim;
    numOthers += !isSame;
  }
  for (Value operand : op.getOperands())
    sum += found < 0 ? 0 : getArrayType(operand).getDimSize(found);
  return numOthers <= 1 && found >= 0 && sum == result.getDimSize(found) ? found
                                                                         : -1;
}

/// Arrays that lie one behind the other in memory are one array.
static Elements emitConcatBitcast(HLOConverter &c, InstructionOp op,
                                  ValueRange index) {
  int64_t dimension = op.getOperands().empty() ? -1 : getConcatenated(op);
  if (dimension < 0)
    return emitUnsupported(op, "operands",
                           "parts of the result along one dimension");
  return emitConcatenation(c, op, index, dimension);
}

//===----------------------------------------------------------------------===//
// Complex numbers and wide integers as two numbers
//===----------------------------------------------------------------------===//

/// The lower half of each element, the real part of complex ones, or the other.
template <bool isHigh>
static Elements emitSplit(HLOConverter &c, InstructionOp op, ValueRange index) {
  if (op.getOperands().size() != 1)
    return emitUnsupported(op, "operands", "one array");
  Type type = c.getElementType(op.getResult());
  Value element = c.getElement(op, 0, index);
  auto complexType = dyn_cast<ComplexType>(element.getType());
  if (complexType && complexType.getElementType() == type)
    return SmallVector<Value>{isHigh
                                  ? Value(complex::ImOp::create(c.b, element))
                                  : Value(complex::ReOp::create(c.b, element))};
  if (!element.getType().isInteger(64) || !type.isInteger(32))
    return emitUnsupported(op, "element type", "complex numbers or 64 bits");
  if (isHigh)
    element = arith::ShRUIOp::create(c.b, element,
                                     createScalar(c.b, element.getType(), 32));
  return SmallVector<Value>{arith::TruncIOp::create(c.b, type, element)};
}

static Elements emitCombine(HLOConverter &c, InstructionOp op,
                            ValueRange index) {
  if (op.getOperands().size() != 2)
    return emitUnsupported(op, "operands", "two arrays");
  Type type = c.getElementType(op.getResult());
  Value low = c.getElement(op, 0, index), high = c.getElement(op, 1, index);
  auto complexType = dyn_cast<ComplexType>(type);
  if (complexType && complexType.getElementType() == low.getType() &&
      low.getType() == high.getType())
    return SmallVector<Value>{complex::CreateOp::create(c.b, type, low, high)};
  if (!type.isInteger(64) || !low.getType().isInteger(32) ||
      !high.getType().isInteger(32))
    return emitUnsupported(op, "element type", "complex numbers or 64 bits");
  low = arith::ExtUIOp::create(c.b, type, low);
  high = arith::ExtUIOp::create(c.b, type, high);
  high = arith::ShLIOp::create(c.b, high, createScalar(c.b, type, 32));
  return SmallVector<Value>{arith::OrIOp::create(c.b, low, high)};
}

void hlo::populateCustomCallConversions(InstructionConversions &conversions) {
  llvm::StringMap<ConvertInstruction> &whole = conversions.instructions;
  whole["custom-call:AllocateBuffer"] = convertAllocateBuffer;
  whole["custom-call:HostExecute"] = convertHostExecute;
  // Promises about their operands.
  whole["custom-call:AssumeGatherIndicesInBound"] = convertForward;
  whole["custom-call:GatherScatterIndicesBitpacked"] = convertForward;
  llvm::StringMap<EmitElements> &elements = conversions.elements;
  elements["custom-call:ConcatBitcast"] = emitConcatBitcast;
  elements["custom-call:X64SplitLow"] = emitSplit</*isHigh=*/false>;
  elements["custom-call:X64SplitHigh"] = emitSplit</*isHigh=*/true>;
  elements["custom-call:X64Combine"] = emitCombine;
  llvm::StringMap<GetReads> &reads = conversions.reads;
  reads["custom-call:ConcatBitcast"] = readAll(Reads::Once);
  for (StringRef name : {"X64SplitLow", "X64SplitHigh", "X64Combine"})
    reads[("custom-call:" + name).str()] = readAll(Reads::SameIndex);
}
