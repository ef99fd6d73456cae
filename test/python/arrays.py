# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
# CHECK: arrays: all passed
"""pack, unpack and relayout against numpy's model of layouts (Inputs/tiling.py).

Every array of these properties has a random type, sizes that divide nothing, a
random order of its axes in memory, and tiles; padding of sources holds noise.
"""

import os
import sys

import numpy as np
import tessera as ts
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Inputs"))
from expect import expect, run_tests
from test_counts import is_full_test, test_count, test_seed
from tiling import PADDING, memory_of

# With a fixed seed unless all is to be tried.
property_test = lambda test: seed(test_seed())(
    settings(
        max_examples=test_count(600),
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=is_full_test(),
        suppress_health_check=list(HealthCheck),
    )(test)
)

TYPES = "pred s4 u2 s8 u16 bf16 f8e4m3fn f32 s64 c64 c128".split()
PADDING_VALUES = {None: 0, "zero": 0, "one": 1}


@st.composite
def layouts(draw, dims):
    """What memory_of takes of an array of these dimensions."""
    tiles, length = [], len(dims)
    for _ in range(draw(st.integers(0, 2))):
        size = draw(st.integers(1, min(length + 1, 3)))
        tile = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
        tiles.append(tile)
        length = max(length, size) + size
    widths = [dim + draw(st.integers(0, 2)) for dim in dims]
    return (
        dims,
        draw(st.permutations(range(len(dims)))),
        tiles,
        draw(st.sampled_from([[], widths])),
        draw(st.sampled_from([1, 1, 7])),
    )


dimensions = st.lists(st.integers(0, 11), max_size=4)
element_types = st.sampled_from(TYPES)


def text_of(element_type, layout, padding_value=None, bits=None):
    dims, minor_to_major, tiles, widths, alignment = layout
    join = lambda entries: ",".join(map(str, entries))
    keys = "T" * bool(tiles) + "".join("(%s)" % join(tile) for tile in tiles)
    keys += "L(%d)" % alignment * (alignment != 1)
    keys += "E(%d)" % bits if bits else ""
    keys += "PD(%s)" % join(widths) * bool(widths)
    keys += "PV(%s)" % padding_value if padding_value else ""
    braces = "{%s%s}" % (join(minor_to_major), ":" * bool(keys) + keys)
    return "%s[%s]%s" % (element_type, join(dims), braces * bool(dims or keys))


def random_array(rng, shape):
    """Random bits, but for those that a type does not have."""
    size = int(np.prod(shape.dimensions))
    raw = rng.integers(0, 256, (size, shape.dtype.itemsize), np.uint8)
    if shape.element_type == "pred":
        raw &= 1
    array = raw.reshape(-1).view(shape.dtype)
    if shape.element_type == "s4":
        array = rng.integers(-8, 8, size).astype(shape.dtype)
    if shape.element_type == "u2":
        array = rng.integers(0, 4, size).astype(shape.dtype)
    return array.reshape(shape.dimensions)


def buffer_of(array, layout, padding):
    """The buffer of a layout, by numpy; `padding` is an element of the array."""
    numbers = memory_of(*layout)[1]
    buffer = np.full(numbers.size, padding, array.dtype)
    is_element = numbers != PADDING
    buffer[is_element] = array.reshape(-1)[numbers[is_element]]
    return buffer


def in_order(array, order):
    """The same array with its axes in that order in memory."""
    back = np.argsort(order)
    return np.array(array.transpose(order), order="C").transpose(back)


def same(actual, expected):
    """Bit by bit, so that NaNs count."""
    return actual.tobytes() == expected.tobytes()


def choose_code(data):
    """Kernels that are there already, or code that is compiled at once."""
    ts._arrays._COMPILED_BYTES = data.draw(st.sampled_from([0, 1 << 25]))


