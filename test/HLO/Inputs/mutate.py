"""Mutated modules: Tessera accepts what XLA's parser accepts, and no more.

usage: mutate.py TOOL COUNT FOLDER...

TOOL is tessera-hlo, which prints the modules, or tessera-translate, which
imports them into MLIR, verifies that, and exports it again.

COUNT texts (test_counts.py says when fewer) are made by small random changes of the modules in the folders. For
each, one of these must hold:

  both accept          and then XLA prints the original and what Tessera makes
                       of it alike
  both refuse          and Tessera says why, with line and column
  a known difference   see KNOWN below; each is a predicate on what happened

Whatever the text, the tool must not crash, and not take long.
"""

import collections
import pathlib
import random
import re
import subprocess
import sys

import xla as xla_parser

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
import test_counts  # noqa: E402

SEPARATOR = "// ===== the next module ====="
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_%][\w.-]*|-?\d+|\s+|.', re.DOTALL)


def mutate_characters(text, rng):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        i = rng.randrange(len(text))
        kind = rng.randrange(3)
        new = rng.choice(text) if kind else ""
        text = text[:i] + new + text[i + (kind != 1) :]
    return text


def mutate_tokens(text, rng):
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice([1, 1, 2])):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.randrange(4)
        if kind == 0:
            del tokens[i]
        elif kind == 1:
            tokens[i] = tokens[j]
        elif kind == 2:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        else:
            tokens.insert(i, tokens[j])
        if not tokens:
            break
    return "".join(tokens)


def mutate_numbers(text, rng):
    numbers = list(re.finditer(r"\d+", text))
    match = rng.choice(numbers)
    value = rng.choice(
        ["0", "1", "-1", "2", "127", "128", "2147483648", "9223372036854775807",
         "9223372036854775808", "99999999999999999999", "1.5", "1e3", "?", "*",
         str(int(match.group()) + 1), rng.choice(numbers).group()]
    )
    return text[: match.start()] + value + text[match.end() :]


def mutate_lines(text, rng):
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 2:
        lines.insert(i, lines[j])
    else:
        lines[i : i + 2] = [" ".join(lines[i : i + 2])]
    return "\n".join(lines)


def mutate_attributes(text, rng):
    """Gives an attribute the value, or the name, of another one."""
    found = list(re.finditer(r", ([a-z_-]+)=((?:\{[^{}]*\}|[^,{}\n])*)", text))
    if not found:
        return mutate_tokens(text, rng)
    one, other = rng.choice(found), rng.choice(found)
    kind = rng.randrange(4)
    if kind == 0:
        return text[: one.start()] + text[one.end() :]
    if kind == 1:
        return text[: one.end()] + other.group() + text[one.end() :]
    group = kind - 1
    return text[: one.start(group)] + other.group(group) + text[one.end(group) :]


MUTATIONS = [
    mutate_characters,
    mutate_tokens,
    mutate_tokens,
    mutate_numbers,
    mutate_lines,
    mutate_attributes,
]


def by_our_rules(ours, theirs):
    """Rules of the validator and of the notation have labels."""
    label = re.compile(r"\[(hlo|layout|shape|text)_c\d+\]$")
    return theirs == "ok" and bool(ours) and bool(label.search(ours[0]))


def unsupported(ours, theirs):
    """Right, but not done: results without a shape, nested instructions."""
    return theirs == "ok" and any(": error: unsupported " in line for line in ours)


def beyond_int64(ours, theirs):
    """XLA wraps integers from 2^63 to 2^64-1 around."""
    return theirs == "ok" and any("an integer of 64 bits" in line for line in ours)


def xla_died(ours, theirs):
    """A failed check of XLA's is no verdict on the text."""
    return theirs == "died"


def operand_left_out(ours, theirs):
    """XLA notes the error in `add(, b)`, and goes on with one operand."""
    return theirs == "ok" and any(
        re.search(r"invalid operand: expected a name, found `[,)]`$", line)
        for line in ours
    )


def table_row_without_string(ours, theirs):
    """Nor does XLA look at what it finds in place of a row's string."""
    return theirs == "ok" and any("invalid name in a table" in line for line in ours)


def device_lists_disagree(ours, theirs):
    """XLA takes `[2,2]<=[2]`, and reads past the end of an array."""
    return theirs == "ok" and any(
        re.search("invalid device (list|permutation)", line) for line in ours
    )


# What newer versions of XLA write, and this one's parser does not know.
NEWER = re.compile(r"compare\([^\n]*\border=(PARTIAL|TOTAL)|topk\([^\n]*\bis_stable=")

