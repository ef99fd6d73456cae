//===- Target.cpp - Machines and the layouts they prefer ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Target.h"

#include "tessera/Layout/AxisList.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <map>

using namespace llvm;
using namespace tessera;

//===----------------------------------------------------------------------===//
// The table of targets
//===----------------------------------------------------------------------===//

static constexpr int64_t kKiB = 1024;
static constexpr int64_t kMiB = 1024 * kKiB;
static constexpr int64_t kGiB = 1024 * kMiB;

// A CPU has one memory: every space that a program names is in it.
static constexpr MemorySpace kCPUSpaces[] = {
    {0, "memory", 0, 64, 0},
    {5, "host", 0, 64, 0},
};

// The memories of a TPU, by XLA's numbers. HBM is what a program can have: that
// of a chip, by Google Cloud's figures, or of a core where the cores of a chip
// do not work as one (v2, v3, v7x). VMEM, CMEM and SMEM per core are those of
// JAX's chip table; the TPU compiler rounds buffers up to 512 bytes.
static constexpr std::array<MemorySpace, 6>
getTPUSpaces(int64_t hbm, int64_t vmem, int64_t smem = kMiB) {
  return {{{0, "hbm", hbm, 512, 0},
           {1, "vmem", vmem, 512, 1},
           {2, "semaphore", 0, 512, 2},
           {4, "small_vectors", 0, 512, 4},
           {5, "host", 0, 64, 5},
           {6, "smem", smem, 512, 6}}};
}

// v4 has one more, and its compiler keeps there what others keep in VMEM.
static constexpr std::array<MemorySpace, 7> getTPUv4Spaces() {
  std::array<MemorySpace, 6> all = getTPUSpaces(32 * kGiB, 16 * kMiB);
  return {{all[0],
           all[1],
           all[2],
           {3, "cmem", 64 * kMiB, 512, 3},
           all[3],
           all[4],
           all[5]}};
}

static constexpr auto kTPUv2Spaces =
    getTPUSpaces(8 * kGiB, 16 * kMiB, 16 * kKiB);
static constexpr auto kTPUv3Spaces =
    getTPUSpaces(16 * kGiB, 16 * kMiB, 16 * kKiB);
static constexpr auto kTPUv4Spaces = getTPUv4Spaces();
static constexpr auto kTPUv5eSpaces = getTPUSpaces(16 * kGiB, 128 * kMiB);
static constexpr auto kTPUv5pSpaces = getTPUSpaces(95 * kGiB, 64 * kMiB);
static constexpr auto kTPUv6eSpaces = getTPUSpaces(32 * kGiB, 128 * kMiB);
static constexpr auto kTPUv7xSpaces = getTPUSpaces(96 * kGiB, 64 * kMiB);

// A GPU of compute capability 9.0 (H100). XLA's colours 1 and 2 are parts of
// the global memory; 3 is ours, numbered as in NVPTX.
static constexpr MemorySpace kNVGPUSpaces[] = {
    {0, "global", 80 * kGiB, 256, 1},
    {1, "collective", 80 * kGiB, 256, 1},
    {2, "temporary", 80 * kGiB, 256, 1},
    {3, "shared", 227 * kKiB, 16, 3},
    {5, "host", 0, 64, 1},
};

static constexpr Target kTargets[] = {
    {"cpu", kCPUSpaces, LayoutRule::RowMajor},
    {"tpu_v2", kTPUv2Spaces, LayoutRule::TPUv2},
    {"tpu_v3", kTPUv3Spaces, LayoutRule::TPUv2},
    {"tpu_v4", kTPUv4Spaces, LayoutRule::TPU},
    {"tpu_v5e", kTPUv5eSpaces, LayoutRule::TPU},
    {"tpu_v5p", kTPUv5pSpaces, LayoutRule::TPU},
    {"tpu_v6e", kTPUv6eSpaces, LayoutRule::TPU},
    {"tpu_v7x", kTPUv7xSpaces, LayoutRule::TPU},
    {"nvgpu", kNVGPUSpaces, LayoutRule::RowMajor},
};

