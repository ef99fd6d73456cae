//===- ParserDevices.cpp - Shardings and groups of devices ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   sharding    ::= single | '{' [ single { ',' single } ] '}'
//   single      ::= '{' field { field } '}' | '{' named '}'
//   named       ::= 'maximal_mesh' '[' 'device_id' '=' INT ']' [ metadata ]
//                 | mesh [ ',' ] ( word [ metadata ] | dims { ',' axes } )
//   mesh        ::= 'mesh' '[' [ STRING '=' INT { ',' ... } ] ']' [ device_ids
//   ] dims        ::= '[' [ dim { ',' dim } ] ']' dim         ::= '{' [ part {
//   ',' part } ] [ '?' ] '}' part        ::= STRING [ ':' '(' INT ')' INT ]
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Lists of devices
//===----------------------------------------------------------------------===//

namespace tessera::hlo {
/// What one `{...}` of a sharding says.
struct ShardingFields {
  bool replicated = false, maximal = false, manual = false;
  bool unknown = false, unreduced = false;
  bool lastTileReplicated = false, hasSubgroups = false;
  llvm::SmallVector<int64_t, 4> tiles;
  llvm::SmallVector<int64_t, 4> iota;
  /// Devices listed one by one.
  uint64_t numDevices = 0;
  bool allowDevices = true;
};

/// An axis of a mesh, or the part of it that steps by `step` and has `size`
/// positions.
struct MeshPart {
  size_t axis;
  int64_t step;
  int64_t size;
};

struct Mesh {
  llvm::SmallVector<std::pair<StringRef, int64_t>, 4> axes;
  /// What something is spread over already.
  llvm::SmallVector<MeshPart, 8> used;
};
} // namespace tessera::hlo

/// A product of sizes; nothing when one is not positive, or beyond int64.
static std::optional<int64_t> product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    if (size <= 0 || llvm::MulOverflow(result, size, result))
      return std::nullopt;
  return result;
}

/// `[2,4]`, not empty.
LogicalResult
ParserImpl::parseDeviceSizes(llvm::SmallVectorImpl<int64_t> &sizes) {
  sizes.clear();
  if (failed(expect(TokenKind::LSquare, "device list", "[")))
    return failure();
  do {
    if (failed(parseInt("device list", sizes.emplace_back())))
      return failure();
  } while (eat(TokenKind::Comma));
  return expect(TokenKind::RSquare, "device list", "]");
}

/// `[8]` or `[4,2]T(1,0)`: devices in order, as an array that is transposed.
LogicalResult
ParserImpl::parseDeviceOrder(llvm::SmallVectorImpl<int64_t> &sizes) {
  const char *loc = lexer.tokenBegin();
  if (failed(parseDeviceSizes(sizes)))
    return failure();
  if (sizes.size() == 1)
    return success();
  llvm::SmallVector<bool, 4> taken(sizes.size(), false);
  if (!lexer.token().isWord("T"))
    return unexpected("device list", "`T(` and a permutation");
  lexer.lex();
  size_t count = 0;
  auto parseEntry = [&]() -> LogicalResult {
    const char *entry = lexer.tokenBegin();
    int64_t value;
    if (failed(parseInt("device permutation", value)))
      return failure();
    ++count;
    if (value < 0 || value >= static_cast<int64_t>(taken.size()) ||
        taken[value])
      return error(entry, "device permutation",
                   "each of 0 to " + Twine(taken.size() - 1) + " once",
                   Twine(value));
    taken[value] = true;
    return success();
  };
  if (failed(parseList("device permutation", TokenKind::LParen, "(",
                       TokenKind::RParen, ")", parseEntry)))
    return failure();
  if (count != taken.size())
    return error(loc, "device permutation", Twine(taken.size()) + " numbers",
                 Twine(count));
  return success();
}