@property_test
@given(st.data(), dimensions, element_types, st.sampled_from([*PADDING_VALUES]), st.integers(0))
def test_pack(data, dims, element_type, padding_value, number):
    layout = data.draw(layouts(dims))
    shape = ts.Shape(text_of(element_type, layout, padding_value))
    array = random_array(np.random.default_rng(number), shape)
    expected = buffer_of(array, layout, PADDING_VALUES[padding_value])
    order = data.draw(st.permutations(range(len(dims))))
    threads = data.draw(st.integers(1, 2))
    choose_code(data)
    packed = ts.pack(in_order(array, order), shape, threads=threads)
    assert packed.dtype == np.uint8 and packed.nbytes == shape.bytes, shape
    assert same(packed, expected), (shape, order)


@property_test
@given(st.data(), dimensions, element_types, st.integers(0))
def test_unpack(data, dims, element_type, number):
    layout = data.draw(layouts(dims))
    shape = ts.Shape(text_of(element_type, layout))
    rng = np.random.default_rng(number)
    array = random_array(rng, shape)
    noise = random_array(rng, ts.Shape(element_type + "[1]"))[0]
    choose_code(data)
    unpacked = ts.unpack(buffer_of(array, layout, noise), str(shape))
    assert unpacked.dtype == shape.dtype and unpacked.shape == tuple(dims), shape
    assert same(unpacked, array), shape


@property_test
@given(st.data(), dimensions, element_types, st.integers(0))
def test_relayout(data, dims, element_type, number):
    sides = [data.draw(layouts(dims)) for _ in range(2)]
    source, destination = (ts.Shape(text_of(element_type, side)) for side in sides)
    rng = np.random.default_rng(number)
    array = random_array(rng, source)
    noise = random_array(rng, ts.Shape(element_type + "[1]"))[0]
    choose_code(data)
    moved = ts.relayout(buffer_of(array, sides[0], noise).tobytes(), source, destination)
    assert same(moved, buffer_of(array, sides[1], 0)), (source, destination)


