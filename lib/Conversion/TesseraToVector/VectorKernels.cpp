//===- VectorKernels.cpp - Kernels on rows and columns --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace tessera;
using namespace mlir;

static constexpr int64_t kLineBytes = RelayoutTarget::kLineBytes;
/// What bypasses the cache at once, at least.
static constexpr int64_t kPairBytes = 32;
/// Runs of a word whose parts change places in registers, at most: one register
/// for each of them, half of all.
static constexpr int64_t kMaxWord = 16;

llvm::SmallVector<int64_t, 8> tessera::getWindows(int64_t count, int64_t size) {
  llvm::SmallVector<int64_t, 8> begins;
  for (int64_t i = 0; i + size <= count; i += size)
    begins.push_back(i);
  if (begins.empty())
    begins.push_back(0);
  else if (count % size != 0)
    begins.push_back(count - size);
  return begins;
}

VectorKernels::VectorKernels(ImplicitLocOpBuilder &builder, Type elementType,
                             int64_t vectorBytes, int64_t runElements)
    : b(builder), elementType(elementType), vectorBytes(vectorBytes),
      runElements(runElements) {
  int64_t bits = elementType.getIntOrFloatBitWidth();
  bytes = bits / 8;
  factor = std::max<int64_t>(bits / 64, 1);
  workType = b.getIntegerType(bits / factor);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value VectorKernels::getIndex(Position position) {
  if (position.offset == 0)
    return position.index;
  Value offset = arith::ConstantIndexOp::create(b, position.offset);
  return arith::AddIOp::create(b, position.index, offset);
}

VectorType VectorKernels::getMemoryType(int64_t elements) const {
  return VectorType::get({elements}, elementType);
}

VectorType VectorKernels::getWorkType(int64_t elements) const {
  return VectorType::get({elements * factor}, workType);
}

Value VectorKernels::recast(Value vector, VectorType type) {
  if (vector.getType() == type)
    return vector;
  return vector::BitCastOp::create(b, type, vector);
}

Value VectorKernels::load(Position position, int64_t count) {
  // Buffers may have any alignment, so that no more than a byte is claimed.
  Value vector = vector::LoadOp::create(
      b, getMemoryType(count), position.memref, ValueRange{getIndex(position)},
      /*nontemporal=*/false, llvm::Align(1));
  return recast(vector, getWorkType(count));
}

void VectorKernels::store(Value vector, Position position, bool isNontemporal) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements() / factor;
  storeMemory(recast(vector, getMemoryType(count)), position, isNontemporal);
}

void VectorKernels::storeMemory(Value vector, Position position,
                                bool isNontemporal) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  int64_t alignment = isNontemporal ? count * bytes : 1;
  vector::StoreOp::create(b, vector, position.memref,
                          ValueRange{getIndex(position)}, isNontemporal,
                          llvm::Align(alignment));
}

void VectorKernels::copy(Move move, int64_t count, bool isNontemporal) {
  forEachPackedByte([&](int64_t dstOffset) {
    copyRun({move.from, move.to + dstOffset}, count, isNontemporal);
  });
}

void VectorKernels::pack(size_t number, Move move, int64_t count,
                         int64_t pitch) {
  current = &packedBytes[number];
  int64_t size = registerElements(count);
  for (int64_t begin : getWindows(count, size)) {
    Position from = move.from + begin * pitch;
    Value bytes = packParts([&](int64_t offset) {
      return pitch == 1 ? load(from + offset, size)
                        : loadStrands(from + offset, 1, pitch, size).front();
    });
    store(bytes, move.to + begin);
  }
  current = nullptr;
}

void VectorKernels::copyRun(Move move, int64_t count, bool isNontemporal) {
  // The widest power of two that fits, so that short runs are no crawl. Two
  // short registers bypass the cache together: AArch64 stores pairs.
  bool isPair = isNontemporal && count * bytes % kPairBytes == 0;
  int64_t size = registerElements(count);
  if (isPair && vectorBytes < kPairBytes)
    size =
        std::min<int64_t>(kPairBytes / bytes, llvm::bit_floor<uint64_t>(count));
  llvm::SmallVector<int64_t, 8> begins = getWindows(count, size);
  // All loads of a line or two before its stores.
  for (llvm::ArrayRef<int64_t> left = begins; !left.empty();) {
    llvm::ArrayRef<int64_t> group = left.take_front(8);
    left = left.drop_front(group.size());
    llvm::SmallVector<Value, 8> values;
    for (int64_t begin : group)
      values.push_back(loadPacked(move.from + begin, size));
    for (auto [begin, value] : llvm::zip_equal(group, values))
      store(value, move.to + begin,
            isNontemporal && size * bytes >= vectorBytes && begin % size == 0);
  }
}

