//===- Program.cpp - Functions on arrays, compiled and run ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module gets one more function, with two flat buffers for arguments. It
// views arrays in the first, calls the entry, and writes results to the second;
// that it converts layouts is the work of tessera.relayout. The lowered
// function thus has the same signature whatever the entry takes.
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Program.h"

#include "tessera/Conversion/Pipelines.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/InitAll.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tessera;

/// Every dialect that a module may have; the same for every context.
static const DialectRegistry &getProgramDialects() {
  static const DialectRegistry &registry = *[] {
    auto *dialects = new DialectRegistry;
    mlir::registerAllDialects(*dialects);
    mlir::registerAllExtensions(*dialects);
    tessera::registerAllDialects(*dialects);
    tessera::registerAllExtensions(*dialects);
    registerCompileDialects(*dialects);
    return dialects;
  }();
  return registry;
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// The function of that name, or the one that can be called from outside.
static llvm::Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        (name.empty() ? function.isPublic() : function.getSymName() == name))
      candidates.push_back(function);
  if (candidates.size() == 1)
    return candidates.front();
  if (!name.empty())
    return invalidError("", "entry function", "a function with a body",
                        "no `@" + name + "`");
  return invalidError("", "module", "one public function with a body",
                      Twine(candidates.size()),
                      "name the entry function, or make others private");
}

