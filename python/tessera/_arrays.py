# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of numpy into buffers with a layout, and back."""

import functools
import operator

import numpy as np

from tessera._dtypes import get_dtype, get_stored_dtype, is_stored_as
from tessera._errors import InvalidError, UnsupportedError
from tessera._tessera import Relayout, RuntimeRelayout, Shape

# Buffers begin at a line of the cache: relayouts are fastest there.
_LINE = 64


# A relayout is compiled once it has moved so many bytes: that takes about as long.
_COMPILED_BYTES = 32 << 20


class _Mover:
    """A relayout that begins without a compiler, and is compiled when that pays.

    Padding of the destination that the layout promises no value for becomes zero.
    """

    def __init__(self, source, destination, threads):
        self._source, self._destination, self._threads = source, destination, threads
        self._size = destination.bytes
        self._is_padded = _has_padding(destination)
        self._moved = 0
        self._compiled = self._light = None
        # The kernels that are there already are for one thread.
        if threads == 1:
            try:
                self._light = RuntimeRelayout(str(source), str(destination))
            except UnsupportedError:
                pass
        if self._light is None:
            self._compile()

    def __call__(self, buffer):
        """The bytes of `buffer`, moved."""
        if self._compiled is None:
            self._moved += self._size
            if self._moved <= _COMPILED_BYTES:
                result = allocate(self._size)
                self._light(buffer, result)
                return result
            self._compile()
        result = allocate(self._size, is_cleared=self._is_padded)
        self._compiled(buffer, result)
        return result

    def _compile(self):
        self._compiled = Relayout(self._source, self._destination, threads=self._threads)


# Looking up a relayout by its texts costs more than moving a small array.
@functools.lru_cache(maxsize=256)
def _get_mover(source, destination, threads):
    return _Mover(_as_shape(source), _as_shape(destination), threads)


@functools.lru_cache(maxsize=256)
def _get_packer(shape, dimensions, dtype, order, threads):
    """What moves dense arrays of that order of axes, from minor to major."""
    shape = _as_shape(shape)
    _ = shape.bytes  # asked first: it is what refuses tuples and `?`
    check_description(dimensions, dtype, shape, "the array")
    return _get_mover(_with_order(shape, order), str(shape), threads)


@functools.lru_cache(maxsize=256)
def _get_unpacker(shape, threads):
    """What moves buffers of a shape into dense arrays, their dtype and dimensions."""
    shape = _as_shape(shape)
    dense = _with_order(shape, _get_row_major(len(shape.dimensions)))
    return _get_mover(str(shape), dense, threads), shape.dtype, shape.dimensions


def pack(array, shape, *, threads=1):
    """The bytes of `array` in the layout of `shape`.

    Args:
      array: anything that numpy takes for an array, with the dimensions of
        `shape`, its bounds where they are dynamic, and its dtype. Integers of the
        same width may stand for types that numpy does not have: uint16 for bf16,
        int8 for s4, of whose bytes the upper bits are dropped. Axes in any order
        are read where they lie; the mask of a masked array is not looked at.
      shape: a Shape or its text.
      threads: how many may share the work.

    Returns:
      A numpy array of uint8 of `shape.bytes`. Padding that the layout promises no
      value for (PV) is zero.

    Raises:
      InvalidError: the array has other dimensions, or another dtype.
      UnsupportedError: a layout that relayouts can't write.
    """
    array = np.asarray(array)
    if array.flags.c_contiguous:
        order = _get_row_major(array.ndim)
    else:
        array = _as_dense(array)
        order = _get_minor_to_major(array)
    move = _get_packer(_get_key(shape), array.shape, array.dtype, order, operator.index(threads))
    return move(as_bytes(array if array.flags.c_contiguous else array.transpose(order[::-1])))


