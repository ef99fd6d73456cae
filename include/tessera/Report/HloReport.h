//===- HloReport.h - The report over HLO modules ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_HLOREPORT_H
#define TESSERA_REPORT_HLOREPORT_H

#include "tessera/HLO/Module.h"
#include "tessera/Report/Report.h"

namespace tessera {

class BufferAssignment;

/// The values of a verified module: those of the entry and of the computations
/// that it runs (bodies of loops, branches, calls). What is inside fusions and
/// reducers never is in memory, and left out. docs/report.md says which
/// instructions share the memory of their operands. `assignment`, if there is
/// one, is what the compiler dumped for this module: it has the places of
/// temporaries, and says what isn't written in place.
ReportInput makeReportInput(const hlo::Module &module,
                            const BufferAssignment *assignment = nullptr);

} // namespace tessera

#endif // TESSERA_REPORT_HLOREPORT_H
