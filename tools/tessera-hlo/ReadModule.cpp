//===- ReadModule.cpp - Reading the modules of tessera-hlo ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/AssignHLO/AssignHLO.h"
#include "tessera/HLO/Verifier.h"
#include "tessera/HLOProto/HLOProto.h"
#include "tessera/Report/BufferAssignment.h"
#include "tessera/Report/HloReport.h"
#include "tessera/Support/FileKind.h"
#include "tessera/Support/ToolSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

std::unique_ptr<hlo::Module> tessera::readModule(llvm::StringRef text,
                                                 llvm::StringRef name,
                                                 llvm::raw_ostream &os) {
  if (llvm::Error error = checkIsHLO(text)) {
    os << name << ": error: " << llvm::toString(std::move(error)) << '\n';
    return nullptr;
  }
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  if (module)
    hlo::verify(*module, errors);
  for (const hlo::SourceDiagnostic &error : errors)
    os << name << ':' << error.message() << '\n';
  return errors.empty() ? std::move(module) : nullptr;
}

/// The names of a folder's files that hold modules: those after optimizations,
/// and where there are none, all `.hlo` and `.pb`.
static llvm::Expected<std::vector<std::string>>
findModules(llvm::StringRef folder) {
  std::vector<std::string> optimized, others;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder, code), end;
       !code && file != end; file.increment(code)) {
    // `module_0001.jit_f.after_optimizations.txt`; other compilers put their
    // name in front of `after`.
    llvm::StringRef name = file->path();
    if (name.ends_with("after_optimizations.txt"))
      optimized.push_back(name.str());
    else if (name.ends_with(".hlo") || name.ends_with(".pb"))
      others.push_back(name.str());
  }
  if (code)
    return llvm::createFileError(folder, code);
  if (optimized.empty())
    optimized = std::move(others);
  if (optimized.empty())
    return invalidError(
        "", "folder", "files named *after_optimizations.txt, *.hlo or *.pb",
        "none in `" + folder + "`", "dump with XLA_FLAGS=--xla_dump_to=FOLDER");
  return optimized;
}

/// The file that `path` means: of a folder the largest module.
static llvm::Expected<std::string> chooseFile(llvm::StringRef path) {
  if (!llvm::sys::fs::is_directory(path))
    return path.str();
  llvm::Expected<std::vector<std::string>> files = findModules(path);
  if (!files)
    return files.takeError();
  // The first by name is taken of files that are equally large.
  llvm::sort(*files);
  auto getSize = [](llvm::StringRef file) {
    uint64_t size = 0;
    return llvm::sys::fs::file_size(file, size) ? 0 : size;
  };
  std::string largest =
      *llvm::max_element(*files, [&](llvm::StringRef lhs, llvm::StringRef rhs) {
        return getSize(lhs) < getSize(rhs);
      });
  if (files->size() > 1)
    llvm::errs() << "note: reading " << largest << ", the largest of "
                 << files->size() << " modules\n";
  return largest;
}

std::unique_ptr<llvm::MemoryBuffer> tessera::readText(llvm::StringRef path) {
  auto input = readInput(path);
  if (!input) {
    reportError(input.takeError());
    return nullptr;
  }
  std::string converted;
  auto text = getHLOText((*input)->getBuffer(), converted);
  if (!text) {
    llvm::errs() << path << ": ";
    reportError(text.takeError());
    return nullptr;
  }
  if (converted.empty())
    return std::move(*input);
  return llvm::MemoryBuffer::getMemBufferCopy(*text);
}

std::optional<Dump> tessera::readDump(llvm::StringRef path) {
  llvm::Expected<std::string> file = chooseFile(path);
  if (!file) {
    reportError(file.takeError());
    return std::nullopt;
  }
  Dump dump{*file, readText(*file), nullptr};
  if (dump.text)
    dump.module = readModule(dump.text->getBuffer(), dump.path, llvm::errs());
  if (!dump.module)
    return std::nullopt;
  return dump;
}

/// What XLA dumps of the module in `path` beside it, if it is there: a file
/// `X-buffer-assignment.txt` for `X.txt` or `X.hlo.pb`. One that can't be read
/// is a warning, as the report is right without it.
static std::optional<BufferAssignment>
readBufferAssignment(llvm::StringRef path) {
  for (llvm::StringRef ending : {".txt", ".hlo.pb", ".hlo"})
    if (path.consume_back(ending))
      break;
  std::string file = (path + "-buffer-assignment.txt").str();
  if (!llvm::sys::fs::exists(file))
    return std::nullopt;
  auto text = readInput(file);
  auto assignment =
      text ? BufferAssignment::parse((*text)->getBuffer()) : text.takeError();
  if (assignment)
    return std::move(*assignment);
  llvm::errs() << file
               << ": warning: " << llvm::toString(assignment.takeError())
               << "; the report is made without it\n";
  return std::nullopt;
}

/// The traffic of a module, and the least that other layouts would have.
static llvm::Error addBound(const hlo::Module &module, Report &report) {
  AssignOptions options;
  options.keep = true;
  llvm::Expected<HLOAssignment> assignment = assignLayouts(module, options);
  if (!assignment)
    return assignment.takeError();
  report.bound = {assignment->before, assignment->solution.lowerBound};
  return llvm::Error::success();
}

std::optional<Report> tessera::reportOn(llvm::StringRef path, bool withBound) {
  std::optional<Dump> dump = readDump(path);
  if (!dump)
    return std::nullopt;
  std::optional<BufferAssignment> assignment = readBufferAssignment(dump->path);
  llvm::Expected<Report> result = makeReport(
      makeReportInput(*dump->module, assignment ? &*assignment : nullptr));
  llvm::Error error = !result     ? result.takeError()
                      : withBound ? addBound(*dump->module, *result)
                                  : llvm::Error::success();
  if (error) {
    reportError(std::move(error));
    return std::nullopt;
  }
  return std::move(*result);
}
