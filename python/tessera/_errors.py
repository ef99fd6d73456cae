# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the package: the two kinds of no, and the rest."""


class TesseraError(Exception):
    """What Tessera could not do.

    Attributes:
      rule: the label of the rule that was broken (docs/notation-rules.md), such
        as 'layout_c3', or ''.
      position: where in the text, in bytes, or None.
    """

    def __init__(self, message, rule="", position=-1, text=""):
        self.rule = rule
        self.position = position if position >= 0 else None
        if self.position is not None and text and "\n" not in text:
            column = len(text.encode()[:position].decode(errors="replace"))
            message = f"{message}\n  {text}\n  {' ' * column}^"
        super().__init__(message)


class InvalidError(TesseraError, ValueError):
    """Against the rules."""


class UnsupportedError(TesseraError, NotImplementedError):
    """Within the rules, but not done here."""
