//===- TesseraAttrs.cpp - Attributes of the tessera dialect ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Dialect/Tessera/IR/TesseraInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Tessera/IR/TesseraAttrs.cpp.inc"

void TesseraDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Tessera/IR/TesseraAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//
//
// The notation is no sequence of MLIR tokens (`T(2,*)`, `?`, `1e3`). The
// dialect takes the raw text of a symbol, `layout<{1,0:T(8,128)}>`, hands what
// is between the angle brackets to the parser of the layout library, and points
// its errors into that text.

/// Parses `text`, a part of the buffer that `parser` reads.
template <typename T>
static std::optional<T> parseNotation(AsmParser &parser, StringRef text,
                                      llvm::Expected<T> (*parse)(StringRef)) {
  llvm::Expected<T> value = parse(text);
  if (value)
    return std::move(*value);
  tessera::Diagnostic diagnostic = takeDiagnostic(value.takeError());
  int64_t position = std::max<int64_t>(diagnostic.position, 0);
  parser.emitError(SMLoc::getFromPointer(text.data() + position),
                   diagnostic.message());
  return std::nullopt;
}

/// The text between the angle brackets of `spec`, which is what the lexer has
/// found behind the dialect's name.
static FailureOr<StringRef> getBody(DialectAsmParser &parser, StringRef spec) {
  StringRef body = spec.drop_until([](char c) { return c == '<'; }).rtrim();
  if (body.consume_front("<") && body.consume_back(">"))
    return body;
  return parser.emitError(parser.getNameLoc(),
                          "expected the notation between '<' and '>'");
}

Attribute TesseraDialect::parseAttribute(DialectAsmParser &parser,
                                         Type type) const {
  StringRef spec = parser.getFullSymbolSpec().ltrim();
  StringRef mnemonic = spec.take_until([](char c) { return c == '<'; }).rtrim();
  if (mnemonic == LayoutAttr::getMnemonic() ||
      mnemonic == TileAttr::getMnemonic()) {
    FailureOr<StringRef> body = getBody(parser, spec);
    if (failed(body))
      return {};
    if (mnemonic == TileAttr::getMnemonic()) {
      std::optional<Tile> tile = parseNotation(parser, *body, parseTile);
      return tile ? TileAttr::get(getContext(), tile->sizes) : TileAttr();
    }
    std::optional<Layout> layout = parseNotation(parser, *body, parseLayout);
    return layout ? LayoutAttr::get(getContext(), *layout) : LayoutAttr();
  }

  Attribute attribute;
  SMLoc location = parser.getCurrentLocation();
  OptionalParseResult result =
      generatedAttributeParser(parser, &mnemonic, type, attribute);
  if (!result.has_value())
    parser.emitError(location, "unknown attribute '")
        << mnemonic << "' of dialect '" << getNamespace() << "'";
  return attribute;
}

void TesseraDialect::printAttribute(Attribute attribute,
                                    DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attribute, printer);
}

/// Where an operation's format parses the attribute without its dialect's name,
/// there is no raw text to be had.
static Attribute refuseUnqualified(AsmParser &parser, StringRef mnemonic) {
  parser.emitError(parser.getCurrentLocation(), "expected the qualified form ")
      << "#tessera." << mnemonic << "<...>";
  return {};
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::getDescending(MLIRContext *context, int64_t rank) {
  return get(context, Layout::descending(rank));
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  return refuseUnqualified(parser, getMnemonic());
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<' << getLayout().toString() << '>';
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Layout layout) {
  if (llvm::Error error = layout.verify())
    return emitLayoutError(emitError, std::move(error));
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  // The parser asks even after it complained about the element type.
  if (!elementType)
    return failure();
  llvm::Expected<PrimitiveType> type = getPrimitiveType(elementType);
  if (!type)
    return emitLayoutError(emitError, type.takeError());
  return ::tessera::verifyLayout(getLayout(), *type, shape, emitError);
}

//===--- As the layout of a memref ----------------------------------------===//

/// The axes as far as the layout alone tells: no size is known.
static llvm::Expected<AxisList> getAxesOfAnySize(const Layout &layout) {
  SmallVector<int64_t> unknown(layout.rank(), kDynamic);
  return AxisList::get(unknown, layout);
}

AffineMap LayoutAttr::getAffineMap() const {
  llvm::Expected<AxisList> axes = getAxesOfAnySize(getLayout());
  if (axes)
    return ::tessera::getAffineMap(*axes, getContext());
  // A memref cannot have the layout (memref_layout_c2), but this must not fail.
  llvm::consumeError(axes.takeError());
  return AffineMap::getMultiDimIdentityMap(getLayout().rank(), getContext());
}

bool LayoutAttr::isIdentity() const {
  // Upstream drops identity layouts, and with them every attribute.
  return getLayout() == Layout::descending(getLayout().rank());
}

LogicalResult
LayoutAttr::verifyLayout(ArrayRef<int64_t> shape,
                         function_ref<InFlightDiagnostic()> emitError) const {
  // memref_layout_c1
  if (int64_t space = getLayout().memorySpace)
    return emitLayoutError(
        emitError, invalidError("memref_layout_c1",
                                "memory space S on the layout of a memref",
                                "none", Twine(space),
                                "write #tessera.memory_space<" + Twine(space) +
                                    "> behind the layout"));
  // E and PV depend on the element type, which this method does not know;
  // operations and --tessera-verify check them. One byte overflows last.
  Layout untyped = getLayout();
  untyped.elementSizeInBits = 0;
  untyped.paddingValue.reset();
  if (failed(::tessera::verifyLayout(untyped, PrimitiveType::S8, shape,
                                     emitError)))
    return failure();
  // memref_layout_c2
  llvm::Expected<AxisList> axes = getAxesOfAnySize(getLayout());
  if (axes)
    return success();
  llvm::consumeError(axes.takeError());
  return emitLayoutError(
      emitError,
      invalidError("memref_layout_c2", "'*' on the layout of a memref",
                   "a width for each dimension, which '*' merges by",
                   getLayout().toString(), "add PD with the widths"));
}

LogicalResult LayoutAttr::getStridesAndOffset(ArrayRef<int64_t> shape,
                                              SmallVectorImpl<int64_t> &strides,
                                              int64_t &offset) const {
  const Layout &layout = getLayout();
  // Strides would let upstream cast these layouts away.
  if (!layout.tiles.empty() || layout.elementSizeInBits != 0 ||
      layout.dynamicShapeMetadataPrefixBytes != 0)
    return failure();
  llvm::Expected<AxisList> axes = getAxisList(shape);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return failure();
  }
  // Without tiles, axis i is the dimension that is the i-th from the end.
  strides.assign(shape.size(), 0);
  SmallVector<int64_t, 8> axisStrides = axes->strides();
  for (auto [dim, stride] :
       llvm::zip(layout.minorToMajor, llvm::reverse(axisStrides)))
    strides[dim] = stride;
  offset = 0;
  return success();
}

