//===- FusionPlan.cpp - Instructions that have no array -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionPlan.h"

#include "tessera/Conversion/TesseraToAffine/AffineRanges.h"
#include "tessera/DataFlow/IndexMap.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

/// Operations in one nest, and groups in groups: beyond, an array is no worse.
static constexpr int64_t kMaxNestSize = 512, kMaxDepth = 16;

GetReads hlo::readAll(Reads reads) {
  return [reads](InstructionOp, unsigned) { return reads; };
}

bool InstructionConversions::hasOwnNest(InstructionOp op) const {
  auto nest = nests.find(getConversionName(op));
  return nest != nests.end() && nest->second.isFaster(op);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The expressions, simplified for indices of an array.
static AffineMap makeIndexMap(RankedTensorType type,
                              ArrayRef<AffineExpr> results) {
  SmallVector<std::optional<IntegerRange>> ranges;
  for (int64_t size : type.getShape())
    ranges.push_back(IntegerRange{0, std::max<int64_t>(size, 1) - 1});
  AffineMap map = AffineMap::get(type.getRank(), 0, results, type.getContext());
  return simplifyWithRanges(map, ranges);
}

AffineMap hlo::getReshapeIndexMap(RankedTensorType from, RankedTensorType to) {
  MLIRContext *context = to.getContext();
  if (from.getShape() == to.getShape())
    return AffineMap::getMultiDimIdentityMap(to.getRank(), context);
  AffineExpr number = getAffineConstantExpr(0, context);
  for (auto [dim, size] : llvm::enumerate(to.getShape()))
    number = number * size + getAffineDimExpr(dim, context);
  SmallVector<AffineExpr> results(from.getRank());
  for (int64_t dim = from.getRank(); dim-- > 0;) {
    int64_t size = std::max<int64_t>(from.getDimSize(dim), 1);
    results[dim] = number % size;
    number = number.floorDiv(size);
  }
  return makeIndexMap(to, results);
}

/// Adds a digit of the result's number, `value`, to the index of the operand.
/// False where the digit is one of more than one dimension.
static bool addDigit(SmallVectorImpl<AffineExpr> &index,
                     ArrayRef<int64_t> sizes, AffineExpr value,
                     const MapDigit &digit) {
  int64_t step = 1;
  for (int64_t dim = sizes.size(); dim-- > 0; step *= sizes[dim]) {
    if (digit.stride / step >= sizes[dim])
      continue;
    if (digit.stride % step != 0 ||
        digit.stride / step * (digit.size - 1) >= sizes[dim])
      return false;
    index[dim] = index[dim] + value * (digit.stride / step);
    return true;
  }
  return false;
}

AffineMap hlo::getBitcastIndexMap(RankedTensorType from, RankedTensorType to) {
  llvm::Expected<Shape> source = tessera::getShape(from);
  llvm::Expected<Shape> target = tessera::getShape(to);
  if (!source || !target || from.getElementType() != to.getElementType()) {
    llvm::consumeError(source.takeError());
    llvm::consumeError(target.takeError());
    return {};
  }
  std::optional<IndexMap> map = getBitcastMap(*source, *target);
  if (!map || map->count() == 0)
    return {};
  if (map->isIdentity() && from.getNumElements() == to.getNumElements())
    return getReshapeIndexMap(from, to);
  auto digits = map->split(to.getShape());
  if (!digits || map->offset() != 0)
    return {};
  SmallVector<AffineExpr> index(from.getRank(),
                                getAffineConstantExpr(0, to.getContext()));
  for (auto [dim, ofDim] : llvm::enumerate(*digits)) {
    int64_t divisor = to.getDimSize(dim);
    for (const MapDigit &digit : ofDim) {
      divisor /= digit.size;
      AffineExpr value =
          getAffineDimExpr(dim, to.getContext()).floorDiv(divisor) % digit.size;
      if (digit.size > 1 && !addDigit(index, from.getShape(), value, digit))
        return {};
    }
  }
  return makeIndexMap(to, index);
}

//===----------------------------------------------------------------------===//
// What operations are
//===----------------------------------------------------------------------===//

static RankedTensorType getStaticArray(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? tensor : RankedTensorType();
}

static bool changesSpace(BitcastOp op) {
  llvm::Expected<Layout> from = getLayout(op.getSource().getType());
  llvm::Expected<Layout> to = getLayout(op.getType());
  bool isKnown = from && to;
  llvm::consumeError(from.takeError());
  llvm::consumeError(to.takeError());
  return isKnown && from->memorySpace != to->memorySpace;
}

/// The dimension along which elements are neighbours; -1 for less than two.
static int64_t getMinorDim(RankedTensorType type) {
  SmallVector<int64_t> order = getMajorToMinor(type);
  llvm::erase_if(order, [&](int64_t dim) { return type.getDimSize(dim) == 1; });
  return order.empty() ? -1 : order.back();
}

/// Whether neighbours in the operand are none in the result: one of the two
/// would be touched element by element in a nest, where kernels of relayouts
/// transpose blocks.
static bool isTransposition(Operation *op) {
  auto relayout = dyn_cast<RelayoutOp>(op);
  if (!relayout || !relayout.isTensorForm())
    return false;
  RankedTensorType from = getStaticArray(relayout.getSource().getType());
  RankedTensorType to = getStaticArray(relayout.getResult().getType());
  return from && to && getMinorDim(from) != getMinorDim(to);
}

/// Whether the elements of the result can be emitted one by one.
bool FusionPlan::hasElements(Operation *op) const {
  if (op->getNumResults() != 1 || !getStaticArray(op->getResult(0).getType()))
    return false;
  if (auto bitcast = dyn_cast<BitcastOp>(op))
    return bool(
        getBitcastIndexMap(bitcast.getSource().getType(), bitcast.getType()));
  if (isTransposition(op))
    return false;
  if (isa<RelayoutOp, ReshapeOp>(op))
    return bool(getStaticArray(op->getOperand(0).getType()));
  auto instruction = dyn_cast<InstructionOp>(op);
  return instruction &&
         conversions->elements.contains(getConversionName(instruction)) &&
         !conversions->hasOwnNest(instruction) &&
         llvm::all_of(op->getOperandTypes(), getStaticArray);
}

/// Whether an element costs no more than reading one.
bool FusionPlan::isFree(Operation *op) const {
  if (auto bitcast = dyn_cast<BitcastOp>(op))
    return changesSpace(bitcast) && isa<BlockArgument>(bitcast.getSource());
  auto instruction = dyn_cast<InstructionOp>(op);
  return instruction && (instruction.getOpcode() == "broadcast" ||
                         instruction.getOpcode() == "iota");
}

static Reads getInstructionReads(const InstructionConversions &conversions,
                                 InstructionOp op, OpOperand &use) {
  std::string name = getConversionName(op);
  auto reads = conversions.reads.find(name);
  if (!conversions.elements.contains(name) || reads == conversions.reads.end())
    return Reads::Array;
  return reads->second(op, use.getOperandNumber());
}

Reads FusionPlan::getReads(OpOperand &use) const {
  Operation *user = use.getOwner();
  auto from = getStaticArray(use.get().getType());
  auto to = user->getNumResults() == 1
                ? getStaticArray(user->getResult(0).getType())
                : RankedTensorType();
  Reads reads = Reads::Array;
  if (auto instruction = dyn_cast<InstructionOp>(user))
    reads = getInstructionReads(*conversions, instruction, use);
  else if (auto bitcast = dyn_cast<BitcastOp>(user))
    reads = isFused(user) || (hasElements(user) && changesSpace(bitcast))
                ? Reads::Once
                : Reads::Array;
  else if (isa<ReshapeOp>(user) && to)
    reads = Reads::Once;
  else if (isa<RelayoutOp>(user) && to && !isTransposition(user))
    reads = Reads::SameIndex;
  if (reads == Reads::Array || !from)
    return Reads::Array;
  // A scalar is read for all elements; so is what is emitted more than once.
  bool isOther = !to || to.getShape() != from.getShape();
  if (reads == Reads::SameIndex && isOther)
    return Reads::Often;
  return reads == Reads::Once && isFree(user) && !user->hasOneUse()
             ? Reads::Often
             : reads;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

FusionPlan::FusionPlan(func::FuncOp function,
                       const InstructionConversions &conversions)
    : conversions(&conversions) {
  // Users come before what they use.
  for (Operation &op : llvm::reverse(function.front()))
    visit(&op);
  for (auto &[head, ofGroup] : members)
    std::reverse(ofGroup.begin(), ofGroup.end());
}

ArrayRef<Operation *> FusionPlan::getMembers(Operation *head) const {
  auto found = members.find(head);
  return found == members.end() ? ArrayRef<Operation *>() : found->second;
}

bool FusionPlan::isNumber(Operation *op) const {
  return hasElements(op) &&
         cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 0;
}

bool FusionPlan::readsElements(Operation *op) const {
  Operation *source = op->getOperand(0).getDefiningOp();
  return source &&
         (isFused(source) || (isNumber(source) && !needsArray(source)));
}

bool FusionPlan::needsArray(Operation *op) const {
  return op->use_empty() || llvm::any_of(op->getUses(), [&](OpOperand &use) {
           return getReads(use) == Reads::Array;
         });
}

Operation *FusionPlan::getHead(Operation *op) const {
  auto found = heads.find(op);
  return found == heads.end() ? op : found->second;
}

FusionPlan::Nest &FusionPlan::getNest(Operation *head) {
  return nests.try_emplace(head, Nest{head, 0}).first->second;
}

/// Makes `op` one more of a nest, if that is not full.
bool FusionPlan::enterNest(Operation *op, const Nest &nest) {
  int64_t &size = sizes[nest.root];
  if (size >= kMaxNestSize || nest.depth > kMaxDepth)
    return false;
  ++size;
  fused.insert(op);
  return true;
}

void FusionPlan::visit(Operation *op) {
  if (!hasElements(op) || isNumber(op) || needsArray(op))
    return;
  if (isFree(op)) {
    fused.insert(op);
    return;
  }
  // A view costs nothing.
  if (auto bitcast = dyn_cast<BitcastOp>(op))
    if (!changesSpace(bitcast) && isa<BlockArgument>(bitcast.getSource()))
      return;
  Operation *head = getHead(*op->user_begin());
  bool isOfGroup = llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return getReads(use) == Reads::SameIndex && getHead(use.getOwner()) == head;
  });
  Nest nest = getNest(head);
  if (isOfGroup) {
    if (enterNest(op, nest)) {
      heads[op] = head;
      members[head].push_back(op);
    }
    return;
  }
  ++nest.depth;
  if (op->hasOneUse() && getReads(*op->use_begin()) == Reads::Once &&
      enterNest(op, nest))
    nests[op] = nest;
}

