//===- ShapePairs.h - Pairs of shapes that reach every kernel ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs of arrays at sizes of several blocks, by chance and by name.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_SHAPEPAIRS_H
#define TESSERA_UNITTESTS_SHAPEPAIRS_H

#include "RandomNumbers.h"

#include "tessera/Layout/Text.h"

#include "llvm/ADT/bit.h"

namespace tessera {

/// Pairs of shapes that reach every kernel: permutations, tiles of tiles, odd
/// sizes, pitches and padding, at sizes of several blocks.
class ShapePairs : public RandomNumbers {
public:
  using RandomNumbers::RandomNumbers;

  std::pair<Shape, Shape> next() {
    static constexpr PrimitiveType kTypes[] = {
        PrimitiveType::S8,  PrimitiveType::BF16, PrimitiveType::F32,
        PrimitiveType::F64, PrimitiveType::C128, PrimitiveType::F32};
    PrimitiveType type = kTypes[number(0, 5)];
    llvm::SmallVector<int64_t> dims(number(1, 4));
    static constexpr int64_t kLargest[] = {3000, 150, 30, 12};
    for (int64_t &dim : dims)
      dim = oneIn(4) ? 8 * number(1, 4) : number(1, kLargest[dims.size() - 1]);
    if (oneIn(4))
      return nextInterleave(type);
    return {Shape::array(type, dims, layout(dims, false)),
            Shape::array(type, dims, layout(dims, true))};
  }

  /// Whole arrays of some megabytes, whose blocks have their full sizes;
  /// pitches are powers of two more often than not.
  std::pair<Shape, Shape> nextLarge() {
    static constexpr PrimitiveType kTypes[] = {
        PrimitiveType::S8,   PrimitiveType::S8,  PrimitiveType::BF16,
        PrimitiveType::BF16, PrimitiveType::F32, PrimitiveType::F64};
    static constexpr int64_t kSizes[] = {3,  8,  12,  20,  24,  32, 48,
                                         64, 96, 100, 128, 192, 256};
    PrimitiveType type = kTypes[number(0, 5)];
    int64_t left = number(1 << 20, 3 << 20) / getByteWidth(type);
    llvm::SmallVector<int64_t> dims;
    for (int64_t count = number(1, 3); count > 0; --count) {
      int64_t size = kSizes[number(0, std::size(kSizes) - 1)];
      if (left / size < 3)
        break;
      dims.push_back(size);
      left /= size;
    }
    dims.push_back(oneIn(2) ? llvm::bit_floor<uint64_t>(left) : left);
    std::shuffle(dims.begin(), dims.end(), engine);
    return {Shape::array(type, dims, largeLayout(dims.size())),
            Shape::array(type, dims, largeLayout(dims.size()))};
  }

  Layout largeLayout(size_t rank) {
    static const std::vector<Tile> kTiles[] = {{},
                                               {},
                                               {},
                                               {{{8, 128}}},
                                               {{{8, 128}}, {{2, 1}}},
                                               {{{8, 128}}, {{4, 1}}},
                                               {{{32, 128}}}};
    Layout result = Layout::descending(rank);
    std::shuffle(result.minorToMajor.begin(), result.minorToMajor.end(),
                 engine);
    const std::vector<Tile> &tiles = kTiles[number(0, 6)];
    result.tiles.assign(tiles.begin(), tiles.end());
    return result;
  }

