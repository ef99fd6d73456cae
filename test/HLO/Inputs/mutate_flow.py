"""No mutant of a module is proved to compute the same.

usage: mutate_flow.py TESSERA_HLO COUNT FOLDER...

COUNT texts are made of the modules in the folders, each by one edit that changes
what is computed: another operation, other operands, the same ones in another
order, another number in an attribute, another constant, another layout of an
argument that a bitcast reads. `tessera-hlo prove` may say no, unknown, or that
the text is not valid; yes is a failure, and so is anything else. Each module itself
is proved first.
"""

import collections
import os
import pathlib
import random
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
import test_counts  # noqa: E402

LINE = re.compile(r"^(  (?:ROOT )?)%([\w.-]+) = (\S+|\(.*?\)) ([a-z][a-z-]*)\(([^()]*)\)(.*)$")
OPERATIONS = [
    "add subtract multiply divide maximum minimum power remainder atan2".split(),
    "and or xor".split(),
    "negate exponential sine cosine tanh sqrt rsqrt floor ceil log abs sign".split(),
]
NUMBERS = re.compile(
    r"(dimensions|slice|index|iota_dimension|padding|window|replica_groups|offset_dims|pad)=([{\w][^ ]*)"
)
WORDS = [
    ("direction=LT", "direction=GE"),
    ("direction=EQ", "direction=NE"),
    ("direction=GT", "direction=LT"),
    ("direction=GE", "direction=LE"),
    ("is_stable=true", "is_stable=false"),
]
# What uses only a part of what it is given, or none of it.
IGNORED = ("AllocateBuffer", "AssumeGatherIndicesInBound")


def edit_operation(parts, rng, lines):
    for names in OPERATIONS:
        if parts[3] in names:
            parts[3] = rng.choice([n for n in names if n != parts[3]])


def edit_operand(parts, rng, lines):
    """Another value of the same shape that was made before, in the same computation."""
    operands = parts[4].split(", ")
    if not operands[0].startswith("%"):
        return
    known = {m[2]: m[3] for m in map(LINE.match, lines) if m}
    i = rng.randrange(len(operands))
    shape = known.get(operands[i].lstrip("%"))
    others = [n for n, s in known.items() if s == shape and "%" + n != operands[i]]
    if shape and others:
        operands[i] = "%" + rng.choice(others)
        parts[4] = ", ".join(operands)


def edit_order(parts, rng, lines):
    operands = parts[4].split(", ")
    if len(operands) > 1 and operands[0].startswith("%"):
        i, j = rng.sample(range(len(operands)), 2)
        operands[i], operands[j] = operands[j], operands[i]
        parts[4] = ", ".join(operands)


def edit_number(parts, rng, lines):
    attributes = [m for m in NUMBERS.finditer(parts[5]) if parts[5][m.start() - 1] in " {"]
    if not attributes:
        return
    one = rng.choice(attributes)
    digits = list(re.finditer(r"\d+", one[2]))
    if not digits:
        return
    digit = rng.choice(digits)
    new = one[2][: digit.start()] + str(int(digit[0]) + rng.choice([-1, 1, 2])) + one[2][digit.end() :]
    if rng.random() < 0.4 and len(digits) > 1:
        a, b = rng.sample(digits, 2)
        numbers = {a.start(): b[0], b.start(): a[0]}
        new = re.sub(r"\d+", lambda m: numbers.get(m.start(), m[0]), one[2])
    parts[5] = parts[5][: one.start(2)] + new + parts[5][one.end(2) :]


def edit_word(parts, rng, lines):
    for old, new in WORDS:
        if old in parts[5]:
            parts[5] = parts[5].replace(old, new, 1)
            return


def edit_constant(parts, rng, lines):
    if parts[3] == "constant" and re.fullmatch(r"-?\d+(\.\d+)?", parts[4]):
        parts[4] = str(int(float(parts[4])) + 1)


def edit_layout(parts, rng, lines):
    """Another order of the dimensions of an array that only a bitcast reads."""

    def edit(match):
        order = match[1].split(",")
        rng.shuffle(order)
        return "{" + ",".join(order) + match[2]

    sizes = re.findall(r"\d+", parts[2].split("]")[0].split("[")[-1])
    if "1" not in sizes:
        parts[2] = re.sub(r"\{([\d,]+)([:}])", edit, parts[2])


EDITS = [edit_operation, edit_operand, edit_order, edit_number, edit_number, edit_word, edit_constant, edit_layout]


COPIES = "copy bitcast reshape transpose copy-done copy-start opt-barrier".split()


def find_equals(lines):
    """For each value, the one that it is a copy of."""
    source = {}
    for match in filter(None, map(LINE.match, lines)):
        first = match[5].split(", ")[0].lstrip("%")
        # Fusions of a bitcast alone, and what changes nothing but dimensions of one element.
        copies = match[4] in COPIES or "bitcast_fusion" in match[6] and "," not in match[5]
        source[match[2]] = source.get(first, first) if copies else match[2]
    return source


def get_operands(match):
    return [n.lstrip("%") for n in re.sub(r"/\*.*?\*/", "", match[5]).split(", ")]


def get_sizes(shape):
    return shape.split("]")[0].split("[")[-1].split(",")