/// The operation in whose nest `op` is emitted.
Operation *FusionPlan::getRoot(Operation *op) const {
  auto found = nests.find(getHead(op));
  return found == nests.end() ? getHead(op) : found->second.root;
}

Value FusionPlan::getOverwritten(Operation *root,
                                 const LastUses &lastUses) const {
  auto isOfGroup = [&](OpOperand &use) {
    return getHead(use.getOwner()) == root && getReads(use) == Reads::SameIndex;
  };
  auto mayOverwrite = [&](Value array) {
    return lastUses.mayOverwrite(array, [&](OpOperand &use) {
      Operation *reader = getRoot(use.getOwner());
      // A number is read where the array is made.
      if (isNumber(root) && getReads(use) != Reads::Array)
        return false;
      return reader == root ? use.get() != array || !isOfGroup(use)
                            : root->isBeforeInBlock(reader);
    });
  };
  Type type = getSignlessType(root->getResult(0).getType());
  SmallVector<Operation *> group(getMembers(root));
  group.push_back(root);
  for (Operation *op : group)
    for (OpOperand &use : op->getOpOperands()) {
      Operation *source = use.get().getDefiningOp();
      bool isArray = !source || !(isFused(source) || isNumber(source));
      if (isArray && getSignlessType(use.get().getType()) == type &&
          isOfGroup(use) && mayOverwrite(use.get()))
        return use.get();
    }
  return {};
}

