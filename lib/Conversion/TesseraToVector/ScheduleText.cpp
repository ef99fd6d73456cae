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

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printLoop(const PlanLoop &loop, llvm::raw_ostream &os) {
  os << loop.count;
  if (loop.role != Role::Outer)
    os << " by " << loop.step;
  os << "  src " << loop.srcStride << " dst " << loop.dstStride;
  if (loop.role != Role::Outer)
    os << (loop.role == Role::DstContiguous ? "  rows" : "  columns");
  if (loop.isEnds)
    os << "  ends";
  if (loop.isParallel)
    os << "  parallel";
  os << "\n";
}

/// The parts of a byte by what they give to the destination, each a row of
/// neighbouring bits, from the lowest one on.
static llvm::SmallVector<BytePart, 8> splitParts(const PackedBytes &packed) {
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
  return pieces;
}

static void printPackedBytes(const PackedBytes &packedBytes,
                             llvm::raw_ostream &os) {
  os << "byte " << packedBytes.dstOffset << " of ";
  llvm::ListSeparator separator;
  for (const BytePart &part : splitParts(packedBytes)) {
    int first = llvm::countr_zero(part.mask) - part.shift;
    int last = first + llvm::popcount(part.mask) - 1;
    os << separator << "bits " << first << "-" << last << " at "
       << part.srcOffset;
  }
  os << "\n";
}

static void printPrefetch(const NestSchedule &nest, llvm::raw_ostream &os) {
  if (const auto *copy = nest.get<CopyKernel>())
    if (copy->prefetchBytes)
      os << ", prefetch " << copy->prefetchBytes << " bytes ahead";
  if (const auto *interleave = nest.get<InterleaveKernel>())
    if (interleave->prefetch)
      os << ", prefetch " << interleave->prefetch << " ahead";
  if (const auto *transpose = nest.get<TransposeKernel>())
    if (transpose->prefetch)
      os << ", prefetch " << transpose->prefetch << " ahead"
         << (transpose->prefetchesToL2 ? " to L2" : "");
}

static void printKernel(const NestSchedule &nest, llvm::raw_ostream &os) {
  os << nest.getKernelName() << " " << nest.blockRows() << "x"
     << nest.blockColumns() << " runs of " << nest.runElements;
  if (nest.padding())
    os << ", padding of " << nest.padding();
  if (const auto *interleave = nest.get<InterleaveKernel>())
    os << (interleave->keepsPadding ? ", padding kept" : "");
  static constexpr llvm::StringLiteral kStores[] = {
      "", ", nontemporal", ", staged and nontemporal",
      ", carried and nontemporal"};
  os << kStores[static_cast<int>(nest.stores())];
  if (nest.shiftsRows)
    os << ", rows shifted";
  if (const auto *transpose = nest.get<TransposeKernel>()) {
    static constexpr llvm::StringLiteral kRows[] = {"", ", rows gathered",
                                                    ", panels packed"};
    os << kRows[static_cast<int>(transpose->rows)];
  }
  printPrefetch(nest, os);
  if (nest.mask() != 0xFF)
    os << ", bits " << llvm::format_hex(nest.mask(), 4);
  if (nest.columnPitch() != 1)
    os << ", columns " << nest.columnPitch() << " apart";
  if (nest.signedBits)
    os << ", sign of " << nest.signedBits << " bits";
  os << "\n";
}

