//===- IndexMapTest.cpp - Which element is which --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps against lists of elements that are moved one by one.
//
//===----------------------------------------------------------------------===//

#include "tessera/DataFlow/IndexMap.h"

#include "tessera/Layout/AxisList.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Text.h"

#include "Layout/RandomShape.h"
#include "TestCounts.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

using Sizes = llvm::SmallVector<int64_t, 6>;
/// The elements of an array, row-major.
using Elements = std::vector<int64_t>;

int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t getNumber(llvm::ArrayRef<int64_t> sizes,
                  llvm::ArrayRef<int64_t> index) {
  int64_t number = 0;
  for (auto [size, i] : llvm::zip_equal(sizes, index))
    number = number * size + i;
  return number;
}

/// The array of `sizes` whose element at an index is the one of `from` that
/// `source` says.
Elements move(llvm::ArrayRef<int64_t> sizes, const Elements &from,
              llvm::ArrayRef<int64_t> fromSizes,
              llvm::function_ref<Sizes(llvm::ArrayRef<int64_t>)> source) {
  Elements result;
  for (int64_t i = 0; i < product(sizes); ++i)
    result.push_back(from[getNumber(fromSizes, source(getIndex(sizes, i)))]);
  return result;
}

/// An array that moves, as a map and as elements.
struct Moved {
  Sizes sizes;
  IndexMap map;
  Elements elements;
};

/// Other sizes of as many elements.
Sizes reshape(RandomShapes &random, int64_t count) {
  Sizes sizes;
  while (count > 1 && sizes.size() < 4) {
    int64_t divisor = random.number(1, count);
    while (count % divisor != 0)
      --divisor;
    sizes.push_back(divisor);
    count /= divisor;
  }
  sizes.push_back(count);
  return sizes;
}

std::optional<IndexMap> transpose(RandomShapes &random, Moved &array) {
  auto permutation = random.permutation(array.sizes.size());
  Sizes sizes;
  for (int64_t dim : permutation)
    sizes.push_back(array.sizes[dim]);
  array.elements = move(sizes, array.elements, array.sizes, [&](auto index) {
    Sizes source(index.size());
    for (auto [i, dim] : llvm::enumerate(permutation))
      source[dim] = index[i];
    return source;
  });
  auto map = array.map.transpose(array.sizes, permutation);
  array.sizes = sizes;
  return map;
}

std::optional<IndexMap> slice(RandomShapes &random, Moved &array) {
  Box box;
  Sizes sizes;
  for (int64_t size : array.sizes) {
    int64_t begin = random.oneIn(2) ? 0 : random.number(0, size - 1);
    int64_t step = random.number(1, 3);
    int64_t most = (size - begin + step - 1) / step;
    int64_t count = random.oneIn(2) ? most : random.number(1, most);
    box.push_back({begin, count, step});
    sizes.push_back(count);
  }
  array.elements = move(sizes, array.elements, array.sizes, [&](auto index) {
    Sizes source;
    for (auto [i, slice] : llvm::zip_equal(index, box))
      source.push_back(slice.begin + i * slice.step);
    return source;
  });
  auto map = array.map.slice(array.sizes, box);
  array.sizes = sizes;
  return map;
}

std::optional<IndexMap> reverse(RandomShapes &random, Moved &array) {
  Sizes dims;
  for (size_t dim = 0; dim < array.sizes.size(); ++dim)
    if (random.oneIn(2))
      dims.push_back(dim);
  array.elements =
      move(array.sizes, array.elements, array.sizes, [&](auto index) {
        Sizes source(index);
        for (int64_t dim : dims)
          source[dim] = array.sizes[dim] - 1 - index[dim];
        return source;
      });
  return array.map.reverse(array.sizes, dims);
}

std::optional<IndexMap> broadcast(RandomShapes &random, Moved &array) {
  Sizes sizes = array.sizes, dims;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    dims.push_back(dim);
  size_t at = random.number(0, sizes.size());
  sizes.insert(sizes.begin() + at, random.number(1, 3));
  for (int64_t &dim : dims)
    dim += dim >= static_cast<int64_t>(at);
  array.elements = move(sizes, array.elements, array.sizes, [&](auto index) {
    Sizes source(index);
    source.erase(source.begin() + at);
    return source;
  });
  auto map = array.map.broadcast(array.sizes, sizes, dims);
  array.sizes = sizes;
  return map;
}

