//===- MachineProfile.h - What was measured on a machine --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of relayouts depend on the processor: by a table of known ones, or by
// measurements on the machine at hand, which a file keeps:
//
//   {
//     "schema": "tessera.machine", "version": 1,
//     "cpu": "znver4",
//     "costs": {"copy-streams": 8, "panel-ps": 4250},
//     "relayouts": [
//       {"source": "f32[512,512]{1,0}", "destination": "f32[512,512]{0,1}",
//        "threads": 1, "plan": {"row-bytes": 128, "by-source": true}}
//     ]
//   }
//
// Costs that are left out are those of the table. A part of an array has its
// box behind the shape: "f32[512,512]{1,0} [0:64,0:512:2]". Code depends on the
// file alone: the same file gives the same code.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_TESSERATOVECTOR_MACHINEPROFILE_H
#define TESSERA_CONVERSION_TESSERATOVECTOR_MACHINEPROFILE_H

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"
#include "tessera/Layout/Box.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tessera {

/// A relayout whose best plan was measured.
struct TunedRelayout {
  /// Arrays or parts of them, as MachineProfile::getText has them.
  std::string source, destination;
  int64_t threads = 1;
  BufferState buffers = BufferState::Unknown;
  /// Without choices: the plan of the rule.
  RelayoutTuning tuning;
};

/// Measurements on one machine.
struct MachineProfile {
  /// The processor, by LLVM's name.
  std::string cpu;
  ProcessorCosts costs;
  std::vector<TunedRelayout> relayouts;

  /// This machine's, before anything is measured: costs of the table.
  static MachineProfile getHost();
  /// Reads a file. Errors: *invalid* for texts that are no JSON, fields that
  /// are none, and values beyond their ranges.
  static llvm::Expected<MachineProfile> parse(llvm::StringRef text);
  /// The same of the file at `path`, which messages name. Errors also where it
  /// cannot be read.
  static llvm::Expected<MachineProfile> read(llvm::StringRef path);
  /// The text of such a file.
  std::string toJSON() const;

  /// *invalid* unless this was measured on the processor `name`.
  llvm::Error checkProcessor(llvm::StringRef name) const;

  /// How the file writes an array or a part of one: as ArrayPart::print does,
  /// but without the memory space, on which no code depends.
  static std::string getText(ArrayPart part);

  /// What was measured of a relayout; null for nothing.
  const TunedRelayout *find(llvm::StringRef source, llvm::StringRef destination,
                            int64_t threads, BufferState buffers) const;
  const TunedRelayout *find(const ArrayPart &source,
                            const ArrayPart &destination, int64_t threads,
                            BufferState buffers) const;
  /// Adds what was measured, in place of what was there of that relayout.
  void add(TunedRelayout relayout);
};

} // namespace tessera

#endif // TESSERA_CONVERSION_TESSERATOVECTOR_MACHINEPROFILE_H
