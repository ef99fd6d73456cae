"""Default layouts as the TPU compiler chooses them.

The compiler in the libtpu package needs no TPU: it is asked for a program that
takes arrays of the given shapes, and its text shows the layouts they got.

As a program: `tpu_layouts.py FILE` adds what it says of random shapes, for each
generation, to the JSON file of `default_layouts.json`'s form.
"""

import json
import os
import random
import re
import sys

TOPOLOGIES = {
    "tpu_v2": "v2:2x2",
    "tpu_v3": "v3:2x2",
    "tpu_v4": "v4:2x2x1",
    "tpu_v5e": "v5e:2x2",
    "tpu_v5p": "v5p:2x2x1",
    "tpu_v6e": "v6e:2x2",
    "tpu_v7x": "tpu7x:2x2x1",
}
DTYPES = {
    "pred": "bool_",
    "s2": "int2",
    "s4": "int4",
    "s8": "int8",
    "s16": "int16",
    "s32": "int32",
    "s64": "int64",
    "u2": "uint2",
    "u4": "uint4",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f4e2m1fn": "float4_e2m1fn",
    "f8e5m2": "float8_e5m2",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
# Sizes around the multiples that the rule knows.
SIZES = [0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64]
SIZES += [65, 96, 100, 127, 128, 129, 192, 255, 256, 257, 300, 512, 513, 640]
SIZES += [1000, 1024, 1025, 2048, 4096]
MAX_ELEMENTS = 1 << 26


def random_shape(rng):
    """A shape of any type, of rank 0 to 6, without a layout."""
    while True:
        rank = rng.choice([0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6])
        dims = [
            rng.choice(SIZES) if rng.random() < 0.7 else rng.randint(1, 300)
            for _ in range(rank)
        ]
        elements = 1
        for size in dims:
            elements *= size
        if elements <= MAX_ELEMENTS:
            return "%s[%s]" % (rng.choice(list(DTYPES)), ",".join(map(str, dims)))


def ask(target, shapes):
    """The same shapes with the layouts that the compiler chooses."""
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
    os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
    os.environ.setdefault("TPU_WORKER_ID", "0")
    import jax
    import jax.numpy as jnp
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    jax.config.update("jax_enable_x64", True)
    topology = topologies.get_topology_desc(
        platform="tpu", topology_name=TOPOLOGIES[target]
    )
    here = SingleDeviceSharding(topology.devices[0])

    def argument(text):
        name, dims = re.fullmatch(r"(\w+)\[([\d,]*)\]", text).groups()
        dims = tuple(int(size) for size in dims.split(",") if size)
        return jax.ShapeDtypeStruct(dims, getattr(jnp, DTYPES[name]))

    function = jax.jit(
        lambda *arguments: jnp.float32(0),
        in_shardings=here,
        out_shardings=here,
        keep_unused=True,
    )
    answers = []
    for start in range(0, len(shapes), 250):
        arguments = map(argument, shapes[start : start + 250])
        header = function.lower(*arguments).compile().as_text().split("\n")[0]
        header = re.sub(r"/\*.*?\*/", "", header)
        layouts = re.search(r"entry_computation_layout=\{\((.*)\)->", header)
        answers += re.findall(r"\w+\[[\d,]*\](?:\{[^}]*\})?", layouts.group(1))
    assert len(answers) == len(shapes)
    return answers


def main():
    with open(sys.argv[1]) as file:
        data = json.load(file)
    rng = random.Random(2026)
    for target in TOPOLOGIES:
        shapes = [random_shape(rng) for _ in range(250)]
        data[target] = data.get(target, []) + ask(target, shapes)
    with open(sys.argv[1], "w") as file:
        json.dump(data, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