def unpack(buffer, shape, *, threads=1):
    """The array that lies in `buffer` in the layout of `shape`.

    Args:
      buffer: an object with Python's buffer interface, or a numpy array of any
        dtype, contiguous, of `shape.bytes`.
      shape: a Shape or its text.
      threads: how many may share the work.

    Returns:
      A numpy array in row-major order, of `shape.dtype` and `shape.dimensions`.

    Raises:
      InvalidError: the buffer has another size.
      UnsupportedError: a layout that relayouts can't read.
    """
    move, dtype, dimensions = _get_unpacker(_get_key(shape), operator.index(threads))
    return move(as_bytes(buffer)).view(dtype).reshape(dimensions)


def relayout(buffer, source, destination, *, threads=1):
    """The bytes of `buffer` moved from one layout to another.

    Args:
      buffer: as for `unpack`, of `source.bytes`.
      source: the Shape of the buffer, or its text.
      destination: that of the result; of the same type and dimensions.
      threads: how many may share the work.

    Returns:
      A numpy array of uint8 of `destination.bytes`, as of `pack`.

    Raises:
      InvalidError: the buffer has another size, or there is no relayout between
        the two.
      UnsupportedError: a layout that relayouts can't read or write.
    """
    move = _get_mover(_get_key(source), _get_key(destination), operator.index(threads))
    return move(as_bytes(buffer))


def _get_key(shape):
    """The text by which a shape is looked up."""
    return shape if isinstance(shape, str) else str(_as_shape(shape))


def _as_shape(shape):
    return shape if isinstance(shape, Shape) else Shape(shape)


def as_bytes(buffer):
    """The bytes of a buffer, without a copy."""
    if not isinstance(buffer, np.ndarray):
        return np.frombuffer(buffer, np.uint8)
    if not buffer.flags.c_contiguous:
        raise InvalidError(
            "invalid buffer: expected contiguous bytes, found an array with strides; "
            "numpy.ascontiguousarray makes a copy"
        )
    return buffer.reshape(-1).view(np.uint8)


def check_array(array, shape, what="the array"):
    """InvalidError unless `array`, for people `what`, is one of `shape`."""
    check_description(array.shape, array.dtype, shape, what)


def check_description(dimensions, dtype, shape, what):
    """The same of an array with these dimensions and this dtype."""
    if dimensions != shape.dimensions:
        raise InvalidError(f"invalid dimensions of {what}: expected {shape.dimensions} for {shape}, found {dimensions}")
    if not is_stored_as(dtype, shape.element_type):
        own, stored = get_dtype(shape.element_type), get_stored_dtype(shape.element_type)
        bits = "" if own == stored else f", or {stored} with its bits,"
        raise InvalidError(
            f"invalid dtype of {what}: expected {own}{bits} for {shape}, found "
            f"{dtype}; array.astype(shape.dtype) converts values"
        )


@functools.cache
def _get_row_major(rank):
    """Axes of row-major order from minor to major."""
    return tuple(range(rank - 1, -1, -1))


def _get_minor_to_major(array):
    """Axes from the smallest stride to the largest; of equal ones the last first."""
    return tuple(sorted(range(array.ndim), key=lambda i: (abs(array.strides[i]), -i)))


def _as_dense(array):
    """The array, or a copy if its elements do not lie one after the other."""
    order = _get_minor_to_major(array)
    if array.transpose(order[::-1]).flags.c_contiguous:
        return array
    return np.ascontiguousarray(array)


def _with_order(shape, minor_to_major):
    """The text of the shape of a dense array with the dimensions of `shape`."""
    text = shape.to_string(layout=False)
    if not minor_to_major:
        return text
    return f"{text}{{{','.join(map(str, minor_to_major))}}}"


def _has_padding(shape):
    """Whether bits of the buffer hold no element."""
    return shape.logical_elements * shape.storage_bits < 8 * shape.bytes


def allocate(size, is_cleared=False):
    """`size` bytes that begin at a line."""
    make = np.zeros if is_cleared else np.empty
    memory = make(size + _LINE - 1, np.uint8)
    # Faster than memory.ctypes.data.
    begin = -memory.__array_interface__["data"][0] % _LINE
    return memory[begin : begin + size]
