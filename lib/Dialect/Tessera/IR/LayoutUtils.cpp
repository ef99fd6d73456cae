//===- LayoutUtils.cpp - Layouts of MLIR's types --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"

#include "tessera/Layout/Size.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <thread>

using namespace mlir;
using namespace tessera;

/// The text of an MLIR type or attribute, for messages.
template <typename T> static std::string toText(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

LogicalResult
tessera::emitLayoutError(function_ref<InFlightDiagnostic()> emitError,
                         llvm::Error error) {
  emitError() << takeDiagnostic(std::move(error)).message();
  return failure();
}

SilentDiagnostics::SilentDiagnostics(MLIRContext *context)
    : ScopedDiagnosticHandler(context), location(UnknownLoc::get(context)) {
  // Handlers serve all threads of a context: others go on to the next one.
  setHandler([thread = std::this_thread::get_id()](mlir::Diagnostic &) {
    return success(std::this_thread::get_id() == thread);
  });
}

InFlightDiagnostic SilentDiagnostics::operator()() const {
  return mlir::emitError(location);
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

static Type getFloatOrComplexType(Builder &builder, PrimitiveType type) {
  switch (type) {
  case PrimitiveType::F16:
    return builder.getF16Type();
  case PrimitiveType::BF16:
    return builder.getBF16Type();
  case PrimitiveType::F32:
    return builder.getF32Type();
  case PrimitiveType::F64:
    return builder.getF64Type();
  case PrimitiveType::F8E5M2:
    return builder.getType<Float8E5M2Type>();
  case PrimitiveType::F8E4M3:
    return builder.getType<Float8E4M3Type>();
  case PrimitiveType::F8E4M3FN:
    return builder.getType<Float8E4M3FNType>();
  case PrimitiveType::F8E4M3B11FNUZ:
    return builder.getType<Float8E4M3B11FNUZType>();
  case PrimitiveType::F8E3M4:
    return builder.getType<Float8E3M4Type>();
  case PrimitiveType::F8E5M2FNUZ:
    return builder.getType<Float8E5M2FNUZType>();
  case PrimitiveType::F8E4M3FNUZ:
    return builder.getType<Float8E4M3FNUZType>();
  case PrimitiveType::F8E8M0FNU:
    return builder.getType<Float8E8M0FNUType>();
  case PrimitiveType::F4E2M1FN:
    return builder.getType<Float4E2M1FNType>();
  case PrimitiveType::C64:
    return ComplexType::get(builder.getF32Type());
  case PrimitiveType::C128:
    return ComplexType::get(builder.getF64Type());
  default:
    return {};
  }
}

Type tessera::getElementType(MLIRContext *context, PrimitiveType type) {
  Builder builder(context);
  auto width = static_cast<unsigned>(getBitWidth(type));
  if (isUnsignedIntegral(type))
    return builder.getIntegerType(width, /*isSigned=*/false);
  if (type == PrimitiveType::S1)
    return builder.getIntegerType(width, /*isSigned=*/true);
  if (isSignedIntegral(type) || type == PrimitiveType::Pred)
    return builder.getIntegerType(width);
  return getFloatOrComplexType(builder, type);
}

llvm::Expected<PrimitiveType> tessera::getPrimitiveType(Type elementType) {
  // The way back is by search, so that there is one table.
  const auto *found = llvm::find_if(allPrimitiveTypes(), [&](auto candidate) {
    return getElementType(elementType.getContext(), candidate) == elementType;
  });
  if (found != allPrimitiveTypes().end())
    return *found;
  return unsupportedError("element type", "a type that XLA has",
                          "'" + toText(elementType) + "'",
                          "see the table of element types of the dialect");
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The encoding or layout that the type spells out; null if there is none. A
/// memref without a layout carries the identity map.
static Attribute getExplicitLayout(Type type) {
  if (auto tensorType = dyn_cast<RankedTensorType>(type))
    return tensorType.getEncoding();
  auto memrefType = dyn_cast<MemRefType>(type);
  if (!memrefType)
    return {};
  auto map = dyn_cast<AffineMapAttr>(memrefType.getLayout());
  return map && map.isIdentity() ? Attribute() : memrefType.getLayout();
}

SmallVector<unsigned> tessera::getUnboundedDims(ShapedType type) {
  LayoutAttrInterface attr = getLayoutAttr(type);
  auto layout = attr ? attr.asLayout(type.getRank()) : std::nullopt;
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    bool isBounded =
        layout && !layout->bounds.empty() && layout->bounds[dim] != kDynamic;
    if (type.isDynamicDim(dim) && !isBounded)
      dims.push_back(dim);
  }
  return dims;
}

LayoutAttrInterface tessera::getLayoutAttr(Type type) {
  return dyn_cast_if_present<LayoutAttrInterface>(getExplicitLayout(type));
}

MemRefType tessera::getStridedMemRef(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  bool isStrided = memref && getExplicitLayout(memref) &&
                   !getLayoutAttr(memref) && memref.isStrided();
  return isStrided ? memref : MemRefType();
}

static llvm::Error makeForeignLayoutError(Attribute layout) {
  return unsupportedError("layout", "a layout in XLA's notation",
                          "'" + toText(layout) + "'",
                          "use a #tessera.layout<{...}>");
}

llvm::Expected<Layout> tessera::getLayout(ShapedType type) {
  Layout layout = Layout::descending(type.getRank());
  if (Attribute attr = getExplicitLayout(type)) {
    auto interface = dyn_cast<LayoutAttrInterface>(attr);
    auto notation =
        interface ? interface.asLayout(type.getRank()) : std::nullopt;
    if (!notation)
      return makeForeignLayoutError(attr);
    layout = std::move(*notation);
  }
  llvm::Expected<int64_t> space = getMemorySpaceNumber(type);
  if (!space)
    return space.takeError();
  layout.memorySpace = *space;
  return layout;
}

llvm::Expected<Shape> tessera::getShape(ShapedType type) {
  llvm::Expected<PrimitiveType> elementType =
      getPrimitiveType(type.getElementType());
  if (!elementType)
    return elementType.takeError();
  llvm::Expected<Layout> layout = getLayout(type);
  if (!layout)
    return layout.takeError();

  SmallVector<int64_t> dims(type.getShape());
  SmallVector<bool> isDynamic =
      llvm::map_to_vector(dims, [](int64_t dim) { return dim == kDynamic; });
  for (auto [i, bound] : llvm::enumerate(layout->bounds))
    if (bound != kDynamic) {
      dims[i] = bound;
      isDynamic[i] = true;
    }
  layout->bounds.clear();
  Shape shape = Shape::array(*elementType, dims, std::move(*layout));
  for (auto [i, value] : llvm::enumerate(isDynamic))
    shape.setDynamicDimension(i, value);
  return shape;
}

RankedTensorType tessera::getTensorType(MLIRContext *context,
                                        const Shape &shape) {
  if (!shape.isArray())
    return {};
  SmallVector<int64_t> dims(shape.dimensions());
  SmallVector<int64_t> bounds(shape.rank(), kDynamic);
  bool isBounded = false;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!shape.isDynamicDimension(i) || dims[i] == kDynamic)
      continue;
    std::swap(dims[i], bounds[i]);
    isBounded = true;
  }
  Attribute encoding;
  if (shape.hasLayout() || isBounded) {
    Layout layout = shape.layoutOrDefault();
    if (isBounded)
      layout.bounds.assign(bounds.begin(), bounds.end());
    encoding = LayoutAttr::get(context, std::move(layout));
  }
  return RankedTensorType::get(
      dims, getElementType(context, shape.elementType()), encoding);
}

