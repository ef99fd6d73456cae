"""Programs for the TPU compiler: parts of models, and operations of all kinds.

`compile(target)` gives for each the text of its module and what the compiler
says of its memory. The compiler in the libtpu package needs no TPU.
"""

import functools
import os
import pathlib
import tempfile
from typing import Callable, NamedTuple

os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ.setdefault("TPU_WORKER_ID", "0")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding  # noqa: E402

TOPOLOGIES = {
    "tpu_v4": "v4:2x2x1",
    "tpu_v5e": "v5e:2x2",
    "tpu_v5p": "v5p:2x2x1",
    "tpu_v6e": "v6e:2x2",
}
TYPES = {
    "pred": "bool_",
    "s4": "int4",
    "u4": "uint4",
    "s8": "int8",
    "u8": "uint8",
    "s16": "int16",
    "s32": "int32",
    "u32": "uint32",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "c64": "complex64",
}
NHWC = ("NHWC", "HWIO", "NHWC")

PROGRAMS = {}
SHARDED = {}


class Program(NamedTuple):
    """A function of arrays, and which of them are donated or in host memory."""

    function: Callable
    arguments: list
    donate: tuple = ()
    host_arguments: tuple = ()
    host_result: bool = False


class Compiled(NamedTuple):
    """What the compiler makes of a program, and what it says of memory."""

    name: str
    text: str
    memory: object
    before_optimizations: str
    buffer_assignment: str
    live_ranges: str


def program(*shapes, **options):
    """A function of arrays such as `f32[8,64]`, on one device."""

    def register(function):
        arguments = [argument(s) for s in shapes]
        PROGRAMS[function.__name__] = Program(function, arguments, **options)
        return function

    return register


def sharded(result, *arguments):
    """A function on a mesh of 2 x 2 devices; arguments are (shape, axes)."""

    def register(function):
        shapes = [argument(shape) for shape, _ in arguments]
        axes = [PartitionSpec(*a) for _, a in arguments]
        SHARDED[function.__name__] = function, shapes, axes, PartitionSpec(*result)
        return function

    return register


def argument(text):
    name, dims = text.rstrip("]").split("[")
    sizes = tuple(int(d) for d in dims.split(",") if d)
    return jax.ShapeDtypeStruct(sizes, getattr(jnp, TYPES[name]))


def lower(name, devices):
    """A program for one device or, of those sharded, for four."""
    if name in PROGRAMS:
        function, shapes, donate, host_arguments, host_result = PROGRAMS[name]
        here = SingleDeviceSharding(devices[0])
        host = SingleDeviceSharding(devices[0], memory_kind="pinned_host")
        inputs = [host if i in host_arguments else here for i in range(len(shapes))]
        options = {
            "in_shardings": tuple(inputs),
            "out_shardings": host if host_result else here,
            "donate_argnums": donate,
        }
        return jax.jit(function, **options).lower(*shapes)
    mesh = Mesh(np.array(devices[:4]).reshape(2, 2), ("a", "b"))
    function, shapes, axes, result = SHARDED[name]
    inputs = tuple(NamedSharding(mesh, a) for a in axes)
    output = NamedSharding(mesh, result)
    with jax.set_mesh(mesh):
        return jax.jit(function, in_shardings=inputs, out_shardings=output).lower(*shapes)


def compile(target, choose=lambda names: names):
    """What the compiler makes for `target` of the programs chosen."""
    topology = topologies.get_topology_desc(
        platform="tpu", topology_name=TOPOLOGIES[target]
    )
    for name in choose([*PROGRAMS, *SHARDED]):
        with tempfile.TemporaryDirectory() as folder:
            options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
            try:
                lowered = lower(name, topology.devices)
                compiled = lowered.compile(compiler_options=options)
                text = compiled.as_text()
            except jax.errors.JaxRuntimeError as error:
                # Some results jaxlib cannot read, such as a newer async-update.
                print(f"{target} {name}: no module: {str(error)[:100]}")
                continue
            dumped = [
                next(pathlib.Path(folder).glob(f"*.{kind}.txt")).read_text()
                for kind in (
                    "before_optimizations",
                    "after_optimizations-buffer-assignment",
                    "after_optimizations-live-range",
                )
            ]
        yield Compiled(name, text, compiled.memory_analysis(), *dumped)


