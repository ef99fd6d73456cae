# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
"""The pipelines, by their names, on modules of Python."""

from tessera.ir import *
from tessera.passmanager import PassManager

SOURCE = """
func.func @f(%a: tensor<40x256xf32>)
    -> tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>> {
  %b = tessera.relayout %a : tensor<40x256xf32>
      to tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
  return %b : tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
}
"""


def run(pipeline, source=SOURCE):
    module = Module.parse(source)
    PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
    return module


def dialects(module):
    names = set()

    def add(op):
        names.add(op.name.split(".")[0])
        return WalkResult.ADVANCE

    module.operation.walk(add)
    return sorted(names - {"builtin"})


with Context(), Location.unknown():
    # CHECK-LABEL: to affine
    print("to affine")
    module = run("tessera-to-affine")
    # CHECK-NEXT: ['affine', 'func', 'memref']
    print(dialects(module))
    # CHECK: func.func @f(%[[A:.*]]: memref<40x256xf32>) -> memref<5x2x8x128xf32> {
    # CHECK: %[[B:.*]] = memref.alloc() {{.*}}: memref<5x2x8x128xf32>
    # CHECK: %[[X:.*]] = affine.load %[[A]][%[[I:.*]] * 8 + %[[K:.*]], %[[J:.*]] * 128 + %[[L:.*]]]
    # CHECK: affine.store %[[X]], %[[B]][%[[I]], %[[J]], %[[K]], %[[L]]]
    # CHECK: return %[[B]]
    print(module)

    # CHECK-LABEL: to LLVM
    print("to LLVM")
    module = run("tessera-to-llvm")
    # CHECK-NEXT: ['llvm']
    print(dialects(module))
    # CHECK: llvm.func @f(
    print(module)

    # The text of a pipeline can be had back.
    # CHECK: builtin.module(tessera-verify{{.*}})
    print(PassManager.parse("builtin.module(tessera-verify)"))
    # CHECK-NEXT: ValueError: {{.*}}'tessera-none' does not refer to a registered pass
    try:
        PassManager.parse("builtin.module(tessera-none)")
    except ValueError as error:
        print("ValueError:", str(error).replace("\n", " "))

    # What a pass refuses is an exception with what it said.
    # CHECK-NEXT: Failure while executing pass pipeline
    # CHECK-NEXT: {{.*}}unsupported {{.*}}
    try:
        run("tessera-to-affine", SOURCE.replace("T(8,128)", "T(8,128)M(16)"))
    except MLIRError as error:
        print(error.message)
        print(error.error_diagnostics[0].message)