llvm::Expected<AxisList> tessera::getAxisList(ShapedType type) {
  Attribute layout = getExplicitLayout(type);
  if (!layout)
    return AxisList::get(type.getShape(), Layout::descending(type.getRank()));
  if (auto interface = dyn_cast<LayoutAttrInterface>(layout))
    return interface.getAxisList(type.getShape());
  return makeForeignLayoutError(layout);
}

llvm::Expected<int64_t> tessera::getStorageBits(ShapedType type) {
  llvm::Expected<PrimitiveType> elementType =
      getPrimitiveType(type.getElementType());
  if (!elementType)
    return elementType.takeError();
  if (LayoutAttrInterface layout = getLayoutAttr(type))
    return layout.getStorageBits(*elementType);
  return getByteWidth(*elementType) * 8;
}

/// Bytes of `count` elements, kDynamic for kDynamic.
static llvm::Expected<int64_t> getBytes(int64_t count, int64_t storageBits) {
  int64_t bits = 0;
  if (count == kDynamic)
    return kDynamic;
  if (llvm::MulOverflow(count, storageBits, bits))
    return invalidError("", "size", "bits that fit in 64 bits",
                        Twine(count) + " elements of " + Twine(storageBits) +
                            " bits");
  return llvm::divideCeil(bits, 8);
}

