//===- Dialects.cpp - The dialects in C -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Dialects.h"

#include "tessera/Dialect/Tessera/IR/TesseraAttrs.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"
#include "tessera/InitAll.h"
#include "tessera/Layout/Text.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tessera;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Tessera, tessera, TesseraDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(TesseraHLO, tessera_hlo,
                                      hlo::TesseraHLODialect)

void tesseraRegisterAllDialects(MlirDialectRegistry registry) {
  registerAllDialects(*unwrap(registry));
  registerAllExtensions(*unwrap(registry));
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// The context with the dialect in it: attributes and types of a dialect that
/// is not loaded end the program.
template <typename DialectT = TesseraDialect>
static MLIRContext *load(MlirContext context) {
  unwrap(context)->loadDialect<DialectT>();
  return unwrap(context);
}

/// What `parse` makes of `text`. Its errors become diagnostics of the context
/// that point into the text, as into a file named `what`.
template <typename T, typename... Options>
static std::optional<T>
parseText(MLIRContext *context, StringRef what, MlirStringRef text,
          llvm::Expected<T> (*parse)(StringRef, Options...),
          Options... options) {
  llvm::Expected<T> value = parse(unwrap(text), options...);
  if (value)
    return std::move(*value);
  tessera::Diagnostic diagnostic = takeDiagnostic(value.takeError());
  Location location = UnknownLoc::get(context);
  if (diagnostic.position != tessera::Diagnostic::kNoPosition) {
    StringRef before = unwrap(text).take_front(diagnostic.position);
    location =
        FileLineColLoc::get(context, what, before.count('\n') + 1,
                            before.size() - (before.rfind('\n') + 1) + 1);
  }
  emitError(location) << diagnostic.message();
  return std::nullopt;
}

/// AttrT::get, or null where the verifier refuses.
template <typename AttrT, typename... Args>
static MlirAttribute getChecked(MLIRContext *context, Args... args) {
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  return wrap(Attribute(AttrT::getChecked(emitError, context, args...)));
}

/// The fields of an attribute that is a layout.
static const Layout &getLayoutOf(MlirAttribute layout) {
  return cast<LayoutAttr>(unwrap(layout)).getLayout();
}

static TileAttr unwrapTile(MlirAttribute tile) {
  return cast<TileAttr>(unwrap(tile));
}

static SpaceAttr unwrapSpace(MlirAttribute space) {
  return cast<SpaceAttr>(unwrap(space));
}

static TargetAttr unwrapTarget(MlirAttribute target) {
  return cast<TargetAttr>(unwrap(target));
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

bool tesseraAttributeIsALayout(MlirAttribute attribute) {
  return isa<LayoutAttr>(unwrap(attribute));
}

MlirAttribute tesseraLayoutAttrGet(MlirContext context, MlirStringRef text) {
  MLIRContext *loaded = load(context);
  std::optional<Layout> layout = parseText(loaded, "layout", text, parseLayout);
  if (!layout)
    return wrap(Attribute());
  return wrap(Attribute(LayoutAttr::get(loaded, *layout)));
}

MlirAttribute tesseraLayoutAttrGetDescending(MlirContext context,
                                             intptr_t rank) {
  constexpr intptr_t kMaxRank = 1 << 20;
  MLIRContext *loaded = load(context);
  if (rank < 0 || rank > kMaxRank) {
    emitError(UnknownLoc::get(loaded))
        << "unsupported rank: expected a number from 0 to " << kMaxRank
        << ", found " << rank;
    return wrap(Attribute());
  }
  return wrap(Attribute(LayoutAttr::getDescending(loaded, rank)));
}

MlirTypeID tesseraLayoutAttrGetTypeID(void) {
  return wrap(LayoutAttr::getTypeID());
}

MlirStringRef tesseraLayoutAttrGetName(void) { return wrap(LayoutAttr::name); }

void tesseraLayoutAttrGetText(MlirAttribute layout, MlirStringCallback callback,
                              void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  getLayoutOf(layout).print(stream);
}

intptr_t tesseraLayoutAttrGetRank(MlirAttribute layout) {
  return getLayoutOf(layout).rank();
}

int64_t tesseraLayoutAttrGetMinorToMajor(MlirAttribute layout,
                                         intptr_t position) {
  return getLayoutOf(layout).minorToMajor[position];
}

intptr_t tesseraLayoutAttrGetNumTiles(MlirAttribute layout) {
  return getLayoutOf(layout).tiles.size();
}

MlirAttribute tesseraLayoutAttrGetTile(MlirAttribute layout,
                                       intptr_t position) {
  return wrap(Attribute(TileAttr::get(
      unwrap(layout).getContext(), getLayoutOf(layout).tiles[position].sizes)));
}

#define LAYOUT_NUMBER(ID, KEY, MEMBER, ...)                                    \
  int64_t tesseraLayoutAttrGet##ID(MlirAttribute layout) {                     \
    return getLayoutOf(layout).MEMBER;                                         \
  }
#include "tessera/Layout/LayoutFields.def"

intptr_t tesseraLayoutAttrGetNumSplitConfigs(MlirAttribute layout) {
  return getLayoutOf(layout).splitConfigs.size();
}

int64_t tesseraLayoutAttrGetSplitConfigDimension(MlirAttribute layout,
                                                 intptr_t position) {
  return getLayoutOf(layout).splitConfigs[position].dimension;
}

intptr_t tesseraLayoutAttrGetSplitConfigNumIndices(MlirAttribute layout,
                                                   intptr_t position) {
  return getLayoutOf(layout).splitConfigs[position].indices.size();
}

int64_t tesseraLayoutAttrGetSplitConfigIndex(MlirAttribute layout,
                                             intptr_t position,
                                             intptr_t index) {
  return getLayoutOf(layout).splitConfigs[position].indices[index];
}

intptr_t tesseraLayoutAttrGetNumPaddedDimensions(MlirAttribute layout) {
  return getLayoutOf(layout).paddedDimensions.size();
}

int64_t tesseraLayoutAttrGetPaddedDimension(MlirAttribute layout,
                                            intptr_t dimension) {
  return getLayoutOf(layout).paddedDimensions[dimension];
}

TesseraPaddingValue tesseraLayoutAttrGetPaddingValue(MlirAttribute layout) {
  std::optional<PaddingValue> value = getLayoutOf(layout).paddingValue;
  if (!value)
    return TesseraPaddingValueUnspecified;
  switch (*value) {
  case PaddingValue::Zero:
    return TesseraPaddingValueZero;
  case PaddingValue::One:
    return TesseraPaddingValueOne;
  case PaddingValue::Lowest:
    return TesseraPaddingValueLowest;
  case PaddingValue::Highest:
    return TesseraPaddingValueHighest;
  }
  llvm_unreachable("unknown padding value");
}

intptr_t tesseraLayoutAttrGetNumBounds(MlirAttribute layout) {
  return getLayoutOf(layout).bounds.size();
}

int64_t tesseraLayoutAttrGetBound(MlirAttribute layout, intptr_t dimension) {
  return getLayoutOf(layout).bounds[dimension];
}

//===----------------------------------------------------------------------===//
// TileAttr
//===----------------------------------------------------------------------===//

bool tesseraAttributeIsATile(MlirAttribute attribute) {
  return isa<TileAttr>(unwrap(attribute));
}

MlirAttribute tesseraTileAttrGet(MlirContext context, MlirStringRef text) {
  MLIRContext *loaded = load(context);
  std::optional<Tile> tile = parseText(loaded, "tile", text, parseTile);
  if (!tile)
    return wrap(Attribute());
  return wrap(Attribute(TileAttr::get(loaded, tile->sizes)));
}

MlirAttribute tesseraTileAttrGetFromSizes(MlirContext context,
                                          intptr_t numSizes,
                                          const int64_t *sizes) {
  return getChecked<TileAttr>(load(context),
                              ArrayRef<int64_t>(sizes, numSizes));
}

MlirTypeID tesseraTileAttrGetTypeID(void) {
  return wrap(TileAttr::getTypeID());
}

MlirStringRef tesseraTileAttrGetName(void) { return wrap(TileAttr::name); }

void tesseraTileAttrGetText(MlirAttribute tile, MlirStringCallback callback,
                            void *userData) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  unwrapTile(tile).getTile().print(stream);
  callback(wrap(StringRef(text)), userData);
}

