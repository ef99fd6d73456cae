//===- HLOProto.cpp - HLO modules as protocol buffers -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLOProto/HLOProto.h"

#include "Conversion.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using llvm::StringRef;

/// Whether a message that was read as a module is one: its entry is there.
/// Other messages are read as modules too, of names and computations that are
/// none.
static bool isModule(const pb::Module &module) {
  return !module.entry_name().empty() &&
         llvm::any_of(module.computations(), [&](const auto &computation) {
           return computation.name() == module.entry_name();
         });
}

template <typename Message> static bool read(StringRef bytes, Message &into) {
  return bytes.size() <= INT32_MAX &&
         into.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

llvm::Expected<std::string> tessera::convertProtoToHLO(StringRef bytes) {
  pb::Module plain;
  pb::ModuleFile file;
  pb::Snapshot snapshot;
  const pb::Module *module = nullptr;
  if (read(bytes, plain) && isModule(plain))
    module = &plain;
  else if (read(bytes, file) && isModule(file.module()))
    module = &file.module();
  else if (read(bytes, snapshot) && isModule(snapshot.file().module()))
    module = &snapshot.file().module();
  if (!module)
    return invalidError("", "kind of file",
                        "HLO text, or an HloProto, HloModuleProto or "
                        "HloSnapshot of XLA",
                        "binary data that is none of them, or a part of one");
  std::string text;
  llvm::raw_string_ostream os(text);
  pb::ErrorLog log;
  pb::printModule(*module, os, log);
  if (log.failed())
    return log.take();
  return text;
}