  Layout layout(llvm::ArrayRef<int64_t> dims, bool isDestination) {
    Layout result = Layout::descending(dims.size());
    std::shuffle(result.minorToMajor.begin(), result.minorToMajor.end(),
                 engine);
    static const std::vector<Tile> kTiles[] = {{},
                                               {},
                                               {{{8, 16}}},
                                               {{{4, 8}}, {{2, 1}}},
                                               {{{8, 16}}, {{4, 1}}},
                                               {{{16}}},
                                               {{{2, 32}}, {{2, 1}}},
                                               {{{8, 128}}},
                                               {{{3}}},
                                               {{{8, 1}}}};
    const std::vector<Tile> &tiles = kTiles[number(0, 9)];
    result.tiles.assign(tiles.begin(), tiles.end());
    if (oneIn(5))
      for (int64_t dim : dims)
        result.paddedDimensions.push_back(dim + number(0, 5));
    if (oneIn(8))
      result.tailPaddingAlignment = number(1, 70);
    if (isDestination && oneIn(2))
      result.paddingValue = oneIn(2) ? PaddingValue::Zero : PaddingValue::One;
    return result;
  }

private:
  /// Few rows of any number that are interleaved into runs, or the mirror
  /// image; with padding between the columns or not.
  std::pair<Shape, Shape> nextInterleave(PrimitiveType type) {
    int64_t few = number(1, 26), images = number(1, 3);
    llvm::SmallVector<int64_t> dims = {images, few,
                                       number(1, 4000 / few / images)};
    Layout rows = Layout::descending(3), runs = rows;
    runs.minorToMajor = {1, 2, 0};
    if (oneIn(3))
      runs.paddedDimensions = {images, few + number(1, 3), dims[2]};
    if (oneIn(2))
      std::swap(rows, runs);
    else if (oneIn(2))
      runs.paddingValue = oneIn(2) ? PaddingValue::Zero : PaddingValue::One;
    return {Shape::array(type, dims, rows), Shape::array(type, dims, runs)};
  }
};

inline std::vector<std::pair<Shape, Shape>>
parsePairs(llvm::ArrayRef<std::pair<const char *, const char *>> texts) {
  std::vector<std::pair<Shape, Shape>> pairs;
  for (auto [source, destination] : texts)
    pairs.push_back({llvm::cantFail(parseShape(source)),
                     llvm::cantFail(parseShape(destination))});
  return pairs;
}

/// One pair for each kernel that takes whole lines; others come by chance.
inline std::vector<std::pair<Shape, Shape>> getKernelPairs() {
  return parsePairs(
      {std::pair("f32[64,64]{1,0}", "f32[64,64]{0,1}"),
       std::pair("bf16[16,256]{1,0}", "bf16[16,256]{1,0:T(8,128)(2,1)}"),
       std::pair("s8[16,256]{1,0:T(8,128)(4,1)}", "s8[16,256]{1,0}"),
       std::pair("f32[16,256]{1,0}", "f32[16,256]{1,0:T(8,128)}"),
       std::pair("f32[8,387]{1,0:T(8,128)}", "f32[8,387]{1,0}"),
       std::pair("f32[67,61]{1,0}", "f32[67,61]{0,1}"),
       // Rows that all fall into a few sets of the cache.
       std::pair("s8[192,80]{1,0:PD(192,1024)}", "s8[192,80]{0,1}"),
       std::pair("s8[576,64]{1,0:PD(576,1024)}", "s8[576,64]{0,1}"),
       std::pair("bf16[224,40]{1,0:PD(224,512)}", "bf16[224,40]{0,1}"),
       std::pair("s8[130,1024]{1,0}", "s8[130,1024]{0,1}"),
       std::pair("u8[70,80]{1,0:PD(70,2048)}", "u8[70,80]{0,1}"),
       // Such rows of two loops, of which no registers lie alike.
       std::pair("s8[1,192,4,256]{3,2,1,0}", "s8[1,192,4,256]{1,2,0,3}"),
       std::pair("bf16[2,48,4,128]{3,2,1,0}", "bf16[2,48,4,128]{1,2,0,3}"),
       std::pair("f32[3,20,8,64]{3,2,1,0}", "f32[3,20,8,64]{1,2,0,3}"),
       // Rows one behind the other, or nearly so.
       std::pair("s8[320,100]{1,0}", "s8[320,100]{0,1}"),
       std::pair("bf16[3,224,72]{2,1,0}", "bf16[3,224,72]{1,2,0}"),
       std::pair("f32[2,96,50]{2,1,0:PD(2,96,54)}", "f32[2,96,50]{1,2,0}"),
       std::pair("f64[64,9]{1,0}", "f64[64,9]{0,1:PD(64,16)}"),
       // Columns of two loops, of which one goes on behind a block.
       std::pair("f32[24,333]{0,1}", "f32[24,333]{1,0:T(8,128)}"),
       // Few rows that are no power of two.
       std::pair("f32[2,3,23,30]{3,2,1,0}", "f32[2,3,23,30]{1,3,2,0}"),
       std::pair("s8[3,1700]{0,1}", "s8[3,1700]{1,0}"),
       std::pair("bf16[7,300]{1,0}", "bf16[7,300]{0,1}"),
       // Elements that are permuted within a unit.
       std::pair("bf16[40,264]{1,0:T(8,128)(2,1)}",
                 "bf16[40,264]{0,1:T(8,128)(2,1)}"),
       std::pair("s8[64,136]{1,0:T(8,128)(4,1)}",
                 "s8[64,136]{0,1:T(8,128)(4,1)}"),
       std::pair("f32[35,70]{1,0:T(8,16)(2,1)}",
                 "f32[35,70]{0,1:T(8,16)(2,1)}"),
       std::pair("u8[50,31]{1,0:T(2,1)}", "u8[50,31]{0,1:T(2,1)}"),
       // Rows alone in their tiles.
       std::pair("bf16[3,300]{1,0}", "bf16[3,300]{1,0:T(8,128)(2,1)}"),
       std::pair("bf16[1,900]{1,0}", "bf16[1,900]{1,0:T(2,128)(2,1)PV(one)}"),
       std::pair("s8[7,300]{1,0:T(8,128)(4,1)}", "s8[7,300]{1,0}"),
       // Elements too far apart for narrow registers, and for any.
       std::pair("f64[70]{0:T(8,16)}", "f64[70]{0:T(8,16)(4,1)}"),
       std::pair("bf16[90,1]{1,0}", "bf16[90,1]{1,0:T(1,128)}"),
       // Dense runs that begin anywhere.
       std::pair("s8[3,23,100]{2,1,0}", "s8[3,23,100]{1,2,0}"),
       std::pair("s8[44,70]{1,0}", "s8[44,70]{0,1}"),
       std::pair("f32[4,7,50]{2,1,0}", "f32[4,7,50]{1,2,0}"),
       // Padding behind runs, behind all rows, and of half a register.
       std::pair("f32[17,300]{1,0}", "f32[17,300]{1,0:T(8,128)PV(zero)}"),
       std::pair("s16[3,512]{1,0}", "s16[3,512]{1,0:T(16,128)PV(one)}"),
       std::pair("u8[20,1000]{1,0}", "u8[20,1000]{1,0:T(8,2048)PV(highest)}")});
}

/// Columns and runs that begin anywhere in a line, for registers of 64 bytes.
inline std::vector<std::pair<Shape, Shape>> getRaggedPairs() {
  return parsePairs(
      {// Several panels of rows.
       std::pair("s8[197,131]{1,0}", "s8[197,131]{0,1}"),
       std::pair("bf16[101,67]{1,0}", "bf16[101,67]{0,1}"),
       std::pair("f32[2,160,39]{2,1,0}", "f32[2,160,39]{1,2,0:PD(2,161,48)}"),
       std::pair("f64[77,30]{1,0:T(8,16)}", "f64[77,30]{0,1}"),
       std::pair("c128[61,19]{1,0}", "c128[61,19]{0,1}"),
       std::pair("f32[2,160,139]{2,1,0}",
                 "f32[2,160,139]{1,2,0:PD(2,161,144)}"),
       // Enough rows to be taken from where a line begins, in one batch and
       // in several, by units of two, and of columns that begin at lines if
       // the array does.
       std::pair("f32[801,37]{1,0}", "f32[801,37]{0,1}"),
       std::pair("bf16[1101,67]{1,0}", "bf16[1101,67]{0,1}"),
       std::pair("f64[3,303,21]{2,1,0}", "f64[3,303,21]{1,2,0}"),
       std::pair("c128[5,131,11]{2,1,0}", "c128[5,131,11]{1,2,0}"),
       std::pair("f32[451,33,2]{2,1,0}", "f32[451,33,2]{2,0,1}"),
       std::pair("f32[560,48]{1,0}", "f32[560,48]{0,1}"),
       std::pair("bf16[1120,80]{1,0}", "bf16[1120,80]{0,1}"),
       std::pair("s8[2176,200]{1,0}", "s8[2176,200]{0,1}"),
       // The same in panels of rows that are packed.
       std::pair("s8[1111,67]{1,0}", "s8[1111,67]{0,1}"),
       std::pair("s8[3,259,75]{2,1,0}", "s8[3,259,75]{1,2,0}"),
       std::pair("bf16[2,229,99]{2,1,0}", "bf16[2,229,99]{1,2,0}"),
       std::pair("s16[131,150]{1,0}", "s16[131,150]{0,1:PD(133,150)}"),
       std::pair("f32[2,97,50]{2,1,0}", "f32[2,97,50]{1,2,0}"),
       // Runs of whole lines that continue one another from anywhere.
       std::pair("f32[20,300]{1,0:T(8,128)}", "f32[20,300]{1,0}"),
       std::pair("bf16[17,450]{1,0:T(8,128)}", "bf16[17,450]{1,0}"),
       std::pair("s8[9,1100]{1,0:T(8,256)}", "s8[9,1100]{1,0:PD(9,1103)}"),
       std::pair("f64[5,100]{1,0:T(2,32)}", "f64[5,100]{1,0}"),
       std::pair("c128[5,70]{1,0:T(2,16)}", "c128[5,70]{1,0}"),
       // The same of runs of any length, of which every few end one more line.
       std::pair("f32[20,9,37]{2,1,0}", "f32[20,9,37]{2,0,1}"),
       std::pair("s8[20,9,70]{2,1,0}", "s8[20,9,70]{2,0,1}"),
       std::pair("s8[31,3,127]{2,1,0}", "s8[31,3,127]{2,0,1}"),
       std::pair("bf16[30,5,45]{2,1,0}", "bf16[30,5,45]{2,0,1:PD(31,5,45)}"),
       std::pair("f64[12,7,9]{2,1,0}", "f64[12,7,9]{2,0,1}"),
       std::pair("c128[12,7,9]{2,1,0}", "c128[12,7,9]{2,0,1}"),
       std::pair("f32[5,2,8,50]{3,2,1,0}", "f32[5,2,8,50]{3,1,2,0}"),
       std::pair("f32[6,11,331]{2,1,0}", "f32[6,11,331]{2,0,1}")});
}

} // namespace tessera

#endif // TESSERA_UNITTESTS_SHAPEPAIRS_H
