//===- HLOToLinalg.h - HLO instructions as upstream operations --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most opcodes say of each element of the result which elements of the operands
// it is computed from. So that is what an opcode has here: a function that
// emits the element at an index. Around it the converter puts one
// `linalg.generic` over the result; in the body of a reduction the same
// function works on scalars. Opcodes that are not of this form (loops, calls,
// tuples) convert the instruction as a whole.
//
// Example: `reverse` of dimension 0 of f32[8] is
//
//   %r = linalg.generic outs(%empty) {
//     %i = linalg.index 0
//     %j = affine.apply affine_map<(d0) -> (7 - d0)>(%i)
//     %e = tensor.extract %operand[%j]
//     linalg.yield %e
//   }
//
// Tuples are taken apart: a value of HLO is the list of its leaves, the arrays
// in it. Tokens are no leaves.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_HLOTOLINALG_H
#define TESSERA_CONVERSION_HLOTOLINALG_H

#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"
#include "tessera/HLO/Windows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace tessera::hlo {

class FusionPlan;
class HLOConverter;
class LastUses;

/// Scalars, one for each leaf of a result; failure after a diagnostic.
using Elements = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// Emits the element of each leaf of the instruction's result at `index`.
using EmitElements = std::function<Elements(
    HLOConverter &converter, InstructionOp op, mlir::ValueRange index)>;

/// Emits the instruction and says what its leaves are, by `setLeaves`.
using ConvertInstruction = std::function<mlir::LogicalResult(
    HLOConverter &converter, InstructionOp op)>;

/// Which elements of an operand the element at an index of the result is
/// computed from.
enum class Reads : uint8_t {
  Array,     ///< Not said: the operand has to be an array in memory.
  SameIndex, ///< The one at the same index.
  Once,      ///< Of each element of the operand, no two results read it.
  Often,     ///< Any.
};

/// How the instruction reads operand number `operand`.
using GetReads = std::function<Reads(InstructionOp op, unsigned operand)>;

/// What is faster in a nest of its own than where its elements are read.
struct OwnNest {
  std::function<bool(InstructionOp op)> isFaster;
  ConvertInstruction convert;
};

/// What is known of each opcode, and of each custom call by
/// `custom-call:TARGET`. Others than ours may be added.
struct InstructionConversions {
  llvm::StringMap<EmitElements> elements;
  llvm::StringMap<ConvertInstruction> instructions;
  /// For opcodes of `elements`. An operand that they alone read may have no
  /// array: its elements are emitted where they are read (FusionPlan.h).
  llvm::StringMap<GetReads> reads;
  /// For opcodes of `elements`, too.
  llvm::StringMap<OwnNest> nests;

  bool hasOwnNest(InstructionOp op) const;
};

/// What reads all operands the same way.
GetReads readAll(Reads reads);

void populateElementwiseConversions(InstructionConversions &conversions);
void populateConvertConversions(InstructionConversions &conversions);
void populateMoveConversions(InstructionConversions &conversions);
void populateDynamicSliceConversions(InstructionConversions &conversions);
void populateGatherConversions(InstructionConversions &conversions);
void populateReductionConversions(InstructionConversions &conversions);
void populateConvolutionConversions(InstructionConversions &conversions);
void populateScatterConversions(InstructionConversions &conversions);
void populateSortConversions(InstructionConversions &conversions);
void populateControlConversions(InstructionConversions &conversions);
void populateAsyncConversions(InstructionConversions &conversions);
void populateCustomCallConversions(InstructionConversions &conversions);
void populateKernelConversions(InstructionConversions &conversions);
void populateLinearAlgebraConversions(InstructionConversions &conversions);
void populateRandomConversions(InstructionConversions &conversions);
void populateFourierConversions(InstructionConversions &conversions);

/// All of the above.
void populateHLOToLinalgConversions(InstructionConversions &conversions);

/// Converts all functions of a module of `tessera_hlo` instructions. What is
/// unsupported is diagnosed, all of it, and the module is of no use then.
mlir::LogicalResult
convertHLOToLinalg(mlir::ModuleOp module,
                   const InstructionConversions &conversions);

/// The type of a leaf as upstream's operations take it: without the sign of
/// integers.
mlir::Type getSignlessType(mlir::Type type);