KNOWN = [
    by_our_rules,
    unsupported,
    beyond_int64,
    operand_left_out,
    table_row_without_string,
    device_lists_disagree,
    xla_died,
]


def judge(text, printed, xla):
    """None when all is well, the name of a known difference, or a complaint."""
    theirs, answer = xla.parse(text)
    ours = [line for line in printed.split("\n") if ": error: " in line]
    accepted = not ours
    if ours and not all(re.match(r"-:\d+:\d+: error: ", line) for line in ours):
        return False, "an error without its location: " + ours[0]
    if not accepted and theirs == "error":
        return True, "both refuse"
    if accepted and theirs == "ok":
        again, reprinted = xla.parse(printed)
        if (again, reprinted) == ("ok", answer):
            return True, "both accept"
        return False, "printed differently: " + (reprinted if again != "ok" else "")
    if accepted and NEWER.search(text):
        return True, "newer attributes"
    for predicate in KNOWN:
        if predicate(ours, theirs):
            return True, predicate.__name__
    verdict = "accepted" if accepted else "refused: " + " | ".join(ours[:3])
    return False, f"{verdict}; XLA: {theirs} {answer[:300] if theirs != 'ok' else ''}"


def run_tool(tool, arguments, texts):
    """Standard output and errors for many texts in one process."""
    run = subprocess.run(
        [tool, *arguments],
        input=f"\n{SEPARATOR}\n".join(texts),
        capture_output=True,
        text=True,
        timeout=300,
    )
    if run.returncode not in (0, 1, 2):
        sys.exit(f"{tool} crashed ({run.returncode}): {run.stderr[-2000:]}")
    return run.stdout, run.stderr


def run_hlo(tool, texts):
    """What is printed of each text: the module or the errors."""
    stdout, _ = run_tool(tool, ["print", "-", f"--separator={SEPARATOR}"], texts)
    return stdout.split(f"\n{SEPARATOR}\n")


def run_translate(tool, texts):
    """The same, after import and export. Errors name the line of the separator
    in front of the text that they are about."""
    options = [f"--split-input-file={SEPARATOR}", f"--output-split-marker={SEPARATOR}"]
    stdout, stderr = run_tool(
        tool, ["--import-hlo", "--export-hlo", *options, "-"], texts
    )
    outputs = stdout.split(f"{SEPARATOR}\n")
    number, line = {}, 1
    for i, text in enumerate(texts):
        # The first text has no separator in front of it.
        number[line] = i
        line += text.count("\n") + (1 if i == 0 else 2)
    place = re.compile(r"^within split at [^:]*:(\d+) offset :(\d+:\d+: error: .*)$", re.M)
    for line, message in place.findall(stderr):
        i = number[int(line)]
        if not outputs[i].startswith("-:"):
            outputs[i] = ""
        outputs[i] += f"-:{message}\n"
    for i, output in enumerate(outputs):
        if not output:
            outputs[i] = "no output, and no error: error: " + stderr[-500:]
    return outputs


def main():
    tool, count = sys.argv[1], test_counts.test_count(int(sys.argv[2]))
    run = run_translate if "translate" in pathlib.Path(tool).name else run_hlo
    folders, seed = map(pathlib.Path, sys.argv[3:]), test_counts.test_seed()
    originals = [p.read_text() for f in folders for p in sorted(f.glob("*.hlo"))]
    # Small modules more often: in them a change is more likely to matter.
    weights = [1 / (2000 + len(text)) for text in originals]
    rng = random.Random(seed)
    texts = []
    for original in rng.choices(originals, weights, k=count):
        texts.append(rng.choice(MUTATIONS)(original, rng).replace("\0", " "))

    batch = 200
    tally, complaints = collections.Counter(), 0
    xla = xla_parser.Xla()
    for start in range(0, count, batch):
        part = texts[start : start + batch]
        outputs = run(tool, part)
        assert len(outputs) == len(part), (len(outputs), len(part))
        for number, (text, printed) in enumerate(zip(part, outputs), start):
            good, what = judge(text, printed, xla)
            if good:
                tally[what] += 1
                continue
            complaints += 1
            if complaints <= 20:
                path = pathlib.Path(f"mutated-{run.__name__}-{seed}-{number}.hlo")
                path.write_text(text)
                print(f"{path}: {what}")
    xla.close()
    print(dict(tally))
    if complaints:
        sys.exit(f"{complaints} of {count} texts are judged otherwise, seed {seed}")
    print("all agree")


if __name__ == "__main__":
    main()
