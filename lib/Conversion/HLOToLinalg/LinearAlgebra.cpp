//===- LinearAlgebra.cpp - Decompositions and triangular systems ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last two dimensions are those of matrices, the ones before count them.
// Each algorithm is the textbook's, with loops over whole rows and columns:
// what is not in its range is selected away.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/HLOToLinalg.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::hlo;

namespace {
/// Emits what algorithms on matrices consist of.
struct MatrixBuilder {
  HLOConverter &c;
  /// Where the matrix is among those of an array.
  SmallVector<Value> batch = {};

  ImplicitLocOpBuilder &b() { return c.b; }
  Value is(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(c.b, predicate, lhs, rhs);
  }
  Value isBelow(Value lhs, Value rhs) {
    return is(arith::CmpIPredicate::ult, lhs, rhs);
  }
  Value isEqual(Value lhs, Value rhs) {
    return is(arith::CmpIPredicate::eq, lhs, rhs);
  }
  Value select(Value condition, Value then, Value otherwise) {
    return arith::SelectOp::create(c.b, condition, then, otherwise);
  }
  Value multiply(Value lhs, Value rhs) {
    return arith::MulFOp::create(c.b, lhs, rhs);
  }
  Value add(Value lhs, Value rhs) {
    return arith::AddFOp::create(c.b, lhs, rhs);
  }
  Value subtract(Value lhs, Value rhs) {
    return arith::SubFOp::create(c.b, lhs, rhs);
  }
  Value divide(Value lhs, Value rhs) {
    return arith::DivFOp::create(c.b, lhs, rhs);
  }

  SmallVector<Value> getIndex(ValueRange last) {
    SmallVector<Value> index(batch);
    llvm::append_range(index, last);
    return index;
  }
  Value load(Value array, ValueRange index) {
    return tensor::ExtractOp::create(c.b, array, getIndex(index));
  }
  Value store(Value element, Value array, ValueRange index) {
    return tensor::InsertOp::create(c.b, element, array, getIndex(index));
  }

  /// The sum of what `getTerm` gives for each number below `size` for which
  /// `isTerm` is true.
  Value sum(int64_t size, Type type, llvm::function_ref<Value(Value)> isTerm,
            llvm::function_ref<Value(Value)> getTerm) {
    Value zero = createScalar(c.b, type, 0);
    Elements total = buildLoops(
        c.b, size, zero, [&](ValueRange k, ValueRange sum) -> Elements {
          Value next = add(sum[0], getTerm(k[0]));
          return SmallVector<Value>{select(isTerm(k[0]), next, sum[0])};
        });
    return total->front();
  }

  /// Loops that write arrays; results are what the body leaves of them.
  SmallVector<Value>
  loop(ArrayRef<int64_t> sizes, ValueRange arrays,
       llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
    return *buildTensorLoops(
        c.b, sizes, arrays,
        [&](ValueRange index, ValueRange values) -> Elements {
          return body(index, values);
        });
  }

  /// The same for each matrix of an array whose first dimensions are `sizes`.
  SmallVector<Value>
  forEachMatrix(ArrayRef<int64_t> sizes, ValueRange arrays,
                llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
    return loop(sizes, arrays, [&](ValueRange index, ValueRange values) {
      batch = SmallVector<Value>(index);
      return body(values);
    });
  }
};
} // namespace

/// The operand as matrices of f32 or f64; null after a diagnostic.
static RankedTensorType getMatrices(InstructionOp op, unsigned operand,
                                    bool isSquare) {
  if (operand < op.getOperands().size()) {
    auto type = dyn_cast<RankedTensorType>(op.getOperand(operand).getType());
    bool isMatrix = type && type.hasStaticShape() && type.getRank() >= 2 &&
                    isa<Float32Type, Float64Type>(type.getElementType());
    int64_t rank = isMatrix ? type.getRank() : 0;
    if (isMatrix &&
        (!isSquare || type.getDimSize(rank - 1) == type.getDimSize(rank - 2)))
      return type;
  }
  (void)emitUnsupported(op, "operands",
                        isSquare ? "square matrices of f32 or f64"
                                 : "matrices of f32 or f64");
  return {};
}

