//===- VectorKernels.h - Kernels on rows and columns ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// VectorKernels emits the straight-line code of a block: vector loads, shuffles
// and stores. A block is given by two tables: where each of its rows begins in
// the source, and where each of its columns begins in the destination. The
// runs of a row are contiguous in the source from there on, and the runs of a
// column are contiguous in the destination.
//
//   transpose of 4 x 4 runs, rows at 0, 100, 200, 300 of the source, columns
//   at 0, 50, 100, 150 of the destination:
//
//     source  0: a0 a1 a2 a3            destination   0: a0 b0 c0 d0
//           100: b0 b1 b2 b3                         50: a1 b1 c1 d1
//           200: c0 c1 c2 c3                        100: a2 b2 c2 d2
//           300: d0 d1 d2 d3                        150: a3 b3 c3 d3
//
//   Four loads of a row each, two rounds of two-register shuffles (runs of
//   neighbouring rows are interleaved, then pairs of them), four stores.
//
//   interleave of two rows into one run:
//
//     source  0: a0 a1 a2 a3            destination   0: a0 b0 a1 b1
//           100: b0 b1 b2 b3                          4: a2 b2 a3 b3
//
// All shuffles are on integers of at most 64 bits, because LLVM's instruction
// selection does not support every element type. An element of 128 bits is two
// of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TESSERATOVECTOR_VECTORKERNELS_H
#define TESSERA_LIB_CONVERSION_TESSERATOVECTOR_VECTORKERNELS_H

