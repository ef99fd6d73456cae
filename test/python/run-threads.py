# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: programs: {{[1-9][0-9]*}}, all right
"""Programs on arrays that are large enough to be shared among threads have the same bits
with any number of these as with one."""

import os

import numpy as np
import tessera as ts

TILES = "{1,0:T(8,128)}"
PAIRS = "{1,0:T(8,128)(2,1)}"
ADD = """
%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
"""
LOOP = """
%goes (p: (s32[], f32[520,1030])) -> pred[] {
  %p = (s32[], f32[520,1030]{1,0:T(8,128)}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %n = s32[] constant(5)
  ROOT %r = pred[] compare(%i, %n), direction=LT
}
%body (p: (s32[], f32[520,1030])) -> (s32[], f32[520,1030]) {
  %p = (s32[], f32[520,1030]{1,0:T(8,128)}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[520,1030]{1,0:T(8,128)} get-tuple-element(%p), index=1
  %one = s32[] constant(1)
  %j = s32[] add(%i, %one)
  %y = f32[520,1030]{1,0:T(8,128)} multiply(%x, %x)
  ROOT %r = (s32[], f32[520,1030]{1,0:T(8,128)}) tuple(%j, %y)
}
"""
QUOTIENTS = """
func.func @main(%x: tensor<4096xi32>, %divisor: i32) -> tensor<4096xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4096 : index
  %from = bufferization.to_buffer %x : tensor<4096xi32> to memref<4096xi32>
  %to = memref.alloc() : memref<4096xi32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %e = memref.load %from[%i] : memref<4096xi32>
    %q = arith.divsi %e, %divisor : i32
    memref.store %q, %to[%i] : memref<4096xi32>
  }
  %r = bufferization.to_tensor %to restrict writable : memref<4096xi32> to tensor<4096xi32>
  return %r : tensor<4096xi32>
}
"""


def dot(left, right, result, contracted):
    """A dot whose right operand has the sum in dimension `contracted`."""
    return f"""
  %x = {left} parameter(0)
  %y = {right} parameter(1)
  ROOT %r = {result} dot(%x, %y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{contracted}}}"""


def module(body, computations=""):
    """A module whose entry has that body."""
    return f"HloModule m\n{computations}\nENTRY %main {{{body}\n}}\n"


