//===- PackedNests.h - Nests of elements that share bytes -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements of 1, 2 or 4 bits on either side, or on one where the other has
// whole bytes. A nest of them becomes nests of bytes: loops are split until
// every stride is whole bytes on both sides. What a step of the loops then
// writes are some bytes at fixed distances, each of which is packed from bits
// of bytes at fixed distances:
//
//   s4[64,64]{1,0:E(4)} to {0,1:E(4)}
//     for 32  src 1 dst 64           two columns
//       for 32  src 64 dst 1         two rows
//         byte 0 of bits 0-3 at 0, bits 0-3 at 32
//         byte 32 of bits 4-7 at 0, bits 4-7 at 32
//
// So every kernel for bytes is one for packed elements too, once its loads pack
// what they bring.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_PACKEDNESTS_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_PACKEDNESTS_H

#include "tessera/Conversion/TesseraToVector/StridedNests.h"

namespace tessera {

/// A nest in bytes, made of one of packed elements.
struct PackedNest {
  StridedNest strided;
  /// The bits of every byte that are copied (or filled).
  uint8_t mask = 0xFF;
  /// See NestSchedule.
  llvm::SmallVector<PackedBytes, 2> packedBytes;
};

/// Nests are code where relayouts are compiled, and most of these are short.
inline constexpr size_t kMaxPackedNests = 64;

/// Bytes of the destination that a nest has in part only, at the ends of runs,
/// are nests of their own. `forFill` looks at the destination alone.
///
/// Error: *unsupported* where that makes more than `maxNests`.
llvm::Expected<std::vector<PackedNest>>
packNests(llvm::ArrayRef<StridedNest> nests, const ElementBits &bits,
          bool forFill, size_t maxNests = kMaxPackedNests);

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_PACKEDNESTS_H
