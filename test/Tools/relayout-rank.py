# RUN: %python %s tessera-compile %t

"""Boxes of many dimensions are compiled soon or refused; none ends the tool."""

import resource
import subprocess
import sys

TOOL, PATH = sys.argv[1:]


def compile(rank, kind, slices):
    shape = f"f32[{','.join(['3'] * 9 + ['1'] * (rank - 9))}]"
    boxes = ",".join([slices] * 9 + [":"] * (rank - 9))
    with open(PATH, "w") as batch:
        batch.write(f"{shape} {shape} src-box={boxes} dst-box={boxes}\n")
    return subprocess.run(
        [TOOL, "relayout", f"--batch={PATH}", f"--emit={kind}", "-o", "-"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
    )


for slices in (":", "0:3:2"):
    for kind in ("plan", "mlir"):
        result = compile(512, kind, slices)
        assert result.returncode == 0, result.stderr[:300]
        for rank in (513, 3000, 10000):
            result = compile(rank, kind, slices)
            assert result.returncode == 2, (rank, result.returncode)
            expected = f"unsupported box of the source in line 1: expected at most 512 dimensions, found {rank}"
            assert expected in result.stderr, result.stderr[:300]
