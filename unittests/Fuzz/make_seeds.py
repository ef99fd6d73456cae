"""Seeds for the fuzzers, from the inputs of the tests.

usage: make_seeds.py SOURCE_FOLDER OUTPUT_FOLDER

Writes a file for each seed in OUTPUT_FOLDER/NAME for each fuzzer NAME.
"""

import base64
import pathlib
import re
import sys

source, output = map(pathlib.Path, sys.argv[1:])
test = source / "test"

# Texts of shapes, in quotes as in C++ and Python, or bare.
SHAPE = re.compile(r"\b[a-z]+\d*[a-z0-9]*\[[\d,<=?]*\](?:\{[\d,]*(?::[^{}]*)?\})?")

PASSES = [
    "tessera-to-affine,canonicalize",
    "canonicalize,tessera-expand-ops,tessera-bufferize,cse,tessera-linalg-to-loops",
    "tessera-vectorize-relayouts,tessera-lower-relayouts,tessera-lower-layouts,canonicalize",
    "tessera-assign-layouts{target=tpu_v5e},canonicalize,tessera-verify,tessera-report",
    "inline,sccp,canonicalize,loop-invariant-code-motion,tessera-to-llvm",
    "tessera-lower-relayouts,tessera-lower-layouts,tessera-assign-address-spaces",
]


def write(name, seeds):
    folder = output / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(dict.fromkeys(seeds)):
        (folder / f"{number:04}").write_text(seed)


def read_all(folder, suffix):
    return [path.read_text() for path in sorted(folder.rglob("*" + suffix))]


def mlir_modules():
    """The modules of the tests, without their comments."""
    for text in read_all(test, ".mlir"):
        for module in re.split(r"^// -----.*$", text, flags=re.M):
            module = re.sub(r"^\s*//.*\n?", "", module, flags=re.M).strip()
            if module:
                yield module + "\n"


def kernels():
    """Bodies of kernels that are text; those of Pallas are bytecode."""
    for text in read_all(test / "HLO" / "Inputs", ".hlo"):
        for body in re.findall(r'"body":\s*"([^"]*)"', text):
            if not body.startswith("TUzvUg"):  # ML\xefR
                yield base64.b64decode(body).decode()


def shape_pairs():
    """Pairs of shapes in the tests of relayouts."""
    pair = re.compile(r'pair\(\s*"([^"]+)",\s*"([^"]+)"\)')
    for text in read_all(source / "unittests", ".h"):
        yield from pair.findall(text)


def main():
    shapes = (test / "Layout" / "Inputs" / "tpu-shapes.txt").read_text().split("\n")
    shapes += SHAPE.findall("\n".join(read_all(test / "Layout", ".test")))
    shapes = [*filter(None, shapes)]
    slices = ["d0=8*i:+16", "d0=i:+1, d1=128*j:+128", "d1=2*j - 3:+5, d0=4*i + 2*k + 1:+4"]
    shapes += [f"{shape} {slices[i % 3]}" for i, shape in enumerate(shapes[::4])]
    shapes += ["tensor<16x130xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>",
               "memref<?x3xcomplex<f32>, #tessera.layout<{1,0:T(4,2)B(5,?)}>, #tessera.memory_space<1>>",
               "INVALID_ARGUMENT: expected f32[8,3]{1,0:T(8,128)} (or bf16[4]{0}), got tensor<4xi1>."]  # fmt: skip
    write("shape", shapes)

    modules = read_all(test / "HLO" / "Inputs", ".hlo")
    modules += read_all(test / "Target" / "HLO", ".hlo")
    write("hlo", modules)
    write("dump", modules)

    write("kernel", kernels())

    write("log", read_all(test / "HLO" / "Inputs" / "oom", ".log"))

    ir = list(mlir_modules())
    write("ir", [f"// {PASSES[i % len(PASSES)]}\n{text}" for i, text in enumerate(ir)])

    pairs = list(shape_pairs())
    options = ["", "vector=32", "vector=64 nontemporal=0", "vector=16 address=4 threads=3"]
    write("relayout", [f"{a}\n{b}\n{option}" for a, b in pairs for option in options])

    options = ["", "vector=32 zero=1 scratch=64", "streamed=1 shares=3", "address=5 strides=40,4 offset=80",
               "dims=4,9 order=0,1 tiles=2,4,2,1 lengths=2,2 bits=4"]  # fmt: skip
    write("runtime", [f"{a}\n{b}\n{option}" for a, b in pairs for option in options])

    calls = [
        f"shape 0 {a}\nshape 1 {b}\nlook 0\nposition 0 1,1 7\ndraw 0 {i} {i // 2} 1\n"
        f"explain 1 {i}\ndefault 0 2 tpu_v5e\nbitcast 0 1 {i}\nemit 0 1 {i} f\n"
        for i, (a, b) in enumerate(pairs)
    ]
    calls += ["attribute layout {1,0:T(8,128)(2,1)}\nattribute tile (*,128)\n"
              "attribute sizes 8,128\nattribute shape (f32[2,3]{1,0}, token[])\n"
              "attribute memory-space 1\nattribute descending 3\n"
              "attribute target 1 vmem 100 8 3 tpu 1\n"]  # fmt: skip
    calls += [f"report {i} 5\n{text}" for i, text in enumerate(modules) if len(text) < 4000]
    calls += [f"module tessera-to-affine\n{text}" for text in ir[::5]]
    calls += [f"program\n{text}" for text in ir[::25]]
    write("capi", calls)


main()
