"""Programs whose arrays are as large as those of models, for the TPU compiler.

They need 12 MB to 2 GB of main memory. There what the compiler adds to
the bytes of arrays, places that begin at multiples of 16 KiB and tables of
tuples, is little.
"""

import jax
import jax.numpy as jnp
from jax import lax
from tpu_models import NHWC, PROGRAMS, attention, program

OTHERS = set(PROGRAMS)


@program("bf16[8192,4096]", *["bf16[4096,4096]"] * 6)
def deep_gradient(x, *weights):
    def loss(weights):
        y = x
        for w in weights:
            y = jax.nn.gelu(y @ w)
        return (y.astype(jnp.float32) ** 2).mean()

    return jax.grad(loss)(weights)


@program("bf16[8192,4096]", *["bf16[4096,4096]"] * 6)
def deep_recomputed_gradient(x, *weights):
    def loss(weights):
        y = x
        for w in weights:
            y = jax.checkpoint(lambda y, w: jax.nn.gelu(y @ w))(y, w)
        return (y.astype(jnp.float32) ** 2).mean()

    return jax.grad(loss)(weights)


@program("bf16[4096,5000]", "bf16[5000,7000]", "bf16[7000,3000]")
def odd_products(x, up, down):
    return jax.nn.relu(x @ up) @ down


@program("f32[4,1024,1024]", *["f32[1024,1024]"] * 4)
def attention_training(x, *weights):
    return jax.grad(lambda w: (attention(x, *w, 8) ** 2).sum())(weights)


@program("bf16[8,2048,1024]", *["bf16[1024,1024]"] * 4, "bf16[1024,4096]", "bf16[4096,1024]")
def large_transformer_layer(x, wq, wk, wv, wo, up, down):
    x = x + attention(x / 2, wq, wk, wv, wo, 16)
    return x + jax.nn.gelu(x @ up) @ down


@program("bf16[4,1024,1024]", "bf16[12,4,1024,1024]", "bf16[12,1024,4096]", "bf16[12,4096,1024]")
def transformer_training(x, a, up, down):
    def layer(x, weights):
        a, up, down = weights
        x = x + attention(x, *a, 16)
        return x + jax.nn.relu(x @ up) @ down, None

    def loss(weights):
        return lax.scan(jax.checkpoint(layer), x, weights)[0].astype(jnp.float32).sum()

    return jax.grad(loss)((a, up, down))


@program("bf16[2,1024,1024]", "bf16[8,4,1024,1024]", "bf16[8,1024,4096]", "bf16[8,4096,1024]")
def transformer_training_kept(x, a, up, down):
    def layer(x, weights):
        a, up, down = weights
        x = x + attention(x, *a, 16)
        return x + jax.nn.relu(x @ up) @ down, None

    def loss(weights):
        return lax.scan(layer, x, weights)[0].astype(jnp.float32).sum()

    return jax.grad(loss)((a, up, down))


@program(*["f32[5000,3000]"] * 4)
def large_adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


@program(*["f32[8000,3000]"] * 4, donate=(0, 2, 3))
def large_donated_adam(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


@program(*["bf16[4096,8192]"] * 2, "f32[4096,8192]", donate=(0, 2))
def mixed_momentum(p, g, m):
    m = 0.9 * m + g.astype(jnp.float32)
    return (p.astype(jnp.float32) - 0.01 * m).astype(jnp.bfloat16), m, jnp.sqrt((m * m).sum())


@program("bf16[32,112,112,64]", "bf16[3,3,64,64]", "bf16[3,3,64,128]")
def images(x, w1, w2):
    y = lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=NHWC)
    return lax.conv_general_dilated(jax.nn.relu(y), w2, (2, 2), "SAME", dimension_numbers=NHWC)


@program("f32[16,64,64,64]", "f32[3,3,64,64]", "f32[3,3,64,64]", "f32[64]", "f32[64]")
def image_training(x, w1, w2, scale, bias):
    def normal(y):
        mean, var = y.mean((0, 1, 2)), y.var((0, 1, 2))
        return (y - mean) * lax.rsqrt(var + 1e-5) * scale + bias

    def loss(w1, w2):
        y = lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=NHWC)
        y = jax.nn.relu(normal(y))
        y = lax.conv_general_dilated(y, w2, (1, 1), "SAME", dimension_numbers=NHWC)
        return (jax.nn.relu(normal(y) + x) ** 2).mean()

    return jax.grad(loss, (0, 1))(w1, w2)


