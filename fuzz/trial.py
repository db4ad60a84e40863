"""One trial: a file is read within limits of time and memory, and judged."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import traceback
from typing import TYPE_CHECKING

from lightloom.core.errors import LightloomError
from lightloom.core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fuzz.targets import Target

MOST_SECONDS = 10
MOST_MEMORY_BYTES = 6 * GIB
LONGEST_LINE = 4000
"""Characters of a message: a long path, and everything shown cut short."""


class OutOfTimeError(Exception):
    """A file took longer than `MOST_SECONDS`."""


def defect(target: Target, path: Path, *, seconds: int = MOST_SECONDS) -> str | None:
    """Return what is wrong with how a file is read, ``None`` where all is well.

    All is well where it is read, or refused in one line of bounded length.
    """
    try:
        with _limited(seconds):
            target.read(path)
    except LightloomError as problem:
        line = str(problem)
        if "\n" in line or len(line) > LONGEST_LINE:
            return f"message of {len(line)} characters: {line[:200]}"
        if not re.search(r"\S", line):
            return "an empty message"
    except BaseException as problem:  # whatever it is, it is a defect
        if isinstance(problem, KeyboardInterrupt):
            raise
        return "".join(traceback.format_exception(problem))[-3000:]
    return None


def bound_memory() -> None:
    """Bound the memory of this process, so that more is an error and not a swap."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise OutOfTimeError(f"more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
