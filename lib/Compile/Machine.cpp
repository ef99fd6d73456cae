//===- Machine.cpp - LLVM's code generator --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"

using namespace tessera;

static llvm::Expected<llvm::orc::JITTargetMachineBuilder>
getMachineBuilder(unsigned optLevel) {
  static const bool failed = llvm::InitializeNativeTarget() ||
                             llvm::InitializeNativeTargetAsmPrinter();
  if (failed)
    return unsupportedError("code generation",
                            "LLVM's code generator for "
                            "this machine",
                            "an LLVM without it");
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeGenOptLevel(llvm::CodeGenOpt::getLevel(optLevel).value_or(
      llvm::CodeGenOptLevel::Aggressive));
  return builder;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
tessera::createTargetMachine(unsigned optLevel) {
  auto builder = getMachineBuilder(optLevel);
  if (!builder)
    return builder.takeError();
  return builder->createTargetMachine();
}

void tessera::optimize(llvm::Module &module, llvm::TargetMachine &machine,
                       unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  static constexpr const llvm::OptimizationLevel *kLevels[] = {
      &llvm::OptimizationLevel::O0, &llvm::OptimizationLevel::O1,
      &llvm::OptimizationLevel::O2, &llvm::OptimizationLevel::O3};
  builder.buildPerModuleDefaultPipeline(*kLevels[std::min(optLevel, 3u)])
      .run(module, modules);
}

llvm::Expected<std::string> tessera::emitObject(llvm::Module &module,
                                                unsigned optLevel) {
  auto machine = createTargetMachine(optLevel);
  if (!machine)
    return machine.takeError();
  llvm::SmallVector<char> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager manager;
  if ((*machine)->addPassesToEmitFile(manager, os, /*DwoOut=*/nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return unsupportedError("code generation", "object files",
                            "a target without them");
  manager.run(module);
  return std::string(object.begin(), object.end());
}

/// The path of LLVM's ELF linker.
static llvm::Expected<std::string> findLinker() {
  for (llvm::StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return unsupportedError("linking a shared library",
                          "ld.lld-22 or ld.lld in PATH", "neither",
                          "install lld-22, or emit an object file");
}

/// A temporary file, removed when this goes.
namespace {
class TemporaryFile {
public:
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  llvm::Error create(llvm::StringRef suffix, llvm::StringRef contents) {
    int descriptor;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "tessera", suffix, descriptor, path))
      return llvm::createStringError(error, "cannot make a temporary file");
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << contents;
    os.close();
    if (os.has_error()) {
      std::error_code error = os.error();
      os.clear_error();
      return llvm::createStringError(error, "cannot write " + path);
    }
    return llvm::Error::success();
  }

  llvm::SmallString<128> path;
};
} // namespace

llvm::Expected<std::string> tessera::linkShared(llvm::StringRef object) {
  llvm::Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  TemporaryFile input, output, messages;
  if (llvm::Error error = input.create("o", object))
    return std::move(error);
  if (llvm::Error error = output.create("so", ""))
    return std::move(error);
  if (llvm::Error error = messages.create("txt", ""))
    return std::move(error);
  llvm::StringRef arguments[] = {*linker, "-shared", "-o", output.path,
                                 input.path};
  std::optional<llvm::StringRef> redirects[] = {"", "", messages.path.str()};
  std::string failure;
  int code = llvm::sys::ExecuteAndWait(*linker, arguments,
                                       /*Env=*/std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &failure);
  if (code != 0) {
    if (auto text = llvm::MemoryBuffer::getFile(messages.path))
      failure += (*text)->getBuffer();
    return llvm::createStringError(*linker + " failed: " + failure);
  }
  auto library = llvm::MemoryBuffer::getFile(output.path);
  if (!library)
    return llvm::createStringError(library.getError(),
                                   "cannot read what the linker wrote");
  return (*library)->getBuffer().str();
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
tessera::createJIT(unsigned optLevel) {
  auto builder = getMachineBuilder(optLevel);
  if (!builder)
    return builder.takeError();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*builder))
                 .create();
  if (!jit)
    return jit.takeError();
  // Optimized loops may call memcpy and memset.
  auto symbols = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!symbols)
    return symbols.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*symbols));
  return jit;
}
