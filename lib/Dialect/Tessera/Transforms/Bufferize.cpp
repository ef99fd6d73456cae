//===- Bufferize.cpp - Tensors with layouts as memrefs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-Shot Bufferize in three steps, because the buffers that it allocates
// itself, for empty tensors and for conflicts, would lose their layout: insert
// the copies as tensors, allocate those that have layouts here, bufferize the
// rest.
//
//===----------------------------------------------------------------------===//

#include "PlainTensors.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/Tessera/Transforms/BufferizableOpInterfaceImpl.h"
#include "tessera/Dialect/Tessera/Transforms/Passes.h"
#include "tessera/Dialect/Tessera/Transforms/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Support/DebugStringHelper.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/SaveAndRestore.h"

#include <map>

namespace tessera {
#define GEN_PASS_DEF_BUFFERIZE
#include "tessera/Dialect/Tessera/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace mlir::bufferization;
using namespace tessera;

/// `tensor.empty` with a layout is `tessera.empty`.
static void replaceEmptyTensors(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](tensor::EmptyOp op) {
    if (!getLayoutAttr(op.getType()))
      return;
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<EmptyOp>(op, op.getType(),
                                         op.getDynamicSizes());
  });
}

/// Inside a fusion a bitcast may leave the memory space of its operand, and a
/// view may not: the array is moved there first.
static void moveFusedBitcasts(ModuleOp module) {
  module.walk([&](BitcastOp op) {
    RankedTensorType source = op.getSource().getType();
    llvm::Expected<Layout> from = getLayout(source),
                           to = getLayout(op.getType());
    // The verifier of the operation has asked for them.
    assert(from && to && "a bitcast between unknown layouts");
    if (from->memorySpace == to->memorySpace)
      return;
    from->memorySpace = to->memorySpace;
    auto type = RankedTensorType::get(
        source.getShape(), source.getElementType(),
        LayoutAttr::get(op.getContext(), std::move(*from)));
    OpBuilder builder(op);
    op.getSourceMutable().assign(
        RelayoutOp::create(builder, op.getLoc(), type, op.getSource())
            .getResult());
  });
}

/// The values of other blocks that an argument of a block stands for.
static SmallVector<Value> getBranchOperands(BlockArgument argument) {
  SmallVector<Value> values;
  Block *block = argument.getOwner();
  for (auto it = block->pred_begin(); it != block->pred_end(); ++it)
    if (auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator()))
      if (Value operand = branch.getSuccessorOperands(
              it.getSuccessorIndex())[argument.getArgNumber()])
        values.push_back(operand);
  return values;
}

/// What an operation with regions takes and yields that has the type of its
/// result.
static SmallVector<Value> getRegionOperands(OpResult result) {
  SmallVector<Value> values(result.getOwner()->getOperands());
  for (Region &region : result.getOwner()->getRegions())
    for (Block &block : region)
      llvm::append_range(values, block.getTerminator()->getOperands());
  llvm::erase_if(
      values, [&](Value value) { return value.getType() != result.getType(); });
  return values;
}

/// What result number `number` of a loop is: what its state begins with, and
/// what the body makes of it, where the loop hands its state on as it is.
static SmallVector<Value> getLoopOperands(scf::WhileOp op, unsigned number) {
  auto argument =
      dyn_cast<BlockArgument>(op.getConditionOp().getArgs()[number]);
  if (!argument || argument.getOwner() != op.getBeforeBody())
    return getRegionOperands(op->getResult(number));
  unsigned ofState = argument.getArgNumber();
  return {argument, op.getInits()[ofState],
          op.getYieldOp().getResults()[ofState]};
}

namespace {
/// Which values may have the same buffer. Valid until the module changes,
/// beyond copies that are added.
class BufferOrigins {
public:
  explicit BufferOrigins(ModuleOp module) : symbols(module) {}

  /// The values whose buffer `value` may have, with itself. With
  /// `throughWrites`, what an operation writes over is one of them.
  llvm::SetVector<Value> get(Value value, bool throughWrites = false);

