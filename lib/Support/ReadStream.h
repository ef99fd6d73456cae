//===- ReadStream.h - Files that may have no end ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SUPPORT_READSTREAM_H
#define TESSERA_LIB_SUPPORT_READSTREAM_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>

namespace tessera {

/// The alignment of what was read: a page's, as bytecode needs.
inline constexpr int64_t kInputAlignment = 4096;

/// Of a stream what readInput says.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readStream(llvm::StringRef path, std::optional<int64_t> maxBytes);

} // namespace tessera

#endif // TESSERA_LIB_SUPPORT_READSTREAM_H
