//===- RuntimeFuzzer.cpp - Relayouts at run time --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first two lines of an input are shapes, behind them may be options, and
// fields that replace those of the source, which is then a struct:
//
//   bf16[35,70]{1,0:T(8,128)(2,1)}
//   bf16[35,70]{0,1}
//   vector=32 streamed=1 shares=3 zero=1 address=5 strides=-140,2 offset=4760
//   from=0:8,:  to=3:27:3,:  fromat=9,0  toat=1,0
//
// It is refused with a message, or every bit of the destination must be what
// the model of tiles says. Buffers have the sizes that the handle asks for.
// Parts, `from` and `to`, may be moved again from where `fromat` and `toat`
// say; the runs of the first one are compared with the model, too.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "../RandomLayouts.h"
#include "../Runtime/RuntimeModel.h"
#include "tessera/Layout/Text.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <memory>

using namespace tessera;
using namespace tessera::fuzz;
using llvm::StringRef;

static constexpr int64_t kMaxBytes = 1 << 13;

namespace {
using Numbers = llvm::SmallVector<int64_t>;

/// A third line.
struct Choices {
  TesseraRuntimeOptions options = {};
  int64_t shares = 1, address = 0;
  std::string from, to;
  std::optional<Numbers> fromOffsets, toOffsets;
  std::optional<Numbers> dims, order, tiles, lengths, strides;
  std::optional<int64_t> bits, offset;

  bool isStruct() const {
    return dims || order || tiles || lengths || strides || bits || offset;
  }
};

struct DestroyRelayout {
  void operator()(TesseraRuntimeRelayout *relayout) const {
    tesseraRuntimeRelayoutDestroy(relayout);
  }
};
using Handle = std::unique_ptr<TesseraRuntimeRelayout, DestroyRelayout>;
} // namespace

static Numbers readNumbers(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  Numbers values;
  for (StringRef part : parts)
    if (int64_t value; !part.getAsInteger(10, value))
      values.push_back(value);
  return values;
}

static Choices readChoices(StringRef line) {
  Choices choices;
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(line, words);
  for (StringRef word : words) {
    auto [key, text] = word.split('=');
    Numbers values = readNumbers(text);
    int64_t first = values.empty() ? 0 : values.front();
    if (key == "vector")
      choices.options.vectorBytes = first;
    else if (key == "streamed")
      choices.options.streamedBytes = first;
    else if (key == "scratch")
      choices.options.scratchBytes = first;
    else if (key == "zero")
      choices.options.zeroPadding = first != 0;
    else if (key == "shares")
      choices.shares = std::clamp<int64_t>(first, 1, 64);
    else if (key == "address")
      choices.address = first & 127;
    else if (key == "from")
      choices.from = text.str();
    else if (key == "to")
      choices.to = text.str();
    else if (key == "fromat")
      choices.fromOffsets = values;
    else if (key == "toat")
      choices.toOffsets = values;
    else if (key == "dims")
      choices.dims = values;
    else if (key == "order")
      choices.order = values;
    else if (key == "tiles")
      choices.tiles = values;
    else if (key == "lengths")
      choices.lengths = values;
    else if (key == "strides")
      choices.strides = values;
    else if (key == "bits")
      choices.bits = first;
    else if (key == "offset")
      choices.offset = first;
  }
  return choices;
}

