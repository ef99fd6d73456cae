# RUN: %python %s %tessera_src_root/benchmarks/relayout_cases.txt tessera-compile

"""What makes the time to compile a relayout is bounded, whatever its shape.

The code generator's time is that of shuffles, and grows with the square of what
one shuffle is made of and with that of accesses in one block; that of MLIR and of
LLVM's other passes is that of the code before tiles are unrolled. Time itself is
measured by benchmarks/relayout_bench.py.
"""

import re
import subprocess
import sys

cases, tool = sys.argv[1:]
# Odd sizes with many remainders, narrow elements, tiles that do not fit together.
HOSTILE = [
    "f32[200,300]{1,0} f32[200,300]{0,1}",
    "bf16[259,201]{1,0} bf16[259,201]{0,1}",
    "s8[259,201]{1,0} s8[259,201]{0,1}",
    "f64[259,201]{1,0} f64[259,201]{0,1}",
    "s8[7001,7003]{1,0} s8[7001,7003]{0,1}",
    "f32[4,24,40,20]{3,2,1,0} f32[4,24,40,20]{1,3,2,0}",
    "f32[7,11,13,9,17]{4,3,2,1,0} f32[7,11,13,9,17]{1,3,0,4,2}",
    "bf16[1031,5170]{1,0:T(8,128)(2,1)} bf16[1031,5170]{0,1:T(8,128)}",
    "s4[258,202]{1,0:E(4)} s4[258,202]{0,1:E(4)}",
    "s4[1032,520]{1,0:T(8,128)E(4)} s4[1032,520]{0,1:T(8,128)E(4)}",
    "s8[127,255]{1,0:T(8,128)} s8[127,255]{0,1:T(32,128)}",
    "f32[4099,3001]{1,0:T(8,128)} f32[4099,3001]{0,1:T(8,128)PV(zero)}",
    "f32[96,57,55,63]{3,2,1,0} f32[96,57,55,63]{1,3,2,0:T(8,128)}",
]
# Shuffles in a module before and after tiles are unrolled, and all instructions.
MOST_EMITTED, MOST_SHUFFLES, MOST_INSTRUCTIONS = 1500, 2100, 7000
# Blocks of less selected elements may have deeper trees; see fenceShuffles.
FEW_SELECTED, MOST_DEPTH = 2560, 2
SHUFFLE = re.compile(
    r"  (%\S+) = shufflevector <\d+ x \w+> (\S+), <\d+ x \w+> (\S+), <(\d+) x"
)


def compile_to(kind, shapes):
    command = [tool, "relayout", *shapes, f"--emit={kind}", "-o", "-"]
    for cpu in ("znver5", "x86-64-v4"):
        yield cpu, subprocess.run(
            command + [f"--target-cpu={cpu}"], check=True, capture_output=True, text=True
        ).stdout


def tree_depth(block):
    """The most shuffles from one fence to the next, where the block is long."""
    shuffles = [found.groups() for found in map(SHUFFLE.match, block) if found]
    if sum(int(size) for *_, size in shuffles) < FEW_SELECTED:
        return 0
    depths = {}
    for name, *operands, _ in shuffles:
        depths[name] = 1 + max(depths.get(op.rstrip(","), 0) for op in operands)
    return max(depths.values())


def check(what, found, most, shapes, cpu):
    assert found <= most, f"{what}: {found} of at most {most}: {shapes}, {cpu}"


all_shapes = [shapes.split() for shapes in HOSTILE]
with open(cases) as lines:
    all_shapes += [line.split()[1:] for line in lines if not line.startswith("#")]
for shapes in all_shapes:
    for cpu, text in compile_to("mlir", shapes):
        check("emitted", text.count("vector.shuffle"), MOST_EMITTED, shapes, cpu)
    for cpu, text in compile_to("llvm", shapes):
        check("shuffles", text.count(" = shufflevector "), MOST_SHUFFLES, shapes, cpu)
        count = len(re.findall(r"^  \S", text, re.MULTILINE))
        check("instructions", count, MOST_INSTRUCTIONS, shapes, cpu)
        for block in re.split(r"\n\n|\n\d+:", text):
            depth = tree_depth(block.splitlines())
            check("depth of shuffles", depth, MOST_DEPTH, shapes, cpu)
