#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says whether the core or memory bounds the code of a relayout.

Compiles the cases of relayout_cases.txt, takes of each the loop that stores
most, and has llvm-mca say how many cycles the core needs for 64 bytes of the
destination when every load hits the first-level cache. With --program the
measured cycles stand beside them, and those of memcpy of the same bytes:

    benchmarks/relayout_bounds.py --tessera-compile build/release/bin/tessera-compile \\
        --program build/release/benchmarks/TesseraRelayoutBenchmarks --ghz 4.2

Where measured cycles are far above those of the core, memory is what bounds.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

from relayout_bench import measure, read_cases

LINE = 64
WIDTHS = {"zmm": 64, "ymm": 32, "xmm": 16}


def run(*command, text=None):
    return subprocess.run([str(word) for word in command], input=text,
                          check=True, capture_output=True, text=True).stdout


def disassemble(path):
    """[(address, instruction)] of the first function of an object file."""
    lines = run("llvm-objdump-22", "-d", "--no-show-raw-insn", path).splitlines()
    found = (re.match(r"\s*([0-9a-f]+):\s+(.+)", line) for line in lines)
    return [(int(m[1], 16), m[2].replace("\t", " ")) for m in found if m]


def stored_bytes(instruction):
    """Bytes that a vector store writes; 0 for all else."""
    m = re.match(r"v?(?:mov|extract)\S* (?:\$\S+ )?%([xyz]mm)\d+, .*\(", instruction)
    return WIDTHS[m[1]] if m else 0


def innermost_loops(code):
    """The bodies that a jump back ends and that hold no other one."""
    index = {address: i for i, (address, _) in enumerate(code)}
    loops = []
    for end, (_, instruction) in enumerate(code):
        m = re.match(r"j\w+ 0x([0-9a-f]+)", instruction)
        begin = index.get(int(m[1], 16)) if m else None
        if begin is not None and begin <= end:
            loops.append((begin, end + 1))
    return [code[a:b] for a, b in loops
            if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in loops)]


def core_cycles(path, cpu):
    """Cycles for a line of the destination, by llvm-mca."""
    code = disassemble(path)
    loops = innermost_loops(code) or [code]
    body = max(loops, key=lambda loop: sum(stored_bytes(i) for _, i in loop))
    lines = sum(stored_bytes(i) for _, i in body) / LINE
    text = "\n".join(re.sub(r"^(j\w+|call) 0x\S+.*", r"\1 body", i) for _, i in body)
    report = run("llvm-mca-22", f"-mcpu={cpu}", "-iterations=50",
                 text="body:\n" + text + "\n")
    cycles = int(re.search(r"Total Cycles:\s+(\d+)", report)[1])
    iterations = int(re.search(r"Iterations:\s+(\d+)", report)[1])
    return cycles / iterations / lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera-compile", required=True)
    parser.add_argument("--program", help="TesseraRelayoutBenchmarks, to measure")
    parser.add_argument("--ghz", type=float, help="clock of the core, to measure")
    parser.add_argument("--cpus", default="znver5,sapphirerapids")
    parser.add_argument("--cases", default=".")
    args = parser.parse_args()
    if args.program and not args.ghz:
        parser.error("--program needs --ghz")
    cpus = args.cpus.split(",")
    cases = {k: v for k, v in read_cases().items() if re.search(args.cases, k)}
    times = measure(args.program, f"({'|'.join(cases)})/(kernels:1|memcpy)", 9, "0.02")[0] \
        if args.program else {}
    columns = cpus + (["measured", "memcpy"] if times else [])
    print("| case |", " | ".join(columns), "|")
    print("| --- |" + " --- |" * len(columns))
    with tempfile.TemporaryDirectory() as folder:
        for case, (source, destination) in cases.items():
            cells = []
            for cpu in cpus:
                path = pathlib.Path(folder) / "relayout.o"
                run(args.tessera_compile, "relayout", source, destination,
                    "--emit=obj", f"--target-cpu={cpu}", "-o", path)
                cells.append(core_cycles(path, cpu))
            if times:
                lines = elements_bytes(source) / LINE
                cells += [times[case][what] * args.ghz * 1e9 / lines
                          for what in ("kernels:1", "memcpy")]
            print(f"| {case} |", " | ".join(f"{c:.1f}" for c in cells), "|", flush=True)


def elements_bytes(shape):
    """Bytes of an array's elements, without padding."""
    match = re.match(r"([a-z0-9]+)\[([0-9,]*)\]", shape)
    bits = int(re.search(r"\d+", match[1])[0])
    count = 1
    for size in match[2].split(","):
        count *= int(size or 1)
    return count * bits / 8


if __name__ == "__main__":
    main()
