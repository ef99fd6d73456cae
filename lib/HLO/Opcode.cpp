//===- Opcode.cpp - Instructions of HLO -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Opcode.h"

#include "llvm/ADT/StringMap.h"

#include <iterator>

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringLiteral;

namespace {
struct OpcodeRow {
  StringLiteral name;
  int numOperands;
  LayoutTrait trait;
};

struct AttributeRow {
  Opcode opcode;
  AttributeSpec spec;
};
} // namespace

/// Rows stand in the order of the enumeration.
static constexpr OpcodeRow kOpcodes[] = {
#define HLO_OPCODE(ENUM, NAME, OPERANDS, TRAIT)                                \
  {NAME, OPERANDS, LayoutTrait::TRAIT},
#include "tessera/HLO/Opcodes.def"
};

/// Attributes of one opcode stand together, in the order of the opcodes.
static constexpr AttributeSpec kAttributes[] = {
#define HLO_ATTRIBUTE(ENUM, NAME, KIND, REQUIRED)                              \
  {NAME, AttributeKind::KIND, REQUIRED},
#include "tessera/HLO/Opcodes.def"
};
static constexpr Opcode kAttributeOwners[] = {
#define HLO_ATTRIBUTE(ENUM, NAME, KIND, REQUIRED) Opcode::ENUM,
#include "tessera/HLO/Opcodes.def"
};

static constexpr AttributeSpec kCommonAttributes[] = {
    {"sharding", AttributeKind::Sharding, false},
    {"frontend_attributes", AttributeKind::FrontendAttrs, false},
    {"statistics", AttributeKind::Statistics, false},
    {"parameter_replication", AttributeKind::BoolList, false},
    {"control-predecessors", AttributeKind::InstructionList, false},
    {"origin", AttributeKind::OriginalValue, false},
    {"metadata", AttributeKind::Metadata, false},
    {"backend_config", AttributeKind::StringOrJson, false},
};

static constexpr AttributeSpec kModuleAttributes[] = {
    {"is_scheduled", AttributeKind::Bool, false},
    {"replica_count", AttributeKind::Int, false},
    {"num_partitions", AttributeKind::Int, false},
    {"input_output_alias", AttributeKind::Aliasing, false},
    {"buffer_donor", AttributeKind::BufferDonor, false},
    {"alias_passthrough_params", AttributeKind::Bool, false},
    {"entry_computation_layout", AttributeKind::ComputationLayout, false},
    {"frontend_attributes", AttributeKind::FrontendAttrs, false},
    {"allow_spmd_sharding_propagation_to_parameters",
     AttributeKind::BoolListOrBool, false},
    {"allow_spmd_sharding_propagation_to_output", AttributeKind::BoolListOrBool,
     false},
    {"origin_recovery_table", AttributeKind::RecoveryTable, false},
};

llvm::StringRef hlo::getName(Opcode opcode) {
  return kOpcodes[static_cast<size_t>(opcode)].name;
}

std::optional<Opcode> hlo::parseOpcode(llvm::StringRef name) {
  static const llvm::StringMap<Opcode> byName = [] {
    llvm::StringMap<Opcode> map;
    for (size_t i = 0; i < std::size(kOpcodes); ++i)
      map[kOpcodes[i].name] = static_cast<Opcode>(i);
    return map;
  }();
  auto found = byName.find(name);
  if (found == byName.end())
    return std::nullopt;
  return found->second;
}

std::optional<OpcodeName> hlo::parseOpcodeName(llvm::StringRef name) {
  if (std::optional<Opcode> opcode = parseOpcode(name))
    return OpcodeName{*opcode, std::nullopt};
  for (Opcode step :
       {Opcode::AsyncStart, Opcode::AsyncUpdate, Opcode::AsyncDone}) {
    llvm::StringRef suffix = getName(step), wrapped = name;
    suffix.consume_front("async");
    if (!wrapped.consume_back(suffix))
      continue;
    if (std::optional<Opcode> opcode = parseOpcode(wrapped))
      return OpcodeName{step, opcode};
  }
  return std::nullopt;
}