void NestSchedule::print(llvm::raw_ostream &os) const {
  unsigned indent = 2 * numFused;
  os.indent(indent) << (numFused == 0 ? "nest" : "and");
  if (!isFill())
    os << " src " << srcOffset;
  os << " dst " << dstOffset << "\n";
  indent += 2;
  for (const PlanLoop &loop : llvm::drop_begin(loops, numFused)) {
    os.indent(indent) << "for ";
    printLoop(loop, os);
    indent += 2;
  }
  printKernel(*this, os.indent(indent));
  indent += 2;
  for (const PackedBytes &packed : packedBytes)
    printPackedBytes(packed, os.indent(indent));
  for (const PlanLoop &loop : within)
    printLoop(loop, os.indent(indent) << "within ");
  for (const PlanLoop &loop : rows)
    printLoop(loop, os.indent(indent) << "rows ");
  for (const PlanLoop &loop : columns)
    printLoop(loop, os.indent(indent) << "columns ");
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// Reads a text from left to right. What does not match sets an error, at the
/// first position where that happens; nothing matches after it.
class ScheduleParser {
public:
  explicit ScheduleParser(llvm::StringRef text) : text(text), rest(text) {}

  llvm::Expected<std::vector<NestSchedule>> parse();

private:
  void parseNest();
  void parseLoop(PlanLoop &loop);
  void parseKernel(NestSchedule &nest);
  void parseChoice(NestSchedule &nest);
  StoreKind parseStores();
  void setStores(NestSchedule &nest, StoreKind stores);
  bool parsePitch();
  void parsePrefetch(NestSchedule &nest);
  void parsePackedBytes(NestSchedule &nest);
  void parseDetails(NestSchedule &nest);

  /// Takes `token` and the spaces before it if it comes next.
  bool take(llvm::StringRef token) {
    llvm::StringRef next = rest.ltrim(' ');
    if (failed || !next.consume_front(token))
      return false;
    rest = next;
    return true;
  }
  /// The same of something that has to come.
  void expect(llvm::StringRef token) {
    if (!take(token))
      fail(("'" + (token == "\n" ? "end of line" : token) + "'").str());
  }
  int64_t parseNumber(int64_t least = std::numeric_limits<int64_t>::min(),
                      int64_t most = std::numeric_limits<int64_t>::max(),
                      unsigned radix = 10);
  void fail(const std::string &what) {
    if (failed)
      return;
    failed = true;
    expected = what;
  }

  llvm::StringRef text, rest;
  bool failed = false;
  std::string expected;
  std::vector<NestSchedule> nests;
};
} // namespace

int64_t ScheduleParser::parseNumber(int64_t least, int64_t most,
                                    unsigned radix) {
  llvm::StringRef next = rest.ltrim(' ');
  int64_t number = 0;
  if (failed || next.consumeInteger(radix, number) || number < least ||
      number > most) {
    fail("a number");
    return 0;
  }
  rest = next;
  return number;
}

void ScheduleParser::parseLoop(PlanLoop &loop) {
  loop.count = parseNumber();
  bool isBlock = take("by");
  if (isBlock)
    loop.step = parseNumber();
  expect("src");
  loop.srcStride = parseNumber();
  expect("dst");
  loop.dstStride = parseNumber();
  if (isBlock && take("rows"))
    loop.role = Role::DstContiguous;
  else if (isBlock && take("columns"))
    loop.role = Role::SrcContiguous;
  else if (isBlock)
    fail("'rows' or 'columns'");
  loop.isEnds = take("ends");
  loop.isParallel = take("parallel");
  expect("\n");
}

void ScheduleParser::parseKernel(NestSchedule &nest) {
  llvm::StringRef line = rest;
  // `fill` begins another name.
  if (take("copy"))
    nest.kernel = CopyKernel();
  else if (take("gather"))
    nest.kernel = GatherKernel();
  else if (take("transpose"))
    nest.kernel = TransposeKernel();
  else if (take("interleave"))
    nest.kernel = InterleaveKernel();
  else if (take("deinterleave"))
    nest.kernel = DeinterleaveKernel();
  else if (take("merge"))
    nest.kernel = MergeKernel();
  else if (take("fill bits"))
    nest.kernel = FillBitsKernel();
  else if (take("fill"))
    nest.kernel = FillKernel();
  else
    fail("'for' or a kernel");
  int64_t blockRows = parseNumber();
  expect("x");
  int64_t blockColumns = parseNumber();
  expect("runs of");
  nest.runElements = parseNumber(1);
  while (take(","))
    parseChoice(nest);
  expect("\n");
  parseDetails(nest);
  if (failed ||
      (nest.blockRows() == blockRows && nest.blockColumns() == blockColumns))
    return;
  rest = line;
  fail("a block of " + std::to_string(nest.blockRows()) + "x" +
       std::to_string(nest.blockColumns()) + " runs, which its loops make");
}

