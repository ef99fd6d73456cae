"""What XLA's CPU backend computes for a text of HLO."""

import jax
import numpy as np
from jaxlib import _hlo, _jax, xla_client

jax.config.update("jax_enable_x64", True)

# What it raises for modules that it does not compile.
Error = jax.errors.JaxRuntimeError


def compile_module(text):
    """A function of the arguments that gives the results, a tuple flattened."""
    module = _hlo.hlo_module_from_text(text)
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    devices = jax.devices("cpu")[:1]
    executable = devices[0].client.compile_and_load(
        _jax.mlir.xla_computation_to_mlir_module(computation),
        _jax.DeviceList(tuple(devices)),
        xla_client.CompileOptions(),
    )

    def call(arrays):
        buffers = [jax.device_put(array, devices[0]) for array in arrays]
        results = executable.execute_sharded(buffers)
        return [np.asarray(parts[0]) for parts in results.disassemble_into_single_device_arrays()]

    return call


def run(text, arrays):
    """The results of the entry computation for one run."""
    return compile_module(text)(arrays)