llvm::Expected<int64_t> tessera::getStorageBytes(ShapedType type) {
  llvm::Expected<int64_t> bits = getStorageBits(type);
  if (!bits)
    return bits.takeError();
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (!axes)
    return axes.takeError();
  return getBytes(axes->numAllocated(), *bits);
}

int64_t tessera::getTailPaddingAlignment(ShapedType type) {
  LayoutAttrInterface attr = getLayoutAttr(type);
  auto layout = attr ? attr.asLayout(type.getRank()) : std::nullopt;
  return layout ? layout->tailPaddingAlignment : 1;
}

std::optional<PaddingValue> tessera::getPaddingValue(ShapedType type) {
  LayoutAttrInterface layout = getLayoutAttr(type);
  return layout ? layout.getPaddingValue() : std::nullopt;
}

LogicalResult
tessera::verifyLayout(const Layout &layout, PrimitiveType type,
                      ArrayRef<int64_t> dimensions,
                      function_ref<InFlightDiagnostic()> emitError) {
  if (llvm::Error error = verifyLayout(layout, type, dimensions))
    return emitLayoutError(emitError, std::move(error));
  return success();
}

LogicalResult
tessera::verifyLayout(ShapedType type,
                      function_ref<InFlightDiagnostic()> emitError) {
  LayoutAttrInterface attr = getLayoutAttr(type);
  auto layout = attr ? attr.asLayout(type.getRank()) : std::nullopt;
  if (!layout)
    return success();
  llvm::Expected<PrimitiveType> elementType =
      getPrimitiveType(type.getElementType());
  if (!elementType)
    return emitLayoutError(emitError, elementType.takeError());
  return verifyLayout(*layout, *elementType, type.getShape(), emitError);
}

llvm::Error tessera::checkSupported(const Layout &layout, PrimitiveType type) {
  if (!layout.splitConfigs.empty())
    return unsupportedError("split configurations SC", "none",
                            layout.toString(), "write the type without SC");
  if (int64_t bytes = layout.dynamicShapeMetadataPrefixBytes)
    return unsupportedError(
        "metadata prefix M", "none", Twine(bytes) + " bytes",
        "write the type of the array behind the prefix, without M");
  // Wider containers are integers, which end at 128 bits.
  int64_t bits = layout.elementSizeInBits, width = getBitWidth(type);
  bool isContainer = bits > width && bits <= 128 && bits % 8 == 0;
  if (bits == 0 || bits == width || isContainer)
    return llvm::Error::success();
  return unsupportedError("element size E",
                          "the " + Twine(width) + " bits of " + getName(type) +
                              " or more whole bytes, at most 128 bits",
                          Twine(bits), "write the type without E");
}

//===----------------------------------------------------------------------===//
// Memory spaces
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> tessera::getMemorySpaceNumber(ShapedType type) {
  auto memrefType = dyn_cast<BaseMemRefType>(type);
  if (!memrefType) {
    LayoutAttrInterface layout = getLayoutAttr(type);
    return layout ? layout.getMemorySpaceNumber() : 0;
  }
  Attribute space = memrefType.getMemorySpace();
  if (!space)
    return 0;
  if (auto attr = dyn_cast<MemorySpaceAttr>(space))
    return attr.getNumber();
  if (auto attr = dyn_cast<IntegerAttr>(space))
    if (auto number = attr.getValue().trySExtValue())
      return *number;
  return unsupportedError("memory space", "a number", "'" + toText(space) + "'",
                          "use #tessera.memory_space<n>");
}

