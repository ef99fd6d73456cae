"""Reading of HLO text, side by side: Tessera against XLA's own parser.

usage: hlo_parse.py BIN_FOLDER FILE.hlo... [--repeat N] [--runs N]

For each file the least time of several runs that XLA's parser takes, that ours
takes (tessera-hlo), and that import into MLIR takes, both verifiers included
(tessera-translate); behind each of ours, how many times XLA's that is. Runs of
the three alternate, so that other load meets all of them. --repeat also makes
one module of N copies of the last file's computations, to see that the time is
linear.
"""

import argparse
import re
import subprocess
import tempfile
import time

from jaxlib import _hlo


def time_xla(text):
    start = time.perf_counter()
    module = _hlo.hlo_module_from_text(text)
    seconds = time.perf_counter() - start
    del module
    return seconds


def time_tool(*command):
    return float(subprocess.run(command, check=True, capture_output=True).stdout)


def time_all(folder, path, text, runs):
    """The least seconds of XLA, of our parser and of the import."""
    best = [float("inf")] * 3
    for _ in range(runs):
        seconds = (
            min(time_xla(text), time_xla(text)),
            time_tool(f"{folder}/tessera-hlo", "print", path, "--time=2"),
            time_tool(
                f"{folder}/tessera-translate", "--import-hlo", path, "--hlo-time=2",
                "-o", "/dev/null",
            ),
        )
        best = list(map(min, best, seconds))
    return best


def repeat(text, count):
    """The module with its computations `count` times, under new names."""
    first = re.search(r"^(ENTRY )?%?[\w.-]+ .*\{$", text, re.MULTILINE).start()
    header, body = text[:first], text[first:]
    names = set(re.findall(r"^(?:ENTRY )?%([\w.-]+) \(", body, re.MULTILINE))
    pattern = re.compile(r"%(" + "|".join(map(re.escape, sorted(names, reverse=True))) + r")(?![\w.-])")
    parts = [header]
    for i in range(count):
        copy = pattern.sub(rf"%\1.copy{i}", body)
        parts.append(copy if i == count - 1 else copy.replace("ENTRY ", ""))
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()

    def compare(name, path, text, runs):
        xla, parse, imported = time_all(arguments.folder, path, text, runs)
        print(f"{name}: {text.count(' = ')} lines, xla {xla * 1e3:.3f} ms, "
              f"parse {parse * 1e3:.3f} ms ({parse / xla:.2f}), "
              f"import {imported * 1e3:.3f} ms ({imported / xla:.2f})", flush=True)

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
