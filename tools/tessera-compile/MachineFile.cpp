//===- MachineFile.cpp - The file of measurements -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineFile.h"

#include "tessera/Layout/Diagnostic.h"
#include "tessera/Support/ToolSupport.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace tessera;

std::string tessera::getDefaultMachinePath() {
  if (auto named = llvm::sys::Process::GetEnv("TESSERA_MACHINE"))
    return *named;
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "tessera",
                          "machine-" + llvm::sys::getHostCPUName() + ".json");
  return path.str().str();
}

llvm::Expected<MachineProfile> tessera::readMachine(llvm::StringRef path) {
  auto file = readInput(path);
  if (!file)
    return file.takeError();
  return MachineProfile::parse((*file)->getBuffer());
}

llvm::Error tessera::prepareToWrite(llvm::StringRef path) {
  bool isFolder = llvm::sys::fs::is_directory(path);
  if (isStream(path) && !isFolder)
    return llvm::Error::success();
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(path));
  if (folder.empty())
    folder = ".";
  std::error_code code = llvm::sys::fs::create_directories(folder);
  // What is there already counts as made, whatever it is.
  if (!code && !llvm::sys::fs::is_directory(folder))
    code = std::make_error_code(std::errc::not_a_directory);
  if (!code)
    code = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  if (!code && isFolder)
    code = std::make_error_code(std::errc::is_a_directory);
  if (!code)
    return llvm::Error::success();
  return invalidError("", "output file", "a file that can be written",
                      "`" + path + "`: " + code.message());
}

llvm::Error tessera::writeMachine(llvm::StringRef path,
                                  const MachineProfile &profile) {
  if (llvm::Error error = prepareToWrite(path))
    return error;
  return writeOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    os << profile.toJSON();
    return llvm::Error::success();
  });
}