/// The arrays of some types, one behind the other; `what` says which types.
static llvm::Expected<std::vector<ProgramArray>>
getArrays(TypeRange types, StringRef what, int64_t &bytes) {
  std::vector<ProgramArray> arrays;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::string found;
    llvm::raw_string_ostream(found) << type;
    if (!tensor || !tensor.hasStaticShape())
      return unsupportedError("type of " + what + " " + Twine(i),
                              "a tensor of static shape", found);
    llvm::Expected<Shape> shape = getShape(tensor);
    if (!shape)
      return shape.takeError();
    // Verified types have products that fit, padding included.
    int64_t arrayBytes =
        tensor.getNumElements() * getByteWidth(shape->elementType());
    arrays.push_back({std::move(*shape), bytes, arrayBytes});
    if (llvm::AddOverflow<int64_t>(
            bytes, llvm::alignTo(arrayBytes, RelayoutTarget::kLineBytes),
            bytes))
      return unsupportedError("size of all " + what + "s",
                              "bytes that can be counted", "more");
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// The function around it
//===----------------------------------------------------------------------===//

/// The row-major array at a place of a flat buffer.
static Value viewArray(OpBuilder &builder, Location loc, Value buffer,
                       const ProgramArray &array, RankedTensorType type) {
  Value offset = arith::ConstantIndexOp::create(builder, loc, array.offset);
  auto view = MemRefType::get(type.getShape(), type.getElementType());
  return memref::ViewOp::create(builder, loc, view, buffer, offset,
                                /*sizes=*/ValueRange());
}

static Value convert(OpBuilder &builder, Location loc, Value tensor,
                     RankedTensorType type) {
  if (tensor.getType() == type)
    return tensor;
  return RelayoutOp::create(builder, loc, type, tensor).getResult();
}

/// Adds the function that calls `entry` with arrays of two buffers, and gives
/// its name.
static std::string addWrapper(ModuleOp module, func::FuncOp entry,
                              ArrayRef<ProgramArray> inputs,
                              ArrayRef<ProgramArray> outputs,
                              int64_t inputBytes, int64_t outputBytes) {
  OpBuilder builder(module.getContext());
  Location loc = entry.getLoc();
  auto bufferType = [&](int64_t bytes) {
    return MemRefType::get(bytes, builder.getI8Type());
  };
  auto type = builder.getFunctionType(
      {bufferType(inputBytes), bufferType(outputBytes)}, {});
  auto wrapper = func::FuncOp::create(loc, "tessera_program", type);
  // Gives it another name where this one is taken.
  SymbolTable(module).insert(wrapper);
  builder.setInsertionPointToStart(wrapper.addEntryBlock());
  auto rowMajor = [](Type laidOut) {
    return cast<RankedTensorType>(laidOut).dropEncoding();
  };

  SmallVector<Value> arguments;
  for (auto [array, argument] : llvm::zip(inputs, entry.getArgumentTypes())) {
    RankedTensorType plain = rowMajor(argument);
    Value view = viewArray(builder, loc, wrapper.getArgument(0), array, plain);
    Value tensor = bufferization::ToTensorOp::create(builder, loc, plain, view,
                                                     /*restrict=*/true);
    arguments.push_back(
        convert(builder, loc, tensor, cast<RankedTensorType>(argument)));
  }
  auto call = func::CallOp::create(builder, loc, entry, arguments);
  for (auto [array, result] : llvm::zip(outputs, call.getResults())) {
    RankedTensorType plain = rowMajor(result.getType());
    Value view = viewArray(builder, loc, wrapper.getArgument(1), array, plain);
    bufferization::MaterializeInDestinationOp::create(
        builder, loc, /*result=*/Type(), convert(builder, loc, result, plain),
        view, /*restrict=*/true, /*writable=*/true);
  }
  func::ReturnOp::create(builder, loc);
  return wrapper.getSymName().str();
}

static LogicalResult lower(ModuleOp module, int64_t vectorBytes) {
  PassManager manager(module->getName());
  // Operations of arith and math on tensors, which nothing bufferizes.
  manager.addPass(createConvertElementwiseToLinalgPass());
  ToLLVMOptions options;
  options.vectorBytes = vectorBytes;
  // Results belong to the caller then, and what was allocated is freed.
  options.deallocate = true;
  buildToLLVMPipeline(manager, options);
  return manager.run(module);
}

llvm::Expected<Program> Program::compile(StringRef text, StringRef entryName) {
  CompileOptions options;
  llvm::Expected<RelayoutTarget> target = getRelayoutTarget(options);
  if (!target)
    return target.takeError();
  MLIRContext context(getProgramDialects(), MLIRContext::Threading::DISABLED);
  // What the function around the entry is made of.
  context
      .loadDialect<arith::ArithDialect, bufferization::BufferizationDialect,
                   func::FuncDialect, memref::MemRefDialect, TesseraDialect>();
  // Diagnostics show the lines of the text that they are about.
  std::string messages;
  llvm::raw_string_ostream os(messages);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, "module"), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context, os);
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return invalidError("", "module", "MLIR that can be parsed and verified",
                        llvm::StringRef(messages).rtrim());
  llvm::Expected<func::FuncOp> entry = findEntry(*module, entryName);
  if (!entry)
    return entry.takeError();

  Program program;
  auto inputs =
      getArrays(entry->getArgumentTypes(), "argument", program.numInputBytes);
  if (!inputs)
    return inputs.takeError();
  auto outputs =
      getArrays(entry->getResultTypes(), "result", program.numOutputBytes);
  if (!outputs)
    return outputs.takeError();
  program.inputArrays = std::move(*inputs);
  program.outputArrays = std::move(*outputs);
  options.symbol =
      addWrapper(*module, *entry, program.inputArrays, program.outputArrays,
                 program.numInputBytes, program.numOutputBytes);
  if (failed(verify(*module)) || failed(lower(*module, target->vectorBytes)))
    return unsupportedError("module", "what --tessera-to-llvm lowers",
                            llvm::StringRef(messages).rtrim());

  auto compiled = CompiledModule::compile(std::move(module), options);
  if (!compiled)
    return compiled.takeError();
  auto function = compiled->lookup(options.symbol);
  if (!function)
    return function.takeError();
  program.module = std::make_shared<CompiledModule>(std::move(*compiled));
  program.function = reinterpret_cast<void *>(*function);
  return program;
}

void Program::operator()(const void *input, void *output) const {
  // The function of two memrefs of bytes, as the LLVM dialect passes them:
  // allocated and aligned pointer, offset, size and stride.
  using Entry = void(const void *, const void *, int64_t, int64_t, int64_t,
                     void *, void *, int64_t, int64_t, int64_t);
  reinterpret_cast<Entry *>(function)(input, input, 0, numInputBytes, 1, output,
                                      output, 0, numOutputBytes, 1);
}
