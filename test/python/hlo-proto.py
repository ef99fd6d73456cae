# REQUIRES: protobuf
# RUN: %python %s %S/../HLO/Inputs/proto/sort_topk.pb %S/../HLO/Inputs/tpu/sort_topk.hlo %S/../Inputs
"""ts.report on bytes: those of a protocol buffer and of a text, and 10,000 mutants
of the first in the full run, each with a report or an error."""

import json
import pathlib
import random
import sys

import tessera as ts

sys.path.append(sys.argv[3])
import test_counts  # noqa: E402

data, text = (pathlib.Path(path).read_bytes() for path in sys.argv[1:3])
sums = [
    {name: value for name, value in json.loads(ts.report(bytes_, "json")).items() if name.endswith("bytes")}
    for bytes_ in (data, text)
]
assert sums[0] == sums[1], sums
assert ts.report(text) == ts.report(text.decode())

seed = test_counts.test_seed()
rng = random.Random(seed)


def mutate(data):
    """Some bytes changed, left out, put in, or taken from elsewhere."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, length = rng.randrange(len(data)), rng.choice([0, 1, 1, 4, 40])
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice([0, 1, 127, 128, 255])
            case 2:
                del data[at : at + length]
            case 3:
                start = rng.randrange(len(data))
                data[at : at + length] = data[start : start + rng.choice([1, 4, 40])]
            case 4:
                data[at:at] = rng.randbytes(length)
        if not data:
            break
    return bytes(data[: rng.randrange(len(data))] if data and rng.random() < 0.1 else data)


count = test_counts.test_count(10000)
outcomes = {"a report": 0, "an error": 0}
for _ in range(count):
    mutant = mutate(data)
    try:
        ts.report(mutant, "json")
        outcomes["a report"] += 1
    except (ts.InvalidError, ts.UnsupportedError) as error:
        assert str(error), f"seed {seed}"
        outcomes["an error"] += 1
assert all(outcomes.values()), (outcomes, f"seed {seed}")
print(f"{count} mutants, {outcomes}, seed {seed}")
