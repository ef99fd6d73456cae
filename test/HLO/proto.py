"""Modules in protocol buffers become the text that XLA makes of them: real ones,
constants of all types in random layouts, and random shardings. XLA's parser prints
both alike; reports on both are equal.

REQUIRES: jaxlib, protobuf
RUN: %python %s tessera-hlo %S/Inputs
"""

import json
import math
import pathlib
import random
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import test_counts  # noqa: E402
from jaxlib import _hlo  # noqa: E402

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
seed = test_counts.test_seed()
rng = random.Random(seed)
INTEGERS = [f"{sign}{bits}" for sign in "su" for bits in (1, 2, 4, 8, 16, 32, 64)]
SMALL_FLOATS = ["f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e3m4", "f8e5m2fnuz", "f8e4m3fnuz", "f4e2m1fn"]
FLOATS = ["f16", "bf16", "f32", "f64", "f8e5m2"]
COMPLEX = ["c64", "c128"]
TYPES = ["pred", *INTEGERS, *SMALL_FLOATS, "f8e8m0fnu", *FLOATS, *COMPLEX]
PRINT_ALL = _hlo.HloPrintOptions()
PRINT_ALL.print_large_constants = True


def run(*command, data):
    """What the tool prints."""
    done = subprocess.run([tool, *command, "-"], input=data, capture_output=True)
    assert done.returncode == 0, (done.stderr, f"seed {seed}")
    return done.stdout.decode()


def canonical(text):
    """What XLA prints; its stack frames settle on the second print."""
    for _ in range(2):
        text = _hlo.hlo_module_from_text(text).to_string(PRINT_ALL)
    return text


def report(data):
    result = json.loads(run("report", "--json", data=data))
    for value in result["values"]:
        del value["location"]
    return result


def check_module(path):
    data = _hlo.hlo_module_from_text(path.read_text()).as_serialized_hlo_module_proto()
    expected = _hlo.HloModule.from_serialized_hlo_module_proto(data).to_string(PRINT_ALL)
    assert canonical(run("print", data=data)) == canonical(expected), path
    assert report(data) == report(expected.encode()), path


def make_float(type):
    if type in FLOATS + COMPLEX and rng.random() < 0.2:
        return rng.choice(["inf", "-inf", "nan", "-nan", "-0.0"])
    return repr(rng.choice([rng.uniform(-3, 3), 1.0, 0.5, 2.0]))


