//===- Converter.cpp - Functions of HLO instructions ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionPlan.h"

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/HLO/Opcode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using bufferization::BufferizationDialect;
using namespace tessera;
using namespace tessera::hlo;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The layout without split configurations, which say to which cores a part
/// belongs, and not where it lies.
static Attribute dropSplits(Attribute encoding) {
  auto attribute = dyn_cast_or_null<LayoutAttr>(encoding);
  if (!attribute || attribute.getLayout().splitConfigs.empty())
    return encoding;
  Layout layout = attribute.getLayout();
  layout.splitConfigs.clear();
  return LayoutAttr::get(encoding.getContext(), std::move(layout));
}

Type hlo::getSignlessType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  return RankedTensorType::get(tensor.getShape(),
                               getSignlessType(tensor.getElementType()),
                               dropSplits(tensor.getEncoding()));
}

SmallVector<RankedTensorType> hlo::getLeafTypes(Type type) {
  SmallVector<RankedTensorType> types;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    types.push_back(tensor);
  if (auto tuple = dyn_cast<TupleType>(type))
    for (Type element : tuple.getTypes())
      llvm::append_range(types, getLeafTypes(element));
  return types;
}

SmallVector<Type> hlo::getSignlessLeaves(TypeRange types) {
  SmallVector<Type> leaves;
  for (Type type : types)
    for (Type leaf : getLeafTypes(type))
      leaves.push_back(getSignlessType(leaf));
  return leaves;
}

/// Whether a type is one of HLO alone.
static bool isForeign(Type type) {
  return isa<TupleType, hlo::TokenType, hlo::OpaqueType, hlo::BufferType>(type);
}

