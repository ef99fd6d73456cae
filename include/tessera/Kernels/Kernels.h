//===- Kernels.h - Mosaic kernels in HLO modules ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A custom call of `tpu_custom_call` has its kernel in its backend_config: an
// MLIR function over memrefs, as text or as bytecode, in base64. Its arguments
// are the indices of the grid, the operands and the results of the call (whole,
// or window by window), and scratch memory. docs/hlo.md has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_KERNELS_H
#define TESSERA_KERNELS_KERNELS_H

#include "tessera/HLO/Parser.h"

#include <functional>

namespace tessera {

/// `memref<8x128xf32, #tpu.memory_space<vmem>>`.
struct KernelMemRef {
  /// kDynamic for `?`.
  llvm::SmallVector<int64_t, 4> dimensions;
  std::string elementType;
  /// `vmem`; empty where the type has no space.
  std::string space;
  /// The layout as it is written; empty where the type has none.
  std::string layout;
};

/// The part of an array that one step of the grid sees.
struct KernelWindow {
  /// From indices of the grid to those of windows: an affine map, or the name
  /// of a function of the body.
  std::string transform;
  /// Sizes of the window, where they are written.
  llvm::SmallVector<int64_t, 4> sizes;
};

struct KernelArgument {
  enum class Role : uint8_t { GridIndex, Prefetch, Operand, Result, Scratch };
  Role role = Role::Scratch;
  /// Among those of its role; of a Prefetch and an Operand, among the operands
  /// of the call.
  size_t number = 0;
  /// As it is written.
  std::string type;
  std::optional<KernelMemRef> memref;
  std::optional<KernelWindow> window;
  /// In the module, of operands and results.
  const Shape *shape = nullptr;
};

/// `grid index`, `operand`, ...
llvm::StringRef getName(KernelArgument::Role role);

/// The space S(color) that part `shapeIndex` of an operand, or of the result,
/// has to be in.
struct KernelColor {
  int64_t operand = 0;
  llvm::SmallVector<int64_t, 2> shapeIndex;
  int64_t color = 0;
};

struct Kernel {
  const hlo::Instruction *call = nullptr;
  /// The body as MLIR text; empty when it cannot be read.
  std::string body;
  /// Whether the module has it as bytecode.
  bool isBytecode = false;
  /// Why nothing else is known.
  std::optional<Diagnostic> error;
  /// The name of the function.
  std::string function;
  llvm::SmallVector<int64_t, 4> grid;
  /// For each dimension of the grid: `parallel`, `arbitrary`.
  std::vector<std::string> semantics;
  /// In the order of the function. Operands and results have no shape where
  /// their number is not that of the call.
  std::vector<KernelArgument> arguments;
  std::vector<KernelColor> operandColors;
  std::vector<KernelColor> resultColors;
};

/// The body that a `backend_config` has, MLIR as text or as bytecode. Errors:
/// *unsupported* where it has none, *invalid* where it cannot be decoded.
llvm::Expected<std::string> readKernelBody(const hlo::Attribute *backendConfig);

/// Gives the text of bytecode of MLIR; an error where it cannot be read.
using BytecodeReader =
    std::function<llvm::Expected<std::string>(llvm::StringRef)>;

/// The kernels of all computations, in the order of the text. Without
/// `readBytecode`, a body that is bytecode is *unsupported*.
std::vector<Kernel> findKernels(const hlo::Module &module,
                                const BytecodeReader &readBytecode = nullptr);

/// What the call and the kernel disagree about, kernel_c1 to kernel_c7 of
/// docs/hlo.md, and *unsupported* for a kernel that cannot be read. Layouts and
/// spaces (kernel_c3 to kernel_c6) are looked at in scheduled modules alone:
/// before, they are not chosen.
std::vector<hlo::SourceDiagnostic> checkKernel(const hlo::Module &module,
                                               const Kernel &kernel);

/// Tables for people.
void printKernels(const hlo::Module &module, llvm::ArrayRef<Kernel> kernels,
                  bool withBody, llvm::raw_ostream &os);

/// JSON for programs: docs/hlo.md has the schema.
void printKernelsJSON(const hlo::Module &module, llvm::ArrayRef<Kernel> kernels,
                      llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_KERNELS_KERNELS_H
