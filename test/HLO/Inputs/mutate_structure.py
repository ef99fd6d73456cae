"""Modules whose text parses, but does not fit together, end no process.

usage: mutate_structure.py [--only=COMMAND] TESSERA_HLO TESSERA_TRANSLATE COUNT FOLDER...

COUNT texts (test_counts.py says when fewer) are made of the modules in the
folders: an instruction or two get another operand, opcode, shape, index, called
computation, or alias, or a kernel other bytes. For each, two of the commands of
tessera-hlo in turn, all of them in the full run, and every tenth time the import
into MLIR must answer or refuse; an end by a signal, a sanitizer's report or more
than a minute is a failure. With --only it is that command alone each time.
"""

import base64
import collections
import os
import pathlib
import random
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
import test_counts  # noqa: E402

LINE = re.compile(r"^(  (?:ROOT )?%[\w.-]+ = )(.*?)( )([a-z][a-z-]*)(\()(.*)$")
SHAPE = re.compile(r"\b(?:pred|token|[a-z]+\d+[a-z0-9]*)\[[\d,<=]*\](?:\{[^}]*\})?")
HANDING_ON = """
all-gather-done all-gather-start all-reduce all-reduce-done all-reduce-start add-dependency
async-done async-update bitcast call collective-permute-done collective-permute-start
conditional copy copy-done copy-start domain dynamic-update-slice fusion
get-tuple-element opt-barrier recv recv-done reshape scatter send send-done
set-dimension-size sort transpose tuple while
""".split()


def mutate_operand(parts, rng, names, shapes, opcodes):
    operands = list(re.finditer(r"%[\w.-]+", parts[5]))
    if operands:
        one = rng.choice(operands)
        new = rng.choice(names)
        parts[5] = parts[5][: one.start()] + new + parts[5][one.end() :]


def mutate_opcode(parts, rng, names, shapes, opcodes):
    parts[3] = rng.choice(HANDING_ON + opcodes)


def mutate_shape(parts, rng, names, shapes, opcodes):
    kind = rng.randrange(4)
    if kind == 0:
        parts[1] = rng.choice(shapes)
    elif kind == 1:
        parts[1] = f"({parts[1]}, {rng.choice(shapes)})"
    elif kind == 2 and parts[1].startswith("("):
        parts[1] = rng.choice(SHAPE.findall(parts[1]) or shapes)
    else:
        parts[1] = SHAPE.sub(lambda match: rng.choice([match.group(), rng.choice(shapes)]), parts[1])


def mutate_attributes(parts, rng, names, shapes, opcodes):
    number = rng.choice(["-1", "0", "1", "2", "7", "99999999999"])
    text = re.sub(r"index=\d+", "index=" + number, parts[5])
    text = re.sub(r'"indices":\["\d+"', f'"indices":["{number}"', text)
    if rng.random() < 0.3:
        text += rng.choice(
            [
                f", index={number}",
                ', custom_call_target="ConcatBitcast"',
                ", calls=" + rng.choice(names),
                f", output_to_operand_aliasing={{{{}}: ({number}, {{}})}}",
                ", to_apply=" + rng.choice(names),
                f', backend_config={{"aliasing_operands":{{"lists":[{{"indices":["0","{number}","1"]}}]}}}}',
            ]
        )
    parts[5] = text


MUTATIONS = [mutate_operand, mutate_opcode, mutate_shape, mutate_attributes]
BODY = re.compile(r'("body":\s*")([\w+/=]+)"')


def mutate_body(line, rng):
    """Other bytes in the kernel of a custom call, here and there."""

    def edit(match):
        body = bytearray(base64.b64decode(match[2]))
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(body))
            end = at + rng.choice([0, 1, 1, 1, 8])
            body[at:end] = rng.choice(
                [bytes([rng.randrange(256)]), rng.choice([b"(", b")", b"<", b">", b'"', b",", b""])]
            )
        return f'{match[1]}{base64.b64encode(body).decode()}"'

    return BODY.sub(edit, line)


def mutate(text, rng):
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if LINE.match(line)]
    shapes = SHAPE.findall(text)
    opcodes = [LINE.match(lines[i])[4] for i in places]
    for _ in range(rng.choice([1, 1, 2, 3])):
        kernels = [i for i in places if BODY.search(lines[i])]
        i = rng.choice(kernels if kernels and rng.random() < 0.5 else places)
        parts = list(LINE.match(lines[i]).groups())
        # Names that are known where the instruction stands.
        names = re.findall(r"^\s*(?:ROOT )?(%[\w.-]+) = ", "\n".join(lines[max(0, i - 30) : i]), re.M)
        if BODY.search(lines[i]) and rng.random() < 0.7:
            lines[i] = mutate_body(lines[i], rng)
            continue
        mutation = rng.choice(MUTATIONS)
        mutation(parts, rng, names or ["%x"], shapes, opcodes)
        # What it was called with goes with another opcode only now and then.
        if mutation is mutate_opcode and rng.random() < 0.5:
            parts[5] = parts[5].split("), ")[0].rstrip(")") + ")"
        lines[i] = "".join(parts)
    return "\n".join(lines)


def get_commands(hlo, translate, number, only, original, path):
    # To start a process takes most of the time.
    all_commands = {
        "report": [hlo, "report", path],
        "diff": [hlo, "diff", original, path],
        "print": [hlo, "print", path],
        "kernels": [hlo, "kernels", path],
        "check": [hlo, "check", path],
        "advise": [hlo, "advise", path],
        "assign": [hlo, "assign", path],
        "prove": [hlo, "prove", original, path],
    }
    if only:
        return [all_commands[only]]
    commands = list(all_commands.values())
    if not test_counts.is_full_test():
        begin = 2 * number % len(commands)
        commands = commands[begin : begin + 2]
    if number % 10 == 0:
        commands.append([translate, "--import-hlo", path])
    return commands


def main():
    only = ""
    if sys.argv[1].startswith("--only="):
        only = sys.argv.pop(1).split("=")[1]
    hlo, translate, count = sys.argv[1], sys.argv[2], test_counts.test_count(int(sys.argv[3]))
    paths = [p for f in sys.argv[4:] for p in sorted(pathlib.Path(f).glob("*.hlo"))]
    paths = [p for p in paths if any(LINE.match(line) for line in p.read_text().split("\n"))]
    originals = [path.read_text() for path in paths]
    weights = [1 / (2000 + len(text)) for text in originals]
    seed = test_counts.test_seed()
    rng = random.Random(seed)
    tally, failures = collections.Counter(), 0
    path = pathlib.Path(f"mutant-{os.getpid()}.hlo")
    for number in range(count):
        original = rng.choices(range(len(paths)), weights)[0]
        path.write_text(mutate(originals[original], rng))
        commands = get_commands(hlo, translate, number, only, paths[original], path)
        for command in commands:
            run = subprocess.run(command, capture_output=True, text=True, timeout=60)
            tally[command[1] if command[0] == hlo else "import", run.returncode] += 1
            if run.returncode in (0, 1, 2, 3) and "Sanitizer" not in run.stderr:
                continue
            failures += 1
            path.rename(f"mutant-{seed}-{number}.hlo")
            print(f"mutant-{seed}-{number}.hlo: {command[:2]}: {run.returncode} {run.stderr[-1000:]}")
            break
    path.unlink(missing_ok=True)
    print(dict(tally))
    if failures:
        sys.exit(f"{failures} of {count} mutants end the process, seed {seed}")
    print("no mutant ends the process")


if __name__ == "__main__":
    main()
