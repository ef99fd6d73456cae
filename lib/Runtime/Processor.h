//===- Processor.h - What the processor can do ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RUNTIME_PROCESSOR_H
#define TESSERA_LIB_RUNTIME_PROCESSOR_H

#include "Schedule.h"

#include "tessera/Conversion/TesseraToVector/RelayoutPlan.h"

namespace tessera::runtime {

/// The kernels for the widest registers of this processor that have at most
/// `vectorBytes`; 0: any.
const KernelTable &getKernels(int64_t vectorBytes);

/// What differs between processors with the same registers; asked for once, as
/// instructions that tell the processor take microseconds in virtual machines.
const ProcessorCosts &getProcessorCosts();

/// What the caches will not hold.
StreamedBytes getStreamedBytes();

} // namespace tessera::runtime

#endif // TESSERA_LIB_RUNTIME_PROCESSOR_H
