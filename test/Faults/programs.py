# REQUIRES: tessera-python
# RUN: %importing-python %s | FileCheck %s
# CHECK: faults of programs: all passed
"""What a program does wrong is an error of its run, and Python goes on."""

import os
import sys
import threading

import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import expect, run_tests


def make(body, types, result, more=""):
    """A program of arguments %0, %1, ... of these types, and one result."""
    arguments = ", ".join(f"%{number}: {text}" for number, text in enumerate(types))
    return ts.Program(
        f"{more}\nfunc.func @f({arguments}) -> {result} {{\n{body}\n}}", "f"
    )


def array(*values, dtype=np.int32):
    return np.array(values, dtype)


def check(program, good, expected, bad, message, error=ts.InvalidError):
    """`bad` arguments are an error; `good` ones give what they should, after it too."""
    for _ in range(2):
        assert np.array_equal(program(*good), expected), (message, program(*good))
        expect(error, message, lambda: program(*bad))


SMALLEST = -(2**31)


def test_divisions():
    for op, left, right, result in [
        ("divsi", 7, -2, -3),
        ("divui", 7, 2, 3),
        ("remsi", -7, 2, -1),
        ("remui", 7, 2, 1),
        ("ceildivsi", 7, 2, 4),
        ("ceildivui", 7, 2, 4),
        ("floordivsi", -7, 2, -4),
    ]:
        t = "tensor<1xi32, #tessera.layout<{0:T(4)}>>"
        program = make(f"%c = arith.{op} %0, %1 : {t} return %c : {t}", [t, t], t)
        good = array(left), array(right)
        check(program, good, [result], (array(left), array(0)), f"'arith.{op}': division by zero")
        if op.endswith("si"):
            bad = array(SMALLEST), array(-1)
            check(program, good, [result], bad, "the smallest number divided by -1")


def test_divisions_of_others():
    scalar = """
      %i = arith.constant 0 : index
      %a = tensor.extract %0[%i] : tensor<2xi64>
      %x = arith.index_cast %a : i64 to index
      %n = arith.constant 12 : index
      %q = {} : index
      %r = arith.index_cast %q : index to i64
      %t = tensor.from_elements %r, %r : tensor<2xi64>
      return %t : tensor<2xi64>"""
    two, zero = array(2, 2, dtype=np.int64), array(0, 0, dtype=np.int64)
    program = make(scalar.format("arith.divui %n, %x"), ["tensor<2xi64>"], "tensor<2xi64>")
    check(program, [two], [6, 6], [zero], "'arith.divui': division by zero")
    vector = """
      %i = arith.constant 0 : index
      %a = tensor.extract %0[%i] : tensor<2xi64>
      %n = arith.constant dense<12> : vector<2x2xi64>
      %v = vector.broadcast %a : i64 to vector<2x2xi64>
      %q = arith.divsi %n, %v : vector<2x2xi64>
      %r = vector.extract %q[1, 1] : i64 from vector<2x2xi64>
      %t = tensor.from_elements %r, %r : tensor<2xi64>
      return %t : tensor<2xi64>"""
    program = make(vector, ["tensor<2xi64>"], "tensor<2xi64>")
    check(program, [two], [6, 6], [zero], "'arith.divsi': division by zero")


def test_assertions():
    program = make(
        """
        %i = arith.constant 0 : index
        %a = tensor.extract %0[%i] : tensor<1xi32>
        %zero = arith.constant 0 : i32
        %ok = arith.cmpi sgt, %a, %zero : i32
        cf.assert %ok, "the number is positive"
        return %0 : tensor<1xi32>""",
        ["tensor<1xi32>"],
        "tensor<1xi32>",
    )
    check(program, [array(1)], [1], [array(-1)], "'cf.assert': the number is positive")