TEST(IndexMap, ChainsOfMoves) {
  uint64_t seed = testSeed();
  RandomShapes random(seed);
  int64_t mapped = 0, refused = 0;
  for (int chain = 0; chain < testCount(20000); ++chain) {
    int64_t count = random.oneOf({12, 24, 30, 36, 48, 60});
    Moved array{reshape(random, count), IndexMap::identity(count), {}};
    for (int64_t i = 0; i < count; ++i)
      array.elements.push_back(i);
    for (int step = 0; step < 5 && array.elements.size() < 400; ++step) {
      std::optional<IndexMap> map = array.map;
      switch (random.number(0, 4)) {
      case 0:
        array.sizes = reshape(random, product(array.sizes));
        break;
      case 1:
        map = transpose(random, array);
        break;
      case 2:
        map = slice(random, array);
        break;
      case 3:
        map = reverse(random, array);
        break;
      default:
        map = broadcast(random, array);
      }
      ++(map ? mapped : refused);
      if (!map)
        break;
      array.map = *map;
      ASSERT_EQ(map->count(), product(array.sizes)) << "seed " << seed;
      for (auto [i, element] : llvm::enumerate(array.elements))
        ASSERT_EQ((*map)(i), element) << "seed " << seed;
    }
  }
  // Most moves of numbers with many divisors are sums of digits.
  EXPECT_GT(mapped, 4 * refused);
}

/// Equal functions have equal forms, and others differ where findDifference
/// says.
TEST(IndexMap, CanonicalForm) {
  uint64_t seed = testSeed();
  RandomShapes random(seed);
  int64_t equal = 0;
  for (int i = 0; i < testCount(20000); ++i) {
    int64_t count = random.oneOf({8, 12, 24});
    IndexMap maps[2];
    for (IndexMap &map : maps) {
      Sizes sizes = reshape(random, count);
      map = *IndexMap::identity(count).transpose(
          sizes, random.permutation(sizes.size()));
    }
    std::optional<int64_t> first;
    for (int64_t element = count; element-- > 0;)
      if (maps[0](element) != maps[1](element))
        first = element;
    ASSERT_EQ(maps[0] == maps[1], !first) << "seed " << seed;
    auto found = IndexMap::findDifference(maps[0], maps[1]);
    ASSERT_EQ(found.has_value(), first.has_value()) << "seed " << seed;
    if (found) {
      ASSERT_NE(maps[0](*found), maps[1](*found)) << "seed " << seed;
    }
    equal += !first;
    // One permutation of the other's elements.
    auto both = maps[0].after(maps[1]);
    for (int64_t element = 0; both && element < count; ++element)
      ASSERT_EQ((*both)(element), maps[0](maps[1](element))) << "seed " << seed;
  }
  EXPECT_GT(equal, 10);
}

