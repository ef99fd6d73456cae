//===- Optimize.cpp - LLVM's passes for relayouts -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's standard pipeline and its code generator, but that
//
//   - loops around vector code are unrolled where they say so, and by the last
//     pass of all;
//   - long trees of shuffles are split, in which instruction selection looks
//   for
//     better ones at every shuffle;
//   - passes are left out that take time by the square of a block's accesses,
//     and find next to nothing.
//
// What each of these is worth: docs/performance.md, "Time to make the code".
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace tessera;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

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

/// Keeps loops around vector code as they are written. Processors prefetch
/// by the address of the load instruction: one load that moves on by a line at
/// a time is recognized, sixty-four that move on by pages are not (a
/// nontemporal tile copy on Zen 5: 1.36 of memcpy against 0.99). What is worth
/// unrolling in the cache is emitted so (rows of a pitch, unrolled by LLVM:
/// 0.42 for 0.57).
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

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

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

/// Splits the trees of shuffles in long blocks. At every shuffle, instruction
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

/// Whether a vector has elements of bf16, of a number that is no power of two.
static bool isOddBFloatVector(const llvm::Value *value) {
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type && type->getElementType()->isBFloatTy() &&
         !llvm::isPowerOf2_32(type->getNumElements());
}

/// Shuffles bf16 as integers where vectors have odd numbers of them, as those
/// of every third element do: the code generator (LLVM 22, AVX512_BF16) splits
/// those and ends the process at what is left.
static void shuffleAsIntegers(llvm::Function &function) {
  llvm::SmallVector<llvm::ShuffleVectorInst *> shuffles;
  for (llvm::Instruction &op : llvm::instructions(function))
    if (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&op))
      if (isOddBFloatVector(shuffle) ||
          isOddBFloatVector(shuffle->getOperand(0)))
        shuffles.push_back(shuffle);
  for (llvm::ShuffleVectorInst *shuffle : shuffles) {
    llvm::IRBuilder<> b(shuffle);
    auto *from =
        llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType());
    auto *integers =
        llvm::FixedVectorType::get(b.getInt16Ty(), from->getNumElements());
    llvm::Value *result =
        b.CreateShuffleVector(b.CreateBitCast(shuffle->getOperand(0), integers),
                              b.CreateBitCast(shuffle->getOperand(1), integers),
                              shuffle->getShuffleMask());
    shuffle->replaceAllUsesWith(b.CreateBitCast(result, shuffle->getType()));
    shuffle->eraseFromParent();
  }
}

//===----------------------------------------------------------------------===//
// Pipeline
//===----------------------------------------------------------------------===//

/// Passes that compare all loads and stores with one another, and
/// find next to nothing: a relayout reads one buffer and writes another, each
/// element once. They took half of the time before code generation.
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
      [](llvm::StringRef pass, const llvm::Any &) {
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
    shuffleAsIntegers(function);
    if (isX86)
      for (llvm::BasicBlock &block : function)
        fenceShuffles(block);
  }
}

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//

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
