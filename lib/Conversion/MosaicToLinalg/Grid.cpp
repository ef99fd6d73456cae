//===- Grid.cpp - Kernels as functions, windows, the loops of the grid ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of the grid run one after the other, the last dimension fastest.
// Each has its windows of the operands copied to blocks, and those of the
// results copied back, but for windows that are all of an array, which is its
// own block. What a window has beyond its array is not copied: of an operand
// it holds anything.
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

//===----------------------------------------------------------------------===//
// What the function says of itself
//===----------------------------------------------------------------------===//

namespace {
/// How an array is seen by a step of the grid.
struct Window {
  /// From indices of the grid to those of windows: an affine map or a function.
  Attribute transform;
  /// Sizes of the block.
  SmallVector<int64_t> sizes;
  /// Whether the transform counts elements and not windows.
  bool countsElements = false;
};

/// An operand or result of the call in the kernel.
struct Argument {
  BlockArgument value;
  /// The array of the call, and the block; the same without a window.
  unsigned array = 0, block = 0;
  std::optional<Window> window;
};

/// Emits the function of one kernel.
class GridConverter {
public:
  GridConverter(KernelConverter &c, func::FuncOp body, const KernelCall &call)
      : c(c), b(c.b), body(body), call(call) {}

  func::FuncOp convert();

private:
  LogicalResult readSignature();
  LogicalResult checkArgument(BlockArgument argument, RankedTensorType array,
                              bool hasWindow);
  FailureOr<std::optional<Window>> readWindow(Attribute attribute,
                                              BlockArgument argument);
  LogicalResult addArguments();
  LogicalResult addArgument(Argument argument, RankedTensorType array,
                            size_t window);
  void addScratch();
  SmallVector<Value> getBounds();
  LogicalResult emitGrid();
  LogicalResult emitStep(ValueRange index);
  LogicalResult unsupportedTransform(const Twine &found);
  FailureOr<SmallVector<Value>> applyMap(AffineMap map);
  FailureOr<SmallVector<Value>> callFunction(func::FuncOp function);
  FailureOr<SmallVector<Value>> getBlockIndex(const Argument &argument);
  LogicalResult copyBlock(const Argument &argument, bool isBack);
  SmallVector<unsigned> getCarried();

  KernelConverter &c;
  ImplicitLocOpBuilder &b;
  func::FuncOp body;
  const KernelCall &call;
  SmallVector<int64_t> grid;
  unsigned numGridSizes = 0, numPrefetched = 0, numScratch = 0;
  ArrayAttr windows;
  SmallVector<Argument> operands, results;
  SmallVector<unsigned> scratch;
  /// Indices of the grid, as the kernel takes them.
  SmallVector<Value> gridIndex;
};
} // namespace

LogicalResult GridConverter::readSignature() {
  if (!llvm::hasSingleElement(body.getBody()))
    return c.unsupported("kernel", "one block", "more or none");
  grid = mosaic::getIntegers(body->getAttr("iteration_bounds"))
             .value_or(SmallVector<int64_t>());
  numGridSizes = llvm::count(grid, ShapedType::kDynamic);
  auto getCount = [&](StringRef name) {
    return static_cast<unsigned>(
        std::clamp<int64_t>(getInteger(body, name, 0), 0, 1 << 20));
  };
  numPrefetched = getCount("scalar_prefetch");
  numScratch = getCount("scratch_operands");
  windows = body->getAttrOfType<ArrayAttr>("window_params");
  size_t numOperands = call.operands.size(), numResults = call.results.size();
  size_t expected =
      grid.size() + numOperands - numGridSizes + numResults + numScratch;
  bool hasWindows =
      !windows ||
      windows.size() == numOperands - numGridSizes - numPrefetched + numResults;
  bool areSizes = llvm::all_of(grid, [](int64_t size) {
    return size >= 0 || size == ShapedType::kDynamic;
  });
  if (numGridSizes + numPrefetched > numOperands || !hasWindows || !areSizes ||
      expected != body.getNumArguments())
    return c.unsupported("kernel",
                         "arguments for the grid, the operands and results of "
                         "the call, and scratch memory: " +
                             Twine(expected),
                         Twine(body.getNumArguments()));
  for (BlockArgument index : body.getArguments().take_front(grid.size()))
    if (!index.getType().isIntOrIndex())
      return c.unsupported("kernel", "integers as indices of the grid",
                           debugString(index.getType()));
  return success();
}

/// `#tpu.element_window<[0, 0], [0, 0]>`: zeros before and behind.
static bool isUnpaddedElementWindow(Attribute kind) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(kind);
  StringRef text = opaque ? opaque.getAttrData() : StringRef();
  return text.starts_with("element_window<") &&
         text.find_first_of("123456789") == StringRef::npos;
}

