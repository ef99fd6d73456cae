//===- Module.cpp - A module of HLO text ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Module.h"

#include "tessera/HLO/Attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

static const Attribute *findAttribute(llvm::ArrayRef<Attribute> attributes,
                                      StringRef name) {
  const Attribute *found = llvm::find_if(
      attributes, [&](const Attribute &a) { return a.name == name; });
  return found == attributes.end() ? nullptr : found;
}

const Attribute *Instruction::getAttribute(StringRef name) const {
  return findAttribute(attributes, name);
}

Computation *Instruction::getComputation(StringRef name) const {
  const Attribute *attribute = getAttribute(name);
  return attribute && attribute->computations.size() == 1
             ? attribute->computations.front()
             : nullptr;
}

int64_t Instruction::parameterNumber() const {
  int64_t number = -1;
  if (opcode == Opcode::Parameter)
    payload.getAsInteger(10, number);
  return number;
}

std::string Instruction::opcodeName() const {
  if (!asyncWrapped)
    return getName(opcode).str();
  StringRef step = getName(opcode);
  step.consume_front("async");
  return (getName(*asyncWrapped) + step).str();
}

const Attribute *Module::getAttribute(StringRef name) const {
  return findAttribute(attrs, name);
}

bool Module::isScheduled() const {
  return single || getBool(getAttribute("is_scheduled"));
}

size_t Module::numInstructions() const {
  size_t count = 0;
  for (const Computation *computation : order)
    count += computation->instructions().size();
  return count;
}

SourceLocation Module::getLocation(StringRef piece) const {
  if (piece.begin() < buffer.begin() || piece.begin() > buffer.end())
    return {1, 1};
  size_t offset = piece.begin() - buffer.begin();
  auto next = llvm::upper_bound(lineStarts, offset);
  size_t line = next - lineStarts.begin();
  return {static_cast<unsigned>(line),
          static_cast<unsigned>(offset - lineStarts[line - 1] + 1)};
}

bool hlo::areCompatible(const Shape &lhs, const Shape &rhs) {
  if (lhs.kind() != rhs.kind())
    return false;
  // A size that is not known goes with any.
  auto agree = [](int64_t l, int64_t r) {
    return l == r || l == kDynamic || r == kDynamic;
  };
  if (lhs.isArray())
    return lhs.elementType() == rhs.elementType() &&
           llvm::equal(lhs.dimensions(), rhs.dimensions(), agree);
  return llvm::equal(lhs.elements(), rhs.elements(), areCompatible);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printAttributes(llvm::ArrayRef<Attribute> attributes,
                            llvm::raw_ostream &os) {
  for (const Attribute &attribute : attributes)
    os << ", " << attribute.name << '=' << attribute.text;
}

void hlo::print(const Instruction &instruction, llvm::raw_ostream &os,
                bool operandShapes) {
  if (instruction.isRoot)
    os << "ROOT ";
  os << '%' << instruction.name << " = ";
  instruction.shape->print(os);
  os << ' ' << instruction.opcodeName() << '(' << instruction.payload;
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    // XLA counts long lists for the reader.
    if (i > 0)
      os << ", ";
    if (i > 0 && i % 5 == 0)
      os << "/*index=" << i << "*/";
    if (operandShapes && operand->shape)
      os << *operand->shape << ' ';
    os << '%' << operand->name;
  }
  os << ')';
  printAttributes(instruction.attributes, os);
}

ComputationText hlo::getText(const Computation &computation) {
  return {computation.name(),       computation.isEntry(),
          computation.parameters(), computation.instructions(),
          computation.root(),       computation.attributes()};
}

void hlo::print(const ComputationText &computation, llvm::raw_ostream &os) {
  if (computation.isEntry)
    os << "ENTRY ";
  os << '%' << computation.name << " (";
  llvm::interleaveComma(computation.parameters, os, [&](Instruction *p) {
    os << p->name << ": ";
    p->shape->print(os, /*printLayout=*/false);
  });
  os << ") -> ";
  computation.root->shape->print(os, /*printLayout=*/false);
  os << " {\n";
  for (const Instruction *instruction : computation.instructions) {
    os << "  ";
    hlo::print(*instruction, os);
    os << '\n';
  }
  os << '}';
  printAttributes(computation.attributes, os);
  os << "\n\n";
}

/// A table of quoted strings, numbered from 1.
static void printStrings(StringRef title, llvm::ArrayRef<StringRef> strings,
                         llvm::raw_ostream &os) {
  os << title << '\n';
  for (auto [i, string] : llvm::enumerate(strings))
    os << i + 1 << ' ' << string << '\n';
  os << '\n';
}

static void print(const StackFrameIndex &index, llvm::raw_ostream &os) {
  printStrings("FileNames", index.fileNames, os);
  printStrings("FunctionNames", index.functionNames, os);
  os << "FileLocations\n";
  for (auto [i, row] : llvm::enumerate(index.fileLocations))
    os << i + 1 << " {file_name_id=" << row.fileName
       << " function_name_id=" << row.function << " line=" << row.line
       << " end_line=" << row.endLine << " column=" << row.column
       << " end_column=" << row.endColumn << "}\n";
  os << "\nStackFrames\n";
  for (auto [i, row] : llvm::enumerate(index.stackFrames))
    os << i + 1 << " {file_location_id=" << row.fileLocation
       << " parent_frame_id=" << row.parent << "}\n";
  os << "\n\n";
}

void Module::printHeader(llvm::raw_ostream &os) const {
  os << "HloModule " << moduleName;
  printAttributes(attrs, os);
  os << "\n\n";
  if (frames)
    ::print(*frames, os);
}

void Module::print(llvm::raw_ostream &os) const {
  // A single instruction says the shapes of its operands, for want of others.
  if (single) {
    hlo::print(*entryComputation->instructions().back(), os,
               /*operandShapes=*/true);
    os << '\n';
    return;
  }
  printHeader(os);
  for (const Computation *computation : order)
    hlo::print(getText(*computation), os);
}

std::string Module::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}
