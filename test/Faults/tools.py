# RUN: %python %s %t %tessera_obj_root/bin | FileCheck %s
# CHECK: {{[0-9]+}} faults, 0 failures
"""Every tool where something outside goes wrong: memory, disks, pipes, devices.

Each command runs under each fault. It has to end in time, by itself: with its answer,
or with a message and an exit code that is no success. What it had to write is there
whole, or as it was before, and nothing else is left.
"""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

work, bins = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
TIMEOUT_S = 20  # for machines that do much else; a fault takes less than a second
# The shadow of AddressSanitizer is terabytes of addresses: nothing starts with few.
ADDRESSES_ARE_LIMITED = "ASAN_OPTIONS" not in os.environ

SHAPE, TILED = "f32[64,300]", "f32[64,300]{1,0:T(8,128)}"
MODULE = """
!t = tensor<64x300xf32, #tessera.layout<{1,0:T(8,128)}>>
func.func @f(%a: tensor<64x300xf32>) -> !t {
  %b = tessera.relayout %a : tensor<64x300xf32> to !t
  return %b : !t
}
"""
HLO = """HloModule m
ENTRY %main (a: f32[64,300]) -> f32[64,300] {
  %a = f32[64,300]{1,0:T(8,128)} parameter(0)
  ROOT %b = f32[64,300]{1,0:T(8,128)} add(%a, %a)
}
"""
# Tool and arguments. IN is a file of the right kind, OUT one to be written; TEXT is
# what IN holds, or a number of bytes.
COMMANDS = [
    ("tessera-layout", "parse --stdin", "IN", None, "\n".join([SHAPE] * 2000)),
    ("tessera-layout", "explain -", "IN", None, SHAPE),
    ("tessera-layout", f"draw {TILED} -o OUT", None, "OUT", None),
    ("tessera-layout", f"dump {SHAPE} IN", "IN", None, 64 * 300 * 4),
    ("tessera-hlo", "report IN", "IN", None, HLO),
    ("tessera-hlo", "diff IN IN", "IN", None, HLO),
    ("tessera-run", f"relayout {SHAPE} {TILED} IN OUT", "IN", "OUT", 64 * 300 * 4),
    ("tessera-compile", f"relayout {SHAPE} {TILED} -o OUT", None, "OUT", None),
    ("tessera-compile", f"relayout {SHAPE} {TILED} --emit=llvm -o OUT", None, "OUT", None),
    ("tessera-compile", "relayout --batch=IN -o OUT", "IN", "OUT", f"{SHAPE} {TILED}\n"),
    ("tessera-opt", "--tessera-to-llvm IN -o OUT", "IN", "OUT", MODULE),
    ("tessera-translate", "--import-hlo IN -o OUT", "IN", "OUT", HLO),
]


class Case:
    """A command in a folder of its own."""

    def __init__(self, number, command):
        self.tool, self.arguments, self.reads, self.writes, self.content = command
        self.folder = work / str(number)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.input, self.output = self.folder / "in", self.folder / "out"
        content = self.content
        self.data = b"\1" * content if isinstance(content, int) else (content or "").encode()
        self.input.write_bytes(self.data)
        self.output.write_bytes(b"as it was")

    def command(self, source=None, target=None):
        words = [str(bins / self.tool)]
        for word in self.arguments.split():
            word = word.replace("OUT", str(target or self.output))
            if word in ("IN", "--batch=IN"):
                word = word.replace("IN", str(source or self.input))
            words.append(word)
        return words

    def takes_stdin(self):
        return "--stdin" in self.arguments or "-" in self.arguments.split()

    def run(self, source=None, target=None, stdout=subprocess.PIPE, limits=(), **more):
        def limit():
            for what, number in limits:
                resource.setrlimit(what, (number, number))
            # As in a shell: not to be told, but to get an error.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        stdin = None
        if self.takes_stdin():
            stdin = os.open(source or self.input, os.O_RDONLY)
        try:
            return subprocess.run(
                self.command(source, target), stdin=stdin, stdout=stdout,
                timeout=TIMEOUT_S, stderr=subprocess.PIPE, preexec_fn=limit, **more,
            )
        finally:
            if stdin is not None:
                os.close(stdin)


