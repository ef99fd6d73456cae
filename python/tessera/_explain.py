# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an error means, for who holds it in the hand."""

from tessera._tessera import explain_out_of_memory


def _texts(exception):
    """The texts of an exception and of those that it came from, each once."""
    seen, texts = set(), []
    while exception is not None and id(exception) not in seen:
        seen.add(id(exception))
        texts.append(str(exception))
        exception = exception.__cause__ or exception.__context__
    return "\n\n".join(dict.fromkeys(texts))


def explain(problem, format="text", *, rows=10):
    """Says why a program ran out of memory, and what would make it smaller.

    Args:
      problem: an exception, of JAX, PyTorch/XLA or TensorFlow, or a text.
      format: 'text' for people, 'json' as docs/problems.md has it.
      rows: how many allocations are shown to people; 0 for all.

    Raises InvalidError where the text says nothing of memory that ran out.
    """
    is_exception = isinstance(problem, BaseException)
    text = _texts(problem) if is_exception else str(problem)
    # Texts of exceptions may hold bytes that were no text.
    return explain_out_of_memory(text.encode(errors="replace").decode(), format, rows=rows)
