"""Modules of many functions `@checkN`, each of which returns how many of its comparisons fail.

Tests that run lowered code draw random functions of this kind. What they have in
common is here: the module around the functions, loops over all indices of an
array, the comparison of two arrays, and random layouts.
"""

from run_main import run_main


class Check:
    """The text of a function `@checkN`, with all that it uses, and the numbers that it takes."""

    def __init__(self, text, numbers=()):
        self.text = text
        self.numbers = numbers

    def call(self, n):
        """Operations that make `%xN`, what the function returns."""
        names = [f"%a{n}_{k}" for k in range(len(self.numbers))]
        constants = [f"{name} = arith.constant {value} : index" for name, value in zip(names, self.numbers)]
        types = ", ".join(["index"] * len(names))
        return [*constants, f"%x{n} = call @check{n}({', '.join(names)}) : ({types}) -> i64"]


def make_main(checks):
    """A function `@main` that returns the sum of what all return."""
    lines = ["%t0 = arith.constant 0 : i64"]
    for n, check in enumerate(checks):
        lines += [*check.call(n), f"%t{n + 1} = arith.addi %t{n}, %x{n} : i64"]
    lines.append(f"return %t{len(checks)} : i64")
    return "func.func @main() -> i64 {\n  " + "\n  ".join(lines) + "\n}\n"


def run_checks(make_check, count, what, per_module=20, passes_of=lambda module: ()):
    """Runs at least `count` checks `make_check(n)`, some to a module, and prints how many of `what` there were."""
    total, mismatches = 0, 0
    while total < count:
        checks = [make_check(n) for n in range(per_module)]
        text = "".join(check.text for check in checks) + make_main(checks)
        mismatches += run_main(text, *passes_of(total // per_module))
        total += len(checks)
    print(f"{total} {what}, {mismatches} mismatches")


def subscripts(rank):
    return ", ".join(f"%i{k}" for k in range(rank))


def plain_type(sizes, element):
    return f"memref<{'x'.join([*map(str, sizes), element])}>"


def nest(sizes, body):
    """Loops over all indices, %i0 to %i9, around `body`."""
    loops = [f"affine.for %i{k} = 0 to {size} {{" for k, size in enumerate(sizes)]
    return "\n  ".join([*loops, body, "}" * len(sizes)])


def sum_nest(sizes, body):
    """Such loops that make %sum, the sum of the %number of type i64 that `body` makes; they need %zero."""
    loops, closing, outer = [], ["%next = arith.addi %acc, %number : i64"], "%zero"
    for k, size in enumerate(sizes):
        is_last = k == len(sizes) - 1
        result, carried = f"%s{k}" if k else "%sum", "%acc" if is_last else f"%acc{k}"
        loops.append(f"{result} = affine.for %i{k} = 0 to {size} iter_args({carried} = {outer}) -> (i64) {{")
        closing.insert(1, f"affine.yield {'%next' if is_last else f'%s{k + 1}'} : i64 }}")
        outer = carried
    return "\n  ".join([*loops, body, *closing])


def compare(got, got_type, wanted, sizes, element, index=None):
    """Loops that make %sum, the number of elements that differ from those of a plain array."""
    index = index or subscripts(len(sizes))
    differs = "arith.cmpf une" if element[0] == "f" else "arith.cmpi ne"
    return sum_nest(
        sizes,
        f"""%got = affine.load {got}[{index}] : {got_type}
    %want = affine.load {wanted}[{index}] : {plain_type(sizes, element)}
    %differs = {differs}, %got, %want : {element}
    %number = arith.extui %differs : i1 to i64""",
    )


def random_layout(rng, rank, tile_sizes=(1, 2, 3, 4, 8), num_tiles=(0, 1, 1, 2), keys=""):
    """An attribute of tiles in a random order of dimensions, and `keys` behind the tiles."""
    order = ",".join(map(str, rng.sample(range(rank), rank)))
    tiles = [[rng.choice(tile_sizes) for _ in range(rng.randint(1, rank))] for _ in range(rng.choice(num_tiles))]
    text = "T" + "".join("(%s)" % ",".join(map(str, tile)) for tile in tiles) if tiles else ""
    return "#tessera.layout<{%s%s}>" % (order, ":" + text + keys if text + keys else "")
