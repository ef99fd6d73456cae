//===- PlotHTML.h - The plots of the page ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_PLOTHTML_H
#define TESSERA_LIB_REPORT_PLOTHTML_H

#include "tessera/Report/Report.h"

namespace tessera {

/// Live bytes of each space over the schedule, and over time where the compiler
/// expects cycles.
void printLivePlots(const Report &report,
                    llvm::ArrayRef<ReportCapacity> capacities,
                    llvm::raw_ostream &os);

/// Temporaries of main memory at their places, step by step, to be zoomed.
void printPlaces(const Report &report, llvm::raw_ostream &os);

/// Bytes that each step reads and writes against the cycles that it takes.
void printCyclesPlot(const Report &report, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_LIB_REPORT_PLOTHTML_H
