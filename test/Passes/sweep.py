# RUN: %python %s tessera-opt %tessera_src_root/test

"""Every pass of the project on every test file: no crash, and IR that verifies.

A pass may say no to a file that was not written for it. What it may not do is
die, print IR that does not parse, or leave IR that its verifiers refuse.
Between ours, upstream's canonicalizer and its kin must find nothing that trips
them either.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

tool, root = sys.argv[1], pathlib.Path(sys.argv[2])
UPSTREAM = ["--canonicalize", "--cse", "--sccp", "--inline", "--loop-invariant-code-motion"]
TIMEOUT_S = 120


def find_passes():
    """The flags of our passes and pipelines, as the tool's help lists them."""
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^\s*(--tessera-[\w-]+)", text.stdout, re.M)))


def required_options(flag):
    """Passes that do nothing without an option get one."""
    return {"--tessera-assign-layouts": "=target=tpu_v5e"}.get(flag, "")


def run(path, flags):
    command = [tool, str(path), "--split-input-file", "--allow-unregistered-dialect",
               "--verify-each", "--mlir-print-op-on-diagnostic=false", *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)}: no end after {TIMEOUT_S} s"
    # Exit code 1 is a diagnostic; a signal or an assertion is neither 0 nor 1.
    if done.returncode not in (0, 1):
        return f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-800:]}"
    if done.returncode == 1 and "error:" not in done.stderr:
        return f"{' '.join(command)}: failed without an error"
    if "does not verify" in done.stderr or "LLVM ERROR" in done.stderr:
        return f"{' '.join(command)}\n{done.stderr[-800:]}"
    return None


def main():
    passes = find_passes()
    assert len(passes) >= 2, "no passes found in the help text"
    files = sorted(p for p in root.rglob("*.mlir") if "Inputs" not in p.parts)
    assert len(files) >= 10, "no test files found"
    jobs = [(path, [flag + required_options(flag)]) for path in files for flag in passes]
    jobs += [(path, [UPSTREAM[0], flag + required_options(flag), *UPSTREAM])
             for path in files for flag in passes]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(lambda job: run(*job), jobs) if f]
    print(f"{len(jobs)} runs of {len(passes)} passes, {len(failures)} failures")
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
