"""Kernels of Pallas, compiled by the TPU compiler for four generations and run,
against numpy.

REQUIRES: jaxlib, libtpu, tessera-python
RUN: %python %s

usage: tpu-kernels.py [--target TARGET] [--keep FOLDER] [NAME...]
"""

import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import pallas_kernels  # noqa: E402
import run_kernels  # noqa: E402
import tpu_programs  # noqa: E402

import tessera as ts  # noqa: E402


def run(name, text):
    try:
        return run_kernels.run(name, text, poison_padding=True)
    except (ts.UnsupportedError, ts.InvalidError) as error:
        return str(error)[:600]


tpu_programs.main(pallas_kernels.KINDS, pallas_kernels.PROGRAMS, pallas_kernels.compile_kernel, run)
