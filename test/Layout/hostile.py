# RUN: %python %s tessera-layout

"""Sizes at the end of 64 bits give right numbers, and long texts short answers.

A text costs processor time and output as its length does, or is refused.
"""

import resource
import subprocess
import sys

TOOL = sys.argv[1]
SECONDS = 10
BYTES = 64 << 20


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def run(*arguments, text=None):
    result = subprocess.run(
        [TOOL, *arguments], input=text, capture_output=True, text=True, preexec_fn=limit
    )
    assert result.returncode in (0, 1, 2, 3), (arguments, result.returncode, result.stderr[:300])
    assert len(result.stdout) < BYTES, (arguments, len(result.stdout))
    return result.stdout + result.stderr


def check_bytes():
    """Which element a byte belongs to, where its bits are beyond 64 bits."""
    for exponent in (60, 61, 62):
        byte = 2**exponent + 5
        for name, bits in (("u8", 8), ("f32", 32), ("c128", 128)):
            count = (2**63 - 1) * 8 // bits
            position, part = divmod(byte * 8, bits)
            expected = f"element ({position}) at position {position}"
            if bits > 8:
                expected += f", byte {part // 8} of {bits // 8}"
            found = run("dump", f"--byte={byte}", f"{name}[{count}]")
            assert found == expected + "\n", (found, expected)
    byte = 2**61 + 5
    found = run("dump", f"--byte={byte}", f"s4[{2**63 - 1}]{{0:E(4)}}")
    expected = [f"element ({2 * byte})", f"element ({2 * byte + 1})"]
    expected = [f"{text} at position {2 * byte + i}, from bit {4 * i}" for i, text in enumerate(expected)]
    assert found.splitlines() == expected, found


def check_largest():
    """Everything can be asked of the largest arrays."""
    last = 2**63 - 2
    found = run("explain", "--verbose", f"s4[{2**63 - 1}]{{0:E(4)}}")
    assert f"{last} * 4 = {last * 4}" in found, found
    for shape in (
        f"pred[{2**63 - 1}]",
        f"pred[{2**62}]{{0:T({2**62})}}",
        f"pred[1,{2**61}]{{1,0:T(2,{2**61})}}",
        f"pred[3,{2**60 + 1}]{{0,1:PD(4,{2**60 + 2})}}",
        f"pred[0,{2**62},{2**62}]{{2,1,0:T(8,128)}}",
        f"f32[{2**60},{2**60},0]{{0,2,1:T({2**60},{2**60})}}",
    ):
        picture = run("draw", shape)
        assert "error" not in picture, picture
        for command in ("size", "explain", "default --target=tpu_v5e"):
            run(*command.split(), shape)


def join(items):
    return ",".join(map(str, items))


def make_shapes():
    for rank in (10000, 100000):
        ones = join([1] * rank)
        order = join(reversed(range(rank)))
        yield f"f32[{ones}]"
        yield f"f32[{ones}]{{{order}:T(8,128)}}"
        yield f"f32[{ones},3,5]{{{rank},{rank + 1},{order}:T(2,4)PD({ones},4,5)}}"
    for tiles in ("(8,128)" * 100000, "(2)" * 100000, f"({join([1] * 100000)})"):
        yield f"f32[128,128]{{1,0:T{tiles}}}"
    yield f"f32[128,128]{{1,0:T{('(' + join([1] * 500) + ')') * 500}}}"
    yield "(" + join(["f32[2,3]"] * 50000) + ")"
    yield "(" * 250 + "f32[2,3]" + ")" * 250
    yield f"f32[4]{{0:SC(0:{join(range(1, 100000))})}}"


def check_long():
    commands = "parse|size|explain|explain --verbose|draw|draw -o /dev/null|dump --byte=0|proto"
    commands += "|default --target=tpu_v5e|default --target=cpu|bitcast f32[1]|bitcast --reshape f32[1]"
    for shape in make_shapes():
        for command in commands.split("|"):
            run(*command.split(), "-", text=shape)
    long = f"f32[{join([1] * 300)}]"
    assert "expected at most 256 dimensions and tile sizes, found 300" in run("draw", long)
    many = "f32[128,128]{1,0:T" + "(8,128)" * 1000 + "}"
    assert "expected at most 65536 axes after all tiles" in run("explain", many)


check_bytes()
check_largest()
check_long()
