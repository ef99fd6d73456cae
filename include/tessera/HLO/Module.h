//===- Module.h - A module of HLO text --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HLO as its text has it: a module of computations of instructions, every
// value with its shape and layout. Nothing is copied: names and attribute
// values are pieces of the parsed text, which must outlive the module. Equal
// shapes are shared.
//
// Attribute values stay text (printing them back is then exact); their grammar
// was checked by the parser, and the readers in Attributes.h and Literal.h take
// apart what a client wants to know.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_MODULE_H
#define TESSERA_HLO_MODULE_H

#include "tessera/HLO/Opcode.h"
#include "tessera/Layout/Shape.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"

#include <deque>
#include <memory>
#include <vector>

namespace tessera::hlo {

class Computation;
class Module;
struct Instruction;
struct SourceDiagnostic;

/// A location in the text, counted from 1; columns in bytes.
struct SourceLocation {
  unsigned line = 0;
  unsigned column = 0;
};

/// `name=value` behind an instruction, in the header, or behind a computation.
struct Attribute {
  llvm::StringRef name;
  /// The value, verbatim.
  llvm::StringRef text;
  AttributeKind kind;
  /// What Computation and ComputationList refer to.
  llvm::ArrayRef<Computation *> computations;
  /// What InstructionList refers to.
  llvm::ArrayRef<Instruction *> instructions;
  /// Of Shape and ShapeList.
  llvm::ArrayRef<const Shape *> shapes;
};

/// One instruction, and the value that it defines.
struct Instruction {
  /// Without `%`; a piece of the text, so it has a location.
  llvm::StringRef name;
  Opcode opcode = Opcode::Parameter;
  /// Of `add-start`: AsyncStart around Add; likewise -update and -done.
  std::optional<Opcode> asyncWrapped;
  bool isRoot = false;
  /// Number within its computation, in the order of the text.
  unsigned index = 0;
  /// Of the result. Null only of an operand that parseLine knows no shape of.
  const Shape *shape = nullptr;
  llvm::ArrayRef<Instruction *> operands;
  /// Of a constant: the literal's text; of a parameter: its number's.
  llvm::StringRef payload;
  llvm::ArrayRef<Attribute> attributes;
  Computation *parent = nullptr;

  /// The attribute of that name, or null.
  const Attribute *getAttribute(llvm::StringRef name) const;
  /// The computation that attribute `name` refers to, or null.
  Computation *getComputation(llvm::StringRef name) const;
  /// Of a parameter.
  int64_t parameterNumber() const;
  /// The name in the text, `add-start` included.
  std::string opcodeName() const;
};

/// A list of instructions with parameters and a result.
class Computation {
public:
  llvm::StringRef name() const { return computationName; }
  llvm::ArrayRef<Instruction *> instructions() const { return body; }
  Instruction *root() const { return rootInstruction; }
  /// By parameter number.
  llvm::ArrayRef<Instruction *> parameters() const { return params; }
  bool isEntry() const { return entry; }
  /// Whether a fusion calls it, directly or through others. Memory spaces of
  /// the values inside are not kept by the compiler, but for parameters and
  /// root.
  bool isFused() const { return fused; }
  /// `execution_thread`, when written.
  llvm::ArrayRef<Attribute> attributes() const { return attrs; }

private:
  friend class ParserImpl;
  friend class Rewriter;
  llvm::StringRef computationName;
  std::vector<Instruction *> body;
  std::vector<Instruction *> params;
  std::vector<Attribute> attrs;
  Instruction *rootInstruction = nullptr;
  bool entry = false;
  bool fused = false;
};

/// Rows of the table FileLocations; ids count from 1, as in the text.
struct FileLocation {
  int32_t fileName = 0, function = 0;
  int32_t line = 0, endLine = 0, column = 0, endColumn = 0;
};

/// Rows of the table StackFrames. A frame whose parent is itself is outermost.
struct StackFrame {
  int32_t fileLocation = 0, parent = 0;
};

/// The tables between header and computations; strings keep their quotes.
struct StackFrameIndex {
  std::vector<llvm::StringRef> fileNames;
  std::vector<llvm::StringRef> functionNames;
  std::vector<FileLocation> fileLocations;
  std::vector<StackFrame> stackFrames;
};

/// The shapes of a program's boundary.
struct ProgramShape {
  std::vector<const Shape *> parameters;
  const Shape *result = nullptr;
};

/// A parsed text: a module, or a single instruction (then its operands are the
/// parameters of a module that has one computation).
class Module {
public:
  explicit Module(llvm::StringRef text) : buffer(text) {}
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  llvm::StringRef name() const { return moduleName; }
  /// The text that it was parsed from.
  llvm::StringRef text() const { return buffer; }
  bool isSingleInstruction() const { return single; }
  /// Whether the order of instructions is the order of execution.
  bool isScheduled() const;

  llvm::ArrayRef<Attribute> attributes() const { return attrs; }
  const Attribute *getAttribute(llvm::StringRef name) const;
  /// entry_computation_layout, when written.
  const std::optional<ProgramShape> &entryLayout() const {
    return entryComputationLayout;
  }
  const std::optional<StackFrameIndex> &stackFrames() const { return frames; }

  /// In the order of the text: callees before callers.
  llvm::ArrayRef<Computation *> computations() const { return order; }
  Computation *entry() const { return entryComputation; }
  size_t numInstructions() const;

  /// Where a piece of text() stands.
  SourceLocation getLocation(llvm::StringRef piece) const;

  /// The module as text. Parsed by XLA it is the same module: what it prints
  /// of the two is equal.
  void print(llvm::raw_ostream &os) const;
  std::string toString() const;
  /// What stands in front of the computations.
  void printHeader(llvm::raw_ostream &os) const;

private:
  friend class ParserImpl;
  friend class Rewriter;
  llvm::StringRef buffer;
  llvm::StringRef moduleName;
  bool single = false;
  std::vector<Attribute> attrs;
  std::optional<ProgramShape> entryComputationLayout;
  std::optional<StackFrameIndex> frames;
  std::vector<Computation *> order;
  Computation *entryComputation = nullptr;
  /// Offsets of the first byte of each line.
  std::vector<size_t> lineStarts;
  /// Owners: arrays and instructions hold no resources, the others do.
  llvm::BumpPtrAllocator arena;
  std::deque<Computation> computationStorage;
  /// Each distinct text of a shape is parsed once.
  llvm::StringMap<Shape> shapes;
};

/// One line of HLO, `%name = shape opcode(operands), attributes`, without
/// indentation and line end. `operandShapes` writes the shapes of operands too.
void print(const Instruction &instruction, llvm::raw_ostream &os,
           bool operandShapes = false);

/// What a computation is printed from, for those who make one.
struct ComputationText {
  llvm::StringRef name;
  bool isEntry = false;
  /// By parameter number.
  llvm::ArrayRef<Instruction *> parameters;
  llvm::ArrayRef<Instruction *> instructions;
  /// One of them, which need not be marked.
  const Instruction *root = nullptr;
  llvm::ArrayRef<Attribute> attributes;
};
ComputationText getText(const Computation &computation);
void print(const ComputationText &computation, llvm::raw_ostream &os);

/// Whether two shapes differ in nothing but layouts (XLA's Compatible).
bool areCompatible(const Shape &lhs, const Shape &rhs);

} // namespace tessera::hlo

#endif // TESSERA_HLO_MODULE_H