# Attention, in its variants.


@program("bf16[2,4,256,64]", "bf16[2,4,256,64]", "bf16[2,4,256,64]")
def causal_attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    scores = jnp.where(jnp.tril(jnp.ones((256, 256), bool)), scores, -1e9)
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(jnp.bfloat16)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)


@program("f32[1,300,8,40]", "f32[1,300,2,40]", "f32[1,300,2,40]")
def grouped_attention(q, k, v):
    k, v = jnp.repeat(k, 4, 2), jnp.repeat(v, 4, 2)
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


@program("bf16[4,1,8,128]", "bf16[4,2048,8,128]", "bf16[4,1,8,128]", "s32[]")
def decoding_cache(q, cache, new, position):
    cache = lax.dynamic_update_slice(cache, new, (0, position, 0, 0))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, cache).astype(jnp.float32)
    weights = jax.nn.softmax(jnp.where(jnp.arange(2048) <= position, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(jnp.bfloat16), cache), cache


@program("s32[16,32]", "bf16[1000,24]")
def rotary_embedding(tokens, table):
    x = table[tokens].astype(jnp.float32)
    angle = jnp.arange(32)[:, None] * jnp.exp(-jnp.arange(12) / 12.0)
    cos, sin, u, v = jnp.cos(angle), jnp.sin(angle), x[..., :12], x[..., 12:]
    return jnp.concatenate([u * cos - v * sin, u * sin + v * cos], -1)


@program("bf16[8,128,256]", "bf16[4,256,512]", "bf16[4,512,256]", "bf16[256,4]")
def experts(x, up, down, gate):
    shares = jax.nn.softmax((x @ gate).astype(jnp.float32)).astype(jnp.bfloat16)
    hidden = jax.nn.gelu(jnp.einsum("btd,edf->ebtf", x, up))
    return jnp.einsum("ebtd,bte->btd", jnp.einsum("ebtf,efd->ebtd", hidden, down), shares)


# Training.


@program("f32[128,512]", "f32[512]", "f32[512]")
def layer_norm_gradient(x, scale, bias):
    def loss(x, scale, bias):
        centred = x - x.mean(-1, keepdims=True)
        normal = centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return ((normal * scale + bias) ** 3).sum()

    return jax.grad(loss, (0, 1, 2))(x, scale, bias)


@program("f32[32,784]", "f32[784,300]", "f32[300,10]", "s32[32]")
def classifier_step(x, w1, w2, labels):
    def loss(w1, w2):
        logits = jax.nn.log_softmax(jax.nn.relu(x @ w1) @ w2)
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    value, gradients = jax.value_and_grad(loss, (0, 1))(w1, w2)
    return value, w1 - 0.1 * gradients[0], w2 - 0.1 * gradients[1]


@program("f32[1000,50]", "f32[1000,50]", "f32[1000,50]", "f32[1000,50]")
def adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


@program("f32[20,8,30]", "f32[30,30]")
def recurrent_gradient(inputs, weights):
    def loss(weights):
        def step(state, x):
            state = jnp.tanh(state @ weights + x)
            return state, (state**2).sum()

        return lax.scan(step, jnp.zeros((8, 30)), inputs)[1].sum()

    return jax.grad(loss)(weights)


@program("f32[50,16,40]", "f32[40,120]", "f32[40,120]")
def gated_recurrence(inputs, wx, wh):
    def step(state, x):
        a, b = x @ wx, state @ wh
        gate = jax.nn.sigmoid(a[:, :40] + b[:, :40])
        state = gate * state + (1 - gate) * jnp.tanh(a[:, 80:] + b[:, 80:])
        return state, state

    return lax.scan(step, jnp.zeros((16, 40)), inputs)


# Convolutions and images.


@program("f32[8,32,32,16]", "f32[3,3,16,32]", "f32[1,1,32,16]")
def residual_block(x, w1, w2):
    y = lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=NHWC)
    y = jax.nn.relu(y)
    return x + lax.conv_general_dilated(y, w2, (1, 1), "SAME", dimension_numbers=NHWC)


