"""Runs a module with kernels and says what differs from kernel_values.py."""

import kernel_values
import numpy as np

import tessera as ts


def to_numbers(array):
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


def describe_difference(found, expected, tolerance):
    if found.shape != expected.shape:
        return f"sizes are {found.shape}, expected {expected.shape}"
    if found.dtype.kind in "iub":
        wrong = found != expected
    else:
        scale = max(1, np.abs(expected).max(initial=0))
        wrong = ~np.isclose(to_numbers(found), expected, 0, tolerance * scale)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size}, at {at} it is {found[at]}, expected {expected[at]}"


def run(name, text, poison_padding=False):
    """What differs; empty if all is right."""
    arguments = kernel_values.draw(name)
    module = ts.Program(text, poison_padding=poison_padding)
    results = module(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    expected = kernel_values.evaluate(name, arguments)
    differences = []
    for number, (found, right) in enumerate(zip(results, expected, strict=True)):
        wrong = describe_difference(found, right, kernel_values.get_tolerance(name))
        if wrong:
            differences.append(f"out{number}: {wrong}")
    return "; ".join(differences)