/// Whether the module is one of HLO: others stay as they are.
static bool isHLO(ModuleOp module) {
  auto result = module.walk([](Operation *op) {
    bool isForeignOp =
        isa<InstructionOp>(op) || llvm::any_of(op->getResultTypes(), isForeign);
    for (Region &region : op->getRegions())
      isForeignOp |= llvm::any_of(region.getArgumentTypes(), isForeign);
    return isForeignOp ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether the function has to become another one.
static bool isHLO(func::FuncOp function) {
  auto isSigned = [](Type type) { return type != getSignlessType(type); };
  auto isOther = [&](Type type) { return isForeign(type) || isSigned(type); };
  auto result = function.walk([&](Operation *op) {
    return isa<InstructionOp>(op) || llvm::any_of(op->getResultTypes(), isOther)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted() ||
         llvm::any_of(function.getArgumentTypes(), isOther) ||
         llvm::any_of(function.getResultTypes(), isOther);
}

//===----------------------------------------------------------------------===//
// Modules and functions
//===----------------------------------------------------------------------===//

HLOConverter::HLOConverter(ModuleOp module,
                           const InstructionConversions &conversions)
    : b(module.getLoc(), module.getContext()), module(module),
      conversions(conversions), symbols(module) {}

HLOConverter::~HLOConverter() = default;

LogicalResult HLOConverter::convertModule() {
  if (!isHLO(module))
    return success();
  inlineNestedFusions(module);
  lastUses = std::make_unique<LastUses>(module);
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (isHLO(function))
      functions.push_back(function);
  // Functions are called before they are converted.
  for (func::FuncOp function : functions) {
    b.setInsertionPoint(function);
    auto type =
        b.getFunctionType(getSignlessLeaves(function.getArgumentTypes()),
                          getSignlessLeaves(function.getResultTypes()));
    auto replacement =
        func::FuncOp::create(b, function.getLoc(), function.getSymName(), type);
    replacement.setVisibility(function.getVisibility());
    // The caller's arrays are no memory for others.
    for (unsigned i = 0; function.isPublic() && i < type.getNumInputs(); ++i)
      replacement.setArgAttr(i, BufferizationDialect::kWritableAttrName,
                             b.getBoolAttr(false));
    converted[function] = replacement;
  }
  for (func::FuncOp function : functions)
    if (!function.isExternal())
      convertFunction(function);
  if (!diagnosed.empty())
    return failure();
  for (func::FuncOp function : functions)
    symbols.remove(function), function.erase();
  for (NamedAttribute attribute :
       llvm::make_early_inc_range(module->getDiscardableAttrs()))
    if (isa_and_nonnull<TesseraHLODialect>(attribute.getNameDialect()))
      module->removeDiscardableAttr(attribute.getName());
  return success();
}

void HLOConverter::convertFunction(func::FuncOp function) {
  auto isNumber = [](Type type) {
    return !isForeign(type) && !isa<RankedTensorType>(type);
  };
  if (!llvm::hasSingleElement(function.getBody()) ||
      llvm::any_of(function.getArgumentTypes(), isNumber) ||
      llvm::any_of(function.getResultTypes(), isNumber)) {
    function.emitOpError(
        "unsupported function with instructions of HLO: expected arrays and "
        "one block, as its computations have, found others");
    diagnosed.insert(function);
    return;
  }
  Block *body = converted[function].addEntryBlock();
  ValueRange arguments = body->getArguments();
  for (BlockArgument argument : function.getArguments()) {
    size_t count = getLeafTypes(argument.getType()).size();
    setLeaves(argument, SmallVector<Value>(arguments.take_front(count)));
    arguments = arguments.drop_front(count);
  }
  b.setInsertionPointToEnd(body);
  plan = std::make_unique<FusionPlan>(function, conversions);
  for (Operation &op : function.front())
    if (failed(convertOp(&op)))
      setPlaceholders(&op);
}

SmallVector<Value> HLOConverter::getAllLeaves(ValueRange values) const {
  SmallVector<Value> all;
  for (Value value : values)
    llvm::append_range(all, getLeaves(value));
  return all;
}

void HLOConverter::setLeaves(Value value, ArrayRef<Value> newLeaves) {
  leaves[value].assign(newLeaves.begin(), newLeaves.end());
}

/// Values for what could not be converted, so that what uses them can be.
void HLOConverter::setPlaceholders(Operation *op) {
  diagnosed.insert(op);
  for (Value result : op->getResults()) {
    SmallVector<Value> values;
    for (Type type : getSignlessLeaves(result.getType())) {
      auto tensor = cast<RankedTensorType>(type);
      if (isScalar())
        values.push_back(createScalar(b, tensor.getElementType(), 0));
      else
        values.push_back(EmptyOp::create(
            b, type,
            SmallVector<Value>(tensor.getNumDynamicDims(), constantIndex(0))));
    }
    setLeaves(result, values);
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult HLOConverter::convertOp(Operation *op) {
  if (diagnosed.contains(op))
    return failure();
  b.setLoc(op->getLoc());
  if (!isScalar() && plan->isFused(op))
    return success();
  if (!isScalar() && plan->isNumber(op))
    return convertNumber(op);
  if (!isScalar() && isa<RelayoutOp, ReshapeOp, BitcastOp>(op) &&
      plan->readsElements(op))
    return materialize(op);
  if (auto instruction = dyn_cast<InstructionOp>(op))
    return convertInstruction(instruction);
  return isScalar() ? convertScalar(op) : convertOther(op);
}

std::string hlo::getConversionName(InstructionOp op) {
  if (op.getOpcode() != "custom-call")
    return op.getOpcode().str();
  return ("custom-call:" + getText(op, "custom_call_target").trim('"')).str();
}

/// How many operands of the opcode are arrays, which its conversion asks for
/// their shapes.
static size_t countArrays(InstructionOp op, StringRef name,
                          const InstructionConversions &conversions) {
  bool takesArrays =
      llvm::is_contained({"scatter", "select-and-scatter", "sort", "topk"},
                         name) ||
      name.starts_with("custom-call:") || conversions.elements.contains(name);
  if (takesArrays)
    return op.getOperands().size();
  bool isConditional = op.getOpcode() == "conditional";
  return isConditional && !op.getOperands().empty() ? 1 : 0;
}

/// Whether operands and result are what conversions take for granted.
static LogicalResult checkTypes(InstructionOp op, StringRef name,
                                const InstructionConversions &conversions) {
  auto isArray = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  size_t count = countArrays(op, name, conversions);
  if (!llvm::all_of(op.getOperands().take_front(count).getTypes(), isArray))
    return emitUnsupported(op, "operands", "arrays of static shape");
  // Several results are those of reductions alone.
  bool isReduction = name == "reduce" || name == "reduce-window";
  bool isOne = !isReduction && (conversions.elements.contains(name) ||
                                name == "select-and-scatter");
  if (isOne && !isArray(op.getType()))
    return emitUnsupported(op, "result", "an array of static shape");
  return success();
}

LogicalResult HLOConverter::convertInstruction(InstructionOp op) {
  std::string key = getConversionName(op);
  if (failed(checkTypes(op, key, conversions)))
    return failure();
  if (auto whole = conversions.instructions.find(key);
      whole != conversions.instructions.end())
    return whole->second(*this, op);
  auto found = conversions.elements.find(key);
  std::optional<OpcodeName> name = parseOpcodeName(op.getOpcode());
  bool isAsync =
      name && (name->asyncWrapped || name->opcode == Opcode::AsyncStart ||
               name->opcode == Opcode::AsyncUpdate ||
               name->opcode == Opcode::AsyncDone);
  if (isAsync)
    return convertAsyncStep(*this, op);
  if (op.getOpcode() == "constant")
    return emitUnsupported(op, "literal", "all elements", "{...}");
  if (found == conversions.elements.end() && op.getOpcode() == "custom-call")
    return emitUnsupported(op, "target", "one that is converted",
                           StringRef(key).substr(strlen("custom-call:")));
  if (found == conversions.elements.end())
    return emitUnsupported(op, "opcode", "one that is converted",
                           op.getOpcode());
  if (!isScalar() && conversions.hasOwnNest(op))
    return conversions.nests.find(key)->second.convert(*this, op);
  if (!isScalar())
    return materialize(op);
  auto array = dyn_cast<RankedTensorType>(op.getType());
  if (array && array.getRank() != 0)
    return emitUnsupported(op, "computation on scalars", "scalars alone",
                           "an array");
  Elements elements = emitElements(op, found->second, ValueRange());
  if (failed(elements))
    return failure();
  setLeaves(op.getResult(), *elements);
  return success();
}

/// The elements as ones of the result's types: any instruction of the TPU
/// compiler may change the precision of floating-point numbers.
Elements HLOConverter::emitElements(InstructionOp op, const EmitElements &emit,
                                    ValueRange index) {
  Elements elements = emit(*this, op, index);
  SmallVector<RankedTensorType> types = getLeafTypes(op.getType());
  if (failed(elements))
    return failure();
  for (auto [element, type] : llvm::zip(*elements, types)) {
    Type wanted = getScalarType(getSignlessType(type.getElementType()));
    if (isa<FloatType>(wanted) && isa<FloatType>(element.getType()))
      element = hlo::convertScalar(b, element, false, wanted, false);
    if (!element || element.getType() != wanted)
      return emitUnsupported(op, "result", "elements of the operands' type");
  }
  return elements;
}

SmallVector<int64_t> hlo::getMajorToMinor(RankedTensorType type) {
  llvm::Expected<Layout> layout = getLayout(type);
  if (layout)
    return llvm::to_vector(llvm::reverse(layout->minorToMajor));
  llvm::consumeError(layout.takeError());
  return llvm::to_vector(llvm::seq(type.getRank()));
}

/// The loop for each dimension: the most minor one in memory is innermost.
static SmallVector<unsigned> getLoopOrder(RankedTensorType type) {
  SmallVector<unsigned> loops(type.getRank());
  for (auto [loop, dim] : llvm::enumerate(getMajorToMinor(type)))
    loops[dim] = loop;
  return loops;
}

Elements HLOConverter::generate(TypeRange types,
                                llvm::function_ref<Elements(ValueRange)> emit) {
  SmallVector<Value> arrays;
  for (Type type : types)
    arrays.push_back(EmptyOp::create(b, type, ValueRange()));
  return generateInPlace(
      arrays, [&](ValueRange index, ValueRange) { return emit(index); });
}

Elements HLOConverter::generateInPlace(
    ValueRange arrays,
    llvm::function_ref<Elements(ValueRange, ValueRange)> emit) {
  TypeRange types = arrays.getTypes();
  SmallVector<unsigned> order =
      getLoopOrder(cast<RankedTensorType>(types.front()));
  int64_t rank = order.size();
  SmallVector<AffineExpr> loops = llvm::map_to_vector(
      order, [&](unsigned loop) { return b.getAffineDimExpr(loop); });
  AffineMap map = AffineMap::get(rank, 0, loops, b.getContext());
  SmallVector<AffineMap> maps(types.size(), map);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  bool isEmitted = true;
  auto generic = linalg::GenericOp::create(
      b, types, ValueRange(), arrays, maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange old) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(builder.saveInsertionPoint());
        SmallVector<Value> index;
        for (unsigned loop : order)
          index.push_back(linalg::IndexOp::create(b, loop));
        Elements elements = emit(index, old);
        isEmitted = succeeded(elements);
        b.setLoc(loc);
        linalg::YieldOp::create(b, isEmitted ? ValueRange(*elements)
                                             : ValueRange());
      });
  if (!isEmitted) {
    generic.erase();
    return failure();
  }
  return SmallVector<Value>(generic.getResults());
}

Elements HLOConverter::generateOver(
    Value known, TypeRange types,
    llvm::function_ref<Elements(ValueRange, Value, Value)> emit) {
  if (!known)
    return generate(
        types, [&](ValueRange index) { return emit(index, Value(), Value()); });
  return generateInPlace(getLeaves(known),
                         [&](ValueRange index, ValueRange elements) {
                           return emit(index, known, elements.front());
                         });
}

LogicalResult HLOConverter::materialize(Operation *op) {
  SmallVector<Type> types = getSignlessLeaves(op->getResultTypes());
  auto getShape = [](Type type) {
    return cast<RankedTensorType>(type).getShape();
  };
  bool isStatic = llvm::all_of(types, [&](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape() &&
           getShape(type) == getShape(types.front());
  });
  if (types.empty() || !isStatic)
    return emitUnsupported(cast<InstructionOp>(op), "shape",
                           "arrays of one static shape");
  Elements arrays = generateOver(
      types.size() == 1 ? plan->getOverwritten(op, *lastUses) : Value(), types,
      [&](ValueRange index, Value known, Value element) {
        return emitGroup(op, index, known, element);
      });
  if (failed(arrays))
    return failure();
  setLeaves(op->getResult(0), *arrays);
  return success();
}

/// An array of accumulators for one of `type`: that itself where it may be.
static RankedTensorType getAccumulatorArray(RankedTensorType type,
                                            int64_t minor) {
  SmallVector<int64_t> order = getMajorToMinor(type);
  Type wide = getAccumulatorType(type.getElementType());
  if (wide == type.getElementType() && order.back() == minor)
    return type;
  llvm::erase(order, minor);
  order.push_back(minor);
  Layout layout;
  layout.minorToMajor.assign(order.rbegin(), order.rend());
  return RankedTensorType::get(
      type.getShape(), wide,
      LayoutAttr::get(type.getContext(), std::move(layout)));
}

SmallVector<Value> HLOConverter::createSums(InstructionOp op, int64_t minor,
                                            ArrayRef<Value> init) {
  SmallVector<Type> types;
  for (Type type : getSignlessLeaves(op.getType()))
    types.push_back(getAccumulatorArray(cast<RankedTensorType>(type), minor));
  return *generate(
      types, [&](ValueRange) -> Elements { return SmallVector<Value>(init); });
}

void HLOConverter::finishSums(InstructionOp op, ArrayRef<Value> sums) {
  SmallVector<Value> arrays(sums);
  for (auto [array, type] :
       llvm::zip_equal(arrays, getSignlessLeaves(op.getType()))) {
    if (array.getType() == type)
      continue;
    Type narrow = cast<RankedTensorType>(type).getElementType();
    array = generate(type, [&, wide = array](ValueRange index) -> Elements {
              Value sum = tensor::ExtractOp::create(b, wide, index);
              return SmallVector<Value>{
                  hlo::convertScalar(b, sum, false, narrow, false)};
            })->front();
  }
  setLeaves(op.getResult(), arrays);
}

LogicalResult HLOConverter::accumulate(
    InstructionOp op, ArrayRef<int64_t> sizes, ArrayRef<int64_t> loops,
    int64_t minor, ArrayRef<Value> init,
    llvm::function_ref<Elements(ValueRange, ValueRange)> emit) {
  int64_t rank = getLeafTypes(op.getType()).front().getRank();
  SmallVector<int64_t> loopSizes;
  for (int64_t dim : loops)
    loopSizes.push_back(sizes[dim]);
  Elements arrays = buildTensorLoops(
      b, loopSizes, createSums(op, minor, init),
      [&](ValueRange variables, ValueRange values) -> Elements {
        SmallVector<Value> index(sizes.size());
        for (auto [dim, variable] : llvm::zip(loops, variables))
          index[dim] = variable;
        ValueRange place = ValueRange(index).take_front(rank);
        SmallVector<Value> elements;
        for (Value array : values)
          elements.push_back(tensor::ExtractOp::create(b, array, place));
        Elements sums = emit(index, elements);
        if (failed(sums))
          return failure();
        for (auto [sum, array] : llvm::zip(*sums, values))
          sum = tensor::InsertOp::create(b, sum, array, place);
        return sums;
      });
  if (failed(arrays))
    return failure();
  finishSums(op, *arrays);
  return success();
}

LogicalResult
HLOConverter::contract(InstructionOp op, ArrayRef<int64_t> loops, int64_t minor,
                       Value init, ArrayRef<Value> factors,
                       ArrayRef<SmallVector<AffineExpr>> indices,
                       llvm::function_ref<Elements(ValueRange)> emit) {
  int64_t rank = getLeafTypes(op.getType()).front().getRank();
  SmallVector<AffineExpr> variables(*llvm::max_element(loops) + 1);
  SmallVector<utils::IteratorType> iterators;
  for (auto [position, dim] : llvm::enumerate(loops)) {
    variables[dim] = b.getAffineDimExpr(position);
    iterators.push_back(dim < rank ? utils::IteratorType::parallel
                                   : utils::IteratorType::reduction);
  }
  auto getMap = [&](ArrayRef<AffineExpr> ofArray) {
    auto results = llvm::map_to_vector(
        ofArray, [&](AffineExpr expr) { return expr.replaceDims(variables); });
    return AffineMap::get(loops.size(), 0, results, b.getContext());
  };
  SmallVector<AffineMap> maps = llvm::map_to_vector(
      indices, [&](const auto &ofArray) { return getMap(ofArray); });
  maps.push_back(AffineMap::get(
      loops.size(), 0, ArrayRef(variables).take_front(rank), b.getContext()));
  SmallVector<Value> sums = createSums(op, minor, init);
  bool isEmitted = true;
  auto generic = linalg::GenericOp::create(
      b, TypeRange(ValueRange(sums)), factors, sums, maps, iterators,
      [&](OpBuilder &builder, Location, ValueRange elements) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(builder.saveInsertionPoint());
        Elements results = emit(elements);
        isEmitted = succeeded(results);
        linalg::YieldOp::create(b, isEmitted ? ValueRange(*results)
                                             : ValueRange());
      });
  if (!isEmitted) {
    generic.erase();
    return failure();
  }
  finishSums(op, SmallVector<Value>(generic.getResults()));
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions in the nests of others
//===----------------------------------------------------------------------===//

/// The elements of one operation.
Elements HLOConverter::emitOperation(Operation *op, ValueRange index) {
  if (auto instruction = dyn_cast<InstructionOp>(op)) {
    auto emit = conversions.elements.find(getConversionName(instruction));
    return emitElements(instruction, emit->second, index);
  }
  RankedTensorType from = getArrayType(op->getOperand(0));
  RankedTensorType to = getArrayType(op->getResult(0));
  AffineMap map = isa<BitcastOp>(op) ? getBitcastIndexMap(from, to)
                                     : getReshapeIndexMap(from, to);
  SmallVector<Value> source;
  for (AffineExpr expr : map.getResults())
    source.push_back(affine(expr, index));
  return SmallVector<Value>{getElement(op->getOperand(0), source)};
}

/// The element of what is emitted in the nest of another. Where it cannot be,
/// there is a diagnostic, and some value, so that others are emitted.
Value HLOConverter::emitFused(Operation *op,
                              llvm::function_ref<Elements()> emit) {
  Location location = b.getLoc();
  b.setLoc(op->getLoc());
  Elements elements = diagnosed.contains(op) ? Elements(failure()) : emit();
  if (failed(elements)) {
    diagnosed.insert(op);
    auto type = RankedTensorType::get({}, getElementType(op->getResult(0)));
    Value empty = EmptyOp::create(b, type, ValueRange());
    elements =
        SmallVector<Value>{tensor::ExtractOp::create(b, empty, ValueRange())};
  }
  b.setLoc(location);
  return elements->front();
}

Elements HLOConverter::emitGroup(Operation *head, ValueRange index, Value known,
                                 Value element) {
  groups.emplace_back();
  if (known)
    groups.back()[known] = element;
  for (Operation *member : plan->getMembers(head)) {
    Value element =
        emitFused(member, [&] { return emitOperation(member, index); });
    groups.back()[member->getResult(0)] = element;
  }
  Elements elements = emitOperation(head, index);
  groups.pop_back();
  return elements;
}

/// What gives one number: that, and an array if one is needed.
LogicalResult HLOConverter::convertNumber(Operation *op) {
  Elements number = emitGroup(op, ValueRange());
  if (failed(number))
    return failure();
  Value result = op->getResult(0);
  numbers[result] = number->front();
  if (!plan->needsArray(op))
    return success();
  Elements array = generateOver(
      plan->getOverwritten(op, *lastUses), getSignlessType(result.getType()),
      [&](ValueRange, Value, Value) { return number; });
  setLeaves(result, *array);
  return success();
}

/// The same constant, of another type with elements as wide.
static TypedAttr changeType(TypedAttr value, Type type) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || value.getType() == type)
    return value;
  auto tensor = cast<RankedTensorType>(type);
  return DenseElementsAttr::getFromRawBuffer(tensor, dense.getRawData());
}

/// Operations of `tessera` and `arith` that instructions became when they were
/// imported.
LogicalResult HLOConverter::convertOther(Operation *op) {
  SmallVector<Value> operands = getAllLeaves(op->getOperands());
  SmallVector<Type> types = getSignlessLeaves(op->getResultTypes());
  SmallVector<Value> results =
      llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
          .Case([&](func::ReturnOp) {
            auto function =
                cast<func::FuncOp>(b.getInsertionBlock()->getParentOp());
            for (auto [operand, type] :
                 llvm::zip(operands, function.getResultTypes()))
              operand = relayout(operand, type);
            func::ReturnOp::create(b, operands);
            return SmallVector<Value>();
          })
          .Case([&](arith::ConstantOp constant) -> SmallVector<Value> {
            return {arith::ConstantOp::create(
                b, changeType(constant.getValue(), types.front()))};
          })
          .Case([&](CopyStartOp start) -> SmallVector<Value> {
            // Moves are done when they start.
            return {relayout(operands.front(), types.front())};
          })
          .Case([](CopyDoneOp) { return SmallVector<Value>(); })
          .Default([&](Operation *) {
            OperationState state(b.getLoc(), op->getName(), operands, types,
                                 op->getAttrs());
            for (NamedAttribute attribute : op->getDiscardableAttrs())
              if (isa_and_nonnull<TesseraHLODialect>(
                      attribute.getNameDialect()))
                state.attributes.erase(attribute.getName());
            return SmallVector<Value>(b.create(state)->getResults());
          });
  ArrayRef<Value> rest = results;
  for (Value result : op->getResults()) {
    size_t count = getLeafTypes(result.getType()).size();
    setLeaves(result, rest.take_front(count));
    rest = rest.drop_front(count);
  }
  return success();
}

/// Moves of a scalar are the scalar.
LogicalResult HLOConverter::convertScalar(Operation *op) {
  if (isa<func::ReturnOp, CopyDoneOp>(op))
    return success();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && dense.getNumElements() == 1) {
      auto value =
          cast<TypedAttr>(changeType(dense, getSignlessType(dense.getType())));
      Value scalar = arith::ConstantOp::create(
          b, cast<TypedAttr>(
                 *cast<DenseElementsAttr>(value).value_begin<Attribute>()));
      Type type = getElementType(constant);
      if (type != scalar.getType())
        scalar = hlo::convertScalar(b, scalar, false, type, false);
      setLeaves(constant, scalar);
      return success();
    }
  }
  if (isa<RelayoutOp, BitcastOp, ReshapeOp, CopyStartOp>(op) &&
      getArrayType(op->getResult(0)).getRank() == 0) {
    setLeaves(op->getResult(0),
              SmallVector<Value>(getLeaves(op->getOperand(0))));
    return success();
  }
  op->emitError("unsupported computation on scalars: expected instructions on "
                "scalars, found '")
      << op->getName() << "'";
  return failure();
}

//===----------------------------------------------------------------------===//
// What conversions ask for
//===----------------------------------------------------------------------===//

Value HLOConverter::getElement(Value array, ValueRange index) {
  if (!isScalar()) {
    Value emitted = groups.empty() ? Value() : groups.back().lookup(array);
    if (!emitted)
      emitted = numbers.lookup(array);
    if (emitted)
      return emitted;
    Operation *op = array.getDefiningOp();
    if (op && plan->isFused(op))
      return emitFused(op, [&] { return emitGroup(op, index); });
  }
  Value leaf = getLeaves(array).front();
  auto type = dyn_cast<RankedTensorType>(leaf.getType());
  if (!type)
    return leaf;
  return type.getRank() == 0 ? getNumber(leaf)
                             : tensor::ExtractOp::create(b, leaf, index);
}

/// The type in the memory space of another; null where that has no layout.
static RankedTensorType moveToSpace(RankedTensorType type,
                                    RankedTensorType other) {
  llvm::Expected<Layout> layout = getLayout(type), place = getLayout(other);
  if (!layout || !place) {
    llvm::consumeError(layout.takeError());
    llvm::consumeError(place.takeError());
    return {};
  }
  layout->memorySpace = place->memorySpace;
  return RankedTensorType::get(
      type.getShape(), type.getElementType(),
      LayoutAttr::get(type.getContext(), std::move(*layout)));
}

Value HLOConverter::getArray(Value array) {
  auto isFused = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && plan->isFused(op);
  };
  if (isScalar())
    return {};
  // What leaves the space of its operand is a view that stays there.
  SmallVector<Value> views;
  for (; isFused(array) && array.getDefiningOp<BitcastOp>();
       array = array.getDefiningOp()->getOperand(0))
    views.push_back(array);
  if (isFused(array) || !leaves.contains(array) || getLeaves(array).size() != 1)
    return {};
  Value source = getLeaves(array).front();
  for (Value view : llvm::reverse(views)) {
    auto wanted = cast<RankedTensorType>(getSignlessType(view.getType()));
    RankedTensorType type = moveToSpace(wanted, getArrayType(source));
    if (!type)
      return {};
    if (type != source.getType())
      source = BitcastOp::create(b, type, source);
  }
  return source;
}

