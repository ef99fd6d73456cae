"""Parse then print gives text that XLA reads as the same module.

usage: roundtrip.py TESSERA_HLO FOLDER...
"""

import pathlib
import subprocess
import sys

import xla as xla_parser


def main():
    tool = sys.argv[1]
    paths = [p for f in sys.argv[2:] for p in sorted(pathlib.Path(f).glob("*.hlo"))]
    xla = xla_parser.Xla()
    for path in paths:
        text = path.read_text()
        run = subprocess.run([tool, "print", path], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"refused: {run.stderr}")
        if xla.parse(run.stdout) != xla.parse(text):
            sys.exit(f"{path}: XLA prints it differently")
        # Printed by XLA, they come back byte for byte.
        if run.stdout != text:
            sys.exit(f"{path}: the text differs")
    xla.close()
    print(f"{len(paths)} modules come back")


if __name__ == "__main__":
    main()
