//===- KernelConverter.cpp - Values and operations of kernels -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

int64_t mosaic::getInteger(Operation *op, StringRef name, int64_t otherwise) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  bool fits = attribute && attribute.getValue().getSignificantBits() <= 64;
  return fits ? attribute.getValue().getSExtValue() : otherwise;
}

std::optional<SmallVector<int64_t>> mosaic::getIntegers(Attribute attribute) {
  SmallVector<int64_t> numbers;
  if (auto wide = dyn_cast_or_null<DenseI64ArrayAttr>(attribute)) {
    llvm::append_range(numbers, wide.asArrayRef());
    return numbers;
  }
  if (auto narrow = dyn_cast_or_null<DenseI32ArrayAttr>(attribute)) {
    llvm::append_range(numbers, narrow.asArrayRef());
    return numbers;
  }
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!list)
    return std::nullopt;
  for (Attribute element : list) {
    auto number = dyn_cast<IntegerAttr>(element);
    if (!number || number.getValue().getSignificantBits() > 64)
      return std::nullopt;
    numbers.push_back(number.getValue().getSExtValue());
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelConverter::get(ValueRange range) const {
  return llvm::map_to_vector(range, [&](Value value) { return get(value); });
}

Type KernelConverter::convertType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return type;
  return RankedTensorType::get(vector.getShape(), vector.getElementType());
}

Value KernelConverter::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value KernelConverter::getIndex(Value number) {
  Value converted = get(number);
  if (isa<IndexType>(converted.getType()))
    return converted;
  return arith::IndexCastOp::create(b, b.getIndexType(), converted);
}

Value KernelConverter::createEmpty(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor::EmptyOp::create(b, tensor.getShape(), tensor.getElementType());
}

Value KernelConverter::createMemory(Type type) {
  auto memory = cast<ShapedType>(type);
  Type element = memory.getElementType();
  bool isNumber = element.isIntOrFloat();
  auto tensor = RankedTensorType::get(memory.getShape(),
                                      isNumber ? element : b.getI32Type());
  Value array =
      bufferization::AllocTensorOp::create(b, tensor, /*dynamicSizes=*/{});
  if (isNumber)
    return array;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  return linalg::FillOp::create(b, zero, array).getResult(0);
}

Value KernelConverter::clamp(Value number, Value limit) {
  number = arith::MaxSIOp::create(b, number, constantIndex(0));
  return arith::MinSIOp::create(b, number, limit);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

unsigned KernelConverter::addArray(Value tensor) {
  arrays.push_back(tensor);
  return arrays.size() - 1;
}

const View *KernelConverter::getView(Value memref) const {
  auto found = views.find(memref);
  return found == views.end() ? nullptr : &found->second;
}

void KernelConverter::setWholeView(Value memref, unsigned array) {
  View view;
  view.array = array;
  auto type = cast<RankedTensorType>(arrays[array].getType());
  view.offsets.assign(type.getRank(), constantIndex(0));
  view.sizes.assign(type.getShape().begin(), type.getShape().end());
  llvm::append_range(view.dims, llvm::seq<unsigned>(0, type.getRank()));
  setView(memref, std::move(view));
}

SmallVector<unsigned> KernelConverter::getWritten(Region &region) const {
  llvm::SmallSetVector<unsigned, 8> written;
  region.walk([&](Operation *op) {
    auto found = conversions.written.find(op->getName().getStringRef());
    Value memref;
    if (found != conversions.written.end())
      memref = found->second(op);
    // Parts are views of views, up to what is there before the region.
    while (memref && !views.contains(memref)) {
      Operation *def = memref.getDefiningOp();
      bool isView = def &&
                    conversions.views.contains(def->getName().getStringRef()) &&
                    def->getNumOperands() > 0;
      memref = isView ? def->getOperand(0) : Value();
    }
    if (const View *view = memref ? getView(memref) : nullptr)
      written.insert(view->array);
  });
  SmallVector<unsigned> numbers = written.takeVector();
  llvm::sort(numbers);
  return numbers;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

LogicalResult KernelConverter::unsupported(const Twine &field,
                                           const Twine &expected,
                                           const Twine &found) {
  Diagnostic diagnostic =
      takeDiagnostic(unsupportedError(field, expected, found));
  auto isSame = [&](const Diagnostic &other) {
    return other.message() == diagnostic.message();
  };
  // An operation may be there many times.
  if (llvm::none_of(errors, isSame))
    errors.push_back(std::move(diagnostic));
  return failure();
}

LogicalResult KernelConverter::unsupported(Operation *op, const Twine &expected,
                                           const Twine &found) {
  return unsupported("operation `" + op->getName().getStringRef() +
                         "` of the kernel",
                     expected, found);
}

/// Something for each number and vector that was not converted, so that what
/// uses it can be.
void KernelConverter::setPlaceholders(Operation *op) {
  for (Value result : op->getResults()) {
    Type type = convertType(result.getType());
    if (isa<RankedTensorType>(type))
      set(result, createEmpty(type));
    else if (type.isIntOrIndexOrFloat())
      set(result, arith::ConstantOp::create(b, b.getZeroAttr(type)));
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Upstream's operations on each element, which are the same on tensors.
static bool isElementwise(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         OpTrait::hasElementwiseMappableTraits(op);
}

void KernelConverter::checkOperations() {
  kernel->walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (!isa<ModuleOp, func::FuncOp, func::ReturnOp>(op) &&
        !isElementwise(op) && !conversions.operations.contains(name))
      (void)unsupported("operation of the kernel", "one that is converted",
                        "`" + name + "`");
  });
}

/// Narrow floating-point numbers as f32.
static Type widen(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() >= 32)
    return type;
  Type wide = Float32Type::get(type.getContext());
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(wide)) : wide;
}

