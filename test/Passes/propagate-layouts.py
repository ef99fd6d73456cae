# RUN: %python %s tessera-opt %tessera_src_root/test | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} programs, 0 failures
"""--tessera-propagate-layouts moves no more bytes than before, and the same values.

The random programs are those of assign-layouts.py. The pass says how many bytes
are moved; a second run must count as many before as the first did after, find
nothing better, and change nothing. --tessera-fold-relayouts behind it keeps the
values, and leaves no more bytes to move.
"""

import importlib
import os
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
programs = importlib.import_module("assign-layouts")
test_counts = importlib.import_module("test_counts")

REMARK = re.compile(r"remark: (\d+) bytes moved for layouts, (\d+) before; .* moves less than (\d+)")
PROPAGATE = "--tessera-propagate-layouts=remarks"


def propagate(text):
    """The new text, and bytes after, before, and at least."""
    code, output, message = programs.opt(text, PROPAGATE)
    found = REMARK.search(message)
    if code or not found:
        return text, f"exit code {code}: {message[-500:]}"
    return output, tuple(int(number) for number in found.groups())


def check(rng):
    text = programs.Program(rng).text()
    once, bytes_once = propagate(text)
    twice, bytes_twice = propagate(once)
    if isinstance(bytes_once, str) or isinstance(bytes_twice, str):
        return f"{bytes_once} {bytes_twice}", 0
    after, before, bound = bytes_once
    if not bound <= after <= before:
        return f"{before} before, {after} after, at least {bound}\n{text}", 0
    if once != twice or bytes_twice[:2] != (after, after):
        return f"a second run counts {bytes_twice} after {bytes_once}\n{text}", 0
    folded = programs.opt(once, "--tessera-fold-relayouts")[1]
    left = propagate(folded)[1]
    if isinstance(left, str) or left[1] > after:
        return f"{left} behind folds, {after} before them\n{text}", 0
    values = [programs.execute(module) for module in (text, once, folded)]
    if len(set(values)) > 1:
        return f"values {values}\n{text}", 0
    return None, before - after


def main():
    rng = random.Random(programs.test_seed())
    print(f"TESSERA_SEED={os.environ['TESSERA_SEED']}", file=sys.stderr)
    count = programs.test_count(500)
    results = [check(rng) for _ in range(count)]
    programs.report([wrong for wrong, _ in results if wrong], count, "programs")
    # Most have a relayout that need not be; of a few cases perhaps none has.
    improved = sum(gained > 0 for _, gained in results)
    assert test_counts.is_few_test() or improved * 4 > count, improved


main()
