//===- HLOProto.h - HLO modules as protocol buffers -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XLA's HloModuleProto, HloProto, HloSnapshot and HloUnoptimizedSnapshot, the
// binary files that it dumps and that profilers keep, as the text that XLA
// prints of the module in them. Protobuf's own library reads them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLOPROTO_HLOPROTO_H
#define TESSERA_HLOPROTO_HLOPROTO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tessera {

/// The module in `bytes` as HLO text: what a reader of HLO text needs, without
/// statistics and original values. Errors: *invalid* where the bytes
/// are none of these messages, or do not fit together; *unsupported* for what
/// the text would lack otherwise, and where this build has no protobuf.
llvm::Expected<std::string> convertProtoToHLO(llvm::StringRef bytes);

/// The HLO text that the bytes of a file mean: they themselves, or what
/// convertProtoToHLO makes of them, which `storage` then holds. Errors: those
/// of convertProtoToHLO, and *invalid* for files of other kinds.
llvm::Expected<llvm::StringRef> getHLOText(llvm::StringRef bytes,
                                           std::string &storage);

} // namespace tessera

#endif // TESSERA_HLOPROTO_HLOPROTO_H