T = "tensor<4xi32, #tessera.layout<{0:T(3)}>>"
M = "memref<4xi32>"
INDEX = """
    %none = arith.constant 0 : index
    %number = tensor.extract %0[%none] : tensor<1xi32>
    %i = arith.index_cast %number : i32 to index
"""


def test_indices():
    for body, good, expected in [
        (f"%e = tensor.extract %1[%i] : {T} %t = tensor.splat %e : {T}", 3, 13),
        (f"%t = tensor.insert %number into %1[%i] : {T}", 0, None),
        (
            "%p = tessera.relayout %1 : T to tensor<4xi32>"
            " %s = tensor.extract_slice %p[%i] [2] [1] : tensor<4xi32> to tensor<2xi32>"
            " %e = tensor.extract %s[%none] : tensor<2xi32> %t = tensor.splat %e : T",
            2,
            12,
        ),
        (
            "%p = tessera.relayout %1 : T to tensor<4xi32>"
            " %s = tensor.extract_slice %p[0] [%i] [1] : tensor<4xi32> to tensor<?xi32>"
            " %c = tensor.cast %s : tensor<?xi32> to tensor<2xi32>"
            " %e = tensor.extract %c[%none] : tensor<2xi32> %t = tensor.splat %e : T",
            2,
            10,
        ),
        (
            "%m = memref.alloc() : M %z = arith.constant 5 : i32"
            " affine.for %k = 0 to 4 { affine.store %z, %m[%k] : M }"
            " %e = memref.load %m[%i] : M memref.dealloc %m : M %t = tensor.splat %e : T",
            3,
            5,
        ),
        (
            "%m = memref.alloca() : M %z = arith.constant 5 : i32"
            " affine.for %k = 0 to 4 { affine.store %z, %m[%k] : M }"
            " memref.store %z, %m[%i] : M"
            " %e = memref.load %m[%none] : M %t = tensor.splat %e : T",
            3,
            5,
        ),
    ]:
        body = body.replace(": T", f": {T}").replace("to T", f"to {T}").replace(": M", f": {M}")
        try:
            program = make(f"{INDEX} {body} return %t : {T}", ["tensor<1xi32>", T], T)
        except ts.UnsupportedError as error:
            assert "memref.dealloc" in body, (body, error)  # upstream frees by itself
            continue
        arrays = np.arange(10, 14, dtype=np.int32)
        if expected is None:
            expected = [0, 11, 12, 13]
        else:
            expected = [expected] * 4
        for bad in (4, 5, -1, SMALLEST, 2**31 - 1):
            check(program, (array(good), arrays), expected, (array(bad), arrays), "module:")


def test_sizes():
    """Sizes that no memory has; those that would wrap around; beyond a bound."""
    bounded = "tensor<?xi32, #tessera.layout<{0:T(2)B(4)}>>"
    for body, good, bads in [
        ("%e = tensor.empty(%i, %i) : tensor<?x?xi32> %d = tensor.dim %e, %none : tensor<?x?xi32>",
         7, (-1, 2**31 - 1, SMALLEST)),
        (f"%e = tessera.empty(%i) : {bounded} %d = tensor.dim %e, %none : {bounded}", 4, (5, -1)),
    ]:
        body = f"""{INDEX} {body}
          %zero = arith.constant 0 : i32
          %n = arith.index_cast %d : index to i32
          %t = tensor.from_elements %n : tensor<1xi32>
          return %t : tensor<1xi32>"""
        program = make(body, ["tensor<1xi32>"], "tensor<1xi32>")
        for bad in bads:
            check(program, [array(good)], [good], [array(bad)], ".empty': ")


