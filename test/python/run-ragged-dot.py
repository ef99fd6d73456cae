# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: instances: {{[1-9][0-9]*}}, all right
"""Random ragged-dots on random layouts, which XLA's CPU backend does not run, against
numpy's einsum of each group."""

import os
import random
import sys

import numpy as np
import tessera as ts

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("Inputs", "../Inputs")]
import random_hlo
from test_counts import test_count, test_seed


def draw_sizes(rng, size, count):
    """Groups, some of them empty, that need not be all of the dimension."""
    ends = sorted(rng.randrange(size + 1) for _ in range(count))
    return np.diff([0, *ends]).astype(rng.choice([np.int32, np.int64]))


def draw_operand(rng, parts):
    """Names of dimensions in random order, but for free ones, which stay in order."""
    free = [part for part in parts if part[0] == "f"]
    return [free.pop(0) if part[0] == "f" else part for part in rng.sample(parts, len(parts))]


def evaluate(lhs, rhs, groups, names, ragged):
    """The result by its definition; `names` are those of both sides' dimensions and of
    the result's. Groups of what is summed over are numbered by the result."""
    letters = {name: chr(ord("a") + i) for i, name in enumerate(sorted(set(sum(names, []))))}
    left, right, result = ("".join(letters[name] for name in side if name != "g") for side in names)
    axis, ends = names[0].index(ragged), np.cumsum(groups)
    parts = []
    for g, (end, size) in enumerate(zip(ends, groups)):
        inside = np.arange(lhs.shape[axis])
        inside = (inside >= end - size) & (inside < end)
        masked = np.where(np.expand_dims(inside, [d for d in range(lhs.ndim) if d != axis]), lhs, 0)
        other = rhs.take(g, names[1].index("g")) if "g" in names[1] else rhs
        parts.append(np.einsum(f"{left},{right}->{result}", masked, other))
    return sum(parts) if "g" in names[1] else np.stack(parts)


def draw(rng):
    """A module, and the result of it."""
    m = random_hlo.Module(rng)
    sizes = {name: rng.choice([1, 2, 3, 5, 7, 9]) for name in ("b0", "b1", "c0", "c1", "f0", "f1", "f2", "g")}
    batch = ["b0", "b1"][: rng.randrange(3)]
    inner = ["c0", "c1"][: rng.randrange(1, 3)]
    left, right = ["f0", "f1"][: rng.randrange(1, 3)], ["f2"][: rng.randrange(2)]
    is_free = rng.random() < 0.5
    ragged = rng.choice(left if is_free else inner)
    lhs = draw_operand(rng, batch + inner + left)
    rhs = draw_operand(rng, batch + inner + right + (["g"] if is_free else []))
    name = rng.choice(["f32", "f64", "s32"])

    def array(names):
        return m.array(name, tuple(sizes[n] for n in names), edges=False, low=-9, high=9)

    groups = draw_sizes(rng, sizes[ragged], sizes["g"])
    operands = [array(lhs), array(rhs), m.parameter(f"s{groups.itemsize * 8}", groups)]
    places = [[side.index(n) for n in names] for names in (inner, batch) for side in (lhs, rhs)]
    places += [[lhs.index(ragged)], [rhs.index("g")] if is_free else []]
    keys = ["lhs_contracting", "rhs_contracting", "lhs_batch", "rhs_batch", "lhs_ragged", "rhs_group"]
    attributes = ", ".join(f"{k}_dims={random_hlo.ints(v)}" for k, v in zip(keys, places))
    names = ([] if is_free else ["g"]) + batch + left + right
    m.op(name, tuple(sizes[n] for n in names), "ragged-dot", operands, attributes)
    return m, evaluate(*m.arrays, (lhs, rhs, names), ragged)


def check(seed):
    """Whether an instance is right."""
    m, expected = draw(random.Random(seed))
    found = ts.Program(random_hlo.with_layouts(m.text()), poison_padding=seed % 2 == 0)(*m.arrays)
    found = found[0] if isinstance(found, tuple) else found
    tolerance = {"f": 1e-5, "d": 1e-12, "i": 0}[expected.dtype.char]
    if found.shape == expected.shape and np.allclose(found, expected, 0, tolerance * np.abs(expected).max(initial=1)):
        return True
    print(f"seed {seed}: {m.lines[-1]}\n{found}\nexpected {expected}")
    return False


def main():
    count = test_count(400)
    wrong = sum(not check(test_seed() + number) for number in range(count))
    print(f"instances: {count}, {f'{wrong} wrong' if wrong else 'all right'}")


main()
