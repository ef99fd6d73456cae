# REQUIRES: numpy
# RUN: %python %s %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} functions, 0 mismatches
"""Arithmetic on tensors with layouts, executed, against numpy.

The operands of each function are constants that are relayouted, whole or a
slice of them; what the operations make is relayouted again and compared, or
added to a laid-out memref by atomic updates.
"""

import math
import os
import random
import sys

import numpy as np

root = sys.argv[1]
sys.path.append(os.path.join(root, "test", "Inputs"))
from run_checks import Check, compare, nest, random_layout, run_checks, subscripts
from test_counts import test_count, test_seed

FUNCTION = """
memref.global "private" constant @wanted{n} : memref<{shape}x{element}> = dense<{wanted}>
func.func private @check{n}({arguments}) -> i64 {{
  %zero = arith.constant 0 : i64
  %wanted = memref.get_global @wanted{n} : memref<{shape}x{element}>
  {body}
  return %sum : i64
}}
"""

OPERATIONS = {
    "i32": {
        "arith.addi": np.add,
        "arith.muli": np.multiply,
        "arith.subi": np.subtract,
        "arith.maxsi": np.maximum,
        "arith.xori": np.bitwise_xor,
    },
    "f32": {
        "arith.addf": np.add,
        "arith.mulf": np.multiply,
        "arith.subf": np.subtract,
        "arith.maximumf": np.maximum,
    },
}
COMPARISON = {"i32": "arith.cmpi slt", "f32": "arith.cmpf olt"}
ZERO = {"i32": "0 : i32", "f32": "0.0 : f32"}


def literal(values):
    """An array as MLIR writes it, floats with all their digits."""
    if values.ndim:
        return "[%s]" % ", ".join(map(literal, values))
    return "%.9e" % values if values.dtype == np.float32 else str(values)


def random_values(rng, shape, element):
    count = math.prod(shape)
    is_splat = rng.random() < 0.2
    numbers = [rng.randint(-1000, 1000) for _ in range(1 if is_splat else count)] * (count if is_splat else 1)
    values = np.array(numbers).reshape(shape)
    # Products of eighths are rounded, and none of those drawn here leaves the range.
    return values.astype(np.int32) if element == "i32" else (values / 8).astype(np.float32)


def draw_layout(rng, rank):
    return random_layout(rng, rank, keys="".join(rng.choice(("", "", key)) for key in ("L(16)", "S(1)", "PV(zero)")))


def memref_type(shape, layout):
    """The memref of a tensor with the layout."""
    space = ", #tessera.memory_space<1>" if "S(1)" in layout else ""
    return f"memref<{shape}, {layout.replace('S(1)', '').replace(':}', '}')}{space}>"


def constant(name, values, element, rng):
    """A relayouted constant; its name and type."""
    plain = f"tensor<{'x'.join(map(str, values.shape))}x{element}>"
    type_text = f"{plain[:-1]}, {draw_layout(rng, values.ndim)}>"
    lines = [
        f"%{name}c = arith.constant dense<{literal(values)}> : {plain}",
        f"%{name}m = tessera.relayout %{name}c : {plain} to {type_text}",
    ]
    return lines, f"%{name}m", type_text


def sliced(name, source, source_type, begin, sizes, to, by_value):
    """A slice of a laid-out tensor in another layout; its offsets are values of the function or known."""
    kept = source_type[source_type.index("#") : -1]
    offsets = ", ".join(f"%b{k}" if by_value else str(b) for k, b in enumerate(begin))
    ones = ", ".join("1" for _ in sizes)
    same = to[: to.index("#")] + kept + ">"
    return [
        f"%{name}s = tensor.extract_slice {source}[{offsets}] [{', '.join(map(str, sizes))}] [{ones}]"
        f" : {source_type} to {same}",
        f"%{name} = tessera.relayout %{name}s : {same} to {to}",
    ]


def operate(values, element, type_text, rng):
    """Some operations on tensors that are there; `values` has what they make, too."""
    lines = []
    for k in range(rng.randint(1, 4)):
        name, a, b = f"r{k}", rng.choice(list(values)), rng.choice(list(values))
        if rng.random() < 0.25:
            bits = type_text.replace(f"x{element}", "xi1")
            lines.append(f"%{name}c = {COMPARISON[element]}, %{a}, %{b} : {type_text}")
            lines.append(f"%{name} = arith.select %{name}c, %{b}, %{a} : {bits}, {type_text}")
            values[name] = np.where(values[a] < values[b], values[b], values[a])
        else:
            operation = rng.choice(list(OPERATIONS[element]))
            lines.append(f"%{name} = {operation} %{a}, %{b} : {type_text}")
            values[name] = OPERATIONS[element][operation](values[a], values[b])
    return lines


def count_twice(memref, target, sizes, element):
    """%counts, to which each element of %m is added twice."""
    index = subscripts(len(sizes))
    update = f"""%v = affine.load %m[{index}] : {memref}
    %u = memref.atomic_rmw add{element[0]} %v, %counts[{index}] : ({element}, {target}) -> {element}"""
    return [
        f"%none = arith.constant {ZERO[element]}",
        f"%counts = memref.alloc() : {target}",
        nest(sizes, f"affine.store %none, %counts[{index}] : {target}"),
        *[nest(sizes, update)] * 2,
    ]


def make_check(n, rng):
    rank, element = rng.randint(1, 3), rng.choice(list(OPERATIONS))
    sizes = [rng.randint(1, 20 if rank < 3 else 7) for _ in range(rank)]
    shape = "x".join(map(str, sizes)) + f"x{element}"
    type_text = f"tensor<{shape}, {draw_layout(rng, rank)}>"
    by_value = rng.random() < 0.5
    begin = [rng.randint(0, 3) for _ in sizes]
    whole = [s + b + rng.randint(0, 2) for s, b in zip(sizes, begin)]
    box = tuple(slice(b, b + s) for b, s in zip(begin, sizes))
    lines, values = [], {}
    for name in "xy":
        array = random_values(rng, whole, element)
        made, whole_array, whole_type = constant(name, array, element, rng)
        lines += made + sliced(name, whole_array, whole_type, begin, sizes, type_text, by_value)
        values[name] = array[box]
    lines += operate(values, element, type_text, rng)
    result, wanted = list(values.items())[-1]
    last = draw_layout(rng, rank)
    tensor, memref, buffer = f"tensor<{shape}, {last}>", memref_type(shape, last), "%m"
    lines += [
        f"%last = tessera.relayout %{result} : {type_text} to {tensor}",
        f"%m = bufferization.to_buffer %last read_only : {tensor} to {memref}",
    ]
    if rng.random() < 0.5:
        target = memref_type(shape, draw_layout(rng, rank).replace("S(1)", ""))
        lines += count_twice(memref, target, sizes, element)
        wanted, memref, buffer = wanted + wanted, target, "%counts"
    lines.append(compare(buffer, memref, "%wanted", sizes, element))
    text = FUNCTION.format(
        n=n,
        element=element,
        shape="x".join(map(str, sizes)),
        wanted=literal(wanted),
        arguments=", ".join(f"%b{k}: index" for k in range(rank)),
        body="\n  ".join(lines),
    )
    return Check(text, begin)


def main():
    rng = random.Random(test_seed())
    run_checks(lambda n: make_check(n, rng), test_count(400), "functions")


main()
