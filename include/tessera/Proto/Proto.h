//===- Proto.h - Shapes and layouts as protocol buffers' text ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XLA's messages ShapeProto and LayoutProto (xla_data.proto) in the text format
// of protocol buffers:
//
//   f32[2,<=3]{1,0:T(8,128)}      element_type: F32
//                                 dimensions: 2
//                                 dimensions: 3
//                                 layout {
//                                   minor_to_major: 1
//                                   minor_to_major: 0
//                                   tiles {
//                                     dimensions: 8
//                                     dimensions: 128
//                                   }
//                                   tail_padding_alignment_in_elements: 1
//                                 }
//                                 is_dynamic_dimension: false
//                                 is_dynamic_dimension: true
//
// PD and PV are the fields padded_dimensions and padding_value, which older
// versions of the message have. `?` and `*` are the number -2^63, as in XLA.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROTO_PROTO_H
#define TESSERA_PROTO_PROTO_H

#include "tessera/Layout/Shape.h"

namespace tessera {

/// A line for each field, in the order of field numbers, as XLA writes them:
/// fields that have their default are left out, but for the tail padding.
std::string toProtoText(const Shape &shape);
/// The same of a layout. *Unsupported* for B, which has no field.
llvm::Expected<std::string> toProtoText(const Layout &layout);

/// Reads a ShapeProto and verifies it. Names and numbers of enumerators, lists
/// in brackets, `<...>` for `{...}` and `#` comments are taken as the text
/// format has them. Fields that only sparse arrays use must be at their
/// default; dimension level types are dropped. An array without a layout stays
/// so. Errors (proto_c1... and the other rules of docs/notation-rules.md) carry
/// the byte offset in `text`.
llvm::Expected<Shape> parseShapeProto(llvm::StringRef text);
/// Reads a LayoutProto and verifies it by Layout::verify.
llvm::Expected<Layout> parseLayoutProto(llvm::StringRef text);

/// The type of which the enumerator of PrimitiveType has this number; nothing
/// for tuples, buffers and numbers that no type has.
std::optional<PrimitiveType> getPrimitiveType(int64_t number);

} // namespace tessera

#endif // TESSERA_PROTO_PROTO_H
