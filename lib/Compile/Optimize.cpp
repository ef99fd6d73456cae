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
//     for better ones at every shuffle;
//   - bf16 is moved as integers, and computed with in f32;
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
#include "llvm/IR/IntrinsicInst.h"
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

/// Whether a shuffle of registers of 32 bytes leaves elements in their lane of
/// 16 bytes.
static bool isInLanes(const llvm::ShuffleVectorInst &shuffle) {
  if (shuffle.getType() != shuffle.getOperand(0)->getType() ||
      shuffle.getType()->getPrimitiveSizeInBits() != 256)
    return false;
  llvm::ArrayRef<int> mask = shuffle.getShuffleMask();
  int size = mask.size(), lane = size / 2;
  return llvm::all_of(llvm::enumerate(mask), [&](auto at) {
    return at.value() < 0 ||
           at.value() % size / lane == static_cast<int>(at.index()) / lane;
  });
}

/// Hides shuffles within lanes from those of their results that cross lanes,
/// and those of one register from all. LLVM would make fewer of them, each of
/// which takes several instructions: AVX2 picks bytes of two registers within
/// lanes alone.
static void fenceLanes(llvm::BasicBlock &block) {
  llvm::SmallVector<llvm::ShuffleVectorInst *> fenced;
  for (llvm::Instruction &op : block) {
    auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&op);
    if (!shuffle || !isInLanes(*shuffle))
      continue;
    bool isOfOne = shuffle->getOperand(0) == shuffle->getOperand(1);
    if (llvm::any_of(shuffle->users(), [&](const llvm::User *user) {
          auto *next = llvm::dyn_cast<llvm::ShuffleVectorInst>(user);
          return next && (isOfOne || !isInLanes(*next));
        }))
      fenced.push_back(shuffle);
  }
  llvm::for_each(fenced, [](auto *shuffle) { fenceShuffle(*shuffle); });
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

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

/// Whether the type is bf16, or a vector of it.
static bool isBFloat(const llvm::Type *type) {
  return type->getScalarType()->isBFloatTy();
}

/// `type`, with i16 for bf16.
static llvm::Type *withIntegers(llvm::Type *type) {
  if (!isBFloat(type))
    return type;
  return type->getWithNewType(llvm::Type::getInt16Ty(type->getContext()));
}

/// Whether the results of an instruction are bits of its operands or of memory.
static bool isMove(const llvm::Instruction &op) {
  if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&op))
    switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_gather:
    case llvm::Intrinsic::masked_scatter:
    case llvm::Intrinsic::masked_expandload:
    case llvm::Intrinsic::masked_compressstore:
    case llvm::Intrinsic::vector_insert:
    case llvm::Intrinsic::vector_extract:
    case llvm::Intrinsic::vector_interleave2:
    case llvm::Intrinsic::vector_reverse:
      return true;
    default:
      return false;
    }
  return llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::PHINode,
                   llvm::SelectInst, llvm::FreezeInst, llvm::BitCastInst,
                   llvm::ExtractElementInst, llvm::InsertElementInst,
                   llvm::ShuffleVectorInst>(op);
}

/// Whether an instruction reads or makes bf16.
static bool hasBFloat(const llvm::Instruction &op) {
  return isBFloat(op.getType()) ||
         llvm::any_of(op.operand_values(), [](const llvm::Value *value) {
           return isBFloat(value->getType());
         });
}

/// Gives an instruction a result of i16, and its users that as bf16.
static void castResult(llvm::Instruction &op) {
  llvm::Type *type = op.getType();
  op.mutateType(withIntegers(type));
  llvm::IRBuilder<> b(op.getParent(), *op.getInsertionPointAfterDef());
  llvm::Value *result = b.Insert(new llvm::BitCastInst(&op, type));
  op.replaceUsesWithIf(result,
                       [&](llvm::Use &use) { return use.getUser() != result; });
}

/// What a bf16 was cast from, or a cast of it before `op`.
static llvm::Value *getIntegers(llvm::Value *value, llvm::Instruction *op) {
  llvm::Type *type = withIntegers(value->getType());
  auto *cast = llvm::dyn_cast<llvm::BitCastInst>(value);
  if (cast && cast->getSrcTy() == type)
    return cast->getOperand(0);
  return llvm::IRBuilder<>(op).CreateBitCast(value, type);
}

/// Calls an intrinsic of the same name for the types that operands and result
/// have now.
static void callByTypes(llvm::IntrinsicInst &call) {
  llvm::SmallVector<llvm::Type *> operands, overloads;
  for (llvm::Value *value : call.args())
    operands.push_back(value->getType());
  auto *type = llvm::FunctionType::get(call.getType(), operands, false);
  llvm::Intrinsic::ID id = call.getIntrinsicID();
  if (llvm::Intrinsic::getIntrinsicSignature(id, type, overloads))
    call.setCalledFunction(llvm::Intrinsic::getOrInsertDeclaration(
        call.getModule(), id, overloads));
}

