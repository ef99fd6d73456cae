//===- Opcode.h - Instructions of HLO ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known about each opcode: its name, how many operands it takes, which
// attributes it may or must carry and of which kind, and whether it may change
// a layout. The rows are in Opcodes.def.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_OPCODE_H
#define TESSERA_HLO_OPCODE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace tessera::hlo {

enum class Opcode : uint8_t {
#define HLO_OPCODE(ENUM, NAME, OPERANDS, TRAIT) ENUM,
#include "tessera/HLO/Opcodes.def"
};

/// Number of operands of an opcode that takes any number of them.
inline constexpr int kVariadic = -1;

/// What an opcode demands of the layouts of its operands.
enum class LayoutTrait : uint8_t {
  /// Nothing: operands and result may be laid out differently.
  Any,
  /// Operands of the result's rank have the result's layout, but for tiles,
  /// memory space and split configurations (XLA's layout-sensitive rule).
  Keeps,
  /// The same, and operands have the result's dimensions, and its type up to
  /// the precision of floating-point numbers.
  Elementwise,
  /// The same, and element sizes E may differ too (convert, compare, select).
  KeepsButElementSize,
};

/// The grammar of an attribute's value.
enum class AttributeKind : uint8_t {
  // Scalars.
  Bool,   ///< `true`
  Int,    ///< `-3`
  Int32,  ///< An Int that fits 32 bits.
  Float,  ///< `1e-06`; an Int or inf is one too.
  String, ///< `"text"`
  // Lists.
  IntList,        ///< `{0,2}`
  IntListList,    ///< `{{0,1},{1,0}}`
  BoolList,       ///< `{true,false}`
  BoolListOrBool, ///< `{true,false}` or `true`
  ShapeList,      ///< `{f32[2]{0}, s32[]}`
  // References.
  Computation,     ///< `%name`
  ComputationList, ///< `{%a, %b}`
  InstructionList, ///< `{%a, %b}`, of the same computation
  // Structured values.
  Window,            ///< `{size=2x1 pad=1_1x0_0}`
  DimLabels,         ///< `b01f_01io->b01f`
  Slices,            ///< `{[0:4], [1:9:2]}`
  Padding,           ///< `0_1x2_3_1`
  Sharding,          ///< `{devices=[2,1]<=[2]}`, `{{replicated}, {manual}}`
  ReplicaGroups,     ///< `{{0,1}}`, `[2,4]<=[8]`, ...
  Metadata,          ///< `{op_name="x" stack_frame_id=3}`
  FrontendAttrs,     ///< `{key="text",other={json}}`
  Statistics,        ///< `{visualizing_index=0,name=1.5}`
  StringOrJson,      ///< `"text"` or `{"key":[...]}`
  Aliasing,          ///< `{ {0}: (1, {}, may-alias) }`, of a module
  BufferDonor,       ///< `{ (0, {}) }`
  OperandAliasing,   ///< `{ {0}: (1, {}) }`, of an instruction
  ComputationLayout, ///< `{(f32[2]{0})->f32[2]{0}}`
  Shape,             ///< `f32[2]{0}`
  Literal,           ///< `s32[2] {1, 2}`
  ResultAccuracy,    ///< `{mode=highest}`, `{tolerance={atol=1,...}}`
  Domain,            ///< `{kind="sharding", entry={...}, exit={...}}`
  OriginalValue,     ///< `{{"name" {0}}}`
  RecoveryTable,     ///< A table of original values, of a module.
  PrecisionList,     ///< `{highest,default}`
  // One word of a fixed set.
  FusionKind,
  ComparisonDirection,
  ComparisonType,
  ComparisonOrder,
  FftType,
  ConvolutionKind,
  Distribution,
  RandomAlgorithm,
  DotAlgorithm,
  PaddingType,
  CustomCallSchedule,
  CustomCallApiVersion,
  GroupMode,
  Transpose,
};

/// An attribute that an opcode knows.
struct AttributeSpec {
  llvm::StringLiteral name;
  AttributeKind kind;
  bool required;
};

/// The name in the text, such as `all-reduce`.
llvm::StringRef getName(Opcode opcode);

/// The opcode of that name.
std::optional<Opcode> parseOpcode(llvm::StringRef name);

/// What the name of an instruction says: of `add-start`, AsyncStart around Add;
/// likewise -update and -done.
struct OpcodeName {
  Opcode opcode;
  std::optional<Opcode> asyncWrapped;
};
std::optional<OpcodeName> parseOpcodeName(llvm::StringRef name);

/// Operands that it takes, or kVariadic.
int getNumOperands(Opcode opcode);

LayoutTrait getLayoutTrait(Opcode opcode);

/// Its own attributes; those that every instruction may have come on top.
llvm::ArrayRef<AttributeSpec> getAttributes(Opcode opcode);

/// `metadata`, `sharding` and the like, which every instruction may have.
llvm::ArrayRef<AttributeSpec> getCommonAttributes();

/// Attributes of the line `HloModule name, ...`.
llvm::ArrayRef<AttributeSpec> getModuleAttributes();

/// The words that an attribute of such a kind may be; empty for other kinds.
llvm::ArrayRef<llvm::StringLiteral> getWords(AttributeKind kind);

} // namespace tessera::hlo

#endif // TESSERA_HLO_OPCODE_H