Attribute tessera::getMemorySpace(MLIRContext *context, int64_t number) {
  return number == 0 ? Attribute() : MemorySpaceAttr::get(context, number);
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

llvm::Expected<MemRefType> tessera::getMemRefType(RankedTensorType type) {
  Attribute encoding = type.getEncoding();
  if (!encoding)
    return MemRefType::get(type.getShape(), type.getElementType());
  auto layout = dyn_cast<LayoutAttrInterface>(encoding);
  if (!layout)
    return makeForeignLayoutError(encoding);
  llvm::Expected<MemRefLayoutAttrInterface> memrefLayout =
      layout.getMemRefLayout(type.getShape());
  if (!memrefLayout)
    return memrefLayout.takeError();
  return MemRefType::get(
      type.getShape(), type.getElementType(), *memrefLayout,
      getMemorySpace(type.getContext(), layout.getMemorySpaceNumber()));
}

/// Whether the buffer is longer than its axes, as far as the sizes tell.
static bool mayHaveTail(const Layout &layout, const AxisList &axes) {
  if (axes.isStatic())
    return axes.numAllocated() != axes.numPositions();
  return layout.tailPaddingAlignment != 1;
}

/// The shape and element type of the buffer, without the memory space.
static llvm::Expected<MemRefType>
buildPhysicalType(MemRefType type, const Layout &layout, int64_t storageBits) {
  llvm::Expected<AxisList> axes = getAxisList(type);
  if (!axes)
    return axes.takeError();
  int64_t count = axes->numAllocated();
  if (storageBits % 8 != 0) {
    llvm::Expected<int64_t> bytes = getBytes(count, storageBits);
    if (!bytes)
      return bytes.takeError();
    return MemRefType::get(*bytes, IntegerType::get(type.getContext(), 8));
  }
  // A container wider than the type is an integer that MLIR stores as wide.
  Type element = type.getElementType();
  PrimitiveType primitive = llvm::cantFail(getPrimitiveType(element));
  if (storageBits != getByteWidth(primitive) * 8)
    element = IntegerType::get(type.getContext(), storageBits);
  if (mayHaveTail(layout, *axes))
    return MemRefType::get(count, element);
  return MemRefType::get(axes->physicalShape(), element);
}

llvm::Expected<MemRefType> tessera::getPhysicalMemRefType(MemRefType type) {
  if (!getExplicitLayout(type))
    return type;
  LayoutAttrInterface attr = getLayoutAttr(type);
  if (!attr)
    return makeForeignLayoutError(type.getLayout());
  llvm::Expected<PrimitiveType> elementType =
      getPrimitiveType(type.getElementType());
  if (!elementType)
    return elementType.takeError();
  Layout layout = attr.asLayout(type.getRank())
                      .value_or(Layout::descending(type.getRank()));
  if (llvm::Error error = checkSupported(layout, *elementType))
    return error;
  llvm::Expected<MemRefType> physical =
      buildPhysicalType(type, layout, attr.getStorageBits(*elementType));
  if (!physical)
    return physical.takeError();
  return MemRefType::get(physical->getShape(), physical->getElementType(),
                         MemRefLayoutAttrInterface(), type.getMemorySpace());
}

llvm::Expected<StoredArray> tessera::getStoredArray(MemRefType type) {
  bool isStrided(getStridedMemRef(type));
  llvm::Expected<MemRefType> physical =
      isStrided ? type : getPhysicalMemRefType(type);
  if (!physical)
    return physical.takeError();
  llvm::Expected<AxisList> axes =
      isStrided
          ? AxisList::get(type.getShape(), Layout::descending(type.getRank()))
          : getAxisList(type);
  if (!axes)
    return axes.takeError();
  llvm::Expected<int64_t> bits = getStorageBits(type);
  if (!bits)
    return bits.takeError();
  return StoredArray{std::move(*axes), *physical, *bits, isStrided};
}

//===----------------------------------------------------------------------===//
// Affine expressions
//===----------------------------------------------------------------------===//

AffineExpr tessera::toAffineExpr(const IndexExpr &expr,
                                 ArrayRef<AffineExpr> variables,
                                 MLIRContext *context) {
  auto convert = [&](const IndexExpr &operand) {
    return toAffineExpr(operand, variables, context);
  };
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return getAffineConstantExpr(0, context);
  case IndexExpr::Kind::Variable:
    return variables[expr.variableNumber()];
  case IndexExpr::Kind::FloorDiv:
    return convert(expr.lhs()).floorDiv(expr.constant());
  case IndexExpr::Kind::Mod:
    return convert(expr.lhs()) % expr.constant();
  case IndexExpr::Kind::MulAdd:
    return convert(expr.lhs()) * expr.constant() + convert(expr.rhs());
  }
  llvm_unreachable("all kinds are handled");
}

