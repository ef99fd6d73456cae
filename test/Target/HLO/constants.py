"""Constants of every type: import and export keep each bit, by XLA's printer.

REQUIRES: jaxlib
RUN: %python %s
"""

import os
import random
import subprocess
import sys

from jaxlib import _hlo

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Inputs"))
from test_counts import test_seed

INTEGERS = {"s2": 2, "s4": 4, "s8": 8, "s16": 16, "s32": 32, "s64": 64}
INTEGERS.update({"u" + name[1:]: bits for name, bits in INTEGERS.items()})
# The largest and the smallest subnormal number of each format.
FLOATS = {
    "f8e5m2": (57344, 2**-16),
    "f8e4m3fn": (448, 2**-9),
    "f8e4m3": (240, 2**-9),
    "f8e3m4": (15.5, 2**-6),
    "f8e4m3b11fnuz": (30, 2**-13),
    "f8e5m2fnuz": (57344, 2**-17),
    "f8e4m3fnuz": (240, 2**-10),
    "f8e8m0fnu": (2.0**127, 2.0**-127),
    "f4e2m1fn": (6, 0.5),
    "f16": (65504, 2**-24),
    "bf16": (3.3895313892515355e38, 9.183549615799121e-41),
    "f32": (3.4028234663852886e38, 1.401298464324817e-45),
    "f64": (1.7976931348623157e308, 5e-324),
}
WITH_INFINITY = ["f8e5m2", "f8e4m3", "f8e3m4", "f16", "bf16", "f32", "f64"]
seed = test_seed()
rng = random.Random(seed)


def random_float(name):
    largest, smallest = FLOATS[name]
    kinds = [largest, smallest]
    if name != "f8e8m0fnu":
        kinds += [0.0, -largest, rng.uniform(-1, 1) * min(largest, 1e30)]
    if name in WITH_INFINITY:
        kinds += ["inf", "-inf", "-0", "-0.0"]
    if name != "f4e2m1fn":
        kinds += ["nan"]
    if name in WITH_INFINITY or name.endswith("fn") and name != "f4e2m1fn":
        kinds += ["-nan"]
    return str(rng.choice(kinds))


def random_element(name):
    if name == "pred":
        return rng.choice(["true", "false"])
    if name in ("c64", "c128"):
        part = {"c64": "f32", "c128": "f64"}[name]
        return "(%s, %s)" % (random_float(part), random_float(part))
    if name in FLOATS:
        return random_float(name)
    bits = INTEGERS[name]
    low, high = (-(1 << bits - 1), 1 << bits - 1) if name[0] == "s" else (0, 1 << bits)
    return str(rng.choice([low, high - 1, rng.randrange(low, high)]))


def literal(name, dims):
    if not dims:
        return random_element(name)
    return "{%s}" % ", ".join(literal(name, dims[1:]) for _ in range(dims[0]))


lines = []
for name in ["pred", "c64", "c128", *INTEGERS, *FLOATS]:
    for dims in [[], [7], [2, 3], [3, 1, 2], [0], [2, 0], [0, 3]]:
        text = "%s[%s]" % (name, ",".join(map(str, dims)))
        lines.append("  k%d = %s constant(%s)" % (len(lines), text, literal(name, dims)))
lines[-1] = lines[-1].replace("  k", "  ROOT k", 1)
module = "HloModule m\nENTRY main {\n%s\n}\n" % "\n".join(lines)


def canonical(text):
    return _hlo.hlo_module_from_text(text).to_string()


def translate(text, option):
    command = ["tessera-translate", option, "-"]
    return subprocess.run(
        command, input=text, stdout=subprocess.PIPE, check=True, text=True
    ).stdout


imported = translate(module, "--import-hlo")
assert imported.count("arith.constant") == len(lines), imported
expected = canonical(module).splitlines()
actual = canonical(translate(imported, "--export-hlo")).splitlines()
assert len(expected) == len(actual)
for line, ours in zip(expected, actual):
    assert line == ours, "%s: %s (TESSERA_SEED=%d)" % (ours, line, seed)
