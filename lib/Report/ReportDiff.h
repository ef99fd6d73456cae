//===- ReportDiff.h - What changed between two reports -------- -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_REPORTDIFF_H
#define TESSERA_LIB_REPORT_REPORTDIFF_H

#include "tessera/Report/Report.h"

namespace tessera {

/// A number of the whole that differs.
struct ChangedSum {
  std::string name; ///< `padding bytes`
  int64_t before;
  int64_t after;

  int64_t growth() const { return after - before; }
};

/// A value before and after the change.
struct ChangedValue {
  const ValueReport *before;
  const ValueReport *after;

  int64_t growth() const {
    return after->allocatedBytes - before->allocatedBytes;
  }
  /// Bytes that got another layout or space.
  int64_t affected() const {
    return std::max(before->allocatedBytes, after->allocatedBytes);
  }
};

/// Refers to both reports.
struct ReportDiff {
  std::vector<ChangedSum> sums;
  /// Values whose shape or layout differs: those whose memory changes most
  /// first, then those with most memory.
  std::vector<ChangedValue> changed;
  /// In the order of the text.
  std::vector<const ValueReport *> gone;
  std::vector<const ValueReport *> added;

  bool isEmpty() const {
    return sums.empty() && changed.empty() && gone.empty() && added.empty();
  }
};

ReportDiff compareReports(const Report &before, const Report &after);

/// What differs between two shapes of a value: `order, tiles`.
std::string describeChange(const ReportValue &before, const ReportValue &after);

} // namespace tessera

#endif // TESSERA_LIB_REPORT_REPORTDIFF_H
