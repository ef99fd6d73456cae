"""Makes a module with many relayouts, many accesses, or both.

  many_operations.py relayouts|accesses|mixed|tensors COUNT [--functions=N]

The operations stand in N functions (1000 by default; 1 for one long function),
with a handful of layouts; `tensors` are relayouts and additions of tensors.
docs/performance-results.md has what lowering them takes.
"""

import argparse

TYPES = [
    ("memref<40x250xf32>", "memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>"),
    (
        "memref<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>",
        "memref<40x250xf32, #tessera.layout<{0,1:T(8,128)}>>",
    ),
    ("memref<40x250xf32>", "memref<40x250xf32, #tessera.layout<{1,0:T(16,128)(2,1)PV(zero)}>>"),
    (
        "memref<40x250xf32, #tessera.layout<{0,1}>>",
        "memref<40x250xf32, #tessera.layout<{1,0:T(4,128)L(1024)}>>",
    ),
]


def relayout(n):
    source, target = TYPES[n % len(TYPES)]
    pair = n % len(TYPES)
    return f"  tessera.relayout %a{pair} into %b{pair} : {source}, {target}\n"


def access(n):
    """A loop nest of one load and one store."""
    pair = n % len(TYPES)
    source, target = TYPES[pair]
    return (
        "  affine.for %i = 0 to 40 {\n    affine.for %j = 0 to 250 {\n"
        f"      %v = affine.load %a{pair}[%i, %j] : {source}\n"
        f"      affine.store %v, %b{pair}[%i, 249 - %j] : {target}\n"
        "    }\n  }\n"
    )


ROWS = "tensor<40x250xf32>"
TILED = "tensor<40x250xf32, #tessera.layout<{1,0:T(8,128)}>>"


def tensor_step(n):
    """A relayout, an addition in the new layout, and a relayout back."""
    return (
        f"  %t{n} = tessera.relayout %r{n} : {ROWS} to {TILED}\n"
        f"  %e{n} = tessera.empty() : {TILED}\n"
        f"  %s{n} = linalg.add ins(%t{n}, %t{n} : {TILED}, {TILED}) "
        f"outs(%e{n} : {TILED}) -> {TILED}\n"
        f"  %r{n + 1} = tessera.relayout %s{n} : {TILED} to {ROWS}\n"
    )


def print_tensors(count, functions):
    for f in range(functions):
        print(f"func.func @f{f}(%r0: {ROWS}) -> {ROWS} {{")
        # Two relayouts a step.
        steps = len(range(f, count // 2, functions))
        print("".join(tensor_step(n) for n in range(steps)), end="")
        print(f"  return %r{steps} : {ROWS}\n}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["relayouts", "accesses", "mixed", "tensors"])
    parser.add_argument("count", type=int)
    parser.add_argument("--functions", type=int, default=1000)
    options = parser.parse_args()
    if options.kind == "tensors":
        return print_tensors(options.count, options.functions)
    arguments = ", ".join(
        f"%a{i}: {source}, %b{i}: {target}" for i, (source, target) in enumerate(TYPES)
    )
    for f in range(options.functions):
        print(f"func.func @f{f}({arguments}) {{")
        for n in range(f, options.count, options.functions):
            is_relayout = options.kind == "relayouts" or (
                options.kind == "mixed" and n // len(TYPES) % 2 == 0
            )
            print(relayout(n) if is_relayout else access(n), end="")
        print("  return\n}")


main()
