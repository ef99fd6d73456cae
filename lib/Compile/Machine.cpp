//===- Machine.cpp - The machine that code is for -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"

using namespace tessera;

/// A machine that LLVM has code for.
static llvm::Expected<llvm::Triple> parseTriple(llvm::StringRef text) {
  static const bool done = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)done;
  llvm::Triple triple(llvm::Triple::normalize(text));
  std::string ignored;
  if (llvm::TargetRegistry::lookupTarget(triple, ignored))
    return triple;
  return unsupportedError("target", "a triple of a machine that LLVM knows",
                          "`" + text + "`", "see llc --version");
}

static llvm::Expected<llvm::orc::JITTargetMachineBuilder>
getMachineBuilder(const CompileOptions &options) {
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
  if (!options.triple.empty()) {
    llvm::Expected<llvm::Triple> triple = parseTriple(options.triple);
    if (!triple)
      return triple.takeError();
    builder = llvm::orc::JITTargetMachineBuilder(std::move(*triple));
  }
  // Another processor has its own features, not those of this one.
  if (!options.cpu.empty()) {
    builder = llvm::orc::JITTargetMachineBuilder(builder->getTargetTriple());
    builder->setCPU(options.cpu);
  }
  // EXTRQ and INSERTQ of AMD's processors exist in the form of SSE alone, which
  // takes 100 ns where registers of 32 bytes are in use (Zen 2 and 3), and LLVM
  // shuffles by them all the same (llvm-project issue 142368).
  if (builder->getTargetTriple().isX86())
    builder->addFeatures({"-sse4a"});
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeGenOptLevel(llvm::CodeGenOpt::getLevel(options.optLevel)
                                  .value_or(llvm::CodeGenOptLevel::Aggressive));
  return builder;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
tessera::createTargetMachine(const CompileOptions &options) {
  auto builder = getMachineBuilder(options);
  if (!builder)
    return builder.takeError();
  // LLVM takes an unknown name with a warning on standard error, and dies of a
  // 32-bit one: ask first, of a machine that knows all names.
  if (!options.cpu.empty()) {
    llvm::orc::JITTargetMachineBuilder generic(builder->getTargetTriple());
    auto machine = generic.createTargetMachine();
    if (!machine)
      return machine.takeError();
    const llvm::MCSubtargetInfo &subtarget = *(*machine)->getMCSubtargetInfo();
    if (!subtarget.isCPUStringValid(options.cpu))
      return unsupportedError("processor",
                              "one that LLVM knows for this machine",
                              "`" + options.cpu + "`", "see llc --mcpu=help");
  }
  return builder->createTargetMachine();
}

llvm::Expected<RelayoutTarget>
tessera::getRelayoutTarget(const CompileOptions &options) {
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  RelayoutTarget target;
  target.threads = options.threads;
  target.parallelBytes = options.parallelBytes;
  target.tuning = options.tuning;
  std::string cpu = (*machine)->getTargetCPU().str();
  if (options.machine)
    if (llvm::Error error = options.machine->checkProcessor(cpu))
      return std::move(error);
  target.costs =
      options.machine
          ? options.machine->costs
          : ProcessorCosts::get(options.tuning.costsOf.value_or(cpu));
  target.nontemporalBytes = options.nontemporalBytes.value_or(
      target.costs.getNontemporalBytes(options.buffers));
  target.vectorBytes = options.vectorBytes ? options.vectorBytes : 16;
  const llvm::Triple &triple = (*machine)->getTargetTriple();
  bool isX86 = triple.getArch() == llvm::Triple::x86_64;
  target.hasNontemporalStores =
      isX86 || triple.getArch() == llvm::Triple::aarch64;
  target.needsFence = isX86;
  if (options.vectorBytes || !isX86)
    return target;
  const llvm::MCSubtargetInfo &subtarget = *(*machine)->getMCSubtargetInfo();
  if (subtarget.checkFeatures("+avx512bw") &&
      subtarget.checkFeatures("+avx512vl"))
    target.vectorBytes = 64;
  else if (subtarget.checkFeatures("+avx2"))
    target.vectorBytes = 32;
  return target;
}

/// The vector registers that LLVM allocates on a machine.
static int64_t countVectorRegisters(llvm::TargetMachine &machine) {
  llvm::LLVMContext context;
  llvm::Module module("registers", context);
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  llvm::Function *function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
      llvm::Function::ExternalLinkage, "f", module);
  auto info = machine.getTargetTransformInfo(*function);
  return info.getNumberOfRegisters(
      info.getRegisterClassForType(/*Vector=*/true));
}