/// The result as arrays of such shapes and types; failure after a diagnostic.
static FailureOr<SmallVector<Type>>
getResults(HLOConverter &c, InstructionOp op,
           ArrayRef<std::pair<SmallVector<int64_t>, Type>> wanted) {
  SmallVector<Type> types = getSignlessLeaves(op.getType());
  bool isRight = types.size() == wanted.size() && !c.isScalar();
  for (size_t i = 0; isRight && i < types.size(); ++i) {
    auto type = cast<RankedTensorType>(types[i]);
    isRight = type.getShape() == ArrayRef(wanted[i].first) &&
              type.getElementType() == wanted[i].second;
  }
  if (!isRight)
    return emitUnsupported(op, "result", "that of the operands' shapes");
  return types;
}

/// The result of an instruction that makes square matrices of its operand's;
/// failure after a diagnostic.
static FailureOr<RankedTensorType> getSquares(HLOConverter &c,
                                              InstructionOp op) {
  RankedTensorType type = getMatrices(op, 0, /*isSquare=*/true);
  if (!type)
    return failure();
  auto types = getResults(
      c, op, {{SmallVector<int64_t>(type.getShape()), type.getElementType()}});
  if (failed(types))
    return failure();
  return cast<RankedTensorType>(types->front());
}

static SmallVector<Value> createEmpty(HLOConverter &c, ArrayRef<Type> types) {
  SmallVector<Value> arrays;
  for (Type type : types)
    arrays.push_back(EmptyOp::create(c.b, type, ValueRange()));
  return arrays;
}

//===----------------------------------------------------------------------===//
// Cholesky decomposition
//===----------------------------------------------------------------------===//

/// L of A = L L^T, or, of A's upper triangle, U of U^T U; zeros elsewhere.
static LogicalResult emitCholesky(HLOConverter &c, InstructionOp op,
                                  bool isLower) {
  FailureOr<RankedTensorType> type = getSquares(c, op);
  if (failed(type))
    return failure();
  Type element = type->getElementType();
  Value source = c.getLeaves(op.getOperand(0)).front();
  int64_t n = type->getShape().back();
  MatrixBuilder m{c};
  auto at = [&](Value row, Value column) {
    return isLower ? SmallVector<Value>{row, column}
                   : SmallVector<Value>{column, row};
  };
  // Columns from left to right, each from its diagonal down.
  auto emitMatrix = [&](ValueRange arrays) {
    return m.loop({n, n}, arrays, [&](ValueRange index, ValueRange values) {
      Value j = index[0], i = index[1], result = values[0];
      Value sum = m.sum(
          n, element, [&](Value k) { return m.isBelow(k, j); },
          [&](Value k) {
            return m.multiply(m.load(result, at(i, k)),
                              m.load(result, at(j, k)));
          });
      Value left = m.subtract(m.load(source, at(i, j)), sum);
      Value diagonal = math::SqrtOp::create(c.b, left);
      Value below = m.divide(left, m.load(result, at(j, j)));
      Value entry = m.select(m.isEqual(i, j), diagonal, below);
      entry = m.select(m.isBelow(i, j), createScalar(c.b, element, 0), entry);
      return SmallVector<Value>{m.store(entry, result, at(i, j))};
    });
  };
  c.setLeaves(op.getResult(),
              m.forEachMatrix(type->getShape().drop_back(2),
                              createEmpty(c, Type(*type)), emitMatrix));
  return success();
}

static LogicalResult convertCholesky(HLOConverter &c, InstructionOp op) {
  return emitCholesky(c, op, getText(op, "lower") == "true");
}

static LogicalResult convertLowerCholesky(HLOConverter &c, InstructionOp op) {
  return emitCholesky(c, op, /*isLower=*/true);
}

//===----------------------------------------------------------------------===//
// Triangular systems
//===----------------------------------------------------------------------===//

