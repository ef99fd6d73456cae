# REQUIRES: tessera-python, jaxlib
# RUN: %python %s | FileCheck %s
# CHECK: instances: {{[0-9]+}}, all right
"""Random instructions of HLO on random layouts against XLA's CPU backend."""

import os
import random
import sys

import tessera as ts

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("Inputs", "../Inputs")]
import random_hlo
import xla_cpu
from compare_values import describe_difference
from test_counts import test_count, test_seed

PER_MODULE = 10


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
        difference = describe_difference(result, reference, name, how)
        if difference:
            wrong.append(f"seed {seed}: {module.lines[line]}\n  {difference}")
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
