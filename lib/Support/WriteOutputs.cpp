//===- WriteOutputs.cpp - Files that are whole or not there ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The package's `tessera.__main__` writes its files by the same rules.
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ToolSupport.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

using namespace tessera;
namespace fs = llvm::sys::fs;

using Writer = std::function<llvm::Error(llvm::raw_ostream &)>;

/// Symbolic links that are followed in a row, as many as Linux follows.
static constexpr int kMaxLinks = 40;

static llvm::Error outputError(llvm::StringRef path, llvm::StringRef reason) {
  return invalidError("", "output file", "a file that can be written",
                      "`" + path + "`: " + reason, "name another with -o");
}

/// Calls `write` on the open file `fd`. What went wrong with the file itself
/// is an error too; left to the stream's destructor it would end the program.
static llvm::Error writeToDescriptor(int fd, llvm::StringRef path,
                                     const Writer &write) {
  llvm::raw_fd_ostream os(fd, /*shouldClose=*/false);
  llvm::Error error = write(os);
  os.flush();
  if (!os.has_error())
    return error;
  std::string reason = os.error().message();
  os.clear_error();
  if (error)
    return error;
  return outputError(path, reason);
}

/// Writes to what is no file that could be replaced, such as a device or pipe.
static llvm::Error writeInPlace(llvm::StringRef path, const Writer &write) {
  if (path == "-")
    return write(llvm::outs());
  int fd;
  if (std::error_code code =
          fs::openFileForWrite(path, fd, fs::CD_OpenExisting))
    return outputError(path, code.message());
  llvm::Error error = writeToDescriptor(fd, path, write);
  llvm::sys::Process::SafelyCloseFileDescriptor(fd);
  return error;
}

/// Where symbolic links lead, also to a file that is not there yet.
static std::string followLinks(llvm::StringRef path) {
  std::filesystem::path target = path.str();
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code code;
    std::filesystem::path next = std::filesystem::read_symlink(target, code);
    if (code)
      break;
    target = target.parent_path() / next;
  }
  return target.string();
}

/// The mode of the file that is there, or of a new one.
static unsigned getMode(llvm::StringRef path) {
  fs::file_status status;
  if (!fs::status(path, status))
    return status.permissions();
  return (fs::all_read | fs::all_write) & ~fs::getUmask();
}

namespace {
/// A complete file that has still to take the place of `path`.
struct WrittenFile {
  std::string path;
  fs::TempFile file;
};
} // namespace

static llvm::Expected<WrittenFile> writeBeside(const Output &output) {
  std::string path = followLinks(output.path);
  // Others may not read it before its mode is known to allow that.
  llvm::Expected<fs::TempFile> file = fs::TempFile::create(
      path + ".temp-%%%%%%", fs::owner_read | fs::owner_write);
  if (!file)
    return outputError(output.path, llvm::toString(file.takeError()));
  llvm::Error error = writeToDescriptor(file->FD, output.path, output.write);
  if (!error)
    if (std::error_code code =
            fs::setPermissions(file->FD, static_cast<fs::perms>(getMode(path))))
      error = outputError(output.path, code.message());
  if (!error)
    return WrittenFile{std::move(path), std::move(*file)};
  llvm::consumeError(file->discard());
  return std::move(error);
}

bool tessera::isStream(llvm::StringRef path) {
  fs::file_status status;
  return path == "-" || (!fs::status(path, status) &&
                         status.type() != fs::file_type::regular_file);
}

llvm::Error tessera::writeOutputs(llvm::ArrayRef<Output> outputs) {
  std::vector<WrittenFile> files;
  llvm::scope_exit discard([&] {
    for (WrittenFile &written : files)
      llvm::consumeError(written.file.discard());
  });
  for (const Output &output : outputs) {
    if (isStream(output.path)) {
      if (llvm::Error error = writeInPlace(output.path, output.write))
        return error;
      continue;
    }
    llvm::Expected<WrittenFile> written = writeBeside(output);
    if (!written)
      return written.takeError();
    files.push_back(std::move(*written));
  }
  for (WrittenFile &written : files)
    if (llvm::Error error = written.file.keep(written.path))
      return outputError(written.path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error tessera::writeOutput(llvm::StringRef path, const Writer &write) {
  return writeOutputs(Output{path.str(), write});
}

llvm::Error tessera::writeMLIROutput(
    llvm::StringRef path,
    llvm::function_ref<llvm::LogicalResult(llvm::raw_ostream &)> write) {
  return writeOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    if (failed(write(os)))
      return llvm::make_error<ReportedError>();
    return llvm::Error::success();
  });
}