Value VectorKernels::createSplat(Type type, uint8_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(type),
                                b.getIntegerAttr(workType, value)));
}

Value VectorKernels::mergeBits(Value old, Value value, uint8_t mask) {
  Value kept = arith::AndIOp::create(
      b, old, createSplat(old.getType(), static_cast<uint8_t>(~mask)));
  Value added =
      arith::AndIOp::create(b, value, createSplat(old.getType(), mask));
  return arith::OrIOp::create(b, kept, added);
}

void VectorKernels::merge(Move move, int64_t count, uint8_t mask) {
  int64_t size = registerElements(count);
  forEachPackedByte([&](int64_t) {
    for (int64_t begin : getWindows(count, size)) {
      Value old = load(move.to + begin, size);
      Value value = loadPacked(move.from + begin, size);
      store(mergeBits(old, value, mask), move.to + begin);
    }
  });
}

void VectorKernels::fillBits(Value value, Position dst, int64_t count,
                             uint8_t mask) {
  int64_t size = registerElements(count);
  Value vector = vector::BroadcastOp::create(b, getMemoryType(size), value);
  for (int64_t begin : getWindows(count, size))
    store(mergeBits(load(dst + begin, size), vector, mask), dst + begin);
}

//===----------------------------------------------------------------------===//
// Packed bytes
//===----------------------------------------------------------------------===//

void VectorKernels::forEachPackedByte(
    llvm::function_ref<void(int64_t dstOffset)> write) {
  if (packedBytes.empty())
    return write(0);
  for (const PackedBytes &bytes : packedBytes) {
    current = &bytes;
    write(bytes.dstOffset);
  }
  current = nullptr;
}

Value VectorKernels::takePart(Value bytes, const BytePart &part) {
  Type type = bytes.getType();
  if (part.shift > 0)
    bytes = arith::ShLIOp::create(b, bytes, createSplat(type, part.shift));
  if (part.shift < 0)
    bytes = arith::ShRUIOp::create(b, bytes, createSplat(type, -part.shift));
  if (part.mask == 0xFF)
    return bytes;
  return arith::AndIOp::create(b, bytes, createSplat(type, part.mask));
}

/// Flips the sign bit and subtracts what it stands for: bytes cannot be shifted
/// in one instruction.
Value VectorKernels::extendSign(Value bytes) {
  Value sign =
      createSplat(bytes.getType(), static_cast<uint8_t>(1 << (signedBits - 1)));
  return arith::SubIOp::create(b, arith::XOrIOp::create(b, bytes, sign), sign);
}

Value VectorKernels::packParts(
    llvm::function_ref<Value(int64_t offset)> loadPart) {
  if (!current)
    return loadPart(0);
  Value result;
  for (const BytePart &part : current->parts) {
    Value taken = takePart(loadPart(part.srcOffset), part);
    result = result ? arith::OrIOp::create(b, result, taken) : taken;
  }
  return signedBits ? extendSign(result) : result;
}

Value VectorKernels::loadPacked(Position position, int64_t count) {
  return packParts(
      [&](int64_t offset) { return load(position + offset, count); });
}

bool VectorKernels::hasMasks() const {
  return vectorBytes == kLineBytes && joinsRuns();
}

bool VectorKernels::joinsRuns() const {
  // LLVM takes floats of 16 bits and integers of 128 apart, lane by lane.
  return factor == 1 && (elementType.isInteger() || bytes >= 4) &&
         tessera::joinsRuns(vectorBytes, bytes);
}

Value VectorKernels::createMask(llvm::ArrayRef<bool> elements) {
  auto type =
      VectorType::get({static_cast<int64_t>(elements.size())}, b.getI1Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, elements));
}

Value VectorKernels::createMask(int64_t size, int64_t begin, int64_t end) {
  llvm::SmallVector<bool, 64> bits(size, false);
  std::fill(bits.begin() + begin, bits.begin() + end, true);
  return createMask(bits);
}

