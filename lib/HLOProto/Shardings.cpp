//===- Shardings.cpp - Shardings as text ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "llvm/ADT/StringExtras.h"

#include <google/protobuf/unknown_field_set.h>

using namespace tessera;
using namespace tessera::pb;
using google::protobuf::RepeatedPtrField;

/// `{op_name="f"}`; in more braces where there are several, or always.
static std::string formatMetadataList(const RepeatedPtrField<Metadata> &list,
                                      bool isAlwaysList) {
  llvm::SmallVector<std::string> parts;
  for (const Metadata &metadata : list)
    parts.push_back(formatMetadata(metadata));
  std::string text = llvm::join(parts, ", ");
  return parts.size() > 1 || isAlwaysList ? "{" + text + "}" : text;
}

/// Newer versions may say what no text here would.
template <typename Message>
static void refuseUnknownFields(const Message &message, ErrorLog &log) {
  if (!message.GetReflection()->GetUnknownFields(message).empty())
    log.report(unsupportedError("sharding in a protocol buffer",
                                "fields that are known", "another field"));
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

std::string pb::formatMesh(const Mesh &mesh, ErrorLog &log) {
  refuseUnknownFields(mesh, log);
  std::string text = "mesh[";
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      mesh.axes(), os,
      [&](const MeshAxis &axis) {
        os << '\'' << checkName(axis.name(), log) << "'=" << axis.size();
      },
      ",");
  os << ']';
  if (mesh.has_iota())
    os << ", device_ids=(" << formatReshape(mesh.iota()) << ')';
  if (!mesh.device_ids().empty()) {
    os << ", device_ids=(";
    llvm::interleave(mesh.device_ids(), os, ",");
    os << ')';
  }
  return text;
}

/// `'x'`, or `'x':(1)2` of a part.
static std::string formatPart(const Mesh &mesh, const MeshPart &part,
                              ErrorLog &log) {
  if (part.axis() < 0 || part.axis() >= mesh.axes_size()) {
    log.report(invalidError("", "mesh", "the number of one of its axes",
                            llvm::Twine(part.axis())));
    return "";
  }
  std::string text =
      "'" + mesh.axes(static_cast<int>(part.axis())).name() + "'";
  if (part.has_part())
    text += ":(" + llvm::itostr(part.part().step()) + ")" +
            llvm::itostr(part.part().size());
  return text;
}

std::string pb::formatParts(const Mesh &mesh,
                            const RepeatedPtrField<MeshPart> &parts,
                            ErrorLog &log) {
  llvm::SmallVector<std::string> texts;
  for (const MeshPart &part : parts)
    texts.push_back(formatPart(mesh, part, log));
  return "{" + llvm::join(texts, ",") + "}";
}

/// `{'x', ?}`.
static std::string formatDimension(const Mesh &mesh,
                                   const MeshDimension &dimension,
                                   ErrorLog &log) {
  llvm::SmallVector<std::string> parts;
  for (const MeshPart &part : dimension.axes())
    parts.push_back(formatPart(mesh, part, log));
  if (!dimension.is_closed())
    parts.push_back("?");
  return "{" + llvm::join(parts, ", ") + "}";
}

/// Whether these are all axes of the mesh, none in parts.
static bool coverMesh(const Mesh &mesh,
                      const RepeatedPtrField<MeshPart> &parts) {
  return !parts.empty() && parts.size() == mesh.axes_size() &&
         llvm::none_of(parts,
                       [](const MeshPart &part) { return part.has_part(); });
}

/// What stands behind the mesh.
static std::string formatAssignment(const NamedSharding &sharding,
                                    ErrorLog &log) {
  const Mesh &mesh = sharding.mesh();
  bool hasDimensions = !sharding.dimensions().empty();
  if (!hasDimensions && coverMesh(mesh, sharding.unreduced()))
    return "unreduced";
  if (!hasDimensions && coverMesh(mesh, sharding.manual()))
    return "manual";
  bool isPlain = sharding.replicated().empty() &&
                 sharding.unreduced().empty() && sharding.manual().empty();
  if (!hasDimensions && isPlain)
    return "replicated";
  llvm::SmallVector<std::string> dimensions;
  for (const MeshDimension &dimension : sharding.dimensions())
    dimensions.push_back(formatDimension(mesh, dimension, log));
  std::string text = "[" + llvm::join(dimensions, ", ") + "]";
  auto add = [&](llvm::StringRef name,
                 const RepeatedPtrField<MeshPart> &parts) {
    if (!parts.empty())
      text += ", " + name.str() + "=" + formatParts(mesh, parts, log);
  };
  add("replicated", sharding.replicated());
  add("unreduced", sharding.unreduced());
  add("manual", sharding.manual());
  return text;
}