@program("bf16[2,28,28,12]", "bf16[3,3,1,12]")
def depthwise_convolution(x, w):
    return lax.conv_general_dilated(
        x, w, (2, 2), "SAME", dimension_numbers=NHWC, feature_group_count=12
    )


@program("f32[2,14,14,8]", "f32[4,4,8,3]")
def transposed_convolution(x, w):
    return lax.conv_transpose(x, w, (2, 2), "SAME")


@program("f32[4,33,17]", "f32[5,17,9]")
def dilated_convolution(x, w):
    numbers = ("NWC", "WIO", "NWC")
    return lax.conv_general_dilated(
        x, w, (1,), "SAME", rhs_dilation=(2,), dimension_numbers=numbers
    )


@program("f32[4,30,30,10]")
def pooling(x):
    most = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return most, lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program("u8[4,64,64,3]")
def resized_image(x):
    x = x.astype(jnp.float32) / 255
    return jax.image.resize(x, (4, 32, 48, 3), "bilinear")


# Indices, order, control flow.


@program("f32[500,60]", "s32[7,3]")
def gathers(table, i):
    return table[i], jnp.take_along_axis(table[:7], i, 1), table[i[:, 0], i[:, 1]]


@program("f32[500,60]", "s32[40]", "f32[40,60]")
def scatters(table, i, updates):
    return table.at[i].add(updates), table.at[i].max(updates)


@program("s32[100]", "f32[100,8]")
def segment_sum(i, x):
    return jax.ops.segment_sum(x, i, num_segments=13)


@program("s32[1000]", "f32[1000]")
def sorted_pairs(keys, values):
    return lax.sort((keys, values), num_keys=1)


@program("bf16[16,5000]")
def largest(x):
    return lax.top_k(x, 10)


@program("s32[]", "f32[100]")
def nested_loops(n, x):
    def body(carry):
        i, x = carry
        return i + 1, lax.fori_loop(0, i, lambda j, y: jnp.sin(y) + j, x)

    return lax.while_loop(lambda carry: carry[0] < n, body, (0, x))


@program("s32[]", "f32[20,30]", "bf16[20,30]")
def branches(i, x, y):
    table = [lambda x, y: x, lambda x, y: x + y, lambda x, y: y.astype(jnp.float32)]
    return lax.switch(i, table, x, y), lax.cond(i > 2, lambda: x, lambda: x * 2)


@program("f32[300]")
def prefix_sums(x):
    return lax.associative_scan(jnp.add, x), lax.cumprod(x), lax.cummax(x)


@program("f32[100,33]", "s32[]", "s32[]")
def dynamic_slices(x, i, j):
    return lax.dynamic_slice(x, (i, j), (10, 7)), lax.dynamic_index_in_dim(x, i)


# Types.


@program("s4[64,96]", "u4[64,96]", "bf16[8,64]")
def four_bits(a, b, x):
    return x @ a.astype(jnp.bfloat16), a.astype(jnp.int8) + b.astype(jnp.int8)


@program("f8e4m3fn[33,77]", "f8e5m2[77,20]")
def eight_bit_floats(a, b):
    product = a.astype(jnp.float32) @ b.astype(jnp.float32)
    return product, a.astype(jnp.bfloat16), b[::2].astype(jnp.float16)


@program("s8[128,128]", "s8[128,128]")
def quantized_product(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.int32)


@program("u8[9,130]", "u8[9,130]")
def bytes_and_bits(a, b):
    return a + b, a >> 2, lax.population_count(b), jnp.bitwise_xor(a, b)


@program("s16[9,300]", "f16[9,300]")
def sixteen_bits(a, b):
    return a * 2, a.T, lax.bitcast_convert_type(a, jnp.bfloat16), b * b


@program("pred[200,7]", "pred[200,7]")
def masks(a, b):
    return a & b, ~a, a.sum(0), jnp.where(a, 1.0, 2.0), a.T.reshape(35, 40)


@program("c64[10,11]", "c64[11,12]")
def complex_numbers(a, b):
    return a @ b, jnp.conj(a), jnp.abs(a), jnp.exp(a)


@program("c64[32,60]", "f32[3,128]")
def fourier(x, y):
    return jnp.fft.fft(x), jnp.abs(jnp.fft.rfft(y))


