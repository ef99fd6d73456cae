//===- PassOptions.h - Values that options may have -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one check of what is written for an option of a pass. Parsing sees that a
// number is a number; which ones make sense is known here.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_IR_PASSOPTIONS_H
#define TESSERA_DIALECT_TESSERA_IR_PASSOPTIONS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tessera {

/// OpenMP's runtime ends the program where it can't start them all.
inline constexpr int64_t kMaxThreads = 1024;

/// Success if `isValid`; otherwise an *invalid* error at `op`, which the pass
/// runs on, that names the option and what it may be.
mlir::LogicalResult checkOption(mlir::Operation *op, llvm::StringRef name,
                                bool isValid, const llvm::Twine &expected,
                                const llvm::Twine &found);

/// The same for a number from `least` to `most`, as far as there is one.
/// `OptionT` is a pass's `Option` of an integer.
template <typename OptionT>
mlir::LogicalResult checkRange(mlir::Operation *op, const OptionT &option,
                               int64_t least,
                               std::optional<int64_t> most = std::nullopt) {
  auto value = static_cast<int64_t>(option.getValue());
  bool isValid = value >= least && (!most || value <= *most);
  std::string expected = most ? "a number from " + std::to_string(least) +
                                    " to " + std::to_string(*most)
                              : "a number of at least " + std::to_string(least);
  return checkOption(op, option.ArgStr, isValid, expected,
                     std::to_string(value));
}

} // namespace tessera

#endif // TESSERA_DIALECT_TESSERA_IR_PASSOPTIONS_H