//===----------------------------------------------------------------------===//
// Fusions in fusions
//===----------------------------------------------------------------------===//

namespace {
class FusionInliner {
public:
  explicit FusionInliner(ModuleOp module) : symbols(module) {}

  void run(func::FuncOp function, unsigned depth = 0);
  func::FuncOp getCallee(InstructionOp op);

private:
  void inlineInto(func::FuncOp function, InstructionOp op, func::FuncOp callee);

  /// Computations may call another twice, and that one a third.
  static constexpr size_t kMaxSize = 20'000;
  /// Of calls in calls; those beyond stay.
  static constexpr unsigned kMaxDepth = 64;

  SymbolTable symbols;
  llvm::DenseMap<Operation *, size_t> sizes;
};
} // namespace

/// The computation of a fusion that has a body for its operands; null else.
func::FuncOp FusionInliner::getCallee(InstructionOp op) {
  DictionaryAttr attributes = op.getHloAttributesAttr();
  auto name = attributes && op.getOpcode() == "fusion"
                  ? attributes.getAs<FlatSymbolRefAttr>("calls")
                  : FlatSymbolRefAttr();
  auto callee =
      name ? symbols.lookup<func::FuncOp>(name.getAttr()) : func::FuncOp();
  bool isRight = callee && llvm::hasSingleElement(callee.getBody()) &&
                 isa<func::ReturnOp>(callee.front().getTerminator()) &&
                 callee.getArgumentTypes() == op.getOperands().getTypes() &&
                 callee.getResultTypes() == op->getResultTypes();
  return isRight ? callee : func::FuncOp();
}