namespace {
/// Another name of a target, in lower case and without what stands between
/// words.
struct TargetAlias {
  StringRef alias;
  StringRef name;
};
} // namespace

// Names of Google Cloud, of JAX's device kinds, and what people say. The names
// themselves without `tpu_` are found too.
static constexpr TargetAlias kAliases[] = {
    {"v5lite", "tpu_v5e"},   {"v5litepod", "tpu_v5e"}, {"v5", "tpu_v5p"},
    {"v6", "tpu_v6e"},       {"v6lite", "tpu_v6e"},    {"trillium", "tpu_v6e"},
    {"v7", "tpu_v7x"},       {"7", "tpu_v7x"},         {"7x", "tpu_v7x"},
    {"ironwood", "tpu_v7x"}, {"gpu", "nvgpu"},         {"h100", "nvgpu"},
};

StringRef tessera::getName(LayoutRule rule) {
  switch (rule) {
  case LayoutRule::RowMajor:
    return "row_major";
  case LayoutRule::TPU:
    return "tpu";
  case LayoutRule::TPUv2:
    return "tpu_v2";
  }
  llvm_unreachable("all rules have names");
}

std::optional<LayoutRule> tessera::parseLayoutRule(StringRef name) {
  return StringSwitch<std::optional<LayoutRule>>(name)
      .Case("row_major", LayoutRule::RowMajor)
      .Case("tpu", LayoutRule::TPU)
      .Case("tpu_v2", LayoutRule::TPUv2)
      .Default(std::nullopt);
}

const MemorySpace *Target::findSpace(int64_t number) const {
  const MemorySpace *space =
      find_if(spaces, [&](const MemorySpace &s) { return s.number == number; });
  return space == spaces.end() ? nullptr : space;
}

ArrayRef<Target> tessera::allTargets() { return kTargets; }

std::string tessera::getTargetNames() {
  return join(
      map_range(kTargets, [](const Target &target) { return target.name; }),
      ", ");
}

/// `v5litepod` of `TPU v5-LitePod`: letters and digits in lower case, without
/// the word for all of them.
static std::string normalize(StringRef name) {
  std::string letters;
  for (char c : name)
    if (isAlnum(c))
      letters += toLower(c);
  StringRef text = letters;
  if (text != "tpu")
    text.consume_front("tpu");
  return text.str();
}

Expected<const Target *> tessera::getTarget(StringRef name) {
  std::string wanted = normalize(name);
  for (const TargetAlias &alias : kAliases)
    if (alias.alias == wanted)
      wanted = normalize(alias.name);
  for (const Target &target : kTargets)
    if (normalize(target.name) == wanted)
      return &target;
  return unsupportedError("target", "one of " + getTargetNames(),
                          "'" + name + "'");
}

//===----------------------------------------------------------------------===//
// Default layouts
//===----------------------------------------------------------------------===//

// A vector register of a TPU: 8 sublanes of 128 lanes, a 32-bit word each.
static constexpr int64_t kSublanes = 8;
static constexpr int64_t kLanes = 128;
static constexpr int64_t kWordBits = 32;

namespace {
/// What differs between the compilers of TPU generations.
struct TPUCompiler {
  /// The least rows and columns of a tile: whole words, or pairs of them.
  int64_t unit;
  /// Whether types of less than a byte are packed.
  bool packsElements;
};
} // namespace

// v4 and later; v2 and v3.
static constexpr TPUCompiler kTPU = {1, true};
static constexpr TPUCompiler kTPUv2 = {2, false};

/// Bits of an element in the buffers of every target that packs elements.
static int64_t getPackedBits(PrimitiveType type) {
  return isSubByteNonPred(type) ? getBitWidth(type) : 8 * getByteWidth(type);
}

/// The smallest power of two from `low` that is at least `size`, but at most
/// `high` (or `low`, where that is more). All are powers of two but `size`.
static int64_t clampToPowerOf2(int64_t size, int64_t low, int64_t high) {
  return std::max<int64_t>(low, PowerOf2Ceil(std::min(size, high)));
}

