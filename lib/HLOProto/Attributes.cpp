//===- Attributes.cpp - Attributes of instructions as text ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace tessera;
using namespace tessera::pb;
using hlo::AttributeKind;
using hlo::Opcode;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string pb::quote(llvm::StringRef text) {
  std::string quoted = "\"";
  llvm::raw_string_ostream os(quoted);
  for (char c : text) {
    size_t letter = llvm::StringRef("\n\r\t\"'\\").find(c);
    if (letter != llvm::StringRef::npos)
      os << '\\' << "nrt\"'\\"[letter];
    else if (llvm::isPrint(c))
      os << c;
    else
      os << '\\' << char('0' + (uint8_t(c) >> 6))
         << char('0' + (uint8_t(c) >> 3 & 7)) << char('0' + (c & 7));
  }
  return quoted + '"';
}

/// Whether braces around all of it, and strings in it, are closed.
static bool looksLikeJson(llvm::StringRef text) {
  if (!text.starts_with("{"))
    return false;
  int64_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inString && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      inString = !inString;
    else if (!inString && text[i] == '{')
      ++depth;
    else if (!inString && text[i] == '}' && --depth == 0)
      return i + 1 == text.size();
  }
  return false;
}

std::string pb::quoteUnlessJson(llvm::StringRef text) {
  return looksLikeJson(text) ? text.str() : quote(text);
}

std::string pb::format(const FrontendAttributes &attributes, ErrorLog &log) {
  std::map<std::string, std::string> sorted;
  for (const FrontendAttribute &entry : attributes.entries())
    sorted[entry.key()] = entry.value();
  std::string text = "{";
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      sorted, os,
      [&](const auto &entry) {
        os << checkName(entry.first, log) << '='
           << quoteUnlessJson(entry.second);
      },
      ",");
  return text + "}";
}

