# RUN: %python %s tessera-opt %tessera_src_root/test | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} operations, 0 failures
"""Every operation that layouts pass through, before and after propagation.

Each case brings its operands from row-major order into other layouts, applies an
operation to them, and brings the result back. None of that has to move a byte:
--tessera-propagate-layouts must find so, for operands of three layouts, and the
program must compute the same values in front of it, behind it, and behind
--tessera-fold-relayouts.
"""

import importlib
import os
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
programs = importlib.import_module("assign-layouts")

REMARK = re.compile(r"remark: (\d+) bytes moved for layouts, (\d+) before; .* moves less than (\d+)")

# Operands' shapes, functions that the operation needs, and the operation: %a and
# %b are its operands, of types {a} and {b}, and %r is its result, of type {r}.
# A letter like {a:8x?} is a type of that shape in the layout of its rank.
CASES = {
    "elementwise": (["6x8", "6x8"], "6x8", "", "%r = arith.muli %a, %b : {r}"),
    "select": (["6x8", "6x8"], "6x8", "", """%p = arith.cmpi slt, %a, %b : {a}
    %q = arith.extui %p : {i1} to {a}
    %r = arith.select %p, %a, %q : {i1}, {a}""".replace("{i1}", "{a:6x8xi1}")),
    "constant": (["6x8"], "6x8", "", """%k = arith.constant dense<3> : {a}
    %r = arith.addi %a, %k : {a}"""),
    "call": (["6x8"], "6x8", """func.func private @twice(%x: {a}) -> {r} {{
  %y = arith.addi %x, %x : {a}
  return %y : {a}
}}""", """%s = func.call @twice(%a) : ({a}) -> {r}
    %r = func.call @twice(%s) : ({a}) -> {r}"""),
    "recursion": (["6x8"], "6x8", """func.func private @down(%x: {a}, %n: index) -> {r} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stop = arith.cmpi eq, %n, %zero : index
  %y = scf.if %stop -> {r} {{
    scf.yield %x : {r}
  }} else {{
    %d = arith.addi %x, %x : {a}
    %m = arith.subi %n, %one : index
    %z = func.call @down(%d, %m) : ({a}, index) -> {r}
    scf.yield %z : {r}
  }}
  return %y : {r}
}}""", "%r = func.call @down(%a, %c3) : ({a}, index) -> {r}"),
    "cf.cond_br": (["6x8", "6x8"], "6x8", """func.func private @pick(%x: {a}, %y: {b}, %p: i1) -> {r} {{
  cf.cond_br %p, ^end(%x : {a}), ^other(%y : {b})
^other(%z: {b}):
  %d = arith.addi %z, %z : {b}
  cf.br ^end(%d : {a})
^end(%e: {a}):
  return %e : {a}
}}""", """%s = func.call @pick(%a, %b, %yes) : ({a}, {b}, i1) -> {r}
    %t = func.call @pick(%a, %b, %no) : ({a}, {b}, i1) -> {r}
    %r = arith.muli %s, %t : {r}"""),
    "cf loop": (["6x8"], "6x8", """func.func private @loop(%x: {a}, %n: index) -> {r} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  cf.br ^head(%x, %zero : {a}, index)
^head(%s: {a}, %i: index):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  %t = arith.addi %s, %x : {a}
  %j = arith.addi %i, %one : index
  cf.br ^head(%t, %j : {a}, index)
^end:
  return %s : {a}
}}""", "%r = func.call @loop(%a, %c3) : ({a}, index) -> {r}"),
    "cf.switch": (["6x8", "6x8"], "6x8", """func.func private @switch(%x: {a}, %y: {b}, %i: i32) -> {r} {{
  cf.switch %i : i32, [default: ^end(%x : {a}), 1: ^end(%y : {b})]
^end(%e: {a}):
  return %e : {a}
}}""", """%i = arith.constant 1 : i32
    %r = func.call @switch(%a, %b, %i) : ({a}, {b}, i32) -> {r}"""),
    "scf.for": (["6x8"], "6x8", "", """%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %a) -> {r} {{
      %t = arith.addi %s, %a : {a}
      scf.yield %t : {a}
    }}"""),
    "scf.while": (["6x8"], "6x8", "", """%w:2 = scf.while (%s = %a, %i = %c0) : ({a}, index) -> ({a}, index) {{
      %more = arith.cmpi slt, %i, %c3 : index
      scf.condition(%more) %s, %i : {a}, index
    }} do {{
    ^bb0(%s: {a}, %i: index):
      %t = arith.addi %s, %s : {a}
      %j = arith.addi %i, %c1 : index
      scf.yield %t, %j : {a}, index
    }}
    %r = arith.addi %w#0, %a : {a}"""),
    "scf.if": (["6x8", "6x8"], "6x8", "", """%r = scf.if %no -> {r} {{
      scf.yield %a : {a}
    }} else {{
      %t = arith.addi %a, %b : {a}
      scf.yield %t : {a}
    }}"""),
    "scf.index_switch": (["6x8", "6x8"], "6x8", "", """%r = scf.index_switch %c3 -> {r}
    case 3 {{
      scf.yield %b : {a}
    }}
    default {{
      scf.yield %a : {a}
    }}"""),
    "scf.execute_region": (["6x8"], "6x8", "", """%r = scf.execute_region -> {r} {{
      %t = arith.addi %a, %a : {a}
      scf.yield %t : {a}
    }}"""),
    "tensor.expand_shape": (["12x8"], "3x4x8", "",
        "%r = tensor.expand_shape %a [[0, 1], [2]] output_shape [3, 4, 8] : {a} into {r}"),
    "tensor.collapse_shape": (["3x4x8"], "12x8", "",
        "%r = tensor.collapse_shape %a [[0, 1], [2]] : {a} into {r}"),
    "tessera.reshape": (["6x8"], "4x12", "", "%r = tessera.reshape %a : {a} to {r}"),
    "tensor.cast": (["6x8"], "6x8", "", """%d = tensor.cast %a : {a} to {a:?x8}
    %e = arith.addi %d, %d : {a:?x8}
    %r = tensor.cast %e : {a:?x8} to {r}"""),
    "dynamic sizes": (["6x8"], "6x8", """func.func private @dynamic(%x: {a:?x?}) -> {a:?x?} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : {a:?x?}
  %n = tensor.dim %x, %c1 : {a:?x?}
  %e = tensor.empty(%m, %n) : {a:?x?}
  %y = linalg.add ins(%x, %x : {a:?x?}, {a:?x?}) outs(%e : {a:?x?}) -> {a:?x?}
  return %y : {a:?x?}
}}""", """%d = tensor.cast %a : {a} to {a:?x?}
    %y = func.call @dynamic(%d) : ({a:?x?}) -> {a:?x?}
    %r = tensor.cast %y : {a:?x?} to {r}"""),
    "dynamic reshape": (["6x8"], "3x16", "", """%d = tensor.cast %a : {a} to {a:?x8}
    %s = tessera.reshape %d : {a:?x8} to {r:?x16}
    %r = tensor.cast %s : {r:?x16} to {r}"""),
    "tensor.insert": (["6x8"], "6x8", "", """%one = tensor.extract %a[%c1, %c3] : {a}
    %r = tensor.insert %one into %a[%c0, %c1] : {r}"""),
    "tensor.extract_slice": (["6x8"], "3x4", "",
        "%r = tensor.extract_slice %a[1, 2] [3, 4] [2, 1] : {a} to {r}"),
    "a row": (["6x8"], "8", "", "%r = tensor.extract_slice %a[%c3, 0] [1, 8] [1, 1] : {a} to {r}"),
    "tensor.insert_slice": (["3x4", "6x8"], "6x8", "",
        "%r = tensor.insert_slice %a into %b[%c1, 2] [3, 4] [1, 1] : {a} into {r}"),
    "a column": (["6", "6x8"], "6x8", "",
        "%r = tensor.insert_slice %a into %b[0, %c3] [6, 1] [1, 1] : {a} into {r}"),
    "tensor.pad": (["6x8"], "9x12", "", """%zero = arith.constant 7 : i32
    %r = tensor.pad %a low[1, 0] high[2, 4] {{
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : i32
    }} : {a} to {r}"""),
    "tensor.concat": (["6x8", "6x3"], "6x11", "",
        "%r = tensor.concat dim(1) %a, %b : ({a}, {b}) -> {r}"),
    "tensor.generate": (["6x8"], "6x8", "", """%g = tensor.generate {{
    ^bb0(%i: index, %j: index):
      %x = tensor.extract %a[%i, %j] : {a}
      tensor.yield %x : i32
    }} : {r}
    %r = arith.addi %g, %a : {r}"""),
    "tensor.splat": (["6x8"], "6x8", "", """%one = tensor.extract %a[%c1, %c3] : {a}
    %s = tensor.splat %one : {r}
    %r = arith.addi %s, %a : {r}"""),
    "gather by generic": (["6x8", "3"], "3x8", "", """%e = tensor.empty() : {r}
    %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}} ins(%b : {b}) outs(%e : {r}) {{
    ^bb0(%row: i32, %out: i32):
      %five = arith.constant 5 : i32
      %small = arith.remui %row, %five : i32
      %i = arith.index_cast %small : i32 to index
      %j = linalg.index 1 : index
      %x = tensor.extract %a[%i, %j] : {a}
      linalg.yield %x : i32
    }} -> {r}"""),
    "linalg.transpose": (["6x8"], "8x6", "", """%e = tensor.empty() : {r}
    %r = linalg.transpose ins(%a : {a}) outs(%e : {r}) permutation = [1, 0]"""),
    "two transpositions": (["6x8"], "6x8", "", """%e = tensor.empty() : {r:8x6}
    %t = linalg.transpose ins(%a : {a}) outs(%e : {r:8x6}) permutation = [1, 0]
    %f = tensor.empty() : {r}
    %r = linalg.transpose ins(%t : {r:8x6}) outs(%f : {r}) permutation = [1, 0]"""),
    "linalg.broadcast": (["8"], "6x8", "", """%e = tensor.empty() : {r}
    %r = linalg.broadcast ins(%a : {a}) outs(%e : {r}) dimensions = [0]"""),
    "linalg.reduce": (["6x8"], "8", "", """%z = arith.constant dense<0> : {r}
    %r = linalg.reduce {{ arith.addi }} ins(%a : {a}) outs(%z : {r}) dimensions = [0]"""),
    "linalg.map": (["6x8"], "6x8", "", """%e = tensor.empty() : {r}
    %r = linalg.map {{ arith.muli }} ins(%a, %a : {a}, {a}) outs(%e : {r})"""),
    "linalg.matmul": (["6x8", "8x5"], "6x5", "", """%z = arith.constant dense<1> : {r}
    %r = linalg.matmul ins(%a, %b : {a}, {b}) outs(%z : {r}) -> {r}"""),
    "linalg.batch_matmul": (["2x6x8", "2x8x5"], "2x6x5", "", """%z = arith.constant dense<1> : {r}
    %r = linalg.batch_matmul ins(%a, %b : {a}, {b}) outs(%z : {r}) -> {r}"""),
    "linalg.contract": (["6x8", "8x5"], "6x5", "", """%z = arith.constant dense<1> : {r}
    %r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : {a}, {b}) outs(%z : {r}) -> {r}"""),
    "linalg.conv_2d_nhwc_hwcf": (["1x5x6x3", "2x2x3x4"], "1x4x5x4", "", """%z = arith.constant dense<0> : {r}
    %r = linalg.conv_2d_nhwc_hwcf ins(%a, %b : {a}, {b}) outs(%z : {r}) -> {r}"""),
    "linalg.pooling": (["1x5x6x3"], "1x4x5x3", "", """%w = tensor.empty() : tensor<2x2xi32>
    %z = arith.constant dense<0> : {r}
    %r = linalg.pooling_nhwc_max ins(%a, %w : {a}, tensor<2x2xi32>) outs(%z : {r}) -> {r}"""),
}

