//===- MachineFile.cpp - The file of measurements -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Compile/MachineFile.h"

#include "ForkGate.h"
#include "Machine.h"
#include "tessera/Layout/Diagnostic.h"
#include "tessera/Support/ToolSupport.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace tessera;
namespace fs = llvm::sys::fs;

using Machine = std::shared_ptr<const MachineProfile>;

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

llvm::Error tessera::prepareToWrite(llvm::StringRef path) {
  bool isFolder = fs::is_directory(path);
  if (isStream(path) && !isFolder)
    return llvm::Error::success();
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(path));
  if (folder.empty())
    folder = ".";
  std::error_code code = fs::create_directories(folder);
  // What is there already counts as made, whatever it is.
  if (!code && !fs::is_directory(folder))
    code = std::make_error_code(std::errc::not_a_directory);
  if (!code)
    code = fs::access(folder, fs::AccessMode::Write);
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

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// The file that was read last, as a process compiles by one as a rule. It is
/// read again when it has changed.
class LastFile {
public:
  llvm::Expected<Machine> read(llvm::StringRef path) {
    fs::file_status now;
    // What is no regular file is read each time, and its errors are found
    // there.
    bool isKept = !fs::status(path, now) && fs::is_regular_file(now);
    std::lock_guard<std::mutex> lock(mutex);
    if (isKept && machine && path == this->path && isSame(now))
      return machine;
    llvm::Expected<MachineProfile> profile = MachineProfile::read(path);
    if (!profile)
      return profile.takeError();
    auto result = std::make_shared<const MachineProfile>(std::move(*profile));
    machine = isKept ? result : nullptr;
    this->path = path.str();
    status = now;
    return result;
  }

private:
  bool isSame(const fs::file_status &now) const {
    return now.getUniqueID() == status.getUniqueID() &&
           now.getLastModificationTime() == status.getLastModificationTime() &&
           now.getSize() == status.getSize();
  }

  std::mutex mutex;
  std::string path;
  fs::file_status status;
  Machine machine;
};
} // namespace

static llvm::Expected<Machine> readShared(llvm::StringRef path) {
  // Never destroyed: threads may compile until the end.
  static LastFile &file = *new LastFile;
  CompileScope scope;
  return file.read(path);
}

//===----------------------------------------------------------------------===//
// Tuning
//===----------------------------------------------------------------------===//

/// What is in the file; of this processor and empty where there is none.
static llvm::Expected<MachineProfile> readOrMake(llvm::StringRef path) {
  if (!fs::exists(path))
    return MachineProfile::getHost();
  return MachineProfile::read(path);
}

/// Times those of `requests` that `profile` does not have.
static llvm::Expected<std::vector<TunedRelayout>>
tuneAll(const MachineFile &file, llvm::ArrayRef<RelayoutRequest> requests,
        MachineProfile profile, CompileOptions options) {
  std::vector<TunedRelayout> added;
  options.machine = std::make_shared<MachineProfile>(profile);
  for (const RelayoutRequest &request : requests) {
    TunedRelayout tuned = {MachineProfile::getText(request.source),
                           MachineProfile::getText(request.destination),
                           options.threads,
                           options.buffers,
                           {}};
    if (profile.find(tuned.source, tuned.destination, tuned.threads,
                     tuned.buffers))
      continue;
    auto plans = tuneRelayout(request.source, request.destination, options);
    if (!plans)
      return plans.takeError();
    if (file.report)
      file.report(request, *plans);
    tuned.tuning = plans->front().tuning;
    profile.add(tuned);
    added.push_back(std::move(tuned));
  }
  return added;
}

/// What the file has, once it has all of `requests`.
static llvm::Expected<MachineProfile>
tuneFile(const MachineFile &file, llvm::ArrayRef<RelayoutRequest> requests,
         llvm::StringRef path, const CompileOptions &options) {
  if (path.empty())
    return invalidError("", "tuning", "a file for what it measures", "none",
                        "name a machine file");
  // Who is timed beside another is slow, and both write the file.
  static std::mutex &mutex = *new std::mutex;
  CompileScope scope;
  std::lock_guard<std::mutex> lock(mutex);
  if (llvm::Error error = prepareToWrite(path))
    return std::move(error);
  llvm::Expected<MachineProfile> profile = readOrMake(path);
  if (!profile)
    return profile;
  auto added = tuneAll(file, requests, *profile, options);
  if (!added)
    return added.takeError();
  if (added->empty())
    return profile;
  // Another process may have added to it meanwhile.
  if (llvm::Error error = readOrMake(path).moveInto(*profile))
    return std::move(error);
  for (TunedRelayout &tuned : *added)
    profile->add(std::move(tuned));
  if (llvm::Error error = writeMachine(path, *profile))
    return std::move(error);
  return profile;
}

llvm::Error tessera::useMachine(const MachineFile &file,
                                llvm::ArrayRef<RelayoutRequest> requests,
                                CompileOptions &options) {
  if (file.tune)
    if (llvm::Error error = checkIsThisMachine(options))
      return error;
  bool isHere = options.triple.empty() && options.cpu.empty();
  std::string path =
      file.path || !isHere ? file.path.value_or("") : getDefaultMachinePath();
  if (file.tune) {
    auto profile = tuneFile(file, requests, path, options);
    if (!profile)
      return profile.takeError();
    options.machine = std::make_shared<MachineProfile>(std::move(*profile));
    return llvm::Error::success();
  }
  if (path.empty() || (!file.path && !fs::exists(path)))
    return llvm::Error::success();
  return readShared(path).moveInto(options.machine);
}
