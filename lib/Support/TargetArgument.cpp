//===- TargetArgument.cpp - Targets on command lines ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/TargetArgument.h"

#include "tessera/Support/ToolSupport.h"

using namespace tessera;

std::string tessera::getTargetArgumentHelp() {
  return getTargetNames() + ", another name of one, or a file *.json";
}

llvm::Expected<TargetArgument> TargetArgument::read(llvm::StringRef text) {
  TargetArgument argument;
  if (!text.ends_with(".json")) {
    llvm::Error error = getTarget(text).moveInto(argument.preset);
    if (error)
      return std::move(error);
    return argument;
  }
  auto file = readInput(text);
  if (!file)
    return file.takeError();
  llvm::Expected<OwnTarget> own = OwnTarget::parse((*file)->getBuffer());
  if (!own)
    return own.takeError();
  argument.own = std::move(*own);
  return argument;
}
