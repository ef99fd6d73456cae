# RUN: %python %s tessera-opt %tessera_src_root/test | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} modules, 0 failures
# CHECK: {{^[1-9][0-9]*}} programs, 0 failures
"""--tessera-assign-layouts on every module of the tests, and on random programs.

A module that is valid stays valid: the pass succeeds for every target, its
output parses, and a second run changes nothing. Random programs pass tensors
with and without layouts through operations, calls, loops and conditionals, and
compute the same before and after.
"""

import os
import pathlib
import random
import re
import subprocess
import sys

tool, root = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.append(str(root / "Inputs"))
from test_counts import test_count, test_seed

TARGETS = ["cpu", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e", "tpu_v7x", "nvgpu"]
MEMREF, PLAIN = "memref<5x3xi32>", "tensor<5x3xi32>"
TYPES = [PLAIN] + [f"tensor<5x3xi32, #tessera.layout<{text}>>" for text in
                   ("{0,1}", "{1,0:T(2,2)}", "{1,0:T(8,128)}", "{1,0:S(1)}")]


def opt(text, *flags):
    done = subprocess.run([tool, "--allow-unregistered-dialect", *flags],
                          input=text, text=True, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def check_module(text, target):
    """What is wrong with the pass on a valid module, or None."""
    code, once, message = opt(text, f"--tessera-assign-layouts=target={target}")
    if code:
        return f"exit code {code}: {message[-500:]}"
    code, twice, message = opt(once, f"--tessera-assign-layouts=target={target}")
    if code:
        return f"its output: {message[-500:]}"
    return None if once == twice else "a second run changes something"


def valid_modules():
    """Modules that parse, also as they are printed: what --tessera-verify refuses may not."""
    for path in sorted(root.rglob("*.mlir")):
        for part in path.read_text().split("\n// -----\n"):
            code, printed, _ = opt(part)
            if code == 0 and opt(printed)[0] == 0:
                yield path, part


class Program:
    """A random function body over values of one shape, each in some layout."""

    def __init__(self, rng):
        self.rng, self.lines, self.values, self.count = rng, [], [], 0

    def add(self, op, kind):
        self.count += 1
        self.lines.append(f"%v{self.count} = {op}")
        self.values.append((f"%v{self.count}", kind))

    def pick(self):
        return self.rng.choice(self.values)

    def pick_of(self, kind):
        """A value of that type, by a relayout if there is none."""
        same = [value for value, of in self.values if of == kind]
        if same:
            return self.rng.choice(same)
        self.relayout(kind)
        return self.values[-1][0]

    def relayout(self, kind):
        value, of = self.pick()
        self.add(f"tessera.relayout {value} : {of} to {kind}", kind)

    def step(self):
        rng, (value, kind) = self.rng, self.pick()
        choice = rng.randrange(7)
        if choice < 2:
            self.relayout(rng.choice(TYPES))
        elif choice == 2:
            other = self.pick_of(kind)
            self.add(f"linalg.add ins({value}, {other} : {kind}, {kind}) "
                     f"outs({other} : {kind}) -> {kind}", kind)
        elif choice == 3:
            self.add(f"func.call @twice({self.pick_of(PLAIN)}) : ({PLAIN}) -> {PLAIN}", PLAIN)
        elif choice == 4:
            self.add(f"scf.for %i = %c0 to %c3 step %c1 iter_args(%a = {value}) -> {kind} {{\n"
                     f"  %s = linalg.add ins(%a, %a : {kind}, {kind}) outs({value} : {kind})"
                     f" -> {kind}\n  scf.yield %s : {kind}\n}}", kind)
        elif choice == 5:
            other = self.pick_of(kind)
            self.add(f"scf.if %yes -> {kind} {{\n  scf.yield {value} : {kind}\n}} else {{\n"
                     f"  scf.yield {other} : {kind}\n}}", kind)
        else:
            self.count += 1
            to = rng.choice(TYPES)
            self.lines += [
                f"%v{self.count}, %t{self.count} = tessera.copy_start {value} : {kind} to {to}",
                f"tessera.copy_done %t{self.count}"]
            self.values.append((f"%v{self.count}", to))

    def text(self):
        numbers = [[self.rng.randrange(100) for _ in range(3)] for _ in range(5)]
        self.add(f"bufferization.to_tensor %numbers restrict : {MEMREF} to {PLAIN}", PLAIN)
        for _ in range(self.rng.randint(2, 8)):
            self.step()
        value, kind = self.pick()
        row, column = self.rng.randrange(5), self.rng.randrange(3)
        body = "\n  ".join(self.lines)
        return f"""memref.global "private" constant @numbers : {MEMREF} = dense<{numbers}>
func.func @twice(%x: {PLAIN}) -> {PLAIN} {{
  %e = tensor.empty() : {PLAIN}
  %r = linalg.add ins(%x, %x : {PLAIN}, {PLAIN}) outs(%e : {PLAIN}) -> {PLAIN}
  return %r : {PLAIN}
}}
func.func @main() -> i32 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %row = arith.constant {row} : index
  %column = arith.constant {column} : index
  %yes = arith.constant true
  %numbers = memref.get_global @numbers : {MEMREF}
  {body}
  %r = tensor.extract {value}[%row, %column] : {kind}
  return %r : i32
}}
"""


def execute(text):
    code, lowered, message = opt(text, "--tessera-to-llvm")
    if code:
        return f"does not lower: {message[-500:]}"
    # The runner knows no attributes of ours.
    lowered = re.sub(r"module attributes {.*?> *} {", "module {", lowered)
    ran = subprocess.run(["mlir-runner", "-e", "main", "-entry-point-result=i32"],
                         input=lowered, text=True, capture_output=True)
    return ran.stdout if ran.returncode == 0 else f"does not run: {ran.stderr[-500:]}"


def check_program(rng):
    text, target = Program(rng).text(), rng.choice(TARGETS)
    wrong = check_module(text, target)
    if wrong:
        return f"{wrong}\n{text}"
    before = execute(text)
    after = execute(opt(text, f"--tessera-assign-layouts=target={target}")[1])
    return None if before == after else f"{target}: {before} before, {after} after\n{text}"


def report(failures, count, what):
    for failure in failures[:5]:
        print(failure, file=sys.stderr)
    print(f"{count} {what}, {len(failures)} failures")


def main():
    rng = random.Random(test_seed())
    print(f"TESSERA_SEED={os.environ['TESSERA_SEED']}", file=sys.stderr)
    failures, count = [], 0
    for path, text in valid_modules():
        targets = TARGETS if test_count(10) == 10 else [rng.choice(TARGETS)]
        found = [(target, check_module(text, target)) for target in targets]
        failures += [f"{path}, {target}: {wrong}" for target, wrong in found if wrong]
        count += len(targets)
    report(failures, count, "modules")
    count = test_count(500)
    failures = [wrong for wrong in (check_program(rng) for _ in range(count)) if wrong]
    report(failures, count, "programs")


if __name__ == "__main__":
    main()
