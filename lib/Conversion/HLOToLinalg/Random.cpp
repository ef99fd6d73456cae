//===- Random.cpp - Random bits -------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox-4x32-10 and ThreeFry-2x32-20 of "Parallel random numbers: as easy as
// 1, 2, 3" (Salmon et al., 2011). Both make blocks of words of 32 bits of a key
// and a counter. The state is the key and the first counter; the block that an
// element is in follows from its index, so each is computed on its own.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// Words of 32 bits, and pairs of them as 64 bits.
using Words = SmallVector<Value, 4>;

/// Emits arithmetic on integers of one width.
struct IntegerBuilder {
  ImplicitLocOpBuilder &b;

  Value constant(Value like, uint64_t value) {
    Type type = like.getType();
    APInt bits(type.getIntOrFloatBitWidth(), value);
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, bits));
  }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  Value add(Value lhs, uint64_t rhs) { return add(lhs, constant(lhs, rhs)); }
  Value exclusiveOr(Value lhs, Value rhs) {
    return arith::XOrIOp::create(b, lhs, rhs);
  }
  Value rotateLeft(Value value, unsigned by) {
    Value left = arith::ShLIOp::create(b, value, constant(value, by));
    Value right = arith::ShRUIOp::create(b, value, constant(value, 32 - by));
    return arith::OrIOp::create(b, left, right);
  }

  /// The lower word of 64 bits, and the upper one.
  Words split(Value value) {
    Type word = b.getI32Type();
    Value upper = arith::ShRUIOp::create(b, value, constant(value, 32));
    return {arith::TruncIOp::create(b, word, value),
            arith::TruncIOp::create(b, word, upper)};
  }
  Value join(Value lower, Value upper) {
    Type type = b.getI64Type();
    Value high = arith::ExtUIOp::create(b, type, upper);
    high = arith::ShLIOp::create(b, high, constant(high, 32));
    return arith::OrIOp::create(b, arith::ExtUIOp::create(b, type, lower),
                                high);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Two words of a key and a counter of two words.
static Words emitThreeFry(IntegerBuilder i, Words key, Words x) {
  static constexpr unsigned rotations[2][4] = {{13, 15, 26, 6},
                                               {17, 29, 16, 24}};
  Value parity = i.exclusiveOr(key[0], key[1]);
  key.push_back(i.exclusiveOr(parity, i.constant(parity, 0x1BD11BDA)));
  auto addKey = [&](unsigned number) {
    x[0] = i.add(x[0], key[number % 3]);
    x[1] = i.add(i.add(x[1], key[(number + 1) % 3]), number);
  };
  addKey(0);
  for (unsigned number = 1; number <= 5; ++number) {
    for (unsigned rotation : rotations[(number - 1) % 2]) {
      x[0] = i.add(x[0], x[1]);
      x[1] = i.exclusiveOr(i.rotateLeft(x[1], rotation), x[0]);
    }
    addKey(number);
  }
  return x;
}

/// Four words of a key and a counter of four words.
static Words emitPhilox(IntegerBuilder i, Words key, Words x) {
  auto multiply = [&](Value word, uint64_t factor) {
    return arith::MulUIExtendedOp::create(i.b, word, i.constant(word, factor));
  };
  for (unsigned round = 0; round < 10; ++round) {
    auto first = multiply(x[0], 0xD2511F53),
         second = multiply(x[2], 0xCD9E8D57);
    x = {i.exclusiveOr(i.exclusiveOr(second.getHigh(), x[1]), key[0]),
         second.getLow(),
         i.exclusiveOr(i.exclusiveOr(first.getHigh(), x[3]), key[1]),
         first.getLow()};
    key = {i.add(key[0], 0x9E3779B9), i.add(key[1], 0xBB67AE85)};
  }
  return x;
}

//===----------------------------------------------------------------------===//
// rng-bit-generator
//===----------------------------------------------------------------------===//

namespace {
/// An instruction: its state, a key and one or two numbers that count blocks,
/// the lower one first, and what it makes.
struct Generator {
  HLOConverter &c;
  bool isPhilox;
  SmallVector<Value> state;
  RankedTensorType data;
  IntegerBuilder i = {c.b};

  Value emitElement(ValueRange index);
  SmallVector<Value> getNextState();
  Value select(Value number, ArrayRef<Value> values);

private:
  bool isWide() const { return data.getElementTypeBitWidth() == 64; }
  int64_t getSplitDimension() const;
  int64_t countBlocks() const;
  SmallVector<Value> advance(Value blocks);
  Words emitBlock(Value number);
  Value getPosition(ValueRange index, ArrayRef<int64_t> sizes);
};
} // namespace

/// Of two words that ThreeFry makes of a counter, the second is that of the
/// next element along a dimension: of the first of even size, or the largest.
int64_t Generator::getSplitDimension() const {
  ArrayRef<int64_t> sizes = data.getShape();
  const auto *even = llvm::find_if(sizes, [](int64_t n) { return n % 2 == 0; });
  const auto *found = even == sizes.end() ? llvm::max_element(sizes) : even;
  return found - sizes.begin();
}

int64_t Generator::countBlocks() const {
  int64_t elements = data.getNumElements();
  if (isPhilox)
    return llvm::divideCeil(elements, isWide() ? 2 : 4);
  if (isWide() || data.getRank() == 0 || elements == 0)
    return elements;
  int64_t size = data.getDimSize(getSplitDimension());
  return elements / size * llvm::divideCeil(size, 2);
}

/// The two numbers of the state, some blocks later. Of a state without an upper
/// number XLA takes the key for it.
SmallVector<Value> Generator::advance(Value blocks) {
  Value low = i.add(state[1], blocks), high = state[state.size() == 3 ? 2 : 0];
  Value hasCarry =
      arith::CmpIOp::create(c.b, arith::CmpIPredicate::ult, low, state[1]);
  Value carry = arith::ExtUIOp::create(c.b, c.b.getI64Type(), hasCarry);
  return {low, i.add(high, carry)};
}

SmallVector<Value> Generator::getNextState() {
  SmallVector<Value> next{state[0]};
  llvm::append_range(next, advance(i.constant(state[0], countBlocks())));
  next.truncate(state.size());
  return next;
}

/// The words of a block.
Words Generator::emitBlock(Value number) {
  number = arith::IndexCastOp::create(c.b, c.b.getI64Type(), number);
  Words key = i.split(state[0]);
  SmallVector<Value> counter = advance(number);
  if (!isPhilox)
    return emitThreeFry(i, key, i.split(counter[0]));
  Words words = i.split(counter[0]);
  llvm::append_range(words, i.split(counter[1]));
  return emitPhilox(i, key, words);
}

/// The number of an element in row-major order.
Value Generator::getPosition(ValueRange index, ArrayRef<int64_t> sizes) {
  AffineExpr position = c.b.getAffineConstantExpr(0);
  for (auto [dim, size] : llvm::enumerate(sizes))
    position = position * size + c.b.getAffineDimExpr(dim);
  return c.affine(position, index);
}

/// The value of a number.
Value Generator::select(Value number, ArrayRef<Value> values) {
  Value result = values[0];
  for (size_t k = 1; k < values.size(); ++k) {
    Value isThis = arith::CmpIOp::create(c.b, arith::CmpIPredicate::eq, number,
                                         c.constantIndex(k));
    result = arith::SelectOp::create(c.b, isThis, values[k], result);
  }
  return result;
}

Value Generator::emitElement(ValueRange index) {
  SmallVector<int64_t> sizes(data.getShape());
  SmallVector<Value> position(index);
  AffineExpr d0 = c.b.getAffineDimExpr(0);
  Value lane = c.constantIndex(0);
  bool isSplit = !isPhilox && !isWide() && !sizes.empty();
  if (isSplit) {
    int64_t dim = getSplitDimension();
    sizes[dim] = llvm::divideCeil(sizes[dim], 2);
    position[dim] = c.affine(d0.floorDiv(2), index[dim]);
    lane = c.affine(d0 % 2, index[dim]);
  }
  Value block = getPosition(position, sizes);
  if (isPhilox) {
    int64_t count = isWide() ? 2 : 4;
    lane = c.affine(d0 % count, block);
    block = c.affine(d0.floorDiv(count), block);
  }
  Words words = emitBlock(block);
  if (isWide() && isPhilox)
    words = {i.join(words[0], words[1]), i.join(words[2], words[3])};
  else if (isWide())
    words = {i.join(words[0], words[1])};
  Value result = select(lane, words);
  Type type = data.getElementType();
  return result.getType() == type
             ? result
             : arith::TruncIOp::create(c.b, type, result).getResult();
}

/// Whether the algorithm is Philox, which XLA's CPU backend takes where the
/// text leaves the choice to it.
static FailureOr<bool> getAlgorithm(InstructionOp op) {
  StringRef text = getText(op, "algorithm");
  if (text == "rng_philox" || text == "rng_default")
    return true;
  if (text == "rng_three_fry")
    return false;
  return emitUnsupported(op, "algorithm",
                         "rng_default, rng_philox or rng_three_fry",
                         text.empty() ? "none" : text);
}

/// Whether arrays of such types are a state, a state again, and random bits.
static bool areTypes(ArrayRef<Type> types, bool isPhilox) {
  auto isArray = [](Type type, ArrayRef<unsigned> widths) {
    auto array = cast<RankedTensorType>(type);
    auto element = dyn_cast<IntegerType>(array.getElementType());
    return element && array.hasStaticShape() &&
           llvm::is_contained(widths, element.getWidth());
  };
  if (types.size() != 3 || !isArray(types[0], 64) || !isArray(types[1], 64) ||
      !isArray(types[2], {8, 16, 32, 64}))
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(types[0]).getShape();
  return shape == cast<RankedTensorType>(types[1]).getShape() &&
         shape.size() == 1 && (shape[0] == 2 || (isPhilox && shape[0] == 3));
}

static LogicalResult convertRngBitGenerator(HLOConverter &c, InstructionOp op) {
  FailureOr<bool> isPhilox = getAlgorithm(op);
  if (failed(isPhilox))
    return failure();
  SmallVector<Type> types = getSignlessLeaves(op.getOperands().getTypes());
  llvm::append_range(types, getSignlessLeaves(op.getType()));
  if (!areTypes(types, *isPhilox) || c.isScalar())
    return emitUnsupported(op, "types",
                           "a state of u64[2], or u64[3] of Philox, and "
                           "integers of 8, 16, 32 or 64 bits");
  Value array = c.getLeaves(op.getOperand(0)).front();
  auto data = cast<RankedTensorType>(types[2]);
  Generator generator{c, *isPhilox, {}, data};
  int64_t size = getArrayType(array).getDimSize(0);
  for (int64_t k = 0; k < size; ++k)
    generator.state.push_back(
        tensor::ExtractOp::create(c.b, array, c.constantIndex(k)));
  SmallVector<Value> next = generator.getNextState();
  Elements state = c.generate(types[1], [&](ValueRange index) -> Elements {
    return SmallVector<Value>{generator.select(index[0], next)};
  });
  Elements bits = c.generate(types[2], [&](ValueRange index) -> Elements {
    return SmallVector<Value>{generator.emitElement(index)};
  });
  c.setLeaves(op.getResult(), {state->front(), bits->front()});
  return success();
}

void hlo::populateRandomConversions(InstructionConversions &conversions) {
  conversions.instructions["rng-bit-generator"] = convertRngBitGenerator;
}
