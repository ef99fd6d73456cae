//===- RuntimeBenchmarks.cpp - Relayouts that are run and compiled --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TesseraRuntimeBenchmarks [--seconds=S] [--compiled=0] [--streamed-bytes=N]
// [--vector-bytes=N] [--buffers=N] [NAME SOURCE DESTINATION]...
//
// For each pair (without any: those of runtime_cases.txt) libtessera-runtime,
// the compiled relayout and memcpy of as many bytes as the destination has take
// turns on the same buffers, or on N of each one after another, one thread
// each. N that the caches do not hold are cold. Their order is another one each
// time, as each finds the caches as the one before left them. The least time of
// all turns counts: other work on the machine only adds to it.
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Runtime.h"

#include "tessera/Compile/Compile.h"
#include "tessera/Layout/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <sys/mman.h>

using namespace tessera;

namespace {
struct Case {
  std::string name, source, destination;
};

using Clock = std::chrono::steady_clock;
using Body = std::function<void()>;
} // namespace

static double getMicroseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// A buffer that begins at a page and has been touched.
static char *allocate(int64_t size) {
  constexpr int64_t kHugePage = 2 << 20;
  int64_t length = llvm::alignTo(size, kHugePage);
  char *data = static_cast<char *>(std::aligned_alloc(kHugePage, length));
  madvise(data, length, MADV_HUGEPAGE);
  std::memset(data, 1, length);
  return data;
}

namespace {
/// What takes turns with others.
struct Contestant {
  Body body;
  double best = 1e30;
  int64_t calls = 1;

  /// As many calls as take long enough for the clock.
  void turn() {
    Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i)
      body();
    double time = getMicroseconds(Clock::now() - begin);
    best = std::min(best, time / static_cast<double>(calls));
    if (time < 40)
      calls *= 2;
  }
};

struct Settings {
  double seconds = 2;
  bool withCompiled = true;
  int64_t streamedBytes = 0, vectorBytes = 0;
  int64_t buffers = 1;
};

/// Buffers of one size that are used by turns.
class Ring {
public:
  Ring(int64_t count, size_t size) {
    for (int64_t i = 0; i < count; ++i)
      buffers.push_back(allocate(size));
  }
  ~Ring() {
    for (char *buffer : buffers)
      std::free(buffer);
  }
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;

  char *get(int64_t turn) const { return buffers[turn % buffers.size()]; }

private:
  std::vector<char *> buffers;
};
} // namespace

static TesseraRuntimeRelayout *create(const Case &pair,
                                      const Settings &settings) {
  TesseraRuntimeRelayout *relayout = nullptr;
  TesseraRuntimeOptions options = {};
  options.streamedBytes = settings.streamedBytes;
  options.vectorBytes = settings.vectorBytes;
  if (TesseraError *error = tesseraRuntimeRelayoutCreate(
          pair.source.c_str(), pair.destination.c_str(), &options, &relayout)) {
    llvm::errs() << pair.name << ": " << tesseraErrorGetMessage(error) << "\n";
    std::exit(1);
  }
  return relayout;
}

static void measure(const Case &pair, const Settings &settings) {
  TesseraRuntimeRelayout *relayout = create(pair, settings);
  size_t srcBytes = tesseraRuntimeRelayoutGetSourceBytes(relayout);
  size_t dstBytes = tesseraRuntimeRelayoutGetDestinationBytes(relayout);
  Ring src(settings.buffers, srcBytes), dst(settings.buffers, dstBytes);
  Ring other(settings.buffers, dstBytes);
  int64_t turn = 0;
  Contestant planning{
      [&] { tesseraRuntimeRelayoutDestroy(create(pair, settings)); }};
  Contestant running{[&] {
    ++turn;
    tesseraRuntimeRelayoutRun(relayout, src.get(turn), srcBytes, dst.get(turn),
                              dstBytes);
  }};
  Contestant copying{[&] {
    ++turn;
    std::memcpy(dst.get(turn), other.get(turn), dstBytes);
  }};
  Contestant compiled;
  bool withCompiled = settings.withCompiled;
  if (withCompiled) {
    auto function = llvm::cantFail(
        getRelayoutFunction(llvm::cantFail(parseShape(pair.source)),
                            llvm::cantFail(parseShape(pair.destination))));
    compiled.body = [&, function] {
      ++turn;
      function(src.get(turn), dst.get(turn));
    };
  } else {
    compiled.best = 0;
  }
  auto end = Clock::now() + std::chrono::duration<double>(settings.seconds);
  llvm::SmallVector<Contestant *> order = {&planning, &running, &copying};
  if (withCompiled)
    order.push_back(&compiled);
  std::mt19937 engine; // NOLINT(*-seed,cert-msc51-cpp): the same orders.
  for (int round = 0; round < 8 || Clock::now() < end; ++round) {
    std::shuffle(order.begin(), order.end(), engine);
    for (Contestant *contestant : order)
      contestant->turn();
  }
  llvm::outs() << llvm::left_justify(pair.name, 24)
               << llvm::format("%9.1f %9.1f %11.3f %9.2f %9.2f\n",
                               static_cast<double>(dstBytes) / 1024,
                               planning.best, running.best,
                               compiled.best / running.best,
                               copying.best / running.best);
  llvm::outs().flush();
  tesseraRuntimeRelayoutDestroy(relayout);
}

static std::vector<Case> readCases() {
  auto file = llvm::cantFail(llvm::errorOrToExpected(
      llvm::MemoryBuffer::getFile(TESSERA_RUNTIME_CASES)));
  std::vector<Case> cases;
  for (llvm::line_iterator line(*file, /*SkipBlanks=*/true, '#');
       !line.is_at_end(); ++line) {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(*line, words);
    cases.push_back({words[0].str(), words[1].str(), words[2].str()});
  }
  return cases;
}

/// The number of an option, no less than `least`.
static int64_t readNumber(llvm::StringRef option, llvm::StringRef text,
                          int64_t least) {
  int64_t number = 0;
  if (!text.getAsInteger(10, number) && number >= least)
    return number;
  llvm::errs() << "invalid " << option << ": expected a number of at least "
               << least << ", found `" << text << "`\n";
  std::exit(2);
}

int main(int argc, char **argv) {
  Settings settings;
  llvm::SmallVector<llvm::StringRef> words;
  for (llvm::StringRef word : llvm::ArrayRef(argv + 1, argc - 1)) {
    auto [option, value] = word.split('=');
    if (option == "--seconds")
      value.getAsDouble(settings.seconds);
    else if (option == "--compiled")
      settings.withCompiled = value != "0";
    else if (option == "--streamed-bytes")
      settings.streamedBytes = readNumber(option, value, /*least=*/0);
    else if (option == "--vector-bytes")
      settings.vectorBytes = readNumber(option, value, /*least=*/0);
    else if (option == "--buffers")
      settings.buffers = readNumber(option, value, /*least=*/1);
    else
      words.push_back(word);
  }
  std::vector<Case> cases;
  for (size_t i = 0; i + 3 <= words.size(); i += 3)
    cases.push_back({words[i].str(), words[i + 1].str(), words[i + 2].str()});
  if (cases.empty())
    cases = readCases();
  llvm::outs()
      << "                              KiB   plan us      run us  /compiled  "
         "/memcpy\n";
  for (const Case &pair : cases)
    measure(pair, settings);
}
