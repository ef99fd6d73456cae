//===- Tune.h - Plans by measurement ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures on the machine that this runs on, as FFTW and HPTT do: either the
// coefficients of its processor, by which all relayouts are planned, or the
// plans of one relayout. Other work on the machine makes results worse, not
// wrong.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILE_TUNE_H
#define TESSERA_COMPILE_TUNE_H

#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/TesseraToVector/MachineProfile.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace tessera {

/// A plan that was timed.
struct TimedPlan {
  /// What overrules the rule; without choices, the plan of the rule itself.
  RelayoutTuning tuning;
  /// The best time of one call, in seconds.
  double seconds = 0;
};

/// Times the plan of the rule and all variants of it, on buffers of their own,
/// and gives them from fastest to slowest. Variants that a first look finds far
/// behind are not timed again. Where the rule is within a hundredth of the
/// fastest, it comes first.
///
/// Errors: as of getRelayoutFunction; *unsupported* where `options` name a
/// target or a processor, and where there is no memory for the buffers.
llvm::Expected<std::vector<TimedPlan>>
tuneRelayout(const ArrayPart &source, const ArrayPart &destination,
             const CompileOptions &options = {});

/// A coefficient that was measured.
struct CalibrationStep {
  llvm::StringRef key;
  int64_t value = 0;
  /// The time of relayouts whose code it changes, relative to what was there
  /// before, as a geometric mean: 1 where the value stayed.
  double ratio = 1;
  /// Relayouts that tell, as their code depends on it; the value stays where
  /// there is none.
  size_t numRelayouts = 0;
};

struct CalibrationOptions {
  /// Is told of each coefficient, later on of those that changed again.
  llvm::function_ref<void(const CalibrationStep &)> report = nullptr;
  /// The coefficients to begin with; none for those of the table.
  std::optional<ProcessorCosts> start = std::nullopt;
  /// Keys of what is measured; none for all.
  std::vector<std::string> keys = {};
};

/// Measures the coefficients of this processor, one after another. A value
/// takes the place of another only where it is faster by a thirtieth. Takes
/// about a minute and 750 MB.
///
/// Errors: as of tuneRelayout.
llvm::Expected<MachineProfile>
calibrate(const CalibrationOptions &options = {});

} // namespace tessera

#endif // TESSERA_COMPILE_TUNE_H
