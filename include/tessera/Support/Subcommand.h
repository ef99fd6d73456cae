//===- Subcommand.h - Subcommands of tools ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A subcommand is one file that defines one static Subcommand and its options:
//
//   static int run();
//   static Subcommand command("size", "Print how large a shape is", run);
//   static llvm::cl::opt<std::string> shape(llvm::cl::Positional,
//                                           llvm::cl::desc("SHAPE"),
//                                           llvm::cl::Required,
//                                           llvm::cl::sub(command));
//
// Nothing else needs to know of it but the list of files in CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_SUBCOMMAND_H
#define TESSERA_SUPPORT_SUBCOMMAND_H

#include "tessera/Support/ToolSupport.h"

#include "llvm/Support/CommandLine.h"

#include <vector>

namespace tessera {

class Subcommand : public llvm::cl::SubCommand {
public:
  /// `run` returns the exit code.
  Subcommand(llvm::StringRef name, llvm::StringRef description, int (*run)())
      : llvm::cl::SubCommand(name, description), run(run) {
    all().push_back(this);
  }

  /// Those of the program, in no particular order.
  static std::vector<Subcommand *> &all() {
    static std::vector<Subcommand *> list;
    return list;
  }

  int (*const run)();
};

/// Parses one of some names; says which there are for another.
template <typename T> class ChoiceParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    std::string names;
    for (const auto &choice : this->Values) {
      if (choice.Name == text) {
        value = choice.V.getValue();
        return false;
      }
      names += (names.empty() ? "" : " or ") + choice.Name.str();
    }
    return option.error("invalid name: expected " + names + ", found `" + text +
                        "`");
  }
};

/// An option that takes one of some names.
template <typename T>
using ChoiceOption = llvm::cl::opt<T, false, ChoiceParser<T>>;

/// The whole of a tool's main: parses the command line, runs the subcommand
/// that it names, and returns the exit code. `tool` is the program's name and
/// `overview` what --help says first.
int runTool(int argc, char **argv, llvm::StringRef tool,
            llvm::StringRef overview);

} // namespace tessera

#endif // TESSERA_SUPPORT_SUBCOMMAND_H
