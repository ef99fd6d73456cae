//===- ProgramMaker.h - Makes random programs -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each statement emits its text and appends a step that computes the same on
// lists of elements. What a statement reads, it picks from the tensors in
// scope.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_COMPILE_PROGRAMMAKER_H
#define TESSERA_UNITTESTS_COMPILE_PROGRAMMAKER_H

#include "RandomPrograms.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace tessera {

/// The type of a tensor, with the sizes that it has at run time.
struct ArrayType {
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<bool> isDynamic;
  std::optional<Layout> layout;

  static ArrayType getStatic(llvm::ArrayRef<int64_t> dims,
                             std::optional<Layout> layout = std::nullopt);

  bool hasDynamicDims() const { return llvm::is_contained(isDynamic, true); }
  int64_t rank() const { return dims.size(); }
  int64_t numElements() const;
  /// The same without a layout.
  ArrayType plain() const { return {dims, isDynamic, std::nullopt}; }
  /// Dimension i is what dimension order[i] was; no layout.
  ArrayType permuted(llvm::ArrayRef<int64_t> order) const;
};

/// A value of the program; tensors and scalars are numbered together.
struct Tensor {
  unsigned number = 0;
  ArrayType type;
  std::string name() const { return "%v" + std::to_string(number); }
};

struct Scalar {
  unsigned number = 0;
  std::string name() const { return "%v" + std::to_string(number); }
};

using TensorValue = std::function<Elements(const ProgramState &)>;
using ScalarValue = std::function<int64_t(const ProgramState &)>;

/// The number of an element in row-major order.
int64_t rowMajor(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> index);
/// The inverse of rowMajor.
llvm::SmallVector<int64_t> indexOf(llvm::ArrayRef<int64_t> dims,
                                   int64_t position);
/// What a step that copies a tensor computes.
TensorValue copyOf(unsigned source);
/// The indices that the scalars hold.
llvm::SmallVector<int64_t> evaluate(const ProgramState &state,
                                    llvm::ArrayRef<Scalar> scalars);
/// `1, 2, 3`
std::string join(llvm::ArrayRef<int64_t> numbers);
/// `%v1, %v2`
std::string joinNames(llvm::ArrayRef<Scalar> scalars);

class ProgramMaker {
public:
  ProgramMaker(uint64_t seed, mlir::MLIRContext *context, int number,
               const ProgramOptions &options);

  RandomProgram make();

private:
  // Types.
  int64_t elementBits() const { return getBitWidth(program.type); }
  std::string element() const { return "i" + std::to_string(elementBits()); }
  uint64_t mask() const { return ~uint64_t(0) >> (64 - elementBits()); }
  std::string toText(const ArrayType &type) const;
  bool isLegal(const Layout &layout, llvm::ArrayRef<int64_t> dims) const;
  std::optional<Layout> makeLayout(const ArrayType &type);
  ArrayType makeRelaidOut(ArrayType type);
  ArrayType makeSmallType(int64_t maxElements);
  llvm::SmallVector<int64_t> makeOrder(int64_t rank);
  llvm::SmallVector<int64_t> makeBitcastOrder(const ArrayType &type);
  llvm::SmallVector<int64_t> makeFactors(int64_t count);
  /// Where the elements of an array are in its buffer, in row-major order.
  std::vector<int64_t> getPositions(const ArrayType &type) const;
  Shape getShape(const ArrayType &type) const;

  // Values in scope.
  unsigned nextNumber() { return numValues++; }
  Tensor pick();
  std::optional<Tensor> pickLike(const ArrayType &type);
  std::optional<Tensor> pickNonEmpty();

  // Texts of statements.
  void emit(const llvm::Twine &line) { text += line.str() + "\n"; }
  /// `%v = operation`, and what it computes.
  Tensor define(const ArrayType &type, const llvm::Twine &operation,
                TensorValue value);
  Scalar defineScalar(const llvm::Twine &operation, ScalarValue value);
  std::string dynamicSizes(const ArrayType &type);

  // Scalars.
  Scalar constant(int64_t value);
  Scalar elementConstant(uint64_t value);
  Scalar anyElement();
  Scalar anyIndex(int64_t size);
  llvm::SmallVector<Scalar> anyIndices(llvm::ArrayRef<int64_t> dims);
  Scalar extract(const Tensor &source);
  Scalar condition();

