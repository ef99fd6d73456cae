"""Live bytes, arguments and outputs are the TPU compiler's, for modules of what
it does in place, of loops and branches, of split configurations, and of arrays
in the host's memory; so is, within 1 %, the memory that three larger programs need,
one of which has gaps between its temporaries.
memory.json has its figures; peak_bytes are of its buffer assignment, space by
space (Inputs/buffer_assignment.py), and program_bytes what program-bytes.py says.

RUN: %python %s tessera-hlo %S/Inputs/peaks
"""

import json
import pathlib
import subprocess
import sys

tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
expected = json.loads((folder / "memory.json").read_text())
assert set(expected) == {path.stem for path in folder.glob("*.hlo")}
for name, figures in expected.items():
    command = [tool, "report", "--json", folder / f"{name}.hlo"]
    run = subprocess.run(command, check=True, capture_output=True)
    report = json.loads(run.stdout)
    spaces = {str(space["space"]): space for space in report["spaces"]}
    for space, peak in figures.pop("peak_bytes", {}).items():
        found = spaces[space]["peak_bytes"]
        assert found == peak, f"{name}: {peak} are live in S({space}), not {found}"
    if needed := figures.pop("program_bytes", None):
        found = report["program_bytes"]
        assert abs(found - needed) <= needed / 100, f"{name}: {found}, not {needed}"
        peak = spaces["0"]["peak_bytes"]
        assert peak <= found, f"{name}: {peak} are live at once, and {found} needed"
    # The table of a tuple takes 32 bytes on v5p and v6e.
    if name.startswith(("v5p", "v6e")) and figures["output_bytes"] % 512 == 32:
        figures["output_bytes"] += 480
    for field, size in figures.items():
        assert report[field] == size, f"{name}: {field} {size}, not {report[field]}"
