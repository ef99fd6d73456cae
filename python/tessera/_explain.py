# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an error means, for who holds it in the hand."""

from tessera._errors import InvalidError, TesseraError
from tessera._tessera import explain_out_of_memory, explain_text


def _texts(exception):
    """The texts of an exception and of those that it came from, each once."""
    seen, texts = set(), []
    while exception is not None and id(exception) not in seen:
        seen.add(id(exception))
        texts.append(str(exception))
        exception = exception.__cause__ or exception.__context__
    return "\n\n".join(dict.fromkeys(texts))


def explain(problem, format="text", *, rows=10):
    """Says what an error or a text means.

    Where memory ran out: why, and what would make the program smaller. Else the
    shapes, layouts, types of MLIR and lines of HLO that it has are said in words.

    Args:
      problem: an exception, of JAX, PyTorch/XLA or TensorFlow, or a text.
      format: 'text' for people; 'json' as docs/problems.md has it, for programs
        that ran out of memory only.
      rows: how many allocations are shown to people; 0 for all.

    Raises InvalidError where there is nothing to explain.
    """
    is_exception = isinstance(problem, BaseException)
    text = _texts(problem) if is_exception else str(problem)
    # Texts of exceptions may hold characters that have no bytes.
    text = text.encode(errors="replace").decode()
    try:
        return explain_out_of_memory(text, format, rows=rows)
    except InvalidError as error:
        if format != "text":
            raise
        nothing = error
    try:
        return explain_text(text)
    except TesseraError:
        if is_exception:
            raise nothing from None
        raise
