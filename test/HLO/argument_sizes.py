"""Argument and output bytes are those that the TPU compiler reports.

RUN: %python %s tessera-hlo %S/Inputs/tpu
"""

import json
import pathlib
import subprocess
import sys

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
expected = json.loads((folder / "memory.json").read_text())
assert len(expected) == 20
for name, sizes in expected.items():
    run = subprocess.run(
        [tool, "report", "--json", folder / f"{name}.hlo"],
        check=True,
        capture_output=True,
    )
    report = json.loads(run.stdout)
    found = report["argument_bytes"], report["output_bytes"]
    wanted = sizes["argument_size_in_bytes"], sizes["output_size_in_bytes"]
    if found != wanted:
        sys.exit(f"{name}: arguments and outputs take {wanted}, not {found}")
