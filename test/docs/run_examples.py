"""Runs the examples of a Markdown page and compares what they print.

An example is a fenced block with the info string `console`: a line `$ command`,
which the shell runs in an empty folder that all examples of the page share, and
below it what it prints to both streams, up to the next `$ `. A command that
fails says so in a last line `(exit code 2)`. A line of output `...` stands for
any number of lines. A block with an info string such as `mlir file.mlir` is that
file in the folder, and `examples` there is the project's folder of that name.

  run_examples.py PAGE.md...           fail and show the difference, if any
  run_examples.py --update PAGE.md...  write what is printed into the page
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
FILE = re.compile(r"^```\w+ ([\w.-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command, folder):
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Pictures are as wide as a page, not as the terminal of who tests;
        # `python3` is the Python of the tests.
        env={**os.environ, "COLUMNS": "100", "PATH": PATH},
    )
    lines = result.stdout.decode().splitlines()
    if result.returncode:
        lines.append("(exit code %d)" % result.returncode)
    return lines


def parse(block):
    """The commands of a block, each with the lines expected below it."""
    examples = []
    for line in block.splitlines():
        if line.startswith("$ "):
            examples.append((line[2:], []))
        elif examples:
            examples[-1][1].append(line)
        else:
            raise ValueError("an example begins with `$ command`, not %r" % line)
    return examples


def matches(expected, actual):
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def check_page(path, update):
    """Returns the numbers of examples and of those that differ."""
    page = pathlib.Path(path)
    text = page.read_text()
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(EXAMPLES, os.path.join(folder, "examples"))
        for name, content in FILE.findall(text):
            pathlib.Path(folder, name).write_text(content)

        def replace(match):
            nonlocal count, failures
            lines = []
            for command, expected in parse(match[1]):
                actual = run(command, folder)
                count += 1
                if not matches(expected, actual):
                    failures += 1
                    print("%s: $ %s" % (path, command))
                    diff = difflib.unified_diff(expected, actual, "page", "printed", lineterm="")
                    print("\n".join(diff))
                    expected = actual
                lines += ["$ " + command, *expected]
            return "```console\n" + "".join(line + "\n" for line in lines) + "```"

        updated = BLOCK.sub(replace, text)
    if update and updated != text:
        page.write_text(updated)
    return count, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write into the pages")
    parser.add_argument("pages", nargs="+")
    arguments = parser.parse_args()
    total = 0
    for page in arguments.pages:
        count, failures = check_page(page, arguments.update)
        print("%s: %d examples, %d differ" % (page, count, failures))
        # A page without examples is a page whose examples are not found.
        total += failures if count else 1
    sys.exit(total != 0 and not arguments.update)


if __name__ == "__main__":
    main()
