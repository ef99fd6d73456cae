//===- ReadStream.cpp - Files that may have no end ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadStream.h"

#include "tessera/Support/ToolSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <new>
#include <unistd.h>

using namespace tessera;
namespace fs = llvm::sys::fs;

/// Whether it is a device, such as one of zeros without end.
static bool isDevice(fs::file_t file) {
  fs::file_status status;
  return !fs::status(file, status) &&
         status.type() == fs::file_type::character_file;
}

/// Reads on until there is enough.
static llvm::Error readFrom(fs::file_t file, std::optional<int64_t> maxBytes,
                            std::string &bytes) {
  constexpr size_t kChunk = 64 << 10;
  while (!maxBytes || static_cast<int64_t>(bytes.size()) <= *maxBytes) {
    size_t before = bytes.size();
    bytes.resize(before + kChunk);
    llvm::Expected<size_t> count = fs::readNativeFile(
        file, llvm::MutableArrayRef(bytes.data() + before, kChunk));
    bytes.resize(before + (count ? *count : 0));
    if (!count)
      return count.takeError();
    if (*count == 0)
      break;
    bool hasZero = bytes.find('\0', before) != std::string::npos;
    if (!maxBytes && hasZero && isDevice(file))
      return llvm::createStringError("a device that gives no text");
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
tessera::readStream(llvm::StringRef path, std::optional<int64_t> maxBytes) {
  auto fail = [&](llvm::Error error) {
    return invalidError("", "input file", "a file that can be read",
                        "`" + path + "`: " + llvm::toString(std::move(error)));
  };
  std::string bytes;
  bool isInput = path == "-";
  llvm::Expected<fs::file_t> file =
      isInput ? fs::getStdinHandle() : fs::openNativeFileForRead(path);
  if (!file)
    return fail(file.takeError());
  llvm::scope_exit close([&] {
    if (!isInput)
      fs::closeFile(*file);
  });
  if (llvm::Error error = readFrom(*file, maxBytes, bytes))
    return fail(std::move(error));
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
      bytes.size(), isInput ? "<stdin>" : path, llvm::Align(kInputAlignment));
  if (!buffer)
    return fail(llvm::createStringError("out of memory"));
  llvm::copy(bytes, buffer->getBufferStart());
  return std::unique_ptr<llvm::MemoryBuffer>(std::move(buffer));
}

/// What was begun to be written is removed, as after a signal.
[[noreturn]] static void exitOutOfMemory() {
  static constexpr char kMessage[] =
      "error: out of memory: expected more, found no more\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  llvm::sys::RunInterruptHandlers();
  _exit(kExitBadInput);
}

void tessera::exitWhenOutOfMemory() {
  std::set_new_handler(exitOutOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { exitOutOfMemory(); });
}
