//===- ExpandBitcasts.h - Bitcasts as what they stand for -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bitcast reads the bytes of an array as another array, so what it means
// depends on both layouts. Here it is written as instructions that mean the
// same in any layout. Then the layouts of a module may be changed.
//
//   %b = f32[77,6,35]{0,2,1:T(8,128)} bitcast(f32[35,77,6]{1,0,2:T(8,128)} %a)
//
// becomes
//
//   %b = f32[77,6,35]{0,2,1:T(8,128)} transpose(%a), dimensions={1,2,0}
//
// Where the element of each position is one of the operand's, a bitcast is a
// reshape, a transposition and another reshape, without those that do nothing;
// one that does nothing at all is a copy. Elsewhere, as where padding is read
// or elements have another width, the operand is padded to its memory and the
// result cut out of it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DATAFLOW_EXPANDBITCASTS_H
#define TESSERA_DATAFLOW_EXPANDBITCASTS_H

#include "tessera/HLO/Parser.h"

namespace tessera {

/// Expands every `bitcast` of a verified module. What cannot be expanded is
/// appended to `errors` as *unsupported*, and stays.
bool expandBitcasts(hlo::Module &module,
                    std::vector<hlo::SourceDiagnostic> &errors);

} // namespace tessera

#endif // TESSERA_DATAFLOW_EXPANDBITCASTS_H