@program("u32[2]")
def random_numbers(key):
    return jax.random.normal(key, (50, 30)), jax.random.bernoulli(key, 0.3, (7, 9))


# Shapes.


@program("f32[5,6,7,8,9]")
def five_dimensions(x):
    return x.transpose(4, 2, 0, 1, 3), x.sum((1, 3)), x.reshape(30, 7, 72)


@program("bf16[2,3,2,3,2,3,2]")
def seven_dimensions(x):
    return x.transpose(6, 5, 4, 3, 2, 1, 0), jnp.flip(x, (0, 3))


@program("f32[130,200]")
def paddings(x):
    return jnp.pad(x, ((1, 2), (3, 4))), jnp.roll(x, 5, 1), jnp.tile(x, (1, 2))


@program("f32[3,5,7]", "f32[0,4]")
def nothing(x, empty):
    return empty.sum(0), jnp.zeros((0,)), x[:, :0], x.max()


@program("f32[4,24,24]", "f32[4,24,5]")
def triangular_solve(a, b):
    return lax.linalg.triangular_solve(jnp.tril(a), b, left_side=True, lower=True)


@program("f32[4,8]")
def nested_results(x):
    return {"a": (x, x + 1), "b": [x * 2, (x.T,)]}

# Memory that is written in place: donated arguments, updates, loops.


@program("bf16[4,2048,8,128]", "bf16[4,1,8,128]", "s32[]", donate=(0,))
def donated_cache(cache, new, position):
    return lax.dynamic_update_slice(cache, new, (0, position, 0, 0))


@program(*["bf16[2,512,4,64]"] * 4, "bf16[2,1,4,64]", "s32[]", donate=(0, 1, 2, 3))
def donated_caches(k0, v0, k1, v1, x, position):
    def update(cache):
        return lax.dynamic_update_slice(cache, x, (0, position, 0, 0))

    caches = []
    for k, v in (k0, v0), (k1, v1):
        k, v = update(k), update(v)
        scores = jnp.einsum("bqhd,bkhd->bhqk", x, k).astype(jnp.float32)
        weights = jax.nn.softmax(jnp.where(jnp.arange(512) <= position, scores, -1e9))
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights.astype(jnp.bfloat16), v)
        caches.append((k, v))
    return x, caches


@program(*["f32[700,300]"] * 4, donate=(0, 2, 3))
def donated_adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


@program("f32[64,256]", *["f32[256,256]"] * 4, "f32[64,256]", donate=(1, 2, 3, 4))
def momentum_step(x, w0, w1, m0, m1, y):
    def loss(w0, w1):
        return ((jax.nn.relu(x @ w0) @ w1 - y) ** 2).mean()

    g0, g1 = jax.grad(loss, (0, 1))(w0, w1)
    m0, m1 = 0.9 * m0 + g0, 0.9 * m1 + g1
    return w0 - 0.1 * m0, w1 - 0.1 * m1, m0, m1


@program("f32[1024,512]", "s32[100]", "f32[100,512]", donate=(0,))
def donated_scatter(table, i, updates):
    return table.at[i].add(updates)


@program("f32[512,640]", donate=(0,))
def donated_loop(x):
    return lax.fori_loop(0, 10, lambda i, x: jnp.sin(x) @ jnp.ones((640, 640)) * 0.1, x)


@program("f32[256,256]", donate=(0,))
def donated_transpose(x):
    return x.T + 1


@program("f32[100,100]", "f32[100,100]", donate=(0, 1))
def swapped(x, y):
    return y, x


@program("f32[64,128,256]")
def updates_in_loop(x):
    return lax.fori_loop(0, 64, lambda i, x: x.at[i].set(jnp.sin(x[i]) + x[i - 1]), x)


@program("f32[128,1024]", "f32[1024]")
def stacked_results(x, w):
    def step(state, row):
        state = jnp.tanh(state * w + row)
        return state, (state, state.sum(), state[:100])

    return lax.scan(step, jnp.zeros(1024), x)


