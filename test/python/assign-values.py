# RUN: %python %s tessera-hlo %S/../HLO/Inputs/run | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} modules, 0 wrong
"""Modules with new layouts give the values that they gave before.

The tool parses, verifies and counts what it writes itself. Here it is run, beside
what the TPU compiler wrote, and beside random modules whose layouts change all the
time: one more pass over them finds nothing better.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import tessera as ts

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("Inputs", "../Inputs")]
import random_layouts
from test_counts import test_count, test_seed

TOOL = sys.argv[1]


def assign(text, *options):
    """What the tool says, and the module that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new.hlo")
        command = [TOOL, "assign", "--json", "-o", path, *options, "-"]
        run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
        if run.returncode:
            raise ValueError(run.stderr)
        return json.loads(run.stdout), pathlib.Path(path).read_text()


def execute(text, inputs, poison_padding=False):
    program = ts.Program(text, poison_padding=poison_padding)
    results = program(*(array.view(shape.dtype) for array, shape in zip(inputs, program.inputs)))
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


def agree(found, expected):
    """Bit by bit, but for the order of sums."""
    if found.dtype.kind in "biu":
        return np.array_equal(found, expected)
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    return np.allclose(found, expected, 0, 2e-2 * scale, equal_nan=True)


def check(text, inputs, exactly):
    """What is wrong with the new layouts of a module; nothing if all is right."""
    expected = execute(text, inputs)
    for options in ([], ["--keep"]):
        answer, new = assign(text, *options)
        if options and not answer["bytes"] <= answer["bytes_kept"] == answer["bytes_now"]:
            return f"bytes {answer}"
        again = assign(new, "--keep")[0]
        if again["bytes_now"] != answer["bytes"]:
            return f"{again['bytes_now']} bytes again, {answer['bytes']} promised"
        same = np.array_equal if exactly else agree
        found = execute(new, inputs, poison_padding=True)
        if len(found) != len(expected) or not all(map(same, found, expected)):
            return f"other values with {options}:\n{new}"
    return None


def check_file(path):
    arrays = np.load(path.with_suffix(".npz"))
    return check(path.read_text(), [arrays[f"arg{n}"] for n in range(len(arrays)) if f"arg{n}" in arrays], False)


def check_random(seed):
    module = random_layouts.Module(random.Random(seed))
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-4, 5, x.sizes).astype(np.float32) for x in module.inputs]
    try:
        wrong = check(module.text(), inputs, True)
    except (ValueError, ts.TesseraError) as error:
        wrong = str(error)[:1500]
    return wrong and f"seed {seed}: {wrong}\nof\n{module.text()}"


def main():
    seed = test_seed()
    print(f"TESSERA_SEED={os.environ['TESSERA_SEED']}", file=sys.stderr)
    files = sorted(pathlib.Path(sys.argv[2]).glob("*.hlo"))
    wrong = [check_file(path) for path in files]
    count = test_count(400)
    wrong += [check_random(seed + number) for number in range(count)]
    found = [each for each in wrong if each]
    for each in found[:3]:
        print(each, file=sys.stderr)
    print(f"{len(wrong)} modules, {len(found)} wrong")


main()
