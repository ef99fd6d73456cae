//===- MachineFile.h - The file of measurements -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where measurements of a machine are kept, so that those who compile find them
// again: tessera-compile, the C API and Python alike.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILE_MACHINEFILE_H
#define TESSERA_COMPILE_MACHINEFILE_H

#include "tessera/Compile/Tune.h"

#include <optional>
#include <string>

namespace tessera {

/// Where measurements of this machine are kept: the file that the environment
/// names in TESSERA_MACHINE, nowhere where that is empty, and without it a file
/// of the processor in the user's cache folder.
std::string getDefaultMachinePath();

/// Makes the folder of a file where there is none. *invalid* where the file
/// could not be written: better said before minutes of measuring than after.
llvm::Error prepareToWrite(llvm::StringRef path);

/// Writes them, in a new folder where there is none.
llvm::Error writeMachine(llvm::StringRef path, const MachineProfile &profile);

/// Which file relayouts are compiled by.
struct MachineFile {
  /// Its path; empty for none. Nothing for the default one, where that exists
  /// and code is for this machine.
  std::optional<std::string> path = std::nullopt;
  /// Whether relayouts that the file lacks are timed, and the best plan of each
  /// is added to it. It is made where there is none.
  bool tune = false;
  /// Is told the times of each of them, as tuneRelayout gives them.
  llvm::function_ref<void(const RelayoutRequest &, llvm::ArrayRef<TimedPlan>)>
      report = nullptr;
};

/// Makes `options.machine` what the file has. May be called from any thread;
/// one at a time is timed.
///
/// Errors: of a file that cannot be read, as of MachineProfile::parse, and if
/// relayouts are timed as of tuneRelayout, *invalid* where there is no file to
/// add to, or one of another processor.
llvm::Error useMachine(const MachineFile &file,
                       llvm::ArrayRef<RelayoutRequest> requests,
                       CompileOptions &options);

} // namespace tessera

#endif // TESSERA_COMPILE_MACHINEFILE_H
