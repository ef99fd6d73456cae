# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: shapes: all passed
"""ts.Shape: its numbers against numpy's model of layouts, and all its errors."""

import json
import math
import os
import pickle
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import tessera as ts
from hypothesis import given, seed, settings
from hypothesis import strategies as st

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import expect, run_tests
from test_counts import test_count, test_seed
from tiling import PADDING, memory_of


@seed(test_seed())
@settings(max_examples=test_count(1000), deadline=None, database=None)
@given(st.data(), st.lists(st.integers(0, 7), max_size=4))
def test_positions(data, dims):
    order = data.draw(st.permutations(range(len(dims))))
    tile = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=len(dims) + 1))
    align = data.draw(st.integers(2, 9))
    numbers = lambda entries: ",".join(map(str, entries))
    text = f"s8[{numbers(dims)}]{{{numbers(order)}:T({numbers(tile)})L({align})}}"
    shape = ts.Shape(text)
    physical_shape, memory = memory_of(dims, order, [tile], [], align)
    assert str(shape) == text and shape.to_string(layout=False) == f"s8[{numbers(dims)}]"
    assert shape.dimensions == tuple(dims) and shape.minor_to_major == tuple(order)
    assert shape.tiles == (tuple(tile),)
    assert shape.physical_shape == tuple(physical_shape), text
    assert shape.allocated_elements == shape.bytes == memory.size, text
    assert shape.logical_elements == math.prod(dims), text
    assert shape.padding_bytes == memory.size - math.prod(dims), text
    for position, number in enumerate(memory):
        index = None if number == PADDING else np.unravel_index(number, dims)
        index = index and tuple(map(int, index))
        assert shape.logical_index(position) == (() if number == 0 and not dims else index), text
        assert index is None or shape.linear_index(index) == position, text


def test_fields():
    shape = ts.Shape(" bf16[32, <=4] {1,0:T(8,128)(*,1)S(3)} ")
    assert repr(shape) == "Shape('bf16[32,<=4]{1,0:T(8,128)(*,1)S(3)}')"
    assert shape.is_array and shape.element_type == "bf16" and shape.memory_space == 3
    assert shape.dimensions == (32, 4) and shape.tiles == ((8, 128), (None, 1))
    assert shape.storage_bits == 16 and shape.dtype.name == "bfloat16"
    assert ts.Shape("s4[3]{0:E(4)}").storage_bits == 4
    assert ts.Shape("f32[?]").dimensions == (None,)
    token = ts.Shape("token[]")
    assert not token.is_array and token.element_type == "" and token.dimensions == ()


def test_values():
    """Shapes are values: equal, hashed, copied and stored by their text."""
    shape = ts.Shape("f32[2,3]")
    assert shape == ts.Shape("f32[2,3]{1,0}") != ts.Shape("f32[2,3]{0,1}")
    assert hash(shape) == hash(ts.Shape("f32[2,3]{1,0}")) and shape != "f32[2,3]{1,0}"
    assert pickle.loads(pickle.dumps(shape)) == shape


def test_every_type_has_a_dtype():
    names = "pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64"
    names += " f8e5m2 f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e3m4 f8e5m2fnuz f8e4m3fnuz"
    names += " f8e8m0fnu f4e2m1fn c64 c128"
    for name in names.split():
        shape = ts.Shape(name + "[3]")
        assert shape.dtype.itemsize * 3 == shape.bytes, name
        assert ts.unpack(bytes(shape.bytes), shape).dtype == shape.dtype, name


def test_pictures_and_words():
    shape = ts.Shape("f32[3,5]{1,0:T(2,2)}")
    assert "12  13" in shape.draw() and "\033[" not in shape.draw()
    assert "\033[" in shape.draw(color=True)
    assert "f32[3,5]{0,1}" in shape.draw("f32[3,5]{0,1}")
    assert ElementTree.fromstring(shape.draw(svg=True)).tag.endswith("svg")
    assert len(ts.Shape("f32[64,64]").draw(rows=4, columns=4)) < len(ts.Shape("f32[64,64]").draw(rows=32, columns=32))
    assert "2 x 3 tiles of 2 x 2" in shape.explain()
    assert len(shape.explain(verbose=True)) > len(shape.explain())


