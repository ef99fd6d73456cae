"""Tessera's parser against XLA's, on texts of real modules and random ones.

usage: xla_agreement.py TESSERA-LAYOUT

Both must take the same texts and print the same for them; the only differences
allowed are those of the table in refusals.py, in both directions: a text that
the table refuses must be refused.
"""

import collections
import os
import re
import subprocess
import sys

here = os.path.dirname(__file__)
sys.path.append(os.path.join(here, "..", "..", "Inputs"))

import refusals
import shape_texts
import xla_parser
from test_counts import test_count, test_seed

# Texts that may end XLA's process are only asked so often.
MAX_RISKY = 20


def ask_tessera(tool, texts):
    """For each text what Tessera prints for it, None if it refuses."""
    run = subprocess.run(
        [tool, "parse", "--stdin"],
        input="".join(text + "\n" for text in texts),
        capture_output=True,
        text=True,
    )
    lines = run.stdout.split("\n")[:-1]
    assert len(lines) == len(texts) and run.returncode in (0, 1), run.stderr
    assert (run.returncode == 1) == any(line.startswith("error: ") for line in lines)
    return [None if line.startswith("error: ") else line for line in lines]


def kills_xla(text):
    """Whether `text` is one of those that end XLA's process."""
    try:
        arrays = refusals.read_arrays(text)
    except refusals.Malformed:
        return False
    return any(
        refusals.has_what_tokens_have_not(array)
        or any(n < 1 for n in array.numbers("L"))
        or any(s != "*" and int(s) < 0 for tile in array.tiles() for s in tile)
        for array in arrays
    )


def disagreement(text, ours, xla):
    """What is wrong with the two answers, or None."""
    if xla is None:
        # PD and PV are ours, and come about by mutation; check_own_keys.
        if ours is None or re.search(r"P[DV]\(", ours):
            return None
        if refusals.refused_in_tuples(ours):
            return None
        return "XLA refuses, we print %s" % ours
    # What ends XLA's process need not be well-formed behind that position.
    if xla == xla_parser.DIED and ours is None:
        return None
    reason = refusals.refusal(text)
    if reason:
        return None if ours is None else "%s, yet we print %s" % (reason, ours)
    if ours != xla:
        return "XLA prints %s, we %s" % (xla, ours or "refuse")
    return None


def check(tool, texts, statistics):
    risky = [text for text in texts if kills_xla(text)]
    dropped = set(risky[MAX_RISKY:])
    texts = [text for text in texts if text not in dropped]
    ours = ask_tessera(tool, texts)
    xla = xla_parser.ask(texts)
    failures = []
    for text, our_answer, xla_answer in zip(texts, ours, xla):
        if error := disagreement(text, our_answer, xla_answer):
            failures.append("%r: %s" % (text, error))
        elif xla_answer is None:
            by = "both" if our_answer is None else "XLA alone: tuples, PD, PV"
            statistics["refused by " + by] += 1
        elif xla_answer == xla_parser.DIED:
            statistics["refused, ends XLA's process"] += 1
        elif our_answer is None:
            statistics[refusals.refusal(text)] += 1
        else:
            statistics["printed alike"] += 1
    # What would end XLA's process must be refused all the same.
    for text, answer in zip(sorted(dropped), ask_tessera(tool, sorted(dropped))):
        if answer is not None:
            failures.append("%r: must be refused, we print %s" % (text, answer))
    statistics["refused, XLA not asked"] += len(dropped)
    return failures


def check_own_keys(tool, generator, count):
    """PD and PV, which XLA does not know, are added to what it prints."""
    arrays = [generator.join(generator.array()) for _ in range(count)]
    texts = []
    for text, printed in zip(arrays, xla_parser.ask(arrays)):
        sizes = re.search(r"\[(.*?)\]", printed or "")
        if sizes is None or refusals.refusal(text):
            continue
        rng = generator.rng
        dims = [size.strip("<=?") or "0" for size in sizes[1].split(",") if sizes[1]]
        widths = [str(int(size) + rng.choice([0, 1, 3])) for size in dims]
        keys = "PD(%s)" % ",".join(widths) if widths and rng.random() < 0.7 else ""
        if not keys or rng.random() < 0.7:
            keys += "PV(%s)" % ("one" if not printed.startswith("s1[") else "zero")
        head, tail = printed, ":%s}" % keys
        if head.endswith("}"):
            head = head[:-1]
            tail = tail if ":" not in head else tail[1:]
        else:
            tail = "{" + tail
        if not refusals.is_too_large(refusals.read_arrays(head + tail)[0]):
            texts.append(head + tail)
    return [
        "%r: we print %s" % (text, ours)
        for text, ours in zip(texts, ask_tessera(tool, texts))
        if ours != text
    ]


def main():
    tool = sys.argv[1]
    seed = test_seed()
    generator = shape_texts.ShapeTexts(seed)
    with open(os.path.join(here, "tpu-shapes.txt")) as file:
        real = file.read().splitlines()
    count = test_count(100_000)
    texts = [generator.legal() for _ in range(count // 2)]
    texts += [generator.broken() for _ in range(count - count // 2)]

    statistics = collections.Counter()
    failures = check(tool, real, statistics)
    if statistics["printed alike"] != len(real):
        failures.append("not all real texts were taken")
    failures += check(tool, texts, statistics)
    failures += check_own_keys(tool, generator, test_count(2_000))
    for name, number in sorted(statistics.items()):
        print("%7d %s" % (number, name))
    for failure in failures[:40]:
        print(failure)
    print("%d failures, TESSERA_SEED=%d" % (len(failures), seed))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