/// The arrays in a type, in order; of an array the type itself.
llvm::SmallVector<mlir::RankedTensorType> getLeafTypes(mlir::Type type);

/// The arrays in types, without the sign of integers.
llvm::SmallVector<mlir::Type> getSignlessLeaves(mlir::TypeRange types);

/// Hands the operands on as what the result consists of.
mlir::LogicalResult convertForward(HLOConverter &converter, InstructionOp op);

/// Calls a computation with the operands.
mlir::LogicalResult convertCallOf(HLOConverter &converter, InstructionOp op,
                                  mlir::func::FuncOp computation);

/// The element at an index of the operands behind each other along a dimension.
Elements emitConcatenation(HLOConverter &converter, InstructionOp op,
                           mlir::ValueRange index, int64_t dimension);

/// `slice-start`, `slice-done` and the like of any opcode.
mlir::LogicalResult convertAsyncStep(HLOConverter &converter, InstructionOp op);

//===--- Attributes of instructions ---------------------------------------===//

/// The text of an attribute; empty where there is none.
llvm::StringRef getText(InstructionOp op, llvm::StringRef name);

/// The integers of `{0,2}`.
llvm::SmallVector<int64_t> getIntegers(InstructionOp op, llvm::StringRef name);
int64_t getInteger(InstructionOp op, llvm::StringRef name, int64_t otherwise);

/// The window of `rank` dimensions: of an attribute that is not there one that
/// does nothing. Failure after a diagnostic.
mlir::FailureOr<llvm::SmallVector<WindowDimension>> getWindow(InstructionOp op,
                                                              int64_t rank);

mlir::FailureOr<llvm::SmallVector<PaddingDimension>>
getPadding(InstructionOp op, int64_t rank);

/// Start, limit and stride of each dimension.
mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<int64_t, 4>>>
getSlices(InstructionOp op, int64_t rank);

/// Whether each of `numbers` is one from 0 to `limit` - 1; a diagnostic if not.
mlir::LogicalResult checkDimensions(InstructionOp op,
                                    llvm::ArrayRef<int64_t> numbers,
                                    int64_t limit);

/// An error about what an attribute or operand of the instruction is.
mlir::InFlightDiagnostic emitUnsupported(InstructionOp op,
                                         const llvm::Twine &field,
                                         const llvm::Twine &expected,
                                         const llvm::Twine &found);
/// The same where the types of the operands and the result were found.
mlir::InFlightDiagnostic emitUnsupported(InstructionOp op,
                                         const llvm::Twine &field,
                                         const llvm::Twine &expected);

/// Where instructions become operations.
class HLOConverter {
public:
  HLOConverter(mlir::ModuleOp module,
               const InstructionConversions &conversions);
  ~HLOConverter();

  mlir::LogicalResult convertModule();

  mlir::LogicalResult convertInstruction(InstructionOp op);

  /// Where operations are made, at the location of the instruction.
  mlir::ImplicitLocOpBuilder b;

  /// The leaves of a value that has been converted: tensors, or scalars in the
  /// body of a reduction.
  llvm::ArrayRef<mlir::Value> getLeaves(mlir::Value value) const {
    return leaves.find(value)->second;
  }
  /// Those of several values, one behind the other.
  llvm::SmallVector<mlir::Value> getAllLeaves(mlir::ValueRange values) const;
  void setLeaves(mlir::Value value, llvm::ArrayRef<mlir::Value> newLeaves);

  /// The element of an array at an index.
  mlir::Value getElement(mlir::Value array, mlir::ValueRange index);
  mlir::Value getElement(InstructionOp op, unsigned operand,
                         mlir::ValueRange index) {
    return getElement(op.getOperand(operand), index);
  }

  /// The type of the scalars that stand for elements of an array.
  mlir::Type getElementType(mlir::Value array) const;

  /// The results of a computation on scalars, by attribute `name` of `op`.
  Elements apply(InstructionOp op, llvm::StringRef name,
                 mlir::ValueRange arguments);
  Elements apply(mlir::func::FuncOp computation, mlir::ValueRange arguments);