PROGRAMS = [
    module(f"""
  %x = f32[520,1030]{TILES} parameter(0)
  %t = f32[520,1030]{TILES} tanh(%x)
  ROOT %r = f32[520,1030]{{0,1:T(8,128)}} copy(%t)"""),
    module(f"""
  %x = f32[1030,520]{TILES} parameter(0)
  %y = f32[520,1030]{TILES} parameter(1)
  %t = f32[520,1030]{TILES} transpose(%x), dimensions={{1,0}}
  %s = f32[520,1030]{TILES} subtract(%t, %y)
  %v = f32[520,1030]{TILES} reverse(%s), dimensions={{1}}
  ROOT %r = bf16[520,1030]{PAIRS} convert(%v)"""),
    module(
        f"""
  %x = f32[700,1030]{TILES} parameter(0)
  %z = f32[] constant(0)
  %rows = f32[1030]{{0:T(1024)}} reduce(%x, %z), dimensions={{0}}, to_apply=%add
  %columns = f32[700]{{0:T(1024)}} reduce(%x, %z), dimensions={{1}}, to_apply=%add
  %a = f32[700,1030]{TILES} broadcast(%rows), dimensions={{1}}
  %b = f32[700,1030]{TILES} broadcast(%columns), dimensions={{0}}
  ROOT %r = f32[700,1030]{TILES} maximum(%a, %b)""",
        ADD,
    ),
    module("""
  %x = s4[2100,1031]{1,0:T(8,128)(8,1)E(4)} parameter(0)
  ROOT %r = s4[2100,1031]{1,0:T(8,128)(8,1)E(4)} multiply(%x, %x)"""),
    module("""
  %x = s8[1300,1031]{1,0:T(8,128)(4,1)} parameter(0)
  %y = s8[1300,1031]{1,0:T(8,128)(4,1)} parameter(1)
  %p = pred[1300,1031]{1,0:T(8,128)(4,1)} compare(%x, %y), direction=LT
  ROOT %r = s8[1300,1031]{1,0:T(8,128)(4,1)} select(%p, %x, %y)"""),
    module(f"""
  %x = f32[300,1030]{TILES} parameter(0)
  %y = f32[301,1030]{TILES} parameter(1)
  %c = f32[601,1030]{TILES} concatenate(%x, %y), dimensions={{0}}
  %z = f32[] constant(7)
  ROOT %r = f32[606,1039]{TILES} pad(%c, %z), padding=2_3x4_5"""),
    module(
        f"""
  %x = f32[520,1030]{TILES} parameter(0)
  %z = s32[] constant(0)
  %t = (s32[], f32[520,1030]{TILES}) tuple(%z, %x)
  %w = (s32[], f32[520,1030]{TILES}) while(%t), condition=%goes, body=%body
  ROOT %r = f32[520,1030]{TILES} get-tuple-element(%w), index=1""",
        LOOP,
    ),
    module(dot(f"f32[333,250]{TILES}", f"f32[250,555]{TILES}", f"f32[333,555]{TILES}", 0)),
    module(dot(f"f32[2100,250]{TILES}", f"f32[250,7]{TILES}", f"f32[2100,7]{TILES}", 0)),
    module(dot(f"f32[1,2100]{TILES}", f"f32[2100,555]{TILES}", f"f32[1,555]{TILES}", 0)),
    module(dot(f"bf16[129,250]{PAIRS}", f"bf16[250,555]{PAIRS}", f"f32[129,555]{TILES}", 0)),
    module(dot(f"bf16[129,513]{PAIRS}", f"bf16[257,513]{PAIRS}", f"bf16[129,257]{PAIRS}", 1)),
]


def make_argument(rng, shape):
    """Numbers that fit the type, in as many bytes."""
    if shape.dtype.kind == "f":
        return (rng.standard_normal(shape.dimensions) * 0.5).astype(shape.dtype)
    if shape.element_type == "bf16":
        bits = rng.standard_normal(shape.dimensions).astype(np.float32).view(np.uint32) >> 16
        return bits.astype(np.uint16).view(shape.dtype)
    return rng.integers(-8, 8, shape.dimensions).astype(shape.dtype)


def main():
    rng = np.random.default_rng(0)
    wrong = 0
    for text in PROGRAMS:
        program = ts.Program(text)
        arguments = [make_argument(rng, shape) for shape in program.inputs]
        expected = program(*arguments)
        for threads in (2, 3, 7):
            found = ts.Program(text, threads=threads)(*arguments)
            if found.tobytes() != expected.tobytes():
                wrong += 1
                print(f"{threads} threads: other bits\n{text}")
    # Those of OpenMP wait for more work.
    if len(os.listdir("/proc/self/task")) < 7:
        wrong += 1
        print("nothing was shared")
    print(f"programs: {len(PROGRAMS)}, {'all right' if not wrong else f'{wrong} wrong'}")


def check_failing_loop():
    """A loop of the input that is parallel, and in which an assertion fails."""
    program = ts.Program(QUOTIENTS, threads=2)
    numbers = np.arange(4096, dtype=np.int32)
    print("quotients:", *program(numbers, np.int32(5))[4093:])
    try:
        program(numbers, np.int32(0))
        print("no error")
    except ts.InvalidError as error:
        print(error)


main()
check_failing_loop()
for threads in (-1, 0, 1025):
    try:
        ts.Program(PROGRAMS[0], threads=threads)
        print("no error")
    except ts.InvalidError as error:
        print(error)
# CHECK: quotients: 818 818 819
# CHECK: expected all assertions to hold, found {{.*}}division by zero
# CHECK: invalid threads: expected a number from 1 to 1024, found -1
# CHECK: invalid threads: expected a number of at least 1, found 0
# CHECK: invalid threads: expected a number from 1 to 1024, found 1025