/// True without an error; else looks at it.
static bool succeeds(TesseraError *error) {
  if (!error)
    return true;
  require(*tesseraErrorGetMessage(error) != 0, "an error without a message");
  tesseraErrorDestroy(error);
  return false;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {
/// A buffer that begins anywhere and ends where its memory does.
struct Buffer {
  Buffer(int64_t size, int64_t address)
      : memory(new uint8_t[size + address]), size(size), address(address) {
    for (int64_t i = 0; i < size; ++i)
      data()[i] = static_cast<uint8_t>(i * 37 + address + 11);
  }
  uint8_t *data() { return memory.get() + address; }
  llvm::ArrayRef<uint8_t> bytes() { return {data(), size_t(size)}; }

  std::unique_ptr<uint8_t[]> memory;
  int64_t size, address;
};
} // namespace

static void runShares(const TesseraRuntimeRelayout *relayout, Buffer &src,
                      Buffer &dst, int64_t shares) {
  for (int64_t share = shares - 1; share >= 0; --share)
    require(succeeds(tesseraRuntimeRelayoutRunShare(relayout, src.data(),
                                                    src.size, dst.data(),
                                                    dst.size, share, shares)),
            "buffers of the right sizes are refused");
}

static void require(Buffer &found, llvm::ArrayRef<uint8_t> expected,
                    StringRef text) {
  for (size_t i = 0; i < expected.size(); ++i)
    require(found.bytes()[i] == expected[i],
            "byte " + llvm::Twine(i) + " is " +
                llvm::Twine(int(found.bytes()[i])) + ", expected " +
                llvm::Twine(int(expected[i])) + ": " + text);
}

/// A relayout within one buffer, where all bits of the destination are known.
static void runInPlace(const TesseraRuntimeRelayout *relayout,
                       const ModelSide &from, const ModelSide &to,
                       const Choices &choices, StringRef text) {
  Buffer buffer(std::max(from.bytes, to.bytes), choices.address);
  std::vector<uint8_t> expected = getExpected(
      buffer.bytes(), std::vector<uint8_t>(to.bytes),
      [&](size_t i) { return from.positions[i] * from.bits; }, from.bits, to,
      /*zeroPadding=*/true);
  require(succeeds(tesseraRuntimeRelayoutRunInPlace(relayout, buffer.data(),
                                                    buffer.size)),
          "a buffer of the right size is refused");
  require(buffer, expected, text);
}

/// The box that a text means, if any.
static Box getBox(StringRef text, const Shape &shape) {
  return text.empty() ? Box() : llvm::cantFail(parseBox(text, shape, ""));
}

/// Moves a box, unless it would not be within the array then.
static bool moveBox(const Numbers &offsets, const Shape &shape, Box &box) {
  if (offsets.empty())
    return true;
  if (static_cast<int64_t>(offsets.size()) != shape.rank())
    return false;
  for (auto [dim, size] : llvm::enumerate(shape.dimensions())) {
    Slice slice = box.empty() ? Slice{0, size, 1} : box[dim];
    int64_t length = slice.count ? (slice.count - 1) * slice.step + 1 : 0;
    if (offsets[dim] < 0 || offsets[dim] > size - length)
      return false;
    if (!box.empty())
      box[dim].begin = offsets[dim];
  }
  return true;
}

/// The same parts from other indices on: refused, or every bit is compared.
static void runOffsets(const TesseraRuntimeRelayout *relayout,
                       const Shape &source, Box from, const Shape &destination,
                       Box to, const Choices &choices, StringRef text) {
  Numbers fromOffsets = choices.fromOffsets.value_or(Numbers());
  Numbers toOffsets = choices.toOffsets.value_or(Numbers());
  bool isWithin =
      moveBox(fromOffsets, source, from) && moveBox(toOffsets, destination, to);
  ModelSide src(source, from), dst(destination, to);
  Buffer input(src.bytes, choices.address), output(dst.bytes, 0);
  std::vector<uint8_t> expected = getExpected(
      input.bytes(), output.bytes(),
      [&](size_t i) { return src.positions[i] * src.bits; }, src.bits, dst,
      choices.options.zeroPadding);
  for (int64_t share = choices.shares - 1; share >= 0; --share)
    require(succeeds(tesseraRuntimeRelayoutRunShareAt(
                relayout, {fromOffsets.data(), fromOffsets.size()},
                {toOffsets.data(), toOffsets.size()}, input.data(), input.size,
                output.data(), output.size, share, choices.shares)) == isWithin,
            "offsets are judged wrongly: " + text);
  if (isWithin)
    require(output, expected, text);
}

/// Which bits the runs of a part have, and how many runs there are.
static void checkRuns(const Shape &shape, const Choices &choices,
                      StringRef text) {
  TesseraRuntimePart *part = nullptr;
  const char *boxText = choices.from.empty() ? nullptr : choices.from.c_str();
  if (!succeeds(
          tesseraRuntimePartCreate(shape.toString().c_str(), boxText, &part)))
    return;
  int64_t bytes = tesseraRuntimePartGetArrayBytes(part);
  if (bytes <= kMaxBytes) {
    ModelSide side(shape, getBox(choices.from, shape));
    std::vector<bool> isElement(bytes * 8);
    for (int64_t position : side.positions)
      for (int64_t bit = 0; bit < side.bits; ++bit)
        isElement[position * side.bits + bit] = true;
    std::vector<TesseraRuntimeRun> runs(tesseraRuntimePartGetNumRuns(part));
    tesseraRuntimePartGetRuns(part, runs.data(), runs.size());
    int64_t end = -1; // A run that begins there is part of the one before.
    for (const TesseraRuntimeRun &run : runs) {
      require(run.offset > end && run.bytes > 0, "runs out of order: " + text);
      end = run.offset + run.bytes;
      require(end <= bytes, "a run beyond the array: " + text);
      for (int64_t bit = run.offset * 8; bit < end * 8; ++bit) {
        require(isElement[bit], "a run of others' bits: " + text);
        isElement[bit] = false;
      }
    }
    require(!llvm::is_contained(isElement, true), "bits without run: " + text);
  }
  tesseraRuntimePartDestroy(part);
}

/// A relayout of two texts: every bit is compared.
static void runTexts(const Shape &source, const Shape &destination,
                     const Choices &choices, StringRef text) {
  checkRuns(source, choices, text);
  TesseraRuntimeRelayout *made = nullptr;
  if (!succeeds(tesseraRuntimeRelayoutCreate(source.toString().c_str(),
                                             destination.toString().c_str(),
                                             &choices.options, &made)))
    return;
  Handle relayout(made);
  int64_t srcBytes = tesseraRuntimeRelayoutGetSourceBytes(made);
  int64_t dstBytes = tesseraRuntimeRelayoutGetDestinationBytes(made);
  if (srcBytes > kMaxBytes || dstBytes > kMaxBytes)
    return;
  Buffer src(srcBytes, choices.address), dst(dstBytes, choices.address / 2);
  Box fromBox = getBox(choices.from, source);
  Box toBox = getBox(choices.to, destination);
  ModelSide from(source, fromBox), to(destination, toBox);
  std::vector<uint8_t> expected = getExpected(
      src.bytes(), dst.bytes(),
      [&](size_t i) { return from.positions[i] * from.bits; }, from.bits, to,
      choices.options.zeroPadding);
  runShares(made, src, dst, choices.shares);
  require(dst, expected, text);
  if (choices.fromOffsets || choices.toOffsets)
    runOffsets(made, source, fromBox, destination, toBox, choices, text);
  if (choices.options.zeroPadding && fromBox.empty() && toBox.empty())
    runInPlace(made, from, to, choices, text);
}

/// A relayout from a struct of any numbers: sanitizers look at its accesses.
static void runStruct(const Shape &source, const Shape &destination,
                      const Choices &choices) {
  ArrayOfShape from(source), to(destination);
  auto wrap = [](const std::optional<Numbers> &numbers, TesseraInt64s &field) {
    if (numbers)
      field = {numbers->data(), numbers->size()};
  };
  wrap(choices.dims, from.array.dimensions);
  wrap(choices.order, from.array.minorToMajor);
  wrap(choices.tiles, from.array.tileDims);
  wrap(choices.strides, from.array.byteStrides);
  std::vector<size_t> lengths;
  if (choices.lengths) {
    lengths.assign(choices.lengths->begin(), choices.lengths->end());
    from.array.tileDimSizes = lengths.data();
    from.array.numTiles = lengths.size();
  }
  from.array.elementBits = choices.bits.value_or(from.array.elementBits);
  from.array.byteOffset = choices.offset.value_or(0);
  TesseraRuntimeRelayout *made = nullptr;
  if (!succeeds(tesseraRuntimeRelayoutCreateOfArrays(&from.array, &to.array,
                                                     &choices.options, &made)))
    return;
  Handle relayout(made);
  int64_t srcBytes = tesseraRuntimeRelayoutGetSourceBytes(made);
  int64_t dstBytes = tesseraRuntimeRelayoutGetDestinationBytes(made);
  require(srcBytes >= 0 && dstBytes >= 0, "a negative size");
  if (srcBytes > kMaxBytes || dstBytes > kMaxBytes)
    return;
  Buffer src(srcBytes, choices.address), dst(dstBytes, choices.address / 2);
  runShares(made, src, dst, choices.shares);
}

void tessera::fuzz::runInput(StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/2, /*KeepEmpty=*/false);
  if (lines.size() < 2)
    return;
  Choices choices = readChoices(lines.size() > 2 ? lines[2] : "");
  if (!choices.from.empty())
    choices.options.sourceBox = choices.from.c_str();
  if (!choices.to.empty())
    choices.options.destinationBox = choices.to.c_str();
  auto source = parseShape(lines[0]), destination = parseShape(lines[1]);
  if (!source || !destination || !source->isArray() ||
      !destination->isArray()) {
    // The texts as they are: an answer, whatever it is.
    llvm::consumeError(source ? llvm::Error::success() : source.takeError());
    llvm::consumeError(destination ? llvm::Error::success()
                                   : destination.takeError());
    TesseraRuntimeRelayout *made = nullptr;
    succeeds(tesseraRuntimeRelayoutCreate(lines[0].str().c_str(),
                                          lines[1].str().c_str(),
                                          &choices.options, &made));
    tesseraRuntimeRelayoutDestroy(made);
    return;
  }
  if (choices.isStruct())
    runStruct(*source, *destination, choices);
  else
    runTexts(*source, *destination, choices, text);
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

/// Parts of the same sizes of both arrays, and where else they may begin.
static std::string makeParts(llvm::ArrayRef<int64_t> dims, Random &random) {
  std::string boxes[2] = {" from=", " to="};
  std::string offsets[2] = {" fromat=", " toat="};
  for (int64_t size : dims) {
    int64_t count = random.oneIn(3) ? size : random.number(0, size);
    for (int side : {0, 1}) {
      int64_t step = count > 1 ? random.number(1, (size - 1) / (count - 1)) : 1;
      int64_t length = count ? (count - 1) * step + 1 : 0;
      int64_t begin = random.number(0, size - length);
      boxes[side] += std::to_string(begin) + ":" +
                     std::to_string(begin + length) + ":" +
                     std::to_string(step) + ",";
      offsets[side] += std::to_string(random.number(0, size - length)) + ",";
    }
  }
  std::string text;
  for (std::string &box : boxes)
    text += box.substr(0, box.size() - 1);
  for (const std::string &at : offsets)
    if (!random.oneIn(3))
      text += at;
  return text + " ";
}

/// A pair with every feature of the notation.
static std::string makePair(Random &random) {
  RandomLayouts layouts(random.next(), /*maxPositions=*/512);
  auto dims = layouts.dimensions();
  PrimitiveType type = layouts.elementType();
  auto side = [&] {
    return Shape::array(type, dims, layouts.layout(dims, type)).toString();
  };
  std::string text = side() + "\n" + side() + "\n";
  return dims.empty() || random.oneIn(2) ? text
                                         : text + makeParts(dims, random);
}

static std::string makeChoices(Random &random) {
  std::string text;
  auto add = [&](StringRef key, int64_t value) {
    text += key.str() + "=" + std::to_string(value) + " ";
  };
  if (!random.oneIn(3))
    add("vector", 16 << random.number(0, 2));
  if (random.oneIn(2))
    add("streamed", 1);
  if (random.oneIn(3))
    add("zero", 1);
  if (random.oneIn(3))
    add("shares", random.number(1, 5));
  if (random.oneIn(2))
    add("address", random.number(0, 127));
  if (random.oneIn(4))
    text += "strides=" + std::to_string(random.number(-9, 40)) + "," +
            std::to_string(random.number(-4, 8)) +
            " offset=" + std::to_string(random.number(0, 500));
  return text;
}

std::string tessera::fuzz::mutateInput(StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  if (random.oneIn(2))
    return makePair(random) + makeChoices(random);
  if (random.oneIn(2))
    return mutator.mutate(text, random);
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/2, /*KeepEmpty=*/false);
  if (lines.size() < 2)
    return mutator.mutate(text, random);
  return (lines[0] + "\n" + lines[1] + "\n").str() + makeChoices(random);
}