/// The element of an array that has one: read where the array is made, as it
/// may be used in loops.
Value HLOConverter::getNumber(Value leaf) {
  DenseElementsAttr constant;
  if (matchPattern(leaf, m_Constant(&constant)))
    if (auto value = dyn_cast<TypedAttr>(*constant.value_begin<Attribute>()))
      return arith::ConstantOp::create(b, value);
  Value &number = numbers[leaf];
  if (!number) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(leaf);
    number = tensor::ExtractOp::create(b, leaf, ValueRange());
  }
  return number;
}

Type HLOConverter::getElementType(Value array) const {
  return getScalarType(getSignlessType(getArrayType(array).getElementType()));
}

Type HLOConverter::getScalarType(Type type) const {
  bool isNarrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  return isScalar() && widen && isNarrow ? Float32Type::get(b.getContext())
                                         : type;
}

Elements HLOConverter::apply(InstructionOp op, StringRef name,
                             ValueRange arguments) {
  func::FuncOp computation = getComputation(op, name);
  if (!computation)
    return failure();
  return apply(computation, arguments);
}

/// Whether computations on scalars have such values.
static bool isScalarLeaf(RankedTensorType type) { return type.getRank() == 0; }

Elements HLOConverter::apply(func::FuncOp computation, ValueRange arguments) {
  SmallVector<RankedTensorType> types;
  for (Type type : computation.getArgumentTypes())
    llvm::append_range(types, getLeafTypes(type));
  if (llvm::is_contained(active, computation) ||
      !llvm::hasSingleElement(computation.getBody()) ||
      types.size() != arguments.size() || !llvm::all_of(types, isScalarLeaf)) {
    if (diagnosed.insert(computation).second)
      emitError(computation.getLoc())
          << "unsupported computation on scalars: expected one that takes "
          << arguments.size() << " scalars, found "
          << computation.getFunctionType() << "; docs/running.md has what runs";
    return failure();
  }
  active.push_back(computation);
  for (BlockArgument argument : computation.getArguments()) {
    size_t count = getLeafTypes(argument.getType()).size();
    setLeaves(argument, SmallVector<Value>(arguments.take_front(count)));
    arguments = arguments.drop_front(count);
  }
  bool isConverted = true;
  for (Operation &op : computation.front())
    if (failed(convertOp(&op))) {
      isConverted = false;
      setPlaceholders(&op);
    }
  active.pop_back();
  if (!isConverted)
    return failure();
  SmallVector<Value> results;
  for (Value result : computation.front().getTerminator()->getOperands())
    llvm::append_range(results, getLeaves(result));
  return results;
}