Value VectorKernels::createFirst(Value count) {
  auto type = VectorType::get({kLineBytes / bytes}, b.getI1Type());
  return vector::CreateMaskOp::create(b, type, ValueRange{count});
}

Value VectorKernels::loadMasked(Position position, Value mask, Value others) {
  VectorType type = getMemoryType(kLineBytes / bytes);
  if (!others)
    others = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, position.memref,
                                      ValueRange{getIndex(position)}, mask,
                                      others, llvm::Align(1));
}

void VectorKernels::copyMasked(Move move, Value mask) {
  Value index = getIndex(move.to);
  Value vector = loadMasked(move.from, mask, {});
  vector::MaskedStoreOp::create(b, move.to.memref, ValueRange{index}, mask,
                                vector, llvm::Align(1));
}

void VectorKernels::copySeam(Position first, Move second, Value begin) {
  Value mask = createFirst(begin);
  Value others = createNot(mask);
  Value begun = loadMasked(first, mask, {});
  Value vector = loadMasked(second.from, others, begun);
  storeMemory(vector, second.to, /*isNontemporal=*/true);
}

Value VectorKernels::createNot(Value mask) {
  Value all = arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(mask.getType()), true));
  return arith::XOrIOp::create(b, mask, all);
}

void VectorKernels::fill(Value value, Position dst, int64_t count,
                         bool isNontemporal) {
  int64_t size = registerElements(count);
  Value vector = vector::BroadcastOp::create(b, getMemoryType(size), value);
  for (int64_t begin : getWindows(count, size)) {
    bool isLine = size * bytes == vectorBytes && begin % size == 0;
    storeMemory(vector, dst + begin, isNontemporal && isLine);
  }
}