class Uses:
    """Who reads what in a module, by the name of a computation and of a value."""

    def __init__(self, lines):
        self.bodies, body = {}, []
        for line in lines:
            if line.endswith("{") and not line.startswith(" "):
                body = self.bodies.setdefault(re.search(r"%([\w.-]+)", line)[1], [])
            elif match := LINE.match(line):
                body.append(match)

    def is_ignored(self, body, name):
        """Whether nobody reads a value for more than to hand it on."""
        uses = [(m, i) for m in body for i, operand in enumerate(get_operands(m)) if operand == name]
        is_result = any(m[1].strip() == "ROOT" and m[2] == name for m in body)
        return bool(uses) and not is_result and all(self.ignores(body, m, i) for m, i in uses)

    def ignores(self, body, user, i):
        """Whether the result is the same whatever operand i is."""
        if user[4] in ("dynamic-slice", "dynamic-update-slice"):
            # A slice of a whole dimension begins at 0.
            shapes = {m[2]: m[3] for m in body}
            dim = i - (1 if user[4] == "dynamic-slice" else 2)
            part = user[3] if user[4] == "dynamic-slice" else shapes[get_operands(user)[1]]
            whole = shapes[get_operands(user)[0]]
            return dim >= 0 and get_sizes(part)[dim] == get_sizes(whole)[dim]
        if user[4] == "copy":
            return self.is_ignored(body, user[2])
        loops = [m for m in body if user[2] in get_operands(m)]
        return user[4] == "tuple" and bool(loops) and all(self.hands_on(m, i) for m in loops)

    def hands_on(self, loop, i):
        """Whether loop carries element i of its state, and nobody in it reads it."""
        if loop[4] != "while":
            return False
        names = re.findall(r"(?:body|condition)=%([\w.-]+)", loop[6])
        for body in map(self.bodies.get, names):
            parts = [m[2] for m in body if m[4] == "get-tuple-element" and re.search(rf"index={i}\b", m[6])]
            users = [m for m in body for operand in get_operands(m) if operand in parts]
            if any(m[1].strip() != "ROOT" or get_operands(m)[i] not in parts for m in users):
                return False
        return len(names) == 2


def is_same_instruction(uses, body, old, new):
    """Whether an edit leaves an instruction what it is."""
    if old[3] == "reduce" and old[4] == new[4]:
        # It sums in any order.
        dims = [re.search(r"dimensions=\{([\d,]*)\}", parts[5]) for parts in (old, new)]
        return dims[0] and dims[1] and sorted(dims[0][1].split(",")) == sorted(dims[1][1].split(","))
    if old[3] != new[3] or old[5] != new[5] or old[4] == new[4]:
        return False
    match = next(m for m in body if m[2] == old[1])
    changed = [i for i, (a, b) in enumerate(zip(get_operands(match), new[4].split(", "))) if "%" + a != b]
    return all(uses.ignores(body, match, i) for i in changed)


def mutate(text, rng):
    """A mutant, and what was edited; nothing where an edit changes nothing."""
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if LINE.match(line)]
    i = rng.choice(places)
    begin = max(k for k in range(i) if lines[k].endswith("{"))
    parts = list(LINE.match(lines[i]).groups())
    edit = rng.choice(EDITS)
    # XLA counts long lists of operands in comments.
    parts[4] = re.sub(r"/\*.*?\*/", "", parts[4])
    readers = [m[4] for m in map(LINE.match, lines[i + 1 :]) if m and f"%{parts[1]}," in m[5] + ","]
    if edit is edit_layout and readers != ["bitcast"]:
        return None, ""
    old = list(parts)
    edit(parts, rng, lines[begin:i])
    if parts == old or any(word in lines[i] for word in IGNORED):
        return None, ""
    equals = find_equals(lines[begin:i])
    same = [equals.get(n.lstrip("%"), n) for n in parts[4].split(", ")]
    if edit in (edit_operand, edit_order) and same == [equals.get(n.lstrip("%"), n) for n in old[4].split(", ")]:
        return None, ""
    uses = Uses(lines)
    body = uses.bodies[re.search(r"%([\w.-]+)", lines[begin])[1]]
    if uses.is_ignored(body, parts[1]) or is_same_instruction(uses, body, old, parts):
        return None, ""
    lines[i] = f"{parts[0]}%{parts[1]} = {parts[2]} {parts[3]}({parts[4]}){parts[5]}"
    return "\n".join(lines), f"{edit.__name__} {lines[i]}"


def main():
    tool, count = sys.argv[1], test_counts.test_count(int(sys.argv[2]))
    paths = [p for f in sys.argv[3:] for p in sorted(pathlib.Path(f).glob("*.hlo"))]
    originals = {path: path.read_text() for path in paths}
    for path in paths:
        subprocess.run([tool, "prove", path, path], check=True, stdout=subprocess.DEVNULL)
    seed = test_counts.test_seed()
    rng = random.Random(seed)
    tally, failures = collections.Counter(), 0
    mutant = pathlib.Path(f"flow-{os.getpid()}.hlo")
    done = 0
    while done < count:
        path = rng.choice(paths)
        text, what = mutate(originals[path], rng)
        if not text:
            continue
        done += 1
        mutant.write_text(text)
        run = subprocess.run([tool, "prove", path, mutant], capture_output=True, text=True, timeout=60)
        tally[what.split()[0], run.returncode] += 1
        if run.returncode not in (1, 2, 3) or "Sanitizer" in run.stderr:
            failures += 1
            print(f"{path.name}, seed {seed}: exit code {run.returncode}: {what[:600]}")
    mutant.unlink()
    for key, number in sorted(tally.items()):
        print(*key, number)
    if failures:
        sys.exit(f"{failures} of {count} mutants")
    print("no mutant is proved")


if __name__ == "__main__":
    main()
