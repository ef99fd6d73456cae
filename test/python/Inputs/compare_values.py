"""Whether two right computations of an instruction may differ so."""

import numpy as np
import random_hlo

# By bits of the type: what functions, and what sums may differ by.
NEAR = {"f64": 1e-9, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2, "c128": 1e-9, "c64": 2e-5}


def is_same(found, expected, name, how):
    """`how` is nothing, near for functions, or sum."""
    if name in random_hlo.COMPLEX:
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=1)
        return np.allclose(found, expected, NEAR[name], NEAR[name] * scale, equal_nan=True)
    if name not in random_hlo.FLOATS and name not in random_hlo.TINY:
        return np.array_equal(found, expected)
    with np.errstate(invalid="ignore"):  # of NaN
        found, expected = found.astype(np.float64), expected.astype(np.float64)
    if how is None:
        return np.array_equal(found, expected, equal_nan=True)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0) if how == "sum" else 0
    return np.allclose(found, expected, NEAR[name], max(1e-37, NEAR[name] * scale), equal_nan=True)


def describe_difference(found, expected, name, how):
    """The first element that differs; nothing where the values are the same."""
    if is_same(found, expected, name, how):
        return ""
    differ = ~((found == expected) | ((found != found) & (expected != expected)))
    at = tuple(map(int, np.argwhere(differ)[0])) if found.shape else ()
    return f"at {at}: {found[at]}, expected {expected[at]}"
