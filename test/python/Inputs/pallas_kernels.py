"""Kernels of Pallas, for the TPU compiler.

`compile_kernel(name, target)` gives the text of the module. kernel_values.py has
their arguments, and what they compute. Modules that tests keep are written by

    cd test/python/Inputs && python pallas_kernels.py TARGET kernels [NAME...]
"""

import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "HLO" / "Inputs"))
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import kernel_values  # noqa: E402
import tpu_models  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax.sharding import SingleDeviceSharding  # noqa: E402

F32, BF16, S32 = jnp.float32, jnp.bfloat16, jnp.int32
ANY, SMEM = pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec(memory_space=pltpu.SMEM)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)

# Modules name files without their folders.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def rows(block, rank=2):
    """Blocks along the first dimension."""
    return pl.BlockSpec(block, lambda i: (i,) + (0,) * (rank - 1))


def whole(name, result, body, **options):
    """A kernel without a grid."""

    def function(*arguments):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(*result), **options)(*arguments)

    PROGRAMS[name] = function


def shaped(array):
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


@program
def add(x, y):
    def body(x, y, out):
        out[...] = x[...] + 2 * y[...]

    block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    return pl.pallas_call(body, out_shape=shaped(x), grid=(3, 3), in_specs=[block, block], out_specs=block)(x, y)


def multiply(x, y, blocks, result):
    """A product whose sums are kept from step to step; the summed size is one of whole blocks."""
    m, n, k = blocks

    def body(x, y, out, sums):
        @pl.when(pl.program_id(2) == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        sums[...] += jnp.dot(x[...], y[...], preferred_element_type=sums.dtype)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out[...] = sums[...].astype(out.dtype)

    return pl.pallas_call(
        body,
        out_shape=result,
        grid=(pl.cdiv(result.shape[0], m), pl.cdiv(result.shape[1], n), x.shape[1] // k),
        in_specs=[pl.BlockSpec((m, k), lambda i, j, k: (i, k)), pl.BlockSpec((k, n), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((m, n), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((m, n), F32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, y)


@program
def matmul(x, y):
    return multiply(x, y, (64, 128, 128), jax.ShapeDtypeStruct((200, 260), F32))


@program
def matmul_bf16(x, y):
    return multiply(x, y, (16, 128, 128), jax.ShapeDtypeStruct((72, 300), BF16))


@program
def softmax(x):
    def body(x, out):
        exponentials = jnp.exp(x[...] - jnp.max(x[...], axis=1, keepdims=True))
        out[...] = exponentials / jnp.sum(exponentials, axis=1, keepdims=True)

    return pl.pallas_call(body, out_shape=shaped(x), grid=(3,), in_specs=[rows((8, 200))], out_specs=rows((8, 200)))(x)


@program
def layer_norm(x, scale, bias):
    def body(x, scale, bias, out):
        wide = x[...].astype(F32)
        centered = wide - jnp.mean(wide, axis=-1, keepdims=True)
        variance = jnp.mean(centered * centered, axis=-1, keepdims=True)
        out[...] = (centered * lax.rsqrt(variance + 1e-6) * scale[...] + bias[...]).astype(out.dtype)

    row = pl.BlockSpec((256,), lambda i: (0,))
    specs = [rows((16, 256)), row, row]
    return pl.pallas_call(body, out_shape=shaped(x), grid=(3,), in_specs=specs, out_specs=rows((16, 256)))(
        x, scale, bias
    )


@program
def prefetch(order, x):
    """Rows of blocks, in the order that an operand has."""

    def body(order, x, out):
        out[...] = x[...] * order[pl.program_id(0)].astype(F32)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)),
    )
    return pl.pallas_call(body, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((32, 128), F32))(order, x)


@program
def dynamic_grid(count, x):
    """As many steps as an operand says; the result begins with the operand."""

    def body(x, start, out):
        out[...] = x[...] * 2

    return pl.pallas_call(
        body,
        out_shape=shaped(x),
        grid=(count[0],),
        in_specs=[rows((8, 128)), rows((8, 128))],
        out_specs=rows((8, 128)),
        input_output_aliases={1: 0},
    )(x, x)


@program
def manual_copies(x):
    def body(x, out, buffer, semaphores):
        def step(i, _):
            slot = i % 2
            part = pl.ds(i * 16, 16)
            fetch = pltpu.make_async_copy(x.at[part], buffer.at[slot], semaphores.at[slot])
            fetch.start()
            fetch.wait()
            buffer[slot] = buffer[slot] * 2 + 1
            store = pltpu.make_async_copy(buffer.at[slot], out.at[part], semaphores.at[slot])
            store.start()
            store.wait()

        lax.fori_loop(0, 4, step, None)

    scratch = [pltpu.VMEM((2, 16, 256), F32), pltpu.SemaphoreType.DMA((2,))]
    return pl.pallas_call(body, out_shape=shaped(x), in_specs=[ANY], out_specs=ANY, scratch_shapes=scratch)(x)


@program
def pipeline(x):
    def step(x, out):
        out[...] = x[...] + 1

    def body(x, out):
        pltpu.emit_pipeline(step, grid=(4,), in_specs=[rows((8, 128))], out_specs=[rows((8, 128))])(x, out)

    return pl.pallas_call(body, out_shape=shaped(x), in_specs=[ANY], out_specs=ANY)(x)


@program
def in_place(x, y):
    def body(x, y, out):
        out[...] = x[...] + 3 * y[...]

    specs = [rows((8, 256)), rows((8, 256))]
    return pl.pallas_call(
        body, out_shape=shaped(x), grid=(2,), in_specs=specs, out_specs=specs[0], input_output_aliases={0: 0}
    )(x, y)


@program
def masked_sum(x):
    """What is beyond the array is not added."""

    def body(x, out, sums):
        step = pl.program_id(0)

        @pl.when(step == 0)
        def _():
            sums[...] = jnp.zeros_like(sums)

        row = step * 8 + lax.broadcasted_iota(S32, (8, 256), 0)
        column = lax.broadcasted_iota(S32, (8, 256), 1)
        sums[...] += jnp.where((row < 33) & (column < 200), x[...], 0.0)

        @pl.when(step == 4)
        def _():
            out[...] = jnp.sum(sums[...], axis=0, keepdims=True)

    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((1, 256), F32),
        grid=(5,),
        in_specs=[rows((8, 256))],
        out_specs=pl.BlockSpec((1, 256), lambda i: (0, 0)),
        scratch_shapes=[pltpu.VMEM((8, 256), F32)],
    )(x)


@program
def squeezed(x):
    def body(x, out):
        out[...] = x[...] + pl.program_id(0)

    block = pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0))
    return pl.pallas_call(body, out_shape=shaped(x), grid=(4,), in_specs=[block], out_specs=block)(x)


