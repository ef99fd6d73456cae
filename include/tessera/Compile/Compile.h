//===- Compile.h - From shapes to machine code ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds, lowers, compiles and runs functions that move an array from one
// layout to another:
//
//   void f(const void *src, void *dst);
//
// Buffers have the sizes of getSize(shape).bytes, any alignment, and must not
// overlap. The functions keep no state. They move bits: nothing depends on the
// element type but its width and, where a narrow integer gets a wider place,
// its sign. Memory spaces are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILE_COMPILE_H
#define TESSERA_COMPILE_COMPILE_H

#include "tessera/Conversion/TesseraToVector/MachineProfile.h"
#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"
#include "tessera/Layout/Relayout.h"
#include "tessera/Layout/Shape.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
namespace orc {
class LLJIT;
} // namespace orc
} // namespace llvm

namespace tessera {

struct CompileOptions {
  /// The function's name.
  std::string symbol = "tessera_relayout";
  /// Effort of the LLVM pipeline and code generator, 0 to 3.
  unsigned optLevel = 3;
  /// The machine, as a triple; empty for this one.
  std::string triple;
  /// The processor, by LLVM's name; empty for this one, or for any of another
  /// machine.
  std::string cpu;
  /// Whether relayouts become vector kernels where there is a plan for them.
  bool vectorize = true;
  /// Bytes of the registers of vector kernels; 0 for the processor's own.
  int64_t vectorBytes = 0;
  /// Where the buffers are when the code runs.
  BufferState buffers = BufferState::Unknown;
  /// Size of buffers in bytes from which on stores bypass the cache, where the
  /// processor has such stores; nothing for the processor's own.
  std::optional<int64_t> nontemporalBytes;
  /// Threads that share the work of nests of at least `parallelBytes`, by
  /// LLVM's OpenMP runtime. Results do not depend on them.
  int64_t threads = 1;
  int64_t parallelBytes = RelayoutTarget().parallelBytes;
  /// The file of that runtime, libomp; empty for the one that was found when
  /// this library was built.
  std::string openMPLibrary;
  /// What overrules the plan's own choices.
  RelayoutTuning tuning;
  /// Measurements on the machine that code is for; null for the table of
  /// processors.
  std::shared_ptr<const MachineProfile> machine;
};

/// A function to compile: from an array, or a box of one, to another. Buffers
/// are those of the whole arrays. In a box of a destination nothing but its
/// elements is written, no padding either.
struct RelayoutRequest {
  ArrayPart source, destination;
  /// The function's name; empty for that of the options.
  std::string symbol;
};

/// What a compiled relayout can be written as; `Trials` is what was tried for
/// its plan.
enum class EmitKind { Trials, Plan, MLIR, LLVM, Object, Shared };

/// Dialects and translations that the functions below need.
void registerCompileDialects(mlir::DialectRegistry &registry);

/// *invalid* unless so many threads may share the work of a relayout, from 1 to
/// 1024; `what` is the field of messages.
llvm::Error checkThreads(int64_t threads, llvm::StringRef what);

/// *invalid* unless `symbol`, the field `what` of messages, can name a function
/// in C too.
llvm::Error checkSymbol(llvm::StringRef symbol, llvm::StringRef what);

/// What the plan of a relayout should know of the processor. Errors:
/// *unsupported* for one that LLVM does not know, *invalid* where another one
/// was measured.
llvm::Expected<RelayoutTarget> getRelayoutTarget(const CompileOptions &options);

/// The plan of a relayout for a destination that begins at a line, the first
/// that planVersions has. Errors as of checkRelayout, getRelayoutTarget and
/// planRelayout.
llvm::Expected<RelayoutPlan>
getRelayoutPlan(const ArrayPart &source, const ArrayPart &destination,
                const CompileOptions &options = {});

/// Appends to `module` a function of affine loops: around vector kernels on the
/// flat buffers where planRelayout has a plan, else over physical memrefs.
/// Errors as of checkRelayout and getRelayoutTarget.
llvm::Error addRelayoutFunction(mlir::ModuleOp module, const ArrayPart &source,
                                const ArrayPart &destination,
                                const CompileOptions &options = {});

/// Lowers functions of affine loops to the LLVM dialect; arguments become bare
/// pointers without alignment. Parallel loops call OpenMP where `options` have
/// threads.
llvm::Error lowerToLLVMDialect(mlir::ModuleOp module,
                               const CompileOptions &options = {});

/// Translates a module of the LLVM dialect and optimizes it for the processor.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                const CompileOptions &options = {});

/// The relayout as text or machine code. The results of the last requests are
/// kept, so that another one like them is free; may be called from any thread.
/// Errors as of checkRelayout and getRelayoutTarget, and when no linker or
/// runtime is found (Shared).
llvm::Expected<std::string> compileRelayout(const ArrayPart &source,
                                            const ArrayPart &destination,
                                            EmitKind kind,
                                            const CompileOptions &options = {});

/// The same for several functions of one file, whose names differ.
llvm::Expected<std::string>
compileRelayouts(llvm::ArrayRef<RelayoutRequest> requests, EmitKind kind,
                 const CompileOptions &options = {});

/// The C header that declares the functions; `fileName` names its guard.
std::string getRelayoutHeader(llvm::ArrayRef<RelayoutRequest> requests,
                              llvm::StringRef fileName,
                              const CompileOptions &options = {});

/// Functions compiled into this process. Their code is that of the object file
/// that compileRelayout gives.
class CompiledModule {
public:
  using Relayout = void(const void *source, void *destination);

  /// Lowers and compiles the functions of `module`, which is consumed.
  static llvm::Expected<CompiledModule>
  compile(mlir::OwningOpRef<mlir::ModuleOp> module,
          const CompileOptions &options = {});

  CompiledModule(CompiledModule &&);
  CompiledModule &operator=(CompiledModule &&);
  ~CompiledModule();

  /// The function of that name.
  llvm::Expected<Relayout *> lookup(llvm::StringRef symbol);

  /// Gives a name that the functions call a meaning, before any is looked up.
  llvm::Error define(llvm::StringRef symbol, void *address);

  /// The functions of an object file for this machine; `isThreaded` says
  /// whether they need the OpenMP runtime.
  static llvm::Expected<CompiledModule>
  load(llvm::StringRef object, bool isThreaded,
       const CompileOptions &options = {});

private:
  explicit CompiledModule(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// A relayout compiled into this process; copies share the code.
class RelayoutFunction {
public:
  /// Buffers as of compiled relayouts (above).
  void operator()(const void *source, void *destination) const {
    function(source, destination);
  }

  CompiledModule::Relayout *getAddress() const { return function; }

private:
  friend llvm::Expected<RelayoutFunction>
  getRelayoutFunction(const ArrayPart &, const ArrayPart &,
                      const CompileOptions &);

  std::shared_ptr<CompiledModule> module;
  CompiledModule::Relayout *function = nullptr;
};

/// Compiles a relayout into this process. The last ones are kept, as with
/// compileRelayout, and errors are those of compileRelayout; may be called from
/// any thread.
llvm::Expected<RelayoutFunction>
getRelayoutFunction(const ArrayPart &source, const ArrayPart &destination,
                    const CompileOptions &options = {});

/// Requests that were answered from what was kept.
uint64_t getNumCacheHits();
/// Forgets what was kept; functions that are in use stay.
void clearCompileCache();

} // namespace tessera

#endif // TESSERA_COMPILE_COMPILE_H
