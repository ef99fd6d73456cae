# RUN: %python %s %t

"""Tools replace a file by a whole one or leave it, whatever its name stands for."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time

ROOT = sys.argv[1]
MLIR = "".join(
    f"func.func @f{i}(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {{\n"
    "  return %a : tensor<2x3xf32>\n}\n"
    for i in range(1000)
)
HLO = "HloModule m\nENTRY e {\n  %p = f32[2,3]{1,0} parameter(0)\n" + (
    "".join(f"  %a{i} = f32[2,3]{{1,0}} negate(%p)\n" for i in range(1000))
    + "  ROOT %r = f32[2,3]{1,0} copy(%p)\n}\n"
)

# A tool's arguments but for its input and output, and an input.
TOOLS = {
    "tessera-opt": (["tessera-opt"], MLIR),
    "bytecode": (["tessera-opt", "--emit-bytecode"], MLIR),
    "split": (["tessera-opt", "--split-input-file"], MLIR + "// -----\n" + MLIR),
    "import": (["tessera-translate", "--import-hlo"], HLO),
}


def run(arguments, expected=0, **options):
    result = subprocess.run(arguments, capture_output=True, text=True, **options)
    assert result.returncode == expected, (arguments, result)
    return result.stderr


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def get_mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def check_in_place(command, text):
    """A tool may write what it reads."""
    write("in", text)
    run([*command, "in", "-o", "other"])
    run([*command, "in", "-o", "in"])
    assert len(text) > 16384 and read("in") == read("other") != b""


def check_failure(command, code):
    """A run that fails leaves what was there."""
    write("bad", "this is nothing {")
    write("out", "kept")
    run([*command, "bad", "-o", "out"], code)
    run([*command, "missing", "-o", "out"], code)
    assert read("out") == b"kept"
    run([*command, "bad", "-o", "new"], code)
    assert not os.path.exists("new")


def check_links_and_modes(command, code):
    write("target", "old")
    os.chmod("target", 0o600)
    os.symlink("target", "link")
    os.symlink("absent", "dangling")
    os.symlink("loop", "loop")
    run([*command, "in", "-o", "link"])
    assert os.path.islink("link") and read("target") == read("other")
    assert get_mode("target") == 0o600
    mask = os.umask(0o027)
    run([*command, "in", "-o", "dangling"])
    os.umask(mask)
    assert os.path.islink("dangling") and get_mode("absent") == 0o640
    stderr = run([*command, "in", "-o", "loop/x"], code)
    assert "expected a file that can be written" in stderr, stderr


def check_streams(command, code):
    for name, reason in (("/dev/full", "No space"), (".", "Is a directory")):
        stderr = run([*command, "in", "-o", name], code)
        assert name in stderr and reason in stderr, stderr
    run([*command, "in", "-o", "/dev/null"])
    assert os.path.exists("/dev/null")


def check_kill(command):
    """Killed at any moment, a tool has written all or nothing."""
    write("killed", "old")
    start = time.time()
    run([*command, "in", "-o", "killed"])
    whole, duration = read("killed"), time.time() - start
    for attempt in range(20):
        write("killed", "old")
        process = subprocess.Popen([*command, "in", "-o", "killed"])
        time.sleep(duration * (0.3 + attempt * 0.04))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert read("killed") in (b"old", whole)


def check_object():
    """An object file and its header come together or not at all."""
    compile = "tessera-compile relayout f32[64,64]{1,0} f32[64,64]{0,1} --emit=obj -o".split()
    os.mkdir("both.h")
    assert "Is a directory" in run([*compile, "both.o"], 2)
    assert not os.path.exists("both.o")
    os.mkdir("other.o")
    assert "Is a directory" in run([*compile, "other.o"], 2)
    assert not os.path.exists("other.h")
    assert "another suffix" in run([*compile, "same.h"], 2)
    run([*compile, "/dev/null"])
    assert not os.path.exists("/dev/null.h")
    run([*compile, "fine.o"])
    assert read("fine.o") and read("fine.h")


def check_temporary_folder():
    """Where the linker has no room, the message says so and what to do."""
    compile = "tessera-compile relayout f32[64,64]{1,0} f32[64,64]{0,1} -o lib.so".split()
    stderr = run(compile, 2, env={**os.environ, "TMPDIR": os.path.abspath("nowhere")})
    assert "No such file or directory; name another folder in TMPDIR" in stderr, stderr
    assert not os.path.exists("lib.so")


shutil.rmtree(ROOT, ignore_errors=True)
for name, (command, text) in TOOLS.items():
    folder = os.path.join(ROOT, name)
    os.makedirs(folder)
    os.chdir(folder)
    # As mlir-opt; all other tools say 2.
    code = 1 if command[0] == "tessera-opt" else 2
    check_in_place(command, text)
    write("in", text)
    check_failure(command, code)
    check_links_and_modes(command, code)
    check_streams(command, code)
    check_kill(command)
    left = [entry for entry in os.listdir() if ".temp-" in entry]
    assert len(left) <= 20, left
os.chdir(ROOT)
check_object()
check_temporary_folder()
assert not [entry for entry in os.listdir() if ".temp-" in entry]