/// An array cut along a dimension, and its parts in their order or another.
TEST(IndexMap, Concatenations) {
  uint64_t seed = testSeed();
  RandomShapes random(seed);
  int64_t found = 0, other = 0;
  for (int i = 0; i < testCount(20000); ++i) {
    int64_t count = random.oneOf({12, 24, 36});
    Sizes sizes = reshape(random, count);
    IndexMap whole = *IndexMap::identity(count).transpose(
        sizes, random.permutation(sizes.size()));
    size_t dim = random.number(0, sizes.size() - 1);
    std::vector<IndexMap> maps;
    std::vector<Sizes> parts;
    for (int64_t begin = 0; begin < sizes[dim];) {
      Box box;
      for (int64_t size : sizes)
        box.push_back({0, size, 1});
      int64_t most = sizes[dim] - begin;
      box[dim] = {begin, random.number(1, most), 1};
      auto map = whole.slice(sizes, box);
      if (!map)
        break;
      maps.push_back(*map);
      parts.emplace_back(sizes)[dim] = box[dim].count;
      begin += box[dim].count;
    }
    bool isSwapped = maps.size() > 1 && random.oneIn(2);
    if (isSwapped) {
      std::swap(maps[0], maps[1]);
      std::swap(parts[0], parts[1]);
    }
    std::vector<llvm::ArrayRef<int64_t>> sizesOfParts(parts.begin(),
                                                      parts.end());
    auto joined = IndexMap::concatenate(maps, sizesOfParts, dim);
    if (!joined)
      continue;
    ++(isSwapped ? other : found);
    // Each part is where it was put.
    Sizes together = sizes;
    together[dim] = 0;
    for (const Sizes &part : parts)
      together[dim] += part[dim];
    int64_t begin = 0;
    for (auto [map, part] : llvm::zip_equal(maps, parts)) {
      for (int64_t element = 0; element < product(part); ++element) {
        Sizes index = getIndex(part, element);
        index[dim] += begin;
        ASSERT_EQ((*joined)(getNumber(together, index)), map(element))
            << "seed " << seed;
      }
      begin += part[dim];
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(found, 10 * other);
}

/// Where an element of an array is, in elements.
int64_t getPosition(const Shape &shape, int64_t element) {
  llvm::Expected<AxisList> axes = AxisList::getStatic(shape);
  EXPECT_TRUE(static_cast<bool>(axes));
  return axes->linearIndex(getIndex(shape.dimensions(), element));
}

void checkBitcast(const Shape &from, const Shape &to, int64_t &found) {
  std::optional<IndexMap> map;
  if (mayBitcast(from, to))
    map = getBitcastMap(from, to);
  if (!map)
    return;
  ++found;
  std::string what = from.toString() + " -> " + to.toString();
  ASSERT_EQ(map->count(), product(to.dimensions())) << what;
  for (int64_t element = 0; element < map->count(); ++element)
    ASSERT_EQ(getPosition(from, (*map)(element)), getPosition(to, element))
        << what << ", element " << element;
}

TEST(IndexMap, Bitcasts) {
  uint64_t seed = testSeed();
  RandomShapes random(seed);
  int64_t found = 0;
  for (int i = 0; i < testCount(40000); ++i) {
    int64_t count = random.oneOf({8, 12, 24, 36, 13, 26, 40});
    Shape shapes[2];
    Tile tile;
    for (int64_t dim = random.number(0, 2); dim-- > 0;)
      tile.sizes.push_back(random.number(1, 4));
    for (Shape &shape : shapes) {
      Sizes sizes = reshape(random, count);
      Layout layout;
      llvm::append_range(layout.minorToMajor, random.permutation(sizes.size()));
      if (!tile.sizes.empty() && tile.sizes.size() <= sizes.size())
        layout.tiles.push_back(tile);
      shape = Shape::array(PrimitiveType::F32, sizes, layout);
    }
    checkBitcast(shapes[0], shapes[1], found);
  }
  EXPECT_GT(found, 200);
}

Shape parse(llvm::StringRef text) {
  llvm::Expected<Shape> shape = parseShape(text);
  EXPECT_TRUE(static_cast<bool>(shape)) << text.str();
  return *shape;
}

TEST(IndexMap, BitcastsOfCompilers) {
  const char *pairs[][2] = {
      {"f32[5,200]{1,0:T(8,128)}", "f32[200,5]{0,1:T(8,128)}"},
      {"f32[13,200]{1,0:T(8,128)}", "f32[1,13,1,200]{3,1,2,0:T(8,128)}"},
      {"bf16[256,4,64]{0,2,1:T(8,128)(2,1)}",
       "bf16[4,64,256]{2,1,0:T(8,128)(2,1)}"},
      {"f32[16,128]{1,0:T(8,128)}", "f32[2,8,128]{2,1,0}"},
      {"f32[1024]{0:T(1024)}", "f32[8,128]{1,0:T(8,128)}"},
  };
  for (auto [from, to] : pairs) {
    int64_t found = 0;
    checkBitcast(parse(from), parse(to), found);
    EXPECT_EQ(found, 1) << from << " -> " << to;
  }
  // Widths that differ are more than an order of elements.
  EXPECT_FALSE(getBitcastMap(parse("u32[8]{0}"), parse("u16[8,2]{1,0}")));
}

} // namespace
