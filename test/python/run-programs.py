# REQUIRES: tessera-python, jaxlib
# RUN: %python %s | FileCheck %s
# CHECK: programs: {{[0-9]+}}, all right
"""Random programs of 5 to 30 instructions on random layouts, parts of them in fusions,
against XLA's CPU backend.

usage: run-programs.py [SEED [COUNT]] [-t]; -t prints their texts.
"""

import os
import random
import sys

import tessera as ts

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("Inputs", "../Inputs")]
import random_hlo
import random_programs
import xla_cpu
from compare_values import describe_difference
from test_counts import test_count, test_seed


def check_program(seed):
    """What is wrong; None where XLA fails."""
    numbers = random.Random(seed)
    program = random_programs.Program(numbers, numbers.randrange(5, 31))
    try:
        expected = xla_cpu.run(random_hlo.without_layouts(program.text()), program.arrays)
    except xla_cpu.Error as error:
        # Its simplifications make modules that it refuses.
        print(f"seed {seed}: {str(error)[:200]}", file=sys.stderr)
        return None
    text = random_hlo.with_layouts(program.fused_text())
    if "-t" in sys.argv:
        print(text)
    try:
        compiled = ts.Program(text, poison_padding=seed % 2 == 0)
        found = compiled(*(a.view(s.dtype) for a, s in zip(program.arrays, compiled.inputs)))
    except ts.TesseraError as error:
        return [str(error)[:1500]]
    found = found if isinstance(found, tuple) else (found,)
    wrong = []
    for result, reference, (name, shape, _, how, _) in zip(found, expected, program.results):
        difference = describe_difference(result.view(reference.dtype), reference, shape.split("[")[0], how)
        if difference:
            wrong.append(f"{name}: {difference}")
    return wrong


def main():
    numbers = [int(text) for text in sys.argv[1:] if text != "-t"]
    first, number = {0: (test_seed(), test_count(1000)), 1: (*numbers, 1)}.get(len(numbers), numbers)
    seeds = range(first, first + number)
    count = wrong = 0
    for seed in seeds:
        messages = check_program(seed)
        count += messages is not None
        wrong += bool(messages)
        for message in messages or []:
            print(f"seed {seed}: {message}", flush=True)
    print(f"programs: {count}, {'all right' if not wrong else f'{wrong} wrong'}")
    # Few are refused.
    sys.exit(wrong != 0 or count < len(seeds) * 0.9)


main()
