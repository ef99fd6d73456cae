//===- SparseColumns.h - Columns of less than a line ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes to columns that take a part of a line each, as those of tiles do
// where a dimension of few elements is padded to lanes. The destination is many
// times as large as what is moved, and each of its lines is missed: they are
// written from one to the next, a few columns side by side.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_SPARSECOLUMNS_H
#define TESSERA_LIB_RUNTIME_SPARSECOLUMNS_H

#include "ChainKernels.h"

namespace tessera::runtime {
namespace {

template <int RunBytes> class SparseColumns {
public:
  static bool suits(const Job &job) {
    return job.rows.count * RunBytes < kLineBytes &&
           getDistance(job.columns) >= kLineBytes;
  }

  SparseColumns(const Job &job) : job(job) {
    while (numOuter < job.numLoops &&
           getDistance(job.loops[numOuter]) >= getDistance(job.columns))
      ++numOuter;
  }

  int64_t count() const { return job.columns.count * job.moreColumns.count; }

  /// Columns at a time: of a line of the source, or fewer where other loops go
  /// on behind each column.
  int64_t getStep() const {
    return (numOuter == job.numLoops ? kLineBytes : kLaneBytes) / RunBytes;
  }

  /// Calls `body` with where each of `number` columns from `first` on begins.
  template <typename Body>
  TESSERA_INLINE void forColumns(char *dst, int64_t first, int64_t number,
                                 const Body &body) const {
    const Loop inner = job.columns, more = job.moreColumns;
    int64_t column = first % inner.count;
    dst += first / inner.count * more.dst + column * inner.dst;
    for (int64_t i = 0; i < number; ++i) {
      body(i, dst);
      dst += inner.dst;
      if (++column == inner.count) {
        column = 0;
        dst += more.dst - inner.count * inner.dst;
      }
    }
  }

  /// Calls `body` for groups of `step` columns, or those that are left, along
  /// the loops whose steps are shorter than the distance between columns; with
  /// where its source and all columns begin, the first one, and their number.
  template <typename Body>
  TESSERA_INLINE void walkGroups(int64_t step, const char *src, char *dst,
                                 const Body &body) const {
    walk(job.loops, numOuter, src, dst, [&](const char *src, char *dst) {
      for (int64_t c = 0; c < count(); c += step) {
        int64_t number = least(step, count() - c);
        walk(job.loops + numOuter, job.numLoops - numOuter, src + c * RunBytes,
             dst,
             [&](const char *src, char *dst) { body(src, dst, c, number); });
      }
    });
  }

private:
  static int64_t getDistance(const Loop &loop) {
    return loop.dst < 0 ? -loop.dst : loop.dst;
  }

  const Job &job;
  size_t numOuter = 0;
};

template <int RunBytes>
void transposeSparse(const Job &job, const char *src, char *dst) {
  const SparseColumns<RunBytes> columns(job);
  const Block all = {src, dst,          job.rows.count,
                     0,   job.rows.src, job.columns.dst};
  columns.walkGroups(
      columns.getStep(), src, dst,
      [all](const char *src, char *dst, int64_t first, int64_t number) {
        Block block = all;
        block.src = src;
        block.dst = dst + first * all.dstPitch;
        block.columns = number;
        transposeBlock<RunBytes>(block);
      });
}

/// The job of so many columns of `job`, which take a line each.
inline Job getLines(const Job &job, int64_t columns) {
  Job lines = job;
  lines.isStreamed = false;
  lines.columns.count = columns;
  lines.columns.dst = kLineBytes;
  lines.moreColumns.count = 1;
  return lines;
}

/// Such columns, and padding behind each. Their first lines are put together in
/// a buffer, in which padding stays.
template <int RunBytes>
void transposeAndFill(const Job &job, const char *src, char *dst) {
  using Tiles = ChainedTiles<RunBytes, AsTheyAre>;
  const SparseColumns<RunBytes> columns(job);
  const Filler filler(job.filler);
  alignas(kLineBytes) char lines[kLineRuns<RunBytes> * kLineBytes];
  for (char *line = lines; line < lines + sizeof(lines); line += kLineBytes)
    filler.write(line, kLineBytes);
  int64_t step = columns.getStep();
  Tiles tiles(getLines(job, step));
  Tiles lastTiles(getLines(job, (columns.count() - 1) % step + 1));
  int64_t size = job.moreRows.count * job.rows.count * RunBytes + job.fillBytes;
  int64_t head = least(size, kLineBytes);
  bool isStreamed = job.isStreamed && isOnLine(size);
  auto write = [=](const char *line, char *to) {
    if (isStreamed && bytesToLine(to) == 0) {
      streamWholeLines(line, to, kLineBytes);
      return filler.stream(to + kLineBytes, size - kLineBytes, kLineBytes);
    }
    copyRun(line, to, head);
    filler.write(to + head, size - head, head);
  };
  columns.walkGroups(
      step, src, dst,
      [&](const char *src, char *dst, int64_t first, int64_t number) {
        (number == step ? tiles : lastTiles).run(src, lines);
        columns.forColumns(dst, first, number, [&](int64_t i, char *to) {
          write(lines + i * kLineBytes, to);
        });
      });
}

} // namespace

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_SPARSECOLUMNS_H
