# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: relayouts: all passed
"""ts.Relayout: boxes, buffers of all kinds, code as text, threads, errors."""

import array
import concurrent.futures
import ctypes
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import expect, run_tests


def test_boxes():
    source = np.arange(15, dtype=np.int64).reshape(3, 5)
    shape = ts.Shape("s64[3,5]{1,0:T(2,2)}")
    run = ts.Relayout("s64[3,5]", shape, source_box="1:3,::4", destination_box=":2,1:3")
    target = np.full(24, -1)
    run(source, target)
    expected = np.full(24, -1)
    for row in range(2):
        for column in range(2):
            expected[shape.linear_index((row, column + 1))] = source[row + 1, 4 * column]
    assert (target == expected).all(), target


def test_buffer_states():
    """What the code is made for; all write the same."""
    shapes = "f32[300,500]", "f32[300,500]{0,1}"
    source = np.random.default_rng(1).random((300, 500), np.float32)
    for state in ("unknown", "hot", "cold"):
        target = np.zeros((500, 300), np.float32)
        ts.Relayout(*shapes, buffers=state)(source, target)
        assert (target == source.T).all(), state
    plans = [ts.Relayout(*shapes, buffers=state).emit("plan") for state in ("hot", "cold")]
    assert "nontemporal" not in plans[0], plans[0]
    if platform.machine() == "x86_64":
        assert "nontemporal" in plans[1], plans[1]
    expect(ts.InvalidError, "buffers", lambda: ts.Relayout(*shapes, buffers="warm"))


SHAPES = "f32[96,60]", "f32[96,60]{0,1}"


def remember(path, plan):
    """Makes the plan of all relayouts in a file another one."""
    machine = json.loads(path.read_text())
    for relayout in machine["relayouts"]:
        relayout["plan"] = plan
    path.write_text(json.dumps(machine))


def test_tuning():
    """What is measured is remembered in a file: it decides, and nothing is timed again."""
    source = np.random.default_rng(1).random((96, 60), np.float32)
    target = np.zeros((60, 96), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "new", "machine.json")
        tuned = ts.Relayout(*SHAPES, machine=path, tune=True)
        tuned(source, target)
        assert (target == source.T).all()
        before = path.read_bytes()
        known = json.loads(before)["relayouts"]
        assert [relayout["destination"] for relayout in known] == ["f32[96,60]{0,1}"], known
        for tune in (True, False):
            again = ts.Relayout(*SHAPES, machine=str(path), tune=tune)
            assert again.emit("object") == tuned.emit("object")
        assert path.read_bytes() == before

        rule = ts.Relayout(*SHAPES, machine="").emit("plan")
        # A plan that is not the rule's: what is in the file is taken as it is.
        remember(path, {"row-bytes": 64, "column-bytes": 64})
        before = path.read_bytes()
        for tune in (True, False):
            other = ts.Relayout(*SHAPES, machine=path, tune=tune)
            assert other.emit("plan") != rule
            other(source, target)
            assert (target == source.T).all()
        assert path.read_bytes() == before
        assert ts.Relayout(*SHAPES, machine=path, buffers="hot").emit("plan") == rule


def test_tuning_of_boxes():
    """A part of an array is remembered beside the whole, of hot and cold buffers."""
    boxes = {"source_box": "8:72,:32", "destination_box": ":64,::2"}
    shapes = "f32[96,64]", "f32[96,64]{0,1}"
    source = np.random.default_rng(1).random((96, 64), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "machine.json")
        for state in ("unknown", "hot", "cold"):
            target = np.zeros((64, 96), np.float32)
            move = ts.Relayout(*shapes, **boxes, buffers=state, machine=path, tune=True)
            move(source, target)
            assert (target[::2, :64] == source[8:72, :32].T).all()
        known = json.loads(pathlib.Path(path).read_text())["relayouts"]
        assert [relayout["buffers"] for relayout in known] == ["unknown", "hot", "cold"]
        assert {relayout["source"] for relayout in known} == {"f32[96,64]{1,0} [8:72,0:32]"}


