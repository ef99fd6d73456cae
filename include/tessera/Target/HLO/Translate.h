//===- Translate.h - HLO for translation tools ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TARGET_HLO_TRANSLATE_H
#define TESSERA_TARGET_HLO_TRANSLATE_H

namespace tessera {

/// Registers --import-hlo (with its option --hlo-raw) and --export-hlo.
void registerHLOTranslations();

} // namespace tessera

#endif // TESSERA_TARGET_HLO_TRANSLATE_H