# What has no buffers of tensors yet is propagated only.
NOT_LOWERED = {"cf.switch", "scf.execute_region"}

PLACEHOLDER = re.compile(r"\{([abr]):([0-9x?]+)(xi1)?\}")


def type_of(shape, layout, element="i32"):
    """The type of a shape in one of three layouts, or without one (None)."""
    rank = shape.count("x") + 1
    up, down = range(rank), range(rank - 1, -1, -1)
    orders = {"columns": up, "tiles": down, "column tiles": up}
    if layout is None:
        return f"tensor<{shape}x{element}>"
    order = ",".join(map(str, orders[layout]))
    tiles = ":T(2,4)" if "tiles" in layout and rank > 1 else ":T(4)" if "tiles" in layout else ""
    return f"tensor<{shape}x{element}, #tessera.layout<{{{order}{tiles}}}>>"


def program(case, layout):
    shapes, result, functions, body = CASES[case]
    types = {name: type_of(shape, layout) for name, shape in zip("ab", shapes)}
    types["r"] = type_of(result, layout)

    def fill(text):
        def expand(found):
            text = type_of(found[2], layout, "i1" if found[3] else "i32")
            return text.replace("{", "{{").replace("}", "}}")
        return PLACEHOLDER.sub(expand, text).format(**types)

    globals_, loads = [], []
    for name, shape in zip("ab", shapes):
        sizes = [int(size) for size in shape.split("x")]
        numbers = iter(range(1, 10**6))

        def nest(sizes, numbers=numbers):
            return next(numbers) % 11 if not sizes else [nest(sizes[1:]) for _ in range(sizes[0])]
        globals_.append(f'memref.global "private" constant @{name} : memref<{shape}xi32> = dense<{nest(sizes)}>')
        loads.append(f"""%g{name} = memref.get_global @{name} : memref<{shape}xi32>
    %p{name} = bufferization.to_tensor %g{name} restrict : memref<{shape}xi32> to tensor<{shape}xi32>
    %{name} = tessera.relayout %p{name} : tensor<{shape}xi32> to {types[name]}""")
    rank = result.count("x") + 1
    dims = ", ".join(f"d{i}" for i in range(rank))
    weights = "\n      ".join(
        f"%i{i} = linalg.index {i} : index\n      %f{i} = arith.constant {7 * i + 3} : index\n"
        f"      %m{i} = arith.muli %i{i}, %f{i} : index\n      %s{i + 1} = arith.addi %s{i}, %m{i} : index"
        for i in range(rank))
    newline = "\n"
    return f"""{newline.join(globals_)}
{fill(functions)}
func.func @main() -> i32 {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %yes = arith.constant true
    %no = arith.constant false
    {(newline + "    ").join(loads)}
    {fill(body)}
    %plain = tessera.relayout %r : {types["r"]} to tensor<{result}xi32>
    %start = arith.constant dense<0> : tensor<i32>
    %sum = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ()>],
        iterator_types = [{", ".join(['"reduction"'] * rank)}]}}
        ins(%plain : tensor<{result}xi32>) outs(%start : tensor<i32>) {{
    ^bb0(%x: i32, %acc: i32):
      %s0 = arith.constant 1 : index
      {weights}
      %weight = arith.index_cast %s{rank} : index to i32
      %part = arith.muli %x, %weight : i32
      %next = arith.addi %acc, %part : i32
      linalg.yield %next : i32
    }} -> tensor<i32>
    %value = tensor.extract %sum[] : tensor<i32>
    return %value : i32
}}
"""


