# RUN: %python %s %t | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} files of other kinds, all named
"""Files of other kinds than a tool reads are named for what they are."""

import gzip
import io
import os
import pathlib
import subprocess
import sys
import zipfile

FOLDER = pathlib.Path(sys.argv[1])

HLO = "// dumped by XLA\nHloModule m\n\nENTRY e { ROOT a = f32[] parameter(0) }\n"
MLIR = "func.func @f(%a: f32) -> f32 { return %a : f32 }\n"
STABLEHLO = """module @m {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


def make_zip():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("arg0.npy", b"\x93NUMPY\x01\x00")
    return data.getvalue()


def make_bytecode():
    (FOLDER / "text.mlir").write_text(MLIR)
    command = ["tessera-opt", "--emit-bytecode", str(FOLDER / "text.mlir"), "-o", str(FOLDER / "made.mlirbc")]
    subprocess.run(command, check=True)
    return (FOLDER / "made.mlirbc").read_bytes()


# What files hold, and what messages call it.
KINDS = {
    "hlo": (lambda: HLO.encode(), "found HLO text"),
    "mlir": (lambda: MLIR.encode(), "found MLIR"),
    "mlir-alias": (lambda: b"#map = affine_map<(d0) -> (d0)>\n" + MLIR.encode(), "found MLIR"),
    "stablehlo": (lambda: STABLEHLO.encode(), "found StableHLO"),
    "mlirbc": (make_bytecode, "found MLIR's bytecode"),
    "stablehlo-bytecode": (lambda: b"ML\xefR\x0dStableHLO_v1.0.0\0\1\2", "found StableHLO, as MLIR's bytecode"),
    "gzip": (lambda: gzip.compress(HLO.encode()), "found a file packed by gzip"),
    "npz": (make_zip, "found a zip archive"),
    "npy": (lambda: b"\x93NUMPY\x01\0" + b"v\0" + b" " * 116 + b"\n\0\0\0\0", "found an array of numpy"),
    "pb": (lambda: b"\n\5hello\x12\3\0\1\2\xff", "found binary data, such as a protocol buffer"),
}

TEXTS = {"hlo", "mlir", "mlir-alias", "stablehlo"}
MLIRS = {"mlir", "mlir-alias", "stablehlo", "mlirbc", "stablehlo-bytecode"}
# Commands, with FILE in place of the file, and the kinds that they look into.
# Which StableHLO's operations are not, MLIR's own messages say.
COMMANDS = {
    "tessera-hlo report FILE": {"hlo"},
    "tessera-hlo print FILE": {"hlo"},
    "tessera-hlo diff FILE FILE": {"hlo"},
    "tessera-hlo advise FILE": {"hlo"},
    "tessera-hlo expand-bitcasts FILE": {"hlo"},
    "tessera-hlo kernels FILE": {"hlo"},
    "tessera-hlo prove FILE FILE": {"hlo"},
    "tessera-hlo oom FILE": TEXTS,
    "tessera-opt FILE": MLIRS,
    "tessera-translate --import-hlo FILE": {"hlo"},
    "tessera-translate --export-hlo FILE": MLIRS,
    "tessera-run relayout f32[4096]{0} f32[4096]{0} FILE out": {"pb"},
    "tessera-layout explain FILE": set(),
    "tessera-layout explain - <FILE": TEXTS,
    "python3 -m tessera run FILE": TEXTS,
    "python3 -m tessera run mlir --inputs FILE": {"npz"},
}

def in_words_of(command, name):
    """What `explain` says of the name of a file, `tessera-run` of the bytes of an array,
    Python of MLIR, and what reads HLO of messages that hold none."""
    if command.startswith("tessera-hlo") and "oom" not in command or "--import-hlo" in command:
        return name.replace(", such as a protocol buffer", "")
    if command == "tessera-layout explain FILE":
        return name.replace("found", "found the name of a file, which is")
    if command.startswith("tessera-run"):
        return name.replace("found", "bytes of")
    if command.startswith("python3"):
        name = name.replace("StableHLO, as MLIR's bytecode", "MLIR's bytecode")
        return name.replace("found StableHLO", "found MLIR's text")
    return name


def run(command, kind):
    """The exit code and the first line of what a command says."""
    words, path = command.split(), str(FOLDER / kind)
    stdin = path if words[-1] == "<FILE" else os.devnull
    words = [path if word == "FILE" else word for word in words if word != "<FILE"]
    if words[0] == "python3":
        words[0] = sys.executable
    with open(stdin, "rb") as file:
        done = subprocess.run(words, stdin=file, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=FOLDER)
    return done.returncode, done.stderr.decode(errors="replace")


def has_python_package():
    return subprocess.run([sys.executable, "-c", "import tessera"], stderr=subprocess.DEVNULL).returncode == 0


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind, (make, _) in KINDS.items():
        (FOLDER / kind).write_bytes(make())
    commands = [c for c in COMMANDS if c.split()[0] != "python3" or has_python_package()]
    count, failed = 0, False
    for command in commands:
        for kind, (_, name) in KINDS.items():
            if kind in COMMANDS[command]:
                continue
            code, message = run(command, kind)
            name = in_words_of(command, name)
            count += 1
            if code not in (1, 2) or name not in message or "invalid" not in message:
                print(f"{command} of {kind}: exit code {code}, expected {name!r}:\n{message}")
                failed = True
    print(f"{count} files of other kinds, {'some not' if failed else 'all'} named")
    sys.exit(failed)


main()