/// What only some kernels have; of others it is no choice.
void ScheduleParser::parseChoice(NestSchedule &nest) {
  auto *copy = std::get_if<CopyKernel>(&nest.kernel);
  auto *transpose = std::get_if<TransposeKernel>(&nest.kernel);
  auto *interleave = std::get_if<InterleaveKernel>(&nest.kernel);
  auto *merge = std::get_if<MergeKernel>(&nest.kernel);
  auto *fillBits = std::get_if<FillBitsKernel>(&nest.kernel);
  StoreKind stores = parseStores();
  if (stores != StoreKind::Plain)
    setStores(nest, stores);
  else if ((copy || interleave) && take("padding of"))
    (copy ? copy->padding : interleave->padding) = parseNumber();
  else if (interleave && take("padding kept"))
    interleave->keepsPadding = true;
  else if (transpose && take("rows shifted"))
    nest.shiftsRows = true;
  else if (transpose && take("rows gathered"))
    transpose->rows = TransposeKernel::Rows::Gathered;
  else if (transpose && take("panels packed"))
    transpose->rows = TransposeKernel::Rows::Panel;
  else if ((copy || transpose || interleave) && take("prefetch"))
    parsePrefetch(nest);
  else if ((merge || fillBits) && take("bits 0x"))
    (merge ? merge->mask : fillBits->mask) =
        static_cast<uint8_t>(parseNumber(1, 0xFF, 16));
  else if (take("sign of")) {
    nest.signedBits = parseNumber(1, 7);
    expect("bits");
  } else if (!take("columns") || !parsePitch())
    fail(("a choice that a " + nest.getKernelName() + " has").str());
}

StoreKind ScheduleParser::parseStores() {
  if (take("nontemporal"))
    return StoreKind::Nontemporal;
  if (take("staged and nontemporal"))
    return StoreKind::Staged;
  if (take("carried and nontemporal"))
    return StoreKind::Carried;
  return StoreKind::Plain;
}

void ScheduleParser::setStores(NestSchedule &nest, StoreKind stores) {
  if (auto *copy = std::get_if<CopyKernel>(&nest.kernel))
    copy->stores = stores;
  else if (auto *transpose = std::get_if<TransposeKernel>(&nest.kernel))
    transpose->stores = stores;
  else if (auto *interleave = std::get_if<InterleaveKernel>(&nest.kernel))
    interleave->stores = stores;
  else if (auto *deinterleave = std::get_if<DeinterleaveKernel>(&nest.kernel))
    deinterleave->stores = stores;
  else
    fail(("no stores of a " + nest.getKernelName()).str());
}

void ScheduleParser::parsePrefetch(NestSchedule &nest) {
  int64_t distance = parseNumber();
  if (auto *copy = std::get_if<CopyKernel>(&nest.kernel)) {
    copy->prefetchBytes = distance;
    expect("bytes");
  }
  expect("ahead");
  if (auto *interleave = std::get_if<InterleaveKernel>(&nest.kernel))
    interleave->prefetch = distance;
  if (auto *transpose = std::get_if<TransposeKernel>(&nest.kernel)) {
    transpose->prefetch = distance;
    transpose->prefetchesToL2 = take("to L2");
  }
}

/// The distance of columns is that of their loop.
bool ScheduleParser::parsePitch() {
  parseNumber();
  return take("apart");
}

/// The bits of a byte come from the lowest one on.
void ScheduleParser::parsePackedBytes(NestSchedule &nest) {
  PackedBytes &packed = nest.packedBytes.emplace_back();
  packed.dstOffset = parseNumber();
  expect("of");
  int to = llvm::countr_zero(nest.mask());
  do {
    expect("bits");
    int64_t first = parseNumber();
    expect("-");
    int64_t last = parseNumber();
    expect("at");
    int64_t offset = parseNumber();
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
  expect("\n");
}

/// What lies within a run, and within a block.
void ScheduleParser::parseDetails(NestSchedule &nest) {
  while (take("byte"))
    parsePackedBytes(nest);
  while (take("within"))
    parseLoop(nest.within.emplace_back());
  while (take("rows"))
    parseLoop(nest.rows.emplace_back());
  while (take("columns"))
    parseLoop(nest.columns.emplace_back());
}

void ScheduleParser::parseNest() {
  size_t indent = rest.size() - rest.ltrim(' ').size();
  NestSchedule nest;
  if (!nests.empty() && take("and")) {
    const NestSchedule &before = nests.back();
    nest.numFused = indent / 2;
    if (nest.numFused > before.loops.size())
      return fail("'and' within loops of the nest before");
    nest.loops.append(before.loops.begin(),
                      before.loops.begin() + nest.numFused);
  } else {
    expect("nest");
  }
  if (take("src"))
    nest.srcOffset = parseNumber();
  expect("dst");
  nest.dstOffset = parseNumber();
  expect("\n");
  while (take("for"))
    parseLoop(nest.loops.emplace_back());
  parseKernel(nest);
  nests.push_back(std::move(nest));
}

llvm::Expected<std::vector<NestSchedule>> ScheduleParser::parse() {
  while (!failed && !rest.empty())
    parseNest();
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
  return ScheduleParser(text).parse();
}