@program("bf16[16,64,64,128]", "bf16[3,3,128,256]", "bf16[4,4,256,128]", "bf16[3,3,256,128]")
def down_and_up(x, w1, w2, w3):
    y = lax.conv_general_dilated(x, w1, (2, 2), "SAME", dimension_numbers=NHWC)
    y = lax.conv_transpose(jax.nn.silu(y), w2, (2, 2), "SAME")
    y = jnp.concatenate([x, y], -1)
    return lax.conv_general_dilated(y, w3, (1, 1), "SAME", dimension_numbers=NHWC)


@program("s32[16,512]", "bf16[32000,1024]", "bf16[1024,32000]")
def vocabulary_loss(tokens, table, head):
    logits = (table[tokens] @ head).astype(jnp.float32)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], 2).mean()


@program("s32[8,512]", "f32[32000,512]", "f32[512,32000]")
def vocabulary_gradient(tokens, table, head):
    def loss(table, head):
        logits = jax.nn.log_softmax(table[tokens[:, :-1]] @ head)
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], 2).mean()

    return jax.value_and_grad(loss, (0, 1))(table, head)


@program(
    "bf16[16,1,16,128]",
    *["bf16[16,8192,16,128]"] * 2,
    "bf16[16,1,16,128]",
    "s32[]",
    donate=(1, 2),
)
def decoding_step(q, keys, values, new, position):
    keys = lax.dynamic_update_slice(keys, new, (0, position, 0, 0))
    values = lax.dynamic_update_slice(values, new + 1, (0, position, 0, 0))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys).astype(jnp.float32)
    weights = jax.nn.softmax(jnp.where(jnp.arange(8192) <= position, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(jnp.bfloat16), values), keys, values


@program("bf16[8,1,8,128]", "bf16[8,4096,8,128]", "bf16[8,1,8,128]", "s32[]")
def decoding_step_kept(q, cache, new, position):
    cache = lax.dynamic_update_slice(cache, new, (0, position, 0, 0))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, cache).astype(jnp.float32)
    weights = jax.nn.softmax(jnp.where(jnp.arange(4096) <= position, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(jnp.bfloat16), cache), cache


@program("bf16[1024,1024]", "bf16[8,1024,4096]", "bf16[8,4096,1024]", "bf16[1024,8]")
def large_experts(x, up, down, gate):
    shares = jax.nn.softmax((x @ gate).astype(jnp.float32)).astype(jnp.bfloat16)
    hidden = jax.nn.gelu(jnp.einsum("td,edf->etf", x, up))
    return jnp.einsum("etd,te->td", jnp.einsum("etf,efd->etd", hidden, down), shares)


@program("f32[64,200000]")
def large_sort(x):
    return jnp.sort(x, axis=1), jnp.argsort(x, axis=1)


@program("f32[128,100000]")
def large_top(x):
    return lax.top_k(x, 100)


@program("c64[2048,2048]")
def large_fourier(x):
    return jnp.fft.ifft2(jnp.fft.fft2(x) * 2)


@program(*["bf16[4096,4096]"] * 2)
def product_sequence(a, b):
    for _ in range(4):
        a, b = jnp.tanh(a @ b), jnp.sin(b @ a)
    return a


@program("f32[4096,4096]")
def large_stencil(x):
    def step(_, x):
        return (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)) / 4

    return lax.fori_loop(0, 20, step, x)


@program("f32[100000,64]", "s32[20000]", "f32[20000,64]")
def large_scatter(table, i, updates):
    return table.at[i].add(updates)


@program("f32[200000,64]", "s32[20000]", "f32[20000,64]", donate=(0,))
def large_donated_scatter(table, i, updates):
    return table.at[i].add(updates)


@program("f32[20000,128]", "s32[50000]", "s32[50000]", "f32[128,128]")
def graph_layer(nodes, source, target, w):
    messages = jax.nn.relu(nodes[source] @ w)
    return nodes + jax.ops.segment_sum(messages, target, num_segments=20000)


