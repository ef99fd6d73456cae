//===- RelayoutFuzzer.cpp - Pairs of layouts, lowered and run -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first two lines of an input are shapes, behind them may be options:
//
//   f32[35,70]{1,0:T(8,16)(2,1)}
//   f32[35,70]{0,1}
//   vector=32 threads=2 nontemporal=0 address=4 source=::2,: destination=0:18,:
//
// What moves one to the other is refused with a message, or its loops (of
// vector kernels with `vector`) are interpreted, and every bit of the
// destination must be what the axis lists say.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"
#include "LoopInterpreter.h"

#include "../RandomLayouts.h"
#include "tessera/Compile/Compile.h"
#include "tessera/Layout/PaddingBits.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::fuzz;

static constexpr int64_t kMaxBytes = 1 << 13;
static constexpr int64_t kMaxSteps = 100000;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {
struct Input {
  ArrayPart source, destination;
  CompileOptions options;
  int64_t address = 0;
};
} // namespace

static bool parseOption(StringRef option, Input &input) {
  StringRef key, value;
  std::tie(key, value) = option.split('=');
  auto takeBox = [&](ArrayPart &part) {
    auto box = parseBox(value, part.shape, "box");
    if (!box) {
      llvm::consumeError(box.takeError());
      return false;
    }
    part.box = std::move(*box);
    return true;
  };
  if (key == "source")
    return takeBox(input.source);
  if (key == "destination")
    return takeBox(input.destination);
  int64_t number;
  if (value.getAsInteger(10, number))
    return false;
  if (key == "vector") {
    input.options.vectorize = true;
    // Others never come out of an option.
    input.options.vectorBytes = number <= 16 ? 16 : number <= 32 ? 32 : 64;
  } else if (key == "threads") {
    input.options.threads = std::clamp<int64_t>(number, 1, 1024);
    input.options.parallelBytes = 0;
  } else if (key == "nontemporal") {
    input.options.nontemporalBytes = std::max<int64_t>(number, 0);
  } else if (key == "address") {
    input.address = number & 0xFFF;
  } else {
    return false;
  }
  return true;
}

static std::optional<Input> parseInput(StringRef text) {
  SmallVector<StringRef> lines, options;
  text.split(lines, '\n', /*MaxSplit=*/2, /*KeepEmpty=*/false);
  if (lines.size() < 2)
    return std::nullopt;
  Input input;
  input.options.vectorize = false;
  for (auto [line, part] : {std::pair(lines[0], &input.source),
                            std::pair(lines[1], &input.destination)}) {
    llvm::Expected<Shape> shape = parseShape(line);
    if (!shape) {
      llvm::consumeError(shape.takeError());
      return std::nullopt;
    }
    part->shape = std::move(*shape);
  }
  if (lines.size() > 2)
    llvm::SplitString(lines[2], options);
  for (StringRef option : options)
    if (!parseOption(option, input))
      return std::nullopt;
  return input;
}

static std::string printInput(const Shape &source, const Shape &destination,
                              StringRef options) {
  return source.toString() + "\n" + destination.toString() + "\n" +
         options.str();
}

//===----------------------------------------------------------------------===//
// What must come out
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a buffer, as integers of the bits that they are stored with.
class Elements {
public:
  Elements(const ArrayPart &part, const AxisList &axes,
           std::vector<uint8_t> &bytes)
      : part(part), axes(axes), bytes(bytes),
        bits(getStorageBits(part.shape.elementType(),
                            part.shape.layoutOrDefault())) {}

  int64_t getPosition(ArrayRef<int64_t> index) const {
    SmallVector<int64_t> whole(index);
    for (size_t i = 0; i < whole.size() && !part.isWhole(); ++i)
      whole[i] = part.box[i].begin + index[i] * part.box[i].step;
    return axes.linearIndex(whole);
  }
  llvm::APInt read(int64_t position) const {
    llvm::APInt value(bits, 0);
    for (int64_t bit = 0; bit < bits; ++bit)
      value.setBitVal(bit,
                      getByte(position, bit) >> getShift(position, bit) & 1);
    return value;
  }
  void write(int64_t position, const llvm::APInt &value) {
    for (int64_t bit = 0; bit < bits; ++bit) {
      auto mask = static_cast<uint8_t>(1 << getShift(position, bit));
      uint8_t &byte = getByte(position, bit);
      byte = value[bit] ? byte | mask : byte & ~mask;
    }
  }
  bool isSigned() const { return isSignedIntegral(part.shape.elementType()); }
  llvm::APInt resize(const llvm::APInt &value) const {
    return isSigned() ? value.sextOrTrunc(bits) : value.zextOrTrunc(bits);
  }

private:
  uint8_t &getByte(int64_t position, int64_t bit) const {
    return bytes[(position * bits + bit) / 8];
  }
  int64_t getShift(int64_t position, int64_t bit) const {
    return (position * bits + bit) % 8;
  }

