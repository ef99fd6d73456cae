//===- ScheduleText.cpp - Schedules as text -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   nest src 0 dst 0                         or `and`, within loops of the last
//     for 512 by 32  src 1 dst 512  columns
//       transpose 64x32 runs of 1, nontemporal, prefetch 2 ahead
//         rows 64 by 1  src 512 dst 1  rows
//
// Indentation counts only in front of `and`: two spaces for each loop that is
// shared with the nest before.
//
// One description of the text, a function for each part of it, serves to write
// and to read it.
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/TesseraToVector/Schedule.h"
#include "tessera/Layout/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace tessera;
using Role = PlanLoop::Role;

/// All kernels, in the order of NestKernel.
static const std::pair<llvm::StringLiteral, NestKernel> kKernels[] = {
    {"copy", CopyKernel()},
    {"gather", GatherKernel()},
    {"transpose", TransposeKernel()},
    {"interleave", InterleaveKernel()},
    {"deinterleave", DeinterleaveKernel()},
    {"fill", FillKernel()},
    {"merge", MergeKernel()},
    {"fill bits", FillBitsKernel()}};
static_assert(std::size(kKernels) == std::variant_size_v<NestKernel>);

llvm::StringRef NestSchedule::getKernelName() const {
  return kKernels[kernel.index()].first;
}

//===----------------------------------------------------------------------===//
// Words and numbers
//===----------------------------------------------------------------------===//

namespace {
/// Writes the text of a schedule from left to right, or reads one. What does
/// not match sets an error, at the first position where that happens; nothing
/// matches after it.
class ScheduleText {
public:
  explicit ScheduleText(llvm::raw_ostream &os) : os(&os) {}
  explicit ScheduleText(llvm::StringRef text) : text(text), rest(text) {}

  /// A nest; `before` is the one before it where one is read.
  void describe(NestSchedule &nest, const NestSchedule *before);
  llvm::Expected<std::vector<NestSchedule>> read();

private:
  void share(NestSchedule &nest, const NestSchedule *before);
  void describe(PlanLoop &loop);
  void describe(PackedBytes &packed);
  void writeParts(const PackedBytes &packed);
  void readParts(PackedBytes &packed);
  void describeKernel(NestSchedule &nest);
  void describeName(NestSchedule &nest);
  void describeChoices(NestSchedule &nest);
  void describePrefetch(NestSchedule &nest);

  bool isWriting() const { return os != nullptr; }
  void indent(unsigned spaces) {
    if (isWriting())
      os->indent(spaces);
  }
  /// Reads `token` and the spaces before it if it comes next.
  bool take(llvm::StringRef token) {
    llvm::StringRef next = rest.ltrim(' ');
    if (failed || !next.consume_front(token.trim(' ')))
      return false;
    rest = next;
    return true;
  }
  /// A token that has to come.
  void word(llvm::StringRef token) {
    if (isWriting())
      *os << token;
    else if (!take(token))
      fail("'" + (token == "\n" ? "end of line" : token.trim(' ')) + "'");
  }
  /// One that comes if `isThere`.
  bool mayHave(llvm::StringRef token, bool &isThere) {
    if (!isWriting())
      isThere = take(token);
    else if (isThere)
      *os << token;
    return isThere;
  }
  void number(int64_t &value,
              int64_t least = std::numeric_limits<int64_t>::min(),
              int64_t most = std::numeric_limits<int64_t>::max(),
              unsigned radix = 10);
  /// A line for each entry from number `first` on, each `deeper` than the last.
  template <typename List>
  void list(llvm::StringRef token, List &entries, unsigned spaces,
            unsigned deeper = 0, size_t first = 0);
  /// A choice after a comma, if the kernel has it: written where it `isTaken`,
  /// read where no other has been. Says whether its figures come next.
  bool choose(bool isOfKernel, llvm::StringRef token, bool isTaken);
  /// The same of a choice without figures.
  template <typename T> void choose(llvm::StringRef token, T &value, T chosen) {
    if (choose(true, token, value == chosen))
      value = chosen;
  }
  void fail(const llvm::Twine &what) {
    if (failed)
      return;
    failed = true;
    expected = what.str();
  }

  llvm::raw_ostream *os = nullptr;
  llvm::StringRef text, rest;
  bool failed = false;
  std::string expected;
  /// Whether a choice was read since the last comma.
  bool hasChosen = false;
  /// The bits that the parts of a byte make.
  uint8_t mask = 0xFF;
};
} // namespace

