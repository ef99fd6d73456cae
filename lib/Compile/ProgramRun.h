//===- ProgramRun.h - What compiled programs call ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs call malloc and free for temporaries, and puts and abort where an
// assertion fails. What they get by these names is defined here: memory that is
// counted, and an end of the run, not of the process.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_PROGRAMRUN_H
#define TESSERA_LIB_COMPILE_PROGRAMRUN_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// Names of functions and where they are.
std::vector<std::pair<std::string, void *>> getProgramFunctions();

/// Calls `entry`, which runs code that calls these functions. Errors: *invalid*
/// where an assertion failed, with its message; *unsupported* where temporaries
/// do not fit into memory. All that the code allocated is freed then.
llvm::Error runProgram(llvm::function_ref<void()> entry);

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_PROGRAMRUN_H
