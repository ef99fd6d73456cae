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
from run_main import run_main
from test_counts import test_count, test_seed

FUNCTION = """
memref.global "private" constant @wanted{n} : memref<{shape}xi32> = dense<{wanted}>
func.func private @check{n}({arguments}) -> i64 {{
  %zero = arith.constant 0 : i64
  %wanted = memref.get_global @wanted{n} : memref<{shape}xi32>
  {body}
  return %sum : i64
}}
"""

OPERATIONS = {
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.subi": np.subtract,
    "arith.maxsi": np.maximum,
    "arith.xori": np.bitwise_xor,
}


def random_layout(rng, rank):
    tiles = [
        [rng.choice([1, 2, 3, 4, 8]) for _ in range(rng.randint(1, rank))] for _ in range(rng.choice([0, 1, 1, 2]))
    ]
    text = "T" + "".join("(%s)" % ",".join(map(str, tile)) for tile in tiles) if tiles else ""
    keys = rng.choice(["", "", "L(16)"]) + rng.choice(["", "S(1)"]) + rng.choice(["", "PV(zero)"])
    order = ",".join(map(str, rng.sample(range(rank), rank)))
    return "#tessera.layout<{%s%s}>" % (order, ":" + text + keys if text + keys else "")


def loops(sizes, innermost, carry):
    lines, closing = [], []
    for k, size in enumerate(sizes):
        name = "%sum" if k == 0 else f"%s{k}"
        start = "%zero" if k == 0 else f"%acc{k - 1}"
        lines.append(
            f"{name} = affine.for %i{k} = 0 to {size} iter_args(%acc{k} = {start}) -> (i64) {{"
            if carry
            else f"affine.for %i{k} = 0 to {size} {{"
        )
        value = "%next" if k == len(sizes) - 1 else f"%s{k + 1}"
        closing.insert(0, f"affine.yield {value} : i64 }}" if carry else "}")
    return "\n  ".join([*lines, innermost, *closing])


def compare(memref, type_text, sizes):
    subscripts = ", ".join(f"%i{k}" for k in range(len(sizes)))
    return loops(
        sizes,
        f"""%got = affine.load {memref}[{subscripts}] : {type_text}
    %want = affine.load %wanted[{subscripts}] : memref<{"x".join(map(str, sizes))}xi32>
    %differs = arith.cmpi ne, %got, %want : i32
    %number = arith.extui %differs : i1 to i64
    %next = arith.addi %acc{len(sizes) - 1}, %number : i64""",
        carry=True,
    )


def constant(name, values, rng):
    """A relayouted constant; its name and type."""
    shape = "x".join(map(str, values.shape))
    type_text = f"tensor<{shape}xi32, {random_layout(rng, values.ndim)}>"
    lines = [
        f"%{name}c = arith.constant dense<{values.tolist()}> : tensor<{shape}xi32>",
        f"%{name}m = tessera.relayout %{name}c : tensor<{shape}xi32> to {type_text}",
    ]
    return lines, f"%{name}m", type_text


def sliced(name, source, source_type, begin, sizes, layout, by_value):
    """A slice of a laid-out tensor in another layout; its offsets are values of the function or known."""
    shape = "x".join(map(str, sizes))
    kept = source_type[source_type.index("#") : -1]
    offsets = ", ".join(f"%b{k}" if by_value else str(b) for k, b in enumerate(begin))
    ones = ", ".join("1" for _ in sizes)
    same, to = f"tensor<{shape}xi32, {kept}>", f"tensor<{shape}xi32, {layout}>"
    return [
        f"%{name}s = tensor.extract_slice {source}[{offsets}] [{', '.join(map(str, sizes))}] [{ones}]"
        f" : {source_type} to {same}",
        f"%{name} = tessera.relayout %{name}s : {same} to {to}",
    ]


