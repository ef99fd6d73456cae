"""Layouts that are assigned anew move no more bytes than the compiler's.

RUN: %python %s tessera-hlo %S/Inputs

The cost model and the counter of bytes are separate code: for the layouts that
a module has, and for those that are written, they must say the same. The proof
of equal data flow is separate code, too.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Modules in which the compiler moves more than it must.
IMPROVED = {
    "more/v5p_gru_scan",
    "peaks/v4_decoding_cache",
    "peaks/v5p_gated_recurrence",
    "peaks/v5p_large_prefix_sums",
    "prove/scan.2",
    "run/embedding_gather",
    "tpu/conv_stem",
    "tpu/embedding_gather",
}

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*command):
    return subprocess.run([tool, *command], check=True, capture_output=True, text=True, timeout=60).stdout


def assign(path, *options):
    """What the tool says. What it writes is proved to compute what `path` does."""
    with tempfile.TemporaryDirectory() as directory:
        new = os.path.join(directory, "new.hlo")
        answer = json.loads(run("assign", "--json", "-o", new, *options, path))
        assert run("prove", path, new).startswith("yes: both compute the same"), path
    assert answer["schema"] == "tessera.assignment" and answer["version"] == 1
    return answer


improved, total = set(), 0
for path in sorted(folder.glob("*/*.hlo")):
    if path.parent.name == "oom":
        continue
    name = f"{path.parent.name}/{path.stem}"
    total += 1
    anew, kept = assign(path), assign(path, "--keep")
    assert anew["bytes_now"] == kept["bytes_now"] == kept["bytes_kept"], name
    for answer in (anew, kept):
        assert 0 <= answer["lower_bound"] <= answer["bytes"], name
        # All of these are solved to the end.
        assert answer["lower_bound"] == answer["bytes"] and answer["searched"] == 0, name
        for other in ("bytes_in_order", "bytes_worklist", "bytes_priorities"):
            assert answer[other] is None or answer[other] >= answer["bytes"], name
    assert kept["bytes"] <= min(kept["bytes_now"], anew["bytes"]), name
    if anew["bytes"] < anew["bytes_now"]:
        improved.add(name)
    assert anew["bytes"] <= anew["bytes_now"], name
    assert (kept["bytes"] < kept["bytes_now"]) == (name in IMPROVED), name
assert total >= 60 and improved == IMPROVED, (total, improved)

# Fewer candidates cost more, or as much; a loop whose runs are counted counts.
scan = folder / "prove" / "scan.2.hlo"
costs = [assign(scan, f"--candidates={n}", "--keep")["bytes"] for n in (1, 2, 6)]
assert costs[0] >= costs[1] >= costs[2], costs
assert assign(scan) == assign(scan)
