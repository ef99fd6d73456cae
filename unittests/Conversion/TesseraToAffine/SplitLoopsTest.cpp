//===- SplitLoopsTest.cpp - Tests of loop splitting -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToAffine/SplitLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace tessera;

using affine::AffineForOp;

namespace {
class SplitLoopsTest : public testing::Test {
protected:
  SplitLoopsTest() {
    context.loadDialect<affine::AffineDialect, arith::ArithDialect,
                        func::FuncDialect>();
    context.allowUnregisteredDialects();
  }

  /// A function with one loop to `bound` that carries a value and whose body
  /// gives the induction variable to "visit".
  OwningOpRef<ModuleOp> makeLoop(llvm::StringRef bound) {
    std::string text = llvm::formatv(R"(
      func.func @f(%n: index, %x: index) -> index {{
        %r = affine.for %i = 0 to {0} iter_args(%a = %x) -> index {{
          %b = "visit"(%i, %a) : (index, index) -> index
          affine.yield %b : index
        }
        return %r : index
      })",
                                     bound);
    return parseSourceString<ModuleOp>(text, &context);
  }

  static AffineForOp findLoop(ModuleOp module) {
    AffineForOp found;
    module.walk([&](AffineForOp loop) { found = loop; });
    return found;
  }

  MLIRContext context;
};

/// Runs a nest of affine.for: the values that "visit" sees in order.
class Interpreter {
public:
  explicit Interpreter(int64_t n) : n(n) {}

  std::vector<int64_t> run(ModuleOp module) {
    auto function = *module.getOps<func::FuncOp>().begin();
    values[function.getArgument(0)] = n;
    runBlock(function.getBody().front());
    return visited;
  }

private:
  SmallVector<int64_t> apply(AffineMap map, ValueRange operands) {
    SmallVector<Attribute> attributes, folded;
    for (Value operand : operands)
      attributes.push_back(IntegerAttr::get(IndexType::get(map.getContext()),
                                            values.at(operand)));
    EXPECT_TRUE(succeeded(map.constantFold(attributes, folded)));
    return llvm::map_to_vector(folded, [](Attribute attribute) {
      return cast<IntegerAttr>(attribute).getInt();
    });
  }

  void runBlock(Block &block) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<AffineForOp>(op)) {
        SmallVector<int64_t> limits =
            apply(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
        for (int64_t i = 0; i < *llvm::min_element(limits); ++i) {
          values[loop.getInductionVar()] = i;
          runBlock(*loop.getBody());
        }
      } else if (auto sum = dyn_cast<affine::AffineApplyOp>(op)) {
        values[sum] = apply(sum.getAffineMap(), sum.getMapOperands())[0];
      } else if (op.getName().getStringRef() == "visit") {
        visited.push_back(values.at(op.getOperand(0)));
      }
    }
  }

  int64_t n;
  struct Less {
    bool operator()(Value lhs, Value rhs) const {
      return lhs.getAsOpaquePointer() < rhs.getAsOpaquePointer();
    }
  };
  std::map<Value, int64_t, Less> values;
  std::vector<int64_t> visited;
};
} // namespace

// Every iteration once and in order, whatever divides, at a bound known or not.
TEST_F(SplitLoopsTest, KeepsIterations) {
  for (llvm::StringRef bound : {"48", "49", "1",
                                "min affine_map<(d0) -> (d0, "
                                "40)>(%n)",
                                "%n"}) {
    for (int64_t n : {0, 1, 7, 8, 9, 31, 32, 33, 47}) {
      for (std::vector<int64_t> divisors :
           {std::vector<int64_t>{8}, {2, 8}, {3, 9, 36}, {128}}) {
        OwningOpRef<ModuleOp> module = makeLoop(bound);
        ASSERT_TRUE(module);
        std::vector<int64_t> expected = Interpreter(n).run(*module);
        ASSERT_TRUE(canSplit(findLoop(*module)));
        IRRewriter rewriter(&context);
        splitLoop(rewriter, findLoop(*module), divisors);
        ASSERT_TRUE(succeeded(verify(*module)));
        ASSERT_EQ(Interpreter(n).run(*module), expected);
      }
    }
  }
}

TEST_F(SplitLoopsTest, PiecesHaveRanges) {
  OwningOpRef<ModuleOp> module = makeLoop("49");
  IRRewriter rewriter(&context);
  splitLoop(rewriter, findLoop(*module), {2, 8});
  std::vector<int64_t> last;
  module->walk([&](AffineForOp loop) {
    std::optional<IntegerRange> range = getOperandRange(loop.getInductionVar());
    ASSERT_TRUE(range);
    last.push_back(range->max);
  });
  EXPECT_EQ(last, (std::vector<int64_t>{1, 3, 6}));
}

TEST_F(SplitLoopsTest, TakesNormalizedLoopsOnly) {
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f() {
      affine.for %i = 0 to 8 step 2 {}
      affine.for %i = 1 to 8 {}
      return
    })",
                                            &context);
  module->walk([](AffineForOp loop) { EXPECT_FALSE(canSplit(loop)); });
}