static std::string formatNamed(const NamedSharding &sharding, ErrorLog &log) {
  refuseUnknownFields(sharding, log);
  const Mesh &mesh = sharding.mesh();
  std::string text = "{";
  if (mesh.axes().empty() && mesh.device_ids_size() == 1)
    text += "maximal_mesh[device_id=" + llvm::itostr(mesh.device_ids(0)) + "]";
  else
    text += formatMesh(mesh, log) + ", " + formatAssignment(sharding, log);
  if (!sharding.metadata().empty())
    text += ", metadata=" +
            formatMetadataList(sharding.metadata(), /*isAlwaysList=*/true);
  return text + "}";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

namespace {
/// Values of a sharding's `type`, and of the last tile dimensions.
enum Type { Replicated, Maximal, Tuple, Tiled, Manual, Unknown, Unreduced };
} // namespace

/// `replicated`, where a word says it.
static std::optional<std::string> getWord(int32_t type) {
  switch (type) {
  case Replicated:
    return "replicated";
  case Maximal:
    return "maximal";
  case Manual:
    return "manual";
  case Unknown:
    return "unknown";
  case Unreduced:
    return "unreduced";
  default:
    return std::nullopt;
  }
}

static std::string getWordOrReport(int32_t type, ErrorLog &log) {
  std::optional<std::string> word = getWord(type);
  if (!word)
    log.report(unsupportedError("sharding in a protocol buffer",
                                "a type that is known", llvm::Twine(type)));
  return word.value_or("");
}

/// `devices=[2,1]0,1 last_tile_dims={manual}`.
static std::string formatTiles(const Sharding &sharding, ErrorLog &log) {
  std::string text = "devices=[";
  llvm::raw_string_ostream os(text);
  llvm::interleave(sharding.tile_dims(), os, ",");
  os << ']';
  if (!sharding.reshape_dims().empty())
    os << "<=" << formatReshape(sharding);
  else
    llvm::interleave(sharding.devices(), os, ",");
  if (sharding.replicates_last())
    os << " last_tile_dim_replicate";
  if (sharding.last_tile_types().empty())
    return text;
  os << " last_tile_dims={";
  llvm::interleave(
      sharding.last_tile_types(), os,
      [&](int32_t type) { os << getWordOrReport(type, log); }, ", ");
  os << '}';
  return text;
}

/// One that is no tuple's.
static std::string formatSingle(const Sharding &sharding, ErrorLog &log) {
  refuseUnknownFields(sharding, log);
  if (sharding.has_named())
    return formatNamed(sharding.named(), log);
  std::string text = "{";
  if (sharding.type() == Tiled)
    text += formatTiles(sharding, log);
  else
    text += getWordOrReport(sharding.type(), log);
  if (sharding.type() == Maximal && sharding.devices_size() == 1)
    text += " device=" + llvm::itostr(sharding.devices(0));
  if (sharding.is_in_group())
    text += (sharding.group_type() == 0 ? " shard_as " : " shard_like ") +
            llvm::itostr(sharding.group());
  if (!sharding.metadata().empty())
    text += " metadata=" +
            formatMetadataList(sharding.metadata(), /*isAlwaysList=*/false);
  return text + "}";
}

std::string pb::formatSharding(const Sharding &sharding, ErrorLog &log) {
  if (sharding.type() != Tuple)
    return formatSingle(sharding, log);
  llvm::SmallVector<std::string> parts;
  for (const Sharding &part : sharding.tuple())
    parts.push_back(formatSingle(part, log));
  return "{" + llvm::join(parts, ", ") + "}";
}