std::string pb::formatMetadata(const Metadata &metadata) {
  std::string text = "{";
  llvm::raw_string_ostream os(text);
  llvm::StringRef separator;
  auto add = [&](llvm::StringRef name, const llvm::Twine &value) {
    os << separator << name << '=' << value;
    separator = " ";
  };
  auto addText = [&](llvm::StringRef name, llvm::StringRef value) {
    if (!value.empty())
      add(name, quote(value));
  };
  auto addNumber = [&](llvm::StringRef name, int32_t value) {
    if (value != 0)
      add(name, llvm::Twine(value));
  };
  addText("op_type", metadata.op_type());
  addText("op_name", metadata.op_name());
  addText("source_file", metadata.source_file());
  addNumber("source_line", metadata.source_line());
  addNumber("source_end_line", metadata.source_end_line());
  addNumber("source_column", metadata.source_column());
  addNumber("source_end_column", metadata.source_end_column());
  addText("deduplicated_name", metadata.deduplicated_name());
  addText("scheduling_name", metadata.scheduling_name());
  addNumber("stack_frame_id", metadata.stack_frame_id());
  return text + "}";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Nothing where the instruction does not have the attribute.
using Text = std::optional<std::string>;

namespace {
/// An attribute that is asked for, and whose.
struct Question {
  const Instruction &of;
  Opcode opcode;
  const hlo::AttributeSpec &spec;
  const Scope &scope;
  ErrorLog &log;
};
} // namespace

template <typename Range>
static Text list(const Question &q, const Range &values) {
  bool isWritten = q.spec.required || !values.empty() ||
                   q.opcode == Opcode::Broadcast || q.opcode == Opcode::Map;
  return isWritten ? Text(formatList(values)) : std::nullopt;
}

static Text flag(bool isSet) { return isSet ? Text("true") : std::nullopt; }

static Text integer(int64_t value) { return llvm::itostr(value); }

static Text integerUnless(int64_t value, std::initializer_list<int64_t> usual) {
  return llvm::is_contained(usual, value) ? std::nullopt : integer(value);
}

static Text first(const Question &q,
                  const google::protobuf::RepeatedField<int64_t> &values) {
  return values.size() == 1 ? integer(values[0])
         : q.spec.required  ? list(q, values)
                            : std::nullopt;
}

/// The word of that number, where numbers begin at `base`.
static Text word(const Question &q, int64_t number, int64_t base = 0) {
  llvm::ArrayRef<llvm::StringLiteral> words = hlo::getWords(q.spec.kind);
  if (number >= base && number - base < static_cast<int64_t>(words.size()))
    return words[number - base].str();
  q.log.report(unsupportedError(q.spec.name, "a number that is known",
                                llvm::Twine(number)));
  return std::nullopt;
}

static Text wordUnless(const Question &q, int64_t number, int64_t usual,
                       int64_t base = 0) {
  return number == usual ? std::nullopt : word(q, number, base);
}

static Text computation(const Question &q, int number) {
  if (number >= q.of.computation_ids_size())
    return std::nullopt;
  const Computation *computation =
      q.scope.getComputation(q.of.computation_ids(number), q.log);
  return computation ? Text("%" + computation->name()) : std::nullopt;
}

static Text allComputations(const Question &q) {
  if (q.of.computation_ids_size() == 0)
    return std::nullopt;
  llvm::SmallVector<std::string> names;
  for (int i = 0; i < q.of.computation_ids_size(); ++i)
    names.push_back(computation(q, i).value_or(""));
  return "{" + llvm::join(names, ", ") + "}";
}

/// Whether a conditional chooses by a predicate, and not by a number.
static bool choosesByPredicate(const Question &q) {
  constexpr int pred = 1;
  if (q.of.operand_ids_size() == 0)
    return false;
  const Instruction *operand =
      q.scope.getInstruction(q.of.operand_ids(0), q.log);
  return operand && operand->shape().type() == pred;
}

static Text branch(const Question &q, int number) {
  return choosesByPredicate(q) ? computation(q, number) : std::nullopt;
}

static Text branches(const Question &q) {
  return choosesByPredicate(q) ? std::nullopt : allComputations(q);
}

//===----------------------------------------------------------------------===//
// Structured values
//===----------------------------------------------------------------------===//

/// `2x1`: what each dimension has, unless it is usual in all.
template <typename Get>
static void addSizes(std::string &text, llvm::StringRef name,
                     const Window &window, Get &&get, llvm::StringRef usual) {
  std::string sizes;
  bool isUsual = true;
  for (const WindowDimension &dimension : window.dimensions()) {
    std::string size = get(dimension);
    isUsual &= size == usual;
    sizes += (sizes.empty() ? "" : "x") + size;
  }
  if (isUsual)
    return;
  text += (text == "{" ? "" : " ") + name.str() + "=" + sizes;
}

static Text window(const Question &q) {
  const Window &window = q.of.window();
  if (window.dimensions().empty())
    return std::nullopt;
  std::string text = "{";
  using Dimension = const WindowDimension &;
  auto add = [&](llvm::StringRef name, auto get, llvm::StringRef usual) {
    addSizes(text, name, window, get, usual);
  };
  add("size", [](Dimension d) { return llvm::itostr(d.size()); }, "");
  add("stride", [](Dimension d) { return llvm::itostr(d.stride()); }, "1");
  add(
      "pad",
      [](Dimension d) {
        return llvm::itostr(d.padding_low()) + "_" +
               llvm::itostr(d.padding_high());
      },
      "0_0");
  add(
      "lhs_dilate", [](Dimension d) { return llvm::itostr(d.base_dilation()); },
      "1");
  add(
      "rhs_dilate",
      [](Dimension d) { return llvm::itostr(d.window_dilation()); }, "1");
  add(
      "rhs_reversal",
      [](Dimension d) { return std::string(d.is_reversed() ? "1" : "0"); },
      "0");
  return text + "}";
}

/// `b01f`: the letter or number of each dimension.
static std::string
label(const Question &q, llvm::ArrayRef<std::pair<int64_t, char>> letters,
      const google::protobuf::RepeatedField<int64_t> &spatial) {
  std::string text(letters.size() + spatial.size(), '?');
  auto set = [&](int64_t at, char letter) {
    if (at >= 0 && at < static_cast<int64_t>(text.size()) && text[at] == '?')
      text[at] = letter;
    else
      q.log.report(invalidError("", "dim_labels", "each dimension once",
                                llvm::Twine(at)));
  };
  for (auto [at, letter] : letters)
    set(at, letter);
  for (auto [number, at] : llvm::enumerate(spatial))
    set(at, static_cast<char>('0' + std::min<size_t>(number, 9)));
  return text;
}

static Text dimLabels(const Question &q) {
  if (!q.of.has_convolution())
    return std::nullopt;
  const ConvolutionDimensions &dims = q.of.convolution();
  return label(q, {{dims.input_batch(), 'b'}, {dims.input_feature(), 'f'}},
               dims.input_spatial()) +
         "_" +
         label(q,
               {{dims.kernel_input_feature(), 'i'},
                {dims.kernel_output_feature(), 'o'}},
               dims.kernel_spatial()) +
         "->" +
         label(q, {{dims.output_batch(), 'b'}, {dims.output_feature(), 'f'}},
               dims.output_spatial());
}

static Text slices(const Question &q) {
  llvm::SmallVector<std::string> parts;
  for (const SliceDimension &slice : q.of.slices()) {
    std::string &part = parts.emplace_back();
    part =
        "[" + llvm::itostr(slice.start()) + ":" + llvm::itostr(slice.limit());
    if (slice.stride() != 1)
      part += ":" + llvm::itostr(slice.stride());
    part += "]";
  }
  return "{" + llvm::join(parts, ", ") + "}";
}

static Text padding(const Question &q) {
  llvm::SmallVector<std::string> parts;
  for (const PaddingDimension &dimension : q.of.padding().dimensions()) {
    std::string &part = parts.emplace_back();
    part = llvm::itostr(dimension.low()) + "_" + llvm::itostr(dimension.high());
    if (dimension.interior() != 0)
      part += "_" + llvm::itostr(dimension.interior());
  }
  return llvm::join(parts, "x");
}

template <typename Groups>
static std::string formatGroups(const Groups &groups) {
  llvm::SmallVector<std::string> parts;
  for (const ReplicaGroup &group : groups)
    parts.push_back(formatList(group.ids()));
  return "{" + llvm::join(parts, ",") + "}";
}

/// `[2,4]<=[4,2]T(1,0)`.
static std::string formatIota(const IotaGroups &groups) {
  return "[" + llvm::itostr(groups.num_groups()) + "," +
         llvm::itostr(groups.group_size()) + "]<=" + formatReshape(groups);
}

static Text replicaGroups(const Question &q) {
  if (q.of.has_mesh_devices()) {
    const MeshGroups &groups = q.of.mesh_devices();
    return formatMesh(groups.mesh(), q.log) + " " +
           formatParts(groups.mesh(), groups.axes(), q.log);
  }
  if (q.of.has_iota_devices())
    return formatIota(q.of.iota_devices());
  if (q.of.devices().has_iota())
    return formatIota(q.of.devices().iota());
  if (q.of.has_devices())
    return formatGroups(q.of.devices().groups());
  return formatGroups(q.of.replica_groups());
}

static Text sourceTargets(const Question &q) {
  llvm::SmallVector<std::string> parts;
  for (const SourceTarget &pair : q.of.source_targets())
    parts.push_back("{" + llvm::itostr(pair.source()) + "," +
                    llvm::itostr(pair.target()) + "}");
  return "{" + llvm::join(parts, ",") + "}";
}

static Text aliases(const Question &q) {
  if (q.of.output_aliases().empty())
    return std::nullopt;
  llvm::SmallVector<std::string> parts;
  for (const OperandAlias &alias : q.of.output_aliases())
    parts.push_back(formatList(alias.output_index()) + ": (" +
                    llvm::itostr(alias.operand()) + ", " +
                    formatList(alias.operand_index()) + ")");
  return "{" + llvm::join(parts, ", ") + "}";
}

static Text operandShapes(const Question &q) {
  if (!q.of.constrain_layout())
    return std::nullopt;
  llvm::SmallVector<std::string> parts;
  for (const pb::Shape &shape : q.of.operand_shapes())
    parts.push_back(convertShape(shape, q.log).toString());
  return "{" + llvm::join(parts, ", ") + "}";
}

static Text operandPrecision(const Question &q) {
  const auto &operands = q.of.precision().operands();
  if (llvm::all_of(operands, [](int32_t number) { return number == 0; }))
    return std::nullopt;
  llvm::SmallVector<std::string> parts;
  for (int32_t number : operands)
    parts.push_back(word(q, number).value_or(""));
  return "{" + llvm::join(parts, ",") + "}";
}

/// Their order in the text is another than that of the numbers.
static Text dotAlgorithm(const Question &q) {
  static constexpr llvm::StringLiteral names[] = {
      "unset",
      "dot_any_f8_any_f8_f32",
      "dot_any_f8_any_f8_f32_fast_accum",
      "dot_f16_f16_f16",
      "dot_f16_f16_f32",
      "dot_bf16_bf16_bf16",
      "dot_bf16_bf16_f32",
      "dot_bf16_bf16_f32_x3",
      "dot_bf16_bf16_f32_x6",
      "dot_tf32_tf32_f32",
      "dot_tf32_tf32_f32_x3",
      "dot_f32_f32_f32",
      "dot_f64_f64_f64",
      "dot_bf16_bf16_f32_x9",
      "dot_any_f8_any_f8_any",
      "dot_any_f8_any_f8_any_fast_accum"};
  int64_t number = q.of.precision().algorithm();
  if (number == 0)
    return std::nullopt;
  if (number > 0 && number < static_cast<int64_t>(std::size(names)))
    return names[number].str();
  return word(q, -1);
}

static Text algorithm(const Question &q) {
  return q.spec.kind == AttributeKind::DotAlgorithm
             ? dotAlgorithm(q)
             : word(q, q.of.rng_algorithm());
}

static Text convolutionKind(const Question &q) {
  static constexpr llvm::StringLiteral names[] = {"fprop", "dgrad", "wgrad"};
  int32_t number = q.of.convolution_kind();
  if (number == 0)
    return std::nullopt;
  return number > 0 && number <= 3 ? Text(names[number - 1].str())
                                   : word(q, -1);
}

static bool comparesFloats(const Question &q) {
  if (q.of.operand_ids().empty())
    return false;
  const Instruction *operand =
      q.scope.getInstruction(q.of.operand_ids(0), q.log);
  return operand &&
         isFloatingPoint(convertShape(operand->shape(), q.log).elementType());
}

/// Both are written where they are not what the type of the operands makes
/// them: integers have a total order anyway.
static Text comparisonType(const Question &q) {
  llvm::StringRef type = q.of.comparison_type();
  return type == "TOTALORDER" ? Text(type.str()) : std::nullopt;
}

static Text comparisonOrder(const Question &q) {
  llvm::StringRef order = q.of.comparison_order();
  return order == "TOTAL" && comparesFloats(q) ? Text(order.str())
                                               : std::nullopt;
}

static std::string formatNumber(double number) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.17g", number);
  return text;
}

