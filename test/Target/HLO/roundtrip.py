"""Import, then export: XLA prints the same module, with and without --hlo-raw.

REQUIRES: jaxlib
RUN: %python %s %S/../../HLO/Inputs
"""

import difflib
import pathlib
import subprocess
import sys

from jaxlib import _hlo


def canonical(text):
    """What XLA prints; its stack frames settle on the second print."""
    for _ in range(2):
        text = _hlo.hlo_module_from_text(text).to_string()
    return text


def translate(text, *options):
    command = ["tessera-translate", *options, "-"]
    return subprocess.run(
        command, input=text, stdout=subprocess.PIPE, check=True, text=True
    ).stdout


files = sorted(pathlib.Path(sys.argv[1]).glob("*/*.hlo"))
assert len(files) >= 33, files
for file in files:
    text = file.read_text()
    expected = canonical(text)
    for options in [], ["--hlo-raw"]:
        imported = translate(text, "--import-hlo", *options)
        exported = canonical(translate(imported, "--export-hlo"))
        difference = difflib.unified_diff(
            expected.splitlines(), exported.splitlines(), n=0, lineterm=""
        )
        assert exported == expected, "\n".join([str(file), *options, *difference])
        # What the dialect has an operation for became one, and nothing when raw.
        kept = [name for name in ("bitcast", "copy") if '"%s"(' % name in imported]
        assert options or "bitcast" not in kept, (file, kept)
        assert not options or "tessera.bitcast" not in imported, file