def test_pairs():
    columns = ts.Shape("f32[2,3]{0,1}")
    assert columns.may_bitcast("f32[3,2]") and columns.may_bitcast("f32[3,2]").reason == ""
    answer = columns.may_bitcast(ts.Shape("f32[2,3]"), "relayout")
    assert not answer and answer.answer == "no" and "position" in answer.reason
    assert not columns.may_bitcast("f32[3,2]", kind="reshape")
    assert str(ts.Shape("f32[4096,129]").with_default_layout("tpu_v5e")) == ("f32[4096,129]{0,1:T(8,128)}")


def test_slices():
    shape = ts.Shape("bf16[4096,1024]{1,0:T(16,128)(2,1)}")
    text = shape.explain_slice("d0=8*i:+16, d1=128*j:+128")
    assert "i must be a multiple of 2" in text, text
    answer = json.loads(shape.explain_slice("d0=16*i:+16", format="json"))
    assert answer["whole_tiles"] and answer["run_bits"] == 16 * 1024 * 16, answer
    expect(ts.InvalidError, "expected `+`", lambda: shape.explain_slice("d0=i:8"))
    expect(ts.InvalidError, "which gives none", lambda: shape.explain_slice("d0=4096:+1"))
    expect(ts.InvalidError, "'text', 'json', found 'svg'", lambda: shape.explain_slice("", "svg"))


def test_report():
    module = (
        "HloModule m\n\nENTRY e {\n  a = f32[8,3]{1,0:T(8,128)} parameter(0)\n"
        "  ROOT b = f32[8,3]{1,0:T(8,128)} negate(a)\n}\n"
    )
    report = json.loads(ts.report(module, "json"))
    assert report["allocated_bytes"] == 2 * 8 * 128 * 4
    assert "module m: 2 values" in ts.report(module)
    assert ts.report(module, "html", rows=0).endswith("</html>\n")


def test_errors():
    shape = ts.Shape("f32[3,5]{1,0:T(2,2)}")
    expect(
        ValueError,
        "found 0 [layout_c3]\n  f32[2]{0:T(0)}\n             ^",
        lambda: ts.Shape("f32[2]{0:T(0)}"),
        rule="layout_c3",
        position=11,
    )
    expect(ts.InvalidError, "", lambda: ts.Shape(""), rule="text_c5", position=0)
    expect(ts.InvalidError, "", lambda: ts.Shape("f32[\0]"))
    expect(ts.InvalidError, "", lambda: ts.Shape("f\u00e932[2]\n{"))
    expect(TypeError, "", lambda: ts.Shape(5))
    expect(ts.InvalidError, "below its size 3, found -1", lambda: shape.linear_index((-1, 0)))
    expect(ts.InvalidError, "expected 2 numbers, found 3", lambda: shape.linear_index((0, 0, 0)))
    expect(TypeError, "", lambda: shape.linear_index((0.5, 0)))
    expect(TypeError, "", lambda: shape.linear_index((0, 2**64)))
    expect(ts.InvalidError, "below 24", lambda: shape.logical_index(24))
    expect(NotImplementedError, "write a bound", lambda: ts.Shape("f32[?]").bytes)
    expect(ts.InvalidError, "expected an array", lambda: ts.Shape("(f32[2])").physical_shape)
    expect(ts.InvalidError, "that of an array", lambda: ts.Shape("token[]").dtype)
    expect(ts.UnsupportedError, "tpu_v5e", lambda: shape.with_default_layout("abacus"))
    expect(ts.InvalidError, "from 4 on", lambda: shape.draw(rows=3))
    expect(ts.InvalidError, "at most 262144", lambda: shape.draw(rows=10**6, columns=10**12))
    expect(TypeError, "its text", lambda: shape.may_bitcast("f32[15]\ud800"))
    expect(ts.InvalidError, "no zero characters", lambda: shape.with_default_layout("cpu\0"))
    # An instance that was never made is no shape.
    expect(TypeError, "its text", lambda: shape.may_bitcast(ts.Shape.__new__(ts.Shape)))
    assert shape != ts.Shape.__new__(ts.Shape) and shape not in (None, 1)
    expect(ts.InvalidError, "f32[5]", lambda: shape.draw("f32[5]"))
    expect(ts.InvalidError, "'any', 'relayout', 'reshape', found 'wish'", lambda: shape.may_bitcast("f32[15]", "wish"))
    expect(ts.InvalidError, "'text', 'json', 'html', found 'xml'", lambda: ts.report("", "xml"))
    expect(ts.InvalidError, "1:9: error: ", lambda: ts.report("nonsense"))


run_tests(globals())
print("shapes: all passed")
