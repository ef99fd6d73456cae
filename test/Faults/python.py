# REQUIRES: tessera-python
# RUN: %importing-python %s | FileCheck %s
# CHECK: faults of Python: all passed
"""Forks, contexts that nobody leaves, and files that promise more than they hold."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import run_tests

TIMEOUT_S = 120


def test_forks():
    """Children compile, whatever other threads compiled when they were made."""
    done = threading.Event()

    def compile_on():
        size = 1000 + 1000 * threading.get_ident() % 1009
        while not done.is_set():
            size += 1
            ts.Relayout(f"f32[{size},7]", f"f32[{size},7]{{0,1}}")

    threads = [threading.Thread(target=compile_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for number in range(12):
        time.sleep(0.02)
        child = os.fork()
        if child == 0:
            ts.Relayout(f"s8[{number + 9},5]", f"s8[{number + 9},5]{{0,1}}")
            os._exit(7)
        children.append(child)
    deadline = time.monotonic() + TIMEOUT_S
    codes = []
    for child in children:
        pid = 0
        while pid == 0 and time.monotonic() < deadline:
            pid, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if pid == 0:
            os.kill(child, 9)
            os.waitpid(child, 0)
        codes.append(os.waitstatus_to_exitcode(status) if pid else "hung")
    done.set()
    for thread in threads:
        thread.join()
    assert codes == [7] * len(codes), codes


def test_contexts():
    """Python and its threads end well with contexts and locations entered."""
    in_a_thread = "import threading; t = threading.Thread(target=lambda: {}); t.start(); t.join()"
    for body in [
        in_a_thread.format("ir.Context().__enter__()"),
        "c = ir.Context(); " + in_a_thread.format("c.__enter__()"),
        "c = ir.Context(); l = ir.Location.unknown(c); " + in_a_thread.format("l.__enter__()"),
        "ir.Context().__enter__(); " + in_a_thread.format("ir.Context().__enter__()"),
        "ir.Context().__enter__()",
        "ir.Context().__enter__(); ir.Context().__enter__()",
        "c = ir.Context().__enter__(); ir.Location.unknown().__enter__()",
        "c = ir.Context().__enter__(); l = ir.Location.unknown().__enter__();"
        " m = ir.Module.create(); ir.InsertionPoint(m.body).__enter__()",
    ]:
        done = subprocess.run(
            [sys.executable, "-c", f"import tessera.ir as ir; {body}; print('end')"],
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )
        assert (done.returncode, done.stdout) == (0, "end\n"), (body, done)


MODULE = """
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
"""


def run(folder, *arguments, memory=None, stdout=subprocess.PIPE):
    """python3 -m tessera run, with so many bytes of memory."""
    def limit():
        # The shadow of AddressSanitizer is terabytes of addresses.
        if memory and "ASAN_OPTIONS" not in os.environ:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [sys.executable, "-m", "tessera", "run", "m.mlir", *arguments],
        cwd=folder, stdout=stdout, stderr=subprocess.PIPE, text=True,
        timeout=TIMEOUT_S, preexec_fn=limit, check=False,
    )


def test_files():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.mlir").write_text(MODULE)
        np.savez(folder / "in.npz", arg0=np.ones(4, np.float32), out0=np.ones(4, np.float32))
        # A member that is no array, and one that is much longer than it looks.
        with zipfile.ZipFile(folder / "text.npz", "w") as archive:
            archive.writestr("arg0", "no array")
            archive.writestr("out0.npy", "no array either")
        np.savez_compressed(folder / "long.npz", arg0=np.zeros(1 << 28, np.float32))
        for arguments, message in [
            (["--inputs", "text.npz"], "invalid argument 0: expected an array in numpy's format"),
            (["--inputs", "in.npz", "--compare", "text.npz"],
             "invalid out0 of --compare: expected an array in numpy's format"),
            (["--inputs", "long.npz"],
             "invalid dimensions of argument 0: expected (4,) for f32[4]{0}, found (268435456,)"),
            (["--inputs", "/dev/zero"], "expected an npz file, found a device or a pipe"),
            (["--inputs", "."], "Is a directory"),
            (["--inputs", "in.npz", "--outputs", "/dev/full"], "No space left on device"),
        ]:
            done = run(folder, *arguments, memory=1 << 30)
            assert done.returncode == 2 and message in done.stderr, (arguments, done)
            assert "Traceback" not in done.stderr, done
        with open("/dev/full", "w") as full:
            done = run(folder, "--inputs", "in.npz", stdout=full)
        assert done.returncode == 2 and "No space left" in done.stderr, done
        reader, writer = os.pipe()
        os.close(reader)
        done = run(folder, "--inputs", "in.npz", stdout=writer)
        os.close(writer)
        assert done.returncode == 2 and "Broken pipe" in done.stderr, done


run_tests(globals())
print("faults of Python: all passed")
