# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of arrays in memory, in XLA's notation.

    import numpy as np
    import tessera as ts

    shape = ts.Shape("f32[3,5]{1,0:T(2,2)}")
    shape.linear_index((2, 3))    # 17
    buffer = ts.pack(np.arange(15, dtype=np.float32).reshape(3, 5), shape)
    ts.unpack(buffer, shape)      # the array again

MLIR's own bindings, with the dialect, are tessera.ir, tessera.passmanager and
tessera.dialects.
"""

from tessera._arrays import pack, relayout, unpack
from tessera._errors import InvalidError, TesseraError, UnsupportedError
from tessera._explain import explain
from tessera._program import Program
from tessera._tessera import BitcastAnswer, Relayout, RuntimeRelayout, Shape, report

__all__ = [
    "BitcastAnswer",
    "InvalidError",
    "Program",
    "Relayout",
    "RuntimeRelayout",
    "Shape",
    "TesseraError",
    "UnsupportedError",
    "explain",
    "pack",
    "relayout",
    "report",
    "unpack",
]