intptr_t tesseraTileAttrGetNumSizes(MlirAttribute tile) {
  return unwrapTile(tile).getSizes().size();
}

int64_t tesseraTileAttrGetSize(MlirAttribute tile, intptr_t position) {
  return unwrapTile(tile).getSizes()[position];
}

int64_t tesseraTileAttrGetCombine(void) { return Tile::kCombine; }

//===----------------------------------------------------------------------===//
// ShapeAttr
//===----------------------------------------------------------------------===//

bool tesseraAttributeIsAShape(MlirAttribute attribute) {
  return isa<ShapeAttr>(unwrap(attribute));
}

MlirAttribute tesseraShapeAttrGet(MlirContext context, MlirStringRef text) {
  MLIRContext *loaded = load(context);
  ParseShapeOptions options;
  options.fillDefaultLayouts = false;
  std::optional<Shape> shape =
      parseText(loaded, "shape", text, parseShape, options);
  if (!shape)
    return wrap(Attribute());
  return wrap(Attribute(ShapeAttr::get(loaded, *shape)));
}

MlirTypeID tesseraShapeAttrGetTypeID(void) {
  return wrap(ShapeAttr::getTypeID());
}

MlirStringRef tesseraShapeAttrGetName(void) { return wrap(ShapeAttr::name); }

