//===- Program.cpp - Functions on arrays, compiled and run ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module gets one more function, whose arguments are the memory of each
// array that the entry takes or gives. It calls the entry, and writes the
// results; that it converts layouts is the work of tessera.relayout. Once it is
// lowered, another function takes the addresses of all that memory, and thus
// has the same signature whatever the entry takes.
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Program.h"

#include "ForkGate.h"
#include "Machine.h"
#include "ProgramRun.h"
#include "Stack.h"
#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/Pipelines.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/InitAll.h"
#include "tessera/Kernels/Bytecode.h"
#include "tessera/Kernels/Kernels.h"
#include "tessera/Layout/Size.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Nesting.h"
#include "tessera/Target/HLO/Import.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"
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

/// The tensor that stands for a type of the entry: itself, or that of a number,
/// of which an `index` has 64 bits. Null for other types.
static RankedTensorType getArrayType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape() ? tensor : nullptr;
  if (isa<IndexType>(type))
    type = IntegerType::get(type.getContext(), 64);
  if (!isa<IntegerType, FloatType, ComplexType>(type))
    return nullptr;
  return RankedTensorType::get({}, type);
}

/// The arrays of some types, one behind the other, tuples taken apart; `what`
/// says which types.
static llvm::Expected<std::vector<ProgramArray>> getArrays(TypeRange types,
                                                           StringRef what) {
  SmallVector<Type> leaves;
  for (Type type : types) {
    if (!isa<TupleType>(type))
      leaves.push_back(type);
    llvm::append_range(leaves, isa<TupleType>(type)
                                   ? hlo::getLeafTypes(type)
                                   : SmallVector<RankedTensorType>());
  }
  std::vector<ProgramArray> arrays;
  int64_t bytes = 0;
  for (auto [i, type] : llvm::enumerate(leaves)) {
    RankedTensorType tensor = getArrayType(type);
    std::string found;
    llvm::raw_string_ostream(found) << type;
    if (!tensor)
      return unsupportedError("type of " + what + " " + Twine(i),
                              "a number or a tensor of static shape", found);
    llvm::Expected<Shape> shape = getShape(tensor);
    if (!shape)
      return shape.takeError();
    llvm::Expected<ShapeSize> size =
        getSize(Shape::array(shape->elementType(), shape->dimensions()));
    if (!size)
      return size.takeError();
    // Each may begin at a line of the cache.
    if (llvm::AddOverflow(bytes, size->bytes, bytes) ||
        llvm::AddOverflow(bytes, RelayoutTarget::kLineBytes - 1, bytes))
      return unsupportedError("size of all " + what + "s",
                              "bytes that can be counted", "more");
    arrays.push_back({std::move(*shape), size->bytes});
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// The function around it
//===----------------------------------------------------------------------===//

/// What the elements of row-major arrays are: bytes with the sign of narrow
/// integers, which LLVM would read as if their upper bits were zero.
static RankedTensorType getRowMajorType(Type laidOut) {
  RankedTensorType type = getArrayType(laidOut).dropEncoding();
  bool isNarrow = type.getElementType().isSignlessInteger() &&
                  type.getElementTypeBitWidth() < 8 &&
                  type.getElementTypeBitWidth() > 1;
  return isNarrow ? type.clone(IntegerType::get(type.getContext(), 8)) : type;
}

/// The array in some memory.
static Value viewArray(OpBuilder &builder, Location loc, Value memory,
                       RankedTensorType type) {
  Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
  auto view = MemRefType::get(type.getShape(), type.getElementType());
  return memref::ViewOp::create(builder, loc, view, memory, offset,
                                /*sizes=*/ValueRange());
}

static Value relayout(OpBuilder &builder, Location loc, Value tensor,
                      RankedTensorType type) {
  if (tensor.getType() == type)
    return tensor;
  return RelayoutOp::create(builder, loc, type, tensor).getResult();
}

/// The number of `type` that is in a tensor of no dimensions.
static Value readNumber(OpBuilder &builder, Location loc, Value tensor,
                        Type type) {
  Value number =
      tensor::ExtractOp::create(builder, loc, tensor, /*indices=*/ValueRange());
  if (isa<IndexType>(type))
    number = arith::IndexCastOp::create(builder, loc, type, number);
  return number;
}

/// The tensor of no dimensions that holds a number.
static Value writeNumber(OpBuilder &builder, Location loc, Value number) {
  RankedTensorType type = getArrayType(number.getType());
  if (isa<IndexType>(number.getType()))
    number =
        arith::IndexCastOp::create(builder, loc, type.getElementType(), number);
  return tensor::FromElementsOp::create(builder, loc, type, number);
}

/// An argument of the entry from the row-major array in `view`.
static Value readArgument(OpBuilder &builder, Location loc, Value view,
                          Type type) {
  RankedTensorType rowMajor = getRowMajorType(type);
  RankedTensorType plain = getArrayType(type).dropEncoding();
  Value tensor = bufferization::ToTensorOp::create(builder, loc, rowMajor, view,
                                                   /*restrict=*/true);
  if (rowMajor != plain)
    tensor = arith::TruncIOp::create(builder, loc, plain, tensor);
  if (auto laidOut = dyn_cast<RankedTensorType>(type))
    return relayout(builder, loc, tensor, laidOut);
  return readNumber(builder, loc, tensor, type);
}

/// A result of the entry to the row-major array in `view`.
static void writeResult(OpBuilder &builder, Location loc, Value result,
                        Value view) {
  Value tensor = isa<RankedTensorType>(result.getType())
                     ? result
                     : writeNumber(builder, loc, result);
  RankedTensorType rowMajor = getRowMajorType(tensor.getType());
  RankedTensorType plain =
      cast<RankedTensorType>(tensor.getType()).dropEncoding();
  tensor = relayout(builder, loc, tensor, plain);
  if (rowMajor != plain)
    tensor = arith::ExtSIOp::create(builder, loc, rowMajor, tensor);
  bufferization::MaterializeInDestinationOp::create(
      builder, loc, /*result=*/Type(), tensor, view, /*restrict=*/true,
      /*writable=*/true);
}

/// Arguments that nothing reads have layouts that could be read, too.
static llvm::Error checkLayouts(func::FuncOp entry) {
  for (Type type : entry.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    llvm::Expected<Shape> shape = getShape(tensor);
    if (!shape)
      return shape.takeError();
    if (llvm::Error error =
            checkSupported(shape->layoutOrDefault(), shape->elementType()))
      return error;
  }
  return llvm::Error::success();
}

/// The results of `entry`: by its operations where they are one block, so that
/// its relayouts meet those around it, else by a call.
static SmallVector<Value> emitEntry(OpBuilder &builder, func::FuncOp entry,
                                    ArrayRef<Value> arguments) {
  if (!llvm::hasSingleElement(entry.getBody())) {
    auto call = func::CallOp::create(builder, entry.getLoc(), entry, arguments);
    return SmallVector<Value>(call.getResults());
  }
  IRMapping mapping;
  mapping.map(entry.getArguments(), arguments);
  for (Operation &op : entry.front().without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(
      entry.front().getTerminator()->getOperands(),
      [&](Value result) { return mapping.lookupOrDefault(result); });
}

/// Adds the function that calls `entry` with arrays in memory, that of the
/// results behind that of the arguments, and gives its name.
static std::string addWrapper(ModuleOp module, func::FuncOp entry,
                              ArrayRef<ProgramArray> arrays) {
  OpBuilder builder(module.getContext());
  Location loc = entry.getLoc();
  SmallVector<Type> types;
  for (const ProgramArray &array : arrays)
    types.push_back(MemRefType::get(array.bytes, builder.getI8Type()));
  auto wrapper = func::FuncOp::create(loc, "tessera_program",
                                      builder.getFunctionType(types, {}));
  // Each array has memory of its own.
  for (unsigned i = 0; i < arrays.size(); ++i)
    wrapper.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                       builder.getUnitAttr());
  // Gives it another name where this one is taken.
  SymbolTable(module).insert(wrapper);
  builder.setInsertionPointToStart(wrapper.addEntryBlock());

  SmallVector<Value> arguments;
  ValueRange memory = wrapper.getArguments();
  for (auto [input, type] : llvm::zip(memory, entry.getArgumentTypes())) {
    Value view = viewArray(builder, loc, input, getRowMajorType(type));
    arguments.push_back(readArgument(builder, loc, view, type));
  }
  SmallVector<Value> results = emitEntry(builder, entry, arguments);
  for (auto [output, result] :
       llvm::zip(memory.drop_front(arguments.size()), results)) {
    Value view =
        viewArray(builder, loc, output, getRowMajorType(result.getType()));
    writeResult(builder, loc, result, view);
  }
  func::ReturnOp::create(builder, loc);
  return wrapper.getSymName().str();
}

/// Adds the function that takes the addresses of all arrays, and calls the one
/// around the entry, as the LLVM dialect passes memrefs of bytes: allocated and
/// aligned pointer, offset, size and stride. Gives its name.
static std::string addLoweredEntry(ModuleOp module, StringRef wrapper,
                                   ArrayRef<ProgramArray> arrays) {
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(wrapper);
  ImplicitLocOpBuilder b(callee.getLoc(), module.getContext());
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()), pointer);
  auto entry = LLVM::LLVMFuncOp::create(b, "tessera_entry", type);
  SymbolTable(module).insert(entry);
  b.setInsertionPointToStart(entry.addEntryBlock(b));
  auto number = [&](int64_t value) {
    return LLVM::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  SmallVector<Value> arguments;
  for (auto [i, array] : llvm::enumerate(arrays)) {
    Value place = LLVM::GEPOp::create(b, pointer, pointer, entry.getArgument(0),
                                      LLVM::GEPArg(static_cast<int32_t>(i)));
    Value address = LLVM::LoadOp::create(b, pointer, place);
    // What is written is no other's memory.
    callee.setArgAttr(arguments.size() + 1,
                      LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    arguments.append(
        {address, address, number(0), number(array.bytes), number(1)});
  }
  LLVM::CallOp::create(b, callee, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
  callee.setLinkage(LLVM::Linkage::Internal);
  return entry.getSymName().str();
}

/// Gives functions names of their own: `free` or `main` would be taken for what
/// the process has by that name.
static LogicalResult renameFunctions(ModuleOp module, StringRef wrapper) {
  SymbolTable symbols(module);
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (function.isExternal() || function.getSymName() == wrapper)
      continue;
    std::string name = ("tessera_program." + function.getSymName()).str();
    if (failed(symbols.rename(function, name)))
      return failure();
    function.setPrivate();
  }
  return success();
}

/// Puts all arrays into one memory space, which is all that there is here:
/// moves between spaces move nothing then.
static void dropSpaces(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](LayoutAttr attribute) -> Attribute {
    Layout layout = attribute.getLayout();
    layout.memorySpace = 0;
    return LayoutAttr::get(attribute.getContext(), std::move(layout));
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  // Elements keep their type.
  module.walk([](arith::ConstantOp constant) {
    auto type = dyn_cast<RankedTensorType>(constant.getType());
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (type && elements && elements.getType() != type)
      constant.setValueAttr(elements.reshape(type));
  });
}

/// Lets relayouts of relayouts begin where the first ones do: arguments often
/// come to another layout before they are used.
static LogicalResult mergeRelayouts(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](RelayoutOp op) { ops.push_back(op); });
  RewritePatternSet patterns(module.getContext());
  RelayoutOp::getCanonicalizationPatterns(patterns, module.getContext());
  return applyOpPatternsGreedily(ops, std::move(patterns));
}

