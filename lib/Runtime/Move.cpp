//===- Move.cpp - A nest with its kernel ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Move.h"

#include "PackedBlocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::runtime;

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

bool tessera::runtime::isTransposable(int64_t runBytes) {
  return runBytes <= kMaxTransposedBytes && llvm::isPowerOf2_64(runBytes);
}

bool tessera::runtime::isApart(int64_t distance, int64_t runBytes) {
  return runBytes <= kMaxInterleavedBytes && isTransposable(runBytes) &&
         (distance == 2 * runBytes || distance == 4 * runBytes);
}

bool tessera::runtime::isOfWords(const Move &move) {
  return move.moreRows.src == move.moreRows.dst && move.square == 1 &&
         move.moreRows.dst <= kMaxWordBytes &&
         move.columns.count * move.runBytes <= move.moreRows.dst &&
         isApart(move.moreRows.dst, move.runBytes);
}

bool tessera::runtime::isSparse(const Move &move) {
  if (move.kind != Move::Kind::Transpose || isOfWords(move))
    return false;
  int64_t bytes = move.rows.count * move.runBytes;
  // A loop that continues the rows, or one whose steps are in other lines.
  auto suits = [&](const Loop &loop) {
    bool goesOn = loop.dst == bytes;
    if (goesOn)
      bytes *= loop.count;
    return goesOn || loop.count == 1 || std::abs(loop.dst) >= kLineBytes;
  };
  return suits(move.moreRows) && suits(move.moreColumns) &&
         llvm::all_of(move.loops, suits) && bytes < kLineBytes &&
         std::abs(move.columns.dst) >= kLineBytes;
}

bool tessera::runtime::isInterleave(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.square == 1 &&
         move.columns.dst == move.rows.count * move.runBytes &&
         isApart(move.columns.dst, move.runBytes);
}

bool tessera::runtime::isDividedRun(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.square == 1 &&
         move.rows.src >= move.columns.count * move.runBytes &&
         isApart(move.rows.src, move.runBytes);
}

bool tessera::runtime::isDividedAmongFew(const Move &move) {
  return move.kind == Move::Kind::Transpose && !isOfWords(move) &&
         !isSparse(move) && move.columns.count * move.moreColumns.count <= 4;
}

bool tessera::runtime::isTiled(const Move &move) {
  return move.kind == Move::Kind::Transpose && move.fillBytes == 0 &&
         !isInterleave(move) && !isDividedRun(move) && !isOfWords(move);
}

bool tessera::runtime::isChained(const Move &move) {
  return move.moreRows.count > 1 || move.moreColumns.count > 1;
}

int64_t tessera::runtime::countWritten(const Move &move) {
  int64_t filled = move.fillBytes;
  if (move.kind == Move::Kind::Transpose && !move.isFilledBehindColumns())
    filled *= move.columns.count * (isOfWords(move) ? move.moreRows.count : 1);
  for (const Loop &loop : move.loops)
    filled *= loop.count;
  return move.numBytes() + filled;
}

void tessera::runtime::orderBySource(llvm::MutableArrayRef<Loop> loops) {
  llvm::sort(loops, [](const Loop &a, const Loop &b) {
    return std::pair(std::abs(a.src), a.dst) >
           std::pair(std::abs(b.src), b.dst);
  });
}

int64_t Move::numBytes() const {
  int64_t count = runBytes * rows.count * columns.count * moreRows.count *
                  moreColumns.count * std::max<int64_t>(bytes.size(), 1);
  if (block)
    count = block->steps * int64_t(bytes.size());
  for (const Loop &loop : loops)
    count *= loop.count;
  return count;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static llvm::StringRef getKindName(Move::Kind kind) {
  switch (kind) {
  case Move::Kind::Copy:
    return "copy";
  case Move::Kind::Transpose:
    return "transpose";
  case Move::Kind::Gather:
    return "gather";
  case Move::Kind::PackBits:
    return "pack bits";
  case Move::Kind::Fill:
    return "fill";
  }
  return "";
}

static llvm::StringRef getSidesName(SquareSides sides) {
  switch (sides) {
  case SquareSides::Both:
    return "";
  case SquareSides::Source:
    return " in the source";
  case SquareSides::Destination:
    return " in the destination";
  }
  return "";
}

static void printLoop(llvm::StringRef name, const Loop &loop,
                      llvm::raw_ostream &os, unsigned indent) {
  os.indent(indent + 2) << name << " " << loop.count << "  src " << loop.src
                        << " dst " << loop.dst << "\n";
}

/// What is done with each block, by way of buffers.
static void printBlock(const PackedBlock &block, llvm::raw_ostream &os,
                       unsigned indent) {
  auto printMoves = [&](llvm::StringRef name, const RowMoves &moves) {
    if (moves.places.empty())
      return;
    os.indent(indent) << name;
    bool isAtBegin = moves.places.size() == 1 && moves.places[0].src == 0 &&
                     moves.places[0].dst == 0;
    for (auto [i, place] : llvm::enumerate(moves.places))
      if (!isAtBegin)
        os << (i == 0 ? " at src " : ", src ") << place.src << " dst "
           << place.dst;
    os << "\n";
    for (const Move &move : moves.schedule.moves)
      move.print(os, indent + 2);
  };
  printMoves("read", block.reads);
  printMoves("read from the destination", block.keeps);
  printMoves("pack", block.packs);
  printMoves("write", block.writes);
}

void Move::print(llvm::raw_ostream &os, unsigned indent) const {
  os.indent(indent) << (numShared > 0 ? "and " : "") << getKindName(kind)
                    << " of " << runBytes
                    << (runBytes == 1 ? " byte, src " : " bytes, src ")
                    << srcOffset << " dst " << dstOffset
                    << (isStreamed ? ", streamed" : "")
                    << (keepsPadding ? ", padding kept"
                        : fillBytes  ? ", padding behind it"
                                     : "");
  if (fillBehind > 0)
    os << " and " << fillBehind << " bytes";
  if (blocks.lines > 1)
    os << ", " << blocks.lines << " lines of a column";
  if (square > 1)
    os << ", squares of " << square << " by " << square
       << getSidesName(squareSides);
  if (kind == Kind::Gather)
    os << ", " << gather.countWindows() << " windows of a "
       << (gather.partBytes == gather.registerBytes ? "register" : "lane");
  os << (blocks.packsRows ? ", rows packed" : "")
     << (blocks.prefetchesToL2 ? ", prefetched to L2" : "") << "\n";
  for (const Loop &loop : llvm::ArrayRef(loops).drop_front(numShared))
    printLoop("for", loop, os, indent);
  if (block)
    return printBlock(*block, os, indent + 2);
  if (kind == Kind::Copy || kind == Kind::Fill || kind == Kind::Gather)
    return;
  if (kind == Kind::Transpose || rows.count > 1)
    printLoop("rows", rows, os, indent);
  if (moreRows.count > 1)
    printLoop(isOfWords(*this) ? "words" : "more rows", moreRows, os, indent);
  if (kind == Kind::Transpose || columns.count > 1)
    printLoop("columns", columns, os, indent);
  if (moreColumns.count > 1)
    printLoop("more columns", moreColumns, os, indent);
}
