//===- LoopInterpreter.cpp - Runs emitted loops ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopInterpreter.h"

#include "Fuzzing.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <deque>

using namespace mlir;
using namespace tessera::fuzz;
using llvm::APInt;

namespace {
/// A scalar or the lanes of a vector.
using Lanes = SmallVector<APInt, 1>;
using Index = SmallVector<int64_t, 4>;

/// What a memref stands for, in elements of `width` bytes.
struct View {
  InterpretedMemory *memory = nullptr;
  int64_t offset = 0;
  Index sizes, strides;
  int64_t width = 1;
};

class Interpreter {
public:
  explicit Interpreter(int64_t maxSteps) : stepsLeft(maxSteps) {}

  void bind(Value value, InterpretedMemory &memory);
  bool run(Block &block);

private:
  void runOp(Operation &op);
  void runLoop(affine::AffineForOp op);
  void runParallel(affine::AffineParallelOp op, unsigned dim);
  void runLoop(scf::ForOp op);
  void runIf(affine::AffineIfOp op);
  void allocate(Operation &op);
  void runVectorAccess(Operation &op);
  void maskedLoad(vector::MaskedLoadOp op);
  void maskedStore(vector::MaskedStoreOp op);
  void bitCast(vector::BitCastOp op);
  void shuffle(vector::ShuffleOp op);
  Lanes evaluate(Operation &op);
  APInt evaluateLane(Operation &op, ArrayRef<APInt> operands);

  int64_t getInt(Value value) { return lanes[value][0].getSExtValue(); }
  Index getInts(ValueRange values);
  Index evaluateMap(AffineMap map, ValueRange operands);
  void setInt(Value value, int64_t number) {
    lanes[value] = {APInt(64, number, /*isSigned=*/true)};
  }

  /// The byte of an element, with `count` of them in bounds.
  uint8_t *getAddress(const View &view, ArrayRef<int64_t> index, int64_t count,
                      std::optional<uint64_t> alignment = std::nullopt);
  APInt load(const View &view, ArrayRef<int64_t> index, unsigned bits);
  void store(const View &view, ArrayRef<int64_t> index, const APInt &value);

  llvm::DenseMap<Value, Lanes> lanes;
  llvm::DenseMap<Value, View> views;
  std::deque<InterpretedMemory> allocations;
  int64_t stepsLeft;
};
} // namespace

static unsigned getBits(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.getElementType();
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static View makeView(MemRefType type, InterpretedMemory &memory) {
  View view;
  view.memory = &memory;
  require(succeeded(type.getStridesAndOffset(view.strides, view.offset)) &&
              type.hasStaticShape(),
          "a memref that the interpreter does not know");
  view.sizes.assign(type.getShape().begin(), type.getShape().end());
  view.width = llvm::divideCeil(getBits(type.getElementType()), 8);
  return view;
}

void Interpreter::bind(Value value, InterpretedMemory &memory) {
  views[value] = makeView(cast<MemRefType>(value.getType()), memory);
}

void Interpreter::allocate(Operation &op) {
  auto type = cast<MemRefType>(op.getResult(0).getType());
  InterpretedMemory &memory = allocations.emplace_back();
  int64_t elements = type.getNumElements();
  // What it holds must not matter.
  memory.bytes.assign(
      elements * llvm::divideCeil(getBits(type.getElementType()), 8), 0xA5);
  bind(op.getResult(0), memory);
}

uint8_t *Interpreter::getAddress(const View &view, ArrayRef<int64_t> index,
                                 int64_t count,
                                 std::optional<uint64_t> alignment) {
  int64_t element = view.offset;
  for (size_t i = 0; i < index.size(); ++i)
    element += index[i] * view.strides[i];
  int64_t size = view.memory->bytes.size();
  require(element >= 0 && (element + count) * view.width <= size,
          "an access to element " + Twine(element) + " and " +
              Twine(count - 1) + " more of a buffer of " +
              Twine(size / view.width));
  uint64_t address = view.memory->address + element * view.width;
  require(address % alignment.value_or(1) == 0, "an access less aligned");
  return view.memory->bytes.data() + element * view.width;
}

static APInt loadBits(const uint8_t *bytes, unsigned bits) {
  APInt value(bits, 0);
  for (unsigned at = 0; at < bits; at += 8)
    value.insertBits(bytes[at / 8], at, std::min(8u, bits - at));
  return value;
}

static void storeBits(uint8_t *bytes, const APInt &value) {
  for (unsigned at = 0; at < value.getBitWidth(); at += 8)
    bytes[at / 8] = value.extractBitsAsZExtValue(
        std::min(8u, value.getBitWidth() - at), at);
}

APInt Interpreter::load(const View &view, ArrayRef<int64_t> index,
                        unsigned bits) {
  return loadBits(getAddress(view, index, 1), bits);
}

void Interpreter::store(const View &view, ArrayRef<int64_t> index,
                        const APInt &value) {
  storeBits(getAddress(view, index, 1), value);
}

//===----------------------------------------------------------------------===//
// Affine maps
//===----------------------------------------------------------------------===//

static int64_t evaluate(AffineExpr expr, unsigned numDims,
                        ArrayRef<int64_t> operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), numDims, operands);
  int64_t rhs = evaluate(binary.getRHS(), numDims, operands);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  default:
    break;
  }
  require(rhs > 0, "a division by " + Twine(rhs));
  if (expr.getKind() == AffineExprKind::Mod)
    return llvm::mod(lhs, rhs);
  return expr.getKind() == AffineExprKind::FloorDiv
             ? llvm::divideFloorSigned(lhs, rhs)
             : llvm::divideCeilSigned(lhs, rhs);
}

