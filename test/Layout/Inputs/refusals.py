"""The texts that XLA's parser takes and Tessera refuses, one function for each
line of the table in docs/notation-rules.md.
"""

import math
import re

INT64_MAX = 2**63 - 1

TOKEN = re.compile(r"<=|-?\d+|[A-Za-z_][A-Za-z0-9_]*|\S")
BLANK = re.compile(r"/\*.*?\*/|//[^\n]*")
INTEGER = re.compile(r"-?\d+")


class Malformed(Exception):
    """The text is not in the grammar. XLA takes some such texts: within a
    layout it notes the error and goes on."""


class Array:
    """`type[dims]{order:keys}`; keys: name -> list of groups of tokens."""

    def __init__(self, type):
        self.type = type
        self.dims = []  # integers, None for `?`
        self.has_layout = False
        self.has_colon = False
        self.order = []
        self.keys = {}

    def numbers(self, key):
        return [int(group[0]) for group in self.keys.get(key, [])]

    def tiles(self):
        return self.keys.get("T", [])

    def width(self):
        """Bytes of an element."""
        bits = re.match(r"[a-z]+(\d+)", self.type)
        return -(-int(bits[1]) // 8) if bits else 1


# What stands between the parentheses of a key, blanks between the tokens.
GROUPS = {
    "D": r"([DCSH]( \+)?( ~)?( , [DCSH]( \+)?( ~)?)*)?",
    "T": r"(([*]|-?\d+)( , ([*]|-?\d+))*)?",
    "L": r"-?\d+",
    "#": r"\w+",
    "*": r"\w+",
    "E": r"-?\d+",
    "S": r"-?\d+",
    "SC": r"-?\d+ :( -?\d+( , -?\d+)*)?",
    "P": r".*",
    "M": r"-?\d+",
    "PD": r"\d+( , \d+)*",
    "PV": r"\w+",
}


class Reader:
    """Reads the arrays of a text whose shape around layouts is in order."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(BLANK.sub(" ", text))

    def next(self):
        if not self.tokens:
            raise Malformed()
        return self.tokens.pop(0)

    def arrays(self):
        arrays = []
        while self.tokens:
            token = self.next()
            if token not in "(),b":
                arrays.append(Array(token))
                self.read_dimensions(arrays[-1])
                if self.tokens[:1] == ["{"]:
                    self.read_layout(arrays[-1])
        return arrays

    def read_dimensions(self, array):
        if self.next() != "[":
            raise Malformed()
        while (token := self.next()) != "]":
            if token == "?" or token == str(-(2**63)):
                array.dims.append(None)
            elif token not in ("<=", ","):
                array.dims.append(self.integer(token))

    @staticmethod
    def integer(token):
        if not INTEGER.fullmatch(token):
            raise Malformed()
        return int(token)

    def read_layout(self, array):
        array.has_layout = True
        self.next()
        while (token := self.next()) not in ":}":
            if token != ",":
                array.order.append(self.integer(token))
        array.has_colon = token == ":"
        while token != "}" and (token := self.next()) != "}":
            array.keys[token] = self.read_groups(token)

    def read_groups(self, key):
        groups = []
        while self.tokens[:1] == ["("]:
            if ")" not in self.tokens:
                raise Malformed()
            group = self.tokens[1 : self.tokens.index(")")]
            del self.tokens[: len(group) + 2]
            if not re.fullmatch(GROUPS.get(key, "!"), " ".join(group)):
                raise Malformed()
            groups.append([token for token in group if token not in ",:"])
        # An empty T is well-formed for XLA: it is the table's T().
        if not groups and key != "T" or len(groups) > 1 and key not in ("T", "SC"):
            raise Malformed()
        return groups


def read_arrays(text):
    return Reader(text).arrays()


def is_sparse(array):
    return any(key in array.keys for key in "#*P")


def is_no_permutation(array):
    return sorted(array.order) != list(range(len(array.order)))


def has_no_keys_after_colon(array):
    return array.has_colon and not array.keys


def has_bad_tile(array):
    if "T" in array.keys and not array.tiles():
        return True
    return any(
        not tile or tile[-1] == "*" or any(s != "*" and int(s) < 1 for s in tile)
        for tile in array.tiles()
    )


def is_out_of_range(array):
    return (
        any(n < 1 for n in array.numbers("L"))
        or any(n < 0 for n in array.numbers("E") + array.numbers("M"))
        or any(not 0 <= n <= 127 for n in array.numbers("S"))
    )


def has_bad_split(array):
    for dimension, *indices in array.keys.get("SC", []):
        indices = [0, *map(int, indices)]
        if not 0 <= int(dimension) < len(array.order):
            return True
        if any(a >= b for a, b in zip(indices, indices[1:])):
            return True
    return False


def has_what_tokens_have_not(array):
    return array.type in ("token", "opaque") and (array.dims or array.has_layout)


def has_large_integer(array):
    groups = [token for groups in array.keys.values() for g in groups for token in g]
    numbers = [int(token) for token in groups if re.fullmatch(r"-?\d+", token)]
    numbers += array.order + [dim for dim in array.dims if dim is not None]
    return any(not -(2**63) <= number <= INT64_MAX for number in numbers)


def is_too_large(array):
    """Elements or bytes beyond int64, without and with padding."""
    known = [dim for dim in array.dims if dim is not None]
    if 0 in known:
        known = [0]
    if math.prod(known) * array.width() > INT64_MAX:
        return True
    return array.has_layout and has_too_large_buffer(array)


def has_too_large_buffer(array):
    # Extents of the axes; None where one is not known.
    dims = list(array.dims)
    for widths in array.keys.get("PD", []):
        dims = [0 if dim == 0 else int(width) for dim, width in zip(dims, widths)]
    extents = [dims[dim] for dim in reversed(array.order)]
    for tile in array.tiles():
        extents = [1] * (len(tile) - len(extents)) + extents
        tail, extents = extents[-len(tile) :], extents[: -len(tile)]
        sizes = []
        for i, size in enumerate(tile):
            if size == "*":
                if None in tail[i : i + 2]:
                    return False  # unsupported, but no error of the text
                tail[i + 1] *= tail[i]
                if tail[i + 1] > INT64_MAX:
                    return True
                continue
            extents.append(None if tail[i] is None else -(-tail[i] // int(size)))
            sizes.append(int(size))
        extents += sizes
    known = [extent for extent in extents if extent is not None]
    positions = 0 if 0 in known else math.prod(known)
    if positions > INT64_MAX:
        return True
    if None in extents:
        return False
    for alignment in array.numbers("L"):
        positions = -(-positions // alignment) * alignment
    bits = next((n for n in array.numbers("E") if n), array.width() * 8)
    return positions > INT64_MAX or -(-positions * bits // 8) > INT64_MAX


def has_split_beyond_sizes(array):
    """What XLA's validator, which it runs on tuples alone, asks of splits on
    top: each dimension once, indices below its size (`?` has none)."""
    splits = [(int(dim), *map(int, rest)) for dim, *rest in array.keys.get("SC", [])]
    sizes = [array.dims[dim] or 0 for dim in reversed(array.order)]
    dimensions = [dim for dim, *_ in splits]
    return len(set(dimensions)) < len(dimensions) or any(
        index >= sizes[dim] for dim, *indices in splits for index in indices
    )


def is_too_large_but_empty(array):
    """The same validator multiplies in order, and overflows before it comes to
    the dimension of size 0."""
    return 0 in array.dims and math.prod(filter(None, array.dims)) > INT64_MAX


def refused_in_tuples(text):
    """Whether XLA refuses `text` as a tuple though it takes its arrays."""
    return BLANK.sub("", text).strip().startswith("(") and any(
        has_split_beyond_sizes(array) or is_too_large_but_empty(array)
        for array in read_arrays(text)
    )


# Evaluated in this order: later ones may count on earlier ones.
TABLE = [
    has_large_integer,
    is_sparse,
    has_what_tokens_have_not,
    is_no_permutation,
    has_no_keys_after_colon,
    has_bad_tile,
    is_out_of_range,
    has_bad_split,
    is_too_large,
]


def refusal(text):
    """The name of the line of the table that refuses `text`, or None."""
    try:
        arrays = read_arrays(text)
    except Malformed:
        return "is_malformed"
    for array in arrays:
        for entry in TABLE:
            if entry(array):
                return entry.__name__
    return None