def function_of(n, rng):
    rank = rng.randint(1, 3)
    sizes = [rng.randint(1, 20 if rank < 3 else 7) for _ in range(rank)]
    layout, last = random_layout(rng, rank), random_layout(rng, rank)
    by_value = rng.random() < 0.5
    begin = [rng.randint(0, 3) for _ in sizes]
    whole = [s + b + rng.randint(0, 2) for s, b in zip(sizes, begin)]
    box = tuple(slice(b, b + s) for b, s in zip(begin, sizes))
    lines, values = [], {}
    for name in "xy":
        is_splat = rng.random() < 0.2
        number = lambda: rng.randint(-1000, 1000)
        array = np.full(whole, number()) if is_splat else np.array([number() for _ in range(math.prod(whole))])
        array = array.reshape(whole).astype(np.int32)
        made, whole_array, whole_type = constant(name, array, rng)
        lines += made + sliced(name, whole_array, whole_type, begin, sizes, layout, by_value)
        values[name] = array[box]
    type_text = f"tensor<{'x'.join(map(str, sizes))}xi32, {layout}>"
    bits = type_text.replace("xi32", "xi1")
    names = ["x", "y"]
    for k in range(rng.randint(1, 4)):
        name, (a, b) = f"r{k}", (rng.choice(names), rng.choice(names))
        if rng.random() < 0.25:
            lines.append(f"%{name}c = arith.cmpi slt, %{a}, %{b} : {type_text}")
            lines.append(f"%{name} = arith.select %{name}c, %{b}, %{a} : {bits}, {type_text}")
            values[name] = np.where(values[a] < values[b], values[b], values[a])
        else:
            operation = rng.choice(list(OPERATIONS))
            lines.append(f"%{name} = {operation} %{a}, %{b} : {type_text}")
            values[name] = OPERATIONS[operation](values[a], values[b])
        names.append(name)
    result, shape = names[-1], "x".join(map(str, sizes))
    wanted = values[result]
    tensor, space = f"tensor<{shape}xi32, {last}>", ", #tessera.memory_space<1>" if "S(1)" in last else ""
    memref_layout = last.replace("S(1)", "").replace(":}", "}")
    memref = f"memref<{shape}xi32, {memref_layout}{space}>"
    lines += [
        f"%last = tessera.relayout %{result} : {type_text} to {tensor}",
        f"%m = bufferization.to_buffer %last read_only : {tensor} to {memref}",
    ]
    if rng.random() < 0.5:
        subscripts = ", ".join(f"%i{k}" for k in range(rank))
        target = f"memref<{shape}xi32, {random_layout(rng, rank).replace('S(1)', '').replace(':}', '}')}>"
        lines += [
            "%none = arith.constant 0 : i32",
            f"%counts = memref.alloc() : {target}",
            loops(sizes, f"affine.store %none, %counts[{subscripts}] : {target}", False),
        ]
        update = f"""%v = affine.load %m[{subscripts}] : {memref}
    %u = memref.atomic_rmw addi %v, %counts[{subscripts}] : (i32, {target}) -> i32"""
        lines += [loops(sizes, update, False)] * 2
        wanted = wanted + wanted
        memref, buffer = target, "%counts"
    else:
        buffer = "%m"
    lines.append(compare(buffer, memref, sizes))
    arguments = ", ".join(f"%b{k}: index" for k in range(rank))
    text = FUNCTION.format(n=n, shape=shape, wanted=wanted.tolist(), arguments=arguments, body="\n  ".join(lines))
    constants = [f"%a{n}_{k} = arith.constant {b} : index" for k, b in enumerate(begin)]
    operands = ", ".join(f"%a{n}_{k}" for k in range(rank))
    call = f"%x{n} = call @check{n}({operands}) : ({', '.join(['index'] * rank)}) -> i64"
    return text, [*constants, call, f"%t{n + 1} = arith.addi %t{n}, %x{n} : i64"]


def main():
    rng = random.Random(test_seed())
    total, mismatches = 0, 0
    while total < test_count(400):
        functions, body = [], ["%t0 = arith.constant 0 : i64"]
        while len(functions) < 20:
            text, lines = function_of(len(functions), rng)
            functions.append(text)
            body += lines
        body.append(f"return %t{len(functions)} : i64")
        entry = "func.func @main() -> i64 {\n  " + "\n  ".join(body) + "\n}\n"
        mismatches += run_main("".join(functions) + entry)
        total += len(functions)
    print(f"{total} functions, {mismatches} mismatches")


main()
