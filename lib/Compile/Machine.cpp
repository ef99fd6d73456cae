//===- Machine.cpp - LLVM's code generator --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

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
  target.streamingBytes = options.streamingBytes;
  target.threads = options.threads;
  target.parallelBytes = options.parallelBytes;
  target.tuning = options.tuning;
  target.costs = ProcessorCosts::get(
      options.tuning.costsOf.value_or((*machine)->getTargetCPU().str()));
  target.vectorBytes = options.vectorBytes ? options.vectorBytes : 16;
  const llvm::Triple &triple = (*machine)->getTargetTriple();
  if (triple.getArch() != llvm::Triple::x86_64)
    return target;
  // Streaming stores need the fence that is emitted for x86 alone.
  target.hasStreamingStores = true;
  if (options.vectorBytes)
    return target;
  const llvm::MCSubtargetInfo &subtarget = *(*machine)->getMCSubtargetInfo();
  if (subtarget.checkFeatures("+avx512bw") &&
      subtarget.checkFeatures("+avx512vl"))
    target.vectorBytes = 64;
  else if (subtarget.checkFeatures("+avx2"))
    target.vectorBytes = 32;
  return target;
}

/// Loops that are to be unrolled by the last pass of all.
static constexpr llvm::StringLiteral kUnrollLast = "tessera.unroll.last";

/// Replaces what is said of a loop's unrolling.
static void setUnrolling(llvm::Loop &loop,
                         llvm::ArrayRef<llvm::StringRef> names) {
  llvm::LLVMContext &context = loop.getHeader()->getContext();
  llvm::SmallVector<llvm::MDNode *> nodes;
  for (llvm::StringRef name : names)
    nodes.push_back(
        llvm::MDNode::get(context, llvm::MDString::get(context, name)));
  loop.setLoopID(llvm::makePostTransformationMetadata(
      context, loop.getLoopID(), {"llvm.loop.unroll.", kUnrollLast}, nodes));
}

/// Keeps loops around vector code as they are written. Processors fetch ahead
/// by the address of the load instruction: one load that moves on by a line at
/// a time is recognized, sixty-four that move on by pages are not (a streaming
/// tile copy on Zen 5: 1.36 of memcpy against 0.99). What is worth unrolling in
/// the cache is emitted so (rows of a pitch, unrolled by LLVM: 0.42 for 0.57).
///
/// Those that are to be unrolled whole wait until all other passes are done,
/// which have less to do then.
static void keepVectorLoops(llvm::Function &function) {
  llvm::DominatorTree tree(function);
  llvm::LoopInfo loops(tree);
  for (llvm::Loop *loop : loops.getLoopsInPreorder())
    if (llvm::findOptionMDForLoop(loop, "llvm.loop.unroll.full"))
      setUnrolling(*loop, {"llvm.loop.unroll.disable", kUnrollLast});
  for (llvm::BasicBlock &block : function) {
    bool isVector = llvm::any_of(block, [](const llvm::Instruction &op) {
      auto *store = llvm::dyn_cast<llvm::StoreInst>(&op);
      return store && store->getValueOperand()->getType()->isVectorTy();
    });
    if (!isVector)
      continue;
    for (llvm::Loop *l = loops.getLoopFor(&block); l; l = l->getParentLoop())
      l->setLoopAlreadyUnrolled();
  }
}

