# RUN: %python %s %tessera_src_root %tessera_obj_root

"""The pages for who works on the project say what is true.

docs/Architecture.md has the diagram that CMake wrote, and names files that are
there. Each recipe of CONTRIBUTING.md lists exactly the files that its example
is found in: the comment under its heading is a pattern of `git grep -E`.

usage: architecture.py SOURCE BUILD [--update]   (--update writes the diagram)
"""

import pathlib
import re
import subprocess
import sys

source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
# Where code and tests are; prose may name what it likes.
FOLDERS = ["include", "lib", "tools", "python", "test", "unittests", "examples"]
# Data is not written by hand.
DATA = re.compile(r"/Inputs/(dump|run|tpu)/|^unittests/Fuzz/Inputs/|\.(dict|hlo|json)$")


def check_diagram(page, update):
    diagram = (build / "docs" / "libraries.mmd").read_text()
    text = page.read_text()
    found = re.search(r"```mermaid\n(.*?)```", text, re.S)
    if found.group(1) == diagram:
        return []
    if update:
        page.write_text(text[: found.start(1)] + diagram + text[found.end(1) :])
        return []
    return [f"{page.name}: the diagram is not that of libraries.mmd; run with --update"]


def check_paths(page):
    """Everything in backquotes that looks like a path of the source tree is one."""
    names = re.findall(r"`((?:%s|docs|cmake|scripts)/[\w./-]*)`" % "|".join(FOLDERS), page.read_text())
    return [f"{page.name}: there is no {name}" for name in names if not (source / name).exists()]


def find_matches(pattern):
    command = ["git", "-C", str(source), "grep", "-lE", pattern, "--", *FOLDERS]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return {line for line in lines if not DATA.search(line)}


def check_recipes(page):
    failures = []
    recipes = re.findall(r"^## (Add .*?)\n(.*?)(?=^## |\Z)", page.read_text(), re.M | re.S)
    if len(recipes) < 6:
        failures.append(f"{page.name}: {len(recipes)} recipes, expected 6 or more")
    for title, body in recipes:
        pattern = re.search(r"<!-- files: (.*?) -->", body).group(1)
        listed = set(re.findall(r"^\| `([^`]+)` \|", body, re.M))
        matches = find_matches(pattern)
        if not matches:
            failures.append(f"{page.name}: {title}: no file matches {pattern}")
        failures += [f"{page.name}: {title}: {name} is not listed" for name in sorted(matches - listed)]
        failures += [f"{page.name}: {title}: {name} does not match" for name in sorted(listed - matches)]
    return failures


def main():
    architecture, contributing = source / "docs" / "Architecture.md", source / "CONTRIBUTING.md"
    failures = check_diagram(architecture, "--update" in sys.argv)
    failures += check_paths(architecture) + check_paths(contributing)
    # An archive of the sources has no files for git to find.
    if (source / ".git").exists():
        failures += check_recipes(contributing)
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
