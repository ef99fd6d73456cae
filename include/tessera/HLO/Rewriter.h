//===- Rewriter.h - Changing HLO modules ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parsed module consists of pieces of its text. What is put in place of them
// belongs to the module as well. The instructions of a module may be changed as
// they are; what the parser has derived from them (operands, attributes as
// text) is for whoever changes them to keep right.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_REWRITER_H
#define TESSERA_HLO_REWRITER_H

#include "tessera/HLO/Module.h"

namespace tessera::hlo {

class Rewriter {
public:
  explicit Rewriter(Module &module) : module(module) {}

  /// A shape, a text and a list of attributes that live as long as the module.
  const Shape *own(const Shape &shape);
  llvm::StringRef own(const llvm::Twine &text);
  llvm::ArrayRef<Attribute> own(llvm::ArrayRef<Attribute> attributes);

  /// An instruction that is in no computation yet.
  Instruction *create(Opcode opcode, llvm::StringRef name, const Shape &shape,
                      llvm::ArrayRef<Instruction *> operands,
                      llvm::ArrayRef<Attribute> attributes = {});

  /// Gives a computation another list of instructions, operands before users.
  void setBody(Computation &computation, std::vector<Instruction *> body);

  /// Changes the text of an attribute of the module, or removes it.
  void setAttribute(llvm::StringRef name, const llvm::Twine &text);
  void removeAttribute(llvm::StringRef name);

  /// Makes entry_computation_layout, where it is written, that of the entry.
  void updateEntryLayout();

private:
  Module &module;
};

} // namespace tessera::hlo

#endif // TESSERA_HLO_REWRITER_H
