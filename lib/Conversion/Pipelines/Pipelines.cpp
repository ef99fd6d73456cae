//===- Pipelines.cpp - Chains of passes -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Pipelines.h"

#include "tessera/Conversion/Passes.h"
#include "tessera/Dialect/Tessera/IR/PassOptions.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

/// Upstream's buildBufferDeallocationPipeline, with branches lifted before what
/// does not bear them.
static void addDeallocation(OpPassManager &manager) {
  memref::ExpandReallocPassOptions reallocOptions;
  reallocOptions.emitDeallocs = false;
  manager.addPass(memref::createExpandReallocPass(reallocOptions));
  manager.addPass(createLiftBranches());
  manager.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(bufferization::createBufferDeallocationSimplificationPass());
  manager.addPass(bufferization::createLowerDeallocationsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createConvertBufferizationToMemRefPass());
}

namespace {
/// How the pipeline to LLVM makes vector kernels.
struct VectorOptions {
  VectorizeRelayoutsOptions relayouts;
  VectorizeContractionsOptions contractions;
  /// Of all loops.
  ParallelizeLoopsOptions loops;
};
} // namespace

/// With `vectorOptions`, relayouts and contractions become vector kernels where
/// there is a plan, and large loops are shared.
static void addToAffine(OpPassManager &manager, const ToAffineOptions &options,
                        ArrayRef<std::string> addressSpaces,
                        const VectorOptions *vectorOptions = nullptr) {
  manager.addPass(createExpandOps());
  manager.addPass(createBufferize());
  if (vectorOptions)
    manager.addPass(createVectorizeContractions(vectorOptions->contractions));
  manager.addPass(createLinalgToLoops());
  if (vectorOptions)
    manager.addPass(createVectorizeRelayouts(vectorOptions->relayouts));
  LowerRelayoutsOptions relayoutOptions;
  relayoutOptions.maxNests = options.maxNests;
  if (vectorOptions) {
    relayoutOptions.threads = vectorOptions->loops.threads;
    relayoutOptions.parallelBytes = vectorOptions->loops.parallelBytes;
  }
  manager.addPass(createLowerRelayouts(relayoutOptions));
  LowerLayoutsOptions layoutOptions;
  layoutOptions.stridedBoundaries = options.stridedBoundaries;
  manager.addPass(createLowerLayouts(layoutOptions));
  if (options.poisonPadding)
    manager.addPass(createPoisonPadding());
  AssignAddressSpacesOptions spaceOptions;
  spaceOptions.map.assign(addressSpaces.begin(), addressSpaces.end());
  manager.addPass(createAssignAddressSpaces(spaceOptions));
  // Sizes that loops and calls carry may turn out to be constants, too, but
  // only when what they are computed from is folded.
  manager.addPass(createEraseEmptyLoops());
  manager.addPass(createSCCPPass());
  manager.addPass(createEraseEmptyLoops());
  if (vectorOptions)
    manager.addPass(createSplitRanges());
  manager.addPass(createCanonicalizerPass());
  if (vectorOptions)
    manager.addPass(createJamLoops());
  manager.addPass(createCSEPass());
  if (options.deallocate)
    addDeallocation(manager);
  if (vectorOptions)
    manager.addPass(createParallelizeLoops(vectorOptions->loops));
}

void tessera::buildToAffinePipeline(OpPassManager &manager,
                                    const ToAffineOptions &options) {
  addToAffine(manager, options, options.addressSpaces);
}

void tessera::buildToLLVMPipeline(OpPassManager &manager,
                                  const ToLLVMOptions &options) {
  std::vector<std::string> addressSpaces(options.addressSpaces.begin(),
                                         options.addressSpaces.end());
  if (addressSpaces.empty())
    addressSpaces = {"*:0"};
  // The options are checked where they are not used, too.
  VectorOptions vectorOptions;
  vectorOptions.relayouts.enabled = options.vectorize;
  vectorOptions.relayouts.vectorBytes = options.vectorBytes;
  vectorOptions.relayouts.cpu = options.cpu;
  vectorOptions.relayouts.machine = options.machine;
  vectorOptions.relayouts.buffers = options.buffers;
  vectorOptions.contractions.enabled = options.vectorize;
  vectorOptions.contractions.vectorBytes = options.vectorBytes;
  vectorOptions.contractions.vectorRegisters = options.vectorRegisters;
  vectorOptions.contractions.bf16Pairs = options.bf16Pairs;
  auto share = [&](auto &passOptions) {
    passOptions.threads = options.threads;
    passOptions.parallelBytes = options.parallelBytes;
  };
  share(vectorOptions.loops);
  share(vectorOptions.relayouts);
  share(vectorOptions.contractions);
  addToAffine(manager, options, addressSpaces, &vectorOptions);
  AffineToLLVMOptions toLLVMOptions;
  // Passes before say what is wrong with a number.
  toLLVMOptions.threads = static_cast<unsigned>(
      std::clamp<int64_t>(options.threads, 1, kMaxThreads));
  toLLVMOptions.roundsToBF16 = options.bf16Pairs;
  buildAffineToLLVMPipeline(manager, toLLVMOptions);
}

void tessera::registerTesseraPipelines() {
  PassPipelineRegistration<ToAffineOptions>(
      "tessera-to-affine", "Lower layouts to affine loops over plain memrefs",
      buildToAffinePipeline);
  PassPipelineRegistration<ToLLVMOptions>(
      "tessera-to-llvm", "Lower layouts to the LLVM dialect for a CPU",
      buildToLLVMPipeline);
}

void tessera::buildAffineToLLVMPipeline(OpPassManager &manager,
                                        const AffineToLLVMOptions &options) {
  // Views become descriptors first; what they compute is affine again.
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createCheckAffineDivisors());
  manager.addPass(createLowerAffinePass());
  ExpandSmallFloatsOptions floatOptions;
  floatOptions.bf16 = !options.roundsToBF16;
  manager.addPass(createExpandSmallFloats(floatOptions));
  // Functions of complex numbers; what is left has a form in LLVM.
  manager.addPass(createConvertComplexToStandardPass());
  if (options.threads > 1) {
    manager.addPass(createSerializeLoops());
    ConvertSCFToOpenMPPassOptions parallelOptions;
    parallelOptions.numThreads = options.threads;
    manager.addPass(createConvertSCFToOpenMPPass(parallelOptions));
    manager.addPass(createRefineOpenMP());
  }
  manager.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.x86Vector = true;
  manager.addPass(createConvertVectorToLLVMPass(vectorOptions));
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertComplexToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  // What LLVM has no intrinsics for, such as erf, is called.
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertIndexToLLVMPass());
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.useBarePtrCallConv = options.useBarePointers;
  manager.addPass(createConvertFuncToLLVMPass(funcOptions));
  manager.addPass(createConvertControlFlowToLLVMPass());
  // What becomes of casts of vectors.
  manager.addPass(createUBToLLVMConversionPass());
  if (options.threads > 1)
    manager.addPass(createConvertOpenMPToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}