//===--- What passes need -------------------------------------------------===//

llvm::Expected<AxisList>
LayoutAttr::getAxisList(ArrayRef<int64_t> dimensions) const {
  return AxisList::get(dimensions, getLayout());
}

int64_t LayoutAttr::getStorageBits(PrimitiveType type) const {
  return ::tessera::getStorageBits(type, getLayout());
}

int64_t LayoutAttr::getMemorySpaceNumber() const {
  return getLayout().memorySpace;
}

std::optional<PaddingValue> LayoutAttr::getPaddingValue() const {
  return getLayout().paddingValue;
}

std::optional<Layout> LayoutAttr::asLayout(int64_t rank) const {
  if (getLayout().rank() != rank)
    return std::nullopt;
  return getLayout();
}

llvm::Expected<MemRefLayoutAttrInterface>
LayoutAttr::getMemRefLayout(ArrayRef<int64_t> dimensions) const {
  Layout layout = getLayout();
  layout.memorySpace = 0;
  // `*` merges by widths, which a memref's layout must carry itself.
  llvm::Expected<AxisList> axes = getAxesOfAnySize(layout);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    llvm::Expected<AxisList> sized = getAxisList(dimensions);
    if (!sized)
      return sized.takeError();
    ArrayRef<int64_t> widths = sized->dimensions();
    // Widths are numbers, of all dimensions or of none.
    if (llvm::is_contained(widths, kDynamic))
      return unsupportedError("`*` in the layout of a memref",
                              "sizes or bounds of all dimensions",
                              "a size that is not known",
                              "give the dynamic dimensions bounds with B");
    if (layout.paddedDimensions.empty())
      layout.paddedDimensions.assign(widths.begin(), widths.end());
  }
  return MemRefLayoutAttrInterface(get(getContext(), std::move(layout)));
}

//===----------------------------------------------------------------------===//
// TileAttr
//===----------------------------------------------------------------------===//

Tile TileAttr::getTile() const {
  Tile tile;
  tile.sizes.assign(getSizes().begin(), getSizes().end());
  return tile;
}

Attribute TileAttr::parse(AsmParser &parser, Type) {
  return refuseUnqualified(parser, getMnemonic());
}

void TileAttr::print(AsmPrinter &printer) const {
  printer << "<";
  getTile().print(printer.getStream());
  printer << ">";
}

LogicalResult TileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> sizes) {
  // A tile is right where it stands alone in a layout.
  Layout layout;
  layout.tiles.emplace_back().sizes.assign(sizes.begin(), sizes.end());
  if (llvm::Error error = layout.verify())
    return emitLayoutError(emitError, std::move(error));
  return success();
}

//===----------------------------------------------------------------------===//
// ShapeAttr
//===----------------------------------------------------------------------===//

/// Parses without giving layouts to arrays that have none.
static llvm::Expected<Shape> parseShapeAsWritten(StringRef text) {
  ParseShapeOptions options;
  options.fillDefaultLayouts = false;
  return parseShape(text, options);
}

ShapeAttr ShapeAttr::get(MLIRContext *context, const Shape &shape) {
  return get(context, shape.toString());
}

