//===- Fuzzing.h - What the fuzzers share -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fuzzer is a program that runs texts: runInput does with one what is tested,
// and ends the process where something is wrong; mutateInput makes a new text
// of an old one. The functions that libFuzzer calls are in FuzzMain.cpp;
// without libFuzzer ReplayMain.cpp calls them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_UNITTESTS_FUZZ_FUZZING_H
#define TESSERA_UNITTESTS_FUZZ_FUZZING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fuzz {

/// Ends the process with the text `what` unless `condition` holds.
void require(bool condition, const llvm::Twine &what);

/// Random numbers that are cheap to seed.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next();
  /// In [low, high].
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % (high - low + 1));
  }
  bool oneIn(int64_t n) { return number(1, n) == 1; }
  template <typename T> const T &pick(llvm::ArrayRef<T> list) {
    return list[number(0, list.size() - 1)];
  }
  template <typename T> const T &pick(const std::vector<T> &list) {
    return pick(llvm::ArrayRef<T>(list));
  }

private:
  uint64_t state;
};

/// Small changes of a text that has words, numbers, strings and brackets. A
/// piece of it is such a token, a bracket with what is in it and the word in
/// front (`f32[2,3]{1,0:T(8,128)}`, `tensor<4xf32>`), `name=value`, or a line.
/// Pieces change places with others of their kind, so that most of what comes
/// out still has the grammar of what went in.
class TokenMutator {
public:
  /// `dictionary` is a file in libFuzzer's format, `"word"` on each line.
  explicit TokenMutator(llvm::StringRef dictionary);

  std::string mutate(llvm::StringRef text, Random &random) const;
  /// The text with a piece of `donor` in it.
  std::string cross(llvm::StringRef text, llvm::StringRef donor,
                    Random &random) const;

private:
  std::string mutateOnce(llvm::StringRef text, llvm::StringRef donor,
                         Random &random) const;

  std::vector<std::string> words;
};

//===--- Defined by each fuzzer -------------------------------------------===//

void runInput(llvm::StringRef text);
std::string mutateInput(llvm::StringRef text, const TokenMutator &mutator,
                        Random &random);

} // namespace tessera::fuzz

#endif // TESSERA_UNITTESTS_FUZZ_FUZZING_H
