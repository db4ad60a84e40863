"""Leaving: the process ends at once, whatever is still in its memory."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from lightloom.cli.failure import INTERNAL

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Have the process end soon after the block raises `SystemExit`.

    What was registered to run at the end since runs before, without a word about what
    fails. Then the memory goes back as a whole: Python would take a model of a million
    variables apart piece by piece, which takes seconds.
    """
    ended: list[SystemExit] = []
    atexit.register(_end, ended)  # what is registered first is run last
    try:
        yield
    except SystemExit as end:
        sys.unraisablehook = lambda _: None
        ended.append(end)  # and with it whatever its frames hold
        raise


def _end(ended: list[SystemExit]) -> None:
    for end in ended:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else INTERNAL)