static Text accuracy(const Question &q) {
  const Accuracy &accuracy = q.of.accuracy();
  if (accuracy.has_tolerance()) {
    const Tolerance &tolerance = accuracy.tolerance();
    return "{tolerance={atol=" + formatNumber(tolerance.atol()) +
           ",rtol=" + formatNumber(tolerance.rtol()) +
           ",ulps=" + llvm::itostr(tolerance.ulps()) + "}}";
  }
  if (accuracy.mode() == 0)
    return std::nullopt;
  return accuracy.mode() == 1 ? Text("{mode=highest}") : word(q, -1);
}

static Text customCallLiteral(const Question &q) {
  if (!q.of.has_literal())
    return std::nullopt;
  tessera::Shape shape = convertShape(q.of.literal().shape(), q.log);
  std::string text = shape.toString() + " ";
  llvm::raw_string_ostream os(text);
  printConstant(q.of.literal(), shape, os, q.log);
  return text;
}

static Text associative(const Question &q) {
  int32_t state = q.of.is_associative();
  return state == 0 ? std::nullopt : Text(state == 1 ? "true" : "false");
}

static Text domain(const Question &q) {
  return "{kind=\"sharding\", entry=" +
         formatSharding(q.of.domain_entry(), q.log) +
         ", exit=" + formatSharding(q.of.domain_exit(), q.log) + "}";
}