/// `(x mod extent) kind divisor` in other words. With `q = x floordiv extent`
/// the remainder is `x - extent * q`. A multiple of the divisor joins it under
/// the division and leaves it again behind, so that what is divided is a sum
/// and no remainder.
static AffineExpr divideRemainder(AffineExprKind kind, AffineExpr x,
                                  int64_t extent, int64_t divisor) {
  bool fits = extent <= divisor;
  int64_t factor = extent / divisor;
  AffineExpr quotient = x.floorDiv(extent);
  AffineExpr sum = x + quotient * (factor * divisor - extent);
  switch (kind) {
  case AffineExprKind::Mod:
    return fits ? x % extent : sum % divisor;
  case AffineExprKind::FloorDiv:
    if (fits)
      return getAffineConstantExpr(0, x.getContext());
    return extent % divisor == 0 ? x.floorDiv(divisor) % factor
                                 : sum.floorDiv(divisor) - quotient * factor;
  case AffineExprKind::CeilDiv:
    // What fits is 1, except where x is a multiple.
    return fits ? x.ceilDiv(extent) - quotient
                : sum.ceilDiv(divisor) - quotient * factor;
  default:
    llvm_unreachable("not a division");
  }
}

/// The constant that `expr` is, if it can divide.
static std::optional<int64_t> getDivisor(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  if (!constant || constant.getValue() < 1)
    return std::nullopt;
  return constant.getValue();
}

/// One round from the leaves to the root; what it makes may divide a remainder
/// anew.
static AffineExpr separateOnce(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = separateOnce(binary.getLHS());
  AffineExpr rhs = separateOnce(binary.getRHS());
  AffineExprKind kind = expr.getKind();
  bool divides = kind != AffineExprKind::Add && kind != AffineExprKind::Mul;
  if (divides && lhs.getKind() == AffineExprKind::Mod) {
    auto remainder = cast<AffineBinaryOpExpr>(lhs);
    auto extent = getDivisor(remainder.getRHS()), divisor = getDivisor(rhs);
    if (extent && divisor)
      return divideRemainder(kind, remainder.getLHS(), *extent, *divisor);
  }
  return getAffineBinaryOpExpr(kind, lhs, rhs);
}

/// The most remainders, each in the next, on a path of the expression.
static unsigned countRemainders(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  return (expr.getKind() == AffineExprKind::Mod ? 1 : 0) +
         std::max(countRemainders(binary.getLHS()),
                  countRemainders(binary.getRHS()));
}

AffineExpr tessera::separateRemainders(AffineExpr expr) {
  // The form doubles with each: axes have fewer, subscripts may have more.
  constexpr unsigned kMaxRemainders = 16;
  if (countRemainders(expr) > kMaxRemainders)
    return expr;
  AffineExpr separate = separateOnce(expr);
  return separate == expr ? expr : tessera::separateRemainders(separate);
}

AffineMap tessera::separateRemainders(AffineMap map) {
  SmallVector<AffineExpr> results;
  for (AffineExpr result : map.getResults())
    results.push_back(separateRemainders(result));
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        map.getContext());
}

AffineMap tessera::getAffineMap(const AxisList &axes, MLIRContext *context) {
  unsigned rank = axes.dimensions().size();
  SmallVector<AffineExpr> dims(rank);
  bindDimsList(context, MutableArrayRef(dims));
  SmallVector<AffineExpr> results;
  for (const Axis &axis : axes.axes())
    results.push_back(toAffineExpr(axis.index, dims, context));
  return separateRemainders(
      AffineMap::get(rank, /*symbolCount=*/0, results, context));
}

bool tessera::isInFunction(Operation *op) {
  return isa_and_present<FunctionOpInterface>(
      op->getParentWithTrait<OpTrait::IsIsolatedFromAbove>());
}