/// Gives an instruction operands of i16 for those of bf16.
static void castOperands(llvm::Instruction &op) {
  for (llvm::Use &use : op.operands()) {
    if (!isBFloat(use->getType()))
      continue;
    auto *phi = llvm::dyn_cast<llvm::PHINode>(&op);
    llvm::BasicBlock *from = phi ? phi->getIncomingBlock(use) : nullptr;
    // A block that comes in twice brings one value.
    llvm::Value *before = phi ? phi->getIncomingValueForBlock(from) : use.get();
    use.set(isBFloat(before->getType())
                ? getIntegers(use, phi ? from->getTerminator() : &op)
                : before);
  }
  if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&op))
    callByTypes(*intrinsic);
}

/// Whether an operation on bf16 gives what it gives on the same numbers in f32,
/// without rounding. LLVM makes them of operations on f32.
static bool isExactOnBFloat(const llvm::Instruction &op) {
  if (!hasBFloat(op))
    return false;
  if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&op))
    switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maximumnum:
    case llvm::Intrinsic::vector_reduce_fmin:
    case llvm::Intrinsic::vector_reduce_fmax:
    case llvm::Intrinsic::vector_reduce_fminimum:
    case llvm::Intrinsic::vector_reduce_fmaximum:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::is_fpclass:
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat:
      return true;
    default:
      return false;
    }
  return op.getOpcode() == llvm::Instruction::FNeg ||
         llvm::isa<llvm::FCmpInst, llvm::FPToSIInst, llvm::FPToUIInst,
                   llvm::FPExtInst>(op);
}

/// The f32 whose upper half is a bf16. Not by fpext, since the code generator
/// may cut an f32 to bf16, to extend it in another block.
static llvm::Value *toF32(llvm::Value *value, llvm::Instruction *op) {
  llvm::IRBuilder<> b(op);
  llvm::Type *type = value->getType();
  llvm::Value *bits = b.CreateZExt(getIntegers(value, op),
                                   type->getWithNewType(b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(bits, 16),
                         type->getWithNewType(b.getFloatTy()));
}

/// The bf16 that is the upper half of an f32.
static llvm::Value *upperHalf(llvm::Value *value, llvm::Instruction *op) {
  llvm::IRBuilder<> b(op);
  llvm::Type *type = value->getType();
  llvm::Value *bits =
      b.CreateBitCast(value, type->getWithNewType(b.getInt32Ty()));
  bits = b.CreateTrunc(b.CreateLShr(bits, 16),
                       type->getWithNewType(b.getInt16Ty()));
  return b.CreateBitCast(bits, type->getWithNewType(b.getBFloatTy()));
}

/// Computes in f32.
static void computeInF32(llvm::Instruction &op) {
  llvm::Value *result = nullptr;
  if (llvm::isa<llvm::FPExtInst>(op)) {
    result = toF32(op.getOperand(0), &op);
    if (result->getType() != op.getType())
      result = llvm::IRBuilder<>(&op).CreateFPExt(result, op.getType());
  } else {
    llvm::Instruction *wide = op.clone();
    for (llvm::Use &use : wide->operands())
      if (isBFloat(use->getType()))
        use.set(toF32(use, &op));
    wide->insertBefore(op.getIterator());
    result = wide;
    if (isBFloat(op.getType())) {
      wide->mutateType(op.getType()->getWithNewType(
          llvm::Type::getFloatTy(op.getContext())));
      result = upperHalf(wide, &op);
    }
    if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(wide))
      callByTypes(*intrinsic);
  }
  op.replaceAllUsesWith(result);
  op.eraseFromParent();
}

/// Moves bf16 as integers, and computes with it in f32. The code generator for
/// x86 (LLVM 22) does the latter by a function of the compiler's library that
/// may not be there, where the processor lacks AVX512_BF16; also to move one
/// from block to block, and through masks. Where the processor has it, shuffles
/// of odd numbers of bf16 end the process.
static void expandBFloats(llvm::Function &function) {
  for (llvm::Instruction &op :
       llvm::make_early_inc_range(llvm::instructions(function)))
    if (isExactOnBFloat(op))
      computeInF32(op);
  llvm::SmallVector<llvm::Instruction *> moves;
  for (llvm::Instruction &op : llvm::instructions(function))
    if (isMove(op) && hasBFloat(op))
      moves.push_back(&op);
  for (llvm::Instruction *op : moves)
    if (isBFloat(op->getType()))
      castResult(*op);
  for (llvm::Instruction *op : moves)
    castOperands(*op);
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
  bool isX86 = machine.getTargetTriple().getArch() == llvm::Triple::x86_64;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    keepVectorLoops(function);
    if (isX86 && optLevel > 0)
      llvm::for_each(function, fenceLanes);
  }
  static constexpr const llvm::OptimizationLevel *kLevels[] = {
      &llvm::OptimizationLevel::O0, &llvm::OptimizationLevel::O1,
      &llvm::OptimizationLevel::O2, &llvm::OptimizationLevel::O3};
  builder.buildPerModuleDefaultPipeline(*kLevels[std::min(optLevel, 3u)])
      .run(module, modules);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (optLevel > 0)
      unrollLast(function, functions);
    if (!isX86)
      continue;
    expandBFloats(function);
    if (optLevel > 0)
      llvm::for_each(function, fenceShuffles);
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
