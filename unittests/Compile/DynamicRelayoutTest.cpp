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
#include "tessera/Conversion/Pipelines.h"
#include "tessera/Conversion/TesseraToAffine/BuildRelayout.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {
constexpr int64_t kBufferBytes = int64_t(1) << 20;
constexpr uint8_t kUntouched = 0x5E;
constexpr int64_t kPadding = -7;

/// One function of two buffers and two sizes, for `?x?` arrays of integers.
struct DynamicPair {
  std::string name;
  PrimitiveType type;
  Layout source, destination;
};

/// A buffer of elements of any width.
class Buffer {
public:
  Buffer(std::vector<uint8_t> &bytes, PrimitiveType type, const Layout &layout)
      : bytes(bytes), width(getBitWidth(type)),
        storageBits(getStorageBits(type, layout)) {}

  /// The bits of the element at `position`; those above its width don't count.
  uint64_t get(int64_t position) const {
    uint64_t value = 0;
    for (int64_t bit = 0; bit < width; ++bit)
      value |= uint64_t(getBit(position * storageBits + bit)) << bit;
    return value;
  }
  /// Bits behind `count` elements that differ from what the buffer was filled
  /// with.
  int64_t countTouchedBehind(int64_t count) const {
    int64_t touched = 0;
    for (int64_t bit = count * storageBits; bit % 8 != 0; ++bit)
      touched += getBit(bit) != ((kUntouched >> (bit % 8)) & 1);
    int64_t first = llvm::divideCeil(count * storageBits, 8);
    return touched +
           llvm::count_if(ArrayRef(bytes).drop_front(first),
                          [](uint8_t byte) { return byte != kUntouched; });
  }

private:
  int getBit(int64_t bit) const { return (bytes[bit / 8] >> (bit % 8)) & 1; }

  std::vector<uint8_t> &bytes;
  int64_t width, storageBits;
};
} // namespace

/// The memref with `layout` that a function's buffer of bytes holds.
static Value viewBuffer(OpBuilder &builder, Location loc, Value bytes,
                        const ElementAccess &access, const Layout &layout,
                        ValueRange sizes) {
  SmallVector<Value> extents;
  MemRefType type = access.physicalType();
  if (type.hasStaticShape()) {
    // Widths in PD are known.
  } else if (type.getRank() != static_cast<int64_t>(access.axes().size()) ||
             layout.tailPaddingAlignment > 1 ||
             layout.elementSizeInBits % 8 != 0) {
    // Flat: all positions, in units of what the memref has.
    Value count = access.getArithmetic(builder, loc, sizes)
                      .toValue(access.countAllocated(builder, loc, sizes));
    int64_t bits = layout.elementSizeInBits;
    Value perUnit = arith::ConstantIndexOp::create(
        builder, loc, bits % 8 != 0 ? 8 / bits : 1);
    extents.push_back(arith::CeilDivUIOp::create(builder, loc, count, perUnit));
  } else {
    for (const Axis &axis : access.axes().axes()) {
      if (axis.extent.isStatic())
        continue;
      Value divisor =
          arith::ConstantIndexOp::create(builder, loc, axis.extent.divisor);
      extents.push_back(arith::CeilDivUIOp::create(
          builder, loc, sizes[axis.extent.dim], divisor));
    }
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return memref::ViewOp::create(builder, loc, type, bytes, zero, extents);
}

/// Access to a `?x?` array; nothing for layouts that need the sizes.
static std::optional<ElementAccess>
getAccess(MLIRContext *context, PrimitiveType type, const Layout &layout) {
  auto access = ElementAccess::get(
      MemRefType::get({kDynamic, kDynamic}, getElementType(context, type),
                      LayoutAttr::get(context, layout)));
  if (access)
    return *access;
  llvm::consumeError(access.takeError());
  return std::nullopt;
}

/// Builds the function; false where a layout is not for dynamic sizes.
static bool addFunction(ModuleOp module, const DynamicPair &pair) {
  MLIRContext *context = module.getContext();
  auto from = getAccess(context, pair.type, pair.source);
  auto to = getAccess(context, pair.type, pair.destination);
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
  RelayoutSide source{*from,
                      viewBuffer(builder, loc, body->getArgument(0), *from,
                                 pair.source, sizeValues),
                      sizeValues};
  RelayoutSide destination{*to,
                           viewBuffer(builder, loc, body->getArgument(1), *to,
                                      pair.destination, sizeValues),
                           sizeValues};
  buildElementCopy(builder, loc, source, destination, sizes);
  Value padding = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(from->element(), kPadding));
  buildPaddingFill(builder, loc, destination, sizes, padding);
  func::ReturnOp::create(builder, loc);
  return true;
}

using Function = void(const void *, void *, int64_t, int64_t);

