"""Makes the pictures of a Markdown page with `tessera-layout draw`.

  make_pictures.py TESSERA_LAYOUT PAGE.md... OUTPUT_FOLDER

copies the pages into the folder, and into it draws each picture

  <!-- draw: f32[3,5]{1,0:T(2,2)} -->
  ![What it shows](pictures/name.svg)

from the shape, or the two shapes with ` -> ` between them, in the comment above.
"""

import pathlib
import re
import subprocess
import sys

PICTURE = re.compile(r"^<!-- draw: (.*) -->\n!\[.*\]\(([^)]*\.svg)\)$", re.MULTILINE)


def main():
    tool, *pages, folder = sys.argv[1:]
    for page in map(pathlib.Path, pages):
        text = page.read_text()
        for shapes, name in PICTURE.findall(text):
            output = pathlib.Path(folder, name)
            output.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([tool, "draw", *shapes.split(" -> "), "-o", str(output)], check=True)
        pathlib.Path(folder, page.name).write_text(text)


main()
