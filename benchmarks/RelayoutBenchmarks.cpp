//===- RelayoutBenchmarks.cpp - Speed of compiled relayouts ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every case of relayout_cases.txt: memcpy of the elements' bytes, the
// vector kernels with one thread and with two, the same with buffers that begin
// 16 bytes behind a line, the plain loop over elements, and the time that
// making the code takes (without a process and a linker).
// `bytes_per_second` counts each element read once and written once.
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/Compile.h"
#include "tessera/Layout/Size.h"
#include "tessera/Layout/Text.h"

#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>
#include <memory>
#include <sys/mman.h>

using namespace tessera;

namespace {
struct Case {
  std::string name;
  Shape source, destination;

  /// Bytes of the elements alone.
  int64_t usefulBytes() const {
    int64_t bytes = getByteWidth(source.elementType());
    for (int64_t dim : source.dimensions())
      bytes *= dim;
    return bytes;
  }
};

/// A buffer that begins at a page and has been touched. Large ones ask for huge
/// pages, as numpy's do: rows that lie pages apart are timed, not page tables.
class Buffer {
public:
  explicit Buffer(int64_t size)
      : size(size), memory(static_cast<char *>(std::aligned_alloc(
                        size < kHugePage ? kPage : kHugePage,
                        llvm::alignTo(size + kOffLine, kHugePage)))) {
    if (size >= kHugePage)
      madvise(memory.get(), size, MADV_HUGEPAGE);
    std::memset(memory.get(), 1, size);
  }
  char *data() { return memory.get(); }

  const int64_t size;
  /// Where `malloc` puts large buffers in a line.
  static constexpr int64_t kOffLine = 16;

private:
  static constexpr int64_t kPage = 4096, kHugePage = 2 << 20;
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
};

using Relayout = std::function<void(const void *, void *)>;
} // namespace

/// Buffer number `number`, the same for all that fit: Google Benchmark runs
/// every function several times before it counts.
static char *getBuffer(int number, int64_t size) {
  static std::unique_ptr<Buffer> buffers[2];
  std::unique_ptr<Buffer> &buffer = buffers[number];
  if (!buffer || buffer->size < size)
    buffer = std::make_unique<Buffer>(size);
  return buffer->data();
}

static void runRelayout(benchmark::State &state, const Case &item,
                        const Relayout &relayout, int64_t offset = 0) {
  int64_t useful = item.usefulBytes();
  char *source = getBuffer(
      0, std::max(useful, llvm::cantFail(getSize(item.source)).bytes));
  char *destination = getBuffer(
      1, std::max(useful, llvm::cantFail(getSize(item.destination)).bytes));
  source += offset;
  destination += offset;
  // The first call pays for pages and for threads.
  relayout(source, destination);
  for (auto _ : state) {
    relayout(source, destination);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * useful);
}

static void runKernels(benchmark::State &state, const Case &item,
                       const CompileOptions &options, int64_t offset = 0) {
  auto function = getRelayoutFunction(item.source, item.destination, options);
  if (!function)
    return state.SkipWithError(llvm::toString(function.takeError()).c_str());
  runRelayout(state, item, *function, offset);
}

/// Making the code: from two shapes to an object file.
static void runCompiler(benchmark::State &state, const Case &item) {
  for (auto _ : state) {
    clearCompileCache();
    auto object =
        compileRelayout(item.source, item.destination, EmitKind::Object);
    if (!object)
      return state.SkipWithError(llvm::toString(object.takeError()).c_str());
  }
}

static void registerCase(const Case &item) {
  auto add = [&](llvm::StringRef what, auto run) {
    benchmark::RegisterBenchmark((item.name + "/" + what).str().c_str(), run)
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
  };
  add("memcpy", [item](benchmark::State &state) {
    runRelayout(state, item, [&](const void *source, void *destination) {
      std::memcpy(destination, source, item.usefulBytes());
    });
  });
  for (int64_t threads : {1, 2})
    add("kernels:" + std::to_string(threads),
        [item, threads](benchmark::State &state) {
          CompileOptions options;
          options.threads = threads;
          runKernels(state, item, options);
        });
  add("kernels:off", [item](benchmark::State &state) {
    runKernels(state, item, CompileOptions(), Buffer::kOffLine);
  });
  add("loop", [item](benchmark::State &state) {
    CompileOptions options;
    options.vectorize = false;
    runKernels(state, item, options);
  });
  add("compile", [item](benchmark::State &state) { runCompiler(state, item); });
}

/// Reads the cases; exits on a line that is none.
static std::vector<Case> readCases(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    llvm::errs() << "cannot read " << path << "\n";
    std::exit(1);
  }
  std::vector<Case> cases;
  for (llvm::line_iterator line(**file, /*SkipBlanks=*/true, '#');
       !line.is_at_eof(); ++line) {
    auto [name, shapes] = line->split(' ');
    auto [from, to] = shapes.split(' ');
    auto source = parseShape(from), destination = parseShape(to);
    if (llvm::Error error =
            llvm::joinErrors(source.takeError(), destination.takeError())) {
      llvm::errs() << path << ":" << line.line_number() << ": "
                   << llvm::toString(std::move(error)) << "\n";
      std::exit(1);
    }
    cases.push_back({name.str(), *source, *destination});
  }
  return cases;
}

int main(int argc, char **argv) {
  for (const Case &item : readCases(TESSERA_RELAYOUT_CASES))
    registerCase(item);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
