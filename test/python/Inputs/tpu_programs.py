"""The command line of the tests that run what the TPU compiler makes of programs."""

import argparse
import pathlib
import random
import sys

import test_counts


def parse_arguments(targets):
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", choices=targets)
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    return parser.parse_args()


def choose_names(target, known):
    """All programs, or in short tests six of them, others for each target."""
    names = [*known]
    return names if test_counts.is_full_test() else random.Random(target).sample(names, 6)


def main(targets, names, compile_program, run):
    """`compile_program(name, target)` gives the text of a program, None where there is none, and
    `run(name, text)` what is wrong with it."""
    options = parse_arguments(targets)
    tried, failures = 0, []
    for target in [options.target] if options.target else targets:
        for name in options.names or choose_names(target, names):
            text = compile_program(name, target)
            if text is None:
                continue
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{target}-{name}.hlo").write_text(text)
            tried += 1
            wrong = run(name, text)
            if wrong:
                failures.append(f"{target} {name}: {wrong}")
                print(failures[-1], flush=True)
    print(f"{tried - len(failures)} of {tried} modules are right")
    assert tried
    sys.exit(bool(failures))
