//===- RuntimeBenchmarks.cpp - Relayouts that are run and compiled --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TesseraRuntimeBenchmarks [--seconds=S] [--compiled=0] [--against=LIBRARY]
// [--against-vector-bytes=N] [--zero-padding] [--streamed-bytes=N]
// [--vector-bytes=N] [--buffers=N] [--offset=BYTES]
// [--pairs=FILE | NAME SOURCE DESTINATION...]
//
// For each pair (without any: those of runtime_cases.txt) libtessera-runtime,
// the compiled relayout, another libtessera-runtime.so or the same one with
// shorter registers if that is asked for, and memcpy of as many bytes as the
// destination has take turns on the same buffers, or on N of each one after
// another, one thread each. N that the caches do not hold are cold. Their order
// is another one each time, as each finds the caches as the one before left
// them. The least time of all turns counts: other work on the machine only adds
// to it.
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
#include <dlfcn.h>
#include <functional>
#include <optional>
#include <random>
#include <sys/mman.h>

using namespace tessera;

namespace {
struct Case {
  std::string name, source, destination;
};

using Clock = std::chrono::steady_clock;
using Body = std::function<void()>;

/// The functions of a libtessera-runtime that are timed.
struct Runtime {
  decltype(&tesseraRuntimeRelayoutCreate) create = tesseraRuntimeRelayoutCreate;
  decltype(&tesseraRuntimeRelayoutRun) run = tesseraRuntimeRelayoutRun;
  decltype(&tesseraRuntimeRelayoutDestroy) destroy =
      tesseraRuntimeRelayoutDestroy;
};
} // namespace

/// Ends the program with a message.
[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << message << "\n";
  std::exit(2);
}

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
  TesseraRuntimeOptions options = {};
  std::optional<Runtime> other;
  int64_t otherVectorBytes = 0;
  int64_t buffers = 1, offset = 0;
};

/// Buffers of one size that are used by turns. They begin at `offset` bytes
/// of a page.
class Ring {
public:
  Ring(int64_t count, size_t size, int64_t offset = 0) : offset(offset) {
    for (int64_t i = 0; i < count; ++i)
      buffers.push_back(allocate(size + offset));
  }
  ~Ring() {
    for (char *buffer : buffers)
      std::free(buffer);
  }
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;

  char *get(int64_t turn) const {
    return buffers[turn % buffers.size()] + offset;
  }

private:
  int64_t offset;
  std::vector<char *> buffers;
};
} // namespace

static TesseraRuntimeRelayout *create(const Runtime &runtime, const Case &pair,
                                      const TesseraRuntimeOptions &options) {
  TesseraRuntimeRelayout *relayout = nullptr;
  if (TesseraError *error = runtime.create(
          pair.source.c_str(), pair.destination.c_str(), &options, &relayout))
    fail(pair.name + ": " + tesseraErrorGetMessage(error));
  return relayout;
}

static TesseraRuntimeRelayout *createOther(const Case &pair,
                                           const Settings &settings) {
  TesseraRuntimeOptions options = settings.options;
  if (settings.otherVectorBytes)
    options.vectorBytes = settings.otherVectorBytes;
  return create(*settings.other, pair, options);
}

/// Lets them take turns, in another order each time.
static void takeTurns(llvm::SmallVector<Contestant *> contestants,
                      double seconds) {
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937 engine; // NOLINT(*-seed,cert-msc51-cpp): the same orders.
  for (int round = 0; round < 8 || Clock::now() < end; ++round) {
    std::shuffle(contestants.begin(), contestants.end(), engine);
    for (Contestant *contestant : contestants)
      contestant->turn();
  }
}