/// Instructions of HLO have a result for all operands, and need no assertions
/// but where their conversion is in doubt.
static LogicalResult lower(ModuleOp module, const ContractionTarget &target,
                           bool isHLO, const ProgramOptions &programOptions) {
  bool poisonsPadding = programOptions.poisonsPadding;
  PassManager manager(module->getName());
  manager.addPass(createSymbolDCEPass());
  // Operations of arith and math on tensors, which nothing bufferizes.
  manager.addPass(createConvertElementwiseToLinalgPass());
  if (!isHLO || poisonsPadding)
    manager.addPass(createAssertFaults());
  if (isHLO)
    manager.addPass(createApproximateMath());
  ToLLVMOptions options;
  options.vectorBytes = target.vectorBytes;
  options.vectorRegisters = target.vectorRegisters;
  options.bf16Pairs = target.hasBF16Pairs;
  options.threads = programOptions.threads;
  // Results belong to the caller then, and what was allocated is freed.
  options.deallocate = true;
  options.poisonPadding = poisonsPadding;
  buildToLLVMPipeline(manager, options);
  return manager.run(module);
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

/// Calls are nested as deep at most.
static constexpr int64_t kMaxCalls = 256;
/// What the code of a function may have on its stack: buffers of relayouts,
/// less than 32 KiB, and registers.
static constexpr size_t kFrameBytes = size_t(40) << 10;

namespace {
/// How deep calls are nested, by functions.
class CallDepths {
public:
  explicit CallDepths(SymbolTableCollection &symbols) : symbols(symbols) {}

  /// The depth below `function`, or an error where it calls itself.
  llvm::Expected<int64_t> get(Operation *function) {
    auto [known, isNew] = depths.try_emplace(function, kOpen);
    if (!isNew && known->second == kOpen)
      return unsupportedError("function `" + getName(function) + "`",
                              "one that does not call itself",
                              "a call that comes back to it", "write a loop");
    if (!isNew)
      return known->second;
    int64_t depth = 1;
    for (Operation *callee : getCallees(function)) {
      llvm::Expected<int64_t> below = get(callee);
      if (!below)
        return below;
      depth = std::max(depth, *below + 1);
    }
    if (depth > kMaxCalls)
      return unsupportedError("function `" + getName(function) + "`",
                              "calls nested " + Twine(kMaxCalls) + " deep",
                              "more", "call functions in fewer steps");
    return depths[function] = depth;
  }

private:
  static constexpr int64_t kOpen = -1;

  static std::string getName(Operation *function) {
    return SymbolTable::getSymbolName(function).str();
  }

  /// The functions that are called, and those whose address is taken.
  llvm::SetVector<Operation *> getCallees(Operation *function) {
    llvm::SetVector<Operation *> callees;
    function->walk([&](Operation *op) {
      SymbolRefAttr name;
      if (auto call = dyn_cast<CallOpInterface>(op))
        name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
      else if (auto constant = dyn_cast<func::ConstantOp>(op))
        name = constant.getValueAttr();
      if (!name)
        return;
      if (Operation *callee = symbols.lookupNearestSymbolFrom(op, name))
        callees.insert(callee);
    });
    return callees;
  }

  SymbolTableCollection &symbols;
  llvm::DenseMap<Operation *, int64_t> depths;
};
} // namespace

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// What is wrong with a text before it is parsed.
static llvm::Error checkModuleText(StringRef text) {
  // What the parser of HLO bears is its own matter.
  if (isHLOModule(text))
    return llvm::Error::success();
  if (llvm::Error error = checkIsMLIR(text))
    return error;
  return checkParsable(text);
}

static OwningOpRef<ModuleOp> parse(llvm::SourceMgr &sources,
                                   MLIRContext &context) {
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (isHLOModule(buffer->getBuffer()))
    return importHLO(buffer->getBuffer(), buffer->getBufferIdentifier(),
                     &context);
  return parseSourceFile<ModuleOp>(sources, &context);
}

/// Calls of kernels agree with their kernels: another layout or space than the
/// kernel's is other bytes.
static LogicalResult checkKernels(StringRef text, MLIRContext &context) {
  if (!isHLOModule(text) || !text.contains("tpu_custom_call"))
    return success();
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  if (!module)
    return success(); // The import has said why.
  bool isRight = true;
  for (const Kernel &kernel : findKernels(*module, printBytecode))
    for (const hlo::SourceDiagnostic &problem : checkKernel(*module, kernel)) {
      // What cannot be read is unsupported, together with all that is.
      if (problem.diagnostic.kind == tessera::DiagnosticKind::Unsupported)
        continue;
      emitError(FileLineColLoc::get(&context, "module", problem.location.line,
                                    problem.location.column))
          << problem.diagnostic.message();
      isRight = false;
    }
  return success(isRight);
}

/// Instructions of HLO become operations that are lowered.
static LogicalResult convertHLO(ModuleOp module) {
  hlo::InstructionConversions conversions;
  hlo::populateHLOToLinalgConversions(conversions);
  return hlo::convertHLOToLinalg(module, conversions);
}

/// Messages show lines of the text, and that of a kernel has all of it. Names
/// in kernels may be any bytes.
static std::string shortenLines(StringRef messages) {
  constexpr size_t kMaxColumns = 400;
  std::string text;
  for (StringRef line : llvm::split(messages.rtrim(), '\n')) {
    text += text.empty() ? "" : "\n";
    text += line.take_front(kMaxColumns);
    text += line.size() > kMaxColumns ? "..." : "";
  }
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

llvm::Expected<Program> Program::compile(StringRef text,
                                         const ProgramOptions &options) {
  CompileScope scope;
  return compileOnStack<Program>([&] { return compileHere(text, options); });
}

llvm::Expected<Program>
Program::compileHere(StringRef text, const ProgramOptions &programOptions) {
  if (llvm::Error error = checkThreads(programOptions.threads, "threads"))
    return std::move(error);
  CompileOptions options;
  llvm::Expected<ContractionTarget> target = getContractionTarget(options);
  if (!target)
    return target.takeError();
  if (llvm::Error error = checkModuleText(text))
    return std::move(error);
  MLIRContext context(getProgramDialects(), MLIRContext::Threading::DISABLED);
  // What the function around the entry is made of, and instructions become.
  context
      .loadDialect<affine::AffineDialect, arith::ArithDialect,
                   bufferization::BufferizationDialect, complex::ComplexDialect,
                   func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                   memref::MemRefDialect, scf::SCFDialect,
                   tensor::TensorDialect, TesseraDialect>();
  // Diagnostics show the lines of the text that they are about.
  std::string messages;
  llvm::raw_string_ostream os(messages);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, "module"), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context, os);
  OwningOpRef<ModuleOp> module = parse(sources, context);
  if (!module || failed(checkKernels(text, context)))
    return invalidError("", "module",
                        "MLIR or HLO that can be parsed and verified",
                        shortenLines(messages));
  llvm::Expected<func::FuncOp> entry = findEntry(*module, programOptions.entry);
  if (!entry)
    return entry.takeError();

  Program program;
  auto inputs = getArrays(entry->getArgumentTypes(), "argument");
  if (!inputs)
    return inputs.takeError();
  auto outputs = getArrays(entry->getResultTypes(), "result");
  if (!outputs)
    return outputs.takeError();
  std::vector<ProgramArray> arrays = *inputs;
  llvm::append_range(arrays, *outputs);
  program.inputArrays = std::move(*inputs);
  program.outputArrays = std::move(*outputs);

  // Types have signs and tuples up to here.
  std::string name = entry->getSymName().str();
  if (failed(convertHLO(*module)))
    return unsupportedError("module", "instructions that are converted",
                            shortenLines(messages));
  entry = findEntry(*module, name);
  if (!entry)
    return entry.takeError();
  if (llvm::Error error = checkLayouts(*entry))
    return std::move(error);
  SymbolTableCollection symbols;
  llvm::Expected<int64_t> depth = CallDepths(symbols).get(*entry);
  if (!depth)
    return depth.takeError();

  dropSpaces(*module);
  // The functions around the entry are two more.
  program.stackBytes = (*depth + 2) * kFrameBytes;
  options.symbol = addWrapper(*module, *entry, arrays);
  if (failed(verify(*module)) ||
      failed(renameFunctions(*module, options.symbol)) ||
      failed(mergeRelayouts(*module)) ||
      failed(lower(*module, *target, isHLOModule(text), programOptions)))
    return unsupportedError("module", "what --tessera-to-llvm lowers",
                            shortenLines(messages));
  options.symbol = addLoweredEntry(*module, options.symbol, arrays);

  auto compiled = CompiledModule::compile(std::move(module), options);
  if (!compiled && !messages.empty()) {
    llvm::consumeError(compiled.takeError());
    return unsupportedError("module", "what LLVM can compile",
                            shortenLines(messages));
  }
  if (!compiled)
    return compiled.takeError();
  for (const auto &[name, address] : getProgramFunctions())
    if (llvm::Error error = compiled->define(name, address))
      return std::move(error);
  auto function = compiled->lookup(options.symbol);
  if (!function)
    return function.takeError();
  program.module = std::make_shared<CompiledModule>(std::move(*compiled));
  program.function = reinterpret_cast<void *>(*function);
  return program;
}

llvm::Error Program::operator()(llvm::ArrayRef<const void *> inputs,
                                llvm::ArrayRef<void *> outputs) const {
  using Entry = void(const void *const *);
  assert(inputs.size() == inputArrays.size() &&
         outputs.size() == outputArrays.size() && "memory for each array");
  SmallVector<const void *> arrays(inputs);
  llvm::append_range(arrays, outputs);
  // Unset where there is no stack to run on.
  std::optional<llvm::Error> error;
  auto run = [&] {
    error =
        runProgram([&] { reinterpret_cast<Entry *>(function)(arrays.data()); });
  };
  if (llvm::Error noStack = runOnStack(stackBytes, run))
    return noStack;
  return std::move(*error);
}
