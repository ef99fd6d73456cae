//===- Kernels.cpp - tessera-hlo kernels and check ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModule.h"

#include "tessera/Kernels/Bytecode.h"
#include "tessera/Kernels/Kernels.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
namespace cl = llvm::cl;

static int runKernels();
static int runCheck();

static Subcommand kernels("kernels", "Show the Mosaic kernels of a module",
                          runKernels);
static cl::opt<std::string> file(cl::Positional, cl::desc("FILE.hlo"),
                                 cl::Required, cl::sub(kernels));
static cl::opt<bool> asJSON("json", cl::sub(kernels),
                            cl::desc("Print JSON, as docs/hlo.md has it"));
static cl::opt<bool> withBody("body", cl::sub(kernels),
                              cl::desc("Print the body of each, as MLIR"));
static cl::opt<std::string>
    folder("o", cl::sub(kernels), cl::value_desc("folder"),
           cl::desc("Write the body of each there, NAME.mlir"));

static Subcommand
    check("check",
          "Check what custom calls of Mosaic kernels and the kernels agree "
          "about; exit code 1 if they do not, 3 if a kernel cannot be read",
          runCheck);
static cl::opt<std::string> checkedFile(cl::Positional, cl::desc("FILE.hlo"),
                                        cl::Required, cl::sub(check));

/// The name of a kernel as one of a file.
static std::string getFileName(llvm::StringRef name) {
  std::string result = name.str();
  for (char &c : result)
    if (!llvm::isAlnum(c) && c != '-' && c != '_' && c != '.')
      c = '_';
  return result;
}

static llvm::Error writeBodies(llvm::ArrayRef<Kernel> list) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createFileError(folder, code);
  std::vector<Output> outputs;
  llvm::StringSet<> taken;
  for (const Kernel &kernel : list) {
    if (kernel.body.empty())
      continue;
    std::string name = getFileName(kernel.call->name), unique = name;
    for (unsigned i = 2; !taken.insert(unique).second; ++i)
      unique = name + "-" + llvm::utostr(i);
    llvm::SmallString<128> path((llvm::StringRef(folder)));
    llvm::sys::path::append(path, unique + ".mlir");
    outputs.push_back({path.str().str(), [&kernel](llvm::raw_ostream &os) {
                         os << kernel.body;
                         return llvm::Error::success();
                       }});
  }
  return writeOutputs(outputs);
}

static int runKernels() {
  std::optional<Dump> dump = readDump(file);
  if (!dump)
    return kExitBadInput;
  const hlo::Module &module = *dump->module;
  std::vector<Kernel> list = findKernels(module, printBytecode);
  if (!folder.empty())
    if (llvm::Error error = writeBodies(list))
      return reportError(std::move(error));
  if (asJSON)
    printKernelsJSON(module, list, llvm::outs());
  else
    printKernels(module, list, withBody, llvm::outs());
  return kExitSuccess;
}

static int runCheck() {
  std::optional<Dump> dump = readDump(checkedFile);
  if (!dump)
    return kExitBadInput;
  const hlo::Module &module = *dump->module;
  std::vector<Kernel> list = findKernels(module, printBytecode);
  bool isWrong = false, isUnknown = false;
  for (const Kernel &kernel : list)
    for (const hlo::SourceDiagnostic &problem : checkKernel(module, kernel)) {
      llvm::outs() << dump->path << ':' << problem.message() << " (%"
                   << kernel.call->name << ")\n";
      isUnknown |= problem.diagnostic.kind == DiagnosticKind::Unsupported;
      isWrong |= problem.diagnostic.kind == DiagnosticKind::Invalid;
    }
  if (!isWrong && !isUnknown)
    llvm::outs() << list.size()
                 << (list.size() == 1 ? " kernel agrees" : " kernels agree")
                 << " with the call\n";
  return isWrong ? kExitNo : isUnknown ? kExitUnknown : kExitSuccess;
}
