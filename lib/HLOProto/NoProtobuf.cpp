//===- NoProtobuf.cpp - A build without protobuf --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLOProto/HLOProto.h"

#include "tessera/Layout/Diagnostic.h"

llvm::Expected<std::string> tessera::convertProtoToHLO(llvm::StringRef) {
  return unsupportedError("kind of file", "HLO text",
                          "binary data, such as a protocol buffer",
                          "this build has no protobuf; XLA dumps text with "
                          "--xla_dump_hlo_as_text");
}