  /// Whether the buffer of `value` may be that of a value for which `isOrigin`
  /// holds.
  bool mayBe(Value value, function_ref<bool(Value)> isOrigin) {
    return llvm::any_of(get(value), isOrigin);
  }

  /// Whether `value`, which is an origin, is a buffer that is allocated for it,
  /// or one of other origins.
  bool isKnown(Value value);

private:
  /// What a function returns.
  struct Returned {
    SmallVector<unsigned> arguments; ///< May be in the buffers of these.
    bool isKnown = false;            ///< Or else in new ones.
  };

  SmallVector<Value> getForwarded(Value value, bool throughWrites);
  const Returned &getReturned(func::CallOp op, unsigned number);

  /// Of calls in calls: beyond, results may be in any argument.
  static constexpr unsigned kMaxDepth = 64;

  SymbolTable symbols;
  std::map<std::pair<Operation *, unsigned>, Returned> returned;
  unsigned depth = 0;
};
} // namespace

/// What the callee returns as result `number` of the call.
const BufferOrigins::Returned &BufferOrigins::getReturned(func::CallOp op,
                                                          unsigned number) {
  auto callee = symbols.lookup<func::FuncOp>(op.getCallee());
  // Of a function that is not known, that calls itself, or that does not
  // return: any argument.
  Returned any{llvm::to_vector(llvm::seq<unsigned>(0, op.getNumOperands()))};
  auto [entry, isNew] = returned.try_emplace({callee, number}, any);
  if (!isNew || !callee || !llvm::hasSingleElement(callee.getBody()) ||
      depth == kMaxDepth)
    return entry->second;
  auto terminator = dyn_cast<func::ReturnOp>(callee.front().getTerminator());
  if (!terminator)
    return entry->second;
  llvm::SaveAndRestore<unsigned> deeper(depth, depth + 1);
  Returned found{{}, /*isKnown=*/true};
  for (Value origin :
       get(terminator.getOperand(number), /*throughWrites=*/true))
    if (llvm::is_contained(callee.getArguments(), origin))
      found.arguments.push_back(cast<BlockArgument>(origin).getArgNumber());
    else
      found.isKnown &= isKnown(origin);
  return entry->second = std::move(found);
}

bool BufferOrigins::isKnown(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<AllocTensorOp, EmptyOp, tensor::EmptyOp>(op))
    return op;
  if (auto call = dyn_cast<func::CallOp>(op))
    return getReturned(call, cast<OpResult>(value).getResultNumber()).isKnown;
  return !getForwarded(value, /*throughWrites=*/true).empty();
}

/// Other values whose buffer may be that of `value`. The result of a loop is
/// also what its body yields; copyBorrowedTensors sees to that.
SmallVector<Value> BufferOrigins::getForwarded(Value value,
                                               bool throughWrites) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return getBranchOperands(cast<BlockArgument>(value));
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (isa<AssumeLayoutOp, BitcastOp, RelayoutOp, ReshapeOp, tensor::CastOp,
          tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::ExtractSliceOp, tensor::ReshapeOp>(op))
    return {op->getOperand(0)};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return {select.getTrueValue(), select.getFalseValue()};
  if (auto ifOp = dyn_cast<scf::IfOp>(op))
    return {ifOp.thenYield().getOperand(number),
            ifOp.elseYield().getOperand(number)};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getInitArgs()[number]};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return getLoopOperands(loop, number);
  if (isa<RegionBranchOpInterface>(op))
    return getRegionOperands(result);
  if (auto call = dyn_cast<func::CallOp>(op))
    return SmallVector<Value>(llvm::map_range(
        getReturned(call, number).arguments,
        [&](unsigned argument) { return call.getOperand(argument); }));
  if (isa<CallOpInterface>(op))
    return SmallVector<Value>(op->getOperands());
  if (auto write = dyn_cast<DestinationStyleOpInterface>(op))
    if (throughWrites)
      return {write.getTiedOpOperand(result)->get()};
  return {};
}

