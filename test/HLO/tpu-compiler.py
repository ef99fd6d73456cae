"""What the TPU compiler makes today, of all generations: modules come back from
import and export, with and without --hlo-raw, as XLA's parser prints them; sizes
of arguments and results are the compiler's; the target has every space.

REQUIRES: jaxlib, libtpu
RUN: %python %s tessera-hlo tessera-translate tessera-opt
"""

import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Inputs"))
import test_counts  # noqa: E402
import tpu_models  # noqa: E402
from jaxlib import _hlo  # noqa: E402

hlo, translate, opt = sys.argv[1:]


def run(*command, text):
    run = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        pathlib.Path("refused.hlo").write_text(text)
        sys.exit(f"{command}: refused, see {os.getcwd()}/refused.hlo")
    return run.stdout


def canonical(text):
    """What XLA prints; its stack frames settle on the second print."""
    for _ in range(2):
        text = _hlo.hlo_module_from_text(text).to_string()
    return text


def check(target, name, text, argument_bytes, output_bytes):
    expected = canonical(text)
    for options in ["--hlo-raw"], []:
        imported = run(translate, "--import-hlo", *options, "-", text=text)
        exported = run(translate, "--export-hlo", "-", text=imported)
        assert canonical(exported) == expected, (target, name, options)
    # Only a target knows whether spaces exist and hold what is live.
    before, _, after = imported.partition("attributes {")
    attribute = f'tessera.target = #tessera.target<"{target}">, '
    module = before + "attributes {" + attribute + after
    # Split configurations are for programs on several cores, and unsupported.
    if "SC(" not in text:
        run(opt, "--tessera-verify", "-", text=module)
    report = json.loads(run(hlo, "report", "--json", "-", text=text))
    assert report["argument_bytes"] == argument_bytes, (target, name)
    # The table of a tuple takes 32 bytes on v5p and v6e.
    table = 480 if target in ("tpu_v5p", "tpu_v6e") else 0
    assert report["output_bytes"] - output_bytes in (0, table), (target, name)


seed = test_counts.test_seed()
rng = random.Random(seed)
count = 0
for target in tpu_models.TOPOLOGIES:

    def choose(names):
        return rng.sample(names, test_counts.test_count(len(names)))

    for module in tpu_models.compile(target, choose):
        check(target, *module)
        count += 1
print(f"{count} modules come back, seed {seed}")
