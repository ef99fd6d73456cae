"""A module of 200,000 instructions is imported and reported within 1 GiB.

UNSUPPORTED: sanitized
RUN: %python %s %tessera_src_root/benchmarks/make_large_hlo.py %t %S/Inputs/tpu tessera-hlo tessera-translate tessera-opt
"""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import test_counts  # noqa: E402

GIBIBYTE = 1 << 30

maker, temporary, folder, hlo, translate, opt = sys.argv[1:]
large, imported = pathlib.Path(temporary + ".hlo"), temporary + ".mlir"
count = test_counts.test_count(200_000)


def run(*command):
    """The peak of resident memory of a command that has to succeed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_maxrss * 1024


sources = sorted(pathlib.Path(folder).glob("*.hlo"))
with large.open("w") as file:
    command = [sys.executable, maker, *sources, f"--instructions={count}"]
    subprocess.run(command, stdout=file, check=True)
for command in (
    [hlo, "report", large],
    [hlo, "report", "--html", large],
    [hlo, "diff", "--json", large, large],
    [hlo, "diff", "--html", "--fail-if=padding>+0", large, large],
    [hlo, "advise", large],
    [hlo, "assign", large],
    [hlo, "kernels", large],
    [hlo, "check", large],
    [hlo, "prove", large, large],
    [translate, "--import-hlo", large, "-o", imported],
    [translate, "--export-hlo", imported, "-o", temporary + ".again.hlo"],
    [opt, "--tessera-report", imported, "-o", os.devnull],
):
    peak = run(*command)
    print(f"{peak >> 20} MiB", *command[:2])
    assert peak < GIBIBYTE, (peak, command)

# Last: a child begins with the memory of its parent.
text = large.read_text()
large.unlink()
assert text.count(" = ") >= count
try:
    from jaxlib import _hlo

    _hlo.hlo_module_from_text(text)
except ModuleNotFoundError:
    pass
