# RUN: %python %s %t.svg | FileCheck %s
# CHECK: all agree
"""Every cell of the pictures of random layouts is where the addresses say.

The picture is read back, text and SVG, with the numbers that a reader sees at
its rows and columns, and compared with `tessera-layout index --table`.
"""

import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from test_counts import test_count, test_seed

SVG = "{http://www.w3.org/2000/svg}"

# A `*` numbers elements of several dimensions: padding of one of them would
# renumber the elements.
MERGED = [
    ("u8[1,2,7,2]{2,1,3,0:T(3,*,4)PD(2,2,9,4)}", [1, 2, 7, 2]),
    ("u8[3,40,3]{0,2,1:T(*,16)(3,16)}", [3, 40, 3]),
]


def run(*arguments):
    return subprocess.run(
        ["tessera-layout", *arguments], check=True, capture_output=True, text=True
    ).stdout


def random_shape(rng):
    rank = rng.randint(0, 4)
    dims = [rng.choice([1, 2, 3, 5, 7, 12, 40]) for _ in range(rank)]
    keys, tiles = "", ""
    for _ in range(rng.randint(0, 2)):
        sizes = [rng.choice([1, 2, 3, 4, 8, "*"]) for _ in range(rng.randint(0, 2))]
        tiles += "(%s)" % ",".join(map(str, sizes + [rng.choice([2, 3, 4, 16])]))
    keys += "T" * bool(tiles) + tiles
    keys += "L(%d)" % rng.randint(2, 9) if rng.random() < 0.3 else ""
    if rank and rng.random() < 0.2:
        keys += "PD(%s)" % ",".join(str(dim + rng.randint(0, 2)) for dim in dims)
    order = ",".join(map(str, rng.sample(range(rank), rank)))
    layout = "{%s%s}" % (order, ":" * bool(keys) + keys) if rank or keys else ""
    return "u8[%s]%s" % (",".join(map(str, dims)), layout), dims


class Layout:
    """What the picture has to agree with."""

    def __init__(self, text, dims):
        self.dims = dims
        self.element_at = dict(
            line.split("\t") for line in run("index", "--table", text).splitlines()
        )
        self.position_of = {e: p for p, e in self.element_at.items() if e != "padding"}

    def check_memory(self, position, element):
        assert self.element_at[str(position)] == element, (position, element)

    def check_logical(self, subtitle, row, column, position):
        """A cell of a slice; `position` is "padding" where it shows no position."""
        index = [0] * len(self.dims)
        for dim, value in re.findall(r"d(\d+) = (\d+)", subtitle):
            index[int(dim)] = int(value)
        for way, value in [("down", row), ("across", column)]:
            for dim in re.findall(r"d(\d+) " + way, subtitle):
                index[int(dim)] = value
        element = ",".join(map(str, index))
        if position == "padding":
            assert element not in self.position_of, element
        else:
            assert self.position_of[element] == position, element


def check_text(text, layout, options):
    """Reads the grids back and returns how many cells it has seen."""
    cells, kind, subtitle = 0, None, ""
    lines = iter(run("draw", "--width=0", *options, text).splitlines()[1:])
    for line in lines:
        if line.startswith(("logical:", "memory:")):
            kind, subtitle = line.split(":")[0], next(lines)
            columns = [int(word) for word in next(lines).split()]
            continue
        if kind is None or not re.match(r" *\d+ [┃│]", line):
            continue
        row, *labels = re.sub("[┃│]", " ", line).replace("⋯", " ").split()
        assert len(labels) <= len(columns), line
        for column, label in zip(columns, labels):
            label = {"·": "padding", "()": ""}.get(label, label)
            if kind == "memory":
                layout.check_memory(int(row) + column, label)
            else:
                layout.check_logical(subtitle, int(row), column, label)
            cells += 1
    return cells


def check_svg(path, text, layout, options):
    run("draw", text, "-o", path, *options)
    cells = 0
    for grid in ElementTree.parse(path).getroot().findall(SVG + "g"):
        texts = grid.findall(SVG + "text")
        numbers = {"row": {}, "column": {}}
        for item in texts:
            for way, key in [("row", "y"), ("column", "x")]:
                if item.get("class") == "soft " + way:
                    numbers[way][float(item.get(key))] = int(item.text)
        subtitle = texts[1].text or ""
        for cell in grid.findall(SVG + "g"):
            rect = {key: float(cell.find(SVG + "rect").get(key)) for key in ("x", "y", "width")}
            row = numbers["row"][rect["y"] + 16]
            middle = rect["x"] + rect["width"] / 2
            column = next(n for x, n in numbers["column"].items() if abs(x - middle) < 0.2)
            position, label = cell.get("data-position"), cell.find(SVG + "text")
            element = cell.get("data-element", "padding")
            layout.check_memory(int(position), element)
            hover = "padding" if element == "padding" else "element (%s)" % element
            assert cell.find(SVG + "title").text.startswith("%s at position %s" % (hover, position))
            if grid.get("class") == "memory":
                assert int(position) == row + column
                shown = None if element == "padding" else element or "()"
            else:
                shown = None if element == "padding" else position
                layout.check_logical(subtitle, row, column, shown or "padding")
            assert (label is None and shown is None) or label.text == shown
            cells += 1
    return cells


def main():
    print(f"TESSERA_SEED={test_seed()}")
    rng = random.Random(test_seed())
    for i in range(test_count(100)):
        text, dims = MERGED[i] if i < len(MERGED) else random_shape(rng)
        layout = Layout(text, dims)
        # All cells of small arrays, the chosen ones of large arrays.
        options = rng.choice([["--rows=500", "--columns=500"], []])
        seen = check_text(text, layout, options)
        assert seen == check_svg(sys.argv[1], text, layout, options), text
        assert seen > 0
    print("all agree")


main()
