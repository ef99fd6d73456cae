"""Random instructions of HLO, each kind with random types, sizes, windows and values.

An instance is some lines of an entry computation, its parameters, and computations
that it applies. `Module` collects instances and writes them as two texts: one with
random tiled layouts, and one without layouts for XLA.
"""

import ml_dtypes
import numpy as np

TYPES = {
    "pred": np.bool_,
    "s4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "s8": np.int8,
    "u8": np.uint8,
    "s16": np.int16,
    "u16": np.uint16,
    "s32": np.int32,
    "u32": np.uint32,
    "s64": np.int64,
    "u64": np.uint64,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
# Not among those that all kinds are drawn from.
TINY = {
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
}
COMPLEX = {"c64": np.complex64, "c128": np.complex128}
FLOATS = ["bf16", "f16", "f32", "f64"]
WIDE = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
INTEGERS = ["s4", "u4", *WIDE]
TILES = ["", "", "T(8,128)", "T(4,128)", "T(8,128)(2,1)", "T(2,3)", "T(3,4)(2,1)", "T(5)"]


def bits(name):
    digits = name.removeprefix("bf").lstrip("csufpred").split("e")[0]
    return int(digits) if digits else 1


def ints(values):
    return "{" + ",".join(str(value) for value in values) + "}"


class Module:
    def __init__(self, random):
        self.random = random
        self.lines, self.computations = [], []
        self.parameters, self.arrays, self.results = [], [], []
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"%{stem}.{self.count}"

    # --- values -------------------------------------------------------------

    def values(self, name, dims, edges=True, low=None, high=None):
        """An array of random elements, some of them on the edge of the type."""
        dtype, rng = (TYPES | TINY | COMPLEX)[name], np.random.default_rng(self.random.getrandbits(32))
        size = int(np.prod(dims))
        if name in COMPLEX:
            return np.asarray(rng.normal(0, 2, dims) + 1j * rng.normal(0, 2, dims)).astype(dtype)
        if name == "pred":
            return rng.integers(0, 2, dims).astype(bool)
        if name in FLOATS or name in TINY:
            array = rng.normal(0, 3, dims)
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e3, 3e4, 0.5, -2.5]
        else:
            info = ml_dtypes.iinfo(dtype) if "4" in name and bits(name) == 4 else np.iinfo(dtype)
            first, last = int(info.min), int(info.max)
            low = first if low is None else low
            high = last if high is None else high
            wide = np.int64 if last < 2**63 else np.uint64
            array = rng.integers(max(low, first), min(high, last), dims, dtype=wide, endpoint=True)
            special = [first, last, 0, 1, min(last, 2), max(first, -1)]
        array = np.asarray(array).astype(dtype)
        if edges and size:
            for _ in range(size // 3 + 1):
                array.reshape(-1)[self.random.randrange(size)] = dtype(self.random.choice(special))
        return array

    def dims(self, rank=None, most=7):
        rank = self.random.randrange(4) if rank is None else rank
        return tuple(self.random.choice([1, 2, 3, 5, most, 9]) for _ in range(rank))

    # --- text ---------------------------------------------------------------

    def shape(self, name, dims):
        """The type with a random layout, to be dropped for XLA."""
        order = list(range(len(dims)))
        self.random.shuffle(order)
        tile = self.random.choice(TILES) if dims else ""
        if not dims:
            return f"{name}[]"
        packed = "E(4)" if bits(name) == 4 else ""
        fields = f":{tile}{packed}" if tile or packed else ""
        return f"{name}[{','.join(map(str, dims))}]<{','.join(map(str, order))}{fields}>"

    def parameter(self, name, array):
        text = self.name("p")
        shape = self.shape(name, array.shape)
        self.parameters.append(f"{text[1:]}: {shape}")
        self.lines.append(f"{text} = {shape} parameter({len(self.arrays)})")
        self.arrays.append(array)
        return text

    def array(self, name, dims, **options):
        return self.parameter(name, self.values(name, dims, **options))

    def op(self, name, dims, opcode, operands, attributes="", result=None):
        """A result; `result` says how it is compared: exact, or by rtol."""
        text = self.name("v")
        shape = self.shape(name, dims)
        comma = ", " if attributes else ""
        self.lines.append(f"{text} = {shape} {opcode}({', '.join(operands)}){comma}{attributes}")
        self.results.append((text, shape, opcode, result, len(self.lines) - 1))
        return text

    def computation(self, types, root):
        """One on scalars; `root` makes its lines of the parameters' names."""
        name = self.name("c")
        names = [self.name("a") for _ in types]
        lines = [f"{n} = {t}[] parameter({i})" for i, (n, t) in enumerate(zip(names, types))]
        result, more = root(names)
        header = ", ".join(f"{n[1:]}: {t}[]" for n, t in zip(names, types))
        body = "\n  ".join([*lines, *more])
        self.computations.append(f"{name} ({header}) -> {result} {{\n  {body}\n}}\n")
        return name

    def binary(self, name, opcode):
        def root(names):
            return f"{name}[]", [f"ROOT {self.name('r')} = {name}[] {opcode}({names[0]}, {names[1]})"]

        return self.computation([name, name], root)

    def text(self):
        """The text with layouts."""
        tuple_type = "(" + ", ".join(shape for _, shape, _, _, _ in self.results) + ")"
        names = ", ".join(name for name, *_ in self.results)
        entry = f"ENTRY %main ({', '.join(self.parameters)}) -> {tuple_type} {{\n  "
        entry += "\n  ".join([*self.lines, f"ROOT %root = {tuple_type} tuple({names})"]) + "\n}\n"
        return "HloModule random\n\n" + "\n".join([*self.computations, entry])


def with_layouts(text):
    return text.replace("<", "{").replace(">", "}").replace("-}", "->")


def without_layouts(text):
    import re

    return re.sub(r"<[^>]*>", "", text.replace("->", "@@")).replace("@@", "->")


# --- elementwise ----------------------------------------------------------------

EXACT_UNARY = {
    "abs": FLOATS + ["s4", "s8", "s16", "s32", "s64"],
    "negate": FLOATS + INTEGERS,
    "sign": FLOATS + ["s4", "s8", "s16", "s32", "s64"],
    "ceil": FLOATS,
    "floor": FLOATS,
    "round-nearest-afz": FLOATS,
    "round-nearest-even": FLOATS,
    "not": ["pred", *INTEGERS],
    # Of s4 and u4 XLA counts eight bits, unless they come from memory that has four.
    "count-leading-zeros": WIDE,
    "popcnt": WIDE,
}
INEXACT_UNARY = [
    "cbrt", "cosine", "erf", "exponential", "exponential-minus-one", "log", "log-plus-one",
    "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh",
]  # fmt: skip
BINARY = {
    "add": FLOATS + INTEGERS,
    "subtract": FLOATS + INTEGERS,
    "multiply": FLOATS + INTEGERS,
    "divide": FLOATS + INTEGERS,
    "remainder": ["f32", "f64", *INTEGERS],
    "maximum": ["pred", *FLOATS, *INTEGERS],
    "minimum": ["pred", *FLOATS, *INTEGERS],
    "and": ["pred", *INTEGERS],
    "or": ["pred", *INTEGERS],
    "xor": ["pred", *INTEGERS],
    "shift-left": INTEGERS,
    "shift-right-arithmetic": INTEGERS,
    "shift-right-logical": INTEGERS,
}


def unary(m):
    opcode = m.random.choice(sorted(EXACT_UNARY))
    name, dims = m.random.choice(EXACT_UNARY[opcode]), m.dims()
    m.op(name, dims, opcode, [m.array(name, dims)])


def function(m):
    opcode, name = m.random.choice(INEXACT_UNARY), m.random.choice(FLOATS)
    dims = m.dims()
    m.op(name, dims, opcode, [m.array(name, dims)], result="near")


def is_finite(m):
    name, dims = m.random.choice(FLOATS), m.dims()
    m.op("pred", dims, "is-finite", [m.array(name, dims)])


def binary(m):
    opcode = m.random.choice(sorted(BINARY))
    name, dims = m.random.choice(BINARY[opcode]), m.dims()
    near = "near" if name in FLOATS and opcode in ("divide", "remainder") else None
    m.op(name, dims, opcode, [m.array(name, dims), m.array(name, dims)], result=near)


def integer_power(m):
    """Of exponents from 64 on, XLA reads six bits."""
    name, dims = m.random.choice(WIDE), m.dims()
    exponents = m.array(name, dims, edges=False, low=-5, high=63)
    m.op(name, dims, "power", [m.array(name, dims), exponents])


def float_function(m):
    opcode, name, dims = m.random.choice(["power", "atan2"]), m.random.choice(FLOATS), m.dims()
    m.op(name, dims, opcode, [m.array(name, dims), m.array(name, dims)], result="near")


def reduce_precision(m):
    name, dims = m.random.choice(FLOATS), m.dims()
    exponent, mantissa = m.random.randrange(1, 9), m.random.randrange(0, 24)
    attributes = f"exponent_bits={exponent}, mantissa_bits={mantissa}"
    m.op(name, dims, "reduce-precision", [m.array(name, dims)], attributes)


# Of sums and products, and of functions.
COMPLEX_BINARY = ["add", "subtract", "multiply", "divide"]
COMPLEX_UNARY = [
    "cosine", "exponential", "exponential-minus-one", "log", "log-plus-one", "negate", "rsqrt", "sign", "sine",
    "sqrt", "tan", "tanh",
]  # fmt: skip


def complex_(m):
    """Without edges, where the two parts need not be alike."""
    name, dims = m.random.choice(sorted(COMPLEX)), m.dims()
    opcode = m.random.choice([*COMPLEX_BINARY, *COMPLEX_UNARY])
    operands = [m.array(name, dims) for _ in range(1 + (opcode in COMPLEX_BINARY))]
    m.op(name, dims, opcode, operands, result="near")


def complex_parts(m):
    name, dims = m.random.choice(sorted(COMPLEX)), m.dims()
    part = "f32" if name == "c64" else "f64"
    opcode = m.random.choice(["complex", "real", "imag", "abs", "compare", "select", "copy"])
    if opcode == "complex":
        m.op(name, dims, opcode, [m.array(part, dims), m.array(part, dims)])
    elif opcode == "compare":
        direction = f"direction={m.random.choice(['EQ', 'NE'])}"
        m.op("pred", dims, opcode, [m.array(name, dims), m.array(name, dims)], direction)
    elif opcode == "select":
        m.op(name, dims, opcode, [m.array("pred", dims), m.array(name, dims), m.array(name, dims)])
    elif opcode == "copy":
        m.op(name, dims, opcode, [m.array(name, dims)])
    else:
        m.op(part, dims, opcode, [m.array(name, dims)], result="near")


def convert_complex(m):
    name, dims = m.random.choice(sorted(COMPLEX)), m.dims()
    source = m.random.choice([*sorted(TYPES), *sorted(COMPLEX)])
    m.op(name, dims, "convert", [m.array(source, dims)], result="near")


def compare(m):
    name, dims = m.random.choice([*FLOATS, *INTEGERS, "pred"]), m.dims()
    direction = m.random.choice(["EQ", "NE", "LT", "LE", "GT", "GE"])
    total = ", type=TOTALORDER" if name in FLOATS and m.random.random() < 0.3 else ""
    operands = [m.array(name, dims), m.array(name, dims)]
    m.op("pred", dims, "compare", operands, f"direction={direction}{total}")


def select(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims()
    operands = [m.array("pred", dims), m.array(name, dims), m.array(name, dims)]
    m.op(name, dims, "select", operands)


def clamp(m):
    name, dims = m.random.choice([*FLOATS, *WIDE]), m.dims()
    bound = m.random.choice([dims, ()])
    operands = [m.array(name, bound), m.array(name, dims), m.array(name, bound)]
    m.op(name, dims, "clamp", operands)


def convert(m):
    source, target = m.random.sample(sorted(TYPES), 2)
    dims = m.dims()
    m.op(target, dims, "convert", [m.array(source, dims)])


def bitcast_convert(m):
    groups = [["s8", "u8"], ["s16", "u16", "bf16", "f16"], ["s32", "u32", "f32"], ["s64", "u64", "f64"]]
    i, j = m.random.randrange(4), m.random.randrange(4)
    source, target = m.random.choice(groups[i]), m.random.choice(groups[j])
    dims, ratio = m.dims(2), 2 ** abs(i - j)
    from_dims = (*dims, ratio) if i < j else dims
    to_dims = (*dims, ratio) if i > j else dims
    edges = source not in FLOATS and target not in FLOATS
    m.op(target, to_dims, "bitcast-convert", [m.array(source, from_dims, edges=edges)])


def map_(m):
    name, dims = m.random.choice(["f32", "s32", "bf16"]), m.dims()
    apply = m.binary(name, m.random.choice(["add", "maximum", "multiply"]))
    operands = [m.array(name, dims), m.array(name, dims)]
    m.op(name, dims, "map", operands, f"dimensions={ints(range(len(dims)))}, to_apply={apply}")


# --- moves -----------------------------------------------------------------------


def broadcast(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 5))
    kept = sorted(m.random.sample(range(len(dims)), m.random.randrange(len(dims) + 1)))
    source = m.array(name, tuple(dims[d] for d in kept))
    m.op(name, dims, "broadcast", [source], f"dimensions={ints(kept)}")


def transpose(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims()
    order = m.random.sample(range(len(dims)), len(dims))
    m.op(name, tuple(dims[d] for d in order), "transpose", [m.array(name, dims)], f"dimensions={ints(order)}")


def reverse(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    some = m.random.sample(range(len(dims)), m.random.randrange(1, len(dims) + 1))
    m.op(name, dims, "reverse", [m.array(name, dims)], f"dimensions={ints(some)}")


def reshape(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(3)
    a, b, c = dims
    target = m.random.choice([(a * b, c), (a, b * c), (c, b, a), (a * b * c,)])
    m.op(name, target, "reshape", [m.array(name, dims)])


def copy(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims()
    m.op(name, dims, "copy", [m.array(name, dims)])


def slice_(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    slices, sizes = [], []
    for size in dims:
        start = m.random.randrange(size)
        limit, stride = m.random.randrange(start, size + 1), m.random.randrange(1, 4)
        slices.append(f"[{start}:{limit}:{stride}]")
        sizes.append(-(-(limit - start) // stride))
    m.op(name, tuple(sizes), "slice", [m.array(name, dims)], "slice={" + ", ".join(slices) + "}")


def iota(m):
    name, dims = m.random.choice([*FLOATS, *WIDE]), m.dims(m.random.randrange(1, 4))
    m.op(name, dims, "iota", [], f"iota_dimension={m.random.randrange(len(dims))}")


def pad(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    texts, sizes = [], []
    for size in dims:
        low, high = m.random.randrange(-2, 4), m.random.randrange(-2, 4)
        interior = m.random.choice([0, 0, 1, 2])
        total = low + high + size + (size - 1) * interior
        if total < 0:
            low, total = low - total, 0
        texts.append(f"{low}_{high}_{interior}")
        sizes.append(total)
    m.op(name, tuple(sizes), "pad", [m.array(name, dims), m.array(name, ())], f"padding={'x'.join(texts)}")


def concatenate(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    dim, parts, total = m.random.randrange(len(dims)), [], 0
    for _ in range(m.random.randrange(1, 5)):
        size = m.random.randrange(0, 6)
        parts.append(m.array(name, (*dims[:dim], size, *dims[dim + 1 :])))
        total += size
    m.op(name, (*dims[:dim], total, *dims[dim + 1 :]), "concatenate", parts, f"dimensions={{{dim}}}")


def starts(m, dims, index_type):
    return [m.array(index_type, (), low=-3, high=size + 3, edges=m.random.random() < 0.2) for size in dims]


def dynamic_slice(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    sizes = tuple(m.random.randrange(1, size + 1) for size in dims)
    operands = [m.array(name, dims), *starts(m, dims, m.random.choice(["s32", "s64", "u32", "s8"]))]
    m.op(name, sizes, "dynamic-slice", operands, f"dynamic_slice_sizes={ints(sizes)}")


def dynamic_update_slice(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    sizes = tuple(m.random.randrange(1, size + 1) for size in dims)
    operands = [m.array(name, dims), m.array(name, sizes), *starts(m, dims, m.random.choice(["s32", "s64", "u32"]))]
    m.op(name, dims, "dynamic-update-slice", operands)


def gather(m):
    name, dims = m.random.choice(sorted(TYPES)), m.dims(m.random.randrange(1, 4))
    rank, batch = len(dims), m.dims(m.random.randrange(0, 3))
    mapped = m.random.sample(range(rank), m.random.randrange(1, rank + 1))
    vector = m.random.randrange(len(batch) + 1)
    sizes = [m.random.randrange(1, size + 1) for size in dims]
    collapsed = [d for d in range(rank) if sizes[d] == 1 and m.random.random() < 0.7]
    indices = (*batch[:vector], len(mapped), *batch[vector:])
    window = [sizes[d] for d in range(rank) if d not in collapsed]
    total = len(batch) + len(window)
    offsets = sorted(m.random.sample(range(total), len(window)))
    batch_left, window_left = list(batch), list(window)
    result = tuple((window_left if d in offsets else batch_left).pop(0) for d in range(total))
    number, edges = m.random.choice(["s32", "s64", "u32"]), m.random.random() < 0.3
    starts = m.array(number, indices, low=-2, high=max(dims) + 1, edges=edges)
    m.op(
        name, result, "gather", [m.array(name, dims), starts],
        f"offset_dims={ints(offsets)}, collapsed_slice_dims={ints(collapsed)}, "
        f"start_index_map={ints(mapped)}, index_vector_dim={vector}, slice_sizes={ints(sizes)}",
    )  # fmt: skip


# --- reductions and products ------------------------------------------------------


def scatter(m):
    opcode = m.random.choice(["add", "maximum", "minimum"])
    name, dims = m.random.choice(["f32", "s32", "u8", "f64", "s64"]), m.dims(m.random.randrange(1, 4))
    rank, batch = len(dims), m.dims(m.random.randrange(0, 3), 3)
    mapped = m.random.sample(range(rank), m.random.randrange(1, rank + 1))
    vector = m.random.randrange(len(batch) + 1)
    sizes = [m.random.randrange(1, size + 1) for size in dims]
    inserted = [d for d in range(rank) if sizes[d] == 1 and m.random.random() < 0.7]
    window = [sizes[d] for d in range(rank) if d not in inserted]
    total = len(batch) + len(window)
    places = sorted(m.random.sample(range(total), len(window)))
    batch_left, window_left = list(batch), list(window)
    updates = tuple((window_left if d in places else batch_left).pop(0) for d in range(total))
    number = m.random.choice(["s32", "s64", "u32"])
    indices = (*batch[:vector], len(mapped), *batch[vector:])
    operands = [
        m.array(name, dims, edges=False),
        m.array(number, indices, low=-2, high=max(dims) + 1, edges=m.random.random() < 0.3),
        m.array(name, updates, edges=False),
    ]
    m.op(
        name, dims, "scatter", operands,
        f"update_window_dims={ints(places)}, inserted_window_dims={ints(inserted)}, "
        f"scatter_dims_to_operand_dims={ints(mapped)}, index_vector_dim={vector}, "
        f"to_apply={m.binary(name, opcode)}", result=is_near(name, opcode),
    )  # fmt: skip


def sort(m):
    """Keys without NaN, of which many are equal, and where each comes from."""
    name, dims = m.random.choice(["f32", "s32", "u8", "bf16", "s64"]), m.dims(m.random.randrange(1, 4))
    dim = m.random.randrange(len(dims))
    direction = m.random.choice(["LT", "GT"])

    def root(names):
        compare = f"ROOT {m.name('r')} = pred[] compare({names[0]}, {names[1]}), direction={direction}"
        return "pred[]", [compare]

    comparator = m.computation([name, name, "s32", "s32"], root)
    keys = m.array(name, dims, edges=False, low=0, high=5)
    places = m.parameter("s32", np.arange(int(np.prod(dims)), dtype=np.int32).reshape(dims))
    text, shapes = m.name("t"), [m.shape(name, dims), m.shape("s32", dims)]
    attributes = f"dimensions={{{dim}}}, is_stable=true, to_apply={comparator}"
    m.lines.append(f"{text} = ({', '.join(shapes)}) sort({keys}, {places}), {attributes}")
    for index, shape in enumerate(shapes):
        element = m.name("v")
        m.lines.append(f"{element} = {shape} get-tuple-element({text}), index={index}")
        m.results.append((element, shape, "sort", None, len(m.lines) - 2))


def select_and_scatter(m):
    name, dims = m.random.choice(["f32", "s32"]), m.dims(m.random.randrange(1, 4))
    while True:
        kernel = [m.random.randrange(1, 4) for _ in dims]
        stride = [m.random.randrange(1, 3) for _ in dims]
        low, high = ([m.random.randrange(size) for size in kernel] for _ in range(2))
        spans = [size + a + b - k for size, a, b, k in zip(dims, low, high, kernel)]
        if min(spans) >= 0:
            break
    source = tuple(span // step + 1 for span, step in zip(spans, stride))

    def root(names):
        compare = f"ROOT {m.name('r')} = pred[] compare({names[0]}, {names[1]}), direction=GE"
        return "pred[]", [compare]

    select = m.computation([name, name], root)
    operands = [m.array(name, dims, edges=False), m.array(name, source, edges=False)]
    operands.append(m.parameter(name, np.zeros((), TYPES[name])))
    pads = "x".join(f"{a}_{b}" for a, b in zip(low, high))
    window = f"{{size={'x'.join(map(str, kernel))} stride={'x'.join(map(str, stride))} pad={pads}}}"
    m.op(
        name, dims, "select-and-scatter", operands,
        f"window={window}, select={select}, scatter={m.binary(name, 'add')}", result=is_near(name, "add"),
    )  # fmt: skip


def convert_tiny(m):
    """Between floating-point numbers of a byte and wider ones."""
    tiny = m.random.choice(sorted(TINY))
    wide = m.random.choice(["f32", "bf16", "f16"])
    source, target = m.random.choice([(tiny, wide), (wide, tiny)])
    dims = m.dims()
    m.op(target, dims, "convert", [m.array(source, dims)])


# --- linear algebra ---------------------------------------------------------------


def matrices(m, name, rows, columns, batch):
    """Random ones that are no edge cases, with large diagonals."""
    array = m.values(name, (*batch, rows, columns), edges=False)
    return array + (20 * np.eye(rows, columns)).astype(array.dtype)


def cholesky(m):
    name, n, batch = m.random.choice(["f32", "f64"]), m.random.randrange(1, 8), m.dims(m.random.randrange(2), 3)
    array = matrices(m, name, n, n, batch)
    lower = m.random.random() < 0.5
    array = array @ np.swapaxes(array, -1, -2)
    text = m.op(name, array.shape, "cholesky", [m.parameter(name, array)], f"lower={str(lower).lower()}")
    # The other triangle is of no meaning.
    m.results.pop()
    keep = np.broadcast_to(np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T, array.shape)
    zeros = m.parameter(name, np.zeros(array.shape, array.dtype))
    m.op(name, array.shape, "select", [m.parameter("pred", keep), text, zeros], result="sum")


def triangular_solve(m):
    name, n, batch = m.random.choice(["f32", "f64"]), m.random.randrange(1, 8), m.dims(m.random.randrange(2), 3)
    left, lower, unit = (m.random.random() < 0.5 for _ in range(3))
    matrix = matrices(m, name, n, n, batch)
    if unit:
        matrix /= 100
    other = m.random.randrange(1, 6)
    right = m.values(name, (*batch, n, other) if left else (*batch, other, n), edges=False)
    transpose = m.random.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    flags = f"left_side={left}, lower={lower}, unit_diagonal={unit}".lower()
    m.op(
        name, right.shape, "triangular-solve", [m.parameter(name, matrix), m.parameter(name, right)],
        f"{flags}, transpose_a={transpose}", result="sum",
    )  # fmt: skip


def random_bits(m):
    """The state with words that carry, and what follows it."""
    algorithm = m.random.choice(["rng_default", "rng_philox", "rng_three_fry"])
    count = 2 if algorithm == "rng_three_fry" else m.random.choice([2, 3])
    name, dims = m.random.choice([name for name in WIDE if name.startswith("u")]), m.dims()
    state = m.array("u64", (count,))
    text, shapes = m.name("t"), [m.shape("u64", (count,)), m.shape(name, dims)]
    m.lines.append(f"{text} = ({', '.join(shapes)}) rng-bit-generator({state}), algorithm={algorithm}")
    for index, shape in enumerate(shapes):
        element = m.name("v")
        m.lines.append(f"{element} = {shape} get-tuple-element({text}), index={index}")
        m.results.append((element, shape, "rng-bit-generator", None, len(m.lines) - 2))


def fft(m):
    kind, part = m.random.choice(["FFT", "IFFT", "RFFT", "IRFFT"]), m.random.choice(["f32", "f64"])
    number = "c64" if part == "f32" else "c128"
    lengths, batch = m.dims(m.random.randrange(1, 4), 17), m.dims(m.random.randrange(2), 3)
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    from_dims, to_dims = batch + (half if kind == "IRFFT" else lengths), batch + (half if kind == "RFFT" else lengths)
    source = m.array(part if kind == "RFFT" else number, from_dims, edges=False)
    target = part if kind == "IRFFT" else number
    m.op(target, to_dims, "fft", [source], f"fft_type={kind}, fft_length={ints(lengths)}", result="sum")


REDUCERS = {
    "add": FLOATS + WIDE,
    "multiply": WIDE,
    "maximum": FLOATS + WIDE,
    "minimum": FLOATS + WIDE,
    "and": ["pred", *WIDE],
    "or": ["pred", *WIDE],
    "xor": ["pred", *WIDE],
}


def identity(m, name, opcode):
    """The initial value that changes nothing: how often another one is taken is not
    defined, and XLA takes none along dimensions of size 1."""
    if opcode in ("maximum", "minimum"):
        sign = -1 if opcode == "maximum" else 1
        if name in FLOATS:
            value = sign * np.inf
        else:
            info = np.iinfo(TYPES[name])
            value = info.min if opcode == "maximum" else info.max
    elif opcode == "and":
        value = True if name == "pred" else np.iinfo(TYPES[name]).max
        value = -1 if name.startswith("s") else value
    else:
        value = 1 if opcode == "multiply" else 0
    return m.parameter(name, np.array(value).astype(TYPES[name]))


def is_near(name, opcode):
    return "sum" if name in FLOATS and opcode in ("add", "multiply") else None


def reduce(m):
    opcode = m.random.choice(sorted(REDUCERS))
    name, dims = m.random.choice(REDUCERS[opcode]), m.dims(m.random.randrange(1, 4))
    some = sorted(m.random.sample(range(len(dims)), m.random.randrange(1, len(dims) + 1)))
    result = tuple(size for d, size in enumerate(dims) if d not in some)
    edges = opcode not in ("add", "multiply")
    operands = [m.array(name, dims, edges=edges), identity(m, name, opcode)]
    attributes = f"dimensions={ints(some)}, to_apply={m.binary(name, opcode)}"
    m.op(name, result, "reduce", operands, attributes, result=is_near(name, opcode))


def reduce_window(m):
    opcode = m.random.choice(["add", "maximum", "minimum"])
    name, dims = m.random.choice(["f32", "bf16", "s32", "u8", "f64"]), m.dims(m.random.randrange(1, 4))
    window, sizes = windows(m, dims, [m.random.randrange(1, 4) for _ in dims])
    edges = opcode != "add"
    operands = [m.array(name, dims, edges=edges), identity(m, name, opcode)]
    m.op(
        name, sizes, "reduce-window", operands,
        f"window={window}, to_apply={m.binary(name, opcode)}", result=is_near(name, opcode),
    )  # fmt: skip


def windows(m, dims, kernel, reversal=False):
    """A random window with these sizes, and the dimensions of its output."""
    while True:
        stride = [m.random.choice([1, 1, 2, 3]) for _ in dims]
        base = [m.random.choice([1, 1, 1, 2, 3]) for _ in dims]
        dilation = [m.random.choice([1, 1, 1, 2]) for _ in dims]
        low = [m.random.randrange(-1, 3) for _ in dims]
        high = [m.random.randrange(-1, 3) for _ in dims]
        sizes = []
        for i, size in enumerate(dims):
            span = (size - 1) * base[i] + 1 + low[i] + high[i]
            reach = (kernel[i] - 1) * dilation[i] + 1
            sizes.append((span - reach) // stride[i] + 1 if span >= reach else 0)
        if all(sizes):
            break
    text = "x".join
    fields = f"size={text(map(str, kernel))} stride={text(map(str, stride))} "
    fields += f"pad={text(f'{a}_{b}' for a, b in zip(low, high))} "
    fields += f"lhs_dilate={text(map(str, base))} rhs_dilate={text(map(str, dilation))}"
    if reversal and kernel:
        fields += f" rhs_reversal={text(str(m.random.randrange(2)) for _ in kernel)}"
    return "{" + fields + "}", tuple(sizes)


def convolution(m):
    spatial = m.random.randrange(1, 4)
    dims = m.dims(spatial)
    kernel = tuple(m.random.randrange(1, 4) for _ in dims)
    window, out = windows(m, dims, kernel, reversal=True)
    groups = m.random.choice([1, 1, 2, 3])
    batch_groups = m.random.choice([1, 1, 2]) if groups == 1 else 1
    batch, features = m.random.randrange(1, 4) * batch_groups, m.random.randrange(1, 4)
    outputs = m.random.randrange(1, 4) * groups * batch_groups
    digits = "".join(map(str, range(spatial)))

    def shuffled(first, second):
        return m.random.sample(first + second + digits, spatial + 2)

    def sizes(labels, first, second, counts, space):
        table = dict(zip([first, second], counts)) | dict(zip(digits, space))
        return tuple(table[label] for label in labels)

    lhs, rhs, result = shuffled("b", "f"), shuffled("o", "i"), shuffled("b", "f")
    name = m.random.choice(["f32", "bf16", "f32", "s32", "f64"])
    operands = [
        m.array(name, sizes(lhs, "b", "f", (batch, features * groups), dims), edges=False, low=-9, high=9),
        m.array(name, sizes(rhs, "o", "i", (outputs, features), kernel), edges=False, low=-9, high=9),
    ]
    labels = f"{''.join(lhs)}_{''.join(rhs)}->{''.join(result)}"
    attributes = f"window={window}, dim_labels={labels}"
    if groups > 1:
        attributes += f", feature_group_count={groups}"
    if batch_groups > 1:
        attributes += f", batch_group_count={batch_groups}"
    shape = sizes(result, "b", "f", (batch // batch_groups, outputs), out)
    m.op(name, shape, "convolution", operands, attributes, result="sum")


def dot(m):
    batch, left, right, inner = (m.dims(m.random.randrange(0, 3), 4) for _ in range(4))
    name = m.random.choice(["f32", "bf16", "s32", "f64"])

    def operand(free):
        parts = [("b", i) for i in range(len(batch))] + [("c", i) for i in range(len(inner))]
        parts += [("f", i) for i in range(len(free))]
        kept = [part for part in parts if part[0] == "f"]
        order = m.random.sample(parts, len(parts))
        # Free dimensions stay in order.
        order = [kept.pop(0) if part[0] == "f" else part for part in order]
        table = {"b": batch, "c": inner, "f": free}
        dims = tuple(table[kind][i] for kind, i in order)

        def places(kind, count):
            return [order.index((kind, i)) for i in range(count)]

        array = m.array(name, dims, edges=False, low=-9, high=9)
        return array, places("b", len(batch)), places("c", len(inner))

    lhs, lhs_batch, lhs_inner = operand(left)
    rhs, rhs_batch, rhs_inner = operand(right)
    attributes = f"lhs_batch_dims={ints(lhs_batch)}, lhs_contracting_dims={ints(lhs_inner)}, "
    attributes += f"rhs_batch_dims={ints(rhs_batch)}, rhs_contracting_dims={ints(rhs_inner)}"
    m.op(name, (*batch, *left, *right), "dot", [lhs, rhs], attributes, result="sum")


KINDS = [
    unary, function, is_finite, binary, binary, integer_power, float_function, compare, select, clamp, convert,
    convert, bitcast_convert, map_, broadcast, transpose, reverse, reshape, copy, slice_, iota,
    pad, concatenate, dynamic_slice, dynamic_update_slice, gather, reduce, reduce_window,
    convolution, dot, scatter, sort, select_and_scatter, convert_tiny, reduce_precision, complex_,
    complex_parts, convert_complex, cholesky, triangular_solve, fft, random_bits,
]  # fmt: skip
