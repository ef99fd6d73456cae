# RUN: %python %s tessera-opt %tessera_src_root/test | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} operations, 0 failures
"""Layouts as linalg.pack and linalg.unpack, executed.

The programs are those of propagate-models.py. As packs, lowered by upstream's
transformations, and as layouts made of these packs again, they compute the same
values as before.
"""

import importlib
import os
import pathlib
import random
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
programs = importlib.import_module("assign-layouts")
models = importlib.import_module("propagate-models")

# An unpack would not know sizes that are dynamic; what has no form without
# layouts is refused by name.
UNSUPPORTED = {"tensor.cast", "dynamic sizes", "dynamic reshape", "tessera.reshape"}

PACK, UNPACK = '!transform.op<"linalg.pack">', '!transform.op<"linalg.unpack">'
LOWER = f"""
transform.named_sequence @__transform_main(%root: !transform.any_op) {{
  %packs = transform.structured.match ops{{["linalg.pack"]}} in %root : (!transform.any_op) -> {PACK}
  transform.foreach %packs : {PACK} {{
  ^bb0(%pack: {PACK}):
    transform.structured.lower_pack %pack : ({PACK}) -> (!transform.op<"tensor.pad">,
      !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)
  }}
  %unpacks = transform.structured.match ops{{["linalg.unpack"]}} in %root : (!transform.any_op) -> {UNPACK}
  transform.foreach %unpacks : {UNPACK} {{
  ^bb0(%unpack: {UNPACK}):
    transform.structured.lower_unpack %unpack : ({UNPACK}) -> (!transform.op<"tensor.empty">,
      !transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">,
      !transform.op<"tensor.extract_slice">)
  }}
  transform.yield
}}
"""


def lower_packs(text):
    """The module without packs, or what mlir-opt says of them."""
    head, brace, body = text.partition("module {")
    assert brace and "#tessera" not in text, text
    body = body.rstrip().removesuffix("}")
    module = f"{head}module attributes {{transform.with_named_sequence}} {{{body}{LOWER}}}"
    done = subprocess.run(["mlir-opt", "--transform-interpreter"], input=module, text=True, capture_output=True)
    if done.returncode:
        return f"mlir-opt: {done.stderr[-1000:]}"
    # The script has been followed.
    return done.stdout.partition("  transform.named_sequence")[0] + "}\n"


def check(case, layout):
    """What is wrong, or None."""
    text = models.program(case, layout)
    code, packed, message = programs.opt(text, "--tessera-to-linalg-pack")
    if case in UNSUPPORTED:
        return None if code == 1 and "unsupported" in message else f"exit code {code}: {message}"
    if code or "linalg.pack" not in packed:
        return f"exit code {code}: {message[-1500:]}\n{text}"
    lowered = lower_packs(packed)
    again = programs.opt(packed, "--tessera-from-linalg-pack")[1]
    if "tessera.relayout" not in again:
        return f"no relayouts in\n{again}"
    # The transformation script knows no recursion.
    if case in models.NOT_LOWERED or case == "recursion":
        return None
    # Packs stay whose padding is handed on.
    modules = [text, lowered] if "linalg.pack" in again else [text, lowered, again]
    values = [programs.execute(module) for module in modules]
    if len(set(values)) > 1 or "does not" in values[0]:
        return f"values {values}\n{text}\n{packed}\n{lowered}"
    return None


def main():
    rng = random.Random(programs.test_seed())
    print(f"TESSERA_SEED={os.environ['TESSERA_SEED']}", file=sys.stderr)
    layouts = ["columns", "tiles", "column tiles"]
    wrong = []
    for case in models.CASES:
        for layout in layouts if models.is_full() else [rng.choice(layouts)]:
            message = check(case, layout)
            if message:
                wrong.append(f"{case}, {layout}: {message}")
    programs.report(wrong, len(models.CASES), "operations")


main()
