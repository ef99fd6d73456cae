# RUN: %python %s %S/../HLO/Inputs/oom | FileCheck %s
# REQUIRES: tessera-python
# CHECK: explain: all passed

"""ts.explain: exceptions and texts of programs that ran out of memory."""

import json
import pathlib
import sys

import tessera as ts


def read(name):
    return (pathlib.Path(sys.argv[1]) / name).read_text()


def raise_with(text, cause=None):
    try:
        raise RuntimeError(text) from cause
    except RuntimeError as error:
        return error


log = read("flowpm_27.log")
assert ts.explain(raise_with(log)) == ts.explain(log)
assert "repair  swap d0, d2: 32.0 GiB -> 1.0 GiB" in ts.explain(log)

# What an exception came from is read too, and each text once.
wrapped = raise_with("the step failed", raise_with(log))
assert ts.explain(wrapped) == ts.explain(log)
again = raise_with(log, raise_with(log))
assert ts.explain(again, "json") == ts.explain(log, "json")

# An exception that is its own context ends.
error = raise_with(log)
error.__cause__ = raise_with("other", error)
assert ts.explain(error) == ts.explain(log)

report = json.loads(ts.explain(log, "json"))
assert report["schema"] == "tessera.oom" and report["allocations"][0]["bytes"] == 32 << 30
assert "2. " not in ts.explain(log, rows=1) and "2. " in ts.explain(log, rows=0)

# Other texts and errors: what shapes mean.
assert "d1, d0 (row-major, as in C)" in ts.explain("f32[8,3]{1,0:T(8,128)}")
assert "d0 by 8, d1 by 128" in ts.explain("{1,0:T(8,128)}")
refused = ts.explain(raise_with("wanted bf16[4], got tensor<8x3xf32>"))
assert "bf16[4]{0}" in refused and "f32[8,3]{1,0}" in refused

for bad, message in (
    (raise_with("division by zero"), "found none in 16 bytes"),
    ("", "expected the name of a type"),
    ("f32[2", "expected `,` or `]`"),
):
    try:
        ts.explain(bad)
    except ts.InvalidError as error:
        assert message in str(error), error
    else:
        raise AssertionError(bad)
try:
    ts.explain(log, "html")
except ts.InvalidError as error:
    assert "'text', 'json', found 'html'" in str(error), error
ts.explain(log + "\ud800")
print("explain: all passed")
