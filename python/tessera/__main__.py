# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m tessera run FILE.hlo|FILE.mlir: a function of a module on arrays of files.

Arrays come as arg0, arg1, ... of an npz file and go as out0, out1, ... to another,
logical and row-major whatever their layouts are. Types that numpy does not have
travel as integers of their width: uint16 for bf16, int8 for s4.

Results may differ from those of --compare by atol + rtol * reference; integers have
to be equal. Exit codes: 0; 1 where arrays differ; 2 for bad input, with a message on
standard error and no file written.
"""

import argparse
import io
import math
import os
import re
import stat
import sys
import tempfile
import zipfile

import numpy as np

import tessera as ts
from tessera._arrays import check_array, check_description
from tessera._dtypes import get_stored_dtype
from tessera._values import expose_values


def main():
    parser = argparse.ArgumentParser("tessera", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a function of a module on arrays",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.set_defaults(function=run_command)
    run.add_argument("module", metavar="FILE", help="the module, HLO or MLIR; - is standard input")
    run.add_argument(
        "--entry",
        "--computation",
        metavar="NAME",
        help="the function; by default the public one, of HLO the entry computation",
    )
    run.add_argument(
        "--poison-padding",
        action="store_true",
        help="fill memory with NaN and the like first, so that padding that is read shows",
    )
    run.add_argument("--threads", type=int, default=1, metavar="N", help="threads that share large loops (default 1)")
    run.add_argument("--inputs", metavar="IN.npz", help="the arguments, as arg0, arg1, ...")
    run.add_argument("--outputs", metavar="OUT.npz", help="where results go, as out0, ...; - is standard output")
    run.add_argument("--compare", metavar="REF.npz", help="arrays that results should be")
    run.add_argument(
        "--dump-values",
        metavar="DIR",
        help="a folder to write the value of each instruction of the entry to, as NAME.npy",
    )
    run.add_argument(
        "--bisect",
        metavar="DIR",
        help="such a folder: say which instruction is the first whose value is another",
    )
    run.add_argument("--rtol", type=tolerance, default=0, help="relative tolerance (default 0)")
    run.add_argument("--atol", type=tolerance, default=0, help="absolute tolerance (default 0)")
    arguments = parser.parse_args()
    try:
        code = arguments.function(arguments)
        sys.stdout.flush()
    except (ts.TesseraError, OSError, MemoryError) as error:
        code = report(error)
    except KeyboardInterrupt:
        code = 130  # as a shell has it for a command that was interrupted
    sys.exit(code)


def report(error):
    """Says what went wrong; returns the exit code."""
    text = str(error) or "out of memory"  # what a MemoryError has to say
    print(f"error: {text}", file=sys.stderr)
    # What is still to be written to a closed pipe or a full disk would be tried
    # again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2


def tolerance(text):
    """A number of the command line."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"invalid tolerance: expected a finite number from 0 on, found {text}")
    return number


def get_options(arguments):
    """How the function is compiled."""
    return {"poison_padding": arguments.poison_padding, "threads": arguments.threads}