  const ArrayPart &part;
  const AxisList &axes;
  std::vector<uint8_t> &bytes;
  int64_t bits;
};
} // namespace

/// The next index below `sizes` in row-major order; false behind the last.
static bool advance(SmallVectorImpl<int64_t> &index, ArrayRef<int64_t> sizes) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i])
      return true;
    index[i] = 0;
  }
  return false;
}

static void copyElements(const Elements &from, Elements &to,
                         ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return;
  SmallVector<int64_t> index(sizes.size(), 0);
  do
    to.write(to.getPosition(index),
             to.resize(from.read(from.getPosition(index))));
  while (advance(index, sizes));
}

static void fillPadding(const ArrayPart &part, const AxisList &axes,
                        Elements &elements) {
  auto padding = part.shape.layoutOrDefault().paddingValue;
  if (!padding || !part.isWhole())
    return;
  llvm::APInt value =
      elements.resize(getPaddingBits(part.shape.elementType(), *padding));
  for (int64_t position = 0; position < axes.numAllocated(); ++position)
    if (!axes.logicalIndex(position))
      elements.write(position, value);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static std::vector<uint8_t> makeBytes(int64_t size, uint64_t seed) {
  Random random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t &byte : bytes)
    byte = random.next();
  return bytes;
}

static std::string describe(const Input &input) {
  return input.source.toString() + " to " + input.destination.toString();
}

static void checkRun(const Input &input, func::FuncOp function,
                     const ShapeSize &from, const ShapeSize &to) {
  InterpretedMemory buffers[] = {{makeBytes(from.bytes, 1)},
                                 {makeBytes(to.bytes, 2)}};
  for (InterpretedMemory &buffer : buffers)
    buffer.address += input.address;
  std::vector<uint8_t> source = buffers[0].bytes, expected = buffers[1].bytes;
  if (!interpret(function, buffers, kMaxSteps))
    return;
  AxisList fromAxes = llvm::cantFail(AxisList::get(input.source.shape));
  AxisList toAxes = llvm::cantFail(AxisList::get(input.destination.shape));
  Elements fromElements(input.source, fromAxes, source);
  Elements toElements(input.destination, toAxes, expected);
  copyElements(fromElements, toElements, input.source.dimensions());
  fillPadding(input.destination, toAxes, toElements);
  require(buffers[0].bytes == source,
          "the source is written: " + describe(input));
  for (size_t i = 0; i < expected.size(); ++i)
    require(buffers[1].bytes[i] == expected[i],
            "byte " + Twine(i) + " is " + Twine(int(buffers[1].bytes[i])) +
                ", expected " + Twine(int(expected[i])) + ": " +
                describe(input));
}

static MLIRContext &getContext() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 1000 == 0) {
    DialectRegistry registry;
    registerCompileDialects(registry);
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
  }
  return *context;
}