llvm::SetVector<Value> BufferOrigins::get(Value value, bool throughWrites) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    SmallVector<Value> forwarded = getForwarded(values[i], throughWrites);
    values.insert(forwarded.begin(), forwarded.end());
  }
  return values;
}

/// Whether nothing may write to the buffer of `value`.
static bool isReadOnly(Value value) {
  auto toTensor = value.getDefiningOp<ToTensorOp>();
  return value.getDefiningOp<arith::ConstantOp>() ||
         (toTensor && !toTensor.getWritable());
}

/// Whether a loop, a switch or a function hands out a buffer that is not for
/// others to write to.
static bool handsOutBorrowed(BufferOrigins &origins, Operation *terminator,
                             Value value) {
  if (origins.mayBe(value, isReadOnly))
    return true;
  Operation *parent = terminator->getParentOp();
  return !isa<func::FuncOp>(parent) && origins.mayBe(value, [&](Value origin) {
    return !parent->isAncestor(origin.getParentRegion()->getParentOp());
  });
}

/// The operands of a return whose buffer may be that of one before them.
static SmallVector<OpOperand *> getReturnedAgain(BufferOrigins &origins,
                                                 func::ReturnOp op) {
  SmallVector<OpOperand *> again;
  llvm::DenseSet<Value> returned;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    llvm::SetVector<Value> ofOperand = origins.get(operand.get());
    if (llvm::any_of(ofOperand,
                     [&](Value value) { return returned.contains(value); }))
      again.push_back(&operand);
    returned.insert(ofOperand.begin(), ofOperand.end());
  }
  return again;
}

/// A new tensor of the same elements.
static Value copyTensor(OpBuilder &builder, Value tensor) {
  return AllocTensorOp::create(builder, tensor.getLoc(),
                               cast<RankedTensorType>(tensor.getType()),
                               /*dynamicSizes=*/ValueRange(), /*copy=*/tensor);
}

/// Copies tensors that a loop or a switch yields from outside, constants that
/// it or a function returns, and what a function returns for the second time.
/// The analysis of One-Shot Bufferize (22.1) relates the result of a loop to
/// what it starts with, and not to what it yields, that of a switch to nothing,
/// and that of a call to arguments alone, not to other results: without the
/// copy, it lets later operations write to a buffer that others read.
static void copyBorrowedTensors(ModuleOp module) {
  BufferOrigins origins(module);
  llvm::SetVector<OpOperand *> borrowed;
  module.walk([&](Operation *op) {
    bool isBodyEnd =
        isa<scf::YieldOp, scf::ConditionOp>(op) &&
        isa<scf::ForOp, scf::IndexSwitchOp, scf::WhileOp>(op->getParentOp());
    if (!isBodyEnd && !isa<func::ReturnOp>(op))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()) &&
          handsOutBorrowed(origins, op, operand.get()))
        borrowed.insert(&operand);
    if (auto returned = dyn_cast<func::ReturnOp>(op))
      borrowed.insert_range(getReturnedAgain(origins, returned));
  });
  for (OpOperand *operand : borrowed) {
    OpBuilder builder(operand->getOwner());
    operand->set(copyTensor(builder, operand->get()));
  }
}

/// Copies arguments of blocks that other blocks use, and what may be in their
/// buffers. The analysis of One-Shot Bufferize (22.1) takes no write outside
/// the argument's block for a conflict, though the argument may be read later.
static void copySharedArguments(ModuleOp module) {
  BufferOrigins origins(module);
  module.walk([&](Block *block) {
    if (block->getParent()->hasOneBlock())
      return;
    auto isElsewhere = [&](OpOperand &use) {
      return !block->findAncestorOpInBlock(*use.getOwner());
    };
    SmallVector<Value> values(block->getArguments());
    for (Operation &op : *block)
      llvm::append_range(values, op.getResults());
    for (Value value : values) {
      if (!isa<RankedTensorType>(value.getType()) ||
          llvm::none_of(value.getUses(), isElsewhere) ||
          !origins.mayBe(value, llvm::IsaPred<BlockArgument>))
        continue;
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      value.replaceUsesWithIf(copyTensor(builder, value), isElsewhere);
    }
  });
}

