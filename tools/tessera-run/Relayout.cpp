//===- Relayout.cpp - tessera-run relayout --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Relayout.h"
#include "tessera/Layout/Size.h"
#include "tessera/Runtime/Runtime.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("relayout",
                          "Move the bytes of a file from one layout to another",
                          run);
static cl::opt<std::string> sourceText(cl::Positional, cl::Required,
                                       cl::desc("SRC-SHAPE"), cl::sub(command));
static cl::opt<std::string> destinationText(cl::Positional, cl::Required,
                                            cl::desc("DST-SHAPE"),
                                            cl::sub(command));
static cl::opt<std::string> inputPath(cl::Positional, cl::Required,
                                      cl::desc("IN.bin"), cl::sub(command));
static cl::opt<std::string> outputPath(cl::Positional, cl::Required,
                                       cl::desc("OUT.bin"), cl::sub(command));

/// An error for an input of another size than the source has. Of it no more is
/// read than shows that it is longer.
static llvm::Error makeSizeError(const Shape &source, int64_t bytes,
                                 llvm::StringRef input) {
  FileKind kind = getFileKind(input);
  bool isOther = kind != FileKind::Text && kind != FileKind::Binary;
  return invalidError("", "size of the input",
                      llvm::Twine(bytes) + " bytes for " + source.toString(),
                      (input.size() > size_t(bytes) ? "at least " : "") +
                          llvm::Twine(input.size()) + " bytes" +
                          (isOther ? " of " + getFileKindName(kind) : ""),
                      isOther ? "give the bytes of the array alone, as numpy's "
                                "tofile writes them"
                              : "");
}

static llvm::Error takeError(const RuntimeError &error) {
  return llvm::createStringError(error.getMessage());
}

/// Moves the buffer `input` to the other one, whose unspecified padding is
/// zero.
static llvm::Expected<std::unique_ptr<llvm::WritableMemoryBuffer>>
relayout(const Shape &source, const Shape &destination, llvm::StringRef input) {
  RuntimeRelayout move;
  TesseraRuntimeOptions options = {};
  options.zeroPadding = true;
  if (RuntimeError error = RuntimeRelayout::create(
          source.toString(), destination.toString(), options, move))
    return takeError(error);
  if (static_cast<int64_t>(input.size()) != move.getSourceBytes())
    return makeSizeError(source, move.getSourceBytes(), input);
  int64_t size = move.getDestinationBytes();
  auto output = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(size);
  if (!output)
    return unsupportedError("size of the output", "what fits in memory",
                            llvm::Twine(size) + " bytes");
  if (RuntimeError error =
          move.run(input.data(), input.size(), output->getBufferStart(), size))
    return takeError(error);
  return output;
}

static int run() {
  std::optional<Shape> source = readShapeArgument(sourceText);
  std::optional<Shape> destination = readShapeArgument(destinationText);
  if (!source || !destination)
    return kExitBadInput;
  if (llvm::Error error = checkRelayout(*source, *destination))
    return reportError(std::move(error));
  llvm::Expected<ShapeSize> inputSize = getSize(*source);
  if (!inputSize)
    return reportError(inputSize.takeError());
  auto input = readInput(inputPath, inputSize->bytes);
  if (!input)
    return reportError(input.takeError());
  auto output = relayout(*source, *destination, (*input)->getBuffer());
  if (!output)
    return reportError(output.takeError());
  llvm::Error error =
      writeOutput(outputPath, [&](llvm::raw_ostream &os) -> llvm::Error {
        os.write((*output)->getBufferStart(), (*output)->getBufferSize());
        return llvm::Error::success();
      });
  return error ? reportError(std::move(error)) : int(kExitSuccess);
}