@program("f32[1024,128]", "f32[10,128]", "f32[20,128]", "s32[]")
def several_updates(x, a, b, i):
    x = jnp.sin(x)
    x = lax.dynamic_update_slice(x, a, (i, 0))
    x = lax.dynamic_update_slice(x * 2, b, (i + 10, 0))
    return lax.dynamic_update_slice(x, a + 1, (i + 50, 0))


@program("f32[512,512]", "f32[512,512]", "s32[]")
def update_kept(x, y, i):
    z = x @ y
    return z, lax.dynamic_update_slice(z, x[:8], (i, 0)), z.sum()


@program("f32[1000,200]", "s32[300]", "f32[300,200]")
def scatter_chain(x, i, u):
    x = jnp.cos(x).at[i].add(u)
    x = x.at[i + 1].mul(u)
    return x.at[i // 2].min(u)


@program("s32[3000]")
def histogram(x):
    return jnp.zeros(1000, jnp.int32).at[x].add(1), jnp.bincount(x, length=64)


# Order.


@program("f32[20000]", "s32[20000]", "f32[20000]", "s32[20000]")
def sorted_many(a, b, c, d):
    return lax.sort((a, b, c, d), num_keys=2)


@program("bf16[64,2000]")
def argsort(x):
    return jnp.argsort(x, axis=1)


@program("f32[300,400]")
def sorted_columns(x):
    return jnp.sort(x * 2, axis=0), jnp.sort(x, axis=1)


@program("f32[1000]", "f32[1000,64]")
def sorted_rows(keys, rows):
    return rows[jnp.argsort(keys)]


@program("f32[40,3000]")
def medians(x):
    return jnp.median(x, axis=1), jnp.quantile(x, 0.9, axis=1)


@program("s32[5000]")
def unique_values(x):
    return jnp.unique(x, size=100, fill_value=-1)


@program("f32[100,1000]", "f32[50]")
def searched(x, v):
    return jax.vmap(lambda row: jnp.searchsorted(row, v))(jnp.sort(x))


@program("f32[8,32000]", "u32[2]")
def sampling(logits, key):
    top, index = lax.top_k(logits, 50)
    choice = jax.random.categorical(key, top)
    return jnp.take_along_axis(index, choice[:, None], 1)


# Layers of models, with gradients.


def attention(x, wq, wk, wv, wo, heads):
    b, t, d = x.shape
    q, k, v = ((x @ w).reshape(b, t, heads, d // heads) for w in (wq, wk, wv))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mixed.reshape(b, t, d) @ wo


@program("f32[2,256,256]", *["f32[256,256]"] * 4)
def attention_gradient(x, *weights):
    return jax.grad(lambda w: (attention(x, *w, 4) ** 2).sum())(weights)


@program("bf16[2,512,512]", *["bf16[512,512]"] * 4, "bf16[512,2048]", "bf16[2048,512]")
def transformer_layer(x, wq, wk, wv, wo, up, down):
    x = x + attention(x / 2, wq, wk, wv, wo, 8)
    return x + jax.nn.gelu(x @ up) @ down


@program("f32[4,128,128]", "f32[6,4,128,128]", "f32[6,128,512]", "f32[6,512,128]")
def scanned_layers_gradient(x, a, up, down):
    def layer(x, weights):
        a, up, down = weights
        x = x + attention(x, *a, 4)
        return x + jax.nn.relu(x @ up) @ down, None

    def loss(weights):
        return lax.scan(jax.checkpoint(layer), x, weights)[0].sum()

    return jax.grad(loss)((a, up, down))


@program("bf16[2,1024,4,64]", "bf16[2,1024,4,64]", "bf16[2,1024,4,64]")
def blocked_attention(q, k, v):
    def step(state, block):
        most, total, result = state
        k, v = block
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)
        new = jnp.maximum(most, scores.max(-1))
        share = jnp.exp(scores - new[..., None])
        scale = jnp.exp(most - new)
        total = total * scale + share.sum(-1)
        result = result * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", share, v)
        return (new, total, result), None

    blocks = [x.reshape(2, 8, 128, 4, 64).swapaxes(0, 1) for x in (k, v)]
    zero = jnp.zeros((2, 4, 1024))
    state = zero - 1e9, zero, jnp.zeros((2, 4, 1024, 64))
    most, total, result = lax.scan(step, state, tuple(blocks))[0]
    return result / total[..., None]


@program("f32[256,128]", "f32[128,8]", "f32[8,128,256]", "f32[8,256,128]")
def routed_experts(x, gate, up, down):
    shares, choice = lax.top_k(jax.nn.softmax(x @ gate), 2)
    position = (jnp.cumsum(jax.nn.one_hot(choice, 8).sum(1), 0) - 1).astype(jnp.int32)
    slot = jnp.take_along_axis(position, choice, 1)
    inputs = jnp.zeros((8, 80, 128)).at[choice, slot].add(x[:, None], mode="drop")
    outputs = jax.nn.silu(inputs @ up) @ down
    return (outputs[choice, slot] * shares[..., None]).sum(1)


@program("s32[64,32]", "f32[5000,64]", "f32[64,5000]")
def language_model_gradient(tokens, table, head):
    def loss(table, head):
        logits = jax.nn.log_softmax(table[tokens[:, :-1]] @ head)
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], 2).mean()

    return jax.value_and_grad(loss, (0, 1))(table, head)


