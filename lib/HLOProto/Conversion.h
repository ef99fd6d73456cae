//===- Conversion.h - What the parts of the conversion share ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text is written in one pass. What is wrong on the way is kept, the first of
// it alone, and the text is thrown away in the end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_HLOPROTO_CONVERSION_H
#define TESSERA_LIB_HLOPROTO_CONVERSION_H

#include "HLO.pb.h"

#include "tessera/HLO/Opcode.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Layout/Shape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace tessera::pb {

/// The first error of a conversion.
class ErrorLog {
public:
  void report(llvm::Error error) {
    Diagnostic diagnostic = takeDiagnostic(std::move(error));
    if (!first)
      first = std::move(diagnostic);
  }
  bool failed() const { return first.has_value(); }
  llvm::Error take() {
    return llvm::make_error<LayoutError>(std::move(*first));
  }

private:
  std::optional<Diagnostic> first;
};

/// The shape; that of the empty tuple after an error.
tessera::Shape convertShape(const Shape &shape, ErrorLog &log);

/// The value of a constant of `shape`, `{...}` where it has no elements.
void printConstant(const Literal &literal, const tessera::Shape &shape,
                   llvm::raw_ostream &os, ErrorLog &log);

/// A name; reports one that a text can't have.
llvm::StringRef checkName(llvm::StringRef name, ErrorLog &log);

/// `"text"`, with escapes.
std::string quote(llvm::StringRef text);
/// Text that looks like JSON as it is, all other in quotes.
std::string quoteUnlessJson(llvm::StringRef text);

/// `{1,2}`.
template <typename Range> std::string formatList(const Range &values) {
  std::string text = "{";
  llvm::raw_string_ostream os(text);
  llvm::interleave(values, os, ",");
  return text + "}";
}

/// `[4,2]T(1,0)`: numbers from 0 on in a shape, transposed.
template <typename Message> std::string formatReshape(const Message &message) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleave(message.reshape_dims(), os, ",");
  os << ']';
  if (message.transpose_perm_size() > 1) {
    os << "T(";
    llvm::interleave(message.transpose_perm(), os, ",");
    os << ')';
  }
  return text;
}

/// `mesh['x'=2,'y'=4]`, and its devices where they are not in order.
std::string formatMesh(const Mesh &mesh, ErrorLog &log);

/// `{'y','x':(1)2}`: axes of a mesh, or parts of them.
std::string
formatParts(const Mesh &mesh,
            const google::protobuf::RepeatedPtrField<MeshPart> &parts,
            ErrorLog &log);

/// `{devices=[2,1]0,1}`, `{{replicated}, {manual}}`, `{mesh['x'=2], [{'x'}]}`.
std::string formatSharding(const Sharding &sharding, ErrorLog &log);

/// `{op_name="f" source_line=3}`.
std::string formatMetadata(const Metadata &metadata);

/// `{key="text"}`, by key.
std::string format(const FrontendAttributes &attributes, ErrorLog &log);

/// Where an instruction stands: what its numbers mean.
struct Scope {
  std::map<int64_t, const Computation *> computations;
  /// Of the computation at hand.
  std::map<int64_t, const Instruction *> instructions;

  const Computation *getComputation(int64_t id, ErrorLog &log) const;
  const Instruction *getInstruction(int64_t id, ErrorLog &log) const;
};

/// The one instruction that a computation is made of beside parameters, or
/// null.
const Instruction *getOnlyInstruction(const Computation &computation);

/// `, name=value` for each attribute of its opcode's own.
void printOwnAttributes(const Instruction &instruction, hlo::Opcode opcode,
                        const Scope &scope, llvm::raw_ostream &os,
                        ErrorLog &log);
/// The same of those that instructions of all opcodes may have.
void printCommonAttributes(const Instruction &instruction, const Scope &scope,
                           llvm::raw_ostream &os, ErrorLog &log);

/// The whole text.
void printModule(const Module &module, llvm::raw_ostream &os, ErrorLog &log);

} // namespace tessera::pb

#endif // TESSERA_LIB_HLOPROTO_CONVERSION_H
