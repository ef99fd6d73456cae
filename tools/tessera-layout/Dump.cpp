//===- Dump.cpp - tessera-layout dump -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera/Layout/Size.h"
#include "tessera/Support/Subcommand.h"

#include "tessera/View/Dump.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int run();

static Subcommand command("dump",
                          "Print a raw buffer as logical elements, or say "
                          "which element a byte belongs to",
                          run);
static cl::opt<std::string> shapeText(cl::Positional, cl::Required,
                                      cl::desc("SHAPE"), cl::sub(command));
static cl::opt<std::string> path(cl::Positional, cl::desc("FILE.bin"),
                                 cl::sub(command));
static cl::opt<std::string>
    byte("byte", cl::value_desc("0x1f40"), cl::sub(command),
         cl::desc("Only say what is at this byte of the buffer"));
static cl::opt<bool> withPadding("padding", cl::sub(command),
                                 cl::desc("Print the padding too"));

static int describeByte(const ArrayArgument &array, const BufferDump &dump) {
  auto offset = parsePosition(byte, "byte", dump.bytes());
  if (!offset)
    return reportError(offset.takeError());
  dump.describeByte(*offset, llvm::outs());
  return kExitSuccess;
}

/// The file that is to be the array's buffer.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readBuffer(const Shape &shape) {
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (!size)
    return size.takeError();
  return readInput(path, size->bytes);
}

static int run() {
  bool hasByte = byte.getNumOccurrences(), hasPath = path.getNumOccurrences();
  if (!hasByte && !hasPath)
    return reportError(
        invalidError("", "command line", "a file, --byte, or both", "neither"));
  std::optional<ArrayArgument> array = readArrayArgument(shapeText);
  if (!array)
    return kExitBadInput;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (hasPath)
    if (llvm::Error error = readBuffer(array->shape).moveInto(buffer))
      return reportError(std::move(error));
  llvm::Expected<BufferDump> dump = BufferDump::get(
      array->shape, buffer ? std::optional(buffer->getBuffer()) : std::nullopt);
  if (!dump)
    return reportError(dump.takeError());
  if (hasByte)
    return describeByte(*array, *dump);
  dump->print(llvm::outs(), withPadding);
  return kExitSuccess;
}