@program("f32[30,16,64]", "f32[64,256]", "f32[64,256]", "f32[256]")
def lstm_gradient(inputs, wx, wh, bias):
    def loss(wx, wh, bias):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ wx + h @ wh + bias, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((16, 64))
        return (lax.scan(step, (zero, zero), inputs)[1] ** 2).sum()

    return jax.grad(loss, (0, 1, 2))(wx, wh, bias)


@program("f32[8,32,32,3]", "f32[3,3,3,16]", "f32[3,3,16,32]", "f32[2048,10]")
def convolution_gradient(x, w1, w2, w3):
    def loss(weights):
        y = x
        for w in weights[:2]:
            y = lax.conv_general_dilated(y, w, (1, 1), "SAME", dimension_numbers=NHWC)
            y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return (y.reshape(8, -1) @ weights[2]).sum()

    return jax.grad(loss)((w1, w2, w3))


@program("f32[16,16,16,64]", "f32[64]", "f32[64]")
def batch_norm_gradient(x, scale, bias):
    def loss(x, scale, bias):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        y = (x - mean) * lax.rsqrt(var + 1e-5) * scale + bias
        return (jax.nn.relu(y) ** 2).sum()

    return jax.grad(loss, (0, 1, 2))(x, scale, bias)


@program("bf16[1,8,8,8,16]", "bf16[3,3,3,16,32]")
def volume_convolution(x, w):
    numbers = ("NDHWC", "DHWIO", "NDHWC")
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=numbers)


@program("bf16[64,1024]", "s8[1024,2048]", "f32[2048]")
def quantized_weights(x, w, scale):
    return (x @ w.astype(jnp.bfloat16)).astype(jnp.float32) * scale


@program("bf16[32,512]", "s4[512,1024]", "bf16[4,1024]")
def grouped_four_bits(x, w, scale):
    w = w.astype(jnp.bfloat16).reshape(4, 128, 1024) * scale[:, None]
    return x @ w.reshape(512, 1024)


@program("f32[64,300]", "f32[300,500]")
def dynamic_quantization(x, w):
    sx, sw = jnp.abs(x).max(1, keepdims=True) / 127, jnp.abs(w).max(0) / 127
    qx, qw = (x / sx).round().astype(jnp.int8), (w / sw).round().astype(jnp.int8)
    return lax.dot(qx, qw, preferred_element_type=jnp.int32) * sx * sw


@program("f32[400,300]", "f32[400,300]", "f32[400]", "f32[300]", donate=(0, 2, 3))
def adafactor(p, g, rows, columns):
    square = g * g + 1e-30
    rows = 0.9 * rows + 0.1 * square.mean(1)
    columns = 0.9 * columns + 0.1 * square.mean(0)
    estimate = rows[:, None] * columns / rows.mean()
    return p - 0.01 * g * lax.rsqrt(estimate), rows, columns


@program("f32[200,200]", "f32[200,200]")
def orthogonalized_momentum(m, g):
    x = 0.9 * m + g
    x = x / jnp.linalg.norm(x)
    for _ in range(5):
        a = x @ x.T
        x = 3.4 * x + (-4.8 * a + 2.0 * a @ a) @ x
    return x


