//===- KernelConverter.h - Where kernels become tensors ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_MOSAICTOLINALG_KERNELCONVERTER_H
#define TESSERA_LIB_CONVERSION_MOSAICTOLINALG_KERNELCONVERTER_H

#include "tessera/Conversion/MosaicToLinalg.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace tessera::mosaic {

/// The part of an array that a memref is.
struct View {
  unsigned array = 0;
  /// Of all dimensions of the array; offsets are of type index.
  llvm::SmallVector<mlir::Value> offsets;
  llvm::SmallVector<int64_t> sizes;
  /// The dimensions of the array that are dimensions of the memref.
  llvm::SmallVector<unsigned> dims;
};

class KernelConverter;

/// Converts one operation; failure after a diagnostic.
using ConvertOp =
    std::function<llvm::LogicalResult(KernelConverter &, mlir::Operation *)>;

/// By the name of the operation. Elementwise operations of `arith` and `math`
/// need no entry.
struct KernelConversions {
  llvm::StringMap<ConvertOp> operations;
  /// The operand that the operation writes to.
  llvm::StringMap<std::function<mlir::Value(mlir::Operation *)>> written;
  /// Operations whose first operand is the memory that their result is part of.
  llvm::StringSet<> views;
};

void populateRegionConversions(KernelConversions &conversions);
void populateMemoryConversions(KernelConversions &conversions);
void populateVectorConversions(KernelConversions &conversions);
void populateContractionConversions(KernelConversions &conversions);

class KernelConverter {
public:
  KernelConverter(mlir::ModuleOp kernel, const KernelConversions &conversions,
                  std::vector<Diagnostic> &errors)
      : b(kernel.getLoc(), kernel.getContext()), kernel(kernel),
        conversions(conversions), errors(errors) {}

  mlir::ImplicitLocOpBuilder b;

  //===--- Values ---------------------------------------------------------===//

  /// What a number or a vector of the kernel has become.
  mlir::Value get(mlir::Value value) const { return values.lookup(value); }
  llvm::SmallVector<mlir::Value> get(mlir::ValueRange range) const;
  void set(mlir::Value value, mlir::Value converted) {
    values[value] = converted;
  }
  /// A tensor for a vector; numbers stay what they are.
  static mlir::Type convertType(mlir::Type type);
  /// A converted number of any integer type as an index.
  mlir::Value castToIndex(mlir::Value converted);
  /// An index for a number of the kernel.
  mlir::Value getIndex(mlir::Value number) { return castToIndex(get(number)); }
  mlir::Value constantIndex(int64_t value);
  /// A tensor of the shape of `type` with nothing in it.
  mlir::Value createEmpty(mlir::Type type);
  /// Memory for a memref or tensor of static shape, which is no other's;
  /// semaphores are numbers.
  mlir::Value createMemory(mlir::Type type);
  /// `number` from 0 to `limit`.
  mlir::Value clamp(mlir::Value number, mlir::Value limit);

  //===--- Memory ---------------------------------------------------------===//

  unsigned addArray(mlir::Value tensor);
  mlir::Value getArray(unsigned number) const { return arrays[number]; }
  void setArray(unsigned number, mlir::Value tensor) {
    arrays[number] = tensor;
  }
  /// Null where what made it was not converted.
  const View *getView(mlir::Value memref) const;
  void setView(mlir::Value memref, View view) {
    views[memref] = std::move(view);
  }
  /// The memref as all of an array.
  void setWholeView(mlir::Value memref, unsigned array);
  /// The arrays that `region` writes to and that are there before it.
  llvm::SmallVector<unsigned> getWritten(mlir::Region &region) const;

  //===--- Operations -----------------------------------------------------===//

  /// Converts all but the terminator.
  llvm::LogicalResult convertBlock(mlir::Block &block);
  /// Operations that have no conversion go to the errors.
  void checkOperations();
  /// Whether all values are of types that can be converted; those that are not
  /// go to the errors, and nothing may be converted.
  llvm::LogicalResult checkTypes();
  llvm::LogicalResult unsupported(mlir::Operation *op,
                                  const llvm::Twine &expected,
                                  const llvm::Twine &found);
  /// About the kernel as a whole.
  llvm::LogicalResult unsupported(const llvm::Twine &field,
                                  const llvm::Twine &expected,
                                  const llvm::Twine &found);

  /// The function of a call; null after errors.
  mlir::func::FuncOp convertFunction(const KernelCall &call);

private:
  /// Whether `value` has become something of its type.
  bool isConverted(mlir::Value value) const;
  llvm::LogicalResult checkType(mlir::Type type);
  llvm::LogicalResult convertOperation(mlir::Operation *op);
  llvm::LogicalResult convertElementwise(mlir::Operation *op);
  void setPlaceholders(mlir::Operation *op);

  mlir::ModuleOp kernel;
  const KernelConversions &conversions;
  std::vector<Diagnostic> &errors;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::SmallVector<mlir::Value> arrays;
};

/// The number of an attribute, or `otherwise`.
int64_t getInteger(mlir::Operation *op, llvm::StringRef name,
                   int64_t otherwise);
/// The integers of an array attribute of any kind; nothing for another.
std::optional<llvm::SmallVector<int64_t>>
getIntegers(mlir::Attribute attribute);

/// The module of a kernel, in upstream's operations and unregistered ones of
/// `tpu`, verified. Errors: *unsupported*.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readKernel(llvm::StringRef body, mlir::MLIRContext &context);

/// Quotients that are rounded up or down become others.
void expandQuotients(mlir::ModuleOp kernel);

/// Elementwise operations become loops, those that compute for one another one
/// loop.
void simplifyFunction(mlir::ModuleOp module);

} // namespace tessera::mosaic

#endif // TESSERA_LIB_CONVERSION_MOSAICTOLINALG_KERNELCONVERTER_H
