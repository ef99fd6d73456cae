"""Random shapes: our default layouts against the TPU compiler's own choices.

REQUIRES: libtpu
RUN: %python %s
"""

import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import tpu_layouts

full = os.environ.get("TESSERA_FULL") == "1"
seed = random.randrange(1 << 32) if full else 20260722
seed = int(os.environ.get("TESSERA_SEED", seed))
rng = random.Random(seed)
for target in tpu_layouts.TOPOLOGIES:
    shapes = [tpu_layouts.random_shape(rng) for _ in range(2000 if full else 200)]
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
