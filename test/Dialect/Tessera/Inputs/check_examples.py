"""Checks that the MLIR examples of TableGen descriptions stand in tests.

Usage: check_examples.py TEST.mlir FILE.td...

An example is what stands between ```mlir and ```. Each of its statements, which
starts in the first column and goes on in indented lines, must stand in the test,
but for comments and how blanks and lines are set. The test runs them.
"""

import pathlib
import re
import sys
import textwrap


def collapse(text):
    """The text without comments, each run of blanks a single one."""
    return " ".join(re.sub(r"//.*", "", text).split())


def statements(td_text):
    """The statements of all examples."""
    for block in re.findall(r"```mlir\n(.*?)```", td_text, re.DOTALL):
        block = re.sub(r"//.*", "", textwrap.dedent(block))
        yield from map(collapse, re.split(r"\n(?=[^\s])", block))


def main(test, files):
    tested = collapse(pathlib.Path(test).read_text())
    found = 0
    missing = []
    for name in files:
        for statement in filter(None, statements(pathlib.Path(name).read_text())):
            found += 1
            if statement not in tested:
                missing.append(f"{name}: not in {test}: {statement}")
    print(*missing, sep="\n", end="\n" if missing else "")
    print(f"{found} statements, {len(missing)} missing")
    return 1 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