  /// The function that attribute `name` refers to; null after a diagnostic.
  mlir::func::FuncOp getComputation(InstructionOp op, llvm::StringRef name);
  /// The one of `called_computations`.
  mlir::func::FuncOp getCalledComputation(InstructionOp op);
  mlir::func::FuncOp getComputation(InstructionOp op,
                                    mlir::FlatSymbolRefAttr name);

  /// Calls the converted function of a computation; results have `types`.
  llvm::SmallVector<mlir::Value> call(mlir::func::FuncOp computation,
                                      mlir::ValueRange arguments,
                                      mlir::TypeRange types);

  /// Adds a private function to the module, under another name where there is
  /// one of its name.
  mlir::func::FuncOp
  addFunction(mlir::OwningOpRef<mlir::func::FuncOp> function);

  /// Whether the body of a loop hands array `number` of its state on as it is.
  bool isInvariant(mlir::func::FuncOp body, unsigned number) const;

  /// Arrays of types of one static shape, with the elements that `emit` gives
  /// for each index.
  Elements generate(mlir::TypeRange types,
                    llvm::function_ref<Elements(mlir::ValueRange index)> emit);

  /// Arrays in the place of others, of the same types: `emit` gets the elements
  /// that these have at the index.
  Elements
  generateInPlace(mlir::ValueRange arrays,
                  llvm::function_ref<Elements(mlir::ValueRange index,
                                              mlir::ValueRange elements)>
                      emit);

  /// The array of each leaf of the operation's result, of the elements that are
  /// emitted for it.
  mlir::LogicalResult materialize(mlir::Operation *op);

  /// Adds up arrays as large as the leaves of the result, but of types that are
  /// wide enough, and makes the leaves of them. `loops` are dimensions of the
  /// iteration, outermost first, `sizes` the sizes of all of them; the first
  /// ones are the result's. `minor` is the dimension that is to be the most
  /// minor one in memory.
  mlir::LogicalResult
  accumulate(InstructionOp op, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> loops, int64_t minor,
             llvm::ArrayRef<mlir::Value> init,
             llvm::function_ref<Elements(mlir::ValueRange index,
                                         mlir::ValueRange values)>
                 emit);

  /// The same for sums of products of two arrays, `factors`, as an operation of
  /// linalg. Each is read at `indices`, sums of dimensions of the iteration.
  /// `emit` takes an element of each and the sum.
  mlir::LogicalResult
  contract(InstructionOp op, llvm::ArrayRef<int64_t> loops, int64_t minor,
           mlir::Value init, llvm::ArrayRef<mlir::Value> factors,
           llvm::ArrayRef<llvm::SmallVector<mlir::AffineExpr>> indices,
           llvm::function_ref<Elements(mlir::ValueRange elements)> emit);

  /// The array that an operand is, or null where its elements are emitted.
  mlir::Value getArray(mlir::Value array);

  /// The array with another layout, where it differs.
  mlir::Value relayout(mlir::Value array, mlir::Type type);

  /// Whether a computation on scalars is being emitted.
  bool isScalar() const { return !active.empty(); }

  /// Where set, computations on scalars take narrow floating-point numbers as
  /// f32, so that sums do not lose what bf16 cannot hold.
  bool widen = false;

  /// A number of an operand as an index from 0 to `limit`; what is beyond is
  /// the nearest of them.
  mlir::Value clampIndex(mlir::Value number, bool isUnsigned, int64_t limit);
  /// The index in a dimension of the input that the element of a window reads
  /// for an index of the output. Where it may be padding, a condition is added
  /// to `isElement`, which is null at first.
  mlir::Value getWindowIndex(const WindowDimension &window, mlir::Value output,
                             mlir::Value element, int64_t inputSize,
                             int64_t outputSize, mlir::Value &isElement);

