# RUN: %python %s %tessera_src_root

"""What CONTRIBUTING.md asks of each rule and each operation is there.

The label of a rule (`layout_c3`) stands in a description, which is a header, a
TableGen file or a page, and in a test. Each operation of the dialect stands in
whole-dialect.mlir, which takes it to machine code, and in the fuzzer's words.
So does each opcode of HLO; those that have a lowering stand in docs/running.md
and in a test that runs them. Each key of a layout stands in the grammars, in the
order of keys in notation-rules.md, in the glossary, and in the fuzzer's words.

usage: completeness.py SOURCE
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
LABEL = re.compile(r"\b[a-z]+(?:_[a-z]+)*_c[0-9]+\b")
# A check that names no rule has an empty label.
CHECK = re.compile(r'\b(?:invalidError|violate)\(\s*(?:\{[^}]*\},\s*)?"([^"]+)"')
OPERATION = re.compile(r'Tessera_Op<"(\w+)"')
OPCODE = re.compile(r'HLO_OPCODE\(\w+, "([^"]+)"')
FIELD = re.compile(r'^LAYOUT_(?:NUMBER|FIELD)\(\w+, "([A-Z]+)"', re.MULTILINE)
WORD = re.compile(r'"([a-z0-9-]+)"')
INSTRUCTION = re.compile(r"""[ "']([a-z0-9-]+)\(""")
# Where instructions of HLO are executed.
RUN = ["test/python", "test/HLO/Inputs/run"]
# What has to name every operation, and how.
LISTS = {
    "test/Conversion/Pipelines/whole-dialect.mlir": r"\btessera\.%s\b",
    "unittests/Fuzz/Dictionaries/ir.dict": r'"tessera\.%s"',
}


def find_all(pattern, *folders):
    """What matches in the files of the folders."""
    found = set()
    for folder in folders:
        for path in (source / folder).rglob("*"):
            # These tests name rules without trying them.
            if path.is_file() and path.parent != source / "test" / "docs":
                found.update(pattern.findall(path.read_text(errors="replace")))
    return found


def check_rules():
    described = find_all(LABEL, "include", "docs")
    tested = find_all(LABEL, "test", "unittests")
    checked = find_all(CHECK, "lib", "tools")
    labels = described | checked | find_all(LABEL, "lib")
    if not labels:
        return ["there are no rules"]
    failures = [f"{label} has no description" for label in labels - described]
    return failures + [f"{label} has no test" for label in labels - tested]


def check_operations():
    operations = find_all(OPERATION, "include/tessera/Dialect/Tessera/IR")
    if not operations:
        return ["there are no operations"]
    texts = {name: (source / name).read_text() for name in LISTS}
    return [
        f"tessera.{operation} is not in {name}"
        for name, pattern in LISTS.items()
        for operation in operations
        if not re.search(pattern % operation, texts[name])
    ]


def check_opcodes():
    opcodes = find_all(OPCODE, "include/tessera/HLO")
    if not opcodes:
        return ["there are no opcodes"]
    words = set(WORD.findall((source / "unittests/Fuzz/Dictionaries/hlo.dict").read_text()))
    lowered = find_all(WORD, "lib/Conversion/HLOToLinalg") & opcodes
    page = (source / "docs" / "running.md").read_text()
    listed = {word for words in re.findall(r"`([^`]*)`", page) for word in words.split()}
    run = set().union(*(find_all(pattern, *RUN) for pattern in (WORD, INSTRUCTION)))
    failures = [f"{opcode} is not in hlo.dict" for opcode in opcodes - words]
    failures += [f"{opcode} is not in docs/running.md" for opcode in lowered - listed]
    return failures + [f"{opcode} is run by no test" for opcode in lowered - run]


def check_fields():
    keys = FIELD.findall((source / "include/tessera/Layout/LayoutFields.def").read_text())
    if not keys:
        return ["there are no fields of layouts"]
    wanted = [("docs/notation-rules.md", f"order D {' '.join(keys)},"), ("docs/glossary.md", ", ".join(keys) + " ")]
    for key in keys:
        wanted += [("docs/notation.md", f"'{key}'"), ("lib/Layout/Text.cpp", f"'{key}'")]
        wanted += [("unittests/Fuzz/Dictionaries/shape.dict", f"{key}(")]
    return [f"{name} does not have {text}" for name, text in wanted if text not in (source / name).read_text()]


def main():
    failures = sorted(check_rules() + check_operations() + check_opcodes() + check_fields())
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