@program
def scoped(x):
    def body(x, out):
        def inner(buffer, semaphore):
            copy = pltpu.make_async_copy(x, buffer, semaphore)
            copy.start()
            copy.wait()
            out[...] = buffer[...] + 1

        pl.run_scoped(inner, pltpu.VMEM((8, 128), F32), pltpu.SemaphoreType.DMA)

    return pl.pallas_call(body, out_shape=shaped(x), in_specs=[ANY], out_specs=VMEM)(x)


def rotate_and_transpose(x, out):
    column = lax.broadcasted_iota(S32, x.shape, 1)
    same = jnp.transpose(jnp.transpose(x[...]))
    out[...] = jnp.where(column % 2 == 0, pltpu.roll(x[...], 3, 1), same) + pltpu.roll(x[...], 1, 0)


def functions(x, out, numbers):
    v = x[...]
    out[...] = (
        (jnp.tanh(v) + jnp.exp2(v) + jnp.sqrt(jnp.abs(v)) + jnp.log(jnp.abs(v) + 1) + lax.logistic(v))
        + (jnp.sin(v) * jnp.cos(v) + lax.erf(v) + jnp.floor(v) + jnp.ceil(v) + jnp.round(v) + jnp.sign(v))
        + (v**3 + jnp.clip(v, -1, 1) + pl.reciprocal(v * v + 1) + jnp.isfinite(v).astype(F32))
    )
    i = v.astype(S32)
    numbers[...] = (((i << 2) | (i >> 1)) ^ (i & 3)) + jnp.where(v > 0, i // 3, i % 3)


@program
def elementwise(x):
    results = (shaped(x), jax.ShapeDtypeStruct(x.shape, S32))
    return pl.pallas_call(functions, out_shape=results)(x)


def while_loop(x, out):
    def step(state):
        return state[0] + 1, state[1] + x[...] * state[0].astype(F32)

    _, out[...] = lax.while_loop(lambda state: state[0] < 5, step, (jnp.int32(0), jnp.zeros((8, 128), F32)))


def repeated(count, x, out):
    out[...] = lax.fori_loop(0, count[0], lambda i, sums: sums + x[...], jnp.zeros((8, 128), F32))


def chosen(number, x, out):
    out[...] = lax.switch(number[0], [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x[...])


def signals(x, out, semaphore):
    pl.semaphore_signal(semaphore, 3)
    pl.semaphore_wait(semaphore, 2)
    out[...] = x[...] + pl.semaphore_read(semaphore).astype(F32)
    pl.semaphore_wait(semaphore, 1)


def strided(x, out):
    out[pl.ds(1, 8, stride=2), :] = x[pl.ds(0, 8, stride=2), :]
    out[pl.ds(0, 8, stride=2), :] = x[pl.ds(1, 8, stride=2), :] * 2


def masked_store(x, out):
    out[...] = jnp.zeros_like(x)
    pltpu.store(out.at[0:8, :], x[...], mask=x[...] > 0)


def gather(x, index, out):
    out[...] = jnp.take_along_axis(x[...], index[...], axis=0)


def positions(x, out):
    out[...] = jnp.argmax(x[...], axis=1, keepdims=True).astype(S32) * jnp.ones((1, 128), S32)


def scalars(numbers, out):
    out[0] = numbers[0] + numbers[1]
    out[1] = numbers[2]


def packed(x, out):
    out[...] = pltpu.bitcast(x[...], BF16)


def integer_product(x, y, out):
    out[...] = jnp.dot(x[...], y[...], preferred_element_type=S32)


def batched_product(x, y, out):
    out[...] = jnp.einsum("bij,bkj->bik", x[...], y[...], preferred_element_type=F32)


def by_mask(mask, x, out):
    out[...] = jnp.where(mask[...], x[...], 0.0)


def above_zero(x, out):
    out[...] = x[...] > 0


def from_bytes(x, y, out):
    out[...] = x[...].astype(F32) * 2 + y[...].astype(F32)


def joined(x, out):
    out[...] = jnp.tile(x[...], (2, 1)) + jnp.concatenate([x[...], -x[...]], axis=0)


whole("rotate", ((40, 256), F32), rotate_and_transpose)
whole("while_loop", ((8, 128), F32), while_loop)
whole("repeated", ((8, 128), F32), repeated, in_specs=[SMEM, VMEM])
whole("chosen", ((8, 128), F32), chosen, in_specs=[SMEM, VMEM])
whole("signals", ((8, 128), F32), signals, scratch_shapes=[pltpu.SemaphoreType.REGULAR])
whole("strided", ((16, 128), F32), strided)
whole("masked_store", ((8, 128), F32), masked_store)
whole("gather", ((8, 128), F32), gather)
whole("positions", ((8, 128), S32), positions)
whole("scalars", ((2,), S32), scalars, in_specs=[SMEM], out_specs=SMEM)
whole("packed", ((16, 128), BF16), packed)
whole("integer_product", ((24, 128), S32), integer_product)
whole("batched_product", ((2, 64, 128), F32), batched_product)
whole("by_mask", ((8, 128), F32), by_mask)
whole("above_zero", ((32, 128), jnp.bool_), above_zero)
whole("from_bytes", ((32, 128), F32), from_bytes)
whole("joined", ((16, 128), F32), joined)


# ===--- Kernels that come with jax ---------------------------------------===#


def attend(q, k, v, causal, sizes=True):
    from jax.experimental.pallas.ops.tpu import flash_attention as flash

    sizes = flash.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1) if sizes else None
    return flash.flash_attention(q, k, v, causal=causal, sm_scale=0.125, block_sizes=sizes)


@program
def attention(q, k, v):
    return attend(q, k, v, causal=False)


@program
def attention_causal(q, k, v):
    return attend(q, k, v, causal=True)


@program
def attention_gradients(q, k, v):
    def sum_squares(*arguments):
        return (attend(*arguments, causal=True, sizes=False) ** 2).sum()

    return jax.grad(sum_squares, argnums=(0, 1, 2))(q, k, v)


@program
def attention_splash(q, k, v):
    from jax.experimental.pallas.ops.tpu import splash_attention as splash

    mask = splash.MultiHeadMask([splash.CausalMask((256, 256)) for _ in range(2)])
    sizes = splash.BlockSizes(block_q=128, block_kv=128, block_kv_compute=128)
    return splash.make_splash_mha(mask, head_shards=1, q_seq_shards=1, block_sizes=sizes)(q, k, v)


@program
def attention_paged(q, k_pages, v_pages, lengths, page_indices):
    from jax.experimental.pallas.ops.tpu import paged_attention as paged

    return paged.paged_attention(q, k_pages, v_pages, lengths, page_indices, pages_per_compute_block=4)


@program
def grouped_product(x, y, sizes):
    from jax.experimental.pallas.ops.tpu.megablox import gmm

    return gmm(x, y, sizes, preferred_element_type=F32)


# ===--- The compiler -----------------------------------------------------===#

# What jax calls the devices.
KINDS = {"tpu_v4": "TPU v4", "tpu_v5e": "TPU v5 lite", "tpu_v5p": "TPU v5", "tpu_v6e": "TPU v6 lite"}


def name_device(target):
    """Pallas asks the default device, a CPU here, what it is."""
    from jax._src.pallas.mosaic import tpu_info

    tpu_info.get_device_kind = lambda: KINDS[target]
    tpu_info.get_num_device_cores = lambda: 1


def compile_kernel(name, target):
    """The text of the module; None where the compiler refuses it, or jaxlib what it made."""
    name_device(target)
    topology = topologies.get_topology_desc(platform="tpu", topology_name=tpu_models.TOPOLOGIES[target])
    here = SingleDeviceSharding(topology.devices[0])
    arguments = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in kernel_values.draw(name)]
    try:
        jitted = jax.jit(PROGRAMS[name], in_shardings=here, out_shardings=here)
        return jitted.lower(*arguments).compile().as_text()
    except (jax.errors.JaxRuntimeError, NotImplementedError) as error:
        print(f"{target} {name}: not compiled: {str(error)[:100]}")
        return None


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for kernel in sys.argv[3:] or PROGRAMS:
        text = compile_kernel(kernel, target)
        if text:
            (folder / f"{target}-{kernel}.hlo").write_text(text)
