//===- tessera-c/HLO.h - Reports on HLO modules -------------------*- C -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C API of the HLO and Report libraries.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_HLO_H
#define TESSERA_C_HLO_H

#include "tessera-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TesseraReportFormat {
  TesseraReportText, ///< For people.
  TesseraReportJSON, ///< As docs/report.md has it.
  TesseraReportHTML, ///< A page that needs nothing else.
} TesseraReportFormat;

/// Where memory and bytes go in an HLO module, given as text or as one of XLA's
/// protocol buffers (docs/hlo.md#protocol-buffers). Lists for people have about
/// `rows` rows; 0 for all. Error: *invalid* or *unsupported*, with all of the
/// text's errors, a line each, as `line:column: error: message`.
TESSERA_C_EXPORT TesseraError *
tesseraHLOReport(const char *text, size_t length, TesseraReportFormat format,
                 size_t rows, TesseraTextCallback callback, void *userData);

/// Why a program ran out of memory, from the text that XLA printed then, and
/// what would make it smaller: for people, or as docs/problems.md has it. At
/// most `rows` allocations are shown to people; 0 for all. Errors: *invalid*
/// where the text says nothing of memory that ran out; *unsupported* for HTML.
TESSERA_C_EXPORT TesseraError *
tesseraOutOfMemoryExplain(const char *text, size_t length,
                          TesseraReportFormat format, size_t rows,
                          TesseraTextCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_HLO_H
