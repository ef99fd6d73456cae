"""Programs for the TPU compiler: parts of models, and operations of all kinds.

`compile(target)` gives for each the text of its module and what the compiler
says of its memory. The compiler in the libtpu package needs no TPU.
"""

import os

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


def program(*shapes):
    """A function of arrays such as `f32[8,64]`, on one device."""

    def register(function):
        PROGRAMS[function.__name__] = function, [argument(s) for s in shapes]
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


def compile(target, choose=lambda names: names):
    """(name, text, argument bytes, output bytes) of the programs chosen."""
    topology = topologies.get_topology_desc(
        platform="tpu", topology_name=TOPOLOGIES[target]
    )
    here = SingleDeviceSharding(topology.devices[0])
    mesh = Mesh(np.array(topology.devices[:4]).reshape(2, 2), ("a", "b"))
    for name in choose([*PROGRAMS, *SHARDED]):
        if name in PROGRAMS:
            function, shapes = PROGRAMS[name]
            jitted = jax.jit(function, in_shardings=here, out_shardings=here)
        else:
            function, shapes, axes, result = SHARDED[name]
            jitted = jax.jit(
                function,
                in_shardings=tuple(NamedSharding(mesh, a) for a in axes),
                out_shardings=NamedSharding(mesh, result),
            )
        compiled = jitted.lower(*shapes).compile()
        memory = compiled.memory_analysis()
        yield (
            name,
            compiled.as_text(),
            memory.argument_size_in_bytes,
            memory.output_size_in_bytes,
        )


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