/// Where both sides of a branch hand tensors to one block, one of them gets a
/// block of its own: One-Shot Bufferize (22.1) gives the block's arguments
/// their new types with the first side, and leaves the other as it is.
static void separateSuccessors(ModuleOp module) {
  SmallVector<cf::CondBranchOp> branches;
  module.walk([&](cf::CondBranchOp op) {
    if (op.getTrueDest() == op.getFalseDest() &&
        !op.getFalseDestOperands().empty())
      branches.push_back(op);
  });
  OpBuilder builder(module.getContext());
  for (cf::CondBranchOp op : branches) {
    Block *destination = op.getFalseDest();
    Block *between = builder.createBlock(destination);
    cf::BranchOp::create(builder, op.getLoc(), destination,
                         op.getFalseDestOperands());
    op.getFalseDestOperandsMutable().clear();
    op->setSuccessor(between, 1);
  }
}

/// Gives each array that a loop carries an empty tensor of its own to begin
/// with: One-Shot Bufferize (22.1) finds nothing in one that a write could
/// destroy, and gives all that begin with it one buffer.
static void separateEmptyTensors(ModuleOp module) {
  auto isEmpty = [](Operation *op) {
    auto alloc = dyn_cast_or_null<AllocTensorOp>(op);
    return isa_and_nonnull<EmptyOp, tensor::EmptyOp>(op) ||
           (alloc && !alloc.getCopy());
  };
  OpBuilder builder(module.getContext());
  module.walk([&](LoopLikeOpInterface loop) {
    for (OpOperand &operand : loop->getOpOperands()) {
      Operation *empty = operand.get().getDefiningOp();
      if (!isEmpty(empty) || empty->hasOneUse())
        continue;
      builder.setInsertionPointAfter(empty);
      operand.set(builder.clone(*empty)->getResult(0));
    }
  });
}

/// The results of the loop's body that are in buffers which the body allocates,
/// each in one of its own.
static llvm::DenseSet<unsigned> getFreshResults(BufferOrigins &origins,
                                                scf::WhileOp loop) {
  llvm::DenseSet<unsigned> fresh;
  SmallVector<llvm::SetVector<Value>> all;
  for (Value value : loop.getYieldOp().getResults())
    all.push_back(origins.get(value, /*throughWrites=*/true));
  auto isAllocated = [&](Value value) {
    return origins.isKnown(value) && !isReadOnly(value) &&
           loop.getAfter().isAncestor(value.getParentRegion());
  };
  for (auto [number, ofResult] : llvm::enumerate(all)) {
    bool isShared = llvm::any_of(ofResult, [&](Value value) {
      return llvm::count_if(all, [&](const llvm::SetVector<Value> &other) {
               return other.contains(value);
             }) > 1;
    });
    if (!isShared && llvm::all_of(ofResult, isAllocated))
      fresh.insert(number);
  }
  return fresh;
}

/// Takes out copies of the state of loops. One-Shot Bufferize (22.1) lets the
/// body have a copy of what it does not write in place, as its result could be
/// in any buffer. That of a new one needs no copy: it is the state then, and
/// the one before it is freed.
static void dropStateCopies(ModuleOp module) {
  BufferOrigins origins(module);
  module.walk([&](scf::WhileOp loop) {
    llvm::DenseSet<unsigned> fresh = getFreshResults(origins, loop);
    scf::ConditionOp condition = loop.getConditionOp();
    for (auto [number, operand] : llvm::enumerate(condition.getArgsMutable())) {
      auto copy = operand.get().getDefiningOp<AllocTensorOp>();
      auto state = copy ? dyn_cast_or_null<BlockArgument>(copy.getCopy())
                        : BlockArgument();
      if (state && state.getOwner() == loop.getBeforeBody() &&
          state.getArgNumber() == number && fresh.contains(number))
        operand.set(state);
      if (copy && copy->use_empty())
        copy->erase();
    }
  });
}

