# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: modules: {{([0-9]+) of \1}} right
"""Modules with kernels of Pallas, as the TPU compiler wrote them, against numpy; also
with poisoned padding: what a block has beyond its array is not computed with.

Inputs/pallas_kernels.py has the kernels, and makes the modules.
"""

import pathlib
import sys

folder = pathlib.Path(__file__).parent / "Inputs"
sys.path.insert(0, str(folder))
import run_kernels  # noqa: E402


def main():
    paths = sorted((folder / "kernels").glob("*.hlo"))
    names = [path.stem.split("-")[1] for path in paths]
    right = 0
    for path, name in zip(paths, names):
        wrong = [run_kernels.run(name, path.read_text(), is_poisoned) for is_poisoned in (False, True)]
        if any(wrong):
            print(f"{path.name}: {wrong[0]}, poisoned: {wrong[1]}")
        right += not any(wrong)
    assert len(paths) >= 30
    print(f"modules: {right} of {len(paths)} right")


main()
