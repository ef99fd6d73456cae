# RUN: %python %s | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} results, 0 wrong
"""Opcodes that XLA's CPU backend does not run, and those of structure, against numpy.

What is computed elsewhere from random instructions (run-opcodes.py) is not here.
"""

import random

import ml_dtypes
import numpy as np
import tessera as ts

# Without layouts an array is row-major; each is tried with each of these.
LAYOUTS = ["{1,0}", "{0,1}", "{1,0:T(8,128)}", "{0,1:T(2,3)(2,1)S(1)}"]
PACKED_LAYOUTS = ["{1,0}", "{0,1:E(4)}", "{1,0:T(8,128)E(4)}", "{0,1:T(2,3)(2,1)E(4)S(1)}"]
FUNCTIONS = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
}
COMPUTATIONS = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
%double (p: SHAPE) -> SHAPE {
  %p = SHAPE parameter(0)
  ROOT %s = SHAPE add(%p, %p)
}
%same (p: SHAPE) -> SHAPE {
  ROOT %p = SHAPE parameter(0)
}
"""
# What the operand becomes. Among one participant, collectives hand it on.
STRUCTURE = {
    "opt-barrier(%x)": lambda x: x,
    "add-dependency(%x, %after)": lambda x: x,
    'domain(%x), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=0}}': lambda x: x,
    "get-tuple-element(%largest), index=0": lambda x: -np.sort(-x, axis=1),
    "get-tuple-element(%smallest), index=0": lambda x: np.sort(x, axis=1),
    "convert(%places)": lambda x: np.argsort(-x, axis=1, kind="stable"),
    "broadcast(%partition), dimensions={}": np.zeros_like,
    "broadcast(%replica), dimensions={}": np.zeros_like,
    "call(%x), to_apply=%double": lambda x: x + x,
    "conditional(%yes, %x, %x), true_computation=%double, false_computation=%same": lambda x: x + x,
    "conditional(%no, %x, %x), true_computation=%double, false_computation=%same": lambda x: x,
    "conditional(%one, %x, %x), branch_computations={%same, %double}": lambda x: x + x,
    "conditional(%nine, %x, %x), branch_computations={%same, %double}": lambda x: x + x,
    "all-gather(%x), replica_groups={{0}}, dimensions={0}": lambda x: x,
    "all-reduce(%x), replica_groups={}, to_apply=%add": lambda x: x,
    "all-reduce-start(%x), replica_groups={}, to_apply=%add": lambda x: x,
    "all-reduce-done(%r)": lambda x: x,
    "all-to-all(%x), replica_groups={{0}}, dimensions={0}": lambda x: x,
    "collective-broadcast(%x), replica_groups={{0}}": lambda x: x,
    "collective-permute(%x), source_target_pairs={{0,0}}": lambda x: x,
    "reduce-scatter(%x), replica_groups={{0}}, dimensions={0}, to_apply=%add": lambda x: x,
}
CONSTANTS = [
    "%after = token[] after-all()",
    "%yes = pred[] constant(true)",
    "%no = pred[] constant(false)",
    "%one = s32[] constant(1)",
    "%nine = s32[] constant(9)",
    "%largest = (SHAPE, INDICES) topk(%x), k=COLUMNS, largest=true",
    "%smallest = (SHAPE, INDICES) topk(%x), k=COLUMNS, largest=false",
    "%places = INDICES get-tuple-element(%largest), index=1",
    "%p = u32[] partition-id()",
    "%q = u32[] replica-id()",
    "%partition = f32[] convert(%p)",
    "%replica = f32[] convert(%q)",
    "%r = SHAPE all-reduce-start(%x), replica_groups={}, to_apply=%add",
]


def make_module(sources, shape):
    """A module whose results are `sources` of the one argument."""
    lines = [f"%x = {shape} parameter(0)", *CONSTANTS]
    lines += [f"%r{n} = {shape} {source}" for n, source in enumerate(sources)]
    names = ", ".join(f"%r{n}" for n in range(len(sources)))
    shapes = ", ".join([shape] * len(sources))
    body = "\n  ".join([*lines, f"ROOT %t = ({shapes}) tuple({names})"])
    text = f"HloModule m\n{COMPUTATIONS}\nENTRY %e (x: {shape}) -> ({shapes}) {{\n  {body}\n}}\n"
    columns = shape[shape.index(",") + 1 : shape.index("]")]
    text = text.replace("INDICES", shape.replace("f32", "s32")).replace("COLUMNS", columns)
    return text.replace("SHAPE", shape)


def check(rng, layout):
    """The results that were compared, and those that were wrong."""
    dims = [rng.randint(1, 11), rng.randint(1, 11)]
    values = [rng.choice([0, 1, -1, rng.uniform(-1, 1), rng.uniform(-9, 9)]) for _ in range(dims[0] * dims[1])]
    x = np.array(values, np.float32).reshape(dims)
    models = {f"{name}(%x)": function for name, function in FUNCTIONS.items()} | STRUCTURE
    found = ts.Program(make_module(models, f"f32[{dims[0]},{dims[1]}]{layout}"))(x)
    wrong = 0
    for (source, model), result in zip(models.items(), found, strict=True):
        with np.errstate(all="ignore"):
            expected = model(x.astype(np.float64)).astype(np.float32)
        if not np.allclose(result, expected, rtol=1e-5, atol=1e-6, equal_nan=True):
            print(f"{source} on {dims}{layout}: {result}, expected {expected}")
            wrong += 1
    return len(models), wrong


def count_bits(numbers):
    return np.bitwise_count(numbers.astype(np.uint8) & 15)


def count_leading_zeros(numbers):
    return 4 - np.ceil(np.log2((numbers.astype(np.uint8) & 15) + 1.0)).astype(np.int64)


BIT_COUNTS = {"popcnt": count_bits, "count-leading-zeros": count_leading_zeros}


def check_bit_counts(layout, element_type, dtype):
    """Of four bits, of which XLA counts eight at times; as they come, and computed."""
    x = np.arange(16).astype(np.uint8).view(np.int8).astype(dtype).reshape(2, 8)
    shape = f"{element_type}[2,8]{layout}"
    lines = [f"%x = {shape} parameter(0)", f"%not = {shape} not(%x)"]
    sources = [(opcode, operand) for opcode in BIT_COUNTS for operand in ("%x", "%not")]
    lines += [f"%r{n} = {shape} {opcode}({operand})" for n, (opcode, operand) in enumerate(sources)]
    shapes, names = ", ".join([shape] * len(sources)), ", ".join(f"%r{n}" for n in range(len(sources)))
    body = "\n  ".join([*lines, f"ROOT %t = ({shapes}) tuple({names})"])
    found = ts.Program(f"HloModule m\n\nENTRY %e (x: {shape}) -> ({shapes}) {{\n  {body}\n}}\n")(x)
    wrong = 0
    for (opcode, operand), result in zip(sources, found, strict=True):
        numbers = x.astype(np.int8)
        expected = BIT_COUNTS[opcode](numbers if operand == "%x" else ~numbers)
        if not np.array_equal(result.astype(np.int8), expected.astype(np.int8)):
            print(f"{opcode} of {operand}, {shape}: {result}, expected {expected}")
            wrong += 1
    return len(sources), wrong


def main():
    rng = random.Random(1)
    counts = [check(rng, layout) for layout in LAYOUTS]
    for element_type, dtype in (("s4", ml_dtypes.int4), ("u4", ml_dtypes.uint4)):
        counts += [check_bit_counts(layout, element_type, dtype) for layout in PACKED_LAYOUTS]
    print(f"{sum(c for c, _ in counts)} results, {sum(w for _, w in counts)} wrong")


main()