def test_default_machine():
    """The file in the user's cache folder, or the one that the environment names."""
    known = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        os.environ.pop("TESSERA_MACHINE", None)
        try:
            rule = ts.Relayout(*SHAPES).emit("plan")
            ts.Relayout(*SHAPES, tune=True)
            (path,) = pathlib.Path(folder, "tessera").iterdir()
            assert path.name.startswith("machine-")
            remember(path, {"row-bytes": 64, "column-bytes": 64})
            assert ts.Relayout(*SHAPES).emit("plan") != rule
            assert ts.Relayout(*SHAPES, machine="").emit("plan") == rule
            os.environ["TESSERA_MACHINE"] = os.path.join(folder, "none.json")
            assert ts.Relayout(*SHAPES).emit("plan") == rule
            os.environ["TESSERA_MACHINE"] = str(path)
            assert ts.Relayout(*SHAPES).emit("plan") != rule
        finally:
            os.environ.clear()
            os.environ.update(known)


def test_errors_of_machines():
    def make(**arguments):
        return lambda: ts.Relayout(*SHAPES, **arguments)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "machine.json")
        expect(ts.InvalidError, "machine.json", make(machine=path))
        expect(ts.InvalidError, "invalid tuning: expected a file", make(machine="", tune=True))
        expect(ts.InvalidError, "can be written", make(machine=folder, tune=True))
        expect(ts.InvalidError, "no zero characters", make(machine="a\0b"))
        expect(TypeError, "", make(machine=5))
        path.write_text("{")
        for tune in (False, True):
            expect(ts.InvalidError, "mend the field in `" + str(path), make(machine=path, tune=tune))
        path.write_text('{"schema": "tessera.machine", "version": 1, "cpu": "znver0"}')
        for tune in (False, True):
            expect(ts.InvalidError, "found those of `znver0`", make(machine=path, tune=tune))
        assert "relayouts" not in path.read_text()
        dynamic = "f32[<=96,?]"
        expect(ts.UnsupportedError, "?", lambda: ts.Relayout(dynamic, dynamic, machine=folder + "/x", tune=True))


def test_tuning_in_threads():
    """One relayout is timed once, whoever asks for it meanwhile waits."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "machine.json")

        def tune(number):
            ts.Relayout(f"s16[{number % 2 + 8},8]", f"s16[{number % 2 + 8},8]{{0,1}}", machine=path, tune=True)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(tune, range(4)))
        assert len(json.loads(path.read_text())["relayouts"]) == 2


def test_offsets():
    """A part that begins where each call says, by kernels that are there already."""
    source = np.arange(60, dtype=np.int16).reshape(6, 10)
    shape = ts.Shape("s16[6,10]{1,0:T(4,4)(2,1)}")
    tiled = ts.pack(source, shape)
    run = ts.RuntimeRelayout(str(shape), "s16[2,3]", source_box=":2,:5:2")
    target = np.zeros((2, 3), np.int16)
    for row in range(5):
        for column in range(6):
            run(tiled, target, [row, column])
            assert (target == source[row : row + 2, column : column + 5 : 2]).all()
    run(tiled, target, destination_offsets=[0, 0])
    assert (target == source[:2, :5:2]).all()
    expect(ts.InvalidError, "from 0 to 4, found 5", lambda: run(tiled, target, [5, 0]))
    expect(ts.InvalidError, "each of 2 dimensions", lambda: run(tiled, target, [0]))
    expect(TypeError, "incompatible", lambda: run(tiled, target, "12"))


def test_buffers():
    """Whatever has Python's buffer interface, at any address."""
    run = ts.Relayout("s32[2,3]", "s32[2,3]{0,1}")
    source = array.array("i", [0, 1, 2, 3, 4, 5])
    expected = np.array([0, 3, 1, 4, 2, 5], np.int32).tobytes()
    for target in (bytearray(24), array.array("i", [0] * 6), (ctypes.c_int * 6)()):
        run(source, target)
        assert bytes(target) == expected
        run(bytes(source), target)
        assert bytes(target) == expected
    memory = bytearray(b"\xff" * 27)
    run(memoryview(source).cast("B"), memoryview(memory)[1:25])
    assert memory == b"\xff" + expected + b"\xff\xff"


def test_types_without_format():
    """numpy has no format of the buffer interface for bfloat16."""
    source = np.arange(6).astype(ts.Shape("bf16[2,3]").dtype).reshape(2, 3)
    target = np.zeros_like(source).reshape(3, 2)
    ts.Relayout("bf16[2,3]", "bf16[2,3]{0,1}")(source, target)
    assert (target == source.T).all()


def test_repr_and_shapes():
    run = ts.Relayout("f32[3]", ts.Shape("f32[3]{0:T(2)}"))
    assert repr(run) == "Relayout('f32[3]{0}', 'f32[3]{0:T(2)}')"
    assert run.source == ts.Shape("f32[3]") and run.destination.bytes == 16


