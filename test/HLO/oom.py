"""What `tessera-hlo oom` says of the kept logs is true by other commands.

RUN: %python %s tessera-hlo tessera-layout %S/Inputs/oom
"""

import json
import math
import pathlib
import re
import subprocess
import sys

hlo, layout, folder = sys.argv[1:]
UNITS = {"K": 1, "M": 2, "G": 3}


def run(*command, text=None):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, input=text).stdout)


def check_allocation(name, allocation):
    printed = allocation["printed_bytes"]
    if "shape" not in allocation:
        assert "spill" in allocation["label"], (name, allocation)
        return
    size = run(layout, "size", "--json", allocation["shape"])
    assert size["bytes"] == allocation["bytes"], (name, allocation)
    assert size["padding_bytes"] == allocation["padding_bytes"], (name, allocation)
    assert abs(size["bytes"] - printed) <= 0.006 * printed, (name, allocation)
    for repair in allocation["repairs"]:
        other = run(layout, "size", "--json", repair["shape"])
        assert other["bytes"] == repair["bytes"] == size["bytes"] - repair["gain"], (name, repair)
        assert other["logical_elements"] == size["logical_elements"], (name, repair)
        assert repair["gain"] > 0


def in_bytes(text):
    number, unit = re.fullmatch(r"([\d.]+)([KMG])i?B?", text).groups()
    return float(number) * 1024 ** UNITS[unit]


def check_log(path):
    report = run(hlo, "oom", "--json", path)
    assert report["schema"] == "tessera.oom" and report["version"] == 1
    text = path.read_text()
    sizes = [in_bytes(size) for size in re.findall(r" Size: (\S+)", text.replace("\\n", "\n").replace("\t", " "))]
    counted = sum(each["printed_bytes"] * each["count"] for each in report["allocations"])
    assert math.isclose(counted, sum(sizes), abs_tol=1), (path.name, counted, sizes)
    totals = [each["bytes"] * each["count"] for each in report["allocations"]]
    assert totals == sorted(totals, reverse=True), path.name
    for allocation in report["allocations"]:
        check_allocation(path.name, allocation)
    gains = [each["repairs"][0]["gain"] * each["count"] for each in report["allocations"]
             if each["repairs"] and each["repairs"][0]["kind"] != "type"]  # fmt: skip
    assert report["gain"] == sum(gains), path.name
    # The same list from two processes counts once.
    assert run(hlo, "oom", "--json", "-", text=text + "\n" + text) == report, path.name


paths = sorted(pathlib.Path(folder).glob("*.log"))
assert len(paths) >= 12
for path in paths:
    check_log(path)