def test_memory():
    """Temporaries that do not fit, by themselves or together."""
    body = """%i1 = arith.constant 1 : index
      %e = tensor.empty() : tensor<{0}xi8>
      %v = arith.constant 3 : i8
      %f = linalg.fill ins(%v : i8) outs(%e : tensor<{0}xi8>) -> tensor<{0}xi8>
      %x = tensor.extract %f[%i1] : tensor<{0}xi8>
      %t = tensor.splat %x : tensor<2xi8>
      return %t : tensor<2xi8>"""
    assert make(body.format(1000), [], "tensor<2xi8>")().tolist() == [3, 3]
    for size in (2**42, 2**62):
        program = make(body.format(size), [], "tensor<2xi8>")
        expect(ts.UnsupportedError, "temporaries that fit into memory", program)
    dynamic = f"""{INDEX}
      %e = tensor.empty(%i, %i) : tensor<?x?xi8>
      %v = arith.constant 3 : i8
      %f = linalg.fill ins(%v : i8) outs(%e : tensor<?x?xi8>) -> tensor<?x?xi8>
      %x = tensor.extract %f[%none, %none] : tensor<?x?xi8>
      %t = tensor.splat %x : tensor<2xi8>
      return %t : tensor<2xi8>"""
    program = make(dynamic, ["tensor<1xi32>"], "tensor<2xi8>")
    bad = [array(1 << 21)]
    check(program, [array(9)], [3, 3], bad, "temporaries that fit", ts.UnsupportedError)


CALL = "func.func {} @{}(%a: tensor<2xi32>) -> tensor<2xi32> {{ {} return %a : tensor<2xi32> }}\n"


def call(name):
    return f"%r{name} = call @{name}(%a) : (tensor<2xi32>) -> tensor<2xi32>"


def test_recursion():
    def refuses(text, message):
        expect(ts.UnsupportedError, message, lambda: ts.Program(text))

    refuses(CALL.format("", "f", call("f")), "function `f`: expected one that does not call itself")
    two = CALL.format("", "f", call("g")) + CALL.format("private", "g", call("f"))
    refuses(two, "does not call itself")
    constant = "%c = func.constant @f : (tensor<2xi32>) -> tensor<2xi32>"
    refuses(CALL.format("", "f", constant), "does not call itself")

    def chain(length):
        links = [CALL.format("private", f"f{i}", call(f"f{i + 1}")) for i in range(length)]
        last = CALL.format("private", f"f{length}", "")
        return "".join(links) + last + CALL.format("", "f", call("f0"))

    refuses(chain(1000), "calls nested 256 deep")
    numbers = array(1, 2)
    assert (ts.Program(chain(100))(numbers) == numbers).all()
    # Not below another: any number of them.
    wide = "".join(CALL.format("private", f"g{i}", "") for i in range(300))
    wide += CALL.format("", "f", " ".join(call(f"g{i}") for i in range(300)))
    assert (ts.Program(wide)(numbers) == numbers).all()


def test_steps():
    body = f"""{INDEX}
      %n = arith.constant 8 : index
      %t = scf.for %k = %none to %n step %i iter_args(%s = %0) -> tensor<1xi32> {{
        %u = arith.addi %s, %s : tensor<1xi32>
        scf.yield %u : tensor<1xi32>
      }}
      return %t : tensor<1xi32>"""
    program = make(body, ["tensor<1xi32>"], "tensor<1xi32>")
    check(program, [array(4)], [16], [array(0)], "a step that is not positive")


def test_small_stacks():
    """Threads with little stack compile and run as others do."""
    numbers = np.arange(3001 * 2999, dtype=np.int32).reshape(3001, 2999) % 97
    results = []

    def work():
        shape = ts.Shape("s32[3001,2999]{0,1}")
        results.append(ts.unpack(ts.pack(numbers, shape), shape))
        t = "tensor<3001x2999xi32, #tessera.layout<{0,1}>>"
        results.append(
            make(f"%s = arith.addi %0, %0 : {t} return %s : {t}", [t], t)(numbers)
        )

    before = threading.stack_size(64 << 10)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(results) == 2
    assert (results[0] == numbers).all() and (results[1] == 2 * numbers).all()


run_tests(globals())
print("faults of programs: all passed")
