# RUN: %python %s %tessera_src_root/include/tessera

"""The examples in the descriptions of passes are what the passes do.

In a description, a block of MLIR is followed by "becomes", perhaps "with" the
options in backquotes, and by what comes out. Both are compared as
`--canonicalize --cse` leaves them, so that an example may be written as people
write it. Every pass has an example, but those that change nothing.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

# They say something, and change nothing; or what they change is no text.
WITHOUT_EXAMPLES = {
    "tessera-check-affine-divisors",
    "tessera-explain-slices",
    "tessera-report",
    "tessera-verify",
}

PASS = re.compile(r'^def \w+\s*:\s*Pass<\s*"([\w-]+)"', re.MULTILINE)
EXAMPLE = re.compile(
    r"```mlir\n((?:(?!```).)*)```\s+becomes,?(?: with `([^`]*)`)?[^`]*(?:`[^`]*`[^`]*)*?"
    r"```mlir\n((?:(?!```).)*)```",
    re.DOTALL,
)


def opt(text, *passes):
    """What tessera-opt prints of a text, as a file whose name messages have."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "f.mlir").write_text(textwrap.dedent(text))
        done = subprocess.run(
            ["tessera-opt", "f.mlir", *passes],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    return done.stdout if done.returncode == 0 else f"error: {done.stderr}\nof {text}"


def normalize(text):
    return opt(text, "--canonicalize", "--cse", "--mlir-print-local-scope")


def find_examples(path):
    """(pass, options, before, after) of a file in TableGen."""
    with open(path) as file:
        parts = PASS.split(file.read())[1:]
    for name, body in zip(parts[::2], parts[1::2]):
        found = EXAMPLE.findall(body)
        if not found and name not in WITHOUT_EXAMPLES:
            sys.exit(f"{name} has no example")
        for before, options, after in found:
            yield name, options, before, after


def main(paths):
    different = 0
    for path in paths:
        for name, options, before, after in find_examples(path):
            actual = normalize(opt(before, f"--{name}={options}" if options else f"--{name}"))
            expected = normalize(after)
            if actual != expected:
                different += 1
                print(f"--{name}={options}\n{actual}\nexpected\n{expected}")
    sys.exit(different != 0)


main(pathlib.Path(sys.argv[1]).rglob("Passes.td"))