/// `[2,4]0,1,...`, `[2,4]<=[8]` or `[2,4]<=[4,2]T(1,0)`
LogicalResult ParserImpl::parseTileAssignment(ShardingFields &fields) {
  const char *loc = lexer.tokenBegin();
  if (failed(parseDeviceSizes(fields.tiles)))
    return failure();
  std::optional<int64_t> numTiles = product(fields.tiles);
  if (!numTiles)
    return error(loc, "device list", "positive sizes with a product of 64 bits",
                 "others");
  fields.numDevices = 0;
  if (eat(TokenKind::LessEqual)) {
    if (failed(parseDeviceOrder(fields.iota)))
      return failure();
    if (product(fields.iota) != numTiles)
      return error(loc, "device list",
                   "sizes with the same product on both sides of `<=`",
                   "others");
    return success();
  }
  if (!fields.allowDevices)
    return unexpected("device list", "`<=`");
  int64_t value;
  do {
    if (failed(parseInt("device", value)))
      return failure();
    ++fields.numDevices;
  } while (eat(TokenKind::Comma));
  if (fields.numDevices != static_cast<uint64_t>(*numTiles))
    return error(loc, "device list", Twine(*numTiles) + " devices",
                 Twine(fields.numDevices));
  return success();
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

/// `, device_ids=([2,2]T(1,0))` or `, device_ids=(3,2,1,0)`, if it is there.
LogicalResult ParserImpl::parseMeshDevices(const Mesh &mesh) {
  Token next = lexer.peek();
  if (!lexer.token().is(TokenKind::Comma) ||
      !next.is(TokenKind::AttributeName) || next.text != "device_ids")
    return success();
  lexer.lex();
  const char *loc = lexer.tokenBegin();
  lexer.lex();
  if (failed(expect(TokenKind::LParen, "device_ids", "(")))
    return failure();
  auto sizes = llvm::map_to_vector(mesh.axes, [](auto &a) { return a.second; });
  std::optional<int64_t> count = product(sizes);
  llvm::SmallVector<int64_t, 8> devices;
  if (lexer.token().is(TokenKind::LSquare)) {
    if (failed(parseDeviceOrder(devices)))
      return failure();
    if (!count || product(devices) != count)
      return error(loc, "device list", "as many devices as the mesh has",
                   "others");
    return expect(TokenKind::RParen, "device_ids", ")");
  }
  do {
    if (failed(parseInt("device_ids", devices.emplace_back())))
      return failure();
  } while (eat(TokenKind::Comma));
  llvm::sort(devices);
  if (!count || devices.size() != static_cast<uint64_t>(*count) ||
      llvm::adjacent_find(devices) != devices.end())
    return error(loc, "device list",
                 "as many devices as the mesh has, each once", "others");
  return expect(TokenKind::RParen, "device_ids", ")");
}

/// `mesh['x'=2,'y'=4]`, and the devices behind it.
LogicalResult ParserImpl::parseMesh(Mesh &mesh) {
  lexer.lex();
  auto parseAxis = [&]() -> LogicalResult {
    const char *loc = lexer.tokenBegin();
    StringRef name = lexer.token().text;
    int64_t size;
    if (failed(parseString("mesh axis")) ||
        failed(expect(TokenKind::Equal, "mesh axis", "=")) ||
        failed(parseInt("mesh axis", size)))
      return failure();
    StringRef unquoted = name.drop_front().drop_back();
    if (llvm::is_contained(llvm::make_first_range(mesh.axes), unquoted))
      return error(loc, "mesh axis", "each axis once", name);
    mesh.axes.push_back({unquoted, size});
    return success();
  };
  if (failed(parseList("mesh", TokenKind::LSquare, "[", TokenKind::RSquare, "]",
                       parseAxis)))
    return failure();
  return parseMeshDevices(mesh);
}

/// The axis of that name or, as XLA has it too, of that number.
static std::optional<size_t> findAxis(const Mesh &mesh, StringRef name) {
  for (auto [i, axis] : llvm::enumerate(mesh.axes))
    if (axis.first == name)
      return i;
  size_t number;
  if (!name.getAsInteger(10, number) && number < mesh.axes.size())
    return number;
  return std::nullopt;
}

/// Whether two parts have positions in common, or are one that is cut in two.
static bool clash(const MeshPart &lhs, const MeshPart &rhs, bool isNext) {
  if (lhs.axis != rhs.axis)
    return false;
  int64_t lhsEnd = lhs.step * lhs.size, rhsEnd = rhs.step * rhs.size;
  return lhs.step == rhs.step || (lhs.step < rhsEnd && rhs.step < lhsEnd) ||
         (isNext && lhsEnd == rhs.step);
}

/// `'x'` or the part `'x':(step)size` of an axis. `isNext`: something is spread
/// over the part before it too.
LogicalResult ParserImpl::parseMeshPart(Mesh &mesh, bool isNext,
                                        MeshPart &part) {
  const char *loc = lexer.tokenBegin();
  const Token &token = lexer.token();
  std::optional<size_t> axis;
  if (token.is(TokenKind::String))
    axis = findAxis(mesh, token.text.drop_front().drop_back());
  if (!axis)
    return unexpected("axis", "one of the mesh");
  lexer.lex();
  int64_t size = mesh.axes[*axis].second;
  part = {*axis, 1, size};
  if (eat(TokenKind::Colon)) {
    if (failed(expect(TokenKind::LParen, "part of an axis", "(")) ||
        failed(parseInt("part of an axis", part.step)) ||
        failed(expect(TokenKind::RParen, "part of an axis", ")")) ||
        failed(parseInt("part of an axis", part.size)))
      return failure();
    std::optional<int64_t> end = product({part.step, part.size});
    if (!end || size % *end != 0 || part.size == 1 || part.size == size)
      return error(loc, "part of an axis",
                   "(step)size, less than the axis, whose product divides " +
                       Twine(size),
                   "another");
  }
  for (auto [i, other] : llvm::enumerate(mesh.used))
    if (clash(other, part, isNext && i + 1 == mesh.used.size()))
      return error(loc, "axis", "each axis, or part of one, once",
                   mesh.axes[*axis].first + " again");
  mesh.used.push_back(part);
  return success();
}

/// `{'x','y':(1)2}`; `sorted`: in the order of the mesh.
LogicalResult ParserImpl::parseMeshParts(Mesh &mesh, bool sorted) {
  std::optional<MeshPart> last;
  return parseBraces("axes", [&]() -> LogicalResult {
    const char *loc = lexer.tokenBegin();
    MeshPart part;
    if (failed(parseMeshPart(mesh, last.has_value(), part)))
      return failure();
    if (sorted && last &&
        std::pair(part.axis, part.step) < std::pair(last->axis, last->step))
      return error(loc, "axes", "the order of the mesh", "another");
    last = part;
    return success();
  });
}

/// `{'x', ?}`: what one dimension is spread over; `?` leaves it open.
LogicalResult ParserImpl::parseMeshDimension(Mesh &mesh) {
  bool isFirst = true, isOpen = false;
  return parseBraces("dimension of a sharding", [&]() -> LogicalResult {
    if (isOpen)
      return unexpected("dimension of a sharding", "`}` behind `?`");
    isOpen = eat(TokenKind::Question);
    if (isOpen)
      return success();
    MeshPart part;
    return parseMeshPart(mesh, !std::exchange(isFirst, false), part);
  });
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

LogicalResult ParserImpl::parseShardingField(ShardingFields &fields) {
  const Token &token = lexer.token();
  int64_t value;
  if (token.is(TokenKind::Identifier)) {
    bool *flag =
        llvm::StringSwitch<bool *>(token.text)
            .Case("replicated", &fields.replicated)
            .Case("maximal", &fields.maximal)
            .Case("manual", &fields.manual)
            .Case("unknown", &fields.unknown)
            .Case("unreduced", &fields.unreduced)
            .Case("last_tile_dim_replicate", &fields.lastTileReplicated)
            .Default(nullptr);
    if (flag) {
      *flag = true;
      lexer.lex();
      return success();
    }
    if (token.text == "shard_as" || token.text == "shard_like") {
      lexer.lex();
      return parseInt("shard group", value);
    }
  }
  if (token.is(TokenKind::AttributeName)) {
    StringRef name = token.text;
    if (name == "device") {
      lexer.lex();
      fields.numDevices = 1;
      return parseInt("device", value);
    }
    if (name == "devices") {
      lexer.lex();
      return parseTileAssignment(fields);
    }
    if (name == "metadata") {
      lexer.lex();
      return parseMetadataList();
    }
    if (name == "last_tile_dims") {
      lexer.lex();
      fields.hasSubgroups = true;
      return parseBraces("last_tile_dims", [&]() -> LogicalResult {
        StringRef word = lexer.token().text;
        if (word != "maximal" && word != "replicated" && word != "manual" &&
            word != "unreduced")
          return unexpected("last_tile_dims",
                            "maximal, replicated, manual or unreduced");
        lexer.lex();
        return success();
      });
    }
  }
  return unexpected("sharding", "replicated, maximal, manual, unknown, "
                                "unreduced, devices=, device=, metadata=, "
                                "last_tile_dims= or `}`");
}

/// `, metadata={...}` at the end of a sharding, if it is there.
LogicalResult ParserImpl::parseShardingEnd() {
  if (eat(TokenKind::Comma)) {
    if (!lexer.token().is(TokenKind::AttributeName) ||
        lexer.token().text != "metadata")
      return unexpected("sharding", "`metadata=` or `}`");
    lexer.lex();
    if (failed(parseMetadataList()))
      return failure();
  }
  return expect(TokenKind::RBrace, "sharding", "}");
}

/// Behind the brace: `mesh['x'=2], [{'x'}, {}], replicated={...}}`.
LogicalResult ParserImpl::parseNamedSharding() {
  if (lexer.token().isWord("maximal_mesh")) {
    lexer.lex();
    int64_t device;
    if (failed(expect(TokenKind::LSquare, "maximal_mesh", "[")))
      return failure();
    if (!lexer.token().is(TokenKind::AttributeName) ||
        lexer.token().text != "device_id")
      return unexpected("maximal_mesh", "`device_id=`");
    lexer.lex();
    if (failed(parseInt("device_id", device)) ||
        failed(expect(TokenKind::RSquare, "maximal_mesh", "]")))
      return failure();
    return parseShardingEnd();
  }
  Mesh mesh;
  if (failed(parseMesh(mesh)))
    return failure();
  eat(TokenKind::Comma);
  for (StringRef word : {"replicated", "unreduced", "manual"})
    if (lexer.token().isWord(word)) {
      lexer.lex();
      return parseShardingEnd();
    }
  if (failed(parseList("sharding", TokenKind::LSquare, "[", TokenKind::RSquare,
                       "]", [&] { return parseMeshDimension(mesh); })))
    return failure();
  while (eat(TokenKind::Comma))
    if (failed(parseNamedShardingField(mesh)))
      return failure();
  return expect(TokenKind::RBrace, "sharding", "}");
}

/// `replicated={'x'}` and the like.
LogicalResult ParserImpl::parseNamedShardingField(Mesh &mesh) {
  StringRef name;
  if (lexer.token().is(TokenKind::AttributeName))
    name = lexer.token().text;
  if (name == "metadata") {
    lexer.lex();
    return parseMetadataList();
  }
  if (name != "replicated" && name != "unreduced" && name != "manual")
    return unexpected("sharding",
                      "replicated=, unreduced=, manual= or metadata=");
  lexer.lex();
  return parseMeshParts(mesh, /*sorted=*/true);
}

/// One `{...}`, or several in braces.
LogicalResult ParserImpl::parseMetadataList() {
  if (lexer.token().is(TokenKind::LBrace) && lexer.peek().is(TokenKind::LBrace))
    return parseBraces("metadata", [&] { return parseMetadata(); });
  return parseMetadata();
}

LogicalResult ParserImpl::parseSingleSharding() {
  const char *loc = lexer.tokenBegin();
  if (failed(expect(TokenKind::LBrace, "sharding", "{")))
    return failure();
  if (lexer.token().isWord("mesh") || lexer.token().isWord("maximal_mesh"))
    return parseNamedSharding();
  ShardingFields fields;
  while (!lexer.token().is(TokenKind::RBrace))
    if (failed(parseShardingField(fields)))
      return failure();
  bool single =
      fields.replicated || fields.manual || fields.unknown || fields.unreduced;
  if (single && fields.numDevices != 0)
    return error(loc, "sharding", "no devices in a sharding without tiles",
                 "some");
  if (!single && fields.maximal && fields.numDevices != 1)
    return error(loc, "sharding", "one device in a maximal sharding",
                 Twine(fields.numDevices));
  if (!single && !fields.maximal) {
    if (fields.tiles.empty())
      return error(loc, "sharding", "`devices=[...]` or a kind", "neither");
    if (fields.iota.empty() && fields.numDevices <= 1)
      return error(loc, "sharding", "more than one device",
                   Twine(fields.numDevices));
    if (fields.lastTileReplicated && fields.hasSubgroups)
      return error(loc, "sharding", "last_tile_dim_replicate or last_tile_dims",
                   "both");
  }
  lexer.lex();
  return success();
}

/// One sharding, or one for each leaf of a tuple.
LogicalResult ParserImpl::parseSharding() {
  if (lexer.token().is(TokenKind::LBrace)) {
    TokenKind next = lexer.peek().kind;
    if (next != TokenKind::LBrace && next != TokenKind::RBrace)
      return parseSingleSharding();
  }
  return parseBraces("sharding", [&] { return parseSingleSharding(); });
}

//===----------------------------------------------------------------------===//
// Groups of devices
//===----------------------------------------------------------------------===//

/// `mesh['x'=2,'y'=4] {'y','x':(1)2}`: the devices along these make a group.
LogicalResult ParserImpl::parseMeshGroups() {
  Mesh mesh;
  if (failed(parseMesh(mesh)))
    return failure();
  eat(TokenKind::Comma);
  const char *loc = lexer.tokenBegin();
  if (failed(parseMeshParts(mesh, /*sorted=*/false)))
    return failure();
  std::optional<int64_t> size = product(llvm::map_to_vector(
      mesh.used, [](const MeshPart &part) { return part.size; }));
  if (!size || *size < 2)
    return error(loc, "replica_groups", "more than one device in a group",
                 "fewer");
  return success();
}

LogicalResult ParserImpl::parseReplicaGroups() {
  if (lexer.token().is(TokenKind::LBrace))
    return parseBraces("replica_groups",
                       [&] { return parseIntList("replica group"); });
  if (lexer.token().isWord("mesh"))
    return parseMeshGroups();
  const char *loc = lexer.tokenBegin();
  ShardingFields fields;
  fields.allowDevices = false;
  if (failed(parseTileAssignment(fields)))
    return failure();
  if (fields.tiles.size() != 2)
    return error(loc, "replica_groups", "two sizes in front of `<=`",
                 Twine(fields.tiles.size()));
  return success();
}