func::FuncOp HLOConverter::getComputation(InstructionOp op, StringRef name) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  auto reference = attributes ? attributes.getAs<FlatSymbolRefAttr>(name)
                              : FlatSymbolRefAttr();
  if (reference)
    return getComputation(op, reference);
  (void)emitUnsupported(op, name, "the name of a computation", "none");
  return {};
}

func::FuncOp HLOConverter::getCalledComputation(InstructionOp op) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  auto names = attributes ? attributes.getAs<ArrayAttr>("called_computations")
                          : ArrayAttr();
  if (names && names.size() == 1)
    return getComputation(op, cast<FlatSymbolRefAttr>(names[0]));
  (void)emitUnsupported(op, "called_computations", "one",
                        Twine(names ? names.size() : 0));
  return {};
}

func::FuncOp HLOConverter::getComputation(InstructionOp op,
                                          FlatSymbolRefAttr name) {
  auto function = symbols.lookup<func::FuncOp>(name.getAttr());
  if (!function || function.isExternal()) {
    (void)emitUnsupported(op, "computation", "a function with a body",
                          name.getValue());
    return {};
  }
  return function;
}

SmallVector<Value> HLOConverter::call(func::FuncOp computation,
                                      ValueRange arguments, TypeRange types) {
  auto found = converted.find(computation);
  func::FuncOp callee = found == converted.end() ? computation : found->second;
  SmallVector<Value> operands;
  for (auto [argument, type] : llvm::zip(arguments, callee.getArgumentTypes()))
    operands.push_back(relayout(argument, type));
  auto op = func::CallOp::create(b, callee, operands);
  SmallVector<Value> results;
  for (auto [result, type] : llvm::zip(op.getResults(), types))
    results.push_back(relayout(result, type));
  return results;
}