/// The window of an argument; nothing where all of the array is seen.
FailureOr<std::optional<Window>>
GridConverter::readWindow(Attribute attribute, BlockArgument argument) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (!fields || fields.empty())
    return std::optional<Window>();
  Window window;
  window.transform = fields.get("transform_indices");
  llvm::append_range(window.sizes,
                     cast<MemRefType>(argument.getType()).getShape());
  if (auto bounds = mosaic::getIntegers(fields.get("window_bounds")))
    if (*bounds != window.sizes)
      return c.unsupported("window of the kernel", "the sizes of its argument",
                           debugString(fields.get("window_bounds")));
  Attribute kind = fields.get("window_kind");
  window.countsElements = isUnpaddedElementWindow(kind);
  if (kind && !window.countsElements)
    return c.unsupported("window of the kernel", "windows without padding",
                         debugString(kind));
  if (llvm::is_contained(window.sizes, 0))
    return c.unsupported("window of the kernel", "elements", "none");
  if (!isa_and_nonnull<AffineMapAttr, FlatSymbolRefAttr>(window.transform))
    return c.unsupported("window of the kernel",
                         "a map or function of its index", "none");
  return std::optional(std::move(window));
}

LogicalResult GridConverter::checkArgument(BlockArgument argument,
                                           RankedTensorType array,
                                           bool hasWindow) {
  auto type = dyn_cast<MemRefType>(argument.getType());
  bool fits = type && type.hasStaticShape() &&
              type.getRank() == array.getRank() &&
              type.getElementType() == array.getElementType() &&
              (hasWindow || type.getShape() == array.getShape());
  if (fits)
    return success();
  return c.unsupported(
      "argument " + Twine(argument.getArgNumber()) + " of the kernel",
      "memory for " + debugString(array), debugString(argument.getType()));
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// Whether the window is all of the array.
static bool isWhole(const Window &window, RankedTensorType array) {
  return ArrayRef(window.sizes) == array.getShape();
}

LogicalResult GridConverter::addArgument(Argument argument,
                                         RankedTensorType array,
                                         size_t windowNumber) {
  bool isPrefetched = windowNumber == ~size_t(0);
  Attribute attribute =
      windows && !isPrefetched ? windows[windowNumber] : Attribute();
  auto fields = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (failed(checkArgument(argument.value, array, fields && !fields.empty())))
    return failure();
  auto window = readWindow(attribute, argument.value);
  if (failed(window))
    return failure();
  argument.block = argument.array;
  if (*window && !isWhole(**window, array)) {
    argument.window = std::move(*window);
    argument.block = c.addArray(c.createMemory(argument.value.getType()));
  }
  c.setWholeView(argument.value, argument.block);
  bool isResult =
      results.size() + operands.size() >= call.operands.size() - numGridSizes;
  (isResult ? results : operands).push_back(std::move(argument));
  return success();
}

LogicalResult GridConverter::addArguments() {
  Block &entry = body.front();
  unsigned next = grid.size(), window = 0;
  bool isRight = true;
  SmallVector<unsigned> arrays;
  for (Value operand : b.getBlock()->getArguments())
    arrays.push_back(c.addArray(operand));
  for (unsigned i = numGridSizes; i < arrays.size(); ++i) {
    bool isPrefetched = i < numGridSizes + numPrefetched;
    isRight &= succeeded(
        addArgument({entry.getArgument(next++), arrays[i], 0, {}},
                    call.operands[i], isPrefetched ? ~size_t(0) : window++));
  }
  if (!isRight)
    return failure();
  llvm::SmallDenseSet<unsigned> shared;
  for (auto [i, type] : llvm::enumerate(call.results)) {
    std::optional<unsigned> alias = call.aliases[i];
    bool sharesMemory =
        alias && *alias < arrays.size() && call.operands[*alias] == type;
    if (sharesMemory && !shared.insert(*alias).second)
      return c.unsupported("result " + Twine(i) + " of the kernel",
                           "memory that no other result is in",
                           "that of operand " + Twine(*alias));
    unsigned array =
        sharesMemory ? arrays[*alias] : c.addArray(c.createMemory(type));
    isRight &= succeeded(
        addArgument({entry.getArgument(next++), array, 0, {}}, type, window++));
  }
  return success(isRight);
}

void GridConverter::addScratch() {
  for (BlockArgument argument : body.getArguments().take_back(numScratch)) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape()) {
      (void)c.unsupported("scratch memory of the kernel", "static shapes",
                          debugString(argument.getType()));
      continue;
    }
    scratch.push_back(c.addArray(c.createMemory(type)));
    c.setWholeView(argument, scratch.back());
  }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

