//===- FileKind.cpp - What a file is, whatever its name -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/FileKind.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using llvm::StringRef;

/// Bytes that are looked at: headers, and what texts begin with.
static constexpr size_t kBegin = 4096;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

/// The text without white space and comments in front of it.
static StringRef skipComments(StringRef text) {
  text = text.ltrim();
  while (text.starts_with("//") || text.starts_with("/*")) {
    StringRef end = text[1] == '/' ? "\n" : "*/";
    size_t position = text.find(end, 2);
    if (position == StringRef::npos)
      return {};
    text = text.substr(position + end.size()).ltrim();
  }
  return text;
}

bool tessera::isHLOModule(StringRef text) {
  return skipComments(text).starts_with("HloModule");
}

static bool startsWithAny(StringRef text, llvm::ArrayRef<StringRef> begins) {
  return llvm::any_of(begins,
                      [&](StringRef begin) { return text.starts_with(begin); });
}

/// Whether bytes are no text: they hold zeros, or bytes that no UTF-8 begins
/// with.
static bool isBinary(StringRef bytes) {
  return llvm::any_of(bytes.take_front(kBegin), [](char c) {
    bool isControl =
        c >= 0 && c < ' ' && !StringRef("\t\n\v\f\r\033").contains(c);
    return isControl || c == '\177' || uint8_t(c) >= 0xF8;
  });
}

/// What an attribute or a type may be behind: `#map = ...`, `!t = ...`.
static bool isAlias(StringRef text) {
  if (!text.consume_front("#") && !text.consume_front("!"))
    return false;
  StringRef name = text.take_until(
      [](char c) { return !llvm::isAlnum(c) && c != '_' && c != '.'; });
  return !name.empty() && text.drop_front(name.size()).ltrim().starts_with("=");
}

bool tessera::isBytecode(StringRef bytes) {
  return bytes.starts_with("ML\xEFR");
}

FileKind tessera::getFileKind(StringRef bytes) {
  StringRef begin = bytes.take_front(kBegin);
  if (isBytecode(begin))
    return begin.contains("StableHLO") ? FileKind::StableHLOBytecode
                                       : FileKind::Bytecode;
  if (begin.starts_with("\x1F\x8B"))
    return FileKind::Gzip;
  if (startsWithAny(begin, {"PK\x03\x04", "PK\x05\x06"}))
    return FileKind::Zip;
  if (begin.starts_with("\x93NUMPY"))
    return FileKind::Numpy;
  if (isBinary(bytes))
    return FileKind::Binary;
  StringRef text = skipComments(bytes);
  if (text.starts_with("HloModule"))
    return FileKind::HLO;
  if (!startsWithAny(text,
                     {"module @", "module {", "module attributes",
                      "\"builtin.module\"", "builtin.module", "func.func "}) &&
      !isAlias(text))
    return FileKind::Text;
  return text.contains(" stablehlo.") || text.contains("\"stablehlo.")
             ? FileKind::StableHLO
             : FileKind::MLIR;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
/// A kind in words, and what to do with a file of it: which tool reads it, and
/// how others get what they read.
struct KindText {
  StringRef name;
  StringRef reader;
  StringRef toHLO;
  StringRef toMLIR;
};
} // namespace

static KindText getText(FileKind kind) {
  StringRef compile = "compile it by XLA with --xla_dump_to";
  StringRef report = "tessera-opt --tessera-report reads it";
  StringRef unpack = "unpack it by gunzip";
  switch (kind) {
  case FileKind::Text:
    return {"another text", "`-` reads standard input", "", ""};
  case FileKind::MLIR:
    return {"MLIR", report,
            "compile it by XLA with --xla_dump_to, or run --tessera-report of "
            "tessera-opt",
            ""};
  case FileKind::StableHLO:
    return {"StableHLO, as MLIR's text", "", compile, ""};
  case FileKind::Bytecode:
    return {"MLIR's bytecode", report, compile, ""};
  case FileKind::StableHLOBytecode:
    return {"StableHLO, as MLIR's bytecode", "", compile, ""};
  case FileKind::HLO:
    return {"HLO text", "tessera-hlo report reads it", "",
            "tessera-translate --import-hlo makes MLIR of it"};
  case FileKind::Gzip:
    return {"a file packed by gzip", unpack, unpack, unpack};
  case FileKind::Zip:
    return {"a zip archive, such as an npz file", "", "", ""};
  case FileKind::Numpy:
    return {"an array of numpy", "", "", ""};
  case FileKind::Binary:
    return {"binary data, such as a protocol buffer", "",
            "XLA dumps text with --xla_dump_hlo_as_text", ""};
  }
  llvm_unreachable("all kinds are above");
}

StringRef tessera::getFileKindName(FileKind kind) { return getText(kind).name; }

StringRef tessera::getFileKindReader(FileKind kind) {
  return getText(kind).reader;
}

/// An error for a file of `kind` where one of another is expected.
static llvm::Error makeError(FileKind kind, StringRef expected,
                             StringRef remedy) {
  return invalidError("", "kind of file", expected, getFileKindName(kind),
                      remedy);
}

/// Whether the bytes are characters.
static bool isText(FileKind kind) {
  return llvm::is_contained(
      {FileKind::Text, FileKind::MLIR, FileKind::StableHLO, FileKind::HLO},
      kind);
}

llvm::Error tessera::checkIsHLO(StringRef bytes) {
  FileKind kind = getFileKind(bytes);
  if (kind == FileKind::HLO || kind == FileKind::Text)
    return llvm::Error::success();
  return makeError(kind, "HLO text", getText(kind).toHLO);
}

llvm::Error tessera::checkIsMLIR(StringRef bytes) {
  FileKind kind = getFileKind(bytes);
  bool isBytecode =
      kind == FileKind::Bytecode || kind == FileKind::StableHLOBytecode;
  if (isBytecode || (isText(kind) && kind != FileKind::HLO))
    return llvm::Error::success();
  return makeError(kind, "MLIR's text or bytecode", getText(kind).toMLIR);
}

llvm::Error tessera::checkIsText(StringRef bytes, StringRef what) {
  FileKind kind = getFileKind(bytes);
  if (isText(kind))
    return llvm::Error::success();
  return makeError(kind, what, getText(kind).reader);
}
