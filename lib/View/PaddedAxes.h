//===- PaddedAxes.h - An array that fills its padding -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VIEW_PADDEDAXES_H
#define TESSERA_LIB_VIEW_PADDEDAXES_H

#include "tessera/Layout/AxisList.h"

namespace tessera {

/// The axes of the array that fills the padding of `axes`, which are those of
/// an array with `layout` that is not empty: each dimension as large as the
/// same physical shape allows, all elements in place. Nothing where PD makes
/// the memory that of no other array.
std::optional<AxisList> getPaddedAxes(const Layout &layout,
                                      const AxisList &axes);

} // namespace tessera

#endif // TESSERA_LIB_VIEW_PADDEDAXES_H
