//===- ElementAccess.cpp - One element in its physical memref -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/ElementAccess.h"

#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"
#include "tessera/Conversion/TesseraToAffine/SplitLoops.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Subscripts
//===----------------------------------------------------------------------===//

/// Arithmetic on indices that are never negative.
static Value createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// The value of `expr` where `variables` are index values.
static Value createIndexExpr(OpBuilder &builder, Location loc,
                             const IndexExpr &expr, ValueRange variables) {
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return createIndex(builder, loc, 0);
  case IndexExpr::Kind::Variable:
    return variables[expr.variableNumber()];
  case IndexExpr::Kind::FloorDiv:
  case IndexExpr::Kind::Mod: {
    Value lhs = createIndexExpr(builder, loc, expr.lhs(), variables);
    Value divisor = createIndex(builder, loc, expr.constant());
    if (expr.kind() == IndexExpr::Kind::FloorDiv)
      return arith::DivUIOp::create(builder, loc, lhs, divisor);
    return arith::RemUIOp::create(builder, loc, lhs, divisor);
  }
  case IndexExpr::Kind::MulAdd: {
    Value major = createIndexExpr(builder, loc, expr.lhs(), variables);
    Value factor = createIndex(builder, loc, expr.constant());
    Value minor = createIndexExpr(builder, loc, expr.rhs(), variables);
    Value product = arith::MulIOp::create(builder, loc, major, factor);
    return arith::AddIOp::create(builder, loc, product, minor);
  }
  }
  llvm_unreachable("all kinds are handled");
}

static Subscripts makeValueSubscripts(OpBuilder &builder,
                                      SmallVector<Value> values) {
  AffineMap identity = builder.getMultiDimIdentityMap(values.size());
  return {identity, std::move(values), /*isAffine=*/false};
}

Subscripts Subscripts::get(OpBuilder &builder, Operation *op, AffineMap map,
                           ValueRange operands) {
  Region *scope = affine::getAffineScope(op);
  Subscripts result{map, llvm::to_vector(operands), true};
  if (llvm::all_of(operands, [&](Value operand) {
        return affine::isValidDim(operand, scope) ||
               affine::isValidSymbol(operand, scope);
      })) {
    affine::fullyComposeAffineMapAndOperands(&result.map, &result.operands);
    affine::canonicalizeMapAndOperands(&result.map, &result.operands);
    return result;
  }
  return makeValueSubscripts(builder,
                             result.materialize(builder, op->getLoc()));
}