llvm::Expected<ContractionTarget>
tessera::getContractionTarget(const CompileOptions &options) {
  auto relayouts = getRelayoutTarget(options);
  if (!relayouts)
    return relayouts.takeError();
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  const llvm::MCSubtargetInfo &subtarget = *(*machine)->getMCSubtargetInfo();
  bool isX86 = (*machine)->getTargetTriple().getArch() == llvm::Triple::x86_64;
  ContractionTarget target;
  target.vectorBytes = relayouts->vectorBytes;
  target.vectorRegisters = countVectorRegisters(**machine);
  target.hasBF16Pairs = isX86 && subtarget.checkFeatures("+avx512bf16") &&
                        subtarget.checkFeatures("+avx512vl");
  return target;
}

bool tessera::usesOpenMP(const llvm::Module &module) {
  return llvm::any_of(module, [](const llvm::Function &function) {
    return function.getName().starts_with("__kmpc_");
  });
}

llvm::Expected<std::string> tessera::findOpenMP(const CompileOptions &options) {
  const std::string &path = options.openMPLibrary.empty()
                                ? std::string(TESSERA_OPENMP_LIBRARY)
                                : options.openMPLibrary;
  if (llvm::sys::fs::exists(path))
    return path;
  return unsupportedError("threads",
                          "LLVM's OpenMP runtime, a file libomp.so.5",
                          path.empty() ? "none" : "no file `" + path + "`",
                          "install libomp-22-dev or name the file");
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
      (void)llvm::sys::fs::remove(path);
  }
  llvm::Error create(llvm::StringRef suffix, llvm::StringRef contents) {
    int descriptor;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile(
            "tessera", suffix, descriptor, path))
      return makeError(code);
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << contents;
    os.close();
    std::error_code code = os.error();
    os.clear_error();
    return code ? makeError(code) : llvm::Error::success();
  }

  llvm::SmallString<128> path;

private:
  llvm::Error makeError(std::error_code code) const {
    return invalidError("", "temporary file", "a folder with room",
                        "`" + path.str() + "`: " + code.message(),
                        "name another folder in TMPDIR");
  }
};
} // namespace

/// Bytes of the linker's messages that are kept.
static constexpr size_t kMessageBytes = 4096;

llvm::Expected<std::string>
tessera::linkShared(llvm::StringRef object,
                    llvm::ArrayRef<std::string> libraries) {
  llvm::Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  TemporaryFile input, output, messages;
  if (llvm::Error error = input.create("o", object))
    return std::move(error);
  if (llvm::Error error = output.create("so", ""))
    return std::move(error);
  // The linker writes over the blanks: their room is taken before its output
  // may fill the disk.
  if (llvm::Error error =
          messages.create("txt", std::string(kMessageBytes, ' ')))
    return std::move(error);
  llvm::SmallVector<llvm::StringRef> arguments = {*linker, "-shared", "-o",
                                                  output.path, input.path};
  for (const std::string &library : libraries)
    arguments.append(
        {library, "-rpath", llvm::sys::path::parent_path(library)});
  std::optional<llvm::StringRef> redirects[] = {"", "", messages.path.str()};
  std::string failure;
  int code = llvm::sys::ExecuteAndWait(*linker, arguments,
                                       /*Env=*/std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &failure);
  if (code != 0) {
    if (auto text = llvm::MemoryBuffer::getFile(messages.path))
      failure += (*text)->getBuffer().rtrim();
    return invalidError("", "shared library", "what " + *linker + " can link",
                        failure,
                        "if it lacks room, name another folder in "
                        "TMPDIR");
  }
  auto library = llvm::MemoryBuffer::getFile(output.path);
  if (!library)
    return llvm::createStringError(library.getError(),
                                   "cannot read what the linker wrote");
  return (*library)->getBuffer().str();
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
tessera::createJIT(const CompileOptions &options, bool withOpenMP) {
  if (!options.triple.empty())
    return invalidError("", "target of code in this process", "this machine",
                        "`" + options.triple + "`", "name no triple");
  auto builder = getMachineBuilder(options);
  if (!builder)
    return builder.takeError();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*builder))
                 .create();
  if (!jit)
    return jit.takeError();
  using llvm::orc::DynamicLibrarySearchGenerator;
  char prefix = (*jit)->getDataLayout().getGlobalPrefix();
  // Optimized loops may call memcpy and memset. A runtime that the process has
  // already is taken, because two of them would stop it.
  auto symbols = DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!symbols)
    return symbols.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*symbols));
  if (!withOpenMP)
    return jit;
  llvm::Expected<std::string> library = findOpenMP(options);
  if (!library)
    return library.takeError();
  auto runtime = DynamicLibrarySearchGenerator::Load(library->c_str(), prefix);
  if (!runtime)
    return runtime.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*runtime));
  return jit;
}