int hlo::getNumOperands(Opcode opcode) {
  return kOpcodes[static_cast<size_t>(opcode)].numOperands;
}

LayoutTrait hlo::getLayoutTrait(Opcode opcode) {
  return kOpcodes[static_cast<size_t>(opcode)].trait;
}

llvm::ArrayRef<AttributeSpec> hlo::getAttributes(Opcode opcode) {
  auto range = std::equal_range(std::begin(kAttributeOwners),
                                std::end(kAttributeOwners), opcode);
  return llvm::ArrayRef(kAttributes)
      .slice(range.first - std::begin(kAttributeOwners),
             range.second - range.first);
}

llvm::ArrayRef<AttributeSpec> hlo::getCommonAttributes() {
  return kCommonAttributes;
}

llvm::ArrayRef<AttributeSpec> hlo::getModuleAttributes() {
  return kModuleAttributes;
}

llvm::ArrayRef<StringLiteral> hlo::getWords(AttributeKind kind) {
  static constexpr StringLiteral fusionKinds[] = {"kLoop", "kInput", "kOutput",
                                                  "kCustom"};
  static constexpr StringLiteral directions[] = {"EQ", "NE", "GE",
                                                 "GT", "LE", "LT"};
  static constexpr StringLiteral comparisons[] = {"FLOAT", "TOTALORDER",
                                                  "SIGNED", "UNSIGNED"};
  static constexpr StringLiteral orders[] = {"PARTIAL", "TOTAL"};
  static constexpr StringLiteral ffts[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  static constexpr StringLiteral convolutions[] = {"fprop", "wgrad", "dgrad",
                                                   "unset"};
  static constexpr StringLiteral distributions[] = {"rng_uniform",
                                                    "rng_normal"};
  static constexpr StringLiteral generators[] = {"rng_default", "rng_three_fry",
                                                 "rng_philox"};
  static constexpr StringLiteral precisions[] = {"default", "high", "highest",
                                                 "packed_nibble"};
  static constexpr StringLiteral algorithms[] = {
      "unset",
      "dot_any_f8_any_f8_f32",
      "dot_any_f8_any_f8_any",
      "dot_any_f8_any_f8_f32_fast_accum",
      "dot_any_f8_any_f8_any_fast_accum",
      "dot_f16_f16_f16",
      "dot_f16_f16_f32",
      "dot_bf16_bf16_bf16",
      "dot_bf16_bf16_f32",
      "dot_bf16_bf16_f32_x3",
      "dot_bf16_bf16_f32_x6",
      "dot_bf16_bf16_f32_x9",
      "dot_tf32_tf32_f32",
      "dot_tf32_tf32_f32_x3",
      "dot_f32_f32_f32",
      "dot_f64_f64_f64"};
  static constexpr StringLiteral paddings[] = {"PADDING_INVALID",
                                               "PADDING_VALID", "PADDING_SAME"};
  static constexpr StringLiteral schedules[] = {
      "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
  static constexpr StringLiteral versions[] = {
      "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  static constexpr StringLiteral modes[] = {"cross_replica", "cross_partition",
                                            "cross_replica_and_partition",
                                            "flattened_id"};
  static constexpr StringLiteral transposes[] = {
      "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  switch (kind) {
  case AttributeKind::FusionKind:
    return fusionKinds;
  case AttributeKind::ComparisonDirection:
    return directions;
  case AttributeKind::ComparisonType:
    return comparisons;
  case AttributeKind::ComparisonOrder:
    return orders;
  case AttributeKind::FftType:
    return ffts;
  case AttributeKind::ConvolutionKind:
    return convolutions;
  case AttributeKind::Distribution:
    return distributions;
  case AttributeKind::RandomAlgorithm:
    return generators;
  case AttributeKind::PrecisionList:
    return precisions;
  case AttributeKind::DotAlgorithm:
    return algorithms;
  case AttributeKind::PaddingType:
    return paddings;
  case AttributeKind::CustomCallSchedule:
    return schedules;
  case AttributeKind::CustomCallApiVersion:
    return versions;
  case AttributeKind::GroupMode:
    return modes;
  case AttributeKind::Transpose:
    return transposes;
  default:
    return {};
  }
}