@program(*["s32[4096,20]"] * 2, *["f32[200000,64]"] * 2, "f32[128,1024]", "f32[1024,1]")
def recommendation(i, j, a, b, up, down):
    x = jnp.concatenate([a[i].sum(1), b[j].sum(1)], -1)
    return jax.nn.sigmoid(jax.nn.relu(x @ up) @ down)


@program("f32[8000,8000]")
def normalized_and_squared(x):
    x = (x - x.mean(0)) / (x.std(0) + 1e-5)
    return x @ x.T, jax.nn.softmax(x, 0)


@program("f32[256,128,512]", "f32[512,2048]", "f32[512,2048]", "f32[2048]")
def long_recurrence_gradient(inputs, wx, wh, bias):
    def loss(wx, wh, bias):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ wx + h @ wh + bias, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((128, 512))
        return (lax.scan(step, (zero, zero), inputs)[1] ** 2).sum()

    return jax.grad(loss, (0, 1, 2))(wx, wh, bias)


@program("bf16[32,224,224,3]", "bf16[16,16,3,768]", *["bf16[768,768]"] * 4)
def patches(x, w, *weights):
    x = lax.conv_general_dilated(x, w, (16, 16), "VALID", dimension_numbers=NHWC)
    return attention(x.reshape(32, 196, 768), *weights, 12)


@program("bf16[4,4096,16,64]", "bf16[4,4096,16,64]", "bf16[4,4096,16,64]")
def large_blocked_attention(q, k, v):
    def step(state, block):
        most, total, result = state
        k, v = block
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)
        new = jnp.maximum(most, scores.max(-1))
        share, scale = jnp.exp(scores - new[..., None]), jnp.exp(most - new)
        result = result * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", share, v)
        return (new, total * scale + share.sum(-1), result), None

    blocks = [x.reshape(4, 8, 512, 16, 64).swapaxes(0, 1) for x in (k, v)]
    zero = jnp.zeros((4, 16, 4096))
    state = zero - 1e9, zero, jnp.zeros((4, 16, 4096, 64))
    most, total, result = lax.scan(step, state, tuple(blocks))[0]
    return result / total[..., None]


@program("bf16[512,4096]", "s8[4096,16384]", "f32[16384]")
def large_quantized_weights(x, w, scale):
    return (x @ w.astype(jnp.bfloat16)).astype(jnp.float32) * scale


@program("f32[64,256]", "f32[256,1024]", "f32[1024,64]")
def gradients_of_examples(x, up, down):
    def loss(weights, x):
        return (jax.nn.relu(x @ weights[0]) @ weights[1]).sum()

    return jax.vmap(jax.grad(loss), (None, 0))((up, down), x)


@program("f32[3000,4000]")
def large_prefix_sums(x):
    return jnp.cumsum(x, 0), jnp.cumsum(x, 1)


@program("f32[7,1000,3000]", "f32[7,1000,3000]")
def large_rearranged(x, y):
    z = jnp.concatenate([x, y], 0).transpose(2, 0, 1).reshape(3000, 14000)
    return jnp.flip(z, 1)[::2], z.reshape(-1)[:1000000]


@program("f32[3000,8,40]")
def padded_to_tiles(x):
    return (x * 2).transpose(1, 0, 2), jnp.sin(x).reshape(24000, 40)


@program("f32[20,8,64,64,64]", "f32[64,64]")
def diffusion(noise, w):
    def step(x, noise):
        return x - 0.1 * jnp.tanh(x @ w) + noise, None

    return lax.scan(step, jnp.zeros((8, 64, 64, 64)), noise)[0]


@program("s32[]", "f32[4096,4096]", "f32[4096,4096]")
def larger_branches(i, x, y):
    return lax.cond(i > 0, lambda: jnp.sin(x @ y) @ x, lambda: x + y)


@program("f32[2048,2048]")
def large_cholesky(a):
    return jnp.linalg.cholesky(a @ a.T + jnp.eye(2048))



NAMES = [name for name in PROGRAMS if name not in OTHERS]
