"""The TPU compiler moves less when arguments and results have the layouts that it was advised to give them,
and what it then reads and writes is what the advice said in most cases.

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
    from jax import lax
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
    "cache": (
        lambda c, u, q: (lax.dynamic_update_slice(c, u, (0, 0, 5, 0)), jnp.einsum("bhqd,bhkd->bhqk", q, c)),
        [((2, 8, 512, 64), BF16), ((2, 8, 1, 64), BF16), ((2, 8, 1, 64), BF16)],
    ),
    "convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        [((4, 32, 32, 24), F32), ((3, 3, 24, 48), F32)],
    ),
    "experts": (
        lambda x, w, g: jnp.einsum("td,edf->tef", x, w) * g[:, :, None],
        [((256, 128), BF16), ((8, 128, 256), BF16), ((256, 8), BF16)],
    ),
    "transposed": (lambda x, y: (x.T @ y).T.reshape(30, 20, -1), [((256, 600), F32), ((256, 40), F32)]),
    "tables": (lambda t, u, i: t[i] + u[:, i].T, [((3000, 48), F32), ((48, 3000), F32), ((100,), jnp.int32)]),
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
    touched = ask("assign", "--json", "--keep")["bytes_now"]
    return ask("advise", "--json"), ask("report", "--json")["relayout_bytes"], touched


advised, priced, exact = 0, 0, 0
for name, (function, shapes) in PROGRAMS.items():
    answer, before, touched = compile_with(function, shapes, {}, {})
    assert answer.get("module_bytes", touched) == touched
    formats = {"argument": {}, "result": {}}
    for one in answer["advice"]:
        if one["kind"] in formats:
            format = Format(take_layout(one["python"]), SHARDING)
            formats[one["kind"]][one["number"]] = format
            alone = {one["kind"]: {one["number"]: format}}
            _, _, then = compile_with(function, shapes, alone.get("argument", {}), alone.get("result", {}))
            priced += 1
            exact += abs(one["module_bytes_then"] - then) <= then / 1000
            print(f"{name}, {one['kind']} {one['number']}: {then} bytes, priced {one['module_bytes_then']}")
    if not (formats["argument"] or formats["result"]):
        continue
    advised += 1
    _, after, _ = compile_with(function, shapes, formats["argument"], formats["result"])
    print(f"{name}: {before} bytes moved, {after} as advised")
    assert after < before, name
assert advised >= 3
assert exact >= 0.7 * priced, f"{exact} of {priced} prices are the compiler's"
print(f"{exact} of {priced} prices are what the compiler makes")