namespace {
/// op(A) X = B or X op(A) = B, where op may transpose.
struct TriangularSystem {
  HLOConverter &c;
  /// A, and the size of its sides.
  Value matrix;
  int64_t size;
  bool isLower, isTransposed = false, isUnit = false, isLeft = true;

  /// X in arrays of a type; `getRight` gives the element of B at a position.
  Value solve(RankedTensorType type,
              llvm::function_ref<Value(MatrixBuilder &, ValueRange)> getRight);
};
} // namespace

Value TriangularSystem::solve(
    RankedTensorType type,
    llvm::function_ref<Value(MatrixBuilder &, ValueRange)> getRight) {
  MatrixBuilder m{c};
  // X op(A) = B is op(A)^T X^T = B^T.
  bool readsTransposed = isTransposed == isLeft;
  bool isForward = isLower != readsTransposed;
  int64_t count = type.getDimSize(type.getRank() - (isLeft ? 1 : 2));
  auto at = [](bool isSwapped, Value row, Value column) {
    return isSwapped ? SmallVector<Value>{column, row}
                     : SmallVector<Value>{row, column};
  };
  auto getNumber = [&](Value step) {
    AffineExpr d0 = c.b.getAffineDimExpr(0);
    return isForward ? step : c.affine(size - 1 - d0, step);
  };
  auto emitMatrix = [&](ValueRange arrays) {
    // Each column needs those of its elements that are known.
    return m.loop(
        {size, count}, arrays, [&](ValueRange index, ValueRange values) {
          Value i = getNumber(index[0]), j = index[1], result = values[0];
          Value sum = m.sum(
              size, type.getElementType(),
              [&](Value step) { return m.isBelow(step, index[0]); },
              [&](Value step) {
                Value k = getNumber(step);
                return m.multiply(m.load(matrix, at(readsTransposed, i, k)),
                                  m.load(result, at(!isLeft, k, j)));
              });
          SmallVector<Value> position = at(!isLeft, i, j);
          Value entry = m.subtract(getRight(m, position), sum);
          if (!isUnit)
            entry = m.divide(entry, m.load(matrix, {i, i}));
          return SmallVector<Value>{m.store(entry, result, position)};
        });
  };
  return m
      .forEachMatrix(type.getShape().drop_back(2), createEmpty(c, Type(type)),
                     emitMatrix)
      .front();
}

static LogicalResult convertTriangularSolve(HLOConverter &c, InstructionOp op) {
  RankedTensorType matrices = getMatrices(op, 0, /*isSquare=*/true);
  RankedTensorType right = getMatrices(op, 1, /*isSquare=*/false);
  if (!matrices || !right)
    return failure();
  Type element = matrices.getElementType();
  auto types =
      getResults(c, op, {{SmallVector<int64_t>(right.getShape()), element}});
  bool isLeft = getText(op, "left_side") == "true";
  int64_t n = matrices.getShape().back();
  if (failed(types))
    return failure();
  if (right.getElementType() != element ||
      right.getShape().drop_back(2) != matrices.getShape().drop_back(2) ||
      right.getDimSize(right.getRank() - (isLeft ? 2 : 1)) != n)
    return emitUnsupported(op, "operands", "matrices of one system");
  StringRef transposed = getText(op, "transpose_a");
  TriangularSystem system{c,
                          c.getLeaves(op.getOperand(0)).front(),
                          n,
                          getText(op, "lower") == "true",
                          transposed == "TRANSPOSE" || transposed == "ADJOINT",
                          getText(op, "unit_diagonal") == "true",
                          isLeft};
  Value b = c.getLeaves(op.getOperand(1)).front();
  c.setLeaves(op.getResult(),
              system.solve(cast<RankedTensorType>(types->front()),
                           [&](MatrixBuilder &m, ValueRange position) {
                             return m.load(b, position);
                           }));
  return success();
}