  // Tensors from nothing, by type.
  Tensor makeEmpty(const ArrayType &type);
  Tensor makeConstant(const ArrayType &type);
  Tensor arith(const Tensor &lhs, const Tensor &rhs);
  Tensor makeComputedConstant(const ArrayType &type);
  Tensor makeGenerated(const ArrayType &type);
  Tensor makeFromElements(const ArrayType &type);
  Tensor makeSplat(const ArrayType &type);
  Tensor makeFilled(const ArrayType &type);
  Tensor makeInserted(const ArrayType &type);
  Tensor makeSource(const ArrayType &type);
  Elements makeElements(int64_t count);
  std::string denseText(const ArrayType &type, const Elements &elements) const;

  // Tensors from others.
  Tensor relayout(const Tensor &source, const ArrayType &type,
                  llvm::StringRef mnemonic = "relayout");
  Tensor castTo(const Tensor &source, const ArrayType &type);
  Tensor convert(const Tensor &source, const ArrayType &type);
  /// Some tensor of this very type.
  Tensor valueOf(const ArrayType &type);
  Tensor bitcast(const Tensor &source, const ArrayType &type);
  ArrayType permuteInMemory(const ArrayType &type,
                            llvm::ArrayRef<int64_t> order) const;
  std::optional<ArrayType> tryBitcastType(const ArrayType &type);
  bool mayCast(const ArrayType &type) const;
  Tensor extractSlice(const Tensor &source, const struct SliceBounds &slice,
                      const ArrayType &type, llvm::StringRef offsets);
  /// `linalg.generic` over `out`; `read` is the position in `source` that an
  /// element of the result comes from.
  Tensor makeGeneric(const Tensor &source, const Tensor &out,
                     llvm::StringRef sourceMap,
                     std::function<int64_t(int64_t)> read);

  // Statements: operations that make tensors (ProgramSources.cpp).
  void addSource();
  void addSourceAndReader();

  // Statements: operations of the dialect (ProgramMoves.cpp).
  void addRelayout();
  void addAsynchronousCopy();
  void addReshape();
  void addBitcast();
  void addLinearize();
  void addDelinearize();
  void addStorageSize();

  // Statements: compute (ProgramCompute.cpp).
  void addElementwise();
  void addArith();
  void addIdentity();
  void addTranspose();
  void addBroadcast();
  void addReduce();
  void addReverse();
  void addGather();
  void addInsert();
  void addSelect();
  void addDim();

  // Statements: other shapes (ProgramShapes.cpp).
  void addCast();
  void addExtractSlice();
  void addInsertSlice();
  void addPad();
  void addConcat();
  void addCollapse();
  void addExpand();

  // Statements: control flow (ProgramControl.cpp).
  void addFor();
  void addIf();
  void addIndexSwitch();
  void addWhile();
  void addCall();
  void addBranches();

  void addStatement();
  void addAnyStatement();
  void addReader();

  /// Emits `count` statements, then `finish`; returns what they do.
  Steps makeBlock(int64_t count, llvm::function_ref<void()> finish);
  /// A block that ends with `scf.yield` of a tensor that becomes `result`.
  Steps makeYieldingBlock(const ArrayType &type, unsigned result,
                          llvm::StringRef end);
  /// Makes a function of these parameters by `makeBody`, which emits all in its
  /// braces, and returns its name.
  std::string makeFunction(llvm::ArrayRef<Tensor> parameters,
                           llvm::function_ref<std::string()> makeBody);
  /// A call of a function whose body is `steps`.
  void addCallOf(llvm::StringRef name, llvm::ArrayRef<Tensor> operands,
                 llvm::ArrayRef<Tensor> parameters,
                 llvm::ArrayRef<Tensor> returned, const Steps &body);
  std::vector<Tensor> makeParameters(llvm::ArrayRef<Tensor> operands);

  // Whole programs.
  std::string addView(RandomProgram::Array &array, llvm::StringRef buffer,
                      int64_t &offset);
  void addInput(int64_t &offset);
  void addOutput(const Tensor &tensor, int64_t &offset);

  RandomLayouts random;
  mlir::MLIRContext *context;
  int number;
  const ProgramOptions &options;
  RandomProgram program;
  std::string text;      ///< Of the function that is being made.
  std::string functions; ///< Those that it calls.
  unsigned numValues = 0, numFunctions = 0, numTransposes = 0, depth = 0;
  std::vector<Tensor> scope;
  std::vector<Scalar> indices; ///< Loop variables, sizes and positions.
  Steps steps;
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_COMPILE_PROGRAMMAKER_H