func::FuncOp HLOConverter::addFunction(OwningOpRef<func::FuncOp> function) {
  function->setPrivate();
  func::FuncOp added = function.release();
  symbols.insert(added);
  return added;
}

bool HLOConverter::isInvariant(func::FuncOp body, unsigned number) const {
  return lastUses->isInvariant(body, number);
}

Value HLOConverter::relayout(Value array, Type type) {
  if (array.getType() == type)
    return array;
  return RelayoutOp::create(b, type, array).getResult();
}

//===----------------------------------------------------------------------===//
// All conversions
//===----------------------------------------------------------------------===//

void hlo::populateHLOToLinalgConversions(InstructionConversions &conversions) {
  populateElementwiseConversions(conversions);
  populateConvertConversions(conversions);
  populateMoveConversions(conversions);
  populateDynamicSliceConversions(conversions);
  populateGatherConversions(conversions);
  populateReductionConversions(conversions);
  populateConvolutionConversions(conversions);
  populateScatterConversions(conversions);
  populateSortConversions(conversions);
  populateControlConversions(conversions);
  populateAsyncConversions(conversions);
  populateCustomCallConversions(conversions);
  populateKernelConversions(conversions);
  populateLinearAlgebraConversions(conversions);
  populateFourierConversions(conversions);
  populateRandomConversions(conversions);
}

LogicalResult
hlo::convertHLOToLinalg(ModuleOp module,
                        const InstructionConversions &conversions) {
  return HLOConverter(module, conversions).convertModule();
}
