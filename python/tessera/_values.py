# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value of each instruction of an entry computation.

The text gets another root, a tuple of all arrays that the instructions of the entry
computation give; it is then a program like any other, and what it computes is what
the module computes.
"""

import re
from typing import NamedTuple

from tessera._errors import UnsupportedError

INSTRUCTION = re.compile(r"^\s*(?P<root>ROOT )?%?(?P<name>[\w.-]+) = (?P<rest>.*)$")
ARRAY = re.compile(r"(?P<shape>\w+\[[^\]]*\](\{[^}]*\})?) (?P<opcode>[\w-]+)\(")
# What is an argument or written out has its value in the text or the inputs.
GIVEN = ("parameter", "constant")


class Instruction(NamedTuple):
    name: str
    opcode: str
    shape: str
    line: int  # in the text, from 1
    operands: tuple


def drop_attribute(header, name):
    """The line without `name={...}`, whose braces may be nested."""
    start = header.find(f", {name}={{")
    if start < 0:
        return header
    depth, end = 0, header.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(header[end], 0)
        end += 1
        if depth == 0:
            return header[:start] + header[end:]


def read_entry(lines):
    """Where the entry computation begins and ends; its instructions, and the others'
    shapes by name."""
    start = next((i for i, line in enumerate(lines) if line.startswith("ENTRY ")), None)
    if start is None:
        raise UnsupportedError("unsupported module: expected the text of HLO with an entry computation, found another")
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("}"))
    instructions, shapes = [], {}
    for number in range(start + 1, end):
        match = INSTRUCTION.match(lines[number])
        array = match and ARRAY.match(match["rest"])
        if not array:
            continue
        shapes[match["name"]] = array["shape"]
        operands = re.split(r"\)(?:, \w|$)", match["rest"][array.end() :], maxsplit=1)[0]
        if array["opcode"] not in GIVEN and array["shape"].split("[")[0] not in ("token", "opaque"):
            names = tuple(re.findall(r"%([\w.-]+)", operands))
            found = Instruction(match["name"], array["opcode"], array["shape"], number + 1, names)
            instructions.append(found)
    return start, end, instructions, shapes


def expose_values(text):
    """The text whose results are all values, the instructions in their order, and
    the shapes of arrays by name."""
    lines = text.split("\n")
    start, end, instructions, shapes = read_entry(lines)
    for name in ("entry_computation_layout", "input_output_alias"):
        lines[0] = drop_attribute(lines[0], name)
    types = ", ".join(instruction.shape for instruction in instructions)
    plain = ", ".join(instruction.shape.split("{")[0] for instruction in instructions)
    names = ", ".join(f"%{instruction.name}" for instruction in instructions)
    head = lines[start][: lines[start].rindex("->")]
    lines[start] = f"{head}-> ({plain}) {{"
    for number in range(start + 1, end):
        lines[number] = re.sub(r"^(\s*)ROOT ", r"\1", lines[number])
    # Line numbers stay.
    lines[end] = f"  ROOT %tessera.values = ({types}) tuple({names})\n}}"
    return "\n".join(lines), instructions, shapes
