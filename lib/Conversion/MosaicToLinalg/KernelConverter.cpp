//===- KernelConverter.cpp - Values and operations of kernels -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "tessera/Conversion/TotalArith.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

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

Value KernelConverter::castToIndex(Value converted) {
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
  bool hasNumbers = element.isIntOrIndexOrFloat();
  auto tensor = RankedTensorType::get(memory.getShape(),
                                      hasNumbers ? element : b.getI32Type());
  Value array =
      bufferization::AllocTensorOp::create(b, tensor, /*dynamicSizes=*/{});
  if (hasNumbers)
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

/// More than any memory has; sizes in bytes, and sums of a few, do not
/// overflow.
static constexpr int64_t kMaxBytes = int64_t(1) << 48;

/// Numbers that a processor may compute with.
static bool isNumber(Type type) {
  return isa<IndexType>(type) ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64);
}

/// Whether elements of so many sizes have at most kMaxBytes, of 8 bytes each.
static bool isInMemory(ArrayRef<int64_t> sizes) {
  int64_t bytes = 8;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      continue;
    std::optional<int64_t> product = llvm::checkedMul(bytes, size);
    if (!product || *product > kMaxBytes)
      return false;
    bytes = *product;
  }
  return true;
}

LogicalResult KernelConverter::checkType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  auto memref = dyn_cast<MemRefType>(type);
  Type element = getElementTypeOrSelf(type);
  // Semaphores are of a type of `tpu`, and in memory alone.
  bool isKnown = isNumber(element) || (memref && isa<OpaqueType>(element));
  bool isArray = memref || (vector && !vector.isScalable());
  if (!isKnown || (isa<ShapedType>(type) && !isArray))
    return unsupported("value of the kernel",
                       "numbers of up to 64 bits, vectors, and memory of them",
                       debugString(type));
  if (isArray && !isInMemory(cast<ShapedType>(type).getShape()))
    return unsupported("value of the kernel", "at most 2^48 bytes",
                       debugString(type));
  return success();
}

LogicalResult KernelConverter::checkTypes() {
  bool areKnown = true;
  auto check = [&](TypeRange types) {
    for (Type type : types)
      areKnown &= succeeded(checkType(type));
  };
  kernel->walk([&](Operation *op) {
    check(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        check(block.getArgumentTypes());
  });
  return success(areKnown);
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

/// What arith defines for some operands alone, as HLO defines it for all; null
/// for other operations.
static Value createTotal(ImplicitLocOpBuilder &b, Operation *op, ValueRange x) {
  Type type = KernelConverter::convertType(op->getResult(0).getType());
  bool isUnsigned = isa<arith::DivUIOp, arith::RemUIOp, arith::FPToUIOp>(op);
  auto widenNumber = [&]() -> Value {
    Type wide = widen(x[0].getType());
    return wide == x[0].getType() ? x[0] : arith::ExtFOp::create(b, wide, x[0]);
  };
  return TypeSwitch<Operation *, Value>(op)
      .Case<arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return createQuotient(b, x[0], x[1], isUnsigned); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return createRemainder(b, x[0], x[1], isUnsigned); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto shift) {
        return createShift<decltype(shift)>(b, x[0], x[1]);
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) {
        return createInteger(b, widenNumber(), type, isUnsigned);
      })
      .Default(Value());
}

LogicalResult KernelConverter::convertElementwise(Operation *op) {
  SmallVector<Value> operands = get(op->getOperands());
  if (Value total = createTotal(b, op, operands)) {
    set(op->getResult(0), total);
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

bool KernelConverter::isConverted(Value value) const {
  Type type = value.getType();
  if (auto memref = dyn_cast<MemRefType>(type)) {
    const View *view = getView(value);
    if (!view || static_cast<int64_t>(view->dims.size()) != memref.getRank())
      return false;
    Type element = memref.getElementType();
    return isa<OpaqueType>(element) ||
           element == getElementTypeOrSelf(arrays[view->array].getType());
  }
  Value converted = get(value);
  return converted && converted.getType() == convertType(type);
}

LogicalResult KernelConverter::convertOperation(Operation *op) {
  auto areConverted = [&](ValueRange values) {
    return llvm::all_of(values,
                        [&](Value value) { return isConverted(value); });
  };
  // What made the operand was diagnosed.
  if (!areConverted(op->getOperands()))
    return failure();
  auto found = conversions.operations.find(op->getName().getStringRef());
  bool isKnown = found != conversions.operations.end();
  if (!isKnown && !isElementwise(op))
    return failure();
  if (failed(isKnown ? found->second(*this, op) : convertElementwise(op)))
    return failure();
  if (areConverted(op->getResults()))
    return success();
  return unsupported(op, "results that it is known to have",
                     debugString(op->getResultTypes()));
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
