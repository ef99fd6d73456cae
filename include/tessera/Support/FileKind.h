//===- FileKind.h - What a file is, whatever its name -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of another kind than the one that a tool reads is named for what it
// is, with what to do about it, before a parser stumbles over its first word.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_FILEKIND_H
#define TESSERA_SUPPORT_FILEKIND_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Kinds of files that are told apart by how they begin. Texts that begin
/// otherwise are Text.
enum class FileKind {
  Text,
  MLIR,
  StableHLO,
  Bytecode,
  StableHLOBytecode,
  HLO,
  Gzip,
  Zip,
  Numpy,
  Binary,
};

/// The kind of a file with these bytes.
FileKind getFileKind(llvm::StringRef bytes);

/// Whether they are those of bytecode of MLIR, of any dialect.
bool isBytecode(llvm::StringRef bytes);

/// A kind in words, such as `HLO text`.
llvm::StringRef getFileKindName(FileKind kind);

/// What reads files of the kind, as a remedy; empty where nothing here does.
llvm::StringRef getFileKindReader(FileKind kind);

/// Whether a text is a module of HLO, by its first word behind comments.
bool isHLOModule(llvm::StringRef text);

/// *Invalid* where the bytes are of a kind that is no HLO text.
llvm::Error checkIsHLO(llvm::StringRef bytes);

/// *Invalid* where the bytes are of a kind that is neither MLIR's text nor its
/// bytecode.
llvm::Error checkIsMLIR(llvm::StringRef bytes);

/// *Invalid* where the bytes are of a kind that is no text of `what`.
llvm::Error checkIsText(llvm::StringRef bytes, llvm::StringRef what);

} // namespace tessera

#endif // TESSERA_SUPPORT_FILEKIND_H
