//===- Attributes.h - Reading attribute values of HLO -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers for attributes of a parsed module, whose grammar is known to hold.
// Null stands for an attribute that is not there, and gives nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_ATTRIBUTES_H
#define TESSERA_HLO_ATTRIBUTES_H

#include "tessera/HLO/Module.h"

namespace tessera::hlo {

/// Of kinds Int and Int32.
std::optional<int64_t> getInt(const Attribute *attribute);

/// Of kind Bool; false when not there.
bool getBool(const Attribute *attribute);

/// Of kind IntList: the integers of `{0,2}`.
llvm::SmallVector<int64_t, 6> getInts(const Attribute *attribute);

/// Of kinds IntListList and Slices: `{{0,1},{2}}`, `{[0:4:1], [1:3]}`.
std::vector<llvm::SmallVector<int64_t, 4>>
getIntLists(const Attribute *attribute);

/// Of kinds String and StringOrJson: the text of a string without quotes and
/// escapes; JSON as it is.
std::optional<std::string> getString(const Attribute *attribute);

/// Field `name` of a Metadata attribute: the text of a string, or a number's
/// digits.
std::optional<std::string> getMetadata(const Attribute *attribute,
                                       llvm::StringRef name);

/// The line of the user's program that an instruction is of, `model.py:16`, by
/// the tables of the module or the metadata itself; empty where neither says.
std::string getSourceLine(const Module &module, const Instruction &instruction);

/// What the TPU compiler writes into the backend_config of an instruction: the
/// cycles that it expects it to take, and memory that it has while it runs.
struct CompilerEstimate {
  std::optional<int64_t> cycles;
  /// Bytes by memory space.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 1> scopedMemory;
};
CompilerEstimate getCompilerEstimate(const Instruction &instruction);

/// One entry of an Aliasing or OperandAliasing attribute: the part of the
/// output that shares memory with a part of an input.
struct Alias {
  llvm::SmallVector<int64_t, 2> outputIndex;
  int64_t number = 0; ///< Of the parameter or operand.
  llvm::SmallVector<int64_t, 2> inputIndex;
};
std::vector<Alias> getAliases(const Attribute *attribute);

/// The leaf or subtree of `shape` at `index`, or null.
const Shape *getSubshape(const Shape &shape, llvm::ArrayRef<int64_t> index);

/// `"a\n"` without its quotes and escapes.
std::string unquote(llvm::StringRef quoted);

} // namespace tessera::hlo

#endif // TESSERA_HLO_ATTRIBUTES_H
