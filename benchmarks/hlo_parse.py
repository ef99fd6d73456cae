"""Parsing of HLO text, side by side: tessera-hlo against XLA's own parser.

usage: hlo_parse.py TESSERA_HLO FILE.hlo... [--repeat N] [--runs N]

For each file, the least seconds of several runs in each of the two parsers, and
their ratio (above 1: Tessera is faster). --repeat also makes one module of N
copies of the last file's computations, to see that the time is linear.
"""

import argparse
import re
import subprocess
import tempfile
import time

from jaxlib import _hlo


def time_xla(text, runs):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        module = _hlo.hlo_module_from_text(text)
        best = min(best, time.perf_counter() - start)
        del module
    return best


def time_tessera(tool, path, runs):
    output = subprocess.run(
        [tool, "print", path, f"--time={runs}"], check=True, capture_output=True
    )
    return float(output.stdout)


def repeat(text, count):
    """The module with its computations `count` times, under new names."""
    first = re.search(r"^(ENTRY )?%?[\w.-]+ .*\{$", text, re.MULTILINE).start()
    header, body = text[:first], text[first:]
    names = set(re.findall(r"^(?:ENTRY )?%([\w.-]+) \(", body, re.MULTILINE))
    pattern = re.compile(r"%(" + "|".join(map(re.escape, sorted(names, reverse=True))) + r")(?![\w.-])")
    parts = [header]
    for i in range(count):
        copy = pattern.sub(lambda m: f"%{m.group(1)}.copy{i}", body)
        parts.append(copy if i == count - 1 else copy.replace("ENTRY ", ""))
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()

    def compare(name, path, text, runs):
        ours, theirs = time_tessera(arguments.tool, path, runs), time_xla(text, runs)
        lines = text.count(" = ")
        print(f"{name}: {lines} lines, tessera {ours * 1e3:.3f} ms, "
              f"xla {theirs * 1e3:.3f} ms, ratio {theirs / ours:.1f}", flush=True)

    for path in arguments.files:
        with open(path) as file:
            text = file.read()
        compare(path.rsplit("/", 1)[-1], path, text, arguments.runs)
    if arguments.repeat:
        with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
            text = repeat(text, arguments.repeat)
            file.write(text)
            file.flush()
            compare(f"{arguments.repeat} copies", file.name, text, 3)


if __name__ == "__main__":
    main()
