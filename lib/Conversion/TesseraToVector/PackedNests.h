//===- PackedNests.h - Nests of elements that share bytes -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_PACKEDNESTS_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_PACKEDNESTS_H

#include "StridedNests.h"

namespace tessera {

/// A nest in bytes, made of one in elements of 1, 2 or 4 bits.
struct PackedNest {
  StridedNest strided;
  /// The bits of every byte that are copied (or filled).
  uint8_t mask = 0xFF;
  /// See PlanNest.
  std::optional<NibblePairs> pairs;
};

/// Runs become runs of bytes, with a nest more for the byte at either end that
/// is not whole; what is transposed becomes pairs of rows of pairs.
/// `forFill` looks at the destination alone.
///
/// Errors: *unsupported* where elements move to another place within a byte
/// otherwise.
llvm::Expected<std::vector<PackedNest>>
packNests(llvm::ArrayRef<StridedNest> nests, int64_t elementBits, bool forFill);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_PACKEDNESTS_H
