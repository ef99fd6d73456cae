"""Runs the commands of a page and compares what they print with the page.

usage: run_examples.py [--update] PAGE.md...

In a block of code, indented or fenced, a line `$ command` runs in bash, and the
lines behind it, up to the next command or the end of the block, are what it
prints (errors too); a line `...` stands for any number of lines. A command that
fails ends in `# exit N`. A fence such as "```mlir relayout.mlir" makes its text
that file. All commands of a page run in one folder, empty at first. --update writes what
they print into the page, but leaves outputs with `...` alone.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def blocks(lines):
    """Yields (first, last, indent, file) of each block of code; last is outside."""
    at = 0
    while at < len(lines):
        fence = re.match(r"```(\S*) *(\S*)$", lines[at])
        if fence:
            end = lines.index("```", at + 1)
            yield at + 1, end, "", fence[2]
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                end += 1
            while not lines[end - 1]:
                end -= 1
            yield at, end, "    ", ""
        else:
            end = at
        at = end + 1


def commands(lines, first, last, indent):
    """Yields (command, first, last) where the range is its expected output."""
    starts = [i for i in range(first, last) if lines[i].startswith(indent + "$ ")]
    for start, end in zip(starts, starts[1:] + [last]):
        output = start + 1
        command = lines[start][len(indent) + 2 :]
        while command.endswith("\\"):
            command = command[:-1] + lines[output].strip()
            output += 1
        yield command, output, end


def run(command, folder):
    """What a command prints, and what is wrong with its exit status."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    says = re.search(r"# exit (\d+)$", command)
    expected = int(says[1]) if says else 0
    problem = ""
    if done.returncode != expected:
        problem = "exit status %d instead of %d" % (done.returncode, expected)
    return [line.rstrip() for line in done.stdout.splitlines()], problem


def matches(found, expected):
    """Is `found` the expected lines, where `...` stands for any lines?"""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line) + r"\n"
        for line in expected
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in found))


def check(page, update):
    """Runs the commands of a page; returns how many there are, and fail."""
    lines = page.read_text().splitlines()
    edits, failures, count = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for first, last, indent, name in blocks(lines):
            if name:
                Path(folder, name).write_text("\n".join(lines[first:last]) + "\n")
                continue
            for command, begin, end in commands(lines, first, last, indent):
                count += 1
                expected = [line[len(indent) :].rstrip() for line in lines[begin:end]]
                found, problem = run(command, folder)
                # Blank lines before the next command are not output.
                while expected and not expected[-1] and (not found or found[-1]):
                    expected.pop()
                    end -= 1
                if not problem and not matches(found, expected):
                    problem = "other output"
                    edits.append((begin, end, [(indent + x).rstrip() for x in found]))
                if problem:
                    failures += 1
                    print("%s:%d: %s of: %s" % (page, begin, problem, command))
                    print("\n".join(found))
    if update and edits:
        for begin, end, output in reversed(edits):
            if "..." not in [line.strip() for line in lines[begin:end]]:
                lines[begin:end] = output
        page.write_text("\n".join(lines) + "\n")
    return count, failures


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", type=Path, nargs="+")
    options = parser.parse_args()
    results = [check(page, options.update) for page in options.pages]
    count, failures = map(sum, zip(*results))
    print("%d of %d commands are as the pages say" % (count - failures, count))
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
