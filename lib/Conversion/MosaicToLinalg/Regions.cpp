//===- Regions.cpp - Branches and loops of kernels ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region that writes to arrays yields them behind its own results.
//
//===----------------------------------------------------------------------===//

#include "KernelConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::mosaic;

namespace {
/// The arrays that an operation with regions writes to, through which its
/// regions hand them on.
class CarriedArrays {
public:
  CarriedArrays(KernelConverter &c, Operation *op) : c(c) {
    llvm::SmallSetVector<unsigned, 8> all;
    for (Region &region : op->getRegions())
      all.insert_range(c.getWritten(region));
    numbers = all.takeVector();
    llvm::sort(numbers);
    before = get();
  }

  /// The arrays as they are now.
  SmallVector<Value> get() const {
    return llvm::map_to_vector(
        numbers, [&](unsigned number) { return c.getArray(number); });
  }
  void set(ValueRange tensors) {
    for (auto [number, tensor] : llvm::zip_equal(numbers, tensors))
      c.setArray(number, tensor);
  }
  /// As they were before the operation.
  void reset() { set(before); }
  size_t size() const { return numbers.size(); }

  /// `values` of the kernel, converted, and the arrays.
  SmallVector<Value> append(ValueRange values) const {
    SmallVector<Value> all = c.get(values);
    llvm::append_range(all, get());
    return all;
  }

private:
  KernelConverter &c;
  SmallVector<unsigned> numbers;
  SmallVector<Value> before;
};
} // namespace

/// What regions hand on are numbers and vectors: memory stays where it is.
static LogicalResult checkTypes(KernelConverter &c, Operation *op) {
  auto isMemory = [](Type type) { return isa<BaseMemRefType>(type); };
  for (Region &region : op->getRegions())
    if (!region.empty() && !region.hasOneBlock())
      return c.unsupported(op, "regions of one block", "more");
  bool hasMemory = llvm::any_of(op->getResultTypes(), isMemory) ||
                   llvm::any_of(op->getRegions(), [&](Region &region) {
                     return llvm::any_of(region.getArgumentTypes(), isMemory);
                   });
  if (hasMemory)
    return c.unsupported(op, "numbers and vectors that go around", "memory");
  return success();
}

/// Converts a block at the end of another, which `arguments` belong to, and
/// what its terminator takes.
static FailureOr<SmallVector<Value>> convertInto(KernelConverter &c,
                                                 Block &from, Block *to,
                                                 ValueRange arguments,
                                                 CarriedArrays &arrays) {
  c.b.setInsertionPointToEnd(to);
  for (auto [argument, value] : llvm::zip(from.getArguments(), arguments))
    c.set(argument, value);
  if (failed(c.convertBlock(from)))
    return failure();
  return arrays.append(from.getTerminator()->getOperands());
}

/// Sets the results of the kernel's operation, and the arrays, from those of
/// the one that it became.
static void setResults(KernelConverter &c, Operation *op, ValueRange results,
                       CarriedArrays &arrays) {
  size_t count = op->getNumResults();
  for (auto [result, value] :
       llvm::zip(op->getResults(), results.take_front(count)))
    c.set(result, value);
  arrays.set(results.drop_front(count));
}

static LogicalResult convertIf(KernelConverter &c, Operation *op) {
  auto ifOp = cast<scf::IfOp>(op);
  if (failed(checkTypes(c, op)))
    return failure();
  CarriedArrays arrays(c, op);
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResultTypes(), c.convertType);
  llvm::append_range(types, TypeRange(ValueRange(arrays.get())));
  auto converted = scf::IfOp::create(c.b, types, c.get(ifOp.getCondition()),
                                     /*addThenBlock=*/true,
                                     /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(c.b);
  bool isConverted = true;
  for (auto [from, to] : llvm::zip(op->getRegions(), converted->getRegions())) {
    arrays.reset();
    FailureOr<SmallVector<Value>> results = arrays.get();
    if (from.empty())
      c.b.setInsertionPointToEnd(&to.front());
    else
      results = convertInto(c, from.front(), &to.front(), {}, arrays);
    isConverted &= succeeded(results);
    if (isConverted)
      scf::YieldOp::create(c.b, *results);
  }
  setResults(c, op, converted.getResults(), arrays);
  return success(isConverted);
}