/// The buffer that `op` stands for: a new one, with the contents of the tensor
/// to copy, if there is one, and with the padding that its layout promises.
static FailureOr<Value> allocate(RewriterBase &rewriter, AllocTensorOp op,
                                 const BufferizationOptions &options) {
  Location loc = op.getLoc();
  llvm::Expected<MemRefType> type = getMemRefType(op.getType());
  if (!type) {
    (void)emitLayoutError([&] { return op.emitOpError(); }, type.takeError());
    return failure();
  }
  SmallVector<Value> sizes(op.getDynamicSizes());
  if (op.getCopy())
    populateDynamicDimSizes(rewriter, loc, op.getCopy(), sizes);
  FailureOr<Value> buffer = options.createAlloc(rewriter, loc, *type, sizes);
  if (failed(buffer))
    return failure();
  if (op.getCopy()) {
    Value source = ToBufferOp::create(rewriter, loc, *type, op.getCopy());
    memref::CopyOp::create(rewriter, loc, source, *buffer);
  } else if (getPaddingValue(*type)) {
    FillPaddingOp::create(rewriter, loc, *buffer);
  }
  return buffer;
}

/// Allocates the tensors that have layouts; returns how many.
static FailureOr<int64_t> allocateTensors(ModuleOp module,
                                          const BufferizationOptions &options) {
  SmallVector<AllocTensorOp> tensors;
  module.walk([&](AllocTensorOp op) {
    if (getLayoutAttr(op.getType()))
      tensors.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (AllocTensorOp op : tensors) {
    rewriter.setInsertionPoint(op);
    FailureOr<Value> buffer = allocate(rewriter, op, options);
    if (failed(buffer))
      return failure();
    rewriter.replaceOpWithNewOp<ToTensorOp>(op, op.getType(), *buffer,
                                            /*restrict=*/true,
                                            /*writable=*/true);
  }
  return static_cast<int64_t>(tensors.size());
}

/// What a function writes in place is no result: callers would copy it. Types
/// of functions stay where anything but a call refers to one.
static LogicalResult dropReturnedBuffers(ModuleOp module) {
  SymbolTable symbols(module);
  auto isValue = [&](const SymbolTable::SymbolUse &use) {
    return !isa<func::CallOp>(use.getUser()) &&
           symbols.lookup<func::FuncOp>(use.getSymbolRef().getRootReference());
  };
  auto uses = SymbolTable::getSymbolUses(&module.getBodyRegion());
  return uses && llvm::none_of(*uses, isValue)
             ? dropEquivalentBufferResults(module)
             : success();
}

void tessera::dropCarriedMemRefs(ArrayRef<Operation *> loops) {
  auto carrying = llvm::filter_to_vector(loops, [](Operation *op) {
    return isa<scf::ForOp>(op) &&
           llvm::any_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
  });
  if (carrying.empty())
    return;
  RewritePatternSet patterns(carrying.front()->getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, patterns.getContext());
  (void)applyOpPatternsGreedily(carrying, std::move(patterns));
}

/// A function that is passed as a value has callers that are not known. Its
/// type cannot change from tensors to memrefs.
static LogicalResult checkFunctionValues(ModuleOp module) {
  auto result = module.walk([](func::ConstantOp op) -> WalkResult {
    auto type = dyn_cast<FunctionType>(op.getType());
    if (!type || llvm::none_of(llvm::concat<const Type>(type.getInputs(),
                                                        type.getResults()),
                               llvm::IsaPred<TensorType>))
      return success();
    return emitLayoutError(
        [&] { return op.emitOpError(); },
        unsupportedError("value that is a function",
                         "one without tensors among its arguments and results",
                         debugString(Type(type)), "call it by its name"));
  });
  return failure(result.wasInterrupted());
}

/// The types that a value of the operation may have: results, arguments of its
/// blocks, and those of a function.
static SmallVector<Type> getDefinedTypes(Operation *op) {
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(types, block.getArgumentTypes());
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    llvm::append_range(types, function.getArgumentTypes());
    llvm::append_range(types, function.getResultTypes());
  }
  return types;
}

/// Tensors take elements of any dialect, memrefs do not, and are made
/// unchecked.
static LogicalResult checkElementTypes(ModuleOp module) {
  auto result = module.walk([](Operation *op) -> WalkResult {
    for (Type type : getDefinedTypes(op)) {
      auto tensor = dyn_cast<TensorType>(type);
      if (tensor &&
          !BaseMemRefType::isValidElementType(tensor.getElementType()))
        return emitLayoutError(
            [&] { return op->emitOpError(); },
            unsupportedError("element type", "one that a memref may have",
                             debugString(tensor.getElementType())));
    }
    return success();
  });
  return failure(result.wasInterrupted());
}

/// Reports every operation on tensors that has no buffers, by name: what
/// One-Shot Bufferize says of them is where they are.
static LogicalResult checkBufferizable(ModuleOp module) {
  bool isBufferizable = true;
  module.walk([&](Operation *op) {
    auto isTensor = llvm::IsaPred<TensorType>;
    bool hasTensors = llvm::any_of(op->getOperandTypes(), isTensor) ||
                      llvm::any_of(op->getResultTypes(), isTensor);
    if (!hasTensors || !op->isRegistered() || isa<BufferizableOpInterface>(op))
      return;
    isBufferizable = false;
    op->emitOpError("unsupported on tensors: expected an operation that "
                    "One-Shot Bufferize makes buffers for; express it by such "
                    "ones first, as --tessera-expand-ops and upstream's passes "
                    "for its dialect do");
  });
  return success(isBufferizable);
}

/// Lets buffers begin where the module's target wants them to in their space.
static void alignBuffers(ModuleOp module, BufferizationOptions &options) {
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    return;
  options.allocationFn = [target](OpBuilder &builder, Location loc,
                                  MemRefType type, ValueRange sizes,
                                  unsigned alignment) -> FailureOr<Value> {
    return memref::AllocOp::create(builder, loc, type, sizes,
                                   builder.getI64IntegerAttr(getBufferAlignment(
                                       target, type, alignment)))
        .getResult();
  };
}

namespace {
struct BufferizePass : tessera::impl::BufferizeBase<BufferizePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    BufferizeBase::getDependentDialects(registry);
    registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OneShotBufferizationOptions options = getBufferizationOptions();
    alignBuffers(module, options);
    BufferizationState state;
    if (failed(checkFunctionValues(module)) ||
        failed(checkElementTypes(module)) || failed(checkBufferizable(module)))
      return signalPassFailure();
    replaceEmptyTensors(module);
    moveFusedBitcasts(module);
    FailureOr<int64_t> plain = makeTensorsPlain(module, options);
    if (failed(plain))
      return signalPassFailure();
    numPlain += *plain;
    separateSuccessors(module);
    separateEmptyTensors(module);
    copyBorrowedTensors(module);
    copySharedArguments(module);
    if (failed(insertTensorCopies(module, options, state)))
      return signalPassFailure();
    dropStateCopies(module);
    FailureOr<int64_t> buffers = allocateTensors(module, options);
    if (failed(buffers))
      return signalPassFailure();
    numBuffers += *buffers;
    if (failed(bufferizeModuleOp(module, options, state)))
      return signalPassFailure();
    removeBufferizationAttributesInModule(module);
    SmallVector<Operation *> loops;
    module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    dropCarriedMemRefs(loops);
    if (failed(dropReturnedBuffers(module)))
      return signalPassFailure();
  }
};
} // namespace
