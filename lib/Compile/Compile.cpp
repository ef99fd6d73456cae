//===- Compile.cpp - From affine loops to machine code --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Compile.h"

#include "ForkGate.h"
#include "LruCache.h"
#include "Machine.h"
#include "Stack.h"
#include "tessera/Conversion/Pipelines.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"
#include "tessera/Layout/Diagnostic.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/OpenMP/OpenMPToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tessera;

void tessera::registerCompileDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, func::FuncDialect,
                  LLVM::LLVMDialect, memref::MemRefDialect, omp::OpenMPDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerOpenMPDialectTranslation(registry);
}

/// The same registry for every context: it never changes.
static const DialectRegistry &getCompileDialects() {
  static const DialectRegistry &registry = *[] {
    auto *dialects = new DialectRegistry;
    registerCompileDialects(*dialects);
    return dialects;
  }();
  return registry;
}

/// An error of this library's own making, or of MLIR or LLVM below it.
static llvm::Error makeError(StringRef what, const Twine &why) {
  return llvm::createStringError(what + ": " + why);
}

/// Buffers may have any alignment, so no access may promise one; but stores
/// that bypass the cache have tested theirs.
static void dropAlignment(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      load.setAlignment(1);
    else if (auto store = dyn_cast<LLVM::StoreOp>(op);
             store && !store.getNontemporal())
      store.setAlignment(1);
  });
}

llvm::Error tessera::lowerToLLVMDialect(ModuleOp module,
                                        const CompileOptions &options) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [&](mlir::Diagnostic &diagnostic) {
                                    messages += diagnostic.str() + "\n";
                                    return success();
                                  });
  PassManager manager(module->getName());
#ifdef NDEBUG
  // A sixth of the time; what the passes make is translated right away.
  manager.enableVerifier(false);
#endif
  AffineToLLVMOptions pipelineOptions;
  pipelineOptions.useBarePointers = true;
  pipelineOptions.threads = options.threads;
  buildAffineToLLVMPipeline(manager, pipelineOptions);
  if (failed(manager.run(module)))
    return makeError("lowering to LLVM failed", messages);
  dropAlignment(module);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::Module>>
tessera::translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                         const CompileOptions &options) {
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "tessera");
  if (!llvmModule)
    return makeError("translation to LLVM IR failed", "see the diagnostics");
  llvmModule->setDataLayout((*machine)->createDataLayout());
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  optimize(*llvmModule, **machine, options.optLevel);
  return std::move(llvmModule);
}

//===----------------------------------------------------------------------===//
// Ahead of time
//===----------------------------------------------------------------------===//

/// The text of the plans, or of what was tried for them. Errors as of
/// checkRelayout and planRelayout.
static llvm::Expected<std::string>
printRelayoutPlans(llvm::ArrayRef<RelayoutRequest> requests, EmitKind kind,
                   const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const RelayoutRequest &request : requests) {
    llvm::Expected<RelayoutPlan> plan =
        getRelayoutPlan(request.source, request.destination, options);
    if (!plan)
      return plan.takeError();
    if (kind == EmitKind::Plan)
      plan->print(os);
    else
      plan->printTrials(os);
  }
  return text;
}

/// A module made of the relayouts alone.
static llvm::Expected<OwningOpRef<ModuleOp>>
buildModule(MLIRContext &context, llvm::ArrayRef<RelayoutRequest> requests,
            CompileOptions options) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  for (const RelayoutRequest &request : requests) {
    if (!request.symbol.empty())
      options.symbol = request.symbol;
    if (llvm::Error error = addRelayoutFunction(*module, request.source,
                                                request.destination, options))
      return std::move(error);
  }
  return module;
}

namespace {
/// An object file, or LLVM IR that it is made of.
struct ObjectCode {
  std::string bytes;
  bool isThreaded = false;
};
} // namespace

/// Consumes the module.
static llvm::Expected<ObjectCode> compileModule(ModuleOp module, EmitKind kind,
                                                const CompileOptions &options) {
  if (llvm::Error error = lowerToLLVMDialect(module, options))
    return std::move(error);
  llvm::LLVMContext context;
  auto llvmModule = translateToLLVM(module, context, options);
  if (!llvmModule)
    return llvmModule.takeError();
  ObjectCode code;
  code.isThreaded = usesOpenMP(**llvmModule);
  if (kind == EmitKind::LLVM) {
    llvm::raw_string_ostream(code.bytes) << **llvmModule;
    return code;
  }
  llvm::Expected<std::string> object = emitObject(**llvmModule, options);
  if (!object)
    return object.takeError();
  code.bytes = std::move(*object);
  return code;
}