Index Interpreter::getInts(ValueRange values) {
  Index ints;
  for (Value value : values)
    ints.push_back(getInt(value));
  return ints;
}

Index Interpreter::evaluateMap(AffineMap map, ValueRange operands) {
  Index values = getInts(operands), results;
  for (AffineExpr expr : map.getResults())
    results.push_back(::evaluate(expr, map.getNumDims(), values));
  return results;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void Interpreter::runLoop(affine::AffineForOp op) {
  Index lower = evaluateMap(op.getLowerBoundMap(), op.getLowerBoundOperands());
  Index upper = evaluateMap(op.getUpperBoundMap(), op.getUpperBoundOperands());
  int64_t end = *llvm::min_element(upper);
  for (int64_t i = *llvm::max_element(lower); i < end && stepsLeft > 0;
       i += op.getStepAsInt()) {
    setInt(op.getInductionVar(), i);
    run(*op.getBody());
  }
}

void Interpreter::runParallel(affine::AffineParallelOp op, unsigned dim) {
  if (dim == op.getNumDims()) {
    run(*op.getBody());
    return;
  }
  Index lower =
      evaluateMap(op.getLowerBoundMap(dim), op.getLowerBoundsOperands());
  Index upper =
      evaluateMap(op.getUpperBoundMap(dim), op.getUpperBoundsOperands());
  // Threads come in any order: here the last one first.
  int64_t step = op.getSteps()[dim], begin = *llvm::max_element(lower);
  int64_t count = llvm::divideCeilSigned(
      std::max<int64_t>(*llvm::min_element(upper) - begin, 0), step);
  for (int64_t i = count - 1; i >= 0 && stepsLeft > 0; --i) {
    setInt(op.getIVs()[dim], begin + i * step);
    runParallel(op, dim + 1);
  }
}

void Interpreter::runLoop(scf::ForOp op) {
  require(op.getNumResults() == 0, "a loop that carries values");
  int64_t end = getInt(op.getUpperBound()), step = getInt(op.getStep());
  require(step > 0, "a loop in steps of " + Twine(step));
  for (int64_t i = getInt(op.getLowerBound()); i < end && stepsLeft > 0;
       i += step) {
    setInt(op.getInductionVar(), i);
    run(*op.getBody());
  }
}

void Interpreter::runIf(affine::AffineIfOp op) {
  IntegerSet set = op.getIntegerSet();
  Index operands = getInts(op.getOperands());
  bool holds = true;
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    int64_t value =
        ::evaluate(set.getConstraint(i), set.getNumDims(), operands);
    holds &= set.isEq(i) ? value == 0 : value >= 0;
  }
  if (holds)
    run(*op.getThenBlock());
  else if (op.hasElse())
    run(*op.getElseBlock());
}

