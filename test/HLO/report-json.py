"""The JSON form has the fields of docs/report.md, and its sums add up.

RUN: %python %s tessera-hlo %S/Inputs/tpu %S/Inputs/more
"""

import json
import pathlib
import subprocess
import sys

VALUE = {
    "name", "operation", "scope", "origin", "location", "shape", "role", "output",
    "logical_bytes", "physical_bytes", "padding_bytes", "allocated_bytes",
    "wasted_bytes", "expansion", "physical_shape", "tile", "space", "pinned_by", "suggestion", "move",
    "source", "cycles", "touched_bytes", "scoped_memory",
}  # fmt: skip


def check(path, report):
    assert report["schema"] == "tessera.report" and report["version"] == 1, path
    values, spaces = report["values"], report["spaces"]
    for value in values:
        assert set(value) <= VALUE, (path, set(value) - VALUE)
        sizes = value["physical_bytes"] - value["logical_bytes"]
        assert value["padding_bytes"] == sizes >= 0, (path, value)
        assert value["role"] != "view" or value["allocated_bytes"] == 0, (path, value)
    for field in ["allocated_bytes", "padding_bytes"]:
        assert report[field] == sum(s[field] for s in spaces), (path, field)
    total = sum(v["allocated_bytes"] for v in values)
    assert report["allocated_bytes"] == total, path
    assert report["padding_bytes"] == sum(v["wasted_bytes"] for v in values), path
    moves = [v["move"] for v in values if "move" in v]
    for kind in ["relayout", "async"]:
        moved = sum(
            m["bytes_read"] + m["bytes_written"] for m in moves if m["kind"] == kind
        )
        assert report[f"{kind}_bytes"] == moved, (path, kind)
    for space in spaces:
        live = space.get("live_bytes", [])
        assert len(live) in (0, len(report["steps"])), path
        if live:
            assert space["peak_bytes"] == max(live) == live[space["peak_step"]], path
            assert all(bytes >= 0 for bytes in live), path
        if value.get("cycles"):
            assert value["touched_bytes"] >= value["physical_bytes"], (path, value)
    for space in spaces:
        if "scoped_peak_bytes" in space and space.get("live_bytes"):
            assert space["scoped_peak_bytes"] >= space["peak_bytes"], (path, space)
    assert len(report["step_cycles"]) in (0, len(report["steps"])), path
    wasted = [values[i]["wasted_bytes"] for i in report["by_waste"]]
    assert wasted == sorted(wasted, reverse=True), path


def check_suggestions(tool, path, report):
    """What a suggestion says of its shape, the shape itself says."""
    for value in report["values"]:
        suggestion = value.get("suggestion")
        if not suggestion:
            continue
        lines = f"HloModule m\nENTRY %e {{\n  ROOT %p = {suggestion['shape']} parameter(0)\n}}\n"
        run = subprocess.run(
            [tool, "report", "--json", "-"], input=lines, text=True,
            check=True, capture_output=True,
        )  # fmt: skip
        (candidate,) = json.loads(run.stdout)["values"]
        gain = value["physical_bytes"] - candidate["physical_bytes"]
        assert suggestion["gain"] == gain > 0, (path, value)
        assert candidate["logical_bytes"] == value["logical_bytes"], (path, value)


tool = sys.argv[1]
for folder in sys.argv[2:]:
    for path in sorted(pathlib.Path(folder).glob("*.hlo")):
        run = subprocess.run(
            [tool, "report", "--json", path], check=True, capture_output=True
        )
        report = json.loads(run.stdout)
        check(path, report)
        check_suggestions(tool, path, report)
