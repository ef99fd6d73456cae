//===- ParserImpl.h - The parser of HLO modules -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive descent without recursion on the input: only shapes and tuple
// literals nest, and their depth is limited. Modules and instructions are in
// Parser.cpp, attribute values in ParserAttributes.cpp, those about devices in
// ParserDevices.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_HLO_PARSERIMPL_H
#define TESSERA_LIB_HLO_PARSERIMPL_H

#include "TextParser.h"

#include "tessera/HLO/Module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera::hlo {

class ParserImpl : public TextParser {
public:
  ParserImpl(llvm::StringRef text, Module &module);

  void parse();
  /// One instruction whose surroundings are not there.
  void parseLine();

private:
  //===--- Modules --------------------------------------------------------===//
  llvm::LogicalResult parseHeader();
  llvm::LogicalResult parseTables();
  llvm::LogicalResult parseStrings(std::vector<llvm::StringRef> &strings);
  llvm::LogicalResult parseIntFields(llvm::StringRef table,
                                     llvm::ArrayRef<llvm::StringLiteral> names,
                                     llvm::MutableArrayRef<int32_t> values);
  llvm::LogicalResult parseFileLocations(StackFrameIndex &index);
  llvm::LogicalResult parseStackFrames(StackFrameIndex &index);
  void parseComputations();
  void parseSingleInstruction();
  void finishModule();
  void markFused();

  //===--- Computations ---------------------------------------------------===//
  llvm::LogicalResult parseComputation();
  llvm::LogicalResult parseSignature(const Shape *&result,
                                     const char *&resultLoc);
  bool skipToBody();
  void parseBody(Computation &computation);
  void finishComputation(Computation &computation);
  void collectParameters(Computation &computation);

  //===--- Instructions ---------------------------------------------------===//
  llvm::LogicalResult parseInstruction(Computation &computation);
  llvm::LogicalResult parseInstructionRhs(Instruction &instruction);
  llvm::LogicalResult parseOpcodeName(Instruction &instruction);
  llvm::LogicalResult parsePayload(Instruction &instruction);
  llvm::LogicalResult parseOperands(Instruction &instruction);
  llvm::LogicalResult parseOperand(Instruction &instruction,
                                   Instruction *&operand);
  llvm::LogicalResult findOperand(const Instruction &user, const char *loc,
                                  llvm::StringRef name, const Shape *declared,
                                  Instruction *&operand);
  Instruction *createParameter(llvm::StringRef name, const Shape *shape);
  Instruction *createReference(llvm::StringRef name);
  llvm::LogicalResult checkOperands(const Instruction &instruction,
                                    const char *loc);
  llvm::LogicalResult checkInstructionName(const Instruction &instruction);
  void define(Computation &computation, Instruction *instruction);
  void skipInstruction(const char *start);
  bool atInstructionStart();

  //===--- Shapes and names -----------------------------------------------===//
  bool atShape();
  llvm::LogicalResult parseShape(const Shape *&shape);
  llvm::LogicalResult parseName(const llvm::Twine &field,
                                llvm::StringRef &name);

  //===--- Attributes -----------------------------------------------------===//
  using Specs = llvm::ArrayRef<llvm::ArrayRef<AttributeSpec>>;
  llvm::LogicalResult parseAttributes(Specs specs, const char *owner,
                                      llvm::ArrayRef<Attribute> &result);
  llvm::LogicalResult parseAttribute(Specs specs, Attribute &attribute);
  llvm::LogicalResult parseAttributeValue(Attribute &attribute);
  /// Fields `name=value` in braces, each of `specs` at most once.
  llvm::LogicalResult parseFields(const llvm::Twine &field,
                                  llvm::ArrayRef<AttributeSpec> specs);