MlirStringRef tesseraShapeAttrGetText(MlirAttribute shape) {
  return wrap(cast<ShapeAttr>(unwrap(shape)).getText());
}

//===----------------------------------------------------------------------===//
// MemorySpaceAttr
//===----------------------------------------------------------------------===//

bool tesseraAttributeIsAMemorySpace(MlirAttribute attribute) {
  return isa<MemorySpaceAttr>(unwrap(attribute));
}

MlirAttribute tesseraMemorySpaceAttrGet(MlirContext context, int64_t number) {
  return getChecked<MemorySpaceAttr>(load(context), number);
}

MlirTypeID tesseraMemorySpaceAttrGetTypeID(void) {
  return wrap(MemorySpaceAttr::getTypeID());
}

MlirStringRef tesseraMemorySpaceAttrGetName(void) {
  return wrap(MemorySpaceAttr::name);
}

int64_t tesseraMemorySpaceAttrGetNumber(MlirAttribute memorySpace) {
  return cast<MemorySpaceAttr>(unwrap(memorySpace)).getNumber();
}

//===----------------------------------------------------------------------===//
// SpaceAttr
//===----------------------------------------------------------------------===//

bool tesseraAttributeIsASpace(MlirAttribute attribute) {
  return isa<SpaceAttr>(unwrap(attribute));
}

MlirAttribute tesseraSpaceAttrGet(MlirContext context, int64_t number,
                                  MlirStringRef name, int64_t capacity,
                                  int64_t alignment, int64_t addressSpace) {
  return getChecked<SpaceAttr>(load(context), number, unwrap(name), capacity,
                               alignment, addressSpace);
}

MlirTypeID tesseraSpaceAttrGetTypeID(void) {
  return wrap(SpaceAttr::getTypeID());
}

MlirStringRef tesseraSpaceAttrGetName(void) { return wrap(SpaceAttr::name); }

int64_t tesseraSpaceAttrGetNumber(MlirAttribute space) {
  return unwrapSpace(space).getNumber();
}

MlirStringRef tesseraSpaceAttrGetSpaceName(MlirAttribute space) {
  return wrap(unwrapSpace(space).getName());
}

int64_t tesseraSpaceAttrGetCapacity(MlirAttribute space) {
  return unwrapSpace(space).getCapacity();
}

int64_t tesseraSpaceAttrGetAlignment(MlirAttribute space) {
  return unwrapSpace(space).getAlignment();
}

