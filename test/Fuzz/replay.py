# RUN: %python %s %tessera_src_root %tessera_obj_root %t.seeds

"""The fuzzers on what they found before, and on some texts more.

Each runs the inputs of unittests/Fuzz/Inputs, where each was a fault once, the
seeds, and mutated ones. Without libFuzzer, as in all presets but fuzz, it
mutates blindly; scripts/fuzz.sh runs them for longer and sees what they reach.
"""

import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import test_counts  # noqa: E402

# Texts of each fuzzer in the full run.
RUNS = {"shape": 200000, "hlo": 20000, "dump": 10000, "kernel": 20000, "log": 100000, "ir": 10000, "relayout": 20000,
        "runtime": 200000, "capi": 20000}  # fmt: skip


def main():
    source, build, seeds = map(pathlib.Path, sys.argv[1:])
    fuzz = source / "unittests" / "Fuzz"
    subprocess.run([sys.executable, fuzz / "make_seeds.py", source, seeds], check=True)
    for name, runs in RUNS.items():
        done = subprocess.run(
            [build / "unittests" / f"tessera-fuzz-{name}",
             f"-runs={test_counts.test_count(runs)}",
             f"-seed={test_counts.test_seed() % 2**31}",
             seeds / name, *filter(pathlib.Path.exists, [fuzz / "Inputs" / name])],
            capture_output=True, text=True, errors="replace",
        )  # fmt: skip
        print(name, *done.stdout.splitlines()[-1:])
        if done.returncode != 0:
            sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr[-3000:]}")


main()
