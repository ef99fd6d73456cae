"""Kernels of Pallas, compiled by the TPU compiler for four generations and run,
against numpy.

REQUIRES: jaxlib, libtpu, tessera-python
RUN: %python %s

usage: tpu-kernels.py [--target TARGET] [--keep FOLDER] [NAME...]
"""

import argparse
import os
import pathlib
import random
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import pallas_kernels  # noqa: E402
import run_kernels  # noqa: E402
import test_counts  # noqa: E402

import tessera as ts  # noqa: E402


def run(name, text):
    try:
        return run_kernels.run(name, text, poison_padding=True)
    except (ts.UnsupportedError, ts.InvalidError) as error:
        return str(error)[:600]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", choices=pallas_kernels.KINDS)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    tried, failures = 0, []
    for target in [options.target] if options.target else pallas_kernels.KINDS:
        names = options.names or [*pallas_kernels.PROGRAMS]
        if not options.names and not test_counts.is_full_test():
            names = random.Random(target).sample(names, 6)
        for name in names:
            text = pallas_kernels.compile_kernel(name, target)
            if text is None:
                continue
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{target}-{name}.hlo").write_text(text)
            tried += 1
            wrong = run(name, text)
            if wrong:
                failures.append(f"{target} {name}: {wrong}")
                print(failures[-1], flush=True)
    print(f"{tried - len(failures)} of {tried} modules are right")
    assert tried
    sys.exit(bool(failures))


main()
