//===- PickedRows.h - Few rows to columns by picks of runs ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few rows that become columns without gaps, and back, where an instruction
// picks the runs of a register from two others by number. A register of each
// row makes as many registers of columns. Rows are grouped by powers of two, as
// many as there are: those of a group are interleaved in rounds, and registers
// of columns are picked from those of all groups. Three rows of four runs:
//
//   rows      aaaa bbbb | cccc
//   groups    abab abab | cccc
//   columns   abca bcab cabc
//
// What runs are picked, and by which numbers, is known to the compiler:
// `Places` says of each run of `kTo` registers which register of `kFrom` it
// comes from, and which run of that it is.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_PICKEDROWS_H
#define TESSERA_LIB_RUNTIME_PICKEDROWS_H

#include "TransposeBlocks.h"

namespace tessera::runtime {

/// A run of some registers.
struct RunPlace {
  int reg, run;
};

/// Rows that are interleaved: the first one, and how many they are.
struct RowGroup {
  int first, size;
};

/// Columns of `Rows` rows, `Runs` in a register.
template <int Rows, int Runs> struct PickedColumns {
  /// With empty rows to make 16 where these few take less time than smaller
  /// groups.
  static constexpr int kGrouped = Rows > 13 ? 16 : Rows;
  static_assert(kGrouped <= Runs, "a register has a run of each row");

  /// The group of a row: larger ones come first.
  static constexpr RowGroup getGroup(int row) {
    RowGroup group = {0, 16};
    while ((kGrouped & group.size) == 0 || row >= group.first + group.size) {
      group.first += kGrouped & group.size;
      group.size /= 2;
    }
    return group;
  }

  /// Where the groups have what is a run of the columns.
  struct FromGroups {
    static constexpr int kFrom = kGrouped, kTo = Rows, kRuns = Runs;
    static constexpr RunPlace of(int reg, int run) {
      int row = (reg * Runs + run) % Rows, column = (reg * Runs + run) / Rows;
      RowGroup group = getGroup(row);
      int columns = Runs / group.size;
      return {group.first + column / columns,
              column % columns * group.size + row - group.first};
    }
  };

  /// Where the columns have what is a run of the groups.
  struct FromColumns {
    static constexpr int kFrom = Rows, kTo = kGrouped, kRuns = Runs;
    static constexpr RunPlace of(int reg, int run) {
      RowGroup group = getGroup(reg);
      int row = group.first + run % group.size;
      int column = (reg - group.first) * (Runs / group.size) + run / group.size;
      int number = column * Rows + row;
      return {row < Rows ? number / Runs : kFrom, number % Runs};
    }
  };
};

/// Whether a register of `Places` has runs of register `from`.
template <typename Places> constexpr bool hasRuns(int reg, int from) {
  for (int run = 0; run < Places::kRuns; ++run)
    if (Places::of(reg, run).reg == from)
      return true;
  return false;
}

/// How many registers before `from` have runs of one of `Places`.
template <typename Places> constexpr int countBefore(int reg, int from) {
  int count = 0;
  for (int k = 0; k < from; ++k)
    count += hasRuns<Places>(reg, k);
  return count;
}

/// The numbers by which runs are picked from what was picked so far, which is
/// another register at first, and from register `From`.
template <typename Number, int Runs> struct PickNumbers {
  Number numbers[Runs];
};
template <typename Places, typename Number, int Reg, int From>
constexpr auto getPickNumbers() {
  PickNumbers<Number, Places::kRuns> result = {};
  bool isFirst = countBefore<Places>(Reg, From) <= 1;
  for (int run = 0; run < Places::kRuns; ++run) {
    RunPlace place = Places::of(Reg, run);
    if (place.reg == From)
      result.numbers[run] = Places::kRuns + place.run;
    else
      result.numbers[run] = isFirst ? place.run : run;
  }
  return result;
}

/// Outside of what each processor has of its own: one table serves all.
template <typename Places, typename Number, int Reg, int From>
alignas(64) inline constexpr PickNumbers<Number, Places::kRuns> kPickNumbers =
    getPickNumbers<Places, Number, Reg, From>();

/// Whether a register of `Places` is another one as it is.
template <typename Places> constexpr bool isWhole(int reg, int from) {
  for (int run = 0; run < Places::kRuns; ++run) {
    RunPlace place = Places::of(reg, run);
    if (place.reg != from || place.run != run)
      return false;
  }
  return true;
}

namespace {

/// Register `Reg` of `Places`, of which `picked` has what comes from registers
/// before `From`.
template <typename Places, int Reg, int From = 0, typename V>
TESSERA_INLINE V pickRegister(const V (&from)[Places::kFrom], V picked) {
  if constexpr (From == Places::kFrom) {
    return picked;
  } else if constexpr (!hasRuns<Places>(Reg, From)) {
    return pickRegister<Places, Reg, From + 1>(from, picked);
  } else if constexpr (isWhole<Places>(Reg, From) ||
                       (countBefore<Places>(Reg, From) == 0 &&
                        countBefore<Places>(Reg, Places::kFrom) > 1)) {
    return pickRegister<Places, Reg, From + 1>(from, from[From]);
  } else {
    constexpr int kRunBytes = sizeof(V) / Places::kRuns;
    using Number = typename VectorOf<kRunBytes, sizeof(V)>::Element;
    const auto &table = kPickNumbers<Places, Number, Reg, From>;
    V numbers = load<V>(reinterpret_cast<const char *>(table.numbers));
    return pickRegister<Places, Reg, From + 1>(
        from, pickRuns<kRunBytes>(picked, from[From], numbers));
  }
}

/// Calls `use` with each register of `Places`.
template <typename Places, int Reg = 0, typename V, typename Use>
TESSERA_INLINE void pickRegisters(const V (&from)[Places::kFrom],
                                  const Use &use) {
  if constexpr (Reg < Places::kTo) {
    use(Reg, pickRegister<Places, Reg>(from, from[0]));
    pickRegisters<Places, Reg + 1>(from, use);
  }
}

/// Calls `change` with the rows of each group.
template <typename Columns, int First = 0, int N, typename V, typename Change>
TESSERA_INLINE void forGroups(V (&rows)[N], const Change &change) {
  if constexpr (First < N) {
    constexpr int kSize = Columns::getGroup(First).size;
    V group[kSize];
    TESSERA_UNROLL
    for (int k = 0; k < kSize; ++k)
      group[k] = rows[First + k];
    change(group);
    TESSERA_UNROLL
    for (int k = 0; k < kSize; ++k)
      rows[First + k] = group[k];
    forGroups<Columns, First + kSize>(rows, change);
  }
}

/// A register of each of `Rows` rows, which become as many of columns.
template <int RunBytes, int Rows>
TESSERA_INLINE void interleavePicked(const char *src, int64_t pitch,
                                     char *dst) {
  using Columns = PickedColumns<Rows, kVectorBytes / RunBytes>;
  using V = Vector<RunBytes, kVectorBytes>;
  V rows[Columns::kGrouped];
  TESSERA_UNROLL
  for (int k = 0; k < Columns::kGrouped; ++k)
    rows[k] = load<V>(src + (k < Rows ? k : 0) * pitch);
  forGroups<Columns>(rows,
                     [](auto &group) { interleaveRegisters<RunBytes>(group); });
  pickRegisters<typename Columns::FromGroups>(
      rows, [=](int k, V runs) { store(dst + k * kVectorBytes, runs); });
}

/// The way back.
template <int RunBytes, int Rows>
TESSERA_INLINE void splitPicked(const char *src, char *dst, int64_t pitch) {
  constexpr int kRuns = kVectorBytes / RunBytes;
  using Columns = PickedColumns<Rows, kRuns>;
  using V = Vector<RunBytes, kVectorBytes>;
  V columns[Rows], rows[Columns::kGrouped];
  TESSERA_UNROLL
  for (int k = 0; k < Rows; ++k)
    columns[k] = load<V>(src + k * kVectorBytes);
  pickRegisters<typename Columns::FromColumns>(
      columns, [&rows](int k, V runs) { rows[k] = runs; });
  forGroups<Columns>(rows,
                     [](auto &group) { deinterleaveRegisters<kRuns>(group); });
  TESSERA_UNROLL
  for (int k = 0; k < Rows; ++k)
    store(dst + k * pitch, rows[k]);
}

/// `kLeastRows` rows or more, at most `Most`, that become columns or are split
/// from them.
template <int RunBytes, int Most, bool IsSplit> class PickedRows {
public:
  TESSERA_INLINE explicit PickedRows(int64_t numRows)
      : moveAll(choose(numRows, FirstIndices<Most - kLeast + 1>())) {}

  /// `size` bytes of each row, at least a register, of some blocks. Rows are
  /// `pitch` bytes apart.
  TESSERA_INLINE void move(const char *src, char *dst, int64_t pitch,
                           int64_t size, const Loop &blocks) const {
    moveAll(src, dst, pitch, size, blocks);
  }

private:
  using Move = void(const char *src, char *dst, int64_t pitch, int64_t size,
                    const Loop &blocks);
  static constexpr int kLeast = DenseLimits::kLeastRows;

  /// The last register of a row overlaps the one before.
  template <int Rows>
  static void moveRows(const char *src, char *dst, int64_t pitch, int64_t size,
                       const Loop &blocks) {
    const Loop all = blocks;
    for (int64_t n = 0; n < all.count; ++n) {
      for (int64_t k = 0; k < size; k += kVectorBytes) {
        int64_t i = least(k, size - kVectorBytes);
        if constexpr (IsSplit)
          splitPicked<RunBytes, Rows>(src + i * Rows, dst + i, pitch);
        else
          interleavePicked<RunBytes, Rows>(src + i, pitch, dst + i * Rows);
      }
      src += all.src;
      dst += all.dst;
    }
  }
  template <int... I> static Move *choose(int64_t numRows, Indices<I...>) {
    static constexpr Move *kAll[] = {moveRows<I + kLeast>...};
    return kAll[numRows - kLeast];
  }

  Move *moveAll;
};

} // namespace
} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_PICKEDROWS_H