/// The inverses of triangular matrices.
template <bool isLower>
static LogicalResult convertInverse(HLOConverter &c, InstructionOp op) {
  FailureOr<RankedTensorType> type = getSquares(c, op);
  if (failed(type))
    return failure();
  Type element = type->getElementType();
  TriangularSystem system{c, c.getLeaves(op.getOperand(0)).front(),
                          type->getShape().back(), isLower};
  auto getIdentity = [&](MatrixBuilder &m, ValueRange position) {
    return m.select(m.isEqual(position[0], position[1]),
                    createScalar(c.b, element, 1),
                    createScalar(c.b, element, 0));
  };
  c.setLeaves(op.getResult(), system.solve(*type, getIdentity));
  return success();
}

//===----------------------------------------------------------------------===//
// LU decomposition
//===----------------------------------------------------------------------===//

/// The first row from `k` on that has the largest absolute value in column `k`.
static Value findPivot(MatrixBuilder &m, Value matrix, Value k, int64_t rows,
                       Type element) {
  Value none = createScalar(m.b(), element, -1);
  Elements found = buildLoops(
      m.b(), rows, {none, k}, [&](ValueRange i, ValueRange best) -> Elements {
        Value size = math::AbsFOp::create(m.b(), m.load(matrix, {i[0], k}));
        Value isLarger = arith::CmpFOp::create(m.b(), arith::CmpFPredicate::OGT,
                                               size, best[0]);
        Value isCandidate = m.is(arith::CmpIPredicate::uge, i[0], k);
        Value isBest = arith::AndIOp::create(m.b(), isLarger, isCandidate);
        return SmallVector<Value>{m.select(isBest, size, best[0]),
                                  m.select(isBest, i[0], best[1])};
      });
  return found->back();
}

/// The array with the elements at two indices in each other's place.
static Value swap(MatrixBuilder &m, Value array, ValueRange lhs,
                  ValueRange rhs) {
  Value left = m.load(array, lhs), right = m.load(array, rhs);
  return m.store(left, m.store(right, array, lhs), rhs);
}

/// One step of elimination with a pivot; of the matrix, the pivots and the
/// permutation of rows.
static SmallVector<Value> eliminate(MatrixBuilder &m, Value k,
                                    ArrayRef<int64_t> sizes, ValueRange values,
                                    Type element) {
  Value pivot = findPivot(m, values[0], k, sizes[0], element);
  Type number = getArrayType(values[1]).getElementType();
  Value pivots =
      m.store(arith::IndexCastOp::create(m.b(), number, pivot), values[1], k);
  Value permutation = swap(m, values[2], k, pivot);
  Value swapped =
      m.loop(sizes[1], values[0], [&](ValueRange j, ValueRange matrix) {
         return SmallVector<Value>{
             swap(m, matrix[0], {k, j[0]}, {pivot, j[0]})};
       }).front();
  Value scaled =
      m.loop(sizes[0], swapped, [&](ValueRange i, ValueRange matrix) {
         Value entry = m.load(matrix[0], {i[0], k});
         Value factor = m.divide(entry, m.load(matrix[0], {k, k}));
         Value result = m.select(m.isBelow(k, i[0]), factor, entry);
         return SmallVector<Value>{m.store(result, matrix[0], {i[0], k})};
       }).front();
  Value reduced =
      m.loop(sizes, scaled, [&](ValueRange index, ValueRange matrix) {
         Value i = index[0], j = index[1];
         Value entry = m.load(matrix[0], {i, j});
         Value difference =
             m.subtract(entry, m.multiply(m.load(matrix[0], {i, k}),
                                          m.load(matrix[0], {k, j})));
         Value isLeft =
             arith::AndIOp::create(m.b(), m.isBelow(k, i), m.isBelow(k, j));
         Value result = m.select(isLeft, difference, entry);
         return SmallVector<Value>{m.store(result, matrix[0], {i, j})};
       }).front();
  return {reduced, pivots, permutation};
}

