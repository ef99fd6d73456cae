# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: programs: all passed
"""ts.Program: functions of MLIR modules on tensors with layouts against numpy."""

import math
import os
import random
import sys

import ml_dtypes
import numpy as np
import tessera as ts

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import expect, run_tests
from test_counts import test_count, test_seed

LAYOUTS = [
    "{1,0}",
    "{0,1}",
    "{1,0:T(8,128)}",
    "{0,1:T(4,3)(2,1)}",
    "{1,0:T(2,2)S(1)}",
    "{1,0:T(5)L(64)PV(zero)}",
]

PRODUCT = """
!a = tensor<{m}x{k}xi32, #tessera.layout<{0}>>
!b = tensor<{k}x{n}xi32, #tessera.layout<{1}>>
!c = tensor<{m}x{n}xi32, #tessera.layout<{2}>>
!d = tensor<{m}x{n}xi32>
func.func @product(%a: !a, %b: !b) -> (!c, !d, !a) {{
  %zero = arith.constant 0 : i32
  %empty = tessera.empty() : !c
  %start = linalg.fill ins(%zero : i32) outs(%empty : !c) -> !c
  %c = linalg.matmul ins(%a, %b : !a, !b) outs(%start : !c) -> !c
  %d = tessera.relayout %c : !c to !d
  %twice = arith.addi %d, %d : !d
  return %c, %twice, %a : !c, !d, !a
}}
"""


def test_poison():
    """What is never written shows, of all layouts and types."""
    for layout in LAYOUTS[:-1]:  # The last one promises what its padding is.
        for name, is_poison in ("f32", np.isnan), ("bf16", np.isnan), ("i32", lambda x: x == -1):
            tensor = f"tensor<3x5x{name}, #tessera.layout<{layout}>>"
            text = f"func.func @f() -> {tensor} {{ %e = tessera.empty() : {tensor}\n return %e : {tensor} }}"
            result = ts.Program(text, poison_padding=True)()
            assert is_poison(result).all(), (layout, name, result)


def test_products():
    """Random sizes and layouts; one argument goes out as it came in."""
    rng = random.Random(test_seed())
    numbers = np.random.default_rng(test_seed())
    for _ in range(test_count(200)):
        m, n, k = (rng.randint(1, 20) for _ in range(3))
        layouts = [rng.choice(LAYOUTS) for _ in range(3)]
        program = ts.Program(PRODUCT.format(*layouts, m=m, n=n, k=k))
        assert program.inputs[0] == ts.Shape("s32[%d,%d]%s" % (m, k, layouts[0]))
        assert program.outputs[1] == ts.Shape("s32[%d,%d]" % (m, n))
        a = numbers.integers(-99, 99, (m, k), np.int32)
        b = np.asfortranarray(numbers.integers(-99, 99, (k, n), np.int32))
        product, twice, same = program(a, b)
        case = (m, n, k, layouts)
        assert (product == a @ b).all() and (twice == 2 * (a @ b)).all(), case
        assert (same == a).all() and not np.shares_memory(same, a), case


def test_types():
    """Each comes out as it went in, packed elements and scalars too."""
    rng = np.random.default_rng(test_seed())
    for element, text in {
        "i1": "pred[3,5]{0,1}",
        "i4": "s4[3,5]{1,0:E(4)}",
        "i8": "s8[3,5]{1,0:T(2,2)}",
        "ui16": "u16[3,5]{0,1:T(2,4)}",
        "f8E4M3FN": "f8e4m3fn[3,5]{0,1}",
        "bf16": "bf16[3,5]{1,0:T(8,128)(2,1)}",
        "f64": "f64[]",
        "complex<f32>": "c64[0,5]{0,1:T(4)}",
    }.items():
        shape = ts.Shape(text)
        dims = "".join("%dx" % dim for dim in shape.dimensions)
        layout = text[text.index("]") + 1 :]
        encoding = ", #tessera.layout<%s>" % layout if layout else ""
        tensor = "tensor<%s%s%s>" % (dims, element, encoding)
        program = ts.Program("func.func @same(%%a: %s) -> %s { return %%a : %s }" % (tensor, tensor, tensor))
        assert program.inputs == program.outputs == (shape,), text
        values = [-1, 0, 1, -8] if element == "i4" else [0, 1]
        array = rng.choice(values, shape.dimensions).astype(shape.dtype)
        result = program(array)
        assert result.dtype == shape.dtype and result.shape == shape.dimensions, text
        # A narrow integer has its sign in all of its byte, or in its own bits.
        assert (result == array).all(), text