def is_full():
    return programs.test_count(10) == 10


def check(case, layout):
    """What is wrong, or None."""
    text = program(case, layout)
    code, output, message = programs.opt(text, "--tessera-propagate-layouts=remarks")
    found = REMARK.search(message)
    if code or not found:
        return f"exit code {code}: {message[-1500:]}\n{text}"
    after, before, bound = (int(number) for number in found.groups())
    if before <= 0 or (after, bound) != (0, 0):
        return f"{before} bytes before, {after} after, at least {bound}\n{text}\n{output}"
    if case in NOT_LOWERED:
        return None
    folded = programs.opt(output, "--tessera-fold-relayouts")[1]
    values = [programs.execute(module) for module in (text, output, folded)]
    if len(set(values)) > 1 or "does not" in values[0]:
        return f"values {values}\n{text}\n{output}"
    return None


def main():
    rng = random.Random(programs.test_seed())
    print(f"TESSERA_SEED={os.environ['TESSERA_SEED']}", file=sys.stderr)
    layouts = ["columns", "tiles", "column tiles"]
    wrong = []
    for case in CASES:
        for layout in layouts if is_full() else [rng.choice(layouts)]:
            message = check(case, layout)
            if message:
                wrong.append(f"{case}, {layout}: {message}")
    programs.report(wrong, len(CASES), "operations")


if __name__ == "__main__":
    main()