/// Runs the function for one pair of sizes and compares every position.
static void checkSizes(Function *function, const DynamicPair &pair,
                       llvm::ArrayRef<int64_t> sizes, RandomLayouts &random) {
  auto from = cantFail(AxisList::get(sizes, pair.source));
  auto to = cantFail(AxisList::get(sizes, pair.destination));
  constexpr int64_t kElements = kBufferBytes / sizeof(int32_t);
  // Tiles for few elements may be too large for more.
  if (from.numAllocated() > kElements || to.numAllocated() >= kElements)
    return;
  static std::vector<uint8_t> input(kBufferBytes), output(kBufferBytes);
  // Bits above the width of an element in whole bytes are zero.
  bool isPacked = getStorageBits(pair.type, pair.source) < 8;
  uint8_t mask = !isPacked && getBitWidth(pair.type) == 4 ? 0xF : 0xFF;
  int64_t used = llvm::divideCeil(
      from.numAllocated() * getStorageBits(pair.type, pair.source), 8);
  for (uint8_t &byte : llvm::MutableArrayRef(input).take_front(used))
    byte = static_cast<uint8_t>(random.next()) & mask;
  std::fill(output.begin(), output.end(), kUntouched);
  function(input.data(), output.data(), sizes[0], sizes[1]);
  Buffer source(input, pair.type, pair.source);
  Buffer destination(output, pair.type, pair.destination);
  uint64_t padding = llvm::APInt(getBitWidth(pair.type), kPadding,
                                 /*isSigned=*/true, /*implicitTrunc=*/true)
                         .getZExtValue();
  for (int64_t position = 0; position < to.numAllocated(); ++position) {
    auto index = to.logicalIndex(position);
    uint64_t expected = index ? source.get(from.linearIndex(*index)) : padding;
    ASSERT_EQ(destination.get(position), expected)
        << "at position " << position;
  }
  ASSERT_EQ(destination.countTouchedBehind(to.numAllocated()), 0);
}

/// Makes `size` what widths in PD have room for; a dimension of size 0 has no
/// width where that is known.
static int64_t clampSize(int64_t size, unsigned dim, const DynamicPair &pair) {
  for (const Layout *layout : {&pair.source, &pair.destination})
    if (!layout->paddedDimensions.empty())
      size = std::clamp<int64_t>(size, 1, layout->paddedDimensions[dim]);
  return size;
}

/// Layouts of two dimensions without what is for known sizes alone.
static Layout randomLayout(RandomLayouts &random, PrimitiveType type) {
  Layout layout =
      random.layout({random.number(1, 9), random.number(1, 17)}, type);
  if (layout.elementSizeInBits % 8 == 0)
    layout.elementSizeInBits = 0;
  layout.paddingValue.reset();
  if (!random.oneIn(2))
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
    auto type = random.oneIn(3) ? PrimitiveType::S4 : PrimitiveType::S32;
    DynamicPair pair{"f" + std::to_string(pairs.size()), type,
                     randomLayout(random, type), randomLayout(random, type)};
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
          pair, {clampSize(rows, 0, pair), clampSize(columns, 1, pair)},
          random);
      if (testing::Test::HasFailure())
        return;
    }
  }
}

/// A bounded dimension takes the memory of its bound. Between size and bound
/// there is no padding: PV promises nothing there, and loops over the elements
/// do not get there.
TEST(DynamicRelayout, BoundIsNoPadding) {
  DialectRegistry registry;
  registerCompileDialects(registry);
  registry.insert<TesseraDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(
      R"(
    func.func @f(%a: memref<?xi32>,
                 %b: memref<?xi32, #tessera.layout<{0:T(4)PV(one)B(6)}>>) {
      tessera.relayout %a into %b : memref<?xi32>,
          memref<?xi32, #tessera.layout<{0:T(4)PV(one)B(6)}>>
      return
    })",
      &context);
  ASSERT_TRUE(module);
  PassManager manager(&context);
  ToLLVMOptions options;
  buildToLLVMPipeline(manager, options);
  ASSERT_TRUE(succeeded(manager.run(*module)));
  auto compiled = CompiledModule::compile(std::move(module));
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  auto found = compiled->lookup("f");
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  // A memref is two pointers, an offset, sizes and strides; the size of a
  // dynamic dimension follows.
  using Entry =
      void(int32_t *, int32_t *, int64_t, int64_t, int64_t, int32_t *,
           int32_t *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  auto *function =
      reinterpret_cast<Entry *>(reinterpret_cast<uintptr_t>(*found));
  int32_t source[] = {10, 11, 12};
  std::vector<int32_t> memory(8, -1);
  function(source, source, 0, 3, 1, memory.data(), memory.data(), 0, 2, 4, 4, 1,
           3);
  EXPECT_EQ(memory, (std::vector<int32_t>{10, 11, 12, -1, -1, -1, 1, 1}));
}