void VectorKernels::copyAndFill(Move move, int64_t count, Value value,
                                int64_t padding, bool isNontemporal) {
  int64_t size = std::max<int64_t>(vectorBytes / bytes, 1);
  int64_t whole = count / size * size, remainder = count - whole;
  // The register in which elements end and padding begins.
  bool isMixed = hasMasks() && remainder > 0 && remainder + padding >= size;
  int64_t copied = isMixed ? whole : count;
  int64_t filled = isMixed ? whole + size : count;
  if (copied > 0)
    copy(move, copied, isNontemporal);
  if (isMixed) {
    auto [from, to] = move + whole;
    Value fillers = vector::BroadcastOp::create(b, getMemoryType(size), value);
    from = {from.memref, getIndex(from)};
    Value mask = createMask(size, 0, remainder);
    storeMemory(loadMasked(from, mask, fillers), to, isNontemporal);
  }
  if (filled < count + padding)
    fill(value, move.to + filled, count + padding - filled,
         isNontemporal && filled % size == 0);
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

int64_t VectorKernels::countRuns(Value vector) const {
  return cast<VectorType>(vector.getType()).getNumElements() /
         (runElements * factor);
}

Value VectorKernels::shuffleRuns(Value a, Value b2,
                                 llvm::ArrayRef<int64_t> runs) {
  llvm::SmallVector<int64_t, 64> mask;
  int64_t width = runElements * factor;
  for (int64_t index : runs)
    for (int64_t i = 0; i < width; ++i)
      mask.push_back(index < 0 ? vector::ShuffleOp::kPoisonIndex
                               : index * width + i);
  return vector::ShuffleOp::create(b, a, b2, mask);
}

Value VectorKernels::concat(Value a, Value c) {
  return shuffleRuns(
      a, c,
      llvm::to_vector(llvm::seq<int64_t>(0, countRuns(a) + countRuns(c))));
}

Value VectorKernels::slice(Value vector, int64_t begin, int64_t count) {
  if (begin == 0 && count == countRuns(vector))
    return vector;
  return shuffleRuns(vector, vector,
                     llvm::to_vector(llvm::seq(begin, begin + count)));
}

Value VectorKernels::loadPieces(Position position, int64_t count,
                                int64_t paddedTo) {
  Value result;
  int64_t done = 0;
  while (done < count) {
    int64_t size = llvm::bit_floor(static_cast<uint64_t>(count - done));
    Value piece = load(position + done * runElements, size * runElements);
    done += size;
    result = result ? concat(result, piece) : piece;
  }
  if (done == paddedTo)
    return result;
  llvm::SmallVector<int64_t, 16> runs(paddedTo, -1);
  std::iota(runs.begin(), runs.begin() + done, 0);
  return shuffleRuns(result, result, runs);
}

void VectorKernels::storeMasked(Value vector, Position position, int64_t begin,
                                int64_t end) {
  VectorType type = getMemoryType(countRuns(vector) * runElements);
  vector = recast(vector, type);
  Value index = getIndex(position);
  Value mask = createMask(type.getNumElements(), begin, end);
  vector::MaskedStoreOp::create(b, position.memref, ValueRange{index}, mask,
                                vector, llvm::Align(1));
}

void VectorKernels::storePieces(Value vector, Position position,
                                int64_t count) {
  if (hasMasks() && !llvm::isPowerOf2_64(count))
    return storeMasked(vector, position, 0, count * runElements);
  int64_t done = 0;
  while (done < count) {
    int64_t size = llvm::bit_floor(static_cast<uint64_t>(count - done));
    store(slice(vector, done, size), position + done * runElements);
    done += size;
  }
}

Value VectorKernels::pickElements(Value a, Value c, int64_t begin,
                                  int64_t count) {
  auto mask =
      llvm::to_vector(llvm::seq(begin * factor, (begin + count) * factor));
  return vector::ShuffleOp::create(b, a, c, mask);
}

Value VectorKernels::alignLines(Value before, Value after, int64_t shift) {
  int64_t line = kLineBytes / bytes;
  return shift ? pickElements(before, after, line - shift, line) : after;
}

void VectorKernels::storePart(Value line, Position position, int64_t begin,
                              int64_t end) {
  if (hasMasks())
    return storeMasked(line, position, begin, end);
  while (begin < end) {
    int64_t size = llvm::bit_floor(static_cast<uint64_t>(end - begin));
    store(pickElements(line, line, begin, size), position + begin);
    begin += size;
  }
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

int64_t VectorKernels::registerRows(int64_t numRows) const {
  int64_t size = vectorBytes / runBytes();
  // With masks a register may be stored in part; else parts overlap.
  while (size > laneRuns() &&
         (hasMasks() ? size / 2 >= numRows : size > numRows))
    size /= 2;
  return size;
}

int64_t VectorKernels::countShuffles(int64_t numRows,
                                     int64_t numColumns) const {
  // A register of a column takes one for each round.
  int64_t height = registerRows(numRows);
  int64_t registers = llvm::divideCeil(numRows, height) * numColumns;
  return registers * llvm::Log2_64(height);
}

int64_t VectorKernels::loadRuns(int64_t numLanes, int64_t numColumns) const {
  // A transpose takes one register for each column of a load, and 16, half of
  // all, is what it can have without spills. There are fewer narrower ones, and
  // concatenating them costs less than exchanging lanes.
  int64_t maxBytes = vectorBytes == kLineBytes ? 16 * runBytes() : 16;
  maxBytes = std::min(maxBytes, maxLoadBytes);
  int64_t lanes = 1;
  while (2 * lanes <= numLanes && 2 * lanes * 16 <= maxBytes &&
         2 * lanes * laneRuns() <= numColumns)
    lanes *= 2;
  return lanes * laneRuns();
}

/// A vector of `numLanes` lanes of 16 bytes that are loaded `count` runs at a
/// time, from the rows `first`, `first + q`, `first + 2 * q`, ...
Value VectorKernels::loadLanes(Position src, llvm::ArrayRef<int64_t> rows,
                               int64_t first, int64_t numLanes, int64_t count) {
  int64_t q = laneRuns(), numRows = rows.size();
  int64_t lanesOfLoad = llvm::divideCeil(count, q);
  llvm::SmallVector<Value, 4> parts;
  for (int64_t l = 0; l < numLanes / lanesOfLoad; ++l) {
    // Missing rows repeat the last one; they are not stored.
    Position position = src + rows[std::min(l * q + first, numRows - 1)];
    parts.push_back(loadPieces(position, count, std::max(count, q)));
  }
  for (; parts.size() > 1; parts.truncate(parts.size() / 2))
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = concat(parts[2 * i], parts[2 * i + 1]);
  return parts.front();
}

/// log2(q) rounds of unpacking within lanes. Lane l of register k holds row
/// l * q + k at first; in the end register c has column c of all rows in order.
void VectorKernels::unpackLanes(llvm::MutableArrayRef<Value> registers) {
  int64_t q = laneRuns(), runs = countRuns(registers.front());
  llvm::SmallVector<int64_t, 64> low, high;
  for (int64_t lane = 0; lane < runs; lane += q)
    for (int64_t i = 0; i < q; ++i) {
      low.push_back(lane + i / 2 + (i % 2) * runs);
      high.push_back(low.back() + q / 2);
    }
  for (int64_t round = 1; round < q; round *= 2) {
    llvm::SmallVector<Value, 16> next;
    for (int64_t i = 0; i < q / 2; ++i) {
      Value a = registers[i], c = registers[i + q / 2];
      next.push_back(shuffleRuns(a, c, low));
      next.push_back(shuffleRuns(a, c, high));
    }
    llvm::copy(next, registers.begin());
  }
}

/// Splits registers, read as one long sequence of lanes, into as many strands
/// of every n-th lane.
void VectorKernels::splitLanes(llvm::SmallVectorImpl<Value> &registers) {
  int64_t q = laneRuns(), runs = countRuns(registers.front());
  llvm::SmallVector<int64_t, 64> even, odd;
  for (int64_t lane = 0; lane < 2 * runs; lane += 2 * q)
    for (int64_t i = 0; i < q; ++i) {
      even.push_back(lane + i);
      odd.push_back(lane + q + i);
    }
  size_t count = registers.size();
  // After each round, strand i of `width` registers has every (count / width)th
  // lane.
  for (size_t width = count; width > 1; width /= 2) {
    llvm::SmallVector<Value, 4> evens, odds;
    for (size_t i = 0; i < count; i += 2) {
      evens.push_back(shuffleRuns(registers[i], registers[i + 1], even));
      odds.push_back(shuffleRuns(registers[i], registers[i + 1], odd));
    }
    llvm::copy(evens, registers.begin());
    llvm::copy(odds, registers.begin() + count / 2);
  }
}

/// Loads of 16 bytes, one for each lane, need no exchange across lanes; wider
/// ones need log2(lanes of a load) rounds of it, but are fewer. Loads of set t
/// and number k bring lane groups of rows so chosen that unpacking within lanes
/// and then splitting lanes leave in order what belongs to a column.
void VectorKernels::setWithin(llvm::ArrayRef<PlanLoop> loops) {
  if (loops.empty())
    return;
  for (int64_t position = 0; position < runElements; ++position) {
    int64_t source = 0;
    for (const PlanLoop &loop : loops)
      source += position / loop.dstStride % loop.count * loop.srcStride;
    within.push_back(source);
  }
}

Value VectorKernels::shuffleWithin(Value vector) {
  if (within.empty())
    return vector;
  llvm::SmallVector<int64_t, 64> positions;
  for (int64_t i = 0, runs = countRuns(vector); i < runs; ++i)
    for (int64_t source : within)
      positions.push_back(i * runElements + source);
  return vector::ShuffleOp::create(b, vector, vector, positions);
}

void VectorKernels::transposeRegisters(Position src,
                                       llvm::ArrayRef<int64_t> rows,
                                       int64_t numColumns, ColumnSink sink) {
  int64_t q = laneRuns(), numRows = rows.size();
  int64_t numLanes = registerLanes(numRows);
  int64_t sets = llvm::divideCeil(numColumns, q);
  int64_t rowsOfSet = q * numLanes / sets;
  llvm::SmallVector<llvm::SmallVector<Value, 16>, 4> registers(sets);
  for (auto [set, list] : llvm::enumerate(registers)) {
    for (int64_t k = 0; k < q; ++k)
      list.push_back(k < numRows ? loadLanes(src, rows, set * rowsOfSet + k,
                                             numLanes, numColumns)
                                 : list.front());
    unpackLanes(list);
  }
  for (int64_t c = 0; c < std::min(q, numColumns); ++c) {
    llvm::SmallVector<Value, 4> strands;
    for (const auto &list : registers)
      strands.push_back(list[c]);
    splitLanes(strands);
    for (auto [lane, column] : llvm::enumerate(strands))
      sink(shuffleWithin(column), lane * q + c);
  }
}

void VectorKernels::unpackRows(Position src, llvm::ArrayRef<int64_t> rows,
                               Position stage) {
  int64_t size = vectorBytes / bytes;
  llvm::SmallVector<Value, 16> registers;
  for (int64_t row : rows)
    registers.push_back(load(src + row, size));
  unpackLanes(registers);
  for (auto [i, vector] : llvm::enumerate(registers))
    store(vector, stage + i * size);
}

void VectorKernels::splitColumns(Move move, llvm::ArrayRef<int64_t> columns,
                                 bool isNontemporal) {
  int64_t size = vectorBytes / bytes;
  llvm::SmallVector<Value, 4> strands;
  for (size_t i = 0; i < columns.size(); ++i)
    strands.push_back(load(move.from + i * laneRuns() * size, size));
  splitLanes(strands);
  for (auto [column, vector] : llvm::zip_equal(columns, strands))
    store(vector, move.to + column, isNontemporal);
}

void VectorKernels::transpose(const Block &block, bool isNontemporal) {
  int64_t numRows = block.rows.size();
  for (int64_t row = 0; row < numRows;) {
    // With masks, rows that are left take a register of their own; else one
    // that overlaps.
    int64_t left = hasMasks() ? numRows - row : numRows;
    int64_t size = std::min(registerRows(left), left);
    int64_t begin = std::min(row, numRows - size);
    bool fillsLines =
        isNontemporal && size * runBytes() == kLineBytes && begin % size == 0;
    auto storeColumn = [&](Value column, int64_t number) {
      Position position =
          block.to + begin * runElements + block.columns[number];
      if (countRuns(column) == size)
        store(column, position, fillsLines);
      else
        storePieces(column, position, size);
    };
    transposeRows(block.from, block.rows.slice(begin, size),
                  block.columns.size(), storeColumn);
    row = begin + size;
  }
}

bool VectorKernels::isOfWords(llvm::ArrayRef<int64_t> rows,
                              int64_t numColumns) const {
  int64_t words = countWords(rows, numColumns, runElements);
  return words > 1 && words * numColumns == static_cast<int64_t>(rows.size()) &&
         numColumns <= kMaxWord;
}

/// log2(numColumns) rounds: of two registers whose numbers differ in one bit,
/// the first one gets from the second the runs at places without that bit, for
/// those of its own at places with it.
void VectorKernels::turnWords(Position src, llvm::ArrayRef<int64_t> rows,
                              int64_t numColumns, ColumnSink sink) {
  int64_t size = rows.size();
  llvm::SmallVector<Value, 16> words;
  for (int64_t row : rows.take_front(numColumns))
    words.push_back(load(src + row, size * runElements));
  for (int64_t bit = 1; bit < numColumns; bit *= 2) {
    llvm::SmallVector<int64_t, 64> low, high;
    for (int64_t i = 0; i < size; ++i) {
      low.push_back(i & bit ? size + i - bit : i);
      high.push_back(i & bit ? size + i : i + bit);
    }
    for (int64_t k = 0; k < numColumns; ++k) {
      if (k & bit)
        continue;
      Value a = words[k], c = words[k + bit];
      words[k] = shuffleRuns(a, c, low);
      words[k + bit] = shuffleRuns(a, c, high);
    }
  }
  for (auto [number, column] : llvm::enumerate(words))
    sink(shuffleWithin(column), number);
}

void VectorKernels::transposeRows(Position src, llvm::ArrayRef<int64_t> rows,
                                  int64_t numColumns, ColumnSink sink) {
  if (isOfWords(rows, numColumns))
    return turnWords(src, rows, numColumns, sink);
  int64_t q = laneRuns();
  int64_t width =
      std::min(loadRuns(registerLanes(rows.size()), numColumns), numColumns);
  for (int64_t column = 0; column < numColumns;) {
    // What is left takes narrower loads, the last of which overlaps.
    int64_t left = numColumns - column;
    int64_t wide = std::min<int64_t>(
        width, std::max<int64_t>(q, llvm::bit_floor<uint64_t>(left)));
    int64_t begin = std::max<int64_t>(0, std::min(column, numColumns - wide));
    int64_t count = std::min(wide, numColumns);
    transposeRegisters(
        src + begin * runElements, rows, count,
        [&](Value column, int64_t number) { sink(column, begin + number); });
    column = begin + count;
  }
}
