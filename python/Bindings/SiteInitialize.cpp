//===- SiteInitialize.cpp - What every context of the package knows -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's package imports this module when it is itself imported, and gives the
// function below the registry that every context is made with. It must not need
// tessera.ir, which is not there yet: hence it is a module of its own.
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Dialects.h"
#include "tessera-c/Passes.h"

#include "mlir/Bindings/Python/Nanobind.h"
// The casters of this header need the one above.
#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace nb = nanobind;

// NOLINTNEXTLINE
NB_MODULE(_site_initialize_0, m) {
  m.doc() = "Registers the dialects and passes of Tessera.";
  m.def("register_dialects", [](MlirDialectRegistry registry) {
    tesseraRegisterAllDialects(registry);
  });
  tesseraRegisterAllPasses();
  // By then tessera.ir is there.
  m.def("context_init_hook",
        [](const nb::object &) { nb::module_::import_("tessera._contexts"); });
}
