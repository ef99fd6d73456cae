//===- TargetArgument.h - Targets on command lines --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_TARGETARGUMENT_H
#define TESSERA_SUPPORT_TARGETARGUMENT_H

#include "tessera/Layout/Target.h"

#include <string>

namespace tessera {

/// What --target takes, for --help.
std::string getTargetArgumentHelp();

/// A target given on the command line: the name of a preset, or a file.
class TargetArgument {
public:
  /// Errors: of `getTarget`, and of the file.
  static llvm::Expected<TargetArgument> read(llvm::StringRef text);

  /// Valid as long as this object is.
  Target get() const { return own ? own->get() : *preset; }

private:
  const Target *preset = nullptr;
  std::optional<OwnTarget> own;
};

} // namespace tessera

#endif // TESSERA_SUPPORT_TARGETARGUMENT_H