# The types of numbers: what numpy computes them as, and an operation that it has.
NUMBERS = {
    "i1": (np.bool_, "arith.xori", np.logical_xor),
    "i2": (np.int8, "arith.addi", np.add),
    "i4": (np.int8, "arith.muli", np.multiply),
    "i8": (np.int8, "arith.addi", np.add),
    "i16": (np.int16, "arith.subi", np.subtract),
    "i32": (np.int32, "arith.muli", np.multiply),
    "i64": (np.int64, "arith.addi", np.add),
    "index": (np.int64, "arith.subi", np.subtract),
    "f16": (np.float16, "arith.mulf", np.multiply),
    "bf16": (ml_dtypes.bfloat16, "arith.addf", np.add),
    "f32": (np.float32, "arith.divf", np.divide),
    "f64": (np.float64, "arith.subf", np.subtract),
    "complex<f32>": (np.complex64, "complex.add", np.add),
}


def random_number(rng, element, dtype):
    if np.dtype(dtype).kind == "V":
        return np.asarray(rng.standard_normal(), dtype)
    if np.dtype(dtype).kind in "fc":
        return np.dtype(dtype).type(rng.standard_normal())
    # Narrow integers have their sign in all of their byte.
    bits = int(element[1:]) if element in ("i2", "i4") else 8 * np.dtype(dtype).itemsize
    if element == "i1":
        return np.bool_(rng.integers(2))
    return dtype(rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, endpoint=True))


def wrap_number(element, value):
    """What of a sum or product of narrow integers is left in their bits."""
    if element not in ("i2", "i4"):
        return value
    half = 1 << (int(element[1:]) - 1)
    return np.int8((int(value) + half) % (2 * half) - half)


def test_numbers():
    """Numbers are arrays without dimensions, between tensors and as subscripts."""
    rng = np.random.default_rng(test_seed())
    table = np.arange(12, dtype=np.int32).reshape(3, 4)
    for element, (dtype, operation, expected) in NUMBERS.items():
        program = ts.Program(
            """
            !t = tensor<3x4xi32, #tessera.layout<{0,1:T(2,2)}>>
            func.func @f(%%a: %s, %%t: !t, %%i: index, %%b: %s) -> (%s, i32, !t) {
              %%c = %s %%a, %%b : %s
              %%j = arith.constant 1 : index
              %%x = tensor.extract %%t[%%i, %%j] : !t
              return %%c, %%x, %%t : %s, i32, !t
            }
            """
            % ((element,) * 3 + (operation,) + (element,) * 2)
        )
        assert program.inputs[0].dimensions == program.outputs[1].dimensions == ()
        for _ in range(test_count(50)):
            a, b = (random_number(rng, element, dtype) for _ in range(2))
            if operation == "arith.divf" and b == 0:
                continue
            row = rng.integers(3)
            with np.errstate(over="ignore"):
                wanted = wrap_number(element, expected(a, b))
            result, at, same = program(a, table, row, b)
            assert result.shape == at.shape == (), element
            assert result.astype(wanted.dtype) == wanted, (element, a, b, result, wanted)
            assert at == table[row, 1] and (same == table).all(), element