namespace {
/// How one compiler tiles arrays of one type.
class TPUTiling {
public:
  TPUTiling(const TPUCompiler &compiler, PrimitiveType type)
      : compiler(compiler), bits(getPackedBits(type)) {
    // Elements that share a word; wider types are kept as arrays of words.
    int64_t stored = compiler.packsElements ? bits : 8 * getByteWidth(type);
    packing = std::max<int64_t>(1, kWordBits / stored);
  }

  /// In the order that is given, or else in the one that pads least.
  Layout getLayout(ArrayRef<int64_t> dims, ArrayRef<int64_t> order) const;

private:
  int64_t getRowGranule(int64_t size) const;
  int64_t getTileRows(int64_t size) const;
  int64_t getMostColumns() const;
  std::pair<int64_t, int64_t> chooseMinorPair(ArrayRef<int64_t> dims) const;

  const TPUCompiler &compiler;
  int64_t bits;
  int64_t packing;
};
} // namespace

/// The rows, of `size` in all, that the TPU compiler counts as a unit when it
/// weighs padding.
int64_t TPUTiling::getRowGranule(int64_t size) const {
  return clampToPowerOf2(size, std::min(packing * compiler.unit, kSublanes),
                         kSublanes);
}

/// Rows of a tile: no more than there are, but whole words. Types of a byte
/// or less fill a whole register where the rows divide into registers.
int64_t TPUTiling::getTileRows(int64_t size) const {
  int64_t rows = std::max(packing, getRowGranule(size));
  // The rows that one word would have, were elements packed.
  if (!compiler.packsElements)
    return std::max(rows, bits < 4 ? kWordBits / bits : 1);
  int64_t registerRows = kSublanes * packing;
  return packing >= 4 && size % registerRows == 0 ? registerRows : rows;
}

/// The two most minor dimensions of each size, most minor first: any pair pads
/// as much as one of these. The sizes of an array have few different values.
static SmallVector<int64_t> getPairCandidates(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> candidates;
  std::map<int64_t, unsigned> numbers;
  for (int64_t dim = dims.size(); dim-- > 0;)
    if (++numbers[dims[dim]] <= 2)
      candidates.push_back(dim);
  return candidates;
}

/// The dimension on the lanes and the one on the sublanes: a pair that needs no
/// padding, else the pair that pads least; of several the most minor one in
/// logical order. `dims` has no 0 and two entries or more.
std::pair<int64_t, int64_t>
TPUTiling::chooseMinorPair(ArrayRef<int64_t> dims) const {
  uint64_t total = 1;
  for (int64_t size : dims)
    total *= size;
  int64_t rank = dims.size();
  std::pair<int64_t, int64_t> best = {rank - 1, rank - 2};
  uint64_t leastPositions = UINT64_MAX;
  SmallVector<int64_t> candidates = getPairCandidates(dims);
  for (int64_t minor : candidates) {
    uint64_t columns = alignTo(dims[minor], kLanes);
    for (int64_t second : candidates) {
      if (second == minor)
        continue;
      if (dims[minor] % kLanes == 0 &&
          dims[second] % getTileRows(dims[second]) == 0)
        return {minor, second};
      uint64_t rows = alignTo(dims[second], getRowGranule(dims[second]));
      uint64_t others = total / dims[minor] / dims[second];
      uint64_t positions =
          SaturatingMultiply(others, SaturatingMultiply(rows, columns));
      if (positions < leastPositions) {
        leastPositions = positions;
        best = {minor, second};
      }
    }
  }
  return best;
}

/// The order with those two dimensions first and the others descending.
static SmallVector<int64_t, 6> getOrder(int64_t rank, int64_t minor,
                                        int64_t second) {
  SmallVector<int64_t, 6> order = {minor, second};
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (dim != minor && dim != second)
      order.push_back(dim);
  return order;
}

/// Columns of the tile of a long vector.
int64_t TPUTiling::getMostColumns() const {
  // Without packing 2-bit types have as many as if they were packed.
  int64_t rows = compiler.packsElements ? kSublanes : kWordBits / bits;
  return kLanes * std::max(rows, kSublanes);
}