static Text config(llvm::StringRef text) {
  return text.empty() ? std::nullopt : Text(quote(text));
}

static Text name(const Question &q, llvm::StringRef text) {
  return checkName(text, q.log).str();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

using Q = const Question &;

namespace {
struct Answer {
  llvm::StringLiteral name;
  Text (*get)(Q);
};
} // namespace

/// What gives each attribute, by name.
static constexpr Answer kAnswers[] = {
    {"algorithm", algorithm},
    {"api_version",
     [](Q q) {
       return q.of.api_version() <= 1 ? std::nullopt
                                      : word(q, q.of.api_version(), 1);
     }},
    {"async_execution_thread",
     [](Q q) {
       return q.of.execution_thread() == "main"
                  ? std::nullopt
                  : config(q.of.execution_thread());
     }},
    {"batch_group_count",
     [](Q q) { return integerUnless(q.of.batch_group_count(), {0, 1}); }},
    {"body", [](Q q) { return computation(q, 0); }},
    {"branch_computations", branches},
    {"called_computations", allComputations},
    {"calls",
     [](Q q) { return q.spec.required ? computation(q, 0) : std::nullopt; }},
    {"channel_id", [](Q q) { return integerUnless(q.of.channel_id(), {0}); }},
    {"collapsed_slice_dims",
     [](Q q) { return list(q, q.of.gather().collapsed_slice_dims()); }},
    {"condition", [](Q q) { return computation(q, 1); }},
    {"constrain_layout", [](Q q) { return flag(q.of.constrain_layout()); }},
    {"conv_kind", convolutionKind},
    {"cross_program_prefetch_index",
     [](Q q) {
       return q.of.has_prefetch_index() ? integer(q.of.prefetch_index())
                                        : std::nullopt;
     }},
    {"custom_call_has_side_effect",
     [](Q q) { return flag(q.of.has_side_effect()); }},
    {"custom_call_target",
     [](Q q) { return Text(quote(q.of.custom_call_target())); }},
    {"delta", [](Q q) { return integer(q.of.delta()); }},
    {"dim_labels", dimLabels},
    {"dimensions", [](Q q) { return list(q, q.of.dimensions()); }},
    {"direction", [](Q q) { return name(q, q.of.comparison_direction()); }},
    {"distribution", [](Q q) { return word(q, q.of.distribution(), 1); }},
    {"domain", domain},
    {"dynamic_slice_sizes",
     [](Q q) { return list(q, q.of.dynamic_slice_sizes()); }},
    {"epsilon", [](Q q) { return Text(formatNumber(q.of.epsilon())); }},
    {"exponent_bits", [](Q q) { return integer(q.of.exponent_bits()); }},
    {"false_computation", [](Q q) { return branch(q, 1); }},
    {"feature_group_count",
     [](Q q) { return integerUnless(q.of.feature_group_count(), {0, 1}); }},
    {"feature_index", [](Q q) { return integer(q.of.feature_index()); }},
    {"fft_length", [](Q q) { return list(q, q.of.fft_length()); }},
    {"fft_type", [](Q q) { return word(q, q.of.fft_type()); }},
    {"index", [](Q q) { return integer(q.of.tuple_index()); }},
    {"index_vector_dim",
     [](Q q) {
       return integer(q.opcode == Opcode::Gather
                          ? q.of.gather().index_vector_dim()
                          : q.of.scatter().index_vector_dim());
     }},
    {"indices_are_sorted", [](Q q) { return flag(q.of.indices_are_sorted()); }},
    {"infeed_config", [](Q q) { return config(q.of.infeed_config()); }},
    {"inferred_dimension", [](Q q) { return first(q, q.of.dimensions()); }},
    {"input_batching_dims",
     [](Q q) { return list(q, q.of.scatter().input_batching_dims()); }},
    {"inserted_window_dims",
     [](Q q) { return list(q, q.of.scatter().inserted_window_dims()); }},
    {"iota_dimension", [](Q q) { return first(q, q.of.dimensions()); }},
    {"is_associative", associative},
    {"is_composite", [](Q q) { return flag(q.of.is_composite()); }},
    {"is_host_transfer", [](Q q) { return flag(q.of.is_host_transfer()); }},
    {"is_reverse", [](Q q) { return flag(q.of.is_reverse()); }},
    {"is_stable", [](Q q) { return flag(q.of.is_stable()); }},
    {"k", [](Q q) { return integer(q.of.k()); }},
    {"kind", [](Q q) { return name(q, q.of.fusion_kind()); }},
    {"largest", [](Q q) { return Text(q.of.largest() ? "true" : "false"); }},
    {"left_side",
     [](Q q) { return flag(q.of.triangular_solve().left_side()); }},
    {"lhs_batch_dims",
     [](Q q) {
       return list(q, q.opcode == Opcode::RaggedDot
                          ? q.of.ragged_dot().dot().lhs_batch()
                          : q.of.dot().lhs_batch());
     }},
    {"lhs_contracting_dims",
     [](Q q) {
       return list(q, q.opcode == Opcode::RaggedDot
                          ? q.of.ragged_dot().dot().lhs_contracting()
                          : q.of.dot().lhs_contracting());
     }},
    {"lhs_ragged_dims",
     [](Q q) { return list(q, q.of.ragged_dot().lhs_ragged()); }},
    {"literal", customCallLiteral},
    {"lower",
     [](Q q) {
       return flag(q.opcode == Opcode::Cholesky
                       ? q.of.cholesky().lower()
                       : q.of.triangular_solve().lower());
     }},
    {"mantissa_bits", [](Q q) { return integer(q.of.mantissa_bits()); }},
    {"mode", [](Q) { return Text(); }},
    {"offset_dims", [](Q q) { return list(q, q.of.gather().offset_dims()); }},
    {"operand_batching_dims",
     [](Q q) { return list(q, q.of.gather().operand_batching_dims()); }},
    {"operand_layout_constraints", operandShapes},
    {"operand_precision", operandPrecision},
    {"order", comparisonOrder},
    {"outfeed_config", [](Q q) { return config(q.of.outfeed_config()); }},
    {"outfeed_shape",
     [](Q q) {
       return q.of.has_outfeed_shape()
                  ? Text(convertShape(q.of.outfeed_shape(), q.log).toString())
                  : std::nullopt;
     }},
    {"output_to_operand_aliasing", aliases},
    {"padding", padding},
    {"padding_type", [](Q q) { return wordUnless(q, q.of.padding_type(), 0); }},
    {"replica_groups", replicaGroups},
    {"result_accuracy", accuracy},
    {"rhs_batch_dims",
     [](Q q) {
       return list(q, q.opcode == Opcode::RaggedDot
                          ? q.of.ragged_dot().dot().rhs_batch()
                          : q.of.dot().rhs_batch());
     }},
    {"rhs_contracting_dims",
     [](Q q) {
       return list(q, q.opcode == Opcode::RaggedDot
                          ? q.of.ragged_dot().dot().rhs_contracting()
                          : q.of.dot().rhs_contracting());
     }},
    {"rhs_group_dims",
     [](Q q) { return list(q, q.of.ragged_dot().rhs_group()); }},
    {"scatter", [](Q q) { return computation(q, 1); }},
    {"scatter_dims_to_operand_dims",
     [](Q q) {
       return list(q, q.of.scatter().scatter_dims_to_operand_dims());
     }},
    {"scatter_indices_batching_dims",
     [](Q q) {
       return list(q, q.of.scatter().scatter_indices_batching_dims());
     }},
    {"schedule", [](Q q) { return wordUnless(q, q.of.schedule(), 0); }},
    {"select", [](Q q) { return computation(q, 0); }},
    {"slice", slices},
    {"slice_sizes",
     [](Q q) {
       return q.opcode == Opcode::Gather
                  ? list(q, q.of.gather_slice_sizes())
                  : integerUnless(q.of.dynamic_slice_sizes_size(), {0});
     }},
    {"source_target_pairs", sourceTargets},
    {"start_index_map",
     [](Q q) { return list(q, q.of.gather().start_index_map()); }},
    {"start_indices_batching_dims",
     [](Q q) { return list(q, q.of.gather().start_indices_batching_dims()); }},
    {"to_apply",
     [](Q q) { return q.spec.required ? computation(q, 0) : std::nullopt; }},
    {"transpose_a",
     [](Q q) { return word(q, q.of.triangular_solve().transpose()); }},
    {"true_computation", [](Q q) { return branch(q, 0); }},
    {"type", comparisonType},
    {"unique_indices", [](Q q) { return flag(q.of.unique_indices()); }},
    {"unit_diagonal",
     [](Q q) { return flag(q.of.triangular_solve().unit_diagonal()); }},
    {"update_window_dims",
     [](Q q) { return list(q, q.of.scatter().update_window_dims()); }},
    {"use_global_device_ids",
     [](Q q) { return flag(q.of.use_global_device_ids()); }},
    {"window", window},
};

static const Answer *findAnswer(llvm::StringRef name) {
  const Answer *found = llvm::partition_point(
      kAnswers, [&](const Answer &answer) { return answer.name < name; });
  return found != std::end(kAnswers) && found->name == name ? found : nullptr;
}

void pb::printOwnAttributes(const Instruction &instruction, Opcode opcode,
                            const Scope &scope, llvm::raw_ostream &os,
                            ErrorLog &log) {
  for (const hlo::AttributeSpec &spec : hlo::getAttributes(opcode)) {
    const Answer *answer = findAnswer(spec.name);
    if (!answer) {
      log.report(unsupportedError("instruction in a protocol buffer",
                                  "one without `" + spec.name + "`",
                                  instruction.opcode()));
      return;
    }
    Question question{instruction, opcode, spec, scope, log};
    if (Text text = answer->get(question))
      os << ", " << spec.name << '=' << *text;
  }
}

void pb::printCommonAttributes(const Instruction &instruction,
                               const Scope &scope, llvm::raw_ostream &os,
                               ErrorLog &log) {
  if (instruction.has_sharding())
    os << ", sharding=" << formatSharding(instruction.sharding(), log);
  if (!instruction.frontend_attributes().entries().empty())
    os << ", frontend_attributes="
       << format(instruction.frontend_attributes(), log);
  if (!instruction.replication().leaves().empty()) {
    llvm::SmallVector<llvm::StringRef> words;
    for (bool isReplicated : instruction.replication().leaves())
      words.push_back(isReplicated ? "true" : "false");
    os << ", parameter_replication=" << formatList(words);
  }
  if (!instruction.control_predecessor_ids().empty()) {
    llvm::SmallVector<std::string> names;
    for (int64_t id : instruction.control_predecessor_ids())
      if (const Instruction *before = scope.getInstruction(id, log))
        names.push_back("%" + before->name());
    os << ", control-predecessors={" << llvm::join(names, ", ") << '}';
  }
  if (std::string metadata = formatMetadata(instruction.metadata());
      metadata != "{}")
    os << ", metadata=" << metadata;
  if (!instruction.backend_config().empty())
    os << ", backend_config=" << quoteUnlessJson(instruction.backend_config());
}
