# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaves the contexts that a thread enters and does not leave.

MLIR's bindings keep what a thread has entered (contexts, locations, insertion
points) on a stack of that thread. The stack is destroyed when the thread ends
or Python is gone, without Python's lock, and ends the process if anything is
on it. It is emptied before that: by atexit for the main thread, by an object
that dies with the thread for the others.

The first context that is made imports this module.
"""

import atexit
import threading

from tessera import ir

_thread = threading.local()


def _leave_all():
    # The exit of a context takes any entry off the stack, locations as well.
    while (context := ir.Context.current) is not None:
        context.__exit__(None, None, None)


class _LeavesAll:
    """Lives as long as the thread that made it."""

    def __del__(self):
        _leave_all()


def _watch(entered):
    """Has each thread that enters an object of this class leave it again."""
    enter = entered.__enter__

    def enter_in_watched_thread(self):
        if not hasattr(_thread, "leaves_all"):
            _thread.leaves_all = _LeavesAll()
        return enter(self)

    entered.__enter__ = enter_in_watched_thread


atexit.register(_leave_all)
for entered_class in (ir.Context, ir.Location, ir.InsertionPoint):
    _watch(entered_class)