void tessera::fuzz::runInput(StringRef text) {
  std::optional<Input> input = parseInput(text);
  if (!input)
    return;
  if (llvm::Error error = checkRelayout(input->source, input->destination)) {
    require(!takeDiagnostic(std::move(error)).message().empty(),
            "an error without a message");
    return;
  }
  auto from = getSize(input->source.shape);
  auto to = getSize(input->destination.shape);
  if (!from || !to) {
    llvm::consumeError(from.takeError());
    llvm::consumeError(to.takeError());
    return;
  }
  if (from->bytes > kMaxBytes || to->bytes > kMaxBytes)
    return;
  MLIRContext &context = getContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  if (llvm::Error error = addRelayoutFunction(
          *module, input->source, input->destination, input->options)) {
    require(!takeDiagnostic(std::move(error)).message().empty(),
            "an error without a message");
    return;
  }
  require(succeeded(verify(*module)), "invalid IR: " + describe(*input));
  checkRun(*input, *module->getOps<func::FuncOp>().begin(), *from, *to);
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

static std::string makeBox(const ArrayPart &part, Random &random) {
  SmallVector<std::string> slices;
  for (int64_t size : part.shape.dimensions()) {
    int64_t begin = random.number(0, size), end = random.number(begin, size);
    slices.push_back(random.oneIn(2)
                         ? ":"
                         : std::to_string(begin) + ":" + std::to_string(end) +
                               ":" + std::to_string(random.number(1, 3)));
  }
  return llvm::join(slices, ",");
}

static std::string makeOptions(const Input &input, Random &random) {
  std::string options;
  if (!random.oneIn(3))
    options += "vector=" + std::to_string(16 << random.number(0, 2)) + " ";
  if (random.oneIn(3))
    options +=
        "nontemporal=" + std::to_string(random.number(0, 1) * 4096) + " ";
  if (random.oneIn(4))
    options += "threads=" + std::to_string(random.number(1, 5)) + " ";
  if (random.oneIn(2))
    options += "address=" + std::to_string(random.number(0, 64)) + " ";
  if (input.source.shape.rank() != 0 && random.oneIn(4)) {
    std::string box = makeBox(input.source, random);
    options += "source=" + box + " destination=" + box;
  } else if (input.source.shape.rank() != 0 && random.oneIn(8)) {
    // All elements of one side, as a box.
    std::string all = llvm::join(
        SmallVector<std::string>(input.source.shape.rank(), ":"), ",");
    options += (random.oneIn(2) ? "source=" : "destination=") + all;
  }
  return options;
}

/// Whether RandomLayouts finds a layout for it.
static bool isSmallArray(const Shape &shape) {
  int64_t elements = 1;
  for (int64_t size : shape.dimensions())
    elements *= std::min<int64_t>(std::max<int64_t>(size, 1), 4096);
  return elements <= 2048 && shape.rank() <= 8;
}

/// A legal layout of few bytes; often one as compilers choose it.
static Layout makeLayout(const Shape &shape, Random &random) {
  if (random.oneIn(2) && isSmallArray(shape))
    return RandomLayouts(random.next())
        .layout(shape.dimensions(), shape.elementType());
  static const std::vector<StringRef> kKeys = {"",
                                               "",
                                               ":T(8,128)",
                                               ":T(8,16)(2,1)",
                                               ":T(4,8)(4,1)",
                                               ":T(16)",
                                               ":T(8,1)",
                                               ":T(2,32)(2,1)",
                                               ":T(3)",
                                               ":T(4,8)PV(one)",
                                               ":T(8,16)PV(zero)",
                                               ":L(40)PV(lowest)"};
  SmallVector<std::string> order;
  for (int64_t i = 0; i < shape.rank(); ++i)
    order.insert(order.begin() + random.number(0, i), std::to_string(i));
  Layout layout = llvm::cantFail(parseLayout("{" + llvm::join(order, ",") +
                                             random.pick(kKeys).str() + "}"));
  llvm::Error error =
      verifyLayout(layout, shape.elementType(), shape.dimensions());
  if (!error)
    return layout;
  llvm::consumeError(std::move(error));
  return Layout::descending(shape.rank());
}

/// Other dimensions for both sides, which get layouts for them.
static void makeDimensions(Input &input, Random &random) {
  RandomLayouts layouts(random.next(), random.oneIn(4) ? 4096 : 300);
  PrimitiveType type = random.oneIn(3) ? layouts.elementType()
                                       : input.source.shape.elementType();
  SmallVector<int64_t> sizes = layouts.dimensions();
  for (ArrayPart *part : {&input.source, &input.destination}) {
    part->shape = Shape::array(type, sizes);
    part->shape.setLayout(makeLayout(part->shape, random));
  }
}

static bool isStaticArray(const Shape &shape) {
  return shape.isArray() && !shape.hasUnboundedDimension();
}

std::string tessera::fuzz::mutateInput(StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  std::optional<Input> input = parseInput(text);
  if (!input || random.oneIn(4) || !isStaticArray(input->source.shape) ||
      !isStaticArray(input->destination.shape))
    return mutator.mutate(text, random);
  SmallVector<StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/2, /*KeepEmpty=*/false);
  std::string options = lines.size() > 2 ? lines[2].str() : "";
  Shape &source = input->source.shape, &destination = input->destination.shape;
  switch (random.number(0, 5)) {
  case 0:
    source.setLayout(makeLayout(source, random));
    break;
  case 1:
    destination.setLayout(makeLayout(destination, random));
    break;
  case 2:
    std::swap(source, destination);
    break;
  case 3:
    options = makeOptions(*input, random);
    break;
  default:
    makeDimensions(*input, random);
    options = makeOptions(*input, random);
  }
  return printInput(source, destination, options);
}