@property_test
@given(st.data(), dimensions, st.sampled_from([("s4", 4), ("u2", 2), ("u2", 8)]), st.integers(0))
def test_packed_elements(data, dims, element_type, number):
    name, bits = element_type
    layout = data.draw(layouts(dims))
    shape = ts.Shape(text_of(name, layout, bits=bits))
    array = random_array(np.random.default_rng(number), shape)
    # Element k is the bits from k * bits on, little-endian.
    stored = buffer_of(array, layout, 0).astype(np.uint8)
    planes = np.unpackbits(stored.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    choose_code(data)
    packed = ts.pack(array, shape)
    assert same(packed, np.packbits(planes.reshape(-1), bitorder="little")), shape
    # Bytes have the sign of a narrow integer, where ml_dtypes leaves zeros.
    unpacked = ts.unpack(packed, shape)
    assert unpacked.dtype == shape.dtype and (unpacked == array).all(), shape
    assert unpacked.view(np.int8).tolist() == array.astype(np.int8).tolist(), shape


def test_compiled_when_it_pays():
    """The results are the same before and after."""
    array = np.arange(1000 * 1001, dtype=np.float32).reshape(1000, 1001)
    shape = "f32[1000,1001]{0,1:T(8,128)}"
    ts._arrays._COMPILED_BYTES = 3 * ts.Shape(shape).bytes
    packed = [ts.pack(array, shape).tobytes() for _ in range(5)]
    assert len(set(packed)) == 1
    assert all(same(ts.unpack(packed[0], shape), array) for _ in range(5))
    mover = ts._arrays._get_mover("f32[1000,1001]{1,0}", shape, 1)
    assert mover._compiled is not None


def test_large():
    """Large enough for kernels with nontemporal stores and for threads, at any address."""
    rng = np.random.default_rng(test_seed())
    array = rng.standard_normal((1001, 2003)).astype(np.float32)
    memory = np.empty(array.nbytes + 64, np.uint8)
    for threads in (1, 2):
        run = ts.Relayout("f32[1001,2003]", "f32[1001,2003]{0,1}", threads=threads)
        for offset in (0, 4, 17):
            target = memory[offset : offset + array.nbytes]
            target[:] = 255
            run(array, target)
            assert same(target, array.T.copy()), (threads, offset)


def test_arrays_with_strides():
    """What is not dense is copied; what is, is read where it lies."""
    array = np.arange(210, dtype=np.float32).reshape(5, 6, 7)
    shape = "f32[%d,%d,%d]{0,1,2:T(2,4)}"
    for view in (
        array[::2],
        array[:, ::-1],
        array[..., 3:],
        array.T,
        array[:1],
        np.broadcast_to(array[:1], array.shape),
        array[:, :1, :].transpose(2, 0, 1),
    ):
        text = shape % view.shape
        assert same(ts.pack(view, text), ts.pack(np.array(view, order="C"), text)), text
        assert same(ts.unpack(ts.pack(view, text), text), np.array(view, order="C")), text


def test_integers_for_types_without_numpy():
    bits = np.arange(12, dtype=np.uint16).reshape(3, 4)
    shape = ts.Shape("bf16[3,4]{0,1}")
    assert same(ts.pack(bits, shape), bits.T.copy())
    assert same(ts.pack(bits.view(shape.dtype), shape), bits.T.copy())
    nibbles = np.array([1, -2, 7], np.int8)
    assert ts.pack(nibbles, "s4[3]{0:E(4)}").tolist() == [0xE1, 0x07]


def test_lists_and_scalars():
    assert ts.pack(7.0, "f64[]").view(np.float64).tolist() == [7.0]
    assert ts.unpack(ts.pack([[1, 2], [3, 4]], "s64[2,2]{0,1}"), "s64[2,2]{0,1}").tolist() == [
        [1, 2],
        [3, 4],
    ]


def test_results_begin_at_a_line():
    for _ in range(20):
        assert ts.pack(np.zeros((9, 5), np.float32), "f32[9,5]{0,1}").ctypes.data % 64 == 0
        assert ts.unpack(bytes(180), "f32[9,5]{0,1}").ctypes.data % 64 == 0


def test_errors():
    array = np.zeros((3, 5), np.float32)
    shape = "f32[3,5]{1,0:T(2,2)}"
    expect(ts.InvalidError, "expected (3, 5) for f32[3,5]", lambda: ts.pack(array.T, shape))
    expect(
        ts.InvalidError,
        "expected float32 for f32[3,5]{1,0:T(2,2)}, found float64; array.astype",
        lambda: ts.pack(array.astype(float), shape),
    )
    expect(ts.InvalidError, "found int32", lambda: ts.pack(array.view(np.int32), shape))
    expect(ts.InvalidError, "found int16", lambda: ts.pack(np.zeros(2, np.int16), "bf16[2]"))
    expect(
        ts.InvalidError, "for f32[3,5]{1,0:T(2,2)}: expected 96 bytes, found 95", lambda: ts.unpack(bytes(95), shape)
    )
    expect(ts.InvalidError, "array with strides", lambda: ts.unpack(np.zeros((8, 6), "f4")[:, ::2], shape))
    expect(
        ts.InvalidError,
        "invalid dimensions of the destination",
        lambda: ts.relayout(bytes(60), "f32[3,5]", "f32[5,3]"),
    )
    expect(ts.InvalidError, "layout_c3", lambda: ts.pack(array, "f32[3,5]{1,0:T(0)}"))
    expect(ts.UnsupportedError, "write a bound", lambda: ts.pack(array, "f32[3,?]"))
    expect(ts.UnsupportedError, "M", lambda: ts.pack(array, "f32[3,5]{1,0:M(8)}"))
    expect(ts.InvalidError, "expected an array", lambda: ts.pack(array, "token[]"))
    expect(ts.InvalidError, "number of threads", lambda: ts.pack(array, shape, threads=0))
    expect(TypeError, "", lambda: ts.pack(array, 5))
    expect(TypeError, "", lambda: ts.unpack(5, shape))


run_tests(globals())
print("arrays: all passed")