def run_command(arguments):
    """Runs the function; returns the exit code."""
    if arguments.dump_values is not None or arguments.bisect is not None:
        return run_values(arguments)
    program = ts.Program(read_text(arguments.module), arguments.entry, **get_options(arguments))
    inputs = load_arrays(arguments.inputs, "arg", program.inputs, "--inputs", "argument {}")
    expected = None
    if arguments.compare is not None:
        expected = load_arrays(arguments.compare, "out", program.outputs, "--compare", "out{} of --compare")
    results = program(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    if arguments.outputs is not None:
        save_arrays(arguments.outputs, results, program.outputs)
    if expected is not None:
        return compare(results, expected, arguments)
    if arguments.outputs is None:
        for number, result in enumerate(results):
            print(f"out{number}: {program.outputs[number]}\n{result}")
    return 0


def run_values(arguments):
    """Runs the module for the values of its instructions; returns the exit code."""
    text, instructions, shapes = expose_values(read_text(arguments.module))
    program = ts.Program(text, **get_options(arguments))
    inputs = load_arrays(arguments.inputs, "arg", program.inputs, "--inputs", "argument {}")
    results = program(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    if arguments.dump_values is not None:
        os.makedirs(arguments.dump_values, exist_ok=True)
    for instruction, result, shape in zip(instructions, results, program.outputs):
        if arguments.dump_values is not None:
            path = os.path.join(arguments.dump_values, f"{instruction.name}.npy")
            np.save(path, result.view(get_stored_dtype(shape.element_type)))
    if arguments.bisect is None:
        return 0
    compared = 0
    for instruction, result in zip(instructions, results):
        path = os.path.join(arguments.bisect, f"{instruction.name}.npy")
        if not os.path.exists(path):
            continue
        compared += 1
        expected = np.load(path, allow_pickle=False)
        if expected.shape != result.shape or expected.itemsize != result.itemsize:
            raise ts.InvalidError(
                f"invalid file {path}: expected {result.dtype}{list(result.shape)}, found "
                f"{expected.dtype}{list(expected.shape)}"
            )
        difference = describe_difference(result, expected.view(result.dtype), arguments)
        if difference:
            print(f"%{instruction.name}, {instruction.opcode} in line {instruction.line}, {difference}")
            print(describe_size(result, expected.view(result.dtype)))
            print(f"  {instruction.name}: {instruction.shape}")
            for operand in instruction.operands:
                print(f"  operand {operand}: {shapes.get(operand, 'no array')}")
            return 1
    print(f"{compared} values are as expected")
    return 0


# What files of other kinds begin with.
KINDS = {
    b"ML\xefR": "MLIR's bytecode",
    b"\x1f\x8b": "a file packed by gzip",
    b"PK\3\4": "a zip archive, such as an npz file",
    b"\x93NUMPY": "an array of numpy",
    b"HloModule": "HLO text",
    b"module": "MLIR's text",
    b"#map": "MLIR's text",
    b"func.func": "MLIR's text",
}


def describe_kind(data, other):
    """What a file is that begins with `data`, by its kind or as `other`."""
    words = re.sub(rb"\A(\s|//[^\n]*\n)+", b"", data)  # behind comments
    for begin, name in KINDS.items():
        if words.startswith(begin):
            return name
    is_text = not any(byte < 9 for byte in data[:4096])
    return other if is_text else "binary data, such as a protocol buffer"


def read_text(path):
    """The text of a file, which is UTF-8 whatever the locale is."""
    if path == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:
            data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ts.InvalidError(
            f"invalid module: expected the text of MLIR or HLO, found {describe_kind(data, 'other bytes')} in {path}"
        ) from None


def load_arrays(path, prefix, shapes, option, what):
    """The arrays `prefix`0, `prefix`1, ... of an npz file, one for each shape.

    In messages `what` with its number stands for an array.
    """
    names = [f"{prefix}{number}" for number in range(len(shapes))]
    if not names:
        return []
    if path is None:
        raise ts.InvalidError(f"invalid command line: expected {option} with {', '.join(names)}, found none")
    try:
        with open_archive(path) as archive:
            found = [name.removesuffix(".npy") for name in archive.namelist()]
            if not set(names) <= set(found):
                raise ts.InvalidError(
                    f"invalid file {path}: expected {', '.join(names)}, found {', '.join(found) or 'nothing'}"
                )
            return [
                load_array(archive, name, shape, what.format(number))
                for number, (name, shape) in enumerate(zip(names, shapes))
            ]
    except (ts.TesseraError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and numpy each have their own
        raise ts.InvalidError(f"invalid file {path}: expected arrays that numpy can read, found {error}") from None


def open_archive(path):
    """The npz file; OSError where there is none that can be read."""
    if not os.path.isfile(path) and not os.path.isdir(path):
        os.stat(path)
        raise ts.InvalidError(f"invalid file {path}: expected an npz file, found a device or a pipe")
    with open(path, "rb") as file:
        begin = file.read(4096)
        if not zipfile.is_zipfile(file):
            raise ts.InvalidError(f"invalid file {path}: expected an npz file, found {describe_kind(begin, 'another')}")
    return zipfile.ZipFile(path)


def load_array(archive, name, shape, what):
    """An array of the file, which is not unpacked unless it is one of `shape`."""
    member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
    with archive.open(member) as file:
        try:
            dimensions, dtype = read_header(file)
        except ValueError as error:
            raise ts.InvalidError(f"invalid {what}: expected an array in numpy's format, found {error}") from None
    if dtype.hasobject:
        raise ValueError("Object arrays, which only Python can read")
    check_description(dimensions, dtype, shape, what)
    with archive.open(member) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    check_array(array, shape, what)
    return array.view(shape.dtype)


def read_header(file):
    """Dimensions and dtype of an npy file."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"version {version[0]}.{version[1]} of it")
    dimensions, _, dtype = read(file)
    return dimensions, dtype


def save_arrays(path, arrays, shapes):
    """Writes an npz file to `path`, or to standard output for '-'."""
    stored = {
        f"out{number}": array.view(get_stored_dtype(shape.element_type))
        for number, (array, shape) in enumerate(zip(arrays, shapes))
    }
    data = io.BytesIO()
    np.savez(data, **stored)
    if path == "-":
        sys.stdout.buffer.write(data.getvalue())
    elif os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:  # a device or a pipe; OSError for a folder
            file.write(data.getvalue())
    else:
        replace_file(os.path.realpath(path), data.getvalue())


def replace_file(path, data):
    """Gives a file new content, whole or not at all, and leaves it its mode."""
    if os.path.exists(path):
        mode = stat.S_IMODE(os.stat(path).st_mode)
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def describe_difference(result, reference, arguments):
    """Where two arrays differ, and by how much; empty where they do not. Integers
    have to be equal."""
    # Wide enough for every type's differences.
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    if result.dtype.kind in "biu":
        is_same = result == reference
    else:
        is_same = np.isclose(
            result.astype(wide),
            reference.astype(wide),
            arguments.rtol,
            arguments.atol,
            equal_nan=True,
        )
    if is_same.all():
        return ""
    first = tuple(map(int, np.argwhere(~is_same)[0]))
    return (
        f"differs in {np.count_nonzero(~is_same)} of {is_same.size} elements: at {first} "
        f"it is {result[first]}, expected {reference[first]}"
    )


def describe_size(result, reference):
    """How large a difference is, beside the values."""
    with np.errstate(invalid="ignore"):
        wide = [array.astype(np.complex128) for array in (result, reference)]
        differences = np.abs(wide[0] - wide[1])
    largest = differences[np.isfinite(differences)].max(initial=0)
    size = np.abs(wide[1][np.isfinite(wide[1])]).max(initial=0)
    return f"  by at most {largest:.6g}, where values go up to {size:.6g}"


def compare(results, expected, arguments):
    """Says where arrays differ; returns the exit code."""
    code = 0
    for number, (result, reference) in enumerate(zip(results, expected)):
        difference = describe_difference(result, reference, arguments)
        if difference:
            print(f"out{number} {difference}")
            code = 1
    return code


if __name__ == "__main__":
    main()
