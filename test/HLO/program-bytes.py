"""The memory that a program needs, as `tessera-hlo report` has it, is what the TPU
compiler says of it: arguments, outputs and temporaries, less what is aliased.
Prints a table of the modules, and holds large programs to 1 %.

Of small programs the compiler needs more: its temporaries in main memory begin
at multiples of 16 KiB, tables of tuples among them. `--small` has a table of these,
and holds them to 24 such places.

REQUIRES: jaxlib, libtpu
RUN: %python %s tessera-hlo
"""

import json
import pathlib
import random
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import test_counts  # noqa: E402
import tpu_models  # noqa: E402

tool, *options = sys.argv[1:]
small = options == ["--small"]
names = [*tpu_models.PROGRAMS, *tpu_models.SHARDED]
if not small:
    import tpu_large_models

    names = tpu_large_models.NAMES
seed = test_counts.test_seed()
rng = random.Random(seed)


def choose(_):
    return rng.sample(names, test_counts.test_count(len(names)))


def measure(compiled):
    """Bytes that the compiler says, and those of the report."""
    memory = compiled.memory
    needed = (
        memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        + memory.temp_size_in_bytes
        - memory.alias_size_in_bytes
    )
    command = [tool, "report", "--json", "-"]
    run = subprocess.run(command, input=compiled.text, stdout=subprocess.PIPE, text=True)
    assert run.returncode == 0, compiled.name
    return needed, json.loads(run.stdout)["program_bytes"]


count, far = 0, []
print("target  program  compiler  report  difference")
for target in tpu_models.TOPOLOGIES:
    for compiled in tpu_models.compile(target, choose):
        needed, found = measure(compiled)
        count += 1
        allowed = max(needed / 100, 24 * 16384) if small else needed / 100
        row = f"{target}  {compiled.name}  {needed}  {found}  {found / needed - 1:.2%}"
        print(row)
        if abs(found - needed) > allowed:
            far.append(row)
assert count > 0
assert not far, "\n".join([f"seed {seed}", *far])
