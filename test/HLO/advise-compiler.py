"""The TPU compiler moves less when arguments and results have the layouts that it was advised to give them.

UNSUPPORTED: sanitized
RUN: %python %s tessera-hlo %t
"""

import json
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ.setdefault("TPU_WORKER_ID", "0")
try:
    import jax
    import jax.numpy as jnp
    from jax.experimental import topologies
    from jax.experimental.layout import Format, Layout
    from jax.sharding import SingleDeviceSharding

    topology = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2")
except Exception as error:  # noqa: BLE001: what is missing differs
    print("no TPU compiler:", error)
    sys.exit(0)

tool, path = sys.argv[1], pathlib.Path(sys.argv[2] + ".hlo")
SHARDING = SingleDeviceSharding(topology.devices[0])
F32, BF16 = jnp.float32, jnp.bfloat16
PROGRAMS = {
    "table": (lambda t, i: t[i] * 2, [((5000, 64), F32), ((40,), jnp.int32)]),
    "attention": (lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2)) @ v, [((4, 128, 64), BF16)] * 3),
    "top": (lambda x: jax.lax.top_k(x, 5), [((13, 777), F32)]),
    "scatter": (lambda t, i, u: t.at[i].add(u), [((500, 60), F32), ((30,), jnp.int32), ((30, 60), F32)]),
    "pool": (
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID"),
        [((2, 31, 31, 12), F32)],
    ),
}


def ask(*command):
    return json.loads(subprocess.run([tool, *command, path], check=True, capture_output=True).stdout)


def take_layout(line):
    """`Layout(...)` of a line of Python, as JAX reads it."""
    text = line[line.index("Layout(") :]
    ends = [i + 1 for i in range(len(text)) if text[: i + 1].count("(") == text[: i + 1].count(")") > 0]
    return eval(text[: ends[0]], {"Layout": Layout})


def compile_with(function, shapes, layouts, results):
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    out = jax.eval_shape(function, *structs)
    outs = [results.get(i, SHARDING) for i in range(len(jax.tree.leaves(out)))]
    outs = jax.tree.unflatten(jax.tree.structure(out), outs)
    ins = tuple(layouts.get(i, SHARDING) for i in range(len(shapes)))
    jitted = jax.jit(function, in_shardings=ins, out_shardings=outs)
    path.write_text(jitted.lower(*structs).compile().as_text())
    return ask("advise", "--json")["advice"], ask("report", "--json")["relayout_bytes"]


advised = 0
for name, (function, shapes) in PROGRAMS.items():
    advice, before = compile_with(function, shapes, {}, {})
    formats = {"argument": {}, "result": {}}
    for one in advice:
        if one["kind"] in formats:
            layout = take_layout(one["python"])
            formats[one["kind"]][one["number"]] = Format(layout, SHARDING)
    if not (formats["argument"] or formats["result"]):
        continue
    advised += 1
    _, after = compile_with(function, shapes, formats["argument"], formats["result"])
    print(f"{name}: {before} bytes moved, {after} as advised")
    assert after < before, name
assert advised >= 3
