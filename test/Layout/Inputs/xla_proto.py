"""`tessera-layout proto` against the ShapeProto that XLA itself writes.

usage: xla_proto.py TESSERA-LAYOUT

XLA gives the message in the binary form; it is decoded here by the field
numbers of xla_data.proto, written as text by the rules of the text format, and
held against Tessera's text. Tessera must read it back, too.
"""

import json
import os
import subprocess
import sys

here = os.path.dirname(__file__)
sys.path.append(os.path.join(here, "..", "..", "Inputs"))

import refusals
import shape_texts
from test_counts import test_count, test_seed

# Number -> (name, kind); a kind that is a dictionary is a message.
TILE = {1: ("dimensions", "int")}
SPLIT = {1: ("dimension", "int"), 2: ("split_indices", "int")}
LAYOUT = {
    1: ("minor_to_major", "int"),
    6: ("tiles", TILE),
    7: ("element_size_in_bits", "int"),
    8: ("memory_space", "int"),
    15: ("dynamic_shape_metadata_prefix_bytes", "int"),
    16: ("tail_padding_alignment_in_elements", "int"),
    17: ("split_configs", SPLIT),
}
SHAPE = {
    2: ("element_type", "type"),
    3: ("dimensions", "int"),
    5: ("layout", LAYOUT),
    6: ("is_dynamic_dimension", "bool"),
}
SHAPE[4] = ("tuple_shapes", SHAPE)
# Types that jaxlib's enumeration does not name.
TYPES = {26: "S2", 27: "U2", 30: "S1", 31: "U1", 34: "BUFFER"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def decode(data):
    """Pairs (field number, integer or bytes)."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        yield tag >> 3, value


def packed(value):
    if isinstance(value, int):
        return [value]
    values, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        values.append(number)
    return values


def scalar(number, kind):
    if kind == "bool":
        return "true" if number else "false"
    if kind == "type":
        return TYPES[number]
    return number - 2**64 if number >= 2**63 else number


def as_text(data, schema, indent=""):
    lines = []
    for number, value in sorted(decode(data), key=lambda field: field[0]):
        name, kind = schema[number]
        if isinstance(kind, dict):
            lines.append("%s%s {" % (indent, name))
            lines += as_text(value, kind, indent + "  ")
            lines.append(indent + "}")
        else:
            for v in packed(value):
                lines.append("%s%s: %s" % (indent, name, scalar(v, kind)))
    return lines


def field(data, number):
    return next(value for n, value in decode(data) if n == number)


def ask_xla(texts):
    """The messages as text, None where XLA refuses the shape."""
    from jaxlib import _hlo

    for name, member in _hlo.PrimitiveType.__members__.items():
        TYPES[int(member)] = name
    answers = []
    for text in texts:
        module = "HloModule m\nENTRY e {\n ROOT p = %s\n parameter(0)\n}\n" % text
        try:
            data = _hlo.hlo_module_from_text(module).as_serialized_hlo_module_proto()
        except Exception:
            answers.append(None)
            continue
        # HloModuleProto.computations, .instructions, .shape
        shape = field(field(field(data, 3), 2), 3)
        answers.append("\n".join(as_text(shape, SHAPE)) + "\n")
    return answers


def run(tool, *arguments):
    command = [tool, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    tool = sys.argv[1]
    generator = shape_texts.ShapeTexts(test_seed())
    with open(os.path.join(here, "tpu-shapes.txt")) as file:
        texts = file.read().splitlines()
    texts += [generator.legal() for _ in range(test_count(10_000))]
    texts = [text for text in texts if not refusals.refusal(text)]
    pairs = [(t, xla) for t, xla in zip(texts, ask_xla(texts)) if xla is not None]
    failures = []
    for begin in range(0, len(pairs), 200):
        chunk = pairs[begin : begin + 200]
        names = [text for text, _ in chunk]
        protos = [proto for _, proto in chunk]
        # Messages are parted by an empty line.
        ours = run(tool, "proto", *names).split("\n\n")
        ours = [message.rstrip("\n") + "\n" for message in ours]
        printed = run(tool, "parse", *names).splitlines()
        again = run(tool, "proto", "--from-proto", *protos).splitlines()
        for results in zip(names, ours, protos, printed, again, strict=True):
            if results[1] != results[2] or results[3] != results[4]:
                failures.append(json.dumps(results))
    for failure in failures[:10]:
        print(failure)
    print("%d messages" % len(pairs))
    print("%d failures, TESSERA_SEED=%d" % (len(failures), test_seed()))
    sys.exit(1 if failures or not pairs else 0)


if __name__ == "__main__":
    main()
