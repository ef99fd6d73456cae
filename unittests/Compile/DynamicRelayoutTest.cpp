//===- DynamicRelayoutTest.cpp - Relayouts of sizes known at run time -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a relayout are compiled once, for dimensions that are not known,
// and run for several sizes: 0, 1, one less and one more than a tile, and more.
// Each result is compared with the axis lists of the static sizes.
//
//===----------------------------------------------------------------------===//

#include "RandomLayouts.h"
#include "TestCounts.h"
#include "tessera/Compile/Compile.h"
#include "tessera/Conversion/TesseraToAffine/BuildRelayout.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {
constexpr int64_t kBufferBytes = int64_t(1) << 20;
constexpr int32_t kUntouched = 0x5EED;
constexpr int32_t kPadding = -7;

/// One function of two buffers and two sizes, for `?x?` arrays of i32.
struct DynamicPair {
  std::string name;
  Layout source, destination;
};
} // namespace

/// The memref with `layout` that a function's buffer of bytes holds.
static Value viewBuffer(OpBuilder &builder, Location loc, Value bytes,
                        const ElementAccess &access, ValueRange sizes) {
  SmallVector<Value> extents;
  for (const Axis &axis : access.axes().axes()) {
    if (axis.extent.isStatic())
      continue;
    Value divisor =
        arith::ConstantIndexOp::create(builder, loc, axis.extent.divisor);
    extents.push_back(arith::CeilDivUIOp::create(
        builder, loc, sizes[axis.extent.dim], divisor));
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return memref::ViewOp::create(builder, loc, access.physicalType(), bytes,
                                zero, extents);
}

/// Access to a `?x?` array of i32; nothing for layouts that need the sizes.
static std::optional<ElementAccess> getAccess(MLIRContext *context,
                                              const Layout &layout) {
  auto type =
      MemRefType::get({kDynamic, kDynamic}, IntegerType::get(context, 32),
                      LayoutAttr::get(context, layout));
  auto access = ElementAccess::get(type);
  if (access)
    return *access;
  llvm::consumeError(access.takeError());
  return std::nullopt;
}

/// Builds the function; false where a layout is not for dynamic sizes.
static bool addFunction(ModuleOp module, const DynamicPair &pair) {
  MLIRContext *context = module.getContext();
  auto from = getAccess(context, pair.source);
  auto to = getAccess(context, pair.destination);
  if (!from || !to)
    return false;
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  Type buffer = MemRefType::get(kBufferBytes, builder.getI8Type());
  Type index = builder.getIndexType();
  auto function = func::FuncOp::create(
      builder, loc, pair.name,
      builder.getFunctionType({buffer, buffer, index, index}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  ValueRange sizeValues = body->getArguments().drop_front(2);
  RelayoutSizes sizes{from->axes().dimensions(), sizeValues};
  RelayoutSide source{
      *from, viewBuffer(builder, loc, body->getArgument(0), *from, sizeValues)};
  RelayoutSide destination{
      *to, viewBuffer(builder, loc, body->getArgument(1), *to, sizeValues)};
  buildElementCopy(builder, loc, source, destination, sizes);
  Value padding = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(kPadding));
  buildPaddingFill(builder, loc, destination, sizes, padding);
  func::ReturnOp::create(builder, loc);
  return true;
}

using Function = void(const void *, void *, int64_t, int64_t);

/// Runs the function for one pair of sizes and compares every place.
static void checkSizes(Function *function, const DynamicPair &pair,
                       llvm::ArrayRef<int64_t> sizes) {
  auto from = cantFail(AxisList::get(sizes, pair.source));
  auto to = cantFail(AxisList::get(sizes, pair.destination));
  constexpr int64_t kElements = kBufferBytes / sizeof(int32_t);
  ASSERT_TRUE(from.numPlaces() <= kElements && to.numPlaces() < kElements);
  static std::vector<int32_t> input(kElements), output(kElements);
  for (int64_t i = 0; i < from.numPlaces(); ++i)
    input[i] = static_cast<int32_t>(i + 1);
  std::fill(output.begin(), output.end(), kUntouched);
  function(input.data(), output.data(), sizes[0], sizes[1]);
  for (int64_t place = 0; place < to.numPlaces(); ++place) {
    auto index = to.logicalIndex(place);
    int32_t expected =
        index ? static_cast<int32_t>(from.linearIndex(*index) + 1) : kPadding;
    ASSERT_EQ(output[place], expected) << "at place " << place;
  }
  for (int64_t place = to.numPlaces(); place < kElements; ++place)
    ASSERT_EQ(output[place], kUntouched) << "behind the buffer: " << place;
}

/// Layouts of two dimensions without what is for known sizes alone.
static Layout randomLayout(RandomLayouts &random) {
  Layout layout = random.layout({9, 17}, PrimitiveType::S32);
  layout.elementSizeInBits = 0;
  layout.tailPaddingAlignment = 1;
  layout.paddingValue.reset();
  layout.paddedDimensions.clear();
  return layout;
}

TEST(DynamicRelayout, RandomPairs) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  RandomLayouts random(testSeed());
  DialectRegistry registry;
  registerCompileDialects(registry);
  registry.insert<TesseraDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  std::vector<DynamicPair> pairs;
  for (int count = testCount(200); static_cast<int>(pairs.size()) < count;) {
    DynamicPair pair{"f" + std::to_string(pairs.size()), randomLayout(random),
                     randomLayout(random)};
    if (addFunction(*module, pair))
      pairs.push_back(std::move(pair));
  }
  CompileOptions options;
  options.optLevel = 1;
  auto compiled = CompiledModule::compile(std::move(module), options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  for (const DynamicPair &pair : pairs) {
    auto function = compiled->lookup(pair.name);
    ASSERT_TRUE(bool(function)) << llvm::toString(function.takeError());
    for (auto [rows, columns] :
         std::initializer_list<std::pair<int64_t, int64_t>>{
             {0, 5},
             {1, 1},
             {7, 127},
             {8, 9},
             {9, 129},
             {random.number(1, 30), random.number(1, 40)}}) {
      SCOPED_TRACE(pair.source.toString() + " to " +
                   pair.destination.toString() + " for " +
                   std::to_string(rows) + " x " + std::to_string(columns));
      checkSizes(
          reinterpret_cast<Function *>(reinterpret_cast<uintptr_t>(*function)),
          pair, {rows, columns});
      if (testing::Test::HasFailure())
        return;
    }
  }
}
