# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
"""What the package has, and when it is loaded."""

import importlib
import sys

import tessera

# The package alone does not load MLIR's bindings.
# CHECK: loaded: []
print("loaded:", [name for name in sys.modules if name.startswith("tessera._mlir")])

# CHECK-NEXT: of this package: True
import tessera.ir
import tessera.passmanager
import tessera.rewrite

print("of this package:", tessera.ir.Context.__module__.startswith("tessera."))

# Who meets an attribute gets its class, without importing the dialect.
# CHECK-NEXT: LayoutAttr
with tessera.ir.Context():
    layout = tessera.ir.Attribute.parse("#tessera.layout<{0}>")
    print(type(layout).__name__)

# Every module of a dialect has the dialect's operations, and a context knows it.
DIALECTS = """affine arith bufferization builtin cf complex func index linalg llvm
    math memref scf tensor tessera tessera_hlo ub vector""".split()
# CHECK-NEXT: 18 dialects
print(len(DIALECTS), "dialects")
with tessera.ir.Context() as context:
    for name in DIALECTS:
        module = importlib.import_module("tessera.dialects." + name)
        operations = [
            value for value in vars(module).values() if isinstance(value, type) and issubclass(value, tessera.ir.OpView)
        ]
        if not any(op.OPERATION_NAME.startswith(name + ".") for op in operations):
            print("no operations in", name)
        context.dialects[name]
# CHECK-NEXT: done
print("done")