static llvm::Expected<std::string> link(const ObjectCode &code,
                                        const CompileOptions &options) {
  std::vector<std::string> libraries;
  if (code.isThreaded) {
    llvm::Expected<std::string> library = findOpenMP(options);
    if (!library)
      return library.takeError();
    libraries.push_back(std::move(*library));
  }
  return linkShared(code.bytes, libraries);
}

static llvm::Expected<std::string>
compileUncached(llvm::ArrayRef<RelayoutRequest> requests, EmitKind kind,
                const CompileOptions &options) {
  if (kind == EmitKind::Plan || kind == EmitKind::Trials)
    return printRelayoutPlans(requests, kind, options);
  MLIRContext context(getCompileDialects(), MLIRContext::Threading::DISABLED);
  auto module = buildModule(context, requests, options);
  if (!module)
    return module.takeError();
  if (kind == EmitKind::MLIR) {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*module)->print(os);
    return text;
  }
  llvm::Expected<ObjectCode> code = compileModule(**module, kind, options);
  if (!code)
    return code.takeError();
  return kind == EmitKind::Shared ? link(*code, options) : code->bytes;
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

static void addKey(llvm::raw_ostream &os, const RelayoutTuning &tuning) {
  auto add = [&](llvm::StringRef, const auto &choice) {
    if (choice)
      os << *choice;
    os << ' ';
  };
  RelayoutTuning::visit(tuning, add);
  add("", tuning.costsOf);
}

/// What of the measurements decides: not what was tuned besides.
static void addMachineKey(llvm::raw_ostream &os,
                          llvm::ArrayRef<RelayoutRequest> requests,
                          const CompileOptions &options) {
  os << options.machine->cpu << '\n';
#define COST(FIELD, KEY, DEFAULT, LEAST, MOST)                                 \
  os << options.machine->costs.FIELD << ' ';
#include "tessera/Conversion/TesseraToVector/ProcessorCosts.def"
  for (const RelayoutRequest &request : requests) {
    os << '\n';
    if (const TunedRelayout *tuned =
            findTuned(request.source, request.destination, options))
      addKey(os, tuned->tuning);
  }
}

/// All that a result depends on.
static std::string getKey(llvm::ArrayRef<RelayoutRequest> requests,
                          EmitKind kind, const CompileOptions &options) {
  std::string key;
  llvm::raw_string_ostream os(key);
  for (const RelayoutRequest &request : requests)
    os << request.source << '\n'
       << request.destination << '\n'
       << request.symbol << '\n';
  os << static_cast<int>(kind) << '\n'
     << options.symbol << '\n'
     << options.optLevel << '\n'
     << options.triple << '\n'
     << options.cpu << '\n'
     << options.vectorize << '\n'
     << options.vectorBytes << '\n'
     << options.threads << '\n'
     << options.parallelBytes << '\n'
     << options.openMPLibrary << '\n';
  addKey(os, options.tuning);
  if (options.nontemporalBytes)
    os << *options.nontemporalBytes;
  os << ' ' << getName(options.buffers) << '\n';
  if (options.machine)
    addMachineKey(os, requests, options);
  return key;
}

/// Files and texts.
static LruCache<std::string> &getTextCache() {
  static LruCache<std::string> cache(
      /*maxEntries=*/256, /*maxSize=*/size_t(64) << 20,
      [](const std::string &text) { return text.size(); });
  return cache;
}

static LruCache<RelayoutFunction> &getFunctionCache() {
  static LruCache<RelayoutFunction> cache(
      /*maxEntries=*/256, /*maxSize=*/256,
      [](const RelayoutFunction &) { return size_t(1); });
  return cache;
}

llvm::Expected<std::string>
tessera::compileRelayout(const ArrayPart &source, const ArrayPart &destination,
                         EmitKind kind, const CompileOptions &options) {
  return compileRelayouts({{source, destination, ""}}, kind, options);
}

llvm::Expected<std::string>
tessera::compileRelayouts(llvm::ArrayRef<RelayoutRequest> requests,
                          EmitKind kind, const CompileOptions &options) {
  CompileScope scope;
  return getTextCache().get(getKey(requests, kind, options), [&] {
    return compileOnStack<std::string>(
        [&] { return compileUncached(requests, kind, options); });
  });
}

uint64_t tessera::getNumCacheHits() {
  return getTextCache().hits() + getFunctionCache().hits();
}

void tessera::clearCompileCache() {
  CompileScope scope;
  getTextCache().clear();
  getFunctionCache().clear();
}