# Algorithms with loops.


@program("f32[60,60]")
def cholesky(a):
    return jnp.linalg.cholesky(a @ a.T + jnp.eye(60))


@program("f32[40,24]")
def qr(a):
    return jnp.linalg.qr(a)


@program("f32[16,16]")
def eigenvalues(a):
    return jnp.linalg.eigh(a + a.T)


@program("f32[3,30,30]", "f32[3,30,4]")
def linear_solve(a, b):
    return jnp.linalg.solve(a, b)


@program("f32[50,50]")
def matrix_exponential(a):
    return jax.scipy.linalg.expm(a)


@program("f32[256,256]")
def stencil(x):
    def step(_, x):
        return (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)) / 4

    return lax.fori_loop(0, 20, step, x)


@program("f32[1000,8]", "f32[16,8]")
def clusters(points, centres):
    def step(_, centres):
        distance = ((points[:, None] - centres) ** 2).sum(-1)
        choice = jax.nn.one_hot(distance.argmin(1), 16)
        return choice.T @ points / (choice.sum(0)[:, None] + 1e-6)

    return lax.fori_loop(0, 10, step, centres)


@program("f32[200,300]")
def fractal(x):
    def step(state):
        z, n = state
        z = z * z + x
        return z, n + (jnp.abs(z) < 2)

    def more(state):
        return state[1].max() < 50

    return lax.while_loop(more, step, (x, jnp.zeros(x.shape, jnp.int32)))


@program("s32[]", "f32[512,512]", "f32[512,512]")
def large_branches(i, x, y):
    return lax.cond(i > 0, lambda: jnp.sin(x @ y) @ x, lambda: x + y)


@program("c64[64,128]", "f32[4,100,60]")
def fourier_images(x, y):
    return jnp.fft.fft2(x), jnp.fft.ifft(x), jnp.fft.rfft2(y), jnp.fft.irfft(x)


@program("u32[2]", "f32[512,1024]")
def dropout(key, x):
    return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


@program("u32[2]")
def shuffled(key):
    return jax.random.permutation(key, 3000), jax.random.normal(key, (300, 200))


@program("f32[256,1024]", "f32[1024,1024]", "f32[1024,512]")
def barrier(x, a, b):
    y = lax.optimization_barrier(x @ a)
    return lax.optimization_barrier((y @ b, y))


@program("f32[1024,1024]", "f32[1024,1024]")
def product_chain(a, b):
    for _ in range(6):
        a, b = jnp.tanh(a @ b), jnp.sin(b @ a)
    return a


@program("bf16[4096,4096]", "bf16[4096,4096]", "bf16[4096,4096]")
def large_product(a, b, c):
    return jax.nn.relu(a @ b) @ c + a.T


@program("f32[3000,3000]")
def large_normalization(x):
    x = (x - x.mean(0)) / (x.std(0) + 1e-5)
    return x @ x.T, jax.nn.softmax(x, 0)


@program("f32[7,300,500]", "f32[7,300,500]")
def rearranged(x, y):
    z = jnp.concatenate([x, y], 0).transpose(2, 0, 1).reshape(500, 4200)
    return jnp.flip(z, 1)[::2], jnp.pad(z, ((0, 12), (3, 0))), z.reshape(-1)[:1000]


# Arrays in the host's memory.


@program("f32[512,256]", "f32[256,128]", host_arguments=(0,))
def host_argument(x, w):
    return jax.device_put(x, jax.memory.Space.Device) @ w


@program("f32[512,256]", "f32[256,640]", host_result=True)
def host_result(x, w):
    return jax.device_put(jnp.sin(x @ w), jax.memory.Space.Host)


@program("f32[512,256]", "f32[512,256]", host_arguments=(1,))
def host_optimizer(x, m):
    m = 0.9 * jax.device_put(m, jax.memory.Space.Device) + x
    return x - m, jax.device_put(m, jax.memory.Space.Host).sum()


@program("f32[8,512,256]", "f32[512,512]", host_arguments=(0,))
def host_layers(weights, x):
    def layer(x, w):
        return x + (x @ jax.device_put(w, jax.memory.Space.Device)) @ jnp.ones((256, 512)), None

    return lax.scan(layer, x, weights)[0]


