"""What the TPU compiler makes of parts of models, run, against the values of the
same functions by XLA's CPU backend in double precision.

REQUIRES: jaxlib, libtpu, tessera-python
RUN: %python %s

usage: tpu-values.py [--target TARGET] [--keep FOLDER] [NAME...]
"""

import functools
import os
import pathlib
import sys
import zlib

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "HLO" / "Inputs"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import jax  # noqa: E402
import numpy as np  # noqa: E402
import tpu_models  # noqa: E402
import tpu_programs  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jaxlib import _hlo  # noqa: E402

import tessera as ts  # noqa: E402

# Otherwise the text rounds operands of products to bf16.
jax.config.update("jax_default_matmul_precision", "highest")

# More elements than that take minutes.
MAX_ELEMENTS = 1_500_000

# Where the last bit of a number decides: chaos, and rounding to integers.
UNSTABLE = {"donated_loop", "fractal", "dynamic_quantization"}
# What says that it is unsupported, and why.
UNSUPPORTED = {"eigenvalues": "EighTpu"}

WIDE = {"float32": np.float64, "complex64": np.complex128}


def count_elements(program):
    return sum(int(np.prod(a.shape)) for a in program.arguments)


def get_names():
    return [
        name
        for name, program in tpu_models.PROGRAMS.items()
        if name not in UNSTABLE and count_elements(program) <= MAX_ELEMENTS
    ]


@functools.cache
def get_devices(target):
    return topologies.get_topology_desc(platform="tpu", topology_name=tpu_models.TOPOLOGIES[target]).devices


def compile_program(name, target):
    """The text of a program, with all elements of its constants; None where the
    compiler refuses it, or jaxlib what it made."""
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    try:
        compiled = tpu_models.lower(name, get_devices(target)).compile()
        return compiled.runtime_executable().hlo_modules()[0].to_string(options)
    except jax.errors.JaxRuntimeError as error:
        print(f"{name}: not compiled: {str(error)[:100]}")
        return None


def draw(rng, argument):
    """Small numbers, so that errors do not grow, and small integers from 0 on."""
    dtype = np.dtype(argument.dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, argument.shape).astype(dtype)
    if dtype.kind in "iu" or "int" in dtype.name:
        return rng.integers(0, 7, argument.shape).astype(dtype)
    numbers = rng.standard_normal(argument.shape) / 8
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.standard_normal(argument.shape) / 8
    return np.asarray(numbers).astype(dtype)


def evaluate(function, arguments):
    """The results, and how much rounding matters: the largest difference between
    single and double precision for each. 0 where the program draws random numbers,
    which depend on the precision, or is no program in double precision."""
    single = [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*arguments))]
    nothing = [0.0] * len(single)
    if any(a.dtype == np.uint32 for a in arguments):
        return single, nothing
    wide = [a.astype(WIDE.get(a.dtype.name, a.dtype)) for a in arguments]
    try:
        with jax.enable_x64(True):
            double = [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*wide))]
    except TypeError:
        return single, nothing
    return double, [measure_noise(*pair) for pair in zip(single, double)]


def is_exact(array):
    return array.dtype.kind in "biu" or "int" in array.dtype.name


def to_numbers(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def measure_noise(single, double):
    if is_exact(single):
        return 0.0
    difference = np.abs(to_numbers(single) - to_numbers(double))
    return difference[np.isfinite(difference)].max(initial=0)


def describe_difference(found, expected, noise, element_type):
    """What is wrong, or None. Sums are as exact as the largest of them lets."""
    if is_exact(found):
        wrong = found != expected
    else:
        expected = to_numbers(expected)
        scale = max(1, np.abs(expected[np.isfinite(expected)]).max(initial=0))
        rtol, atol = (1e-3, 1e-4 * scale) if element_type in ("f32", "c64") else (0, 2e-2 * scale)
        wrong = ~np.isclose(to_numbers(found), expected, rtol, atol + 4 * noise, equal_nan=True)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size}, at {at} it is {found[at]}, expected {expected[at]}"


def run(name, text):
    """What differs, or what was said to be unsupported; empty if all is right."""
    program = tpu_models.PROGRAMS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arguments = [draw(rng, a) for a in program.arguments]
    dtypes = [leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(program.function, *program.arguments))]
    try:
        module = ts.Program(text)
    except ts.UnsupportedError as error:
        reason = UNSUPPORTED.get(name)
        return "" if reason and reason in str(error) else str(error)[:600]
    results = module(*(a.view(s.dtype) for a, s in zip(arguments, module.inputs, strict=True)))
    results = results if isinstance(results, tuple) else (results,)
    expected, noise = evaluate(program.function, arguments)
    differences = []
    for number, (result, shape) in enumerate(zip(results, module.outputs)):
        found = result.view(dtypes[number])
        wrong = describe_difference(found, expected[number], noise[number], shape.element_type)
        if wrong:
            differences.append(f"out{number}: {wrong}")
    return "; ".join(differences)


tpu_programs.main(tpu_models.TOPOLOGIES, get_names(), compile_program, run)
