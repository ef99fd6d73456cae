"""Modules that call a kernel which is written as MLIR."""

import base64
import json

import ml_dtypes
import numpy as np
import tessera as ts

NAMES = {"float32": "f32", "bfloat16": "bf16", "int32": "s32", "int16": "s16", "int8": "s8"}
BF16 = np.dtype(ml_dtypes.bfloat16)


def get_mlir_type(dtype):
    return NAMES[np.dtype(dtype).name].replace("s", "i")


def get_shape(shape, dtype, tiles=True):
    minor_to_major = ",".join(str(d) for d in reversed(range(len(shape))))
    tile = ":T(8,128)" if tiles and len(shape) > 1 else ""
    return f"{NAMES[np.dtype(dtype).name]}[{','.join(map(str, shape))}]{{{minor_to_major}{tile}}}"


def get_type(kind, shape, dtype):
    """`vector<2x3xf32>`, or a memref in vmem."""
    sizes = "".join(f"{size}x" for size in shape)
    space = ", #tpu.memory_space<vmem>" if kind == "memref" else ""
    return f"{kind}<{sizes}{get_mlir_type(dtype)}{space}>"


def vector(shape, dtype=np.float32):
    return get_type("vector", shape, dtype)


def memref(shape, dtype=np.float32):
    return get_type("memref", shape, dtype)


def load(name, source, shape, dtype=np.float32):
    """All of a memref."""
    zeros = ", ".join(["%c0"] * len(shape))
    return f"%{name} = vector.load %{source}[{zeros}] : {memref(shape, dtype)}, {vector(shape, dtype)}"


def store(name, target, shape, dtype=np.float32):
    zeros = ", ".join(["%c0"] * len(shape))
    return f"vector.store %{name}, %{target}[{zeros}] : {memref(shape, dtype)}, {vector(shape, dtype)}"


def make_kernel(arguments, lines, attributes=""):
    """`arguments` are (name, type); the lines have %c0."""
    signature = ", ".join(f"%{name}: {type}" for name, type in arguments)
    body = "\n    ".join(["%c0 = arith.constant 0 : index", *lines, "return"])
    return f"module {{\n  func.func @main({signature}) attributes {{{attributes}}} {{\n    {body}\n  }}\n}}\n"


def make_module(operands, result, kernel, attributes=""):
    """A module that calls the kernel, text or bytecode, with its parameters; texts of shapes."""
    body = kernel if isinstance(kernel, bytes) else kernel.encode()
    parameters = [f"  %p{i} = {shape} parameter({i})" for i, shape in enumerate(operands)]
    names = ", ".join(f"%p{i}" for i in range(len(operands)))
    config = {"custom_call_config": {"body": base64.b64encode(body).decode()}}
    call = (
        f'custom-call({names}), custom_call_target="tpu_custom_call"{attributes}, backend_config={json.dumps(config)}'
    )
    return "\n".join(["HloModule m", "", "ENTRY %e {", *parameters, f"  ROOT %k = {result} {call}", "}", ""])


def make_program(inputs, output, lines, attributes=""):
    """A kernel of arrays %a, %b, ... that writes %out."""
    arrays = [*zip("abcdefgh", inputs), ("out", output)]
    kernel = make_kernel([(name, memref(a.shape, a.dtype)) for name, a in arrays], lines, attributes)
    shapes = [get_shape(a.shape, a.dtype) for _, a in arrays]
    return make_module(shapes[:-1], shapes[-1], kernel)


def get_error(text):
    """What is wrong with a module."""
    try:
        ts.Program(text)
    except (ts.UnsupportedError, ts.InvalidError) as error:
        return str(error)
    return "no error"