void FusionInliner::inlineInto(func::FuncOp function, InstructionOp op,
                               func::FuncOp callee) {
  OpBuilder builder(op);
  IRMapping values;
  values.map(callee.getArguments(), op.getOperands());
  for (Operation &inner : callee.front().without_terminator())
    builder.clone(inner, values);
  Value result = callee.front().getTerminator()->getOperand(0);
  op.getResult().replaceAllUsesWith(values.lookup(result));
  op.erase();
  sizes[function] += sizes[callee];
}

void FusionInliner::run(func::FuncOp function, unsigned depth) {
  auto [known, isNew] = sizes.try_emplace(function, kMaxSize);
  if (!isNew || depth == kMaxDepth ||
      !llvm::hasSingleElement(function.getBody()))
    return;
  SmallVector<InstructionOp> fusions;
  for (auto op : function.front().getOps<InstructionOp>())
    if (getCallee(op))
      fusions.push_back(op);
  for (InstructionOp op : fusions)
    run(getCallee(op), depth + 1);
  // One that calls itself has its own size still, and stays.
  sizes[function] = function.front().getOperations().size();
  for (InstructionOp op : fusions) {
    func::FuncOp callee = getCallee(op);
    if (callee != function && sizes[function] + sizes[callee] <= kMaxSize)
      inlineInto(function, op, callee);
  }
}

void hlo::inlineNestedFusions(ModuleOp module) {
  FusionInliner inliner(module);
  llvm::SetVector<func::FuncOp> fused;
  module.walk([&](InstructionOp op) {
    if (func::FuncOp callee = inliner.getCallee(op))
      fused.insert(callee);
  });
  for (func::FuncOp function : fused)
    inliner.run(function);
}
