# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
"""Operations: built by their classes, read back, printed and parsed."""

from tessera.dialects import func, tessera, tessera_hlo
from tessera.ir import *


def build():
    f32 = F32Type.get()
    plain = RankedTensorType.get([40, 256], f32)
    tiled = RankedTensorType.get([40, 256], f32, encoding=tessera.LayoutAttr.get("{1,0:T(8,128)}"))
    module = Module.create()
    module.operation.attributes["tessera.target"] = tessera.TargetAttr.get("tpu_v5e")
    with InsertionPoint(module.body):

        @func.FuncOp.from_py_func(plain)
        def tile(a):
            pinned = tessera.AssumeLayoutOp(tiled, a)
            return tessera.RelayoutOp(tiled, pinned).result

        source = MemRefType.get([8], f32)
        destination = MemRefType.get([8], f32, memory_space=tessera.MemorySpaceAttr.get(1))

        @func.FuncOp.from_py_func(source, destination)
        def move(a, b):
            tessera.relayout(None, a, destination=b)

        @func.FuncOp.from_py_func(plain)
        def keep(a):
            return tessera_hlo.instruction(plain, "negate", [a])

    return module


with Context(), Location.unknown():
    module = build()
    # CHECK: #layout = #tessera.layout<{1,0:T(8,128)}>
    # CHECK: module attributes {tessera.target = #tessera.target<"tpu_v5e">} {
    # CHECK: func.func @tile(%[[A:.*]]: tensor<40x256xf32>) -> tensor<40x256xf32, #layout> {
    # CHECK: %[[P:.*]] = tessera.assume_layout %[[A]] : tensor<40x256xf32> to tensor<40x256xf32, #layout>
    # CHECK: %[[T:.*]] = tessera.relayout %[[P]] : tensor<40x256xf32, #layout> to tensor<40x256xf32, #layout>
    # CHECK: return %[[T]] : tensor<40x256xf32, #layout>
    # CHECK: func.func @move(%[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<8xf32, #tessera.memory_space<1>>) {
    # CHECK: tessera.relayout %[[A]] into %[[B]] : memref<8xf32>, memref<8xf32, #tessera.memory_space<1>>
    # CHECK: func.func @keep(
    # CHECK: tessera_hlo.instruction "negate"(%{{.*}}) : (tensor<40x256xf32>) -> tensor<40x256xf32>
    print(module)
    # CHECK: valid: True
    print("valid:", module.operation.verify())
    # CHECK-NEXT: round trip: True
    print("round trip:", str(Module.parse(str(module))) == str(module))

    # What was parsed has the classes of the operations.
    again = Module.parse(str(module))
    body = again.body.operations[0].regions[0].blocks[0].operations
    # CHECK-NEXT: AssumeLayoutOp RelayoutOp
    print(type(body[0]).__name__, type(body[1]).__name__)
    # CHECK-NEXT: True True True
    relayout = body[1]
    print(
        relayout.source == body[0].result,
        relayout.destination is None,
        relayout.result.type.encoding == tessera.LayoutAttr.get("{1,0:T(8,128)}"),
    )

    # A rule that the built operation breaks is told with the operation.
    f32 = F32Type.get()
    module = Module.create()
    with InsertionPoint(module.body):

        @func.FuncOp.from_py_func(RankedTensorType.get([4], f32))
        def wrong(a):
            return tessera.relayout(RankedTensorType.get([5], f32), a)

    try:
        print(module.operation.verify())
    except MLIRError as error:
        # CHECK-NEXT: Verification failed:
        # CHECK-NEXT: 'tessera.relayout' op {{.*}} [relayout_c2]
        print(error.message + ":")
        print(error.error_diagnostics[0].message)
