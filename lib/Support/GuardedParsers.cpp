//===- GuardedParsers.cpp - MLIR's parsers, behind checkParsable ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's C API and language server call its parsers, and have no hook in front
// of them. The linker's --wrap=NAME makes their calls of NAME arrive here, at
// __wrap_NAME; __real_NAME is the parser. CMakeLists.txt has those options, and
// without one of them nothing links.
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Nesting.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Declares the parser and its guard, which have one type.
#define DECLARE_GUARDED(RESULT, NAME, MANGLED, ...)                            \
  RESULT NAME##Unguarded(__VA_ARGS__) __asm__("__real_" MANGLED);              \
  RESULT NAME##Guarded(__VA_ARGS__) __asm__("__wrap_" MANGLED);

DECLARE_GUARDED(LogicalResult, parseAsm,
                "_ZN4mlir18parseAsmSourceFileERKN4llvm9SourceMgrEPNS_5BlockERKN"
                "S_12ParserConfigEPNS_14AsmParserStateEPNS_28AsmParserCodeCompl"
                "eteContextE",
                const llvm::SourceMgr &, Block *, const ParserConfig &,
                AsmParserState *, AsmParserCodeCompleteContext *)
DECLARE_GUARDED(LogicalResult, parseString,
                "_ZN4mlir17parseSourceStringEN4llvm9StringRefEPNS_5BlockERKNS_1"
                "2ParserConfigES1_PNS_12LocationAttrE",
                StringRef, Block *, const ParserConfig &, StringRef,
                LocationAttr *)
DECLARE_GUARDED(LogicalResult, parseFile,
                "_ZN4mlir15parseSourceFileEN4llvm9StringRefEPNS_5BlockERKNS_12P"
                "arserConfigEPNS_12LocationAttrE",
                StringRef, Block *, const ParserConfig &, LocationAttr *)
DECLARE_GUARDED(Attribute, parseAttribute,
                "_ZN4mlir14parseAttributeEN4llvm9StringRefEPNS_11MLIRContextENS"
                "_4TypeEPmb",
                StringRef, MLIRContext *, Type, size_t *, bool)
DECLARE_GUARDED(Type, parseType,
                "_ZN4mlir9parseTypeEN4llvm9StringRefEPNS_11MLIRContextEPmb",
                StringRef, MLIRContext *, size_t *, bool)

static LogicalResult check(StringRef text, StringRef name,
                           MLIRContext *context) {
  llvm::Error error = tessera::checkParsable(text);
  if (!error)
    return success();
  return emitError(FileLineColLoc::get(context, name, 1, 1),
                   llvm::toString(std::move(error)));
}

LogicalResult parseAsmGuarded(const llvm::SourceMgr &sources, Block *block,
                              const ParserConfig &config, AsmParserState *state,
                              AsmParserCodeCompleteContext *complete) {
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (failed(check(buffer->getBuffer(), buffer->getBufferIdentifier(),
                   config.getContext())))
    return failure();
  return parseAsmUnguarded(sources, block, config, state, complete);
}

LogicalResult parseStringGuarded(StringRef text, Block *block,
                                 const ParserConfig &config, StringRef name,
                                 LocationAttr *location) {
  if (failed(check(text, name, config.getContext())))
    return failure();
  return parseStringUnguarded(text, block, config, name, location);
}

/// The file is read once, as it may be a pipe.
LogicalResult parseFileGuarded(StringRef path, Block *block,
                               const ParserConfig &config,
                               LocationAttr *location) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  // A file that cannot be read is the parser's to report.
  if (!file)
    return parseFileUnguarded(path, block, config, location);
  if (failed(check(file->getBuffer(), path, config.getContext())))
    return failure();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  return parseSourceFile(sources, block, config, location);
}

Attribute parseAttributeGuarded(StringRef text, MLIRContext *context, Type type,
                                size_t *numRead, bool isTerminated) {
  if (failed(check(text, "attribute", context)))
    return {};
  return parseAttributeUnguarded(text, context, type, numRead, isTerminated);
}

Type parseTypeGuarded(StringRef text, MLIRContext *context, size_t *numRead,
                      bool isTerminated) {
  if (failed(check(text, "type", context)))
    return {};
  return parseTypeUnguarded(text, context, numRead, isTerminated);
}
