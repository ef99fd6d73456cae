#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles relayouts to PTX by stock passes, and compares and times them on a GPU.

The two steps may be done on two machines. The first one needs tessera-opt and
mlir-opt, the second one the folder that the first one wrote, this repository,
numpy, and the driver of the GPU (libcuda.so.1); no toolkit:

    benchmarks/gpu_relayouts.py compile build/gpu
    benchmarks/gpu_relayouts.py run build/gpu --runtime build/release/lib/libtessera-runtime.so

Every byte of a result, padding included, has to be what three others say: numpy
(test/Inputs/tiling.py), libtessera-runtime, and an interpreter of the PTX
(test/Inputs/ptx.py). Large arrays are timed too, beside a copy of as many bytes
within the memory of the device; of them the interpreter runs some blocks, for
addresses that are out of bounds. Without a GPU the other three are compared.
"""

import argparse
import ctypes
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test" / "Inputs"))
from ptx import Kernel, PTXError
from tiling import PADDING, memory_of

OPTIONS = HERE.parent / "examples" / "relayouts_to_ptx.rsp"
TYPES = {"u8": "ui8", "s8": "i8", "u16": "ui16", "bf16": "bf16",
         "f32": "f32", "s32": "i32", "u64": "ui64", "f64": "f64"}
BYTES = {name: int(re.sub(r"\D", "", name)) // 8 for name in TYPES}
TILES = ["", "T(8,128)", "T(8,128)(2,1)", "T(8,128)(4,1)", "T(16,128)", "T(128,8)"]
# Around a destination on the device, to see stores that miss it.
GUARD = 4096

LARGE = [
    ("f32[4096,8192]", "f32[4096,8192]{1,0:T(8,128)}"),
    ("f32[4096,8192]{1,0:T(8,128)}", "f32[4096,8192]"),
    ("bf16[8192,8192]", "bf16[8192,8192]{1,0:T(8,128)(2,1)}"),
    ("bf16[8011,8107]", "bf16[8011,8107]{1,0:T(8,128)(2,1)}"),
    ("u8[8192,8192]", "u8[8192,8192]{1,0:T(8,128)(4,1)}"),
    ("f64[4096,4096]{0,1:T(8,128)}", "f64[4096,4096]"),
    ("f32[8192,8192]", "f32[8192,8192]{0,1}"),
]


# Shapes.


class Shape:
    """A text such as `f32[3,5]{1,0:T(2,2)}` in its parts."""

    def __init__(self, text):
        element, dims, order, tiles = re.fullmatch(
            r"(\w+)\[([\d,]+)\](?:\{([\d,]+)(?::T([\d,()]+))?\})?", text).groups()
        self.element, self.size = element, BYTES[element]
        self.dims = [int(dim) for dim in dims.split(",")]
        self.order = [int(d) for d in order.split(",")] if order else [*range(len(self.dims))][::-1]
        self.tiles = [[int(n) for n in tile.split(",")] for tile in re.findall(r"\(([\d,]+)\)", tiles or "")]
        self.layout = text[text.index("]") + 1 :]

    def elements(self):
        """The number of the element at each position, or PADDING."""
        return memory_of(self.dims, self.order, self.tiles, [], 1)[1]

    def type(self):
        dims = "x".join(map(str, self.dims))
        layout = f", #tessera.layout<{self.layout}>" if self.layout else ""
        return f"memref<{dims}x{TYPES[self.element]}{layout}>"


def random_pair(n, rng):
    """Two layouts of an array; n says its rank, its type, and which tiles it has."""
    rank = 1 + n % 5
    # Most elements are in the one or two largest dimensions.
    dims = [int(rng.integers(1, 6)) for _ in range(rank)]
    for d in rng.permutation(rank)[:2]:
        dims[d] = int(rng.integers(9, 280 if rank > 1 else 5000))
    head = f"{list(TYPES)[n % len(TYPES)]}[{','.join(map(str, dims))}]"
    sides = []
    for tiles in (TILES[rng.integers(len(TILES))] if n % 2 else "", TILES[1 + n // 2 % 5]):
        order = ",".join(map(str, rng.permutation(rank)))
        sides.append(f"{head}{{{order}{':' if tiles else ''}{tiles}}}")
    return math.prod(dims), tuple(sides[::-1] if n // 10 % 2 else sides)


def random_pairs(count, seed=20261):
    """Pairs of layouts that are not large, of all ranks, types and tiles in turn."""
    rng = np.random.default_rng(seed)
    pairs = []
    while len(pairs) < count:
        elements, pair = random_pair(len(pairs), rng)
        if elements <= 60_000 and max(Shape(text).elements().size for text in pair) <= 300_000:
            pairs.append(pair)
    return pairs


# Step one.


def give_loops(text):
    """Puts accesses that are in no loop, of a piece of one element, into one: they become a kernel, too."""
    access = re.compile(r"^(?:    %\w+ = affine\.load .*\n)?    affine\.store .*\n", re.M)
    return access.sub(lambda found: f"    affine.for %once = 0 to 1 {{\n{found[0]}    }}\n", text)


def launches_of(text):
    """The kernels that a function launches, in order. All else that it does is an error."""
    body = re.search(r"  func\.func @relayout\(.*\{\n(.*?)^  \}", text, re.S | re.M).group(1)
    constants = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", body))
    launch = re.compile(
        r"gpu\.launch_func\s+@(\w+)::@(\w+) blocks in \(([^)]*)\) threads in \(([^)]*)\)\s+args\((.*)\)$")
    launches = []
    for line in map(str.strip, body.splitlines()):
        if re.match(r"%\S+ = arith\.constant|return$", line):
            continue
        found = launch.match(line)
        if not found:
            raise ValueError(f"left on the host: {line}")
        module, name, grid, block, arguments = found.groups()
        launches.append({
            "module": module,
            "entry": name,
            "grid": [int(constants[size]) for size in grid.split(", ")],
            "block": [int(constants[size]) for size in block.split(", ")],
            "arguments": [{"%arg0": "source", "%arg1": "destination"}[word.split()[0]]
                          for word in re.split(r", (?=%)", arguments)],
        })
    return launches


def modules_of(text):
    """{name of a gpu.binary: its PTX}."""
    found = re.findall(r'gpu\.binary @(\w+)\s+\[#gpu\.object<.*?assembly = "(.*?)"', text)
    unescape = lambda code: re.sub(r"\\([0-9A-F]{2})", lambda byte: chr(int(byte[1], 16)), code)
    return {name: unescape(code).rstrip("\0") for name, code in found}


def compile_pair(tessera_opt, mlir_opt, source, destination, index_bits):
    """The launches of a relayout, and {name: PTX}."""
    types = [Shape(shape).type() for shape in (source, destination)]
    text = (f"func.func @relayout(%source: {types[0]}, %destination: {types[1]}) {{\n"
            f"  tessera.relayout %source into %destination : {types[0]}, {types[1]}\n  return\n}}\n")
    run = lambda command, text: subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, timeout=60)
    loops = run([tessera_opt, "--tessera-to-affine=max-nests=256"], text)
    if loops.returncode:
        raise ValueError(loops.stderr)
    pipeline = OPTIONS.read_text().replace("index-bitwidth=64", f"index-bitwidth={index_bits}")
    pipeline = pipeline.replace("'", "").strip()
    binary = run([mlir_opt, pipeline], give_loops(loops.stdout))
    if binary.returncode:
        raise ValueError(binary.stderr)
    return launches_of(binary.stdout), modules_of(binary.stdout)


def compile_pairs(options):
    """Writes a folder of PTX and, as JSON, what to launch."""
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    # Every third pair by addresses of 32 bits, and large ones by both.
    pairs = [(*pair, 32 if n % 3 == 2 else 64, False) for n, pair in enumerate(random_pairs(options.pairs))]
    pairs += [(*pair, bits, True) for pair in LARGE[: options.large] for bits in (64, 32)]
    written = []
    for n, (source, destination, bits, large) in enumerate(pairs):
        try:
            launches, modules = compile_pair(options.tessera_opt, options.mlir_opt, source, destination, bits)
        except ValueError as error:
            sys.exit(f"{source} to {destination}: {error}")
        for launch in launches:
            launch["file"] = f"{n}-{launch['module']}.ptx"
            (folder / launch["file"]).write_text(modules[launch.pop("module")])
        written.append({"source": source, "destination": destination, "index_bits": bits,
                        "large": large, "launches": launches})
    (folder / "pairs.json").write_text(json.dumps(written, indent=1))
    print(f"{len(written)} pairs, {sum(len(pair['launches']) for pair in written)} kernels")


# Step two.


class Runtime:
    """Moves bytes by libtessera-runtime, as include/tessera-c/Runtime.h has it."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.tesseraRuntimeRelayoutCreate.restype = ctypes.c_void_p
        self.library.tesseraRuntimeRelayoutRun.restype = ctypes.c_void_p

    def relayout(self, source_shape, destination_shape, source, destination):
        handle = ctypes.c_void_p()
        error = self.library.tesseraRuntimeRelayoutCreate(
            source_shape.encode(), destination_shape.encode(), None, ctypes.byref(handle))
        if not error:
            buffers = []
            for array in (source, destination):
                buffers += [ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.size)]
            error = self.library.tesseraRuntimeRelayoutRun(handle, *buffers)
            self.library.tesseraRuntimeRelayoutDestroy(handle)
        if error:
            raise RuntimeError(f"the runtime does not move {source_shape} to {destination_shape}")


