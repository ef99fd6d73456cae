"""Runs a module: its `@main` takes nothing and returns an i64."""

import subprocess
import sys


def run_main(module, *passes):
    """What `@main` of the text returns behind the passes, --tessera-to-llvm by default."""
    lowered = subprocess.run(
        ["tessera-opt", *(passes or ["--tessera-to-llvm"])], input=module, text=True, capture_output=True
    )
    if lowered.returncode:
        sys.exit(module + lowered.stderr)
    ran = subprocess.run(
        ["mlir-runner", "-e", "main", "-entry-point-result=i64"],
        input=lowered.stdout,
        text=True,
        capture_output=True,
    )
    if ran.returncode:
        sys.exit(ran.stderr)
    return int(ran.stdout)