/// Unrolls the loops that were kept for that.
static void unrollLast(llvm::Function &function,
                       llvm::FunctionAnalysisManager &analyses) {
  bool hasLoops = false;
  for (llvm::Loop *loop :
       analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
    if (llvm::findOptionMDForLoop(loop, kUnrollLast)) {
      setUnrolling(*loop, {"llvm.loop.unroll.full"});
      hasLoops = true;
    }
  if (!hasLoops)
    return;
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::LoopUnrollPass(
      llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.run(function, analyses);
}

/// Blocks whose shuffles select fewer elements in all are left whole to the
/// code generator.
static constexpr unsigned kFewSelected = 2560;
/// Shuffles of shuffles up to this depth may become one instruction.
static constexpr unsigned kMaxShuffleDepth = 2;

/// Hides the operands of `shuffle` from whoever uses it.
static void fenceShuffle(llvm::ShuffleVectorInst &shuffle) {
  llvm::Type *type = shuffle.getType();
  unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  llvm::IRBuilder<> b(shuffle.getNextNode());
  // There are fences of floats alone; they move nothing and round nothing.
  auto *floats = llvm::FixedVectorType::get(b.getFloatTy(), bits / 32);
  llvm::SmallVector<llvm::Use *> uses = llvm::to_vector(
      llvm::map_range(shuffle.uses(), [](llvm::Use &use) { return &use; }));
  llvm::Value *fence = b.CreateUnaryIntrinsic(
      llvm::Intrinsic::arithmetic_fence, b.CreateBitCast(&shuffle, floats));
  llvm::Value *result = b.CreateBitCast(fence, type);
  for (llvm::Use *use : uses)
    use->set(result);
}

/// Cuts the trees of shuffles in long blocks. At every shuffle, instruction
/// selection for x86 looks through all that it is made of, in the hope of fewer
/// instructions: time that grows with the square of a tree's size, and more
/// than half of all. Transposes have no instruction to spare.
static void fenceShuffles(llvm::BasicBlock &block) {
  llvm::SmallVector<llvm::ShuffleVectorInst *> shuffles;
  size_t numSelected = 0;
  for (llvm::Instruction &op : block)
    if (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&op)) {
      shuffles.push_back(shuffle);
      numSelected += shuffle->getShuffleMask().size();
    }
  if (numSelected < kFewSelected)
    return;
  llvm::DenseMap<llvm::Value *, unsigned> depths;
  for (llvm::ShuffleVectorInst *shuffle : shuffles) {
    unsigned depth = std::max(depths.lookup(shuffle->getOperand(0)),
                              depths.lookup(shuffle->getOperand(1))) +
                     1;
    bool hasWords =
        shuffle->getType()->getPrimitiveSizeInBits().isKnownMultipleOf(32);
    if (depth >= kMaxShuffleDepth && hasWords)
      fenceShuffle(*shuffle);
    else
      depths[shuffle] = depth;
  }
}

/// Passes that compare loads and stores with one another, all with all, and
/// find next to nothing: a relayout reads one buffer and writes another, each
/// place once. They took half of the time before code generation.
static constexpr llvm::StringLiteral kUseless[] = {
    "DSEPass", "LoopLoadEliminationPass", "SLPVectorizerPass"};

void tessera::optimize(llvm::Module &module, llvm::TargetMachine &machine,
                       unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef pass, llvm::Any) {
        return !llvm::is_contained(kUseless, pass);
      });
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(),
                            std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      keepVectorLoops(function);
  static constexpr const llvm::OptimizationLevel *kLevels[] = {
      &llvm::OptimizationLevel::O0, &llvm::OptimizationLevel::O1,
      &llvm::OptimizationLevel::O2, &llvm::OptimizationLevel::O3};
  builder.buildPerModuleDefaultPipeline(*kLevels[std::min(optLevel, 3u)])
      .run(module, modules);
  if (optLevel == 0)
    return;
  bool isX86 = machine.getTargetTriple().getArch() == llvm::Triple::x86_64;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    unrollLast(function, functions);
    if (isX86)
      for (llvm::BasicBlock &block : function)
        fenceShuffles(block);
  }
}

namespace {
/// Leaves out passes of the code generator that take time by the square of the
/// accesses in one block, or of the addresses in one loop, where these are
/// many.
class LongCodeGate : public llvm::OptPassGate {
public:
  explicit LongCodeGate(const llvm::Module &module) {
    for (const llvm::Function &function : module) {
      hasLongFunctions |= function.getInstructionCount() >= kLongFunction;
      if (llvm::any_of(function, [](const llvm::BasicBlock &block) {
            return block.size() >= kLongBlock;
          }))
        longBlocks.insert(("function (" + function.getName() + ")").str());
    }
  }

  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass,
                     llvm::StringRef description) const override {
    // Long blocks are tiles in the cache, in an order as good as any other.
    // Between large arrays the order of loads matters, and blocks are short.
    if (pass == "machine-scheduler" || pass == "post-RA-sched")
      return !longBlocks.contains(description);
    // Loops do not say what function they are in.
    if (pass == "Loop Strength Reduction")
      return !hasLongFunctions;
    return true;
  }

private:
  static constexpr unsigned kLongFunction = 500, kLongBlock = 2000;
  bool hasLongFunctions = false;
  /// The functions that have any, as passes describe them.
  llvm::StringSet<> longBlocks;
};
} // namespace

llvm::Expected<std::string> tessera::emitObject(llvm::Module &module,
                                                const CompileOptions &options) {
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  llvm::SmallVector<char> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager manager;
  if ((*machine)->addPassesToEmitFile(manager, os, /*DwoOut=*/nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return unsupportedError("code generation", "object files",
                            "a target without them");
  LongCodeGate gate(module);
  llvm::OptPassGate &before = module.getContext().getOptPassGate();
  module.getContext().setOptPassGate(gate);
  llvm::scope_exit restore([&] { module.getContext().setOptPassGate(before); });
  manager.run(module);
  return std::string(object.begin(), object.end());
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
  if (llvm::Error error = messages.create("txt", ""))
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