class Device:
    """A GPU by its driver alone."""

    def __init__(self):
        """Raises OSError without a driver or a device."""
        self.driver = ctypes.CDLL("libcuda.so.1")
        number, context = ctypes.c_int(), ctypes.c_void_p()
        name, major, minor = ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int()
        try:
            self.call("cuInit", 0)
            self.call("cuDeviceGet", ctypes.byref(number), 0)
            self.call("cuDeviceGetName", name, 256, number)
            self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, number)
            self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, number)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
            self.call("cuCtxSetCurrent", context)
        except RuntimeError as error:
            raise OSError(str(error)) from error
        self.name = f"{name.value.decode()}, compute capability {major.value}.{minor.value}"

    def call(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def free(self, pointer):
        self.call("cuMemFree_v2", pointer)

    def write(self, pointer, array):
        self.call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def read(self, pointer, array):
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), pointer, ctypes.c_size_t(array.nbytes))

    def load(self, text, entry):
        """A module, and its function. What the driver's compiler says is in the error."""
        log = ctypes.create_string_buffer(4096)
        # CU_JIT_ERROR_LOG_BUFFER and its size.
        names = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text.encode() + b"\0", 2, names, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode(errors='replace')}") from error
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return module, function

    def unload(self, module):
        self.call("cuModuleUnload", module)

    def launch(self, function, grid, block, pointers):
        values = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(pointer) for pointer in pointers))
        self.call("cuLaunchKernel", function, *grid, *block, 0, None, values, None)

    def synchronize(self):
        self.call("cuCtxSynchronize")

    def time(self, work, repetitions=20):
        """The least seconds of the device that work takes, after a first time."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), 0)
        best, milliseconds = math.inf, ctypes.c_float()
        for _ in range(1 + repetitions):
            self.call("cuEventRecord", events[0], None)
            work()
            self.call("cuEventRecord", events[1], None)
            self.call("cuEventSynchronize", events[1])
            self.call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
            best = min(best, milliseconds.value * 1e-3)
        for event in events:
            self.call("cuEventDestroy_v2", event)
        return best


def move_by_numpy(source_shape, destination_shape, rng):
    """Random bytes of both sides, and those of the destination afterwards: padding keeps what there was."""
    elements = [shape.elements() for shape in (source_shape, destination_shape)]
    source, destination = (rng.integers(0, 256, side.size * source_shape.size, np.uint8) for side in elements)
    there = np.flatnonzero(elements[0] != PADDING)
    position_of = np.empty(there.size, np.int64)
    position_of[elements[0][there]] = there
    there = np.flatnonzero(elements[1] != PADDING)
    result = destination.copy()
    dtype = np.dtype(f"u{source_shape.size}")
    result.view(dtype)[there] = source.view(dtype)[position_of[elements[1][there]]]
    return source, destination, result


def interpret(pair, kernels, source, destination, rng):
    """The bytes of the destination after all launches; of large ones after some blocks of each."""
    result = destination.copy() if not pair["large"] else destination
    for launch, kernel in zip(pair["launches"], kernels):
        blocks = np.arange(launch["grid"][0])
        if pair["large"]:
            blocks = np.unique(np.r_[blocks[0], blocks[-1], rng.choice(blocks, 50)])
        if launch["grid"][1:] != [1, 1] or launch["block"][1:] != [1, 1]:
            raise ValueError(f"expected grids of one dimension, found {launch}")
        buffers = {"source": source, "destination": result}
        kernel.run(launch["block"][0], blocks, [buffers[name] for name in launch["arguments"]])
    return result


def run_on_device(device, pair, texts, source, destination):
    """The bytes of the destination, and, of large ones, seconds of the kernels and of a copy."""
    framed = np.full(destination.size + 2 * GUARD, 0xA5, np.uint8)
    framed[GUARD:-GUARD] = destination
    pointers = [device.allocate(source.size), device.allocate(framed.size)]
    modules, functions = zip(*(device.load(text, launch["entry"]) for text, launch in zip(texts, pair["launches"])))
    try:
        device.write(pointers[0], source)
        device.write(pointers[1], framed)
        inside = ctypes.c_uint64(pointers[1].value + GUARD)
        by_name = {"source": pointers[0], "destination": inside}

        def launch_all():
            for launch, function in zip(pair["launches"], functions):
                device.launch(function, launch["grid"], launch["block"],
                              [by_name[name] for name in launch["arguments"]])

        launch_all()
        device.synchronize()
        result = np.empty_like(framed)
        device.read(pointers[1], result)
        if (result[:GUARD] != 0xA5).any() or (result[-GUARD:] != 0xA5).any():
            raise RuntimeError("the GPU wrote outside of the destination")
        times = None
        if pair["large"]:
            shape = Shape(pair["source"])
            size = ctypes.c_size_t(math.prod(shape.dims) * shape.size)
            copy = lambda: device.call("cuMemcpyDtoDAsync_v2", inside, pointers[0], size, None)
            times = device.time(launch_all), device.time(copy)
    finally:
        for module in modules:
            device.unload(module)
        for pointer in pointers:
            device.free(pointer)
    return result[GUARD:-GUARD], times


def run_pair(pair, folder, runtime, device, expected, rng):
    """Which answers differ from numpy's, and times."""
    if expected is None:
        expected = move_by_numpy(Shape(pair["source"]), Shape(pair["destination"]), rng)
    source, destination, wanted = expected
    wrong, times = [], None
    if runtime:
        result = destination.copy()
        runtime.relayout(pair["source"], pair["destination"], source, result)
        wrong += ["runtime"] * (not np.array_equal(result, wanted))
    texts = [(folder / launch["file"]).read_text() for launch in pair["launches"]]
    scratch = destination.copy() if pair["large"] else destination
    try:
        result = interpret(pair, [Kernel(text) for text in texts], source, scratch, rng)
    except PTXError as error:
        # A GPU may not come back from such a kernel.
        return [*wrong, f"interpreter ({error})"], None, expected
    if pair["large"]:
        # Each byte is what there was, or what there has to be.
        wrong += ["interpreter"] * bool(((result != wanted) & (result != destination)).any())
    else:
        wrong += ["interpreter"] * (not np.array_equal(result, wanted))
    if device and "interpreter" not in wrong:
        result, times = run_on_device(device, pair, texts, source, destination)
        wrong += ["GPU"] * (not np.array_equal(result, wanted))
    return wrong, times, expected


