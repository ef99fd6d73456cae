//===- Rewriter.cpp - Changing HLO modules --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Rewriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

const Shape *Rewriter::own(const Shape &shape) {
  return &module.shapes.try_emplace(shape.toString(), shape).first->second;
}

StringRef Rewriter::own(const llvm::Twine &text) {
  return StringRef(text.str()).copy(module.arena);
}

llvm::ArrayRef<Attribute> Rewriter::own(llvm::ArrayRef<Attribute> attributes) {
  return attributes.copy(module.arena);
}

Instruction *Rewriter::create(Opcode opcode, StringRef name, const Shape &shape,
                              llvm::ArrayRef<Instruction *> operands,
                              llvm::ArrayRef<Attribute> attributes) {
  auto *instruction = new (module.arena.Allocate<Instruction>()) Instruction();
  instruction->opcode = opcode;
  instruction->name = name;
  instruction->shape = own(shape);
  instruction->operands = operands.copy(module.arena);
  instruction->attributes = own(attributes);
  return instruction;
}

void Rewriter::setBody(Computation &computation,
                       std::vector<Instruction *> body) {
  computation.body = std::move(body);
  for (auto [i, instruction] : llvm::enumerate(computation.body)) {
    instruction->index = i;
    instruction->parent = &computation;
  }
}

void Rewriter::setAttribute(StringRef name, const llvm::Twine &text) {
  for (Attribute &attribute : module.attrs)
    if (attribute.name == name)
      attribute.text = own(text);
}

void Rewriter::removeAttribute(StringRef name) {
  llvm::erase_if(module.attrs, [&](const Attribute &attribute) {
    return attribute.name == name;
  });
}

void Rewriter::updateEntryLayout() {
  if (!module.entryComputationLayout)
    return;
  ProgramShape &program = *module.entryComputationLayout;
  program.parameters.clear();
  for (const Instruction *parameter : module.entry()->parameters())
    program.parameters.push_back(parameter->shape);
  program.result = module.entry()->root()->shape;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{(";
  llvm::interleaveComma(program.parameters, os,
                        [&](const Shape *shape) { os << *shape; });
  os << ")->" << *program.result << '}';
  setAttribute("entry_computation_layout", text);
}