  /// Arithmetic on indices.
  mlir::Value constantIndex(int64_t value);
  mlir::Value affine(mlir::AffineExpr expr, mlir::ValueRange operands);

private:
  void convertFunction(mlir::func::FuncOp function);
  mlir::LogicalResult convertOp(mlir::Operation *op);
  mlir::LogicalResult convertNumber(mlir::Operation *op);
  /// One nest, which writes over the array `known` if there is one: `emit` gets
  /// its element at the index, too.
  Elements generateOver(
      mlir::Value known, mlir::TypeRange types,
      llvm::function_ref<Elements(mlir::ValueRange index, mlir::Value known,
                                  mlir::Value element)>
          emit);
  /// Arrays of `init` in which sums are added up, and the leaves of the result
  /// that are made of them.
  llvm::SmallVector<mlir::Value> createSums(InstructionOp op, int64_t minor,
                                            llvm::ArrayRef<mlir::Value> init);
  void finishSums(InstructionOp op, llvm::ArrayRef<mlir::Value> sums);
  mlir::Value getNumber(mlir::Value leaf);
  /// The element of the head, and before it of all members of its group. That
  /// of the array `known` is `element`.
  Elements emitGroup(mlir::Operation *head, mlir::ValueRange index,
                     mlir::Value known = {}, mlir::Value element = {});
  Elements emitOperation(mlir::Operation *op, mlir::ValueRange index);
  mlir::Value emitFused(mlir::Operation *op,
                        llvm::function_ref<Elements()> emit);
  Elements emitElements(InstructionOp op, const EmitElements &emit,
                        mlir::ValueRange index);
  /// The type of scalars that stand for elements of a type.
  mlir::Type getScalarType(mlir::Type type) const;
  mlir::LogicalResult convertOther(mlir::Operation *op);
  mlir::LogicalResult convertScalar(mlir::Operation *op);
  void setPlaceholders(mlir::Operation *op);

  mlir::ModuleOp module;
  const InstructionConversions &conversions;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> leaves;
  /// The converted function of each one of the module.
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> converted;
  /// The computations on scalars that are being emitted.
  llvm::SmallVector<mlir::Operation *> active;
  /// Which instructions of the function have no array.
  std::unique_ptr<FusionPlan> plan;
  std::unique_ptr<LastUses> lastUses;
  /// Elements of the groups that are being emitted, innermost last.
  llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> groups;
  /// The elements of arrays without dimensions.
  llvm::DenseMap<mlir::Value, mlir::Value> numbers;
  /// What was found unsupported; said once.
  llvm::DenseSet<mlir::Operation *> diagnosed;
};

//===--- Types and scalars ------------------------------------------------===//

mlir::RankedTensorType getArrayType(mlir::Value value);

/// Whether integers of the array have no sign, as pred has none.
bool isUnsigned(mlir::Value array);

/// A number as a scalar of a type.
mlir::Value createScalar(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                         double value);

/// A scalar as one of another type, by XLA's rules: integers keep their low
/// bits, floating-point numbers saturate to integers, and NaN becomes 0. Says
/// nothing where there is no such conversion, and gives null.
mlir::Value convertScalar(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                          bool fromUnsigned, mlir::Type type, bool toUnsigned);

/// The integers whose signed order is the total order of floating-point
/// numbers, in which -0 is less than 0 and NaN the largest.
mlir::Value toTotalOrder(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

/// The dimensions of an array as memory has them, the most major one first.
llvm::SmallVector<int64_t> getMajorToMinor(mlir::RankedTensorType type);

/// Lets the compiler add up in another order, where `sum` adds to `value`.
void allowReassociation(mlir::Value sum, mlir::Value value);

/// The type in which numbers of `type` are added up.
mlir::Type getAccumulatorType(mlir::Type type);

/// A loop nest from 0 to `sizes`, with values that go from iteration to
/// iteration; what they are at the end.
Elements buildLoops(mlir::ImplicitLocOpBuilder &b,
                    llvm::ArrayRef<int64_t> sizes, mlir::ValueRange init,
                    llvm::function_ref<Elements(mlir::ValueRange index,
                                                mlir::ValueRange values)>
                        body);

/// The same, where values are arrays that are written in place.
Elements buildTensorLoops(mlir::ImplicitLocOpBuilder &b,
                          llvm::ArrayRef<int64_t> sizes, mlir::ValueRange init,
                          llvm::function_ref<Elements(mlir::ValueRange index,
                                                      mlir::ValueRange values)>
                              body);

/// `then` where the condition holds, `otherwise` elsewhere; neither is
/// evaluated in vain.
Elements buildIf(mlir::ImplicitLocOpBuilder &b, mlir::Value condition,
                 llvm::function_ref<Elements()> then,
                 llvm::function_ref<Elements()> otherwise);

} // namespace tessera::hlo

#endif // TESSERA_CONVERSION_HLOTOLINALG_H