def run_pairs(options):
    """Compares all answers for all pairs of a folder."""
    pairs = json.loads((options.folder / "pairs.json").read_text())
    runtime = Runtime(options.runtime) if options.runtime else None
    try:
        device = None if options.no_gpu else Device()
    except OSError:
        device = None
    print(f"GPU: {device.name}" if device else "GPU: skipped: no CUDA device")
    print("runtime: compared" if runtime else "runtime: skipped: no --runtime")
    rng = np.random.default_rng(1)
    failures, lines, expected, last = 0, [], None, None
    for pair in pairs:
        if pair["large"] and not device:
            continue
        # A pair that comes again, compiled otherwise, has the same bytes.
        names = pair["source"], pair["destination"]
        try:
            wrong, times, expected = run_pair(
                pair, options.folder, runtime, device, expected if names == last else None, rng)
        except RuntimeError as error:
            # After most errors the driver does nothing more.
            sys.exit(f"{names[0]} to {names[1]}: {error}")
        last = names
        if wrong:
            failures += 1
            print(f"{names[0]} to {names[1]}: {', '.join(wrong)} differs from numpy")
        if times:
            shape = Shape(pair["source"])
            moved = 2 * math.prod(shape.dims) * shape.size
            rates = [moved / seconds * 1e-9 for seconds in times]
            lines.append(f"| `{names[0]}` | `{names[1]}` | {pair['index_bits']} | {len(pair['launches'])} "
                         f"| {times[0] * 1e6:.0f} | {rates[0]:.0f} | {rates[1]:.0f} | {rates[0] / rates[1]:.2f} |")
    done = [pair for pair in pairs if device or not pair["large"]]
    print(f"{len(done)} pairs, {failures} differ")
    if lines:
        print("\nBytes read and written a second, and those of a copy within the device:\n")
        print("| source | destination | bits of an index | kernels | us | GB/s | copy, GB/s | of it |")
        print("|---|---|---|---|---|---|---|---|")
        print("\n".join(lines))
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("compile", help="write PTX into a folder")
    step.add_argument("folder", type=pathlib.Path)
    step.add_argument("--pairs", type=int, default=45, help="random pairs (45)")
    step.add_argument("--large", type=int, default=len(LARGE), help="of the large pairs the first ones (all)")
    step.add_argument("--tessera-opt", default="tessera-opt")
    step.add_argument("--mlir-opt", default="mlir-opt")
    step.set_defaults(run=compile_pairs)
    step = steps.add_parser("run", help="execute what stands in a folder, and compare")
    step.add_argument("folder", type=pathlib.Path)
    step.add_argument("--runtime", type=pathlib.Path, help="libtessera-runtime.so")
    step.add_argument("--no-gpu", action="store_true", help="as if there were none")
    step.set_defaults(run=run_pairs)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
