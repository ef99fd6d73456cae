# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which numpy type holds the elements of an XLA type."""

import ml_dtypes
import numpy as np

from tessera._errors import InvalidError, UnsupportedError

# XLA's name -> the name in numpy or ml_dtypes. What is narrower than a byte has
# a type of ml_dtypes that takes a byte, as an array without E does.
_NAMES = {
    "pred": "bool",
    **{f"s{bits}": f"int{bits}" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (1, 2, 4, 8, 16, 32, 64)},
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8e5m2": "float8_e5m2",
    "f8e4m3": "float8_e4m3",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e3m4": "float8_e3m4",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
    "f4e2m1fn": "float4_e2m1fn",
    "c64": "complex64",
    "c128": "complex128",
}


def get_dtype(element_type):
    """The numpy type of XLA's `element_type`.

    Raises InvalidError for what is no element type, UnsupportedError where
    neither numpy nor ml_dtypes has one.
    """
    if element_type not in _NAMES:
        raise InvalidError(f"invalid element type: expected that of an array, found '{element_type}'")
    name = _NAMES[element_type]
    try:
        return np.dtype(name)
    except TypeError:
        pass
    if hasattr(ml_dtypes, name):
        return np.dtype(getattr(ml_dtypes, name))
    raise UnsupportedError(f"unsupported element type: expected one that numpy or ml_dtypes has, found {element_type}")


def get_stored_dtype(element_type):
    """The numpy type that holds the bits of XLA's `element_type` in files.

    It is the type itself where numpy has it, else the integers of its width: uint16
    for bf16, int8 for s4.
    """
    dtype = get_dtype(element_type)
    if dtype.kind != "V":  # numpy's own types stand for themselves
        return dtype
    return np.dtype(f"{'i' if element_type[0] == 's' else 'u'}{dtype.itemsize}")


def is_stored_as(dtype, element_type):
    """Whether elements of `dtype` have the bits of XLA's `element_type`."""
    return dtype in (get_dtype(element_type), get_stored_dtype(element_type))
