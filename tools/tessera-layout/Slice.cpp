//===- Slice.cpp - tessera-layout slice -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Subcommand.h"
#include "tessera/View/ExplainSlice.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand
    command("slice",
            "Tell what a slice is in memory: whole tiles or runs, how aligned; "
            "exit code 1 if it is not whole tiles for all its begins",
            run);
static cl::opt<std::string> shapeText(cl::Positional, cl::Required,
                                      cl::desc("SHAPE"), cl::sub(command));
static cl::opt<std::string> sliceText(cl::Positional, cl::Required,
                                      cl::desc("'d0=8*i:+16, d1=0:+128'"),
                                      cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print a JSON object"));

static int run() {
  std::optional<Shape> shape = readShapeArgument(shapeText);
  if (!shape)
    return kExitBadInput;
  llvm::Expected<SymbolicSlice> slice =
      parseSlice(sliceText, shape->dimensions());
  if (!slice)
    return reportError(slice.takeError(), sliceText);
  llvm::Expected<SliceAnswer> answer = analyzeSlice(*shape, *slice);
  if (!answer)
    return reportError(answer.takeError());
  if (asJSON)
    printSliceJSON(*shape, *slice, *answer, llvm::outs());
  else
    printSlice(*shape, *slice, *answer, llvm::outs());
  return answer->isWholeTiles() ? kExitSuccess : kExitNo;
}