/// L and U in one matrix, the row that each step swapped its own with, and
/// where each row comes from.
static LogicalResult convertLu(HLOConverter &c, InstructionOp op) {
  RankedTensorType type = getMatrices(op, 0, /*isSquare=*/false);
  if (!type)
    return failure();
  Type element = type.getElementType(), number = c.b.getI32Type();
  ArrayRef<int64_t> batch = type.getShape().drop_back(2);
  ArrayRef<int64_t> sizes = type.getShape().take_back(2);
  SmallVector<int64_t> steps(batch), rows(batch);
  steps.push_back(std::min(sizes[0], sizes[1]));
  rows.push_back(sizes[0]);
  auto types = getResults(c, op,
                          {{SmallVector<int64_t>(type.getShape()), element},
                           {steps, number},
                           {rows, number}});
  if (failed(types))
    return failure();
  SmallVector<Value> arrays = createEmpty(c, *types);
  arrays[0] = c.relayout(c.getLeaves(op.getOperand(0)).front(), types->front());
  MatrixBuilder m{c};
  auto emitMatrix = [&](ValueRange values) {
    SmallVector<Value> state(values);
    state[2] = m.loop(sizes[0], state[2], [&](ValueRange i, ValueRange rows) {
                  Value row = arith::IndexCastOp::create(c.b, number, i[0]);
                  return SmallVector<Value>{m.store(row, rows[0], i)};
                }).front();
    return m.loop(steps.back(), state, [&](ValueRange k, ValueRange values) {
      return eliminate(m, k[0], sizes, values, element);
    });
  };
  c.setLeaves(op.getResult(), m.forEachMatrix(batch, arrays, emitMatrix));
  return success();
}

//===----------------------------------------------------------------------===//
// QR decomposition
//===----------------------------------------------------------------------===//

/// Step `k` by a reflection I - tau v v^T that makes column `k` zero below its
/// diagonal; v is 1 there, and what is below it is kept in the column.
static SmallVector<Value> reflect(MatrixBuilder &m, Value k,
                                  ArrayRef<int64_t> sizes, ValueRange values,
                                  Type element) {
  Value matrix = values[0];
  auto isBehind = [&](Value i) { return m.isBelow(k, i); };
  Value zero = createScalar(m.b(), element, 0);
  Value squares = m.sum(sizes[0], element, isBehind, [&](Value i) {
    Value entry = m.load(matrix, {i, k});
    return m.multiply(entry, entry);
  });
  Value isDone =
      arith::CmpFOp::create(m.b(), arith::CmpFPredicate::OEQ, squares, zero);
  Value alpha = m.load(matrix, {k, k});
  Value norm =
      math::SqrtOp::create(m.b(), m.add(m.multiply(alpha, alpha), squares));
  Value isNegative =
      arith::CmpFOp::create(m.b(), arith::CmpFPredicate::OLT, alpha, zero);
  Value beta = m.select(isNegative, norm, m.subtract(zero, norm));
  beta = m.select(isDone, alpha, beta);
  Value tau = m.select(isDone, zero, m.divide(m.subtract(beta, alpha), beta));
  Value scale = m.select(isDone, createScalar(m.b(), element, 1),
                         m.subtract(alpha, beta));
  Value column =
      m.loop(sizes[0], matrix, [&](ValueRange i, ValueRange matrix) {
         Value entry = m.load(matrix[0], {i[0], k});
         Value result = m.select(isBehind(i[0]), m.divide(entry, scale), entry);
         result = m.select(m.isEqual(i[0], k), beta, result);
         return SmallVector<Value>{m.store(result, matrix[0], {i[0], k})};
       }).front();
  // v of the column, for rows from k on.
  auto getFactor = [&](Value matrix, Value i) {
    return m.select(m.isEqual(i, k), createScalar(m.b(), element, 1),
                    m.load(matrix, {i, k}));
  };
  Value reflected =
      m.loop(sizes[1], column, [&](ValueRange j, ValueRange matrix) {
         auto isHere = [&](Value i) {
           return m.is(arith::CmpIPredicate::uge, i, k);
         };
         Value product = m.sum(sizes[0], element, isHere, [&](Value i) {
           return m.multiply(getFactor(matrix[0], i),
                             m.load(matrix[0], {i, j[0]}));
         });
         Value length = m.multiply(tau, product);
         return m.loop(sizes[0], matrix, [&](ValueRange i, ValueRange matrix) {
           Value entry = m.load(matrix[0], {i[0], j[0]});
           Value difference = m.subtract(
               entry, m.multiply(length, getFactor(matrix[0], i[0])));
           Value isLeft =
               arith::AndIOp::create(m.b(), isHere(i[0]), m.isBelow(k, j[0]));
           Value result = m.select(isLeft, difference, entry);
           return SmallVector<Value>{m.store(result, matrix[0], {i[0], j[0]})};
         });
       }).front();
  return {reflected, m.store(tau, values[1], k)};
}