def test_emit():
    run = ts.Relayout("f32[64,64]", "f32[64,64]{0,1}")
    assert run.emit("plan").startswith("relayout of 32-bit elements")
    assert "func.func @move(" in run.emit("mlir", "move")
    assert "define void @tessera_relayout(" in run.emit("llvm")
    assert run.emit("object")[:4] == run.emit("shared")[:4] == b"\x7fELF"


def test_shared_library():
    """A file that needs nothing of Tessera does the same."""
    source = np.arange(4096, dtype=np.float32)
    target = np.empty_like(source)
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "move.so")
        run = ts.Relayout("f32[64,64]", "f32[64,64]{0,1}")
        library.write_bytes(run.emit("shared", "move"))
        program = (
            "import ctypes, sys\n"
            "move = ctypes.CDLL(sys.argv[1]).move\n"
            "source, target = sys.stdin.buffer.read(), ctypes.create_string_buffer(16384)\n"
            "move(source, target)\n"
            "sys.stdout.buffer.write(target.raw)\n"
        )
        output = subprocess.run(
            [sys.executable, "-c", program, library],
            input=source.tobytes(),
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    run(source, target)
    assert output == target.tobytes() == source.reshape(64, 64).T.tobytes()


def test_threads_of_python():
    """One relayout in many threads at a time, and many being compiled."""
    source = np.random.default_rng(1).integers(0, 99, (300, 500), np.int32)

    def move(number):
        rows = 300 - number % 5
        text = f"s32[{rows},500]"
        target = np.empty((500, rows), np.int32)
        ts.Relayout(text, text + "{0,1}")(source[:rows], target)
        return (target == source[:rows].T).all()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(move, range(64)))


def test_errors():
    run = ts.Relayout("s32[2,3]", "s32[2,3]{0,1}")
    memory = bytearray(47)
    view = memoryview(memory)
    expect(
        ts.InvalidError,
        "size of the buffer for s32[2,3]{1,0}: expected 24 bytes, found 23",
        lambda: run(bytes(23), memory),
    )
    expect(
        ts.InvalidError,
        "size of the buffer for s32[2,3]{0,1}: expected 24 bytes, found 47",
        lambda: run(bytes(24), memory),
    )
    expect(ts.InvalidError, "expected two that do not overlap", lambda: run(view[:24], view[23:]))
    expect(BufferError, "", lambda: run(bytes(24), bytes(24)))
    expect(ValueError, "", lambda: run(np.zeros((6, 2), np.int32)[:, 0], bytearray(24)))
    expect(TypeError, "", lambda: run(5, bytearray(24)))
    objects = np.array([None] * 3, object)
    expect(TypeError, "objects of Python", lambda: run(bytes(24), objects))
    expect(TypeError, "objects of Python", lambda: run(objects, bytearray(24)))
    assert objects.tolist() == [None] * 3
    expect(TypeError, "", lambda: ts.Relayout(5, "s32[2]"))
    expect(ts.InvalidError, "s32[3,2]", lambda: ts.Relayout("s32[2,3]", "s32[3,2]"))
    expect(ts.InvalidError, "u32", lambda: ts.Relayout("s32[2,3]", "u32[2,3]"))
    expect(ts.InvalidError, "threads", lambda: ts.Relayout("s32[2]", "s32[2]", threads=0))
    expect(ts.InvalidError, "1024", lambda: ts.Relayout("s32[2]", "s32[2]", threads=2**32 + 1))
    expect(ts.InvalidError, "zero", lambda: ts.Relayout("s32[2]", "s32[2]", source_box="0:1\0x"))
    expect(ts.InvalidError, "no zero characters", lambda: run.emit("plan", "a\0b"))
    expect(ts.UnsupportedError, "s32[?]", lambda: ts.Relayout("s32[?]", "s32[?]"))
    expect(ts.InvalidError, "source box", lambda: ts.Relayout("s32[2]", "s32[2]", source_box="0:3"))
    expect(
        ts.InvalidError,
        "boxes must have the same sizes",
        lambda: ts.Relayout("s32[2]", "s32[2]", source_box="0:1"),
    )
    expect(
        ts.InvalidError,
        "invalid kind: expected one of 'plan', 'mlir', 'llvm', 'object', 'shared', found 'poem'",
        lambda: run.emit("poem"),
    )
    expect(ts.InvalidError, "C identifier", lambda: run.emit("plan", "a b"))


run_tests(globals())
print("relayouts: all passed")
