//===- LogFuzzer.cpp - Logs of programs that ran out of memory ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any text has an answer, or says nothing of lack of memory. Of an answer every
// repair is smaller, is as large as its shape, and is a shape that verifies.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "tessera/Layout/Size.h"
#include "tessera/Report/OutOfMemory.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::fuzz;

static void checkRepairs(const AllocationAnswer &answer) {
  require(answer.bytes >= 0 && answer.totalBytes() >= answer.bytes,
          "an allocation of fewer bytes than none");
  require(!answer.why.empty(), "an allocation without a reason");
  for (const Suggestion &repair : answer.repairs) {
    require(repair.gain > 0 && !repair.change.empty(), "a repair of nothing");
    llvm::Expected<ShapeSize> size = getSize(*repair.shape);
    require(!!size, "a repair without a size");
    require(size->bytes == answer.bytes - repair.gain,
            "a repair has another size than its shape");
    require(!repair.shape->verify(), "a repair does not verify");
  }
}

void tessera::fuzz::runInput(llvm::StringRef text) {
  llvm::Expected<OutOfMemoryLog> log = parseOutOfMemoryLog(text);
  if (!log) {
    require(!takeDiagnostic(log.takeError()).message().empty(),
            "an error without a message");
    return;
  }
  OutOfMemoryReport report = explainOutOfMemory(*log);
  require(report.gain >= 0, "repairs that save less than nothing");
  for (const AllocationAnswer &answer : report.allocations)
    checkRepairs(answer);
  std::string out;
  llvm::raw_string_ostream os(out);
  printOutOfMemory(report, os);
  printOutOfMemoryJSON(report, os);
}

std::string tessera::fuzz::mutateInput(llvm::StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  return mutator.mutate(text, random);
}