/// R, with the vectors of reflections below it, and their factors.
static LogicalResult convertQr(HLOConverter &c, InstructionOp op) {
  RankedTensorType type = getMatrices(op, 0, /*isSquare=*/false);
  if (!type)
    return failure();
  Type element = type.getElementType();
  ArrayRef<int64_t> batch = type.getShape().drop_back(2);
  ArrayRef<int64_t> sizes = type.getShape().take_back(2);
  SmallVector<int64_t> steps(batch);
  steps.push_back(std::min(sizes[0], sizes[1]));
  auto types = getResults(
      c, op,
      {{SmallVector<int64_t>(type.getShape()), element}, {steps, element}});
  if (failed(types))
    return failure();
  SmallVector<Value> arrays = createEmpty(c, *types);
  arrays[0] = c.relayout(c.getLeaves(op.getOperand(0)).front(), types->front());
  MatrixBuilder m{c};
  auto emitMatrix = [&](ValueRange values) {
    return m.loop(steps.back(), values, [&](ValueRange k, ValueRange values) {
      return reflect(m, k[0], sizes, values, element);
    });
  };
  c.setLeaves(op.getResult(), m.forEachMatrix(batch, arrays, emitMatrix));
  return success();
}

/// T of a product of reflections I + V T V^T. The operand has their negated
/// factors on its diagonal, and above it the products of their vectors, each
/// column times its negated factor.
static LogicalResult convertCompactWy(HLOConverter &c, InstructionOp op) {
  FailureOr<RankedTensorType> type = getSquares(c, op);
  if (failed(type))
    return failure();
  Type element = type->getElementType();
  Value source = c.getLeaves(op.getOperand(0)).front();
  int64_t n = type->getShape().back();
  MatrixBuilder m{c};
  Value zero = createScalar(c.b, element, 0);
  auto emitMatrix = [&](ValueRange arrays) {
    return m.loop({n, n}, arrays, [&](ValueRange index, ValueRange values) {
      Value j = index[0], i = index[1], result = values[0];
      Value sum = m.sum(
          n, element, [&](Value k) { return m.isBelow(k, j); },
          [&](Value k) {
            return m.multiply(m.load(result, {i, k}), m.load(source, {k, j}));
          });
      Value entry = m.select(m.isBelow(i, j), sum, zero);
      entry = m.select(m.isEqual(i, j), m.load(source, {j, j}), entry);
      return SmallVector<Value>{m.store(entry, result, {i, j})};
    });
  };
  c.setLeaves(op.getResult(),
              m.forEachMatrix(type->getShape().drop_back(2),
                              createEmpty(c, Type(*type)), emitMatrix));
  return success();
}

void hlo::populateLinearAlgebraConversions(
    InstructionConversions &conversions) {
  llvm::StringMap<ConvertInstruction> &table = conversions.instructions;
  table["cholesky"] = convertCholesky;
  table["triangular-solve"] = convertTriangularSolve;
  table["custom-call:Cholesky"] = convertLowerCholesky;
  table["custom-call:CompactWyHelper"] = convertCompactWy;
  table["custom-call:InvertDiagBlocksLowerTriangular"] =
      convertInverse</*isLower=*/true>;
  table["custom-call:InvertDiagBlocksUpperTriangular"] =
      convertInverse</*isLower=*/false>;
  table["custom-call:LuRealDecompositionBlock"] = convertLu;
  table["custom-call:QrDecompositionBlock"] = convertQr;
}
