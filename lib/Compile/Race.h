//===- Race.h - Which code is fastest ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times codes of one relayout on buffers of its own. All take turns, so that
// what changes on the machine meets all.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COMPILE_RACE_H
#define TESSERA_LIB_COMPILE_RACE_H

#include "tessera/Compile/Compile.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <vector>

namespace tessera {

/// Buffers of the arrays of one relayout: a pair, or where they are cold, a
/// ring of pairs that is larger than the caches. A hot destination has been
/// written just before. Of boxes, which may be a small part of their arrays,
/// the ring may fit into the caches: other memory is written before it is used.
class Arrays {
public:
  /// *unsupported* where there is no memory for them.
  static llvm::Expected<Arrays> allocate(const ArrayPart &source,
                                         const ArrayPart &destination,
                                         BufferState state);

  /// Takes a relayout of the same boxes, through the cache, by which a hot
  /// destination is written.
  void setWriter(RelayoutFunction function) { writer = std::move(function); }

  /// The best time of each code in seconds, the first one as the reference:
  /// what a first look finds far behind the fastest is not timed again.
  std::vector<double> race(llvm::ArrayRef<RelayoutFunction> functions);

private:
  using Buffer = std::unique_ptr<llvm::WritableMemoryBuffer>;

  /// The time of one call, of as many as the clock can tell.
  double time(CompiledModule::Relayout *function);
  /// The same of cold boxes.
  double timeColdBoxes(CompiledModule::Relayout *function);
  void writeDestination();
  /// The time of so many calls, in seconds.
  double timeCalls(CompiledModule::Relayout *function, int64_t calls);

  std::vector<std::pair<Buffer, Buffer>> pairs;
  size_t next = 0;
  /// Takes the place of boxes in the caches; null for whole arrays.
  Buffer other;
  std::optional<RelayoutFunction> writer;
  bool isHot = false;
};

} // namespace tessera

#endif // TESSERA_LIB_COMPILE_RACE_H