Layout TPUTiling::getLayout(ArrayRef<int64_t> dims,
                            ArrayRef<int64_t> order) const {
  int64_t rank = dims.size();
  Layout layout = Layout::descending(rank);
  if (!order.empty())
    layout.minorToMajor.assign(order.begin(), order.end());
  if (is_contained(dims, 0))
    return layout;
  int64_t least = kLanes * packing * compiler.unit;
  if (rank == 0) {
    layout.tiles.push_back({{least}});
    return layout;
  }
  if (rank == 1) {
    layout.tiles.push_back(
        {{clampToPowerOf2(dims[0], least, getMostColumns())}});
    if (packing > 1)
      layout.tiles.push_back({{kLanes}});
  } else {
    if (order.empty()) {
      auto [minor, second] = chooseMinorPair(dims);
      layout.minorToMajor = getOrder(rank, minor, second);
    }
    int64_t rows = getTileRows(dims[layout.minorToMajor[1]]);
    layout.tiles.push_back({{rows, kLanes}});
  }
  // Neighbours in a column lie in one word.
  if (packing > 1)
    layout.tiles.push_back({{packing, 1}});
  return layout;
}

/// The layout that a rule gives to an array, all of whose sizes are known, in
/// an order that is given or in its own.
static Layout getDefaultLayout(LayoutRule rule, PrimitiveType type,
                               ArrayRef<int64_t> dims,
                               ArrayRef<int64_t> order) {
  Layout layout = Layout::descending(dims.size());
  switch (rule) {
  case LayoutRule::RowMajor:
    if (!order.empty())
      layout.minorToMajor.assign(order.begin(), order.end());
    return layout;
  case LayoutRule::TPU:
    return TPUTiling(kTPU, type).getLayout(dims, order);
  case LayoutRule::TPUv2:
    return TPUTiling(kTPUv2, type).getLayout(dims, order);
  }
  llvm_unreachable("all rules are handled");
}

static Error setDefaultLayout(LayoutRule rule, Shape &array,
                              ArrayRef<int64_t> order = {}) {
  PrimitiveType type = array.elementType();
  if (array.hasUnboundedDimension())
    return unsupportedError("default layout", "dimensions with a size or bound",
                            array.toString(/*printLayout=*/false),
                            "give the dimension a bound, as in f32[<=8]");
  if (rule != LayoutRule::RowMajor && getPackedBits(type) == 1)
    return unsupportedError("default layout",
                            "an element type of 2 bits or more, or pred",
                            array.toString(/*printLayout=*/false));
  Layout layout = getDefaultLayout(rule, type, array.dimensions(), order);
  if (isSubByteNonPred(type) && rule != LayoutRule::TPUv2)
    layout.elementSizeInBits = getBitWidth(type);
  array.setLayout(std::move(layout));
  // The padding may make the array too large.
  return AxisList::get(array).takeError();
}

static Error setDefaultLayouts(LayoutRule rule, Shape &shape) {
  if (shape.isArray())
    return setDefaultLayout(rule, shape);
  for (Shape &element : shape.mutableElements())
    if (Error error = setDefaultLayouts(rule, element))
      return error;
  return Error::success();
}

Expected<Shape> tessera::chooseDefaultLayout(LayoutRule rule, Shape shape) {
  // The rule divides by sizes and multiplies them: they must be right.
  if (Error error = shape.verify())
    return std::move(error);
  if (Error error = setDefaultLayouts(rule, shape))
    return std::move(error);
  return shape;
}

Expected<Shape> tessera::chooseDefaultLayout(const Target &target,
                                             Shape shape) {
  return chooseDefaultLayout(target.layoutRule, std::move(shape));
}

Expected<Shape> tessera::chooseLayoutInOrder(LayoutRule rule, Shape array,
                                             ArrayRef<int64_t> order) {
  Layout layout;
  layout.minorToMajor.assign(order.begin(), order.end());
  array.setLayout(std::move(layout));
  // The order may be none of its dimensions.
  if (Error error = array.verify())
    return std::move(error);
  if (Error error = setDefaultLayout(rule, array, order))
    return std::move(error);
  return array;
}
