"""Arguments of the programs in pallas_kernels.py, and what they compute, by numpy alone."""

import math
import zlib

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
CASES = {}


def case(*arguments):
    """Names the arguments: (shape, type), or an array."""

    def add(function):
        CASES[function.__name__] = (arguments, function)
        return function

    return add


def draw(name):
    """The arguments of a program."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))

    def draw_array(argument):
        if isinstance(argument, np.ndarray):
            return argument
        shape, dtype = argument
        if np.issubdtype(dtype, np.bool_):
            return rng.integers(0, 2, shape).astype(dtype)
        if np.issubdtype(dtype, np.integer):
            return rng.integers(0, 8, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    return [draw_array(argument) for argument in CASES[name][0]]


def evaluate(name, arguments):
    """The results, floating-point ones in double precision."""
    wide = [a if a.dtype.kind in "iub" else a.astype(np.float64) for a in arguments]
    results = CASES[name][1](*wide)
    return results if isinstance(results, tuple) else (results,)


def get_tolerance(name):
    """Of the largest number of a result: bf16 in the kernel decides."""
    has_bf16 = name == "attention_paged" or any(a.dtype == BF16 for a in draw(name))
    return 2e-2 if has_bf16 else 1e-4


F32 = np.float32
X8 = ((8, 128), F32)


@case(((20, 300), F32), ((20, 300), F32))
def add(x, y):
    return x + 2 * y


@case(((200, 384), F32), ((384, 260), F32))
def matmul(x, y):
    return x @ y


@case(((72, 256), BF16), ((256, 300), BF16))
def matmul_bf16(x, y):
    return x @ y


@case(((24, 200), F32))
def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@case(((35, 256), BF16), ((256,), F32), ((256,), F32))
def layer_norm(x, scale, bias):
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-6) * scale + bias


@case(np.array([3, 7, 0, 5], np.int32), ((64, 128), F32))
def prefetch(order, x):
    return (x.reshape(8, 8, 128)[order] * order[:, None, None]).reshape(32, 128)


@case(np.array([3], np.int32), ((40, 128), F32))
def dynamic_grid(count, x):
    return np.concatenate([x[: 8 * count[0]] * 2, x[8 * count[0] :]])


@case(((64, 256), F32))
def manual_copies(x):
    return x * 2 + 1


@case(((32, 128), F32))
def pipeline(x):
    return x + 1


@case(((16, 256), F32), ((16, 256), F32))
def in_place(x, y):
    return x + 3 * y


@case(((33, 200), F32))
def masked_sum(x):
    return np.pad(x.sum(axis=0, keepdims=True), ((0, 0), (0, 56)))


@case(((4, 8, 128), F32))
def squeezed(x):
    return x + np.arange(4)[:, None, None]


@case(X8)
def scoped(x):
    return x + 1


@case(((40, 256), F32))
def rotate(x):
    even = np.arange(256) % 2 == 0
    return np.where(even, np.roll(x, 3, axis=1), x) + np.roll(x, 1, axis=0)


@case(((19, 130), F32))
def elementwise(x):
    erf = np.vectorize(math.erf)(x)
    values = np.tanh(x) + np.exp2(x) + np.sqrt(np.abs(x)) + np.log(np.abs(x) + 1) + 1 / (1 + np.exp(-x))
    values += np.sin(x) * np.cos(x) + erf + np.floor(x) + np.ceil(x) + np.round(x) + np.sign(x)
    values += x**3 + np.clip(x, -1, 1) + 1 / (x * x + 1) + 1
    i = x.astype(np.int32)
    return values, (((i << 2) | (i >> 1)) ^ (i & 3)) + np.where(x > 0, i // 3, i % 3)


@case(X8)
def while_loop(x):
    return x * 10


@case(np.array([6], np.int32), X8)
def repeated(count, x):
    return x * count[0]


@case(np.array([2], np.int32), X8)
def chosen(number, x):
    return [x + 1, x * 2, -x][number[0]]


@case(X8)
def signals(x):
    return x + 1


@case(((16, 128), F32))
def strided(x):
    return np.stack([x[1::2] * 2, x[::2]], axis=1).reshape(16, 128)


@case(X8)
def masked_store(x):
    return np.where(x > 0, x, 0)


@case(X8, ((8, 128), np.int32))
def gather(x, index):
    return np.take_along_axis(x, index, axis=0)


@case(X8)
def positions(x):
    return np.broadcast_to(x.argmax(axis=1, keepdims=True), x.shape).astype(np.int32)


@case(((3,), np.int32))
def scalars(numbers):
    return np.array([numbers[0] + numbers[1], numbers[2]], np.int32)


# Both halves of these are numbers of bf16.
HALVES = np.random.default_rng(3).standard_normal((8, 256)).astype(BF16).view(np.float32)


@case(HALVES)
def packed(x):
    halves = x.astype(F32).view(BF16).astype(np.float64)
    return halves.reshape(8, 128, 2).transpose(0, 2, 1).reshape(16, 128)


@case(((24, 256), np.int8), ((256, 128), np.int8))
def integer_product(x, y):
    return x.astype(np.int32) @ y.astype(np.int32)


@case(((2, 64, 128), F32), ((2, 128, 128), F32))
def batched_product(x, y):
    return np.einsum("bij,bkj->bik", x, y)


@case(((8, 128), np.bool_), X8)
def by_mask(mask, x):
    return np.where(mask, x, 0)


@case(((32, 128), F32))
def above_zero(x):
    return x > 0


@case(((32, 128), np.int8), ((32, 128), np.uint8))
def from_bytes(x, y):
    return x * 2.0 + y


@case(X8)
def joined(x):
    return np.concatenate([x * 2, x * 0])


def attend(q, k, v, scale, causal):
    scores = np.einsum("...id,...jd->...ij", q, k) * scale
    if causal:
        scores = np.where(np.tri(scores.shape[-2], dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


QKV = ((2, 2, 256, 128), BF16)
QKV_F32 = ((1, 2, 256, 64), F32)


@case(QKV_F32, QKV_F32, QKV_F32)
def attention(q, k, v):
    return attend(q, k, v, 0.125, causal=False)


@case(QKV, QKV, QKV)
def attention_causal(q, k, v):
    return attend(q, k, v, 0.125, causal=True)


@case(QKV_F32, QKV_F32, QKV_F32)
def attention_gradients(q, k, v):
    """Of the sum of squares."""
    scores = np.einsum("bhid,bhjd->bhij", q, k) * 0.125
    p = softmax(np.where(np.tri(scores.shape[-2], dtype=bool), scores, -np.inf))
    d_out = 2 * (p @ v)
    d_v = np.einsum("bhij,bhid->bhjd", p, d_out)
    d_p = np.einsum("bhid,bhjd->bhij", d_out, v)
    d_scores = p * (d_p - (d_p * p).sum(axis=-1, keepdims=True)) * 0.125
    return d_scores @ k, np.einsum("bhij,bhid->bhjd", d_scores, q), d_v


@case(*[((2, 256, 128), F32)] * 3)
def attention_splash(q, k, v):
    return attend(q, k, v, 1, causal=True)


LENGTHS = np.array([37, 128, 5, 64], np.int32)
PAGES = np.random.default_rng(7).permutation(64)[:32].reshape(4, 8).astype(np.int32)


@case(((4, 8, 128), F32), ((2, 64, 16, 128), F32), ((2, 64, 16, 128), F32), LENGTHS, PAGES)
def attention_paged(q, k_pages, v_pages, lengths, pages):
    """Eight heads, four for each head of keys and values."""
    result = np.zeros_like(q)
    for b, h in np.ndindex(4, 8):
        k, v = (p[h // 4][pages[b]].reshape(-1, 128)[: lengths[b]] for p in (k_pages, v_pages))
        result[b, h] = softmax(k @ q[b, h]) @ v
    return result


@case(((256, 128), F32), ((4, 128, 128), F32), np.array([40, 88, 0, 128], np.int32))
def grouped_product(x, y, sizes):
    parts = np.split(x, np.cumsum(sizes)[:-1])
    return np.concatenate([part @ matrix for part, matrix in zip(parts, y)])
