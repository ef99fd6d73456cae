//===- MachineFile.h - The file of measurements -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_COMPILE_MACHINEFILE_H
#define TESSERA_TOOLS_TESSERA_COMPILE_MACHINEFILE_H

#include "tessera/Compile/MachineProfile.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace tessera {

/// Where measurements of this machine are kept: the file that the environment
/// names in TESSERA_MACHINE, nowhere where that is empty, and without it a file
/// of the processor in the user's cache folder.
std::string getDefaultMachinePath();

/// The measurements in a file. Errors: of the file, and of its text.
llvm::Expected<MachineProfile> readMachine(llvm::StringRef path);

/// Makes the folder of a file where there is none. *invalid* where the file
/// could not be written: better said before minutes of measuring than after.
llvm::Error prepareToWrite(llvm::StringRef path);

/// Writes them, in a new folder where there is none.
llvm::Error writeMachine(llvm::StringRef path, const MachineProfile &profile);

} // namespace tessera

#endif // TESSERA_TOOLS_TESSERA_COMPILE_MACHINEFILE_H
