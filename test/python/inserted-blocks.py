# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: inserted blocks: all passed
"""Blocks that are relayouted and inserted into tiled arrays: no buffer, and numpy's values."""

import os
import random
import subprocess
import sys

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import run_tests
from test_counts import test_count, test_seed

LAYOUTS = ["{1,0:T(8,128)}", "{0,1:T(4,3)(2,1)}", "{1,0:T(2,2)}", "{0,1}", "{1,0:T(5)L(64)PV(zero)}"]

MODULE = """
!t = tensor<{m}x{n}xi32, #tessera.layout<{0}>>
!b = tensor<{k}x{w}xi32, #tessera.layout<{1}>>
!p = tensor<{k}x{w}xi32{2}>
func.func @insert(%t: !t, %b: !b, %i: index, %j: index) -> !t {{
  %p = tessera.relayout %b : !b to !p
  %r = tensor.insert_slice %p into %t[{where}] [{k}, {w}] [{s}, {u}] : !p into !t
  return %r : !t
}}
"""


def random_case(rng):
    m, n = rng.randint(1, 20), rng.randint(1, 20)
    k, w = rng.randint(1, m), rng.randint(1, n)
    s = rng.randint(1, (m - 1) // (k - 1)) if k > 1 else 1
    u = rng.randint(1, (n - 1) // (w - 1)) if w > 1 else 1
    i, j = rng.randint(0, m - 1 - (k - 1) * s), rng.randint(0, n - 1 - (w - 1) * u)
    middle = rng.choice(["", ", #tessera.layout<%s>" % rng.choice(LAYOUTS)])
    layouts = [rng.choice(LAYOUTS), rng.choice(LAYOUTS), middle]
    where = rng.choice(["%i, %j", f"{i}, {j}", f"%i, {j}"])
    text = MODULE.format(*layouts, m=m, n=n, k=k, w=w, s=s, u=u, where=where)
    return text, (m, n), (k, w), (i, j), (s, u)


def test_values():
    rng, numbers = random.Random(test_seed()), np.random.default_rng(test_seed())
    for _ in range(test_count(100)):
        text, whole, part, (i, j), (s, u) = random_case(rng)
        array = numbers.integers(-99, 99, whole, np.int32)
        block = numbers.integers(-99, 99, part, np.int32)
        wanted = array.copy()
        wanted[i : i + part[0] * s : s, j : j + part[1] * u : u] = block
        result = ts.Program(text)(array, block, np.int64(i), np.int64(j))
        assert (result == wanted).all(), text


def test_buffers():
    """The copy of the array is the only buffer."""
    rng = random.Random(test_seed())
    # What Python needs to load the library under AddressSanitizer, tools have.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    for _ in range(test_count(20)):
        text = random_case(rng)[0]
        command = ["tessera-opt", "--tessera-expand-ops", "--tessera-bufferize"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.count("memref.alloc") <= 1 and "tessera.relayout" not in done.stdout, text


run_tests(globals())
print("inserted blocks: all passed")