bool Interpreter::run(Block &block) {
  for (Operation &op : block) {
    if (--stepsLeft < 0)
      return false;
    runOp(op);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

void Interpreter::runVectorAccess(Operation &op) {
  if (auto read = dyn_cast<vector::LoadOp>(op)) {
    const View &view = views[read.getBase()];
    int64_t count = read.getVectorType().getNumElements();
    const uint8_t *bytes = getAddress(view, getInts(read.getIndices()), count,
                                      read.getAlignment());
    Lanes result;
    for (int64_t i = 0; i < count; ++i)
      result.push_back(
          loadBits(bytes + i * view.width, getBits(read.getType())));
    lanes[read] = std::move(result);
    return;
  }
  auto write = cast<vector::StoreOp>(op);
  const View &view = views[write.getBase()];
  const Lanes &values = lanes[write.getValueToStore()];
  uint8_t *bytes = getAddress(view, getInts(write.getIndices()), values.size(),
                              write.getAlignment());
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(bytes + i * view.width, values[i]);
}

void Interpreter::maskedLoad(vector::MaskedLoadOp op) {
  const View &view = views[op.getBase()];
  Index index = getInts(op.getIndices());
  Lanes result = lanes[op.getPassThru()];
  const Lanes &mask = lanes[op.getMask()];
  for (size_t i = 0; i < mask.size(); ++i, ++index.back())
    if (mask[i].isOne())
      result[i] = load(view, index, result[i].getBitWidth());
  lanes[op] = std::move(result);
}

void Interpreter::maskedStore(vector::MaskedStoreOp op) {
  const View &view = views[op.getBase()];
  Index index = getInts(op.getIndices());
  const Lanes &mask = lanes[op.getMask()];
  const Lanes &values = lanes[op.getValueToStore()];
  for (size_t i = 0; i < mask.size(); ++i, ++index.back())
    if (mask[i].isOne())
      store(view, index, values[i]);
}

void Interpreter::bitCast(vector::BitCastOp op) {
  const Lanes &values = lanes[op.getSource()];
  unsigned from = values[0].getBitWidth(), to = getBits(op.getType());
  APInt all(from * values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i)
    all.insertBits(values[i], i * from);
  Lanes result;
  for (unsigned at = 0; at < all.getBitWidth(); at += to)
    result.push_back(all.extractBits(to, at));
  lanes[op] = std::move(result);
}

void Interpreter::shuffle(vector::ShuffleOp op) {
  const Lanes &first = lanes[op.getV1()], &second = lanes[op.getV2()];
  Lanes result;
  for (int64_t i : op.getMask())
    if (i == vector::ShuffleOp::kPoisonIndex)
      result.push_back(APInt::getSplat(first[0].getBitWidth(), APInt(8, 0x5A)));
    else
      result.push_back(i < static_cast<int64_t>(first.size())
                           ? first[i]
                           : second[i - first.size()]);
  lanes[op] = std::move(result);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static bool compare(arith::CmpIPredicate predicate, const APInt &a,
                    const APInt &b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a.slt(b);
  case arith::CmpIPredicate::sle:
    return a.sle(b);
  case arith::CmpIPredicate::sgt:
    return a.sgt(b);
  case arith::CmpIPredicate::sge:
    return a.sge(b);
  case arith::CmpIPredicate::ult:
    return a.ult(b);
  case arith::CmpIPredicate::ule:
    return a.ule(b);
  case arith::CmpIPredicate::ugt:
    return a.ugt(b);
  case arith::CmpIPredicate::uge:
    return a.uge(b);
  }
  llvm_unreachable("predicates are listed");
}

APInt Interpreter::evaluateLane(Operation &op, ArrayRef<APInt> v) {
  unsigned bits = getBits(op.getResult(0).getType());
  auto shift = [&] { return v[1].getLimitedValue(bits); };
  return llvm::TypeSwitch<Operation *, APInt>(&op)
      .Case([&](arith::AddIOp) { return v[0] + v[1]; })
      .Case([&](arith::SubIOp) { return v[0] - v[1]; })
      .Case([&](arith::MulIOp) { return v[0] * v[1]; })
      .Case([&](arith::DivUIOp) { return v[0].udiv(v[1]); })
      .Case([&](arith::RemUIOp) { return v[0].urem(v[1]); })
      .Case([&](arith::CeilDivUIOp) { return (v[0] + v[1] - 1).udiv(v[1]); })
      .Case([&](arith::MinUIOp) { return llvm::APIntOps::umin(v[0], v[1]); })
      .Case([&](arith::MaxUIOp) { return llvm::APIntOps::umax(v[0], v[1]); })
      .Case([&](arith::MinSIOp) { return llvm::APIntOps::smin(v[0], v[1]); })
      .Case([&](arith::MaxSIOp) { return llvm::APIntOps::smax(v[0], v[1]); })
      .Case([&](arith::AndIOp) { return v[0] & v[1]; })
      .Case([&](arith::OrIOp) { return v[0] | v[1]; })
      .Case([&](arith::XOrIOp) { return v[0] ^ v[1]; })
      .Case([&](arith::ShLIOp) { return v[0].shl(shift()); })
      .Case([&](arith::ShRUIOp) { return v[0].lshr(shift()); })
      .Case([&](arith::CmpIOp cmp) {
        return APInt(1, compare(cmp.getPredicate(), v[0], v[1]));
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [&](auto) { return v[0].zextOrTrunc(bits); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>(
          [&](auto) { return v[0].sextOrTrunc(bits); })
      .Case([&](arith::TruncIOp) { return v[0].trunc(bits); })
      .Case([&](arith::BitcastOp) { return v[0]; })
      .Case([&](arith::SelectOp) { return v[0].isOne() ? v[1] : v[2]; })
      .Default([](Operation *op) {
        require(false, "the interpreter does not know " +
                           op->getName().getStringRef());
        return APInt();
      });
}

static Lanes getConstant(arith::ConstantOp op) {
  if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue())) {
    Lanes result;
    for (const APInt &value : elements.getValues<APInt>())
      result.push_back(value);
    return result;
  }
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return {number.getValue().bitcastToAPInt()};
  return {cast<IntegerAttr>(op.getValue()).getValue()};
}

/// Operations without regions or memory, lane by lane.
Lanes Interpreter::evaluate(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return getConstant(constant);
  auto vector = dyn_cast<VectorType>(op.getResult(0).getType());
  size_t count = vector ? vector.getNumElements() : 1;
  if (isa<vector::BroadcastOp>(op))
    return Lanes(count, lanes[op.getOperand(0)][0]);
  if (isa<vector::CreateMaskOp>(op)) {
    Lanes mask;
    for (size_t i = 0; i < count; ++i)
      mask.push_back(
          APInt(1, static_cast<int64_t>(i) < getInt(op.getOperand(0))));
    return mask;
  }
  Lanes result;
  for (size_t i = 0; i < count; ++i) {
    Lanes operands;
    for (Value operand : op.getOperands()) {
      const Lanes &all = lanes[operand];
      operands.push_back(all[all.size() == 1 ? 0 : i]);
    }
    result.push_back(evaluateLane(op, operands));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

void Interpreter::runOp(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case<affine::AffineYieldOp, scf::YieldOp, func::ReturnOp,
            memref::DeallocOp, memref::PrefetchOp, LLVM::CallIntrinsicOp>(
          [](auto) {})
      .Case<affine::AffineForOp, scf::ForOp>([&](auto loop) { runLoop(loop); })
      .Case([&](affine::AffineParallelOp loop) { runParallel(loop, 0); })
      .Case([&](affine::AffineIfOp branch) { runIf(branch); })
      .Case([&](scf::IfOp branch) {
        if (getInt(branch.getCondition()) != 0)
          run(*branch.thenBlock());
        else if (branch.elseBlock())
          run(*branch.elseBlock());
      })
      .Case([&](affine::AffineApplyOp apply) {
        setInt(apply,
               evaluateMap(apply.getAffineMap(), apply.getMapOperands())[0]);
      })
      .Case([&](affine::AffineMinOp min) {
        setInt(min, *llvm::min_element(
                        evaluateMap(min.getMap(), min.getOperands())));
      })
      .Case([&](affine::AffineMaxOp max) {
        setInt(max, *llvm::max_element(
                        evaluateMap(max.getMap(), max.getOperands())));
      })
      .Case([&](affine::AffineLoadOp read) {
        lanes[read] = {
            load(views[read.getMemref()],
                 evaluateMap(read.getAffineMap(), read.getMapOperands()),
                 getBits(read.getType()))};
      })
      .Case([&](affine::AffineStoreOp write) {
        store(views[write.getMemref()],
              evaluateMap(write.getAffineMap(), write.getMapOperands()),
              lanes[write.getValueToStore()][0]);
      })
      .Case([&](memref::LoadOp read) {
        lanes[read] = {load(views[read.getMemref()], getInts(read.getIndices()),
                            getBits(read.getType()))};
      })
      .Case([&](memref::StoreOp write) {
        store(views[write.getMemref()], getInts(write.getIndices()),
              lanes[write.getValueToStore()][0]);
      })
      .Case<memref::AllocOp, memref::AllocaOp>([&](auto) { allocate(op); })
      .Case<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp,
            memref::ReinterpretCastOp>(
          [&](auto) { bind(op.getResult(0), *views[op.getOperand(0)].memory); })
      .Case([&](memref::ExtractAlignedPointerAsIndexOp pointer) {
        setInt(pointer, views[pointer.getSource()].memory->address);
      })
      .Case<vector::LoadOp, vector::StoreOp>([&](auto) { runVectorAccess(op); })
      .Case([&](vector::MaskedLoadOp read) { maskedLoad(read); })
      .Case([&](vector::MaskedStoreOp write) { maskedStore(write); })
      .Case([&](vector::BitCastOp cast) { bitCast(cast); })
      .Case([&](vector::ShuffleOp choice) { shuffle(choice); })
      .Default([&](Operation *) {
        require(op.getNumResults() == 1 && op.getNumRegions() == 0,
                "the interpreter does not know " + op.getName().getStringRef());
        Lanes result = evaluate(op);
        lanes[op.getResult(0)] = std::move(result);
      });
}

bool tessera::fuzz::interpret(func::FuncOp function,
                              MutableArrayRef<InterpretedMemory> arguments,
                              int64_t maxSteps) {
  Interpreter interpreter(maxSteps);
  for (auto [value, memory] : llvm::zip(function.getArguments(), arguments))
    interpreter.bind(value, memory);
  return interpreter.run(function.getBody().front());
}
