//===- Limit.h - Conditions on reports, for CI ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_LIMIT_H
#define TESSERA_REPORT_LIMIT_H

#include "tessera/Report/Report.h"

namespace tessera {

/// A number of a report that must not be above a limit:
///
///     limit    := quantity [ '(' INT ')' ] ( '>' | '>=' ) [ '+' ] amount
///     quantity := 'arguments' | 'outputs' | 'buffers' | 'padding'
///               | 'relayouts' | 'async' | 'peak' | 'program'
///     amount   := NUMBER ( '%' | [ 'B' | 'KiB' | 'MiB' | 'GiB' | 'TiB' ] )
///
/// The number in brackets is a memory space. With `+` it is the growth from one
/// report to another that is limited, in bytes or of what there was before;
/// without `+` a percentage is that of padding in buffers.
class Limit {
public:
  /// Errors: *invalid*, with the position in the text.
  static llvm::Expected<Limit> parse(llvm::StringRef text);

  /// Whether it compares two reports.
  bool isGrowth() const { return growth; }

  /// What exceeds it, in words; nothing where nothing does. `before` is null
  /// where there is one report only. Errors: *invalid* for a growth then,
  /// *unsupported* for peaks of modules that are not scheduled.
  llvm::Expected<std::optional<std::string>>
  check(const Report &report, const Report *before = nullptr) const;

private:
  enum class Quantity : uint8_t {
    Arguments,
    Outputs,
    Buffers,
    Padding,
    Relayouts,
    Async,
    Peak,
    Program
  };

  llvm::Expected<int64_t> measure(const Report &report) const;
  bool isAbove(double found, double allowed) const {
    return inclusive ? found >= allowed : found > allowed;
  }

  std::string text;
  Quantity quantity = Quantity::Padding;
  std::optional<int64_t> space;
  bool inclusive = false; ///< `>=`
  bool growth = false;
  bool percent = false;
  double amount = 0; ///< Bytes, or per cent.

  friend class LimitParser;
};

} // namespace tessera

#endif // TESSERA_REPORT_LIMIT_H