SmallVector<Value> Subscripts::materialize(OpBuilder &builder,
                                           Location loc) const {
  if (map.isIdentity())
    return operands;
  SmallVector<Value> values;
  for (AffineExpr result : map.getResults()) {
    ValueRange all(operands);
    values.push_back(affine::expandAffineExpr(
        builder, loc, result, all.take_front(map.getNumDims()),
        all.drop_front(map.getNumDims())));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static Value createLoad(OpBuilder &builder, Location loc, Value memref,
                        const Subscripts &subscripts) {
  if (subscripts.isAffine)
    return affine::AffineLoadOp::create(builder, loc, memref, subscripts.map,
                                        subscripts.operands);
  return memref::LoadOp::create(builder, loc, memref, subscripts.operands);
}

static void createStore(OpBuilder &builder, Location loc, Value value,
                        Value memref, const Subscripts &subscripts) {
  if (subscripts.isAffine)
    affine::AffineStoreOp::create(builder, loc, value, memref, subscripts.map,
                                  subscripts.operands);
  else
    memref::StoreOp::create(builder, loc, value, memref, subscripts.operands);
}

namespace {
/// Where a packed element is: its byte, and the first of its bits there as a
/// number of type i8.
struct PackedSubscripts {
  Subscripts byte;
  Value shift;
};
} // namespace

/// Splits the position of an element into its byte and the bits within.
static PackedSubscripts getPackedSubscripts(OpBuilder &builder, Location loc,
                                            const Subscripts &position,
                                            int64_t bits) {
  int64_t perByte = 8 / bits;
  PackedSubscripts result;
  Value shift;
  if (position.isAffine) {
    auto ranges = getOperandRanges(position.operands);
    AffineExpr index = position.map.getResult(0);
    unsigned numDims = position.map.getNumDims();
    unsigned numSymbols = position.map.getNumSymbols();
    auto makeMap = [&](AffineExpr expr) {
      return AffineMap::get(numDims, numSymbols,
                            simplifyWithRanges(expr, numDims, ranges));
    };
    result.byte = {makeMap(index.floorDiv(perByte)), position.operands, true};
    shift = affine::AffineApplyOp::create(
        builder, loc, makeMap((index % perByte) * bits), position.operands);
  } else {
    Value index = position.operands.front();
    Value divisor = createIndex(builder, loc, perByte);
    Value byte = arith::DivUIOp::create(builder, loc, index, divisor);
    Value remainder = arith::RemUIOp::create(builder, loc, index, divisor);
    result.byte = makeValueSubscripts(builder, {byte});
    shift = arith::MulIOp::create(builder, loc, remainder,
                                  createIndex(builder, loc, bits));
  }
  result.shift =
      arith::IndexCastUIOp::create(builder, loc, builder.getI8Type(), shift);
  return result;
}

llvm::Expected<ElementAccess> ElementAccess::get(MemRefType type) {
  llvm::Expected<BufferSizes> sizes = BufferSizes::get(type);
  if (!sizes)
    return sizes.takeError();
  Type element = type.getElementType();
  bool converts = sizes->physicalType().getElementType() != element;
  if (converts && isa<IntegerType>(element) && !element.isSignlessInteger())
    return unsupportedError("access to packed elements", "signless integers",
                            "unsigned or signed ones",
                            "convert the element type to a signless one");
  return ElementAccess(std::move(*sizes), element);
}

llvm::Expected<ElementAccess>
ElementAccess::get(AxisList axes, Type elementType, int64_t storageBits) {
  assert(axes.isStatic() && "the extents are not known");
  int64_t bits, count = axes.numAllocated();
  if (llvm::MulOverflow(count, storageBits, bits))
    return invalidError("", "size", "bits that fit in 64 bits",
                        Twine(count) + " elements of " + Twine(storageBits) +
                            " bits");
  bool isPacked = storageBits < 8;
  // Bare pointers to memrefs with an inner size of 0 do not lower to LLVM.
  bool isFlat = isPacked || count == 0 || count != axes.numPositions();
  MemRefType physical;
  if (isPacked)
    physical = MemRefType::get(llvm::divideCeil(bits, 8),
                               IntegerType::get(elementType.getContext(), 8));
  else if (isFlat)
    physical = MemRefType::get(count, elementType);
  else
    physical = MemRefType::get(axes.physicalShape(), elementType);
  return ElementAccess(
      BufferSizes(std::move(axes), physical, storageBits, isFlat), elementType);
}

/// The same, as affine arithmetic where all variables that `expr` has are loop
/// variables, symbols, or made of them: divisions that loops were split for are
/// gone then.
static Value createAxisIndex(OpBuilder &builder, Location loc,
                             const IndexExpr &expr, ValueRange variables) {
  Region *scope =
      affine::getAffineScope(builder.getInsertionBlock()->getParentOp());
  SmallVector<AffineExpr> dims;
  for (auto [i, variable] : llvm::enumerate(variables)) {
    if (expr.involves(i) && !affine::isValidDim(variable, scope))
      return createIndexExpr(builder, loc, expr, variables);
    dims.push_back(builder.getAffineDimExpr(i));
  }
  AffineMap map = AffineMap::get(
      dims.size(), 0, toAffineExpr(expr, dims, builder.getContext()));
  SmallVector<Value> operands(variables);
  affine::canonicalizeMapAndOperands(&map, &operands);
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  map = simplifyWithRanges(map, getOperandRanges(operands));
  return builder.createOrFold<affine::AffineApplyOp>(loc, map, operands);
}

Subscripts ElementAccess::getAxisSubscripts(OpBuilder &builder, Location loc,
                                            const Subscripts &logical) const {
  if (!logical.isAffine) {
    SmallVector<Value> indices;
    for (const Axis &axis : axisList.axes())
      indices.push_back(
          createAxisIndex(builder, loc, axis.index, logical.operands));
    return makeValueSubscripts(builder, std::move(indices));
  }
  SmallVector<AffineExpr> indices;
  for (const Axis &axis : axisList.axes())
    indices.push_back(toAffineExpr(axis.index, logical.map.getResults(),
                                   builder.getContext()));
  AffineMap map =
      AffineMap::get(logical.map.getNumDims(), logical.map.getNumSymbols(),
                     indices, builder.getContext());
  return {simplifyWithRanges(map, getOperandRanges(logical.operands)),
          logical.operands, true};
}

//===----------------------------------------------------------------------===//
// Positions in flat buffers
//===----------------------------------------------------------------------===//

bool ElementAccess::needsSizes() const {
  return isFlat() && llvm::is_contained(axisList.strides(), kDynamic);
}

/// The position as an affine sum, where all strides are known.
static Subscripts linearizeAffine(const Subscripts &axes,
                                  ArrayRef<int64_t> strides) {
  AffineExpr sum = getAffineConstantExpr(0, axes.map.getContext());
  for (auto [axis, stride] : llvm::zip_equal(axes.map.getResults(), strides))
    sum = sum + axis * stride;
  AffineMap map =
      AffineMap::get(axes.map.getNumDims(), axes.map.getNumSymbols(), sum);
  return {map, axes.operands, true};
}

/// The sum of axis subscripts times strides, as the one subscript of a flat
/// buffer.
Subscripts ElementAccess::linearize(OpBuilder &builder, Location loc,
                                    const Subscripts &axes,
                                    ValueRange sizes) const {
  SmallVector<int64_t, 8> strides = axisList.strides();
  if (axes.isAffine && !needsSizes())
    return linearizeAffine(axes, strides);
  AxisArithmetic arithmetic = getArithmetic(builder, loc, sizes);
  SmallVector<Value> indices = axes.materialize(builder, loc);
  return makeValueSubscripts(
      builder, {arithmetic.toValue(arithmetic.linearizeAxes(indices))});
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The element of the bits in the low end of `stored`.
Value ElementAccess::toElement(OpBuilder &builder, Location loc,
                               Value stored) const {
  if (stored.getType() == elementType)
    return stored;
  auto bits = builder.getIntegerType(elementType.getIntOrFloatBitWidth());
  if (bits != stored.getType())
    stored = arith::TruncIOp::create(builder, loc, bits, stored);
  if (bits == elementType)
    return stored;
  return arith::BitcastOp::create(builder, loc, elementType, stored);
}

/// The bits of `element`, extended with zeros to what is stored.
Value ElementAccess::toStored(OpBuilder &builder, Location loc,
                              Value element) const {
  Type storedType = physical.getElementType();
  if (elementType == storedType)
    return element;
  auto bits = builder.getIntegerType(elementType.getIntOrFloatBitWidth());
  if (bits != elementType)
    element = arith::BitcastOp::create(builder, loc, bits, element);
  if (bits == storedType)
    return element;
  return arith::ExtUIOp::create(builder, loc, storedType, element);
}

Subscripts ElementAccess::getPhysicalSubscripts(OpBuilder &builder,
                                                Location loc,
                                                const Subscripts &logical,
                                                ValueRange sizes) const {
  Subscripts axes = getAxisSubscripts(builder, loc, logical);
  return isFlat() ? linearize(builder, loc, axes, sizes) : axes;
}

Value ElementAccess::load(OpBuilder &builder, Location loc, Value memref,
                          const Subscripts &logical, ValueRange sizes) const {
  Subscripts position = getPhysicalSubscripts(builder, loc, logical, sizes);
  if (!isPacked())
    return toElement(builder, loc, createLoad(builder, loc, memref, position));
  PackedSubscripts packed =
      getPackedSubscripts(builder, loc, position, storageBits);
  Value byte = createLoad(builder, loc, memref, packed.byte);
  return toElement(builder, loc,
                   arith::ShRUIOp::create(builder, loc, byte, packed.shift));
}

void ElementAccess::store(OpBuilder &builder, Location loc, Value value,
                          Value memref, const Subscripts &logical,
                          ValueRange sizes) const {
  storeAtAxes(builder, loc, value, memref,
              getAxisSubscripts(builder, loc, logical), sizes);
}

void ElementAccess::storeAtAxes(OpBuilder &builder, Location loc, Value value,
                                Value memref, const Subscripts &axes,
                                ValueRange sizes) const {
  storeInPhysical(builder, loc, value, memref,
                  isFlat() ? linearize(builder, loc, axes, sizes) : axes);
}

void ElementAccess::storeAtPosition(OpBuilder &builder, Location loc,
                                    Value value, Value memref,
                                    const Subscripts &position) const {
  assert(physical.getRank() == 1 && "only L puts positions behind the axes");
  storeInPhysical(builder, loc, value, memref, position);
}

void ElementAccess::storeInPhysical(OpBuilder &builder, Location loc,
                                    Value value, Value memref,
                                    const Subscripts &position) const {
  Value stored = toStored(builder, loc, value);
  if (!isPacked())
    return createStore(builder, loc, stored, memref, position);
  PackedSubscripts packed =
      getPackedSubscripts(builder, loc, position, storageBits);
  Value byte = createLoad(builder, loc, memref, packed.byte);
  auto createByte = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI8IntegerAttr(number));
  };
  Value ones = createByte((int64_t(1) << storageBits) - 1);
  Value mask = arith::ShLIOp::create(builder, loc, ones, packed.shift);
  Value others = arith::AndIOp::create(
      builder, loc, byte,
      arith::XOrIOp::create(builder, loc, mask, createByte(-1)));
  Value bits = arith::ShLIOp::create(builder, loc, stored, packed.shift);
  createStore(builder, loc, arith::OrIOp::create(builder, loc, others, bits),
              memref, packed.byte);
}