/// Functions of narrow numbers are computed as those of f32.
static bool isComputedWide(Operation *op) {
  return isa<math::MathDialect>(op->getDialect()) &&
         llvm::any_of(op->getResultTypes(),
                      [](Type type) { return widen(type) != type; });
}

/// What divides by one that may be 0, or -1 where the quotient has no number:
/// processors trap. The results are those of HLO.
static Value createDivision(ImplicitLocOpBuilder &b, Operation *op,
                            ValueRange operands) {
  Value left = operands[0], right = operands[1];
  Type type = right.getType();
  Type element = getElementTypeOrSelf(type);
  auto constant = [&](int64_t value) -> Value {
    TypedAttr attribute = b.getIntegerAttr(element, value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(b, attribute);
  };
  auto isEqual = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, right,
                                 constant(value));
  };
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  Value isZero = isEqual(0);
  Value divisor = arith::SelectOp::create(b, isZero, constant(1), right);
  Value isMinusOne = isSigned ? isEqual(-1) : Value();
  if (isSigned)
    divisor = arith::SelectOp::create(b, isMinusOne, constant(1), divisor);
  OperationState state(b.getLoc(), op->getName(), {left, divisor}, {type});
  Value result = b.create(state)->getResult(0);
  if (isSigned && !isRemainder)
    result = arith::SelectOp::create(
        b, isMinusOne, arith::SubIOp::create(b, constant(0), left), result);
  return arith::SelectOp::create(b, isZero, isRemainder ? left : constant(-1),
                                 result);
}

LogicalResult KernelConverter::convertElementwise(Operation *op) {
  SmallVector<Value> operands = get(op->getOperands());
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    set(op->getResult(0), createDivision(b, op, operands));
    return success();
  }
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResultTypes(), convertType);
  SmallVector<Type> computed = types;
  if (isComputedWide(op)) {
    computed = llvm::map_to_vector(types, widen);
    for (Value &operand : operands)
      if (Type wide = widen(operand.getType()); wide != operand.getType())
        operand = arith::ExtFOp::create(b, wide, operand);
  }
  OperationState state(b.getLoc(), op->getName(), operands, computed,
                       op->getAttrs());
  for (auto [result, converted, type] :
       llvm::zip(op->getResults(), b.create(state)->getResults(), types)) {
    bool isSame = converted.getType() == type;
    set(result, isSame ? Value(converted)
                       : Value(arith::TruncFOp::create(b, type, converted)));
  }
  return success();
}

LogicalResult KernelConverter::convertOperation(Operation *op) {
  auto isKnown = [&](Value operand) {
    return isa<MemRefType>(operand.getType()) ? getView(operand) != nullptr
                                              : get(operand) != nullptr;
  };
  // What made the operand was diagnosed.
  if (!llvm::all_of(op->getOperands(), isKnown))
    return failure();
  auto found = conversions.operations.find(op->getName().getStringRef());
  if (found != conversions.operations.end())
    return found->second(*this, op);
  return isElementwise(op) ? convertElementwise(op) : failure();
}

LogicalResult KernelConverter::convertBlock(Block &block) {
  bool isConverted = true;
  for (Operation &op : block.without_terminator()) {
    if (succeeded(convertOperation(&op)))
      continue;
    setPlaceholders(&op);
    isConverted = false;
  }
  return success(isConverted);
}