Shape ShapeAttr::getShape() const {
  return llvm::cantFail(parseShapeAsWritten(getText()));
}

Attribute ShapeAttr::parse(AsmParser &parser, Type) {
  std::string text;
  SMLoc location;
  if (parser.parseLess() || parser.getCurrentLocation(&location) ||
      parser.parseString(&text) || parser.parseGreater())
    return {};
  llvm::Expected<Shape> shape = parseShapeAsWritten(text);
  if (shape)
    return get(parser.getContext(), *shape);
  tessera::Diagnostic diagnostic = takeDiagnostic(shape.takeError());
  // The text starts behind the quotation mark; it has nothing to escape.
  int64_t position = std::max<int64_t>(diagnostic.position, 0) + 1;
  parser.emitError(SMLoc::getFromPointer(location.getPointer() + position),
                   diagnostic.message());
  return {};
}

void ShapeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getText());
  printer << '>';
}

LogicalResult ShapeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringRef text) {
  llvm::Expected<Shape> shape = parseShapeAsWritten(text);
  if (!shape)
    return emitLayoutError(emitError, shape.takeError());
  // Equal shapes are equal attributes only if each has one text.
  if (shape->toString() == text)
    return success();
  return emitLayoutError(
      emitError, invalidError("", "text of a shape",
                              "the canonical " + shape->toString(), text));
}

//===----------------------------------------------------------------------===//
// MemorySpaceAttr
//===----------------------------------------------------------------------===//

LogicalResult
MemorySpaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t number) {
  // memory_space_c1
  if (number >= 1 && number <= 127)
    return success();
  return emitLayoutError(
      emitError, invalidError("memory_space_c1", "memory space",
                              "a number from 1 to 127", Twine(number),
                              "space 0 is a memref without a memory space"));
}

//===----------------------------------------------------------------------===//
// SpaceAttr
//===----------------------------------------------------------------------===//

MemorySpace SpaceAttr::getSpace() const {
  return {getNumber(), getName(), getCapacity(), getAlignment(),
          getAddressSpace()};
}

LogicalResult SpaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t number, StringRef name,
                                int64_t capacity, int64_t alignment,
                                // As TableGen declares it.
                                // NOLINTNEXTLINE(readability-identifier-naming)
                                int64_t address_space) {
  // space_c1
  auto invalid = [&](StringRef field, StringRef expected, int64_t found) {
    return emitLayoutError(
        emitError, invalidError("space_c1", field, expected, Twine(found)));
  };
  if (number < 0 || number > 127)
    return invalid("number of a space", "0 to 127", number);
  if (capacity < 0)
    return invalid("capacity", "bytes, 0 for no limit", capacity);
  if (alignment <= 0 || !llvm::isPowerOf2_64(alignment))
    return invalid("alignment", "a power of two of bytes", alignment);
  if (address_space < 0)
    return invalid("address space", "at least 0", address_space);
  return success();
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

TargetAttr TargetAttr::lookup(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<TargetAttr>(kAttrName))
      return target;
  return {};
}

/// The preset of that name; null if there is none.
static const Target *findPreset(StringRef name) {
  const auto *found = llvm::find_if(
      allTargets(), [&](const Target &target) { return target.name == name; });
  return found == allTargets().end() ? nullptr : found;
}

SmallVector<MemorySpace> TargetAttr::getMemorySpaces() const {
  if (getSpaces().empty())
    return SmallVector<MemorySpace>(findPreset(getName())->spaces);
  return llvm::map_to_vector(getSpaces(),
                             [](SpaceAttr space) { return space.getSpace(); });
}

std::optional<MemorySpace> TargetAttr::findSpace(int64_t number) const {
  for (const MemorySpace &space : getMemorySpaces())
    if (space.number == number)
      return space;
  return std::nullopt;
}

LayoutRule TargetAttr::getLayoutRule() const {
  return getSpaces().empty() ? findPreset(getName())->layoutRule
                             : LayoutRule::RowMajor;
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, ArrayRef<SpaceAttr> spaces) {
  // target_c1
  if (spaces.empty() && !findPreset(name)) {
    // IR has one name for each preset, so that equal targets are equal.
    llvm::Expected<const Target *> alias = getTarget(name);
    if (!alias)
      return emitLayoutError(emitError, alias.takeError());
    return emitLayoutError(
        emitError,
        unsupportedError("target", "one of " + getTargetNames(),
                         "'" + name + "'", "write \"" + (*alias)->name + "\""));
  }
  // target_c2
  for (auto [position, space] : llvm::enumerate(spaces)) {
    int64_t last = position == 0 ? -1 : spaces[position - 1].getNumber();
    if (space.getNumber() > last && (position > 0 || space.getNumber() == 0))
      continue;
    return emitLayoutError(emitError,
                           invalidError("target_c2", "order of the spaces",
                                        "increasing numbers, 0 first",
                                        Twine(space.getNumber()) +
                                            " at position " + Twine(position)));
  }
  return success();
}
