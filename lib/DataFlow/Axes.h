//===- Axes.h - What operations go over -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation that is not elementwise still does the same at each index of
// some dimensions, and sums over others in any order. Which dimension of which
// operand that is, its attributes say. Said without numbers of dimensions, it
// is one operation however the dimensions of operands and result are ordered,
// split and merged:
//
//   dot(f32[4,8,16], f32[4,16,32]), batch {0}, contracting {2} and {1}
//     operand 0: b m k     operand 1: b k n     result: b m n
//     b, m, n: Each        k: Sum
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_DATAFLOW_AXES_H
#define TESSERA_LIB_DATAFLOW_AXES_H

#include "tessera/HLO/Module.h"

namespace tessera {

struct FlowAxis {
  enum class Kind : uint8_t {
    Each,  ///< The result has it, and each index of it is on its own.
    Sum,   ///< All of it goes into an element, in any order.
    Whole, ///< Anything else, as where a window slides.
  };
  Kind kind = Kind::Each;
  /// Of Whole: what is done along it, but for sizes.
  std::string label;
  /// Of Whole: scalar operands that belong to it, as where a slice begins.
  llvm::SmallVector<unsigned, 1> scalars;
};

/// A dimension, or a part of one, and the axis that it is.
struct AxisDimension {
  int64_t size = 0;
  unsigned axis = 0;
};
using AxisDimensions = llvm::SmallVector<AxisDimension, 6>;

/// An operation over axes. Dimensions are most major first.
struct AxisForm {
  struct Operand {
    unsigned number = 0;
    AxisDimensions dimensions;
  };

  /// The operation: opcodes that do the same have one.
  std::string name;
  /// The attributes of which this says all.
  llvm::SmallVector<llvm::StringRef, 4> said;
  std::vector<FlowAxis> axes;
  std::vector<Operand> operands;
  /// Of each result.
  AxisDimensions result;
};

/// What `instruction` does to give `result`; nothing where that is not known,
/// or sizes and attributes do not fit together.
std::optional<AxisForm> getAxisForm(const hlo::Instruction &instruction,
                                    const Shape &result);

/// The dimension along which operands lie one behind the other in `result`, if
/// that is all that `instruction` does.
std::optional<size_t>
getConcatenatedDimension(const hlo::Instruction &instruction,
                         const Shape &result);

} // namespace tessera

#endif // TESSERA_LIB_DATAFLOW_AXES_H
