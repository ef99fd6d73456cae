"""Makes one large module out of real ones.

usage: make_large_hlo.py FILE.hlo... [--instructions N] > large.hlo

The modules are repeated in turn, under new names, until there are at least N
instructions. All entries become one, which runs them one after the other, so
that a report has a schedule as long as the module: parameters are numbered on,
the results are a tuple. What belongs to one module alone is left out: aliases, the
layout of the entry, tables of stack frames.
"""

import argparse
import itertools
import re

NAME = re.compile(r"%([\w.-]+)")
PARAMETER = re.compile(r"^  %(\S+) = (.*?) parameter\((\d+)\)", re.MULTILINE)
ROOT = re.compile(r"^  ROOT %([\w.-]+) = (\S.*?) [a-z][\w-]*\(", re.MULTILINE)
LAYOUT = re.compile(r"\{[^{}]*\}")


class Source:
    """A module's computations and the body of its entry."""

    def __init__(self, path):
        with open(path) as file:
            text = re.sub(r" ?stack_frame_id=\d+", "", file.read())
        # A computation is from a line that begins with its name to a brace.
        begins = re.compile(r"^(?:ENTRY )?%.*?^\}.*?$", re.MULTILINE | re.DOTALL)
        found = begins.findall(text)
        entry = next(part for part in found if part.startswith("ENTRY "))
        self.others = [part for part in found if part is not entry]
        self.body = entry[entry.index("\n") + 1 : entry.rindex("}")]
        self.root, self.root_shape = ROOT.search(self.body).groups()

    def copy(self, number, first_parameter):
        """Computations, the body of the entry, its parameters and its root."""
        signature = []

        def rename(text):
            return NAME.sub(rf"%\1.x{number}", text)

        def parameter(match):
            name, shape, index = match.groups()
            signature.append(f"{name}: " + LAYOUT.sub("", shape))
            return f"  %{name} = {shape} parameter({first_parameter + int(index)})"

        body = rename(self.body).replace("  ROOT ", "  ")
        body = PARAMETER.sub(parameter, body)
        return [rename(text) for text in self.others], body, signature


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--instructions", type=int, default=200_000)
    arguments = parser.parse_args()
    sources = [Source(path) for path in arguments.files]

    count, computations, bodies, signature, roots = 0, [], [], [], []
    for number, source in enumerate(itertools.cycle(sources)):
        others, body, parameters = source.copy(number, len(signature))
        computations += others
        bodies.append(body)
        signature += parameters
        roots.append((f"{source.root}.x{number}", source.root_shape))
        count += sum(text.count(" = ") for text in [*others, body])
        if count >= arguments.instructions:
            break

    shapes = ", ".join(shape for _, shape in roots)
    operands = ", ".join(f"%{name}" for name, _ in roots)
    result = LAYOUT.sub("", f"({shapes})")
    print("HloModule large, is_scheduled=true\n")
    print("\n\n".join(computations), end="\n\n")
    print(f"ENTRY %main ({', '.join(signature)}) -> {result} {{")
    print("".join(bodies), end="")
    print(f"  ROOT %all = ({shapes}) tuple({operands})\n}}")


if __name__ == "__main__":
    main()