static LogicalResult convertFor(KernelConverter &c, Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  if (failed(checkTypes(c, op)))
    return failure();
  CarriedArrays arrays(c, op);
  auto converted = scf::ForOp::create(
      c.b, c.get(loop.getLowerBound()), c.get(loop.getUpperBound()),
      c.get(loop.getStep()), arrays.append(loop.getInitArgs()));
  converted.setUnsignedCmp(loop.getUnsignedCmp());
  OpBuilder::InsertionGuard guard(c.b);
  Block *body = converted.getBody();
  if (!body->empty())
    body->getTerminator()->erase();
  arrays.set(body->getArguments().take_back(arrays.size()));
  auto results =
      convertInto(c, *loop.getBody(), body,
                  body->getArguments().drop_back(arrays.size()), arrays);
  if (succeeded(results))
    scf::YieldOp::create(c.b, *results);
  setResults(c, op, converted.getResults(), arrays);
  return success(succeeded(results));
}

static LogicalResult convertWhile(KernelConverter &c, Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  if (failed(checkTypes(c, op)))
    return failure();
  CarriedArrays arrays(c, op);
  SmallVector<Value> inits = arrays.append(loop.getInits());
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResultTypes(), c.convertType);
  llvm::append_range(types, TypeRange(ValueRange(arrays.get())));
  auto converted = scf::WhileOp::create(c.b, types, inits);
  OpBuilder::InsertionGuard guard(c.b);
  auto convertRegion = [&](Region &from, Region &to, TypeRange argumentTypes) {
    SmallVector<Location> locations(argumentTypes.size(), c.b.getLoc());
    Block *block = c.b.createBlock(&to, to.end(), argumentTypes, locations);
    arrays.set(block->getArguments().take_back(arrays.size()));
    return convertInto(c, from.front(), block,
                       block->getArguments().drop_back(arrays.size()), arrays);
  };
  auto before = convertRegion(loop.getBefore(), converted.getBefore(),
                              TypeRange(ValueRange(inits)));
  if (succeeded(before))
    scf::ConditionOp::create(c.b, before->front(),
                             ArrayRef(*before).drop_front());
  auto after = convertRegion(loop.getAfter(), converted.getAfter(), types);
  if (succeeded(after))
    scf::YieldOp::create(c.b, *after);
  setResults(c, op, converted.getResults(), arrays);
  return success(succeeded(before) && succeeded(after));
}

/// `tpu.region` and `tpu.trace`, which stand around operations.
static LogicalResult convertRegion(KernelConverter &c, Operation *op) {
  bool isBlock = op->getNumRegions() == 1 && op->getRegion(0).hasOneBlock() &&
                 op->getRegion(0).getNumArguments() == 0 &&
                 !op->getRegion(0).front().empty();
  if (!isBlock || failed(checkTypes(c, op)))
    return c.unsupported(op, "a region of one block", "others");
  Block &block = op->getRegion(0).front();
  Operation *end = &block.back();
  if (end->getName().getStringRef() != "tpu.yield" ||
      end->getOperandTypes() != op->getResultTypes())
    return c.unsupported(op, "results that the region yields", "others");
  if (failed(c.convertBlock(block)))
    return failure();
  for (auto [result, value] : llvm::zip(op->getResults(), end->getOperands()))
    c.set(result, c.get(value));
  return success();
}

void mosaic::populateRegionConversions(KernelConversions &conversions) {
  llvm::StringMap<ConvertOp> &table = conversions.operations;
  table["scf.if"] = convertIf;
  table["scf.for"] = convertFor;
  table["scf.while"] = convertWhile;
  table["tpu.region"] = convertRegion;
  table["tpu.trace"] = convertRegion;
  // Terminators are part of what they end.
  for (StringRef name : {"scf.yield", "scf.condition", "tpu.yield"})
    table[name] = [](KernelConverter &, Operation *) { return success(); };
}
