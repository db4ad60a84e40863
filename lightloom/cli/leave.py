"""Leaving: the process ends at once, whatever is still in its memory."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import NoReturn

from lightloom.cli.failure import INTERNAL


def leave(code: object) -> NoReturn:
    """End the process with an exit code; what it has written is flushed.

    What was registered to run at the end runs, without a word about what fails. Then
    the memory goes back as a whole: Python would take a model of a million variables
    apart piece by piece, which takes seconds.
    """
    sys.unraisablehook = lambda _: None
    atexit._run_exitfuncs()  # noqa: SLF001  (there is no public name)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else INTERNAL)
