"""Random shapes: our default layouts against the TPU compiler's own choices.

REQUIRES: libtpu
RUN: %python %s
"""

import os
import random
import subprocess
import sys

here = os.path.dirname(__file__)
sys.path[:0] = [os.path.join(here, "Inputs"), os.path.join(here, "..", "Inputs")]
import tpu_layouts
from test_counts import test_count, test_seed

seed = test_seed()
rng = random.Random(seed)
for target in tpu_layouts.TOPOLOGIES:
    shapes = [tpu_layouts.random_shape(rng) for _ in range(test_count(2000))]
    ours = subprocess.run(
        ["tessera-layout", "default", "--target=" + target] + shapes,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    theirs = tpu_layouts.ask(target, shapes)
    assert len(theirs) == len(shapes)
    for mine, yours in zip(ours.splitlines(), theirs):
        assert mine == yours, "%s: %s, the compiler: %s (TESSERA_SEED=%d)" % (
            (target, mine, yours, seed)
        )
