//===- Machine.h - LLVM's code generator ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_MACHINE_H
#define TESSERA_LIB_COMPILE_MACHINE_H

#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/ContractionToVector/ContractionPlan.h"

#include "llvm/Support/Error.h"

#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace tessera {

/// The machine that this runs on, with the processor of `options`; code is
/// position-independent.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CompileOptions &options);

/// *unsupported* where `options` name a target or a processor: this machine
/// alone can be measured.
llvm::Error checkIsThisMachine(const CompileOptions &options);

/// What the file of the machine has of a relayout; null for nothing, or where
/// `options` choose themselves.
const TunedRelayout *findTuned(const ArrayPart &source,
                               const ArrayPart &destination,
                               const CompileOptions &options);

/// What plans of contractions know of the processor: the registers of
/// getRelayoutTarget, how many LLVM has of them, and pairs of bf16.
llvm::Expected<ContractionTarget>
getContractionTarget(const CompileOptions &options);

/// Runs LLVM's standard pipeline.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned optLevel);

/// The bytes of an object file.
llvm::Expected<std::string> emitObject(llvm::Module &module,
                                       const CompileOptions &options);

/// Whether the module calls LLVM's OpenMP runtime.
bool usesOpenMP(const llvm::Module &module);

/// The file of LLVM's OpenMP runtime. Error: *unsupported* where there is none.
llvm::Expected<std::string> findOpenMP(const CompileOptions &options);

/// The bytes of a shared library made of one object file, by LLVM's linker. It
/// needs `libraries`, and looks for them in the folders where they are now.
llvm::Expected<std::string>
linkShared(llvm::StringRef object, llvm::ArrayRef<std::string> libraries = {});

/// A compiler into this process that finds the process's own symbols, and those
/// of the OpenMP runtime where asked for.
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
createJIT(const CompileOptions &options, bool withOpenMP);

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_MACHINE_H