LogicalResult GridConverter::unsupportedTransform(const Twine &found) {
  return c.unsupported("window of the kernel",
                       "a map or function of the grid to an index of each "
                       "dimension",
                       found);
}

/// What an affine map makes of the indices of the grid.
FailureOr<SmallVector<Value>> GridConverter::applyMap(AffineMap map) {
  if (map.getNumDims() != grid.size() || map.getNumSymbols() != 0)
    return unsupportedTransform(debugString(map));
  SmallVector<Value> index = llvm::map_to_vector(
      gridIndex, [&](Value number) { return c.castToIndex(number); });
  auto results = affine::expandAffineMap(b, b.getLoc(), map, index);
  if (!results)
    return unsupportedTransform(debugString(map));
  return SmallVector<Value>(results->begin(), results->end());
}

/// What a function of the indices of the grid and of prefetched operands gives.
FailureOr<SmallVector<Value>>
GridConverter::callFunction(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()) ||
      function.getNumArguments() != grid.size() + numPrefetched)
    return unsupportedTransform(function.getName());
  for (auto [argument, value] : llvm::zip(function.getArguments(), gridIndex)) {
    if (argument.getType() != value.getType())
      return unsupportedTransform(debugString(argument.getType()));
    c.set(argument, value);
  }
  for (unsigned i = 0; i < numPrefetched; ++i)
    c.setView(function.getArgument(grid.size() + i),
              *c.getView(operands[i].value));
  if (!c.getWritten(function.getBody()).empty())
    return unsupportedTransform("one that writes to memory");
  if (failed(c.convertBlock(function.front())))
    return failure();
  SmallVector<Value> index;
  for (Value result : function.front().getTerminator()->getOperands()) {
    if (!result.getType().isIntOrIndex())
      return unsupportedTransform(debugString(result.getType()));
    index.push_back(c.getIndex(result));
  }
  return index;
}

/// The index of the window for the indices of the grid.
FailureOr<SmallVector<Value>>
GridConverter::getBlockIndex(const Argument &argument) {
  FailureOr<SmallVector<Value>> index = failure();
  Attribute transform = argument.window->transform;
  auto name = dyn_cast<FlatSymbolRefAttr>(transform);
  auto module = body->getParentOfType<ModuleOp>();
  auto function =
      name ? module.lookupSymbol<func::FuncOp>(name.getAttr()) : func::FuncOp();
  if (auto map = dyn_cast<AffineMapAttr>(transform))
    index = applyMap(map.getValue());
  else if (function)
    index = callFunction(function);
  else
    return unsupportedTransform(debugString(transform));
  if (succeeded(index) && index->size() != argument.window->sizes.size())
    return unsupportedTransform(Twine(index->size()) + " of " +
                                Twine(argument.window->sizes.size()));
  return index;
}