  llvm::LogicalResult parseWord(AttributeKind kind, llvm::StringRef name);
  llvm::LogicalResult parseBool(llvm::StringRef name);
  llvm::LogicalResult parseInt32(llvm::StringRef name);
  llvm::LogicalResult parseFloat(llvm::StringRef name, bool single);
  llvm::LogicalResult parseString(llvm::StringRef name);
  llvm::LogicalResult parseStringOrJson(llvm::StringRef name);
  llvm::LogicalResult parseIntList(llvm::StringRef name);
  llvm::LogicalResult parseComputationRef(Computation *&computation);
  llvm::LogicalResult parseComputationList(Attribute &attribute);
  llvm::LogicalResult parseInstructionList(Attribute &attribute);
  llvm::LogicalResult parseShapeList(Attribute &attribute);
  llvm::LogicalResult parseWindow();
  llvm::LogicalResult parseDimLabels();
  llvm::LogicalResult parseSlices();
  llvm::LogicalResult parsePadding(llvm::StringRef name, unsigned fewest,
                                   unsigned most, unsigned &count);
  llvm::LogicalResult parseMetadata();
  llvm::LogicalResult parseFrontendAttributes();
  llvm::LogicalResult parseStatistics();
  llvm::LogicalResult parseShapeIndex();
  llvm::LogicalResult parseAliasing(bool isModule);
  llvm::LogicalResult parseBufferDonor();
  llvm::LogicalResult parseComputationLayout();
  llvm::LogicalResult parseLiteralWithShape(unsigned depth);
  llvm::LogicalResult parseResultAccuracy();
  llvm::LogicalResult parseOriginalArray();
  llvm::LogicalResult parseOriginalValue();
  llvm::LogicalResult parseRecoveryTable();

  //===--- Devices (ParserDevices.cpp) ------------------------------------===//
  llvm::LogicalResult parseSharding();
  llvm::LogicalResult parseSingleSharding();
  llvm::LogicalResult parseShardingField(struct ShardingFields &fields);
  llvm::LogicalResult parseMetadataList();
  llvm::LogicalResult parseNamedSharding();
  llvm::LogicalResult parseNamedShardingField(struct Mesh &mesh);
  llvm::LogicalResult parseShardingEnd();
  llvm::LogicalResult parseReplicaGroups();
  llvm::LogicalResult parseMeshGroups();
  llvm::LogicalResult parseMesh(struct Mesh &mesh);
  llvm::LogicalResult parseMeshDevices(const struct Mesh &mesh);
  llvm::LogicalResult parseMeshDimension(struct Mesh &mesh);
  llvm::LogicalResult parseMeshParts(struct Mesh &mesh, bool sorted);
  llvm::LogicalResult parseMeshPart(struct Mesh &mesh, bool isNext,
                                    struct MeshPart &part);
  llvm::LogicalResult parseTileAssignment(struct ShardingFields &fields);
  llvm::LogicalResult parseDeviceSizes(llvm::SmallVectorImpl<int64_t> &sizes);
  llvm::LogicalResult parseDeviceOrder(llvm::SmallVectorImpl<int64_t> &sizes);

  //===--- Helpers --------------------------------------------------------===//
  llvm::StringRef textBetween(const char *from, const char *to) const {
    return llvm::StringRef(from, to - from);
  }
  template <typename T> llvm::ArrayRef<T> copyToArena(llvm::ArrayRef<T> list) {
    return list.copy(module.arena);
  }

  Module &module;
  /// Names of the current computation; null: its definition had an error, and
  /// what refers to it gets none.
  llvm::DenseMap<llvm::StringRef, Instruction *> names;
  llvm::DenseMap<llvm::StringRef, Computation *> computationNames;
  Computation *current = nullptr;
  /// Whether names may refer to what is not in the text.
  bool isLine = false;
  /// Set when a reference was silently refused because its definition had an
  /// error: the referring instruction is undefined too.
  bool poisoned = false;
};

} // namespace tessera::hlo

#endif // TESSERA_LIB_HLO_PARSERIMPL_H
