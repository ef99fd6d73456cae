//===- Verifier.h - Rules of HLO instructions -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser does not look at: whether shapes and layouts agree along each
// instruction.
//
//   hlo_c1  a bitcast reads the operand's bytes: footprints are equal in bits;
//           the space stays, but for values inside fusions, where spaces are
//           not kept. Positions of padding may be read, with what is there
//   hlo_c2  elementwise and the like keep layouts: operands of the result's
//           rank have its layout, but for tiles, space and split configurations
//           (and element size for convert, compare, select). In modules with
//           a schedule alone: before layouts are assigned, which no text says,
//           a compiler writes the default ones where they do not bind yet
//   hlo_c3  elementwise instructions keep dimensions, and the type up to the
//           precision of floating-point numbers
//   hlo_c4  copy keeps dimensions (the TPU compiler folds conversions of the
//           type into it), copy-start and copy-done the type too; the pair's
//           tuple holds destination and source
//   hlo_c5  tuple and get-tuple-element keep the shapes of elements, layouts
//           included
//   hlo_c6  operands fit the parameters of the called computation, and its root
//           fits the result, but for layouts
//   hlo_c7  transpose permutes dimensions, reshape keeps their product; both
//           keep the type as elementwise instructions do
//   hlo_c8  the entry's parameters and root have the shapes of
//           entry_computation_layout
//   hlo_c9  aliases name parts that exist, of equal shapes or, as the TPU
//           compiler has them, with equally large buffers
//   hlo_c10 what hands its operand on (opt-barrier, domain, add-dependency,
//           all-reduce-done) has its shape, and the end of a transfer that of
//           the part of its start that arrives, but for layouts
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_HLO_VERIFIER_H
#define TESSERA_HLO_VERIFIER_H

#include "tessera/HLO/Parser.h"

namespace tessera::hlo {

/// Appends what is wrong with `module` to `errors`, in the order of the text.
/// Whether nothing is.
bool verify(const Module &module, std::vector<SourceDiagnostic> &errors);

/// Whether the space of the values of `computation` is kept: false in fusions.
inline bool keepsMemorySpaces(const Computation &computation) {
  return !computation.isFused();
}

} // namespace tessera::hlo

#endif // TESSERA_HLO_VERIFIER_H