static void measure(const Case &pair, const Settings &settings) {
  const Runtime runtime;
  TesseraRuntimeRelayout *relayout = create(runtime, pair, settings.options);
  TesseraRuntimeRelayout *otherRelayout =
      settings.other ? createOther(pair, settings) : nullptr;
  size_t srcBytes = tesseraRuntimeRelayoutGetSourceBytes(relayout);
  size_t dstBytes = tesseraRuntimeRelayoutGetDestinationBytes(relayout);
  Ring src(settings.buffers, srcBytes);
  Ring dst(settings.buffers, dstBytes, settings.offset);
  Ring copied(settings.buffers, dstBytes);
  int64_t turn = 0;
  auto run = [&](const Runtime &library, TesseraRuntimeRelayout *handle) {
    ++turn;
    library.run(handle, src.get(turn), srcBytes, dst.get(turn), dstBytes);
  };
  Contestant planning{
      [&] { runtime.destroy(create(runtime, pair, settings.options)); }};
  Contestant running{[&] { run(runtime, relayout); }};
  Contestant other{[&] { run(*settings.other, otherRelayout); }};
  Contestant copying{[&] {
    ++turn;
    std::memcpy(dst.get(turn), copied.get(turn), dstBytes);
  }};
  Contestant compiled;
  llvm::SmallVector<Contestant *> contestants = {&planning, &running, &copying};
  if (settings.withCompiled) {
    auto function = llvm::cantFail(
        getRelayoutFunction(llvm::cantFail(parseShape(pair.source)),
                            llvm::cantFail(parseShape(pair.destination))));
    compiled.body = [&, function] {
      ++turn;
      function(src.get(turn), dst.get(turn));
    };
    contestants.push_back(&compiled);
  }
  if (settings.other)
    contestants.push_back(&other);
  takeTurns(contestants, settings.seconds);

  // How many times as fast as a contestant the runtime is; 0 without it.
  auto compare = [&](const Contestant &contestant) {
    return llvm::is_contained(contestants, &contestant)
               ? contestant.best / running.best
               : 0;
  };
  llvm::outs() << llvm::left_justify(pair.name, 24)
               << llvm::format("%9.1f %9.1f %11.3f %9.2f %9.2f %9.2f\n",
                               static_cast<double>(dstBytes) / 1024,
                               planning.best, running.best, compare(compiled),
                               compare(copying), compare(other));
  llvm::outs().flush();
  tesseraRuntimeRelayoutDestroy(relayout);
  if (settings.other)
    settings.other->destroy(otherRelayout);
}

/// The functions of the library in a file. Its own calls stay within it.
static Runtime loadRuntime(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library)
    fail(llvm::Twine("invalid --against: ") + dlerror());
  Runtime runtime;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, name));
    if (!function)
      fail(llvm::Twine("invalid --against: ") + path + " has no " + name);
  };
  find(runtime.create, "tesseraRuntimeRelayoutCreate");
  find(runtime.run, "tesseraRuntimeRelayoutRun");
  find(runtime.destroy, "tesseraRuntimeRelayoutDestroy");
  return runtime;
}

/// The pairs in a file, a line each: name, source, destination.
static std::vector<Case> readCases(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    fail("invalid --pairs: expected a file that can be read, found `" + path +
         "`: " + buffer.getError().message());
  std::unique_ptr<llvm::MemoryBuffer> file = std::move(*buffer);
  std::vector<Case> cases;
  for (llvm::line_iterator line(*file, /*SkipBlanks=*/true, '#');
       !line.is_at_end(); ++line) {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(*line, words);
    if (words.size() != 3)
      fail(path + ": expected name, source and destination, found `" + *line +
           "`");
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
  fail("invalid " + option + ": expected a number of at least " +
       llvm::Twine(least) + ", found `" + text + "`");
}

int main(int argc, char **argv) {
  Settings settings;
  std::string pairs = TESSERA_RUNTIME_CASES;
  llvm::SmallVector<llvm::StringRef> words;
  for (llvm::StringRef word : llvm::ArrayRef(argv + 1, argc - 1)) {
    auto [option, value] = word.split('=');
    if (option == "--seconds")
      value.getAsDouble(settings.seconds);
    else if (option == "--compiled")
      settings.withCompiled = value != "0";
    else if (option == "--against")
      settings.other = loadRuntime(value.str());
    else if (option == "--against-vector-bytes")
      settings.otherVectorBytes = readNumber(option, value, /*least=*/0);
    else if (option == "--zero-padding")
      settings.options.zeroPadding = true;
    else if (option == "--streamed-bytes")
      settings.options.streamedBytes = readNumber(option, value, /*least=*/0);
    else if (option == "--vector-bytes")
      settings.options.vectorBytes = readNumber(option, value, /*least=*/0);
    else if (option == "--buffers")
      settings.buffers = readNumber(option, value, /*least=*/1);
    else if (option == "--offset")
      settings.offset = readNumber(option, value, /*least=*/0);
    else if (option == "--pairs")
      pairs = value.str();
    else if (word.starts_with("--"))
      fail(
          "invalid option: expected one that the head of RuntimeBenchmarks.cpp "
          "names, found `" +
          word + "`");
    else
      words.push_back(word);
  }
  if (settings.otherVectorBytes && !settings.other)
    settings.other.emplace();
  if (words.size() % 3 != 0)
    fail(
        "invalid pairs: expected name, source and destination of each, found " +
        llvm::Twine(words.size()) + " words");
  std::vector<Case> cases;
  for (size_t i = 0; i < words.size(); i += 3)
    cases.push_back({words[i].str(), words[i + 1].str(), words[i + 2].str()});
  if (cases.empty())
    cases = readCases(pairs);
  llvm::outs()
      << "                              KiB   plan us      run us  /compiled  "
         "/memcpy  /against\n";
  for (const Case &pair : cases)
    measure(pair, settings);
}