def make_element(type):
    if type == "pred":
        return rng.choice(["true", "false"])
    if type in INTEGERS:
        count = 1 << int(type[1:])
        return str(rng.randrange(count) - (count // 2 if type[0] == "s" else 0))
    if type == "f8e8m0fnu":
        return repr(2.0 ** rng.randint(-5, 5))
    if type in COMPLEX:
        return f"({make_float(type)}, {make_float(type)})"
    return make_float(type)


def make_elements(type, sizes):
    if not sizes:
        return make_element(type)
    parts = [make_elements(type, sizes[1:]) for _ in range(sizes[0])]
    return "{" + ", ".join(parts) + "}"


def check_constant(type):
    sizes = [rng.randint(0 if rng.random() < 0.1 else 1, 4) for _ in range(rng.randint(0, 3))]
    order = rng.sample(range(len(sizes)), len(sizes))
    shape = f"{type}[{','.join(map(str, sizes))}]"
    layout = "{" + ",".join(map(str, order)) + "}" if sizes else ""
    text = (
        f"HloModule m\n\nENTRY %e () -> {shape} {{\n"
        f"  ROOT %c = {shape}{layout} constant({make_elements(type, sizes)})\n}}\n"
    )
    module = _hlo.hlo_module_from_text(text)
    found = run("print", data=module.as_serialized_hlo_module_proto())
    found = _hlo.hlo_module_from_text(found).to_string(PRINT_ALL)
    assert found == module.to_string(PRINT_ALL), (text, found, f"seed {seed}")


def make_metadata():
    texts = [f'{{op_name="{name}" source_line={rng.randint(1, 9)}}}' for name in rng.sample("abc", rng.randint(1, 3))]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def make_end():
    group = rng.choice(["", "", " shard_as 3", " shard_like 5"])
    return group + (f" metadata={make_metadata()}" if rng.random() < 0.2 else "") + "}"


def make_tiles(rank):
    """Tiles of an array, with up to two dimensions more that are no tiles."""
    types = rng.sample(["manual", "replicated", "unreduced"], rng.randint(0, 2))
    sizes = [rng.choice([1, 2, 3]) for _ in range(rank + len(types))]
    sizes[0] *= 2
    count = math.prod(sizes)
    devices = "[" + ",".join(map(str, sizes)) + "]"
    if rng.random() < 0.5:
        devices += ",".join(map(str, rng.sample(range(count), count)))
    elif rng.random() < 0.5:
        devices += f"<=[{count}]"
    else:
        devices += f"<=[2,{count // 2}]T(1,0)"
    if types == ["replicated"]:
        devices += " last_tile_dim_replicate"
    elif types:
        devices += " last_tile_dims={" + ", ".join(types) + "}"
    return "devices=" + devices


def make_mesh(rank):
    if rng.random() < 0.1:
        return "{maximal_mesh[device_id=3]}"
    text = "{mesh['x'=2,'y'=4,'z'=3]"
    if rng.random() < 0.3:
        devices = ",".join(map(str, rng.sample(range(24), 24)))
        text += f", device_ids=({rng.choice(['[4,6]T(1,0)', devices])})"
    end = f", metadata={make_metadata()}" if rng.random() < 0.2 else ""
    if rng.random() < 0.2:
        return text + ", " + rng.choice(["replicated", "unreduced", "manual"]) + end + "}"
    parts = rng.sample(["'x'", rng.choice(["'y'", "'y':(2)2", "'y':(1)2"]), "'z'"], 3)
    dimensions = []
    for _ in range(rank):
        axes = [parts.pop() for _ in range(min(len(parts), rng.randint(0, 1)))]
        dimensions.append("{" + ", ".join(axes + ["?"] * (rng.random() < 0.3)) + "}")
    text += ", [" + ", ".join(dimensions) + "]"
    for name in ["replicated", "unreduced", "manual"]:
        if parts and rng.random() < 0.3:
            text += f", {name}={{{parts.pop()}}}"
    return text + end + "}"


def make_sharding(rank):
    kind = rng.choice(["word", "maximal", "tiles", "tiles", "mesh", "mesh"])
    if kind == "mesh":
        return make_mesh(rank)
    words = {
        "word": rng.choice(["replicated", "manual", "unknown", "unreduced"]),
        "maximal": "maximal device=3",
        "tiles": make_tiles(rank),
    }
    return "{" + words[kind] + make_end()


def check_sharding():
    rank = rng.randint(1, 3)
    shape = f"f32[{','.join(['12'] * rank)}]"
    layout = "{" + ",".join(map(str, reversed(range(rank)))) + "}"
    single, pair = make_sharding(rank), f"{{{make_sharding(rank)}, {make_sharding(rank)}}}"
    text = (
        f"HloModule m\n\nENTRY %e (p: {shape}) -> ({shape}, {shape}) {{\n"
        f"  %p = {shape}{layout} parameter(0), sharding={single}\n"
        f"  %d = {shape}{layout} domain(%p), domain={{kind=\"sharding\", entry={make_sharding(rank)}, exit={single}}}\n"
        f"  ROOT %t = ({shape}{layout}, {shape}{layout}) tuple(%p, %d), sharding={pair}\n}}\n"
    )
    module = _hlo.hlo_module_from_text(text)
    found = run("print", data=module.as_serialized_hlo_module_proto())
    found = _hlo.hlo_module_from_text(found).to_string()
    assert found == module.to_string(), (text, found, f"seed {seed}")


def check_order():
    """Newer versions of XLA write another field for the order of floats."""
    module = _hlo.hlo_module_from_text(
        "HloModule m\n\nENTRY %e (p: f32[]) -> pred[] {\n  %p = f32[] parameter(0)\n"
        "  ROOT %c = pred[] compare(%p, %p), direction=LT, type=TOTALORDER\n}\n"
    )
    data = module.as_serialized_hlo_module_proto()
    old, new = b"\xc2\x04\x0aTOTALORDER", b"\xb2\x06\x05TOTAL"
    # What is empty keeps the lengths.
    changed = data.replace(old, new + b"\x92\x06\x00\x48\x00")
    assert changed != data and len(changed) == len(data)
    assert "direction=LT, order=TOTAL" in run("print", data=changed)


check_order()
modules = sorted(path for path in folder.rglob("*.hlo") if "is_scheduled" in path.read_text())
assert modules
for path in modules:
    check_module(path)
constants = test_counts.test_count(1000)
for _ in range(constants):
    check_constant(rng.choice(TYPES))
shardings = test_counts.test_count(1000)
for _ in range(shardings):
    check_sharding()
print(f"{len(modules)} modules, {constants} constants and {shardings} shardings come back, seed {seed}")
