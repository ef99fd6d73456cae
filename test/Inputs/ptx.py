"""Executes kernels of PTX text on numpy arrays, all threads of some blocks at once.

It knows what the loops of relayouts become: arithmetic on integers, loads and
stores of global memory, branches forward. Anything else is an error, and so is
an access that is not within a buffer or not aligned.
"""

import operator
import re

import numpy as np

COMPARISONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
               "gt": operator.gt, "ge": operator.ge, "ltu": operator.lt, "gtu": operator.gt}
BINARY = {"and": operator.and_, "or": operator.or_, "xor": operator.xor, "min": np.minimum, "max": np.maximum}
# Buffers lie so far apart that no offset leads from one into another.
DISTANCE = 1 << 44


class PTXError(Exception):
    """The text has what the interpreter does not know, or leaves its buffers."""


def dtype_of(kind):
    """The type of numpy that a type of PTX (`u32`, `b16`) computes with."""
    return np.dtype(("i" if kind[0] == "s" else "u") + str(int(kind[1:]) // 8))


def to_register(values):
    """Bits as they stand in a register, zeros above them."""
    values = np.asarray(values)
    return values if values.dtype == bool else values.view("u" + str(values.dtype.itemsize)).astype("u8")


def high_product(a, b, kind):
    """The upper half of a product, of unsigned numbers or of halves of int64."""
    bits = int(kind[1:])
    if bits < 64:
        wide = np.dtype(kind[0].replace("s", "i") + "8")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    x, y = a.view("u8"), b.view("u8")
    middle = (x >> half) * (y & mask) + ((x & mask) * (y & mask) >> half)
    low = (x & mask) * (y >> half) + (middle & mask)
    high = (x >> half) * (y >> half) + (middle >> half) + (low >> half)
    if kind[0] == "s":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(a.dtype)


class Kernel:
    """One `.entry` of a text."""

    def __init__(self, text):
        self.name, parameters, body = re.search(
            r"\.entry (\w+)\(\n(.*?)\n\)\n.*?\{\n(.*?)\n\}", text, re.S).groups()
        self.parameters = re.findall(r"\.param .*?(\w+),?$", parameters, re.M)
        lines = (re.sub(r"//.*", "", line).strip() for line in body.splitlines())
        self.lines = [line for line in lines if line and not line.startswith(".reg")]

    def run(self, block_size, blocks, arguments):
        """Runs all threads of blocks on arguments, arrays of bytes."""
        if len(arguments) != len(self.parameters):
            raise PTXError(f"{self.name}: {len(self.parameters)} parameters, {len(arguments)} arguments")
        self.arguments = arguments
        threads = np.arange(block_size, dtype="u8")
        self.registers = {
            "%tid.x": np.tile(threads, len(blocks)),
            "%ctaid.x": np.repeat(np.asarray(blocks, "u8"), block_size),
            "%ntid.x": np.uint64(block_size),
        }
        active = np.ones(block_size * len(blocks), bool)
        waiting = {}
        for line in self.lines:
            label = re.fullmatch(r"(\$\w+):", line)
            if label:
                active = active | waiting.pop(label.group(1), False)
                waiting[label.group(1)] = None
                continue
            guard, name, operands = re.fullmatch(r"(?:@(!?%\w+) )?([\w.]+)\s*(.*);", line).groups()
            operands = re.split(r",\s*", operands) if operands else []
            if name in ("bra", "bra.uni"):
                taken = active.copy()
                if guard:
                    value = self.registers[guard.lstrip("!")]
                    taken &= ~value if guard[0] == "!" else value
                if waiting.get(operands[0], False) is None:
                    raise PTXError(f"a branch backwards: {line}")
                waiting[operands[0]] = waiting.get(operands[0], False) | taken
                active = active & ~taken
            elif name == "ret":
                active = active & False
            elif guard:
                raise PTXError(f"unknown: {line}")
            else:
                with np.errstate(over="ignore"):
                    self.execute(line, name.split("."), operands, active)

    def read(self, operand, kind):
        if operand in self.registers:
            value = np.asarray(self.registers[operand])
            if kind == "pred":
                return value
            return value.astype("u" + str(int(kind[1:]) // 8)).view(dtype_of(kind))
        if kind == "pred" or not re.fullmatch(r"-?(0x[0-9A-Fa-f]+|\d+)", operand):
            raise PTXError(f"unknown operand {operand}")
        bits = int(kind[1:])
        number = np.uint64(int(operand, 0) % (1 << bits))
        return number.astype("u" + str(bits // 8)).reshape(1).view(dtype_of(kind))

    def locate(self, operand, kind, active):
        """The buffer, and the index of each active thread's element in it."""
        base, offset = re.fullmatch(r"\[(%\w+)(?:\+(-?\d+))?\]", operand).groups()
        address = np.broadcast_to(self.registers[base], active.shape)[active].astype("i8") + int(offset or 0)
        size = int(kind[1:]) // 8
        number = int(address[0]) // DISTANCE - 1
        address = address - (number + 1) * DISTANCE
        buffer = self.arguments[number]
        if not 0 <= address.min() <= address.max() <= buffer.size - size:
            raise PTXError(f"{self.name}: bytes {address.min()} to {address.max() + size} of {buffer.size}: {operand}")
        if (address % size).any():
            raise PTXError(f"{self.name}: not aligned: {operand}")
        whole = buffer[: buffer.size // size * size]
        return whole.view("u" + str(size)), address // size

    def execute(self, line, name, operands, active):
        """Runs an instruction without control flow."""
        code, kind = name[0], name[-1]
        target, rest = operands[0], operands[1:]
        if code == "ld" and name[1] == "param":
            number = self.parameters.index(rest[0].strip("[]"))
            value = np.uint64(DISTANCE * (number + 1))
        elif name[:2] == ["ld", "global"] and len(name) == 3:
            value = np.zeros(active.shape, "u8")
            if active.any():
                buffer, index = self.locate(rest[0], kind, active)
                value[active] = buffer[index]
        elif name[:2] == ["st", "global"] and len(name) == 3:
            if active.any():
                buffer, index = self.locate(target, kind, active)
                stored = np.broadcast_to(self.read(rest[0], kind).view(buffer.dtype), active.shape)
                buffer[index] = stored[active]
            return
        else:
            value = self.compute(line, name, rest)
        self.registers[target] = to_register(value)

    def compute(self, line, name, operands):
        code, kind = name[0], name[-1]
        if code == "cvta" or code == "mov":
            return self.read(operands[0], kind)
        if code == "cvt":
            return self.read(operands[0], kind).astype(dtype_of(name[-2]))
        if code == "setp":
            return COMPARISONS[name[1]](*(self.read(operand, kind) for operand in operands))
        if code == "selp":
            a, b = (self.read(operand, kind) for operand in operands[:2])
            return np.where(self.read(operands[2], "pred"), a, b)
        if code in BINARY:
            return BINARY[code](*(self.read(operand, kind) for operand in operands))
        if code == "not":
            return ~self.read(operands[0], kind)
        if code in ("shl", "shr"):
            value, amount = self.read(operands[0], kind), self.read(operands[1], "u32")
            if (amount >= int(kind[1:])).any():
                raise PTXError(f"unknown: {line}")
            return (np.left_shift if code == "shl" else np.right_shift)(value, amount.astype(value.dtype))
        if code == "bfe" and kind[0] == "u":
            value = self.read(operands[0], kind)
            begin, length = (int(operand) for operand in operands[1:])
            return (value >> value.dtype.type(begin)) & value.dtype.type((1 << length) - 1)
        if code in ("add", "sub") and len(name) == 2:
            a, b = (self.read(operand, kind) for operand in operands)
            return a + b if code == "add" else a - b
        if code in ("mul", "mad") and name[1] in ("lo", "wide", "hi"):
            a, b = (self.read(operand, kind) for operand in operands[:2])
            if name[1] == "hi" and code == "mul":
                return high_product(*np.broadcast_arrays(a, b), kind)
            if name[1] == "wide":
                kind = kind[0] + str(2 * int(kind[1:]))
                a, b = a.astype(dtype_of(kind)), b.astype(dtype_of(kind))
            if name[1] != "hi":
                return a * b + (self.read(operands[2], kind) if code == "mad" else 0)
        raise PTXError(f"unknown: {line}")