@program("f32[1024,1024]", "f32[1024,1024]")
def host_activation(x, w):
    y = jnp.sin(x @ w)
    kept = jax.device_put(y, jax.memory.Space.Host)
    z = jnp.tanh(y @ w) @ w
    return z + jax.device_put(kept, jax.memory.Space.Device)


# Collectives.


@sharded(("a", None), ("f32[64,128]", ("a", "b")), ("f32[128,96]", ("b", None)))
def all_reduced_product(x, w):
    return x @ w


@sharded((), ("bf16[64,128]", ("a", None)), ("bf16[128,96]", (None, "b")))
def all_gathered_product(x, w):
    return x @ w


@sharded(("b", "a"), ("f32[64,128]", ("a", "b")))
def resharded(x):
    return jnp.sin(x)


@sharded((None, "a"), ("f32[64,128]", ("a", None)))
def all_to_all(x):
    return x * 2


@sharded(
    (("a", "b"), None, None),
    ("bf16[8,64,128]", (("a", "b"), None, None)),
    ("bf16[128,512]", (None, "b")),
    ("bf16[512,128]", ("b", None)),
)
def sharded_layers(x, up, down):
    return jax.nn.gelu(x @ up) @ down


@sharded(("a", "b"), ("f32[64,128]", ("a", "b")), ("f32[64,128]", ("a", "b")))
def sharded_step(w, x):
    return w - 0.1 * jax.grad(lambda w: ((x * w) @ w.T).sum())(w)


@sharded(
    ("a", "b", None, None),
    ("f32[4,32,32,8]", ("a", "b", None, None)),
    ("f32[3,3,8,8]", ()),
)
def halo_exchange(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC)

def mapped(result, *arguments):
    """The same of a function that is run by each device of the mesh."""

    def register(function):
        axes = tuple(PartitionSpec(*a) for _, a in arguments)

        @functools.wraps(function)
        def whole(*values):
            return jax.shard_map(
                function, in_specs=axes, out_specs=PartitionSpec(*result), check_vma=False
            )(*values)

        return sharded(result, *arguments)(whole)

    return register


@mapped(("a", None), ("f32[256,512]", ("a", None)))
def ring(x):
    total = x
    for _ in range(3):
        x = lax.ppermute(x, "b", [(0, 1), (1, 0)])
        total = total + jnp.sin(x)
    return total


@mapped((None, "b"), ("bf16[512,256]", ("a", "b")))
def gathered(x):
    return lax.all_gather(x, "a", tiled=True) * 2


@mapped(("a", "b"), ("f32[512,256]", ("a", "b")))
def exchanged(x):
    return jnp.sin(lax.all_to_all(x, "a", 1, 0, tiled=True)).reshape(x.shape)


@mapped(("a", None), ("f32[1024,512]", (None, None)))
def reduced_and_scattered(x):
    return lax.psum_scatter(jnp.cos(x), "a", scatter_dimension=0, tiled=True)


@mapped((), ("f32[1024,512]", ("a", None)), ("f32[100]", ()))
def several_reductions(x, y):
    return lax.psum((jnp.sin(x), y + 1), "a")[0], lax.pmax(x, "b").sum()


@sharded(
    (),
    ("f32[256,1024]", ("a", None)),
    ("f32[1024,512]", ("b", None)),
    ("f32[512,1024]", (None, "b")),
)
def sharded_gradient(x, w1, w2):
    def loss(w1, w2):
        return (jax.nn.gelu(x @ w1) @ w2).var()

    return sum(g.sum() for g in jax.grad(loss, (0, 1))(w1, w2))


@sharded(
    ("a", None, None),
    ("bf16[8,256,512]", ("a", None, None)),
    ("bf16[4,512,512]", (None, "b", None)),
    ("bf16[4,512,512]", (None, None, "b")),
)
def sharded_scan(x, up, down):
    def layer(x, w):
        return x + jax.nn.relu(x @ w[0]) @ w[1], None

    return lax.scan(layer, x, (up, down))[0]


@sharded(("a", None), ("s32[64]", ("a",)), ("f32[8000,128]", ("b", None)))
def sharded_embedding(tokens, table):
    return table[tokens]
