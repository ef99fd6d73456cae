"""Asks XLA's own parser, the one in jaxlib, about shape texts.

XLA answers by building a module with one parameter of that shape. Some texts
end its process (a tail padding of 0, a negative tile size), so it runs in a
child, which is started again behind a text that killed it.
"""

import json
import subprocess
import sys

DIED = "<died>"


def ask(texts):
    """For each text what XLA prints for it, None if it refuses, or DIED."""
    answers = []
    while len(answers) < len(texts):
        rest = texts[len(answers) :]
        child = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps(rest),
            capture_output=True,
            text=True,
        )
        got = [json.loads(line) for line in child.stdout.splitlines()]
        answers += got
        if len(got) < len(rest):
            answers.append(DIED)
    return answers


def answer(module_from_text, text):
    # The newline ends a `//` comment of the text.
    module = "HloModule m\nENTRY e {\n ROOT p = %s\n parameter(0)\n}\n" % text
    try:
        printed = module_from_text(module).to_string()
    except Exception:
        return None
    line = next(text for text in printed.splitlines() if text.endswith(" parameter(0)"))
    return line.split("= ", 1)[1].removesuffix(" parameter(0)")


def main():
    from jaxlib import _hlo

    for text in json.load(sys.stdin):
        print(json.dumps(answer(_hlo.hlo_module_from_text, text)), flush=True)


if __name__ == "__main__":
    main()