def test_library_functions():
    """What LLVM has no intrinsics for, and slices whose places are numbers."""
    rng = np.random.default_rng(test_seed())
    numbers = rng.standard_normal((3, 5))
    for name, function in {"erf": math.erf, "erfc": math.erfc, "cbrt": np.cbrt}.items():
        for element, dtype, near in (("f32", np.float32, 1e-6), ("f64", np.float64, 1e-14)):
            program = ts.Program(
                """
                !t = tensor<3x5x%s, #tessera.layout<{0,1:T(2,2)}>>
                func.func @f(%%a: !t) -> !t { %%b = math.%s %%a : !t return %%b : !t }
                """
                % (element, name)
            )
            array = numbers.astype(dtype)
            wanted = np.vectorize(function)(array.astype(np.float64))
            assert np.allclose(program(array), wanted, rtol=near, atol=near), name
    for element, dtype in (("f32", np.float32), ("f64", np.float64)):
        program = ts.Program(
            "func.func @f(%%a: %s, %%n: i32) -> %s { %%b = math.fpowi %%a, %%n : %s, i32 return %%b : %s }"
            % ((element,) * 4)
        )
        for n in (-3, 0, 7):
            assert np.isclose(program(dtype(1.5), np.int32(n)), 1.5**n, rtol=1e-6)
    program = ts.Program(
        """
        func.func @f(%a: tensor<7x9xf64>, %i: index, %j: index) -> tensor<3x4xf64> {
          %b = tensor.extract_slice %a[%i, %j][3, 4][2, 1] : tensor<7x9xf64> to tensor<3x4xf64>
          return %b : tensor<3x4xf64>
        }
        """
    )
    array = rng.standard_normal((7, 9))
    for _ in range(test_count(50)):
        i, j = rng.integers(3), rng.integers(6)
        assert (program(array, i, j) == array[i : i + 5 : 2, j : j + 4]).all(), (i, j)
    expect(ts.InvalidError, "'tensor.extract_slice'", lambda: program(array, np.int64(3), np.int64(0)))


def test_narrow_integers():
    """Row-major bytes have the sign of what the function computes."""
    for encoding in ("", ", #tessera.layout<{0:E(4)}>"):
        program = ts.Program(
            """
            !t = tensor<3xi4%s>
            !p = tensor<3xi4>
            func.func @twice(%%a: !t) -> !t {
              %%p = tessera.relayout %%a : !t to !p
              %%b = arith.addi %%p, %%p : !p
              %%c = tessera.relayout %%b : !p to !t
              return %%c : !t
            }
            """
            % encoding
        )
        assert program(np.array([-1, 3, -8], np.int8)).tolist() == [-2, 6, 0], encoding


def test_entries():
    module = """
      func.func private @one(%a: tensor<2xf64>) -> tensor<2xf64> {
        %b = math.exp %a : tensor<2xf64>
        return %b : tensor<2xf64>
      }
      func.func @two(%a: tensor<2xf64>) -> tensor<2xf64> {
        %b = call @one(%a) : (tensor<2xf64>) -> tensor<2xf64>
        %c = call @one(%b) : (tensor<2xf64>) -> tensor<2xf64>
        return %c : tensor<2xf64>
      }
      func.func private @none() { return }
    """
    array = np.array([0.5, -2])
    assert np.allclose(ts.Program(module)(array), np.exp(np.exp(array)), rtol=1e-14)
    assert np.allclose(ts.Program(module, "one")(array), np.exp(array), rtol=1e-14)
    assert ts.Program(module, "none")() == ()
    # Names that the process has too.
    taken = """
      func.func @free(%a: tensor<2xf64>) -> tensor<2xf64> {
        %b = call @malloc(%a) : (tensor<2xf64>) -> tensor<2xf64>
        return %b : tensor<2xf64>
      }
      func.func private @malloc(%a: tensor<2xf64>) -> tensor<2xf64> {
        %b = arith.addf %a, %a : tensor<2xf64>
        return %b : tensor<2xf64>
      }
    """
    assert (ts.Program(taken)(array) == 2 * array).all()
    assert repr(ts.Program(taken)) == "Program((f64[2]{0}) -> (f64[2]{0}))"
    named = "func.func @tessera_program(%a: tensor<2xf64>) -> tensor<2xf64> { return %a : tensor<2xf64> }"
    assert (ts.Program(named)(array) == array).all()


