# RUN: %python %s %tessera_src_root/benchmarks/many_operations.py %t tessera-opt

"""Four times as many operations take about four times as long to lower.

Processor time, the best of several runs; what grows with the square would take
sixteen times as long. Loading the tool is measured with no operation, and left out.
"""

import os
import subprocess
import sys

maker, folder, tool = sys.argv[1:]
SMALL, LARGE = 1000, 4000
LIMIT = 10
PASSES = {
    "relayouts": ["--tessera-lower-relayouts", "--tessera-lower-layouts"],
    "accesses": ["--tessera-lower-layouts"],
    "mixed": ["--tessera-to-affine"],
    "tensors": ["--tessera-to-affine"],
}


def make(kind, count, functions):
    path = os.path.join(folder, f"{kind}-{count}-{functions}.mlir")
    with open(path, "w") as module:
        command = [sys.executable, maker, kind, str(count), f"--functions={functions}"]
        subprocess.run(command, stdout=module, check=True)
    return path


def seconds(path, passes):
    """Of the processor, without what starting takes."""

    def run():
        before = os.times()
        subprocess.run(
            [tool, path, "--mlir-disable-threading", *passes, "-o", os.devnull], check=True
        )
        after = os.times()
        return after.children_user - before.children_user

    return min(run() for _ in range(2))


def main():
    os.makedirs(folder, exist_ok=True)
    failures = 0
    for kind, passes in PASSES.items():
        start = seconds(make(kind, 0, 1), passes)
        small, large = (
            max(seconds(make(kind, count, 1), passes) - start, 0.01) for count in (SMALL, LARGE)
        )
        print(f"{kind}: {small:.2f} s, {large:.2f} s")
        failures += large > LIMIT * small
    return 1 if failures else 0


sys.exit(main())