llvm::Error tessera::checkThreads(int64_t threads, StringRef what) {
  if (threads >= 1 && threads <= kMaxThreads)
    return llvm::Error::success();
  return invalidError("", what, "a number from 1 to " + Twine(kMaxThreads),
                      Twine(threads));
}

llvm::Error tessera::checkSymbol(StringRef symbol, StringRef what) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (!symbol.empty() && !llvm::isDigit(symbol.front()) &&
      llvm::all_of(symbol, isWord))
    return llvm::Error::success();
  return invalidError("", what, "a C identifier", "`" + symbol + "`");
}

std::string tessera::getRelayoutHeader(llvm::ArrayRef<RelayoutRequest> requests,
                                       StringRef fileName,
                                       const CompileOptions &options) {
  std::string guard;
  for (char c : fileName)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  if (guard.empty() || llvm::isDigit(guard.front()))
    guard.insert(guard.begin(), '_');
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const RelayoutRequest &request : requests) {
    os << "// Moves an array\n//   from " << request.source << "\n//   to   "
       << request.destination << "\n"
       << "// The buffers must not overlap; they may have any alignment.\n";
    if (options.threads > 1)
      os << "// Link with LLVM's OpenMP runtime, -lomp: up to "
         << options.threads << " threads share large arrays.\n";
    os << "void " << (request.symbol.empty() ? options.symbol : request.symbol)
       << "(const void *src, void *dst);\n\n";
  }
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif // " << guard << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// In this process
//===----------------------------------------------------------------------===//

CompiledModule::CompiledModule(std::unique_ptr<llvm::orc::LLJIT> jit)
    : jit(std::move(jit)) {}
CompiledModule::CompiledModule(CompiledModule &&) = default;
CompiledModule &CompiledModule::operator=(CompiledModule &&) = default;
CompiledModule::~CompiledModule() = default;

llvm::Expected<CompiledModule>
CompiledModule::compile(OwningOpRef<ModuleOp> module,
                        const CompileOptions &options) {
  llvm::Expected<ObjectCode> code =
      compileModule(*module, EmitKind::Object, options);
  if (!code)
    return code.takeError();
  return load(code->bytes, code->isThreaded, options);
}

llvm::Expected<CompiledModule>
CompiledModule::load(StringRef object, bool isThreaded,
                     const CompileOptions &options) {
  auto jit = createJIT(options, isThreaded);
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = (*jit)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, "tessera")))
    return std::move(error);
  return CompiledModule(std::move(*jit));
}

llvm::Error CompiledModule::define(StringRef symbol, void *address) {
  using llvm::JITSymbolFlags;
  llvm::orc::ExecutorSymbolDef definition(
      llvm::orc::ExecutorAddr::fromPtr(address),
      JITSymbolFlags::Exported | JITSymbolFlags::Callable);
  return jit->getMainJITDylib().define(
      llvm::orc::absoluteSymbols({{jit->mangleAndIntern(symbol), definition}}));
}

llvm::Expected<CompiledModule::Relayout *>
CompiledModule::lookup(StringRef symbol) {
  // The reason, such as a function that is not found, is reported and not
  // returned.
  std::string reasons;
  llvm::orc::ExecutionSession &session = jit->getExecutionSession();
  session.setErrorReporter([&](llvm::Error error) {
    reasons += llvm::toString(std::move(error)) + "; ";
  });
  llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(symbol);
  session.setErrorReporter(llvm::consumeError);
  if (!address)
    return makeError("linking failed",
                     reasons + llvm::toString(address.takeError()));
  return address->toPtr<Relayout *>();
}

llvm::Expected<RelayoutFunction>
tessera::getRelayoutFunction(const ArrayPart &source,
                             const ArrayPart &destination,
                             const CompileOptions &options) {
  RelayoutRequest request = {source, destination, ""};
  auto make = [&]() -> llvm::Expected<RelayoutFunction> {
    MLIRContext context(getCompileDialects(), MLIRContext::Threading::DISABLED);
    auto module = buildModule(context, request, options);
    if (!module)
      return module.takeError();
    auto compiled = CompiledModule::compile(std::move(*module), options);
    if (!compiled)
      return compiled.takeError();
    auto function = compiled->lookup(options.symbol);
    if (!function)
      return function.takeError();
    RelayoutFunction result;
    result.module = std::make_shared<CompiledModule>(std::move(*compiled));
    result.function = *function;
    return result;
  };
  CompileScope scope;
  return getFunctionCache().get(
      getKey(request, EmitKind::Object, options),
      [&] { return compileOnStack<RelayoutFunction>(make); });
}
