# REQUIRES: tessera-python, jaxlib
# RUN: %python %s | FileCheck %s
# CHECK: instances: {{[0-9]+}}, all right
"""Random instructions of HLO on random layouts against XLA's CPU backend."""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("Inputs", "../Inputs")]
import random_hlo
import xla_cpu
from test_counts import test_count, test_seed

# By bits of the type: what functions, and what sums may differ by.
NEAR = {"f64": 1e-9, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2, "c128": 1e-9, "c64": 2e-5}
PER_MODULE = 10


def is_same(found, expected, name, how):
    if name in random_hlo.COMPLEX:
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=1)
        return np.allclose(found, expected, NEAR[name], NEAR[name] * scale, equal_nan=True)
    if name not in random_hlo.FLOATS and name not in random_hlo.TINY:
        return np.array_equal(found, expected)
    with np.errstate(invalid="ignore"):  # of NaN
        found, expected = found.astype(np.float64), expected.astype(np.float64)
    if how is None:
        return np.array_equal(found, expected, equal_nan=True)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0) if how == "sum" else 0
    return np.allclose(found, expected, NEAR[name], max(1e-37, NEAR[name] * scale), equal_nan=True)


def check_module(seed):
    """The number of results, and what was wrong."""
    module = random_hlo.Module(random.Random(seed))
    for _ in range(PER_MODULE):
        module.random.choice(KINDS)(module)
    text = module.text()
    expected = xla_cpu.run(random_hlo.without_layouts(text), module.arrays)
    try:
        program = ts.Program(random_hlo.with_layouts(text), poison_padding=seed % 2 == 0)
        found = program(*(a.view(s.dtype) for a, s in zip(module.arrays, program.inputs)))
    except ts.TesseraError as error:
        return len(expected), [f"seed {seed}: {str(error)[:1500]}"]
    found = found if isinstance(found, tuple) else (found,)
    wrong = []
    for result, reference, (_, shape, _, how, line) in zip(found, expected, module.results):
        name = shape.split("[")[0]
        result = result.view(reference.dtype)
        if not is_same(result, reference, name, how):
            differ = ~((result == reference) | ((result != result) & (reference != reference)))
            at = tuple(np.argwhere(differ)[0]) if result.shape else ()
            wrong.append(
                f"seed {seed}: {module.lines[line]}\n  at {at}: {result[at]}, expected {reference[at]}"
            )
    return len(expected), wrong


KINDS = random_hlo.KINDS
if len(sys.argv) > 1:  # names of kinds
    KINDS = [getattr(random_hlo, name) for name in sys.argv[1].split(",")]


def main():
    count = wrong = 0
    modules = int(sys.argv[2]) if len(sys.argv) > 2 else test_count(400)
    for number in range(modules):
        results, messages = check_module(test_seed() + number)
        count += results
        wrong += len(messages)
        for message in messages:
            print(message)
    print(f"instances: {count}, {'all right' if not wrong else f'{wrong} wrong'}")


main()
