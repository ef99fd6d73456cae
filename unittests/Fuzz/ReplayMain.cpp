//===- ReplayMain.cpp - A fuzzer's main without libFuzzer -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   tessera-fuzz-NAME [-runs=N] [-seed=N] [-max_len=N] PATH...
//
// As with libFuzzer, whose options these are, it runs each file, and those of
// each folder, then mutated ones up to N runs, but blindly: it does not see
// which code they reach. A text that ends the process is written to
// crash-SEED-RUN in the current folder.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace tessera::fuzz;
using llvm::StringRef;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed);
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *out,
                                            size_t maxSize, unsigned seed);

/// An input that takes longer is an error.
static constexpr unsigned kMaxSeconds = 120;

namespace {
struct Options {
  uint64_t runs = 0;
  uint64_t seed = 1;
  uint64_t maxLength = 4096;
  std::vector<std::string> paths;
};

using Bytes = std::vector<uint8_t>;
} // namespace

static Options options;
static Bytes current;
static uint64_t currentRun = 0;

/// Changes one byte; stands for libFuzzer's mutations.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize) {
  static Random random(options.seed);
  if (size < maxSize && (size == 0 || random.oneIn(3)))
    data[size++] = 0;
  size_t at = random.number(0, size - 1);
  if (random.oneIn(3))
    std::rotate(data + at, data + size - 1, data + size);
  data[at] = static_cast<uint8_t>(random.number(0, 255));
  return size;
}

static void writeCurrent(void *) {
  std::string path = "crash-" + std::to_string(options.seed) + "-" +
                     std::to_string(currentRun);
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << StringRef(reinterpret_cast<const char *>(current.data()),
                    current.size());
  llvm::errs() << "the input is in " << path << '\n';
}

static void run(Bytes input) {
  current = std::move(input);
  ++currentRun;
  alarm(kMaxSeconds);
  LLVMFuzzerTestOneInput(current.data(), current.size());
  alarm(0);
}

static Options parseOptions(llvm::ArrayRef<const char *> arguments) {
  Options result;
  for (StringRef argument : arguments) {
    auto takeNumber = [&](StringRef name, uint64_t &value) {
      return argument.consume_front(name) && !argument.getAsInteger(10, value);
    };
    if (takeNumber("-runs=", result.runs) ||
        takeNumber("-seed=", result.seed) ||
        takeNumber("-max_len=", result.maxLength))
      continue;
    require(!argument.starts_with("-"), "unknown option " + argument);
    result.paths.push_back(argument.str());
  }
  return result;
}

/// The files of a folder, in an order that does not depend on the system.
static std::vector<std::string> listFiles(const std::string &path) {
  if (!llvm::sys::fs::is_directory(path))
    return {path};
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator i(path, error), end;
       i != end && !error; i.increment(error))
    if (!llvm::sys::fs::is_directory(i->path()))
      files.push_back(i->path());
  require(!error, path + ": " + error.message());
  llvm::sort(files);
  return files;
}

static std::vector<Bytes> readInputs() {
  std::vector<Bytes> inputs;
  for (const std::string &path : options.paths)
    for (const std::string &file : listFiles(path)) {
      auto buffer = llvm::MemoryBuffer::getFile(file);
      require(!!buffer, file + " cannot be read");
      StringRef text = (*buffer)->getBuffer();
      inputs.emplace_back(text.bytes_begin(), text.bytes_end());
    }
  return inputs;
}

static Bytes mutate(const std::vector<Bytes> &inputs, Random &random) {
  Bytes input = random.pick(inputs);
  input.resize(std::min<size_t>(input.size(), options.maxLength));
  auto seed = static_cast<unsigned>(random.next());
  Bytes result(options.maxLength);
  size_t size;
  if (random.oneIn(4)) {
    const Bytes &other = random.pick(inputs);
    size = LLVMFuzzerCustomCrossOver(input.data(), input.size(), other.data(),
                                     other.size(), result.data(), result.size(),
                                     seed);
  } else {
    std::copy(input.begin(), input.end(), result.begin());
    size = LLVMFuzzerCustomMutator(result.data(), input.size(), result.size(),
                                   seed);
  }
  result.resize(size);
  return result;
}

int main(int argc, char **argv) {
  options = parseOptions(llvm::ArrayRef<const char *>(argv + 1, argc - 1));
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(writeCurrent, nullptr);
  std::signal(SIGALRM, [](int) { std::abort(); });
  std::vector<Bytes> inputs = readInputs();
  for (const Bytes &input : inputs)
    run(input);
  Random random(options.seed);
  while (!inputs.empty() && currentRun < options.runs)
    run(mutate(inputs, random));
  llvm::outs() << "ran " << currentRun << " inputs, seed " << options.seed
               << '\n';
  return 0;
}
