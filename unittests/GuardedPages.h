//===- GuardedPages.h - Buffers between guard pages -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory between pages that cannot be touched, at several alignments.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_GUARDEDPAGES_H
#define TESSERA_UNITTESTS_GUARDEDPAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tessera {

/// Where a buffer lies in its pages: at their start, and so at a line; at an
/// element, at a byte; or at their end, which may be anything.
enum class Placement { Start, Element, Byte, End };

inline constexpr Placement kPlacements[] = {
    Placement::Start, Placement::Element, Placement::Byte, Placement::End};

/// Memory with a page that faults on either side.
class GuardedPages {
public:
  GuardedPages(size_t size, Placement placement)
      : page(sysconf(_SC_PAGESIZE)), size(size),
        length(llvm::alignTo(size + kOffElement, page)) {
    base = static_cast<char *>(mmap(nullptr, length + 2 * page,
                                    PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base, MAP_FAILED);
    mprotect(base, page, PROT_NONE);
    mprotect(base + page + length, page, PROT_NONE);
    switch (placement) {
    case Placement::Start:
      begin = base + page;
      break;
    case Placement::Element:
      begin = base + page + kOffLine;
      break;
    case Placement::Byte:
      begin = base + page + kOffElement;
      break;
    case Placement::End:
      begin = base + page + length - size;
      break;
    }
  }
  GuardedPages(const GuardedPages &) = delete;
  ~GuardedPages() { munmap(base, length + 2 * page); }

  uint8_t *data() { return reinterpret_cast<uint8_t *>(begin); }
  llvm::MutableArrayRef<uint8_t> bytes() { return {data(), size}; }

private:
  /// A multiple of all elements, but not of a line; and one of nothing.
  static constexpr size_t kOffLine = 16, kOffElement = 21;

  size_t page, size, length;
  char *base, *begin;
};

} // namespace tessera

#endif // TESSERA_UNITTESTS_GUARDEDPAGES_H