void ScheduleText::number(int64_t &value, int64_t least, int64_t most,
                          unsigned radix) {
  if (isWriting() && radix == 10)
    *os << value;
  else if (isWriting())
    *os << llvm::format_hex_no_prefix(value, 2);
  if (isWriting())
    return;
  llvm::StringRef next = rest.ltrim(' ');
  value = 0;
  int64_t found = 0;
  if (failed || next.consumeInteger(radix, found) || found < least ||
      found > most)
    return fail("a number");
  rest = next;
  value = found;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void ScheduleText::describe(PlanLoop &loop) {
  number(loop.count);
  bool isBlock = loop.role != Role::Outer;
  if (mayHave(" by ", isBlock))
    number(loop.step);
  word("  src ");
  number(loop.srcStride);
  word(" dst ");
  number(loop.dstStride);
  bool isRow = loop.role == Role::DstContiguous, isColumn = isBlock && !isRow;
  if (isBlock && mayHave("  rows", isRow))
    loop.role = Role::DstContiguous;
  else if (isBlock && mayHave("  columns", isColumn))
    loop.role = Role::SrcContiguous;
  else if (isBlock)
    fail("'rows' or 'columns'");
  mayHave("  ends", loop.isEnds);
  mayHave("  parallel", loop.isParallel);
  word("\n");
}

template <typename List>
void ScheduleText::list(llvm::StringRef token, List &entries, unsigned spaces,
                        unsigned deeper, size_t first) {
  while (take(token))
    describe(entries.emplace_back());
  for (size_t i = first; isWriting() && i < entries.size(); ++i) {
    indent(spaces + i * deeper);
    word(token);
    describe(entries[i]);
  }
}

//===----------------------------------------------------------------------===//
// Packed bytes
//===----------------------------------------------------------------------===//

void ScheduleText::describe(PackedBytes &packed) {
  number(packed.dstOffset);
  word(" of ");
  if (isWriting())
    writeParts(packed);
  else
    readParts(packed);
  word("\n");
}

/// The parts of a byte by what they give to the destination, each a row of
/// neighbouring bits, from the lowest one on.
void ScheduleText::writeParts(const PackedBytes &packed) {
  llvm::SmallVector<BytePart, 8> pieces;
  for (BytePart part : packed.parts)
    while (part.mask) {
      int first = llvm::countr_zero(part.mask);
      int length = llvm::countr_one(static_cast<uint8_t>(part.mask >> first));
      auto mask = static_cast<uint8_t>(((1 << length) - 1) << first);
      pieces.push_back({part.srcOffset, part.shift, mask});
      part.mask &= ~mask;
    }
  llvm::sort(pieces, [](const BytePart &a, const BytePart &b) {
    return a.mask < b.mask;
  });
  llvm::ListSeparator separator;
  for (const BytePart &part : pieces) {
    int first = llvm::countr_zero(part.mask) - part.shift;
    *os << separator << "bits " << first << "-"
        << first + llvm::popcount(part.mask) - 1 << " at " << part.srcOffset;
  }
}

/// The bits of a byte come from the lowest one on.
void ScheduleText::readParts(PackedBytes &packed) {
  int to = llvm::countr_zero(mask);
  do {
    int64_t first = 0, last = 0, offset = 0;
    word("bits");
    number(first);
    word("-");
    number(last);
    word("at");
    number(offset);
    if (first < 0 || last < first || last > 7 || to + last - first > 7)
      return fail("bits from 0 to 7, as many as a byte has room for");
    int shift = to - static_cast<int>(first);
    auto mask = static_cast<uint8_t>(((2 << (last - first)) - 1) << to);
    to += static_cast<int>(last - first + 1);
    auto *same = llvm::find_if(packed.parts, [&](const BytePart &part) {
      return part.srcOffset == offset && part.shift == shift;
    });
    if (same != packed.parts.end())
      same->mask |= mask;
    else
      packed.parts.push_back({offset, shift, mask});
  } while (take(","));
  llvm::sort(packed.parts);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

bool ScheduleText::choose(bool isOfKernel, llvm::StringRef token,
                          bool isTaken) {
  if (!isOfKernel || (isWriting() ? !isTaken : hasChosen || !take(token)))
    return false;
  if (isWriting())
    *os << ", " << token;
  hasChosen = true;
  return true;
}

/// The choices of a kernel in their order. They are read in any.
void ScheduleText::describeChoices(NestSchedule &nest) {
  using Rows = TransposeKernel::Rows;
  auto *transpose = std::get_if<TransposeKernel>(&nest.kernel);
  auto *interleave = std::get_if<InterleaveKernel>(&nest.kernel);
  KernelChoices &kernel = nest.choices();
  bool isCopy = nest.is<CopyKernel>();
  bool isBits = nest.is<MergeKernel>() || nest.is<FillBitsKernel>();
  bool mayStore =
      isCopy || transpose || interleave || nest.is<DeinterleaveKernel>();
  if (choose(isCopy || interleave, "padding of ", kernel.padding != 0))
    number(kernel.padding);
  if (interleave)
    choose("padding kept", interleave->keepsPadding, true);
  choose("nontemporal", kernel.stores, StoreKind::Nontemporal);
  choose("staged and nontemporal", kernel.stores, StoreKind::Staged);
  choose("carried and nontemporal", kernel.stores, StoreKind::Carried);
  if (!mayStore && kernel.stores != StoreKind::Plain)
    fail("no stores of a " + nest.getKernelName());
  if (transpose) {
    choose("rows shifted", nest.shiftsRows, true);
    choose("rows gathered", transpose->rows, Rows::Gathered);
    choose("panels packed", transpose->rows, Rows::Panel);
  }
  describePrefetch(nest);
  int64_t bits = kernel.mask;
  if (choose(isBits, "bits 0x", bits != 0xFF))
    number(bits, 1, 0xFF, 16);
  kernel.mask = static_cast<uint8_t>(bits);
  // That is the distance that their loop has.
  int64_t pitch = isWriting() ? nest.columnPitch() : 1;
  if (choose(true, "columns ", pitch != 1)) {
    number(pitch);
    word(" apart");
  }
  if (choose(true, "sign of ", nest.signedBits != 0)) {
    number(nest.signedBits, 1, 7);
    word(" bits");
  }
}

void ScheduleText::describePrefetch(NestSchedule &nest) {
  auto *copy = std::get_if<CopyKernel>(&nest.kernel);
  auto *transpose = std::get_if<TransposeKernel>(&nest.kernel);
  int64_t &distance = copy ? copy->prefetchBytes : nest.choices().prefetch;
  if (!choose(copy || transpose || nest.is<InterleaveKernel>(), "prefetch ",
              distance != 0))
    return;
  number(distance);
  if (copy)
    word(" bytes");
  word(" ahead");
  if (transpose)
    mayHave(" to L2", transpose->prefetchesToL2);
}

void ScheduleText::describeName(NestSchedule &nest) {
  if (isWriting())
    return word((nest.getKernelName() + " ").str());
  // One name begins another.
  size_t longest = 0;
  for (const auto &[name, kernel] : kKernels)
    if (name.size() > longest && rest.ltrim(' ').starts_with(name)) {
      nest.kernel = kernel;
      longest = name.size();
    }
  if (longest == 0 || !take(nest.getKernelName()))
    fail("'for' or a kernel");
}

void ScheduleText::describeKernel(NestSchedule &nest) {
  llvm::StringRef line = rest;
  describeName(nest);
  int64_t rows = nest.blockRows(), columns = nest.blockColumns();
  number(rows);
  word("x");
  number(columns);
  word(" runs of ");
  number(nest.runElements, 1);
  if (isWriting())
    describeChoices(nest);
  while (take(",")) {
    hasChosen = false;
    describeChoices(nest);
    if (!hasChosen)
      fail("a choice that a " + nest.getKernelName() + " has");
  }
  word("\n");
  mask = nest.mask();
  unsigned spaces = 2 * nest.loops.size() + 4;
  list("byte ", nest.packedBytes, spaces);
  list("within ", nest.within, spaces);
  list("rows ", nest.rows, spaces);
  list("columns ", nest.columns, spaces);
  if (failed || (nest.blockRows() == rows && nest.blockColumns() == columns))
    return;
  rest = line;
  fail("a block of " + llvm::Twine(nest.blockRows()) + "x" +
       llvm::Twine(nest.blockColumns()) + " runs, which its loops make");
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Whether loops are those of the nest before, and how many.
void ScheduleText::share(NestSchedule &nest, const NestSchedule *before) {
  if (isWriting())
    return word(nest.numFused ? "and" : "nest");
  size_t spaces = rest.size() - rest.ltrim(' ').size();
  if (!before || !take("and"))
    return word("nest");
  nest.numFused = spaces / 2;
  if (nest.numFused > before->loops.size())
    return fail("'and' within loops of the nest before");
  nest.loops.append(before->loops.begin(),
                    before->loops.begin() + nest.numFused);
}

void ScheduleText::describe(NestSchedule &nest, const NestSchedule *before) {
  indent(2 * nest.numFused);
  share(nest, before);
  bool hasSource = !nest.isFill();
  if (mayHave(" src ", hasSource))
    number(nest.srcOffset);
  word(" dst ");
  number(nest.dstOffset);
  word("\n");
  list("for ", nest.loops, /*spaces=*/2, /*deeper=*/2, nest.numFused);
  indent(2 * nest.loops.size() + 2);
  describeKernel(nest);
}

void NestSchedule::print(llvm::raw_ostream &os) const {
  NestSchedule copy = *this;
  ScheduleText(os).describe(copy, nullptr);
}

llvm::Expected<std::vector<NestSchedule>> ScheduleText::read() {
  std::vector<NestSchedule> nests;
  while (!failed && !rest.empty()) {
    NestSchedule nest;
    describe(nest, nests.empty() ? nullptr : &nests.back());
    nests.push_back(std::move(nest));
  }
  if (!failed)
    return std::move(nests);
  llvm::StringRef found = rest.ltrim(' ').split('\n').first;
  Diagnostic diagnostic;
  diagnostic.field = "schedule";
  diagnostic.expected = expected;
  diagnostic.found = ("'" + found.take_front(40) + "'").str();
  diagnostic.position = static_cast<int64_t>(text.size() - rest.size());
  return llvm::make_error<LayoutError>(std::move(diagnostic));
}

llvm::Expected<std::vector<NestSchedule>>
tessera::parseSchedules(llvm::StringRef text) {
  return ScheduleText(text).read();
}
