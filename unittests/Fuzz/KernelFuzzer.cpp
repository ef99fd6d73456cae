//===- KernelFuzzer.cpp - Kernels of Mosaic as functions ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel, called with arrays as large as the memory that it sees, or larger
// where it has windows, becomes a function that verifies, or says why not.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "tessera/Conversion/MosaicToLinalg.h"
#include "tessera/Support/Nesting.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::fuzz;

static void loadDialects(MLIRContext &context) {
  context.loadDialect<affine::AffineDialect, arith::ArithDialect,
                      bufferization::BufferizationDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
}

/// The arrays of all memrefs of the first line with a function, but for scratch
/// memory: `memref<8x128xf32, ...>`.
static SmallVector<RankedTensorType> getArrays(StringRef text,
                                               MLIRContext &context) {
  SmallVector<RankedTensorType> arrays;
  StringRef line = text.substr(text.find("func.func")).split('\n').first;
  bool hasWindows = text.contains("window_params");
  llvm::Regex memref("memref<([0-9x]*x)?([a-z]+[0-9]+)[,>]");
  SmallVector<StringRef> matches;
  while (arrays.size() < 8 && memref.match(line, &matches)) {
    line = line.substr(matches[0].end() - line.begin());
    SmallVector<StringRef> pieces;
    matches[1].split(pieces, 'x', -1, /*KeepEmpty=*/false);
    SmallVector<int64_t> sizes;
    for (StringRef piece : pieces)
      if (int64_t size; !piece.getAsInteger(10, size) && size < 1 << 20)
        sizes.push_back(size);
    if (hasWindows && !sizes.empty())
      sizes[0] = 2 * sizes[0] + 1;
    Type element = parseType(matches[2], &context);
    if (element && element.isIntOrFloat())
      arrays.push_back(RankedTensorType::get(sizes, element));
  }
  return arrays;
}

/// Scratch memory is last of the arguments.
static size_t countScratch(StringRef text) {
  size_t count = 0;
  StringRef rest = text.split("scratch_operands = ").second;
  return rest.consumeInteger(10, count) ? 0 : count;
}

void tessera::fuzz::runInput(StringRef text) {
  // As kernels of calls are read.
  if (llvm::Error error = checkParsable(text))
    return llvm::consumeError(std::move(error));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  context.getDiagEngine().registerHandler(
      [](mlir::Diagnostic &) { return success(); });
  SmallVector<RankedTensorType> arrays = getArrays(text, context);
  arrays.truncate(arrays.size() - std::min(arrays.size(), countScratch(text)));
  if (arrays.empty())
    return;
  mosaic::KernelCall call{text, arrays, {arrays.back()}, {std::nullopt}};
  call.operands.pop_back();
  std::vector<tessera::Diagnostic> errors;
  std::optional<std::string> converted = mosaic::convertKernel(call, errors);
  require(converted.has_value() == errors.empty(),
          "a function and errors, or neither");
  if (converted)
    require(!!parseSourceString<ModuleOp>(*converted, &context),
            "a function that does not verify");
}

std::string tessera::fuzz::mutateInput(StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  return mutator.mutate(text, random);
}
