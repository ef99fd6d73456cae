//===- HLOText.cpp - HLO modules in either form ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLOProto/HLOProto.h"

#include "tessera/Support/FileKind.h"

using namespace tessera;

llvm::Expected<llvm::StringRef> tessera::getHLOText(llvm::StringRef bytes,
                                                    std::string &storage) {
  if (getFileKind(bytes) != FileKind::Binary) {
    if (llvm::Error error = checkIsHLO(bytes))
      return std::move(error);
    return bytes;
  }
  llvm::Expected<std::string> text = convertProtoToHLO(bytes);
  if (!text)
    return text.takeError();
  storage = std::move(*text);
  return llvm::StringRef(storage);
}