#include "InterleaveGroups.h"

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace tessera {

/// A position in a flat memref: `index` plus a constant, in elements.
struct Position {
  mlir::Value memref;
  mlir::Value index;
  int64_t offset = 0;

  Position operator+(int64_t elements) const {
    return {memref, index, offset + elements};
  }
};

/// Where something is read, and where it is written.
struct Move {
  Position from, to;

  Move operator+(int64_t elements) const {
    return {from + elements, to + elements};
  }
};

/// Where something moves whose rows begin at `rows` from there in the source,
/// and whose columns begin at `columns` in the destination.
struct Block : Move {
  llvm::ArrayRef<int64_t> rows, columns;
};

/// What lies between the columns of a run that rows are interleaved into.
struct InterleaveGap {
  /// Runs behind those of each column.
  int64_t runs = 0;
  /// What they get, an element; null where they stay as they are.
  mlir::Value filler;
  /// Whether they are padding, so that nothing else reads or writes them.
  bool isPadding = false;
};

/// Emits loads, shuffles and stores of elements of one type.
class VectorKernels {
public:
  /// `vectorBytes` is the widest register, `runElements` the elements that move
  /// as one: a power of two of at most 16 bytes where rows are shuffled.
  VectorKernels(mlir::ImplicitLocOpBuilder &builder, mlir::Type elementType,
                int64_t vectorBytes, int64_t runElements);

  /// From now on kernels write packed bytes, for each of their runs as many as
  /// there are in `packedBytes`. But a transpose takes rows as they are.
  void setPackedBytes(llvm::ArrayRef<PackedBytes> packedBytes,
                      int64_t signedBits) {
    this->packedBytes = packedBytes;
    this->signedBits = signedBits;
  }

  /// From now on the elements of runs that are transposed are permuted, as
  /// loops within a run have them.
  void setWithin(llvm::ArrayRef<PlanLoop> loops);

  /// From now on the loads of transposes are no wider, down to 16 bytes.
  void setMaxLoadBytes(int64_t bytes) { maxLoadBytes = bytes; }

  int64_t elementBytes() const { return bytes; }

  /// `count` elements at `position`, as a vector of work integers.
  mlir::Value load(Position position, int64_t count);
  /// Stores a vector of work integers. A nontemporal store must be aligned to
  /// its size, else it is an ordinary one.
  void store(mlir::Value vector, Position position, bool isNontemporal = false);

  /// Writes the bits of `mask` of `count` bytes.
  void merge(Move move, int64_t count, uint8_t mask);
  /// The same, of `value`.
  void fillBits(mlir::Value value, Position dst, int64_t count, uint8_t mask);

  /// Copies `count` elements that are contiguous on both sides. With
  /// `isNontemporal` the destination is aligned to lines.
  void copy(Move move, int64_t count, bool isNontemporal = false);
  /// Copies `count` bytes, packed as those of `number` are, from every
  /// `pitch`-th byte.
  void pack(size_t number, Move move, int64_t count, int64_t pitch);
  /// Whether registers of a line can be loaded and stored in part.
  bool hasMasks() const;
  /// Whether lines can be made of two runs.
  bool joinsRuns() const;
  /// Copies the first `count` elements, an index, of a line at most; none if it
  /// is negative.
  void copyFirst(Move move, mlir::Value count) {
    copyMasked(move, createFirst(count));
  }
  /// Copies all elements of a line but the first ones, up to `begin`.
  void copyLast(Move move, mlir::Value begin) {
    copyMasked(move, createNot(createFirst(begin)));
  }
  /// Writes a line: elements from `first`, and from `begin` on those of
  /// `second`.
  void copySeam(Position first, Move second, mlir::Value begin);
  mlir::Value getIndex(Position position);
  /// Writes `value`, a scalar of the element type, `count` times. With
  /// `isNontemporal` the destination is aligned to lines.
  void fill(mlir::Value value, Position dst, int64_t count,
            bool isNontemporal = false);
  /// Copies `count` elements and writes `value` after them, `padding` times.
  void copyAndFill(Move move, int64_t count, mlir::Value value, int64_t padding,
                   bool isNontemporal);

  /// The last `shift` elements of the line `before` and the first ones of the
  /// line `after`: what lies where `after` would, `shift` elements earlier.
  mlir::Value alignLines(mlir::Value before, mlir::Value after, int64_t shift);
  /// Stores elements `begin` to `end` of a line that would lie at `position`.
  void storePart(mlir::Value line, Position position, int64_t begin,
                 int64_t end);

  /// Gets the register of a column, whose number it is told.
  using ColumnSink = llvm::function_ref<void(mlir::Value, int64_t)>;
  /// Transposes as many rows as one register takes. Columns that two loads have
  /// in common come twice, the same both times.
  void transposeRows(Position src, llvm::ArrayRef<int64_t> rows,
                     int64_t numColumns, ColumnSink sink);
  /// Transposes a block. Stores that fill aligned lines may be
  /// nontemporal.
  void transpose(const Block &block, bool isNontemporal = false);
  /// Half the transpose of a square of whole registers: unpacks as many rows as
  /// 16 bytes have runs, into registers that are one behind the other.
  void unpackRows(Position src, llvm::ArrayRef<int64_t> rows, Position stage);
  /// The other half: columns, as many as registers have lanes of 16 bytes, from
  /// one such register each of all those sets.
  void splitColumns(Move move, llvm::ArrayRef<int64_t> columns,
                    bool isNontemporal);
  /// Interleaves rows: column c lies at c * (rows + gap) in the destination.
  /// Gaps stay as they are only where there are masks, or where they are
  /// padding.
  void interleave(Move move, llvm::ArrayRef<int64_t> rows, int64_t numColumns,
                  InterleaveGap gap, bool isNontemporal);
  /// The mirror image: row r lies at r * pitch in the source.
  void deinterleave(const Block &block, int64_t pitch, bool isNontemporal);

  /// Whether `runs` are enough for the registers of interleaving.
  bool fillsLane(int64_t runs) const {
    return runs >= laneRuns() || !packedBytes.empty();
  }
  /// Runs of a register that sides of `length` are interleaved by.
  int64_t interleavedRuns(int64_t length) const;
  /// Rows that one register of a column takes, for `numRows` rows.
  int64_t registerRows(int64_t numRows) const;
  /// Columns that the loads of such a register take at once.
  int64_t registerColumns(int64_t numRows, int64_t numColumns) const {
    return loadRuns(registerLanes(numRows), numColumns);
  }
  /// About how many shuffles a transpose takes.
  int64_t countShuffles(int64_t numRows, int64_t numColumns) const;
  /// Runs in 16 bytes: the columns of an in-register transpose.
  int64_t laneRuns() const { return 16 / runBytes(); }

private:
  int64_t runBytes() const { return runElements * bytes; }
  void copyRun(Move move, int64_t count, bool isNontemporal);
  /// The bits of `mask` from `value`, the others from `old`.
  mlir::Value mergeBits(mlir::Value old, mlir::Value value, uint8_t mask);
  /// Masks of a register: the first `count` elements, and all but those of a
  /// mask.
  mlir::Value createFirst(mlir::Value count);
  mlir::Value createNot(mlir::Value mask);
  /// The elements of `mask`; the others are those of `others`, or zero.
  mlir::Value loadMasked(Position position, mlir::Value mask,
                         mlir::Value others);
  void copyMasked(Move move, mlir::Value mask);
  mlir::Value createSplat(mlir::Type type, uint8_t value);
  mlir::Value createMask(llvm::ArrayRef<bool> elements);
  /// The elements `begin` to `end` of `size`.
  mlir::Value createMask(int64_t size, int64_t begin, int64_t end);
  /// The same bits as a vector of another type.
  mlir::Value recast(mlir::Value vector, mlir::VectorType type);
  /// Elements of a register, or of as many as `count` leaves room for.
  int64_t registerElements(int64_t count) const {
    return std::min<int64_t>(std::max<int64_t>(vectorBytes / bytes, 1),
                             llvm::bit_floor<uint64_t>(count));
  }
  /// Stores a vector of elements.
  void storeMemory(mlir::Value vector, Position position, bool isNontemporal);
  /// Packs parts that `loadPart` brings from an offset, as they are if there is
  /// nothing to pack.
  mlir::Value
  packParts(llvm::function_ref<mlir::Value(int64_t offset)> loadPart);
  mlir::Value takePart(mlir::Value bytes, const BytePart &part);
  mlir::Value extendSign(mlir::Value bytes);
  /// `count` elements that the destination gets from `position`.
  mlir::Value loadPacked(Position position, int64_t count);
  /// Calls `write` with the offset of each byte to pack.
  void forEachPackedByte(llvm::function_ref<void(int64_t dstOffset)> write);
  /// A register of lanes that are loaded to their places.
  mlir::Value loadLanes(Position src, llvm::ArrayRef<RegisterRun> positions,
                        int64_t lane);
  /// Runs of a register of `size` that a shuffle of two picks from: without
  /// registers of a line, those of a lane.
  int64_t zippedRuns(int64_t size) const {
    return vectorBytes < RelayoutTarget::kLineBytes ? std::min(size, laneRuns())
                                                    : size;
  }
  /// `numStrands` registers of `size` runs, each of every `pitch`-th run of a
  /// run, from neighbouring ones on.
  llvm::SmallVector<mlir::Value, 16>
  loadStrands(Position src, int64_t numStrands, int64_t pitch, int64_t size);
  /// Calls `sink` with a register of `size` rows of each column, which are
  /// `pitch` runs apart at `src`, and its offset from the first row.
  void
  loadColumns(Position src, int64_t pitch, int64_t size,
              llvm::ArrayRef<int64_t> columns,
              llvm::function_ref<void(mlir::Value value, int64_t offset)> sink);
  mlir::VectorType getMemoryType(int64_t elements) const;
  mlir::VectorType getWorkType(int64_t elements) const;

  /// Selects runs of two vectors as one sequence.
  mlir::Value shuffleRuns(mlir::Value a, mlir::Value b,
                          llvm::ArrayRef<int64_t> runs);
  int64_t countRuns(mlir::Value vector) const;
  /// One vector behind the other.
  mlir::Value concat(mlir::Value a, mlir::Value c);
  mlir::Value slice(mlir::Value vector, int64_t begin, int64_t count);
  /// `count` elements, not runs, of two vectors as one sequence.
  mlir::Value pickElements(mlir::Value a, mlir::Value c, int64_t begin,
                           int64_t count);

  /// `count` runs of `value`.
  mlir::Value fillRegister(mlir::Value value, int64_t count);
  void storeEnd(mlir::Value vector, Position position, int64_t first);
  void storeRuns(mlir::Value vector, Position position,
                 llvm::ArrayRef<bool> isRun);
  void storeBetween(mlir::Value vector, Position position, InterleaveGap gap,
                    llvm::ArrayRef<bool> isRun);
  /// The elements of all runs in their new order.
  mlir::Value shuffleWithin(mlir::Value vector);
  /// Runs of many registers as one.
  mlir::Value gatherRuns(llvm::ArrayRef<mlir::Value> registers,
                         llvm::ArrayRef<RegisterRun> positions);
  /// Interleaves 2, 4, 8, ... registers into as many of one run, or those of
  /// each part of `lane` runs, `width` at a time; and the other way round.
  void zipRows(llvm::MutableArrayRef<mlir::Value> rows, int64_t lane,
               int64_t width);
  void unzipRows(llvm::MutableArrayRef<mlir::Value> zipped);
  void unzipLanes(llvm::MutableArrayRef<mlir::Value> zipped, int64_t lane);

  /// `count` runs, padded to `paddedTo`: in pieces of powers of two.
  mlir::Value loadPieces(Position position, int64_t count, int64_t paddedTo);
  /// Stores elements `begin` to `end` of a register that would lie at
  /// `position`.
  void storeMasked(mlir::Value vector, Position position, int64_t begin,
                   int64_t end);
  void storePieces(mlir::Value vector, Position position, int64_t count);

  /// Lanes of 16 bytes in the register of a column of `numRows` rows.
  int64_t registerLanes(int64_t numRows) const {
    return llvm::bit_ceil<uint64_t>(llvm::divideCeil(numRows, laneRuns()));
  }
  /// Columns that one load of a transpose takes, where a register of a column
  /// has `numLanes` lanes of 16 bytes.
  int64_t loadRuns(int64_t numLanes, int64_t numColumns) const;
  mlir::Value loadLanes(Position src, llvm::ArrayRef<int64_t> rows,
                        int64_t first, int64_t numLanes, int64_t count);
  void unpackLanes(llvm::MutableArrayRef<mlir::Value> registers);
  void splitLanes(llvm::SmallVectorImpl<mlir::Value> &registers);
  /// Whether rows are words (Schedule.h) side by side, and no more of them.
  bool isOfWords(llvm::ArrayRef<int64_t> rows, int64_t numColumns) const;
  /// One register of words of each of `numColumns` rows.
  void turnWords(Position src, llvm::ArrayRef<int64_t> rows, int64_t numColumns,
                 ColumnSink sink);
  /// One register of rows, and the columns of one load.
  void transposeRegisters(Position src, llvm::ArrayRef<int64_t> rows,
                          int64_t numColumns, ColumnSink sink);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type elementType;
  mlir::IntegerType workType;
  int64_t bytes;
  /// Work integers in an element: 2 for 128 bits.
  int64_t factor;
  int64_t vectorBytes;
  int64_t maxLoadBytes = RelayoutTarget::kLineBytes;
  int64_t runElements;
  /// Where each element of a run comes from, if they are permuted.
  llvm::SmallVector<int64_t, 16> within;
  llvm::ArrayRef<PackedBytes> packedBytes;
  int64_t signedBits = 0;
  /// What is being written.
  const PackedBytes *current = nullptr;
};

/// Parts of [0, count) of length `size`, the last one moved back to overlap the
/// one before; one part of length `count` where that is less.
llvm::SmallVector<int64_t, 8> getWindows(int64_t count, int64_t size);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TESSERATOVECTOR_VECTORKERNELS_H