/// Copies the window of an array to its block, or back.
LogicalResult GridConverter::copyBlock(const Argument &argument, bool isBack) {
  auto index = getBlockIndex(argument);
  if (failed(index))
    return failure();
  Value array = c.getArray(argument.array), block = c.getArray(argument.block);
  auto type = cast<RankedTensorType>(array.getType());
  SmallVector<OpFoldResult> starts, sizes;
  for (auto [dim, position] : llvm::enumerate(*index)) {
    int64_t whole = type.getDimSize(dim), size = argument.window->sizes[dim];
    if (!argument.window->countsElements)
      position = arith::MulIOp::create(b, position, c.constantIndex(size));
    bool isInside =
        whole >= size && whole % size == 0 && !argument.window->countsElements;
    Value limit = c.constantIndex(isInside ? whole - size : whole);
    position = c.clamp(position, limit);
    starts.push_back(getAsOpFoldResult(position));
    Value rest = arith::SubIOp::create(b, limit, position);
    sizes.push_back(isInside ? OpFoldResult(b.getIndexAttr(size))
                             : getAsOpFoldResult(arith::MinSIOp::create(
                                   b, rest, c.constantIndex(size))));
  }
  SmallVector<OpFoldResult> zeros(starts.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(starts.size(), b.getIndexAttr(1));
  if (isBack) {
    Value part = tensor::ExtractSliceOp::create(b, block, zeros, sizes, ones);
    c.setArray(argument.array, tensor::InsertSliceOp::create(
                                   b, part, array, starts, sizes, ones));
    return success();
  }
  Value part = tensor::ExtractSliceOp::create(b, array, starts, sizes, ones);
  // In memory of its own, which rows of it follow each other in.
  if (part.getType() == block.getType())
    part = bufferization::AllocTensorOp::create(
        b, cast<RankedTensorType>(part.getType()), ValueRange(),
        /*copy=*/part);
  else
    part = tensor::InsertSliceOp::create(
        b, part, c.createMemory(block.getType()), zeros, sizes, ones);
  c.setArray(argument.block, part);
  return success();
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

LogicalResult GridConverter::emitStep(ValueRange index) {
  gridIndex.clear();
  for (auto [number, argument] : llvm::zip(index, body.getArguments())) {
    Value value = number;
    if (!isa<IndexType>(argument.getType()))
      value = arith::IndexCastOp::create(b, argument.getType(), number);
    c.set(argument, value);
    gridIndex.push_back(value);
  }
  bool isConverted = true;
  for (const Argument &operand : operands)
    if (operand.window)
      isConverted &= succeeded(copyBlock(operand, /*isBack=*/false));
  isConverted &= succeeded(c.convertBlock(body.front()));
  for (const Argument &result : results)
    if (result.window)
      isConverted &= succeeded(copyBlock(result, /*isBack=*/true));
  return success(isConverted);
}

/// The arrays that a step hands to the next one. Blocks of operands are copied
/// in each.
SmallVector<unsigned> GridConverter::getCarried() {
  llvm::SmallSetVector<unsigned, 8> carried;
  for (const Argument &result : results)
    carried.insert(result.array), carried.insert(result.block);
  carried.insert_range(scratch);
  for (unsigned array : c.getWritten(body.getBody()))
    if (llvm::none_of(operands, [&](const Argument &operand) {
          return operand.window && operand.block == array;
        }))
      carried.insert(array);
  return carried.takeVector();
}

/// Sizes of the grid: those that are not static come first in the operands.
SmallVector<Value> GridConverter::getBounds() {
  SmallVector<Value> bounds;
  unsigned next = 0;
  for (int64_t size : grid) {
    if (size != ShapedType::kDynamic) {
      bounds.push_back(c.constantIndex(size));
      continue;
    }
    Value operand = b.getBlock()->getArgument(next++);
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<Value> zeros(type.getRank(), c.constantIndex(0));
    Value number = tensor::ExtractOp::create(b, operand, zeros);
    bounds.push_back(arith::IndexCastOp::create(b, b.getIndexType(), number));
  }
  return bounds;
}

LogicalResult GridConverter::emitGrid() {
  for (RankedTensorType type : ArrayRef(call.operands).take_front(numGridSizes))
    if ((!type.getElementType().isInteger(32) &&
         !type.getElementType().isInteger(64)) ||
        type.getNumElements() != 1)
      return c.unsupported("size of the grid", "an integer of 32 or 64 bits",
                           debugString(type));
  SmallVector<unsigned> carried = getCarried();
  auto getAll = [&] {
    return llvm::map_to_vector(
        carried, [&](unsigned array) { return c.getArray(array); });
  };
  auto setAll = [&](ValueRange tensors) {
    for (auto [array, tensor] : llvm::zip_equal(carried, tensors))
      c.setArray(array, tensor);
  };
  SmallVector<Value> lower(grid.size(), c.constantIndex(0));
  SmallVector<Value> steps(grid.size(), c.constantIndex(1));
  SmallVector<Value> upper = getBounds();
  bool isConverted = true;
  scf::LoopNest nest = scf::buildLoopNest(
      b, b.getLoc(), lower, upper, steps, getAll(),
      [&](OpBuilder &builder, Location, ValueRange index, ValueRange tensors) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(builder.saveInsertionPoint());
        setAll(tensors);
        isConverted = succeeded(emitStep(index));
        return scf::ValueVector(llvm::to_vector(getAll()));
      });
  setAll(nest.results);
  return success(isConverted);
}

func::FuncOp GridConverter::convert() {
  if (failed(readSignature()))
    return {};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(body);
  SmallVector<Type> inputs(call.operands.begin(), call.operands.end());
  SmallVector<Type> outputs(call.results.begin(), call.results.end());
  auto function = func::FuncOp::create(b, "tessera_kernel",
                                       b.getFunctionType(inputs, outputs));
  b.setInsertionPointToEnd(function.addEntryBlock());
  if (failed(addArguments()))
    return {};
  addScratch();
  if (failed(emitGrid()))
    return {};
  func::ReturnOp::create(
      b, llvm::map_to_vector(results, [&](const Argument &result) {
        return c.getArray(result.array);
      }));
  return function;
}

func::FuncOp KernelConverter::convertFunction(const KernelCall &call) {
  auto functions = kernel.getOps<func::FuncOp>();
  if (functions.empty()) {
    (void)unsupported("kernel", "a function", "none");
    return {};
  }
  return GridConverter(*this, *functions.begin(), call).convert();
}
