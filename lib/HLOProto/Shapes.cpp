//===- Shapes.cpp - Shapes of protocol buffers ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "tessera/Proto/Proto.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

/// Numbers of PrimitiveType that are no element types.
static constexpr int kTuple = 13, kOpaque = 14, kToken = 17, kBuffer = 34;

static tessera::Layout convertLayout(const pb::Layout &from) {
  tessera::Layout to;
  llvm::append_range(to.minorToMajor, from.minor_to_major());
  for (const pb::Tile &tile : from.tiles())
    llvm::append_range(to.tiles.emplace_back().sizes, tile.sizes());
  for (const pb::SplitConfig &split : from.split_configs()) {
    tessera::SplitConfig &config = to.splitConfigs.emplace_back();
    config.dimension = split.dimension();
    llvm::append_range(config.indices, split.indices());
  }
  to.elementSizeInBits = from.element_size_in_bits();
  to.memorySpace = from.memory_space();
  to.dynamicShapeMetadataPrefixBytes = from.metadata_prefix_bytes();
  if (from.tail_padding_alignment() != 0)
    to.tailPaddingAlignment = from.tail_padding_alignment();
  return to;
}

static tessera::Shape convertArray(const pb::Shape &from, PrimitiveType type) {
  llvm::SmallVector<int64_t> sizes(from.dimensions().begin(),
                                   from.dimensions().end());
  tessera::Shape to = tessera::Shape::array(type, sizes);
  for (int i = 0; i < from.dimensions_size() && i < from.is_dynamic_size(); ++i)
    to.setDynamicDimension(i, from.is_dynamic(i));
  if (!from.has_layout())
    return to;
  tessera::Layout layout = convertLayout(from.layout());
  // XLA writes no layout of scalars that says nothing.
  if (!sizes.empty() || layout.hasAttributes() || layout.rank() != 0)
    to.setLayout(std::move(layout));
  return to;
}

static std::vector<tessera::Shape> convertElements(const pb::Shape &from,
                                                   pb::ErrorLog &log) {
  std::vector<tessera::Shape> elements;
  for (const pb::Shape &element : from.elements())
    elements.push_back(pb::convertShape(element, log));
  return elements;
}

tessera::Shape pb::convertShape(const Shape &shape, ErrorLog &log) {
  if (shape.type() == kTuple)
    return tessera::Shape::tuple(convertElements(shape, log));
  if (shape.type() == kOpaque)
    return tessera::Shape::opaque();
  if (shape.type() == kToken)
    return tessera::Shape::token();
  if (shape.type() == kBuffer && shape.elements_size() == 1)
    if (tessera::Shape array = convertShape(shape.elements(0), log);
        array.isArray())
      return tessera::Shape::buffer(std::move(array));
  std::optional<PrimitiveType> type = getPrimitiveType(shape.type());
  if (type && isArrayElement(*type))
    return convertArray(shape, *type);
  log.report(invalidError("", "shape", "the number of a type",
                          llvm::Twine(shape.type())));
  return tessera::Shape();
}