def test_errors():
    def compiles(error, message, text, entry=None):
        expect(error, message, lambda: ts.Program(text, entry))

    compiles(ts.InvalidError, "module:1:14: error: expected", "func.func @f( {")
    compiles(ts.InvalidError, "found 0; name", "")
    compiles(ts.InvalidError, "no `@g`", "func.func @f() { return }", "g")
    compiles(ts.InvalidError, "found 2; name", "func.func @f() { return } func.func @g() { return }")
    compiles(
        ts.UnsupportedError,
        "type of argument 1: expected a number or a tensor of static shape, found vector<2xf32>",
        "func.func @f(%a: tensor<f32>, %b: vector<2xf32>) { return }",
    )
    compiles(
        ts.UnsupportedError,
        "result 0: expected a number or a tensor of static shape, found tensor<?xf32>",
        "func.func @f() -> tensor<?xf32> {"
        " %c = arith.constant 2 : index %e = tensor.empty(%c) : tensor<?xf32> return %e : tensor<?xf32> }",
    )
    compiles(ts.UnsupportedError, "'index'", "func.func @f(%a: tensor<2xindex>) { return }")
    compiles(ts.UnsupportedError, "'i3'", "func.func @f(%a: i3) { return }")
    huge = "tensor<2305843009213693951xf32>"
    compiles(
        ts.UnsupportedError,
        "size of all arguments",
        "func.func @f(%%a: %s, %%b: %s) { return }" % (huge, huge),
    )
    compiles(
        ts.UnsupportedError,
        "size of all results",
        "func.func @f() -> tensor<9223372036854775807xi8> {"
        " %e = tensor.empty() : tensor<9223372036854775807xi8>"
        " return %e : tensor<9223372036854775807xi8> }",
    )
    compiles(ts.UnsupportedError, "at most 512 levels", "module {" * 100000 + "}" * 100000)
    compiles(
        ts.UnsupportedError,
        "f8E8M0FNU",
        "func.func @f(%a: tensor<3xf8E8M0FNU>) -> tensor<3xf8E8M0FNU> {"
        " %b = arith.addf %a, %a : tensor<3xf8E8M0FNU> return %b : tensor<3xf8E8M0FNU> }",
    )
    compiles(ts.InvalidError, "no zero characters", "func.func @f() { return }", "f\0g")
    expect(TypeError, "not NoneType", lambda: ts.Program(None))
    expect(TypeError, "not bytes", lambda: ts.Program(b"func.func @f() { return }"))
    compiles(
        ts.UnsupportedError,
        "unsupported metadata prefix M: expected none, found 8 bytes",
        "func.func @f(%a: tensor<2xf32, #tessera.layout<{0:M(8)}>>) { return }",
    )
    compiles(
        ts.TesseraError,
        "Symbols not found: [ g ]",
        "func.func private @g() func.func @f() { call @g() : () -> () return }",
    )
    program = ts.Program("func.func @f(%a: tensor<2x3xf32>) { return }")
    zeros = np.zeros((2, 3), np.float32)
    expect(ts.InvalidError, "expected 1, one for each argument, found 2", lambda: program(zeros, zeros))
    expect(ts.InvalidError, "dimensions of argument 0: expected (2, 3)", lambda: program(zeros.T))
    expect(ts.InvalidError, "dtype of argument 0: expected float32", lambda: program(zeros.astype(float)))
    number = ts.Program("func.func @f(%a: i32) { return }")
    expect(ts.InvalidError, "dtype of argument 0: expected int32 for s32[], found int64", lambda: number(np.int64(1)))
    expect(ts.InvalidError, "dimensions of argument 0: expected () for s32[]", lambda: number(np.zeros(1, np.int32)))


run_tests(globals())
print("programs: all passed")