int64_t tesseraSpaceAttrGetAddressSpace(MlirAttribute space) {
  return unwrapSpace(space).getAddressSpace();
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

bool tesseraAttributeIsATarget(MlirAttribute attribute) {
  return isa<TargetAttr>(unwrap(attribute));
}

MlirAttribute tesseraTargetAttrGet(MlirContext context, MlirStringRef name,
                                   intptr_t numSpaces,
                                   MlirAttribute const *spaces) {
  MLIRContext *loaded = load(context);
  SmallVector<SpaceAttr> unwrapped;
  for (MlirAttribute space : ArrayRef(spaces, numSpaces)) {
    unwrapped.push_back(dyn_cast_or_null<SpaceAttr>(unwrap(space)));
    if (unwrapped.back())
      continue;
    emitError(UnknownLoc::get(loaded))
        << "invalid space of a target: expected a #tessera.space<...>, found "
        << unwrap(space);
    return wrap(Attribute());
  }
  return getChecked<TargetAttr>(loaded, unwrap(name),
                                ArrayRef<SpaceAttr>(unwrapped));
}

MlirTypeID tesseraTargetAttrGetTypeID(void) {
  return wrap(TargetAttr::getTypeID());
}

MlirStringRef tesseraTargetAttrGetName(void) { return wrap(TargetAttr::name); }

MlirStringRef tesseraTargetAttrGetTargetName(MlirAttribute target) {
  return wrap(unwrapTarget(target).getName());
}

intptr_t tesseraTargetAttrGetNumSpaces(MlirAttribute target) {
  return unwrapTarget(target).getMemorySpaces().size();
}

MlirAttribute tesseraTargetAttrGetSpace(MlirAttribute target,
                                        intptr_t position) {
  TargetAttr unwrapped = unwrapTarget(target);
  MemorySpace space = unwrapped.getMemorySpaces()[position];
  return wrap(Attribute(SpaceAttr::get(unwrapped.getContext(), space.number,
                                       space.name, space.capacity,
                                       space.alignment, space.addressSpace)));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool tesseraTypeIsACopyToken(MlirType type) {
  return isa<CopyTokenType>(unwrap(type));
}

MlirType tesseraCopyTokenTypeGet(MlirContext context) {
  return wrap(Type(CopyTokenType::get(load(context))));
}

MlirTypeID tesseraCopyTokenTypeGetTypeID(void) {
  return wrap(CopyTokenType::getTypeID());
}

MlirStringRef tesseraCopyTokenTypeGetName(void) {
  return wrap(CopyTokenType::name);
}

bool tesseraTypeIsAHLOToken(MlirType type) {
  return isa<hlo::TokenType>(unwrap(type));
}

MlirType tesseraHLOTokenTypeGet(MlirContext context) {
  return wrap(Type(hlo::TokenType::get(load<hlo::TesseraHLODialect>(context))));
}

MlirTypeID tesseraHLOTokenTypeGetTypeID(void) {
  return wrap(hlo::TokenType::getTypeID());
}

MlirStringRef tesseraHLOTokenTypeGetName(void) {
  return wrap(hlo::TokenType::name);
}

bool tesseraTypeIsAHLOOpaque(MlirType type) {
  return isa<hlo::OpaqueType>(unwrap(type));
}

MlirType tesseraHLOOpaqueTypeGet(MlirContext context) {
  return wrap(
      Type(hlo::OpaqueType::get(load<hlo::TesseraHLODialect>(context))));
}

MlirTypeID tesseraHLOOpaqueTypeGetTypeID(void) {
  return wrap(hlo::OpaqueType::getTypeID());
}

MlirStringRef tesseraHLOOpaqueTypeGetName(void) {
  return wrap(hlo::OpaqueType::name);
}

bool tesseraTypeIsAHLOBuffer(MlirType type) {
  return isa<hlo::BufferType>(unwrap(type));
}

MlirType tesseraHLOBufferTypeGet(MlirType array) {
  MLIRContext *context =
      load<hlo::TesseraHLODialect>(wrap(unwrap(array).getContext()));
  if (auto tensor = dyn_cast<RankedTensorType>(unwrap(array)))
    return wrap(Type(hlo::BufferType::get(context, tensor)));
  emitError(UnknownLoc::get(context))
      << "invalid array of a buffer: expected a ranked tensor, found "
      << unwrap(array);
  return wrap(Type());
}

MlirTypeID tesseraHLOBufferTypeGetTypeID(void) {
  return wrap(hlo::BufferType::getTypeID());
}

MlirStringRef tesseraHLOBufferTypeGetName(void) {
  return wrap(hlo::BufferType::name);
}

MlirType tesseraHLOBufferTypeGetArray(MlirType buffer) {
  return wrap(Type(cast<hlo::BufferType>(unwrap(buffer)).getArray()));
}
