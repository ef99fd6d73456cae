"""Calls agree with their kernels in real modules; after each edit they do not.

RUN: %python %s tessera-hlo %S/Inputs
"""

import base64
import pathlib
import re
import subprocess
import sys

tool, inputs = sys.argv[1], pathlib.Path(sys.argv[2])


def check(text):
    run = subprocess.run([tool, "check", "-"], input=text, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def read(name):
    return (inputs / name).read_text()


def edit_body(text, old, new):
    """The module with another text in its kernel."""

    def replace(match):
        body = base64.b64decode(match[1])
        assert old in body, old
        return '"body":"' + base64.b64encode(body.replace(old, new)).decode() + '"'

    return re.sub(r'"body":"([^"]*)"', replace, text)


def edit(text, old, new):
    assert old in text, old
    return text.replace(old, new)


TEXT, ADD, SCALE, HBM, DMA, TWO = (
    read(name)
    for name in ["tpu/transformer_block.hlo"] + [f"kernels/pallas_{k}.hlo" for k in "add scale hbm dma two".split()]
)
WHOLE = "bf16[64,256]{1,0:T(8,128)(2,1)"
ALIASED, OTHER = "f32[64,256]{1,0:T(8,128)}", "f32[64,256]{1,0:T(4,128)}"
BLOCK = b"1x1x128x64xbf16"

for folder in ["tpu", "run", "more", "peaks", "kernels"]:
    for path in sorted((inputs / folder).glob("*.hlo")):
        code, output = check(path.read_text())
        assert code == 0, (path, output)

# The rule, the edited module, and what the message has to say.
WRONG = [
    (
        "kernel_c1",
        edit_body(TEXT, b"scratch_operands = 2", b"scratch_operands = 1"),
        "1 scratch arguments, found 10 arguments",
    ),
    (
        "kernel_c2",
        edit_body(TEXT, BLOCK, b"1x1x128x64xf16"),
        "operand 0, %convolution_bitcast_fusion.2: expected elements of the kernel's type f16",
    ),
    ("kernel_c2", edit_body(TEXT, BLOCK, b"1x1x256x64xbf16"), "a window of 1x1x256x64"),
    ("kernel_c2", edit_body(TEXT, BLOCK, b"1x128x64xbf16"), "a window of 1x128x64"),
    ("kernel_c2", edit(TWO, "f32[32,128]", "s32[32,128]"), "of the kernel's type f32, found s32[32,128]"),
    (
        "kernel_c3",
        edit(HBM, '"operand_index":"0","color":"0"', '"operand_index":"0","color":"1"'),
        "operand 0, %broadcast_multiply_fusion: expected memory space S(1), the color",
    ),
    (
        "kernel_c3",
        edit(HBM, '"output_memory_space_colors":[{"color":"0"', '"output_memory_space_colors":[{"color":"5"'),
        "result 0: expected memory space S(5)",
    ),
    (
        "kernel_c4",
        edit(DMA, WHOLE, WHOLE + "S(5)"),
        "operand 0, %x.1: expected S(0) or S(1) or S(3) for memory space `any` of the kernel, found S(5)",
    ),
    (
        "kernel_c4",
        edit_body(TEXT, BLOCK + b", #tpu.memory_space<vmem>", BLOCK + b", #tpu.memory_space<hbm>"),
        "expected S(0) for memory space `hbm`",
    ),
    (
        "kernel_c5",
        edit(SCALE, "constraints={f32[1]{0}, f32[64,256]{1,0}}", "constraints={f32[1]{0}, f32[64,256]{0,1}}"),
        "operand 1, %x.1: expected the order of its constraint, {0,1}",
    ),
    ("kernel_c5", edit(TWO, "{1,0:T(8,128)}", "{0,1:T(8,128)}"), "result 0: expected row-major order, {1,0}"),
    (
        "kernel_c6",
        edit(ADD, "constraints={f32[32,256]{1,0}", "constraints={f32[32,256]{1,0:T(2,128)}"),
        "the tiles of its constraint, {1,0:T(2,128)}",
    ),
    (
        "kernel_c6",
        edit_body(TEXT, BLOCK, b"1x1x12x64xbf16"),
        "windows of whole tiles, a multiple of 8 in dimension 2, found 12 of 128",
    ),
    (
        "kernel_c7",
        edit(edit(SCALE, f"%x.1 = {ALIASED}", f"%x.1 = {OTHER}"), f", {ALIASED})", f", {OTHER})"),
        "aliasing of operand 1, %x.1: expected the shape of the result",
    ),
]

for rule, module, expected in WRONG:
    code, output = check(module)
    assert code == 1 and f"[{rule}]" in output and expected in output, (rule, code, output)
    assert re.match(r"-:\d+:\d+: error: invalid ", output), output

# What cannot be read is no agreement.
UNREADABLE = [
    (edit_body(ADD, b"ML\xefR", b"ML\xefR\xff\xff"), "bytecode that MLIR 22 reads"),
    (edit_body(TEXT, b"func.func", b"func.none"), "expected a function, func.func"),
    (
        edit_body(TEXT, b"memory_space<vmem>", b"memory_space<disk>"),
        "expected a memory space that is known, found disk",
    ),
    (edit(TEXT, '"custom_call_config"', '"another_config"'), "expected JSON with custom_call_config.body, found none"),
    (edit(TEXT, '"body":', '"bodies":'), "expected custom_call_config.body, found none"),
    (
        edit(TEXT, '"cost_estimate":', '"deep":' + "[" * 300 + "]" * 300 + ',"cost_estimate":'),
        "found more than 200 levels",
    ),
    # Brackets in strings are none.
    (
        edit(TEXT, '"cost_estimate":', f'"text":"{"]" * 300}","deep":{"[" * 300}{"]" * 300},"cost_estimate":'),
        "found more than 200 levels",
    ),
]
for module, expected in UNREADABLE:
    code, output = check(module)
    assert code == 3 and "error: unsupported " in output and expected in output, (code, output)
code, output = check(edit(TEXT, '"body":"bW9', '"body":"*W9'))
assert code == 1 and "invalid kernel body: expected base64" in output, (code, output)

# Before layouts are assigned, they are nothing to go by.
code, output = check(read("kernels/pallas_vmem.before.hlo").replace("is_scheduled=true", ""))
assert code == 0, output
code, output = check(
    edit(read("kernels/pallas_vmem.before.hlo"), "HloModule jit__lambda,", "HloModule jit__lambda, is_scheduled=true,")
)
assert code == 1 and "kernel_c3" in output, output
