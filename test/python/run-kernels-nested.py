# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: 8 kernels, 0 wrong
"""Kernels whose bytecode nests deeply, or has few parts that stand in many places, are
refused before anything recurses over them.
"""

import io
import os
import sys
import threading

from tessera import ir

sys.path.append(os.path.join(os.path.dirname(__file__), "Inputs"))
from kernel_text import get_error, make_module  # noqa: E402

# What a kernel of these arguments says that it lacks, once it is read.
READ, REFUSED = "kernel_c1", "at most 512 levels of regions and attributes"
KERNEL = """
"stable_mosaic.func.func"() ({
  "stable_mosaic.func.return"() : () -> ()
}) {sym_name = "main", function_type = () -> ()} : () -> ()
"""


def add_regions(function, depth):
    for _ in range(depth):
        block = function.regions[0].blocks[0]
        function = ir.Operation.create(
            "stable_mosaic.tpu.region", regions=1, ip=ir.InsertionPoint.at_block_begin(block)
        )
        function.regions[0].blocks.append()


def add_attributes(function, depth):
    attribute = ir.ArrayAttr.get([])
    for _ in range(depth):
        attribute = ir.ArrayAttr.get([attribute])
    function.attributes["nested"] = attribute


def add_types(function, depth):
    type = ir.IntegerType.get_signless(32)
    for _ in range(depth):
        type = ir.TupleType.get_tuple([type])
    function.attributes["nested"] = ir.TypeAttr.get(type)


def add_halves(function, depth):
    """2^depth parts."""
    attribute = ir.ArrayAttr.get([])
    for _ in range(depth):
        attribute = ir.ArrayAttr.get([attribute, attribute])
    function.attributes["halves"] = attribute


CASES = [
    *(
        (add, depth, expected)
        for add in (add_regions, add_attributes, add_types)
        for depth, expected in ((200, READ), (4000, REFUSED))
    ),
    (add_halves, 10, READ),
    (add_halves, 60, REFUSED),
]


def make_bytecode(add, depth):
    module = ir.Module.parse(f"module {{ {KERNEL} }}")
    add(module.body.operations[0], depth)
    body = io.BytesIO()
    module.operation.write_bytecode(body)
    return body.getvalue()


def make_texts(texts):
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        texts += [make_module(["f32[8]"], "f32[8]", make_bytecode(add, depth)) for add, depth, _ in CASES]


def main():
    # MLIR writes it level by level, and takes it apart so.
    texts, wrong = [], 0
    threading.stack_size(1 << 29)
    writer = threading.Thread(target=make_texts, args=(texts,))
    writer.start()
    writer.join()
    for (add, depth, expected), text in zip(CASES, texts):
        error = get_error(text)
        if expected not in error:
            wrong += 1
            print(f"{add.__name__}, {depth}: expected {expected!r}, found {error[:300]}")
    print(f"{len(texts)} kernels, {wrong} wrong", flush=True)
    os._exit(0)


main()
