# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of MLIR modules, run on numpy arrays."""

import operator

import numpy as np

from tessera import _tessera
from tessera._arrays import allocate, as_bytes, check_array
from tessera._errors import InvalidError


class Program:
    """A function of a module, in MLIR or HLO, compiled for this processor.

    Its arguments and results are tensors of static shape, with layouts or without, and
    numbers; it is called with arrays in any order and gives row-major ones. A number is
    an array of no dimensions, such as np.float32(0.5); an `index` is an int64.

    Attributes:
      inputs: the Shape of each argument, with the layout that the function gives it.
      outputs: the same of the results.
    """

    def __init__(self, module, entry=None, *, poison_padding=False, threads=1):
        """Compiles by --tessera-to-llvm.

        Args:
          module: the text of MLIR or HLO as a str, or an operation of tessera.ir.
          entry: the function's name; the one public function with a body by default,
            of HLO the entry computation.
          poison_padding: fills buffers with NaN and the like before they are written,
            as --tessera-poison-padding does, so that padding that is read shows.
          threads: how many share large loops. Results do not depend on them.

        Raises:
          InvalidError: the text has errors, there is no such function, or there are not
            1 to 1024 threads.
          UnsupportedError: arguments or results of other types, functions that call
            themselves or 256 others deep, and what the pipeline refuses.
        """
        if not isinstance(module, str):
            if not hasattr(module, "operation"):
                raise TypeError(f"a module is a str or an operation, not {type(module).__name__}")
            module = str(module)
        threads = operator.index(threads)
        if threads == 0:  # which is the default in C
            raise InvalidError("invalid threads: expected a number of at least 1, found 0")
        self._program = _tessera.Program(module, entry, poison_padding, threads)
        self.inputs = tuple(shape for shape, _ in self._program.inputs)
        self.outputs = tuple(shape for shape, _ in self._program.outputs)

    def __repr__(self):
        types = [", ".join(map(str, shapes)) for shapes in (self.inputs, self.outputs)]
        return "Program(({}) -> ({}))".format(*types)

    def __call__(self, *arrays):
        """Runs the function.

        Args:
          *arrays: as many as `inputs`, each with its dimensions and dtype; integers
            may stand for types that numpy does not have, as for `pack`.

        Returns:
          The result, or a tuple of them if there is not exactly one.

        Raises:
          InvalidError: other numbers of arrays, dimensions or dtypes; an assertion
            that fails, of the module or before an index out of bounds, a division
            by zero and the like.
          UnsupportedError: temporaries that do not fit into memory.
        """
        if len(arrays) != len(self.inputs):
            raise InvalidError(
                f"invalid number of arrays: expected {len(self.inputs)}, one for each argument, found {len(arrays)}"
            )
        inputs = []
        for number, (array, shape) in enumerate(zip(arrays, self.inputs)):
            array = np.asarray(array, order="C")
            check_array(array, shape, f"argument {number}")
            inputs.append(as_bytes(array))
        results = [allocate(size) for _, size in self._program.outputs]
        self._program(inputs, results)
        outputs = tuple(
            result.view(shape.dtype).reshape(shape.dimensions) for result, shape in zip(results, self.outputs)
        )
        return outputs[0] if len(outputs) == 1 else outputs
