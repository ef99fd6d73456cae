# RUN: %python %s tessera-opt %tessera_src_root/test

"""Every pass of the project on every test file: no crash, and IR that verifies.

A pass may say no to a file that was not written for it. What it may not do is
die, print IR that does not parse, or leave IR that its verifiers refuse: an
error that is not said when nothing is verified between passes comes from a
verifier, and a pass should have said it. Between ours, upstream's canonicalizer
and its kin must find nothing that trips them either; modules that they alone
make invalid are left out.
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


def invoke(text, flags, verifies):
    command = [tool, "--split-input-file", "--allow-unregistered-dialect",
               f"--verify-each={int(verifies)}", "--mlir-print-op-on-diagnostic=false", *flags]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S)


def errors(done):
    return set(re.findall(r"error:.*$", done.stderr, re.M))


def leaves_invalid_ir(text, flags):
    """Whether nothing but a verifier stops the passes on one module."""
    if invoke(text, flags, verifies=True).returncode == 0:
        return False
    return invoke(text, flags, verifies=False).returncode != 1


def is_our_fault(text, flags):
    upstream = [flag for flag in flags if flag in UPSTREAM]
    return leaves_invalid_ir(text, flags) and not leaves_invalid_ir(text, upstream)


def find_failure(text, flags):
    """What is wrong with these passes on the modules of a file, or None."""
    done = invoke(text, flags, verifies=True)
    # Exit code 1 is a diagnostic; a signal or an assertion is neither 0 nor 1.
    if done.returncode not in (0, 1):
        return f"exit code {done.returncode}\n{done.stderr[-800:]}"
    if done.returncode == 0:
        return None
    if not errors(done) or "LLVM ERROR" in done.stderr:
        return f"failed without an error\n{done.stderr[-800:]}"
    if errors(done) <= errors(invoke(text, flags, verifies=False)):
        return None
    # Which of several errors a pass finds first may be up to chance.
    for module in re.split(r"^// -----.*$", text, flags=re.M):
        if is_our_fault(module, flags):
            said = sorted(errors(invoke(module, flags, verifies=True)))
            return "\n".join(["invalid IR", *said])
    return None


def run(path, flags):
    try:
        failure = find_failure(path.read_text(), flags)
    except subprocess.TimeoutExpired:
        failure = f"no end after {TIMEOUT_S} s"
    return failure and f"{path} {' '.join(flags)}: {failure}"


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
