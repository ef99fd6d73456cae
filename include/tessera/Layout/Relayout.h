//===- Relayout.h - Which relayouts there are -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LAYOUT_RELAYOUT_H
#define TESSERA_LAYOUT_RELAYOUT_H

#include "tessera/Layout/Box.h"

namespace tessera {

/// Whether there is a relayout from `source` to `destination`. Errors:
/// *invalid* unless both are arrays of the same type, and of the same
/// dimensions or boxes of the same sizes; *unsupported* for unbounded
/// dimensions, M, and E other than the type's bits or bytes.
llvm::Error checkRelayout(const ArrayPart &source,
                          const ArrayPart &destination);

} // namespace tessera

#endif // TESSERA_LAYOUT_RELAYOUT_H