failures = []
count = 0


def judge(case, fault, action, succeeds=None):
    """Runs a fault, and looks at what it left."""
    global count
    count += 1

    def fail(why):
        failures.append(fault)
        print(f"{fault}: {' '.join(case.command())}: {why}", flush=True)

    try:
        done = action(case)
    except subprocess.TimeoutExpired:
        return fail("no end")
    except OSError as error:
        return fail(str(error))
    # `parse` says what is wrong in place of its answer.
    text = done.stderr + (done.stdout or b"")
    errors = text.decode(errors="replace")
    if done.returncode < 0:
        fail(f"signal {-done.returncode}: {errors[-300:]}")
    if "Sanitizer" in errors:
        fail(f"a report of a sanitizer: {errors[-300:]}")
    words = ("error", "cannot")  # upstream's tools say the second
    if done.returncode > 0 and not any(word in errors.lower() for word in words):
        fail(f"exit code {done.returncode} without a message: {errors[-300:]}")
    if succeeds is not None and succeeds != (done.returncode == 0):
        fail(f"exit code {done.returncode}: {errors[-300:]}")
    if case.output.exists() and case.output.is_file():
        text = case.output.read_bytes()
        if done.returncode > 0 and text != b"as it was":
            fail(f"an output of {len(text)} bytes with exit code {done.returncode}")
    left = {path.name for path in case.folder.iterdir()} - {"in", "out", "folder", "out.h"}
    if left:
        fail(f"left {left}")


def nothing(case):
    return case.run()


def from_folder(case):
    (case.folder / "folder").mkdir(exist_ok=True)
    return case.run(source=case.folder / "folder")


def from_zeros(case):
    return case.run(source="/dev/zero", limits=[(resource.RLIMIT_AS, 1 << 30)])


def from_nothing(case):
    return case.run(source="/dev/null")


def to_folder(case):
    (case.folder / "folder").mkdir(exist_ok=True)
    return case.run(target=case.folder / "folder")


def to_full_device(case):
    return case.run(target="/dev/full")


def to_full_disk(case):
    """No file may be longer than its first 100 bytes."""
    return case.run(limits=[(resource.RLIMIT_FSIZE, 100)])


def to_full_output(case):
    with open("/dev/full", "wb") as full:
        return case.run(stdout=full)


def to_closed_pipe(case):
    """The reader is gone before the first byte comes."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return case.run(stdout=writer, target="-" if case.writes else None,
                        restore_signals=False)
    finally:
        os.close(writer)


def with_little_memory(megabytes):
    def run(case):
        return case.run(limits=[(resource.RLIMIT_AS, megabytes << 20),
                                (resource.RLIMIT_CORE, 0)])
    return run


def without_temporary_folder(case):
    return case.run(env={**os.environ, "TMPDIR": str(case.folder / "absent")})


def main():
    for number, command in enumerate(COMMANDS):
        def each(fault, action, succeeds=None, number=number, command=command):
            judge(Case(number, command), fault, action, succeeds)

        reads, writes = command[2], command[3]
        each("no fault", nothing, True)
        if reads:
            each("a folder to read", from_folder, False)
            if ADDRESSES_ARE_LIMITED:
                each("a device without end to read", from_zeros, False)
            each("nothing to read", from_nothing)
        if writes:
            each("a folder to write", to_folder, False)
            each("a full device to write", to_full_device, False)
            each("a full disk", to_full_disk, False)
            each("no folder for temporary files", without_temporary_folder)
        else:
            each("a full standard output", to_full_output, False)
        each("a closed pipe", to_closed_pipe)
        for megabytes in (160, 240, 400, 2048) if ADDRESSES_ARE_LIMITED else ():
            each(f"{megabytes} MiB of memory", with_little_memory(megabytes))
    print(f"{count} faults, {len(failures)} failures")


main()
