"""Deadlines: Python code that is stopped when its time is over."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import TYPE_CHECKING

from lightloom.core.errors import NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator


_AGAIN_S = 1.0
"""The alarm rings again after this: where it rang first, in a destructor for example,
Python may have had to ignore it."""


class TimeIsOverError(NoAnswerError):
    """The time limit was over before the work was done."""


@contextlib.contextmanager
def deadline(left_s: float | None, work: str) -> Iterator[None]:
    """Raise in the block as soon as its time is over.

    `left_s`: seconds for the block; no limit where ``None``. `work`: what the block
    does, for the message: ``building the model``.

    Raises `TimeIsOverError`: in the block, between two steps of Python code. Outside
    the main thread, and where there is no timer (Windows), at the end of the block.
    """
    if left_s is None:
        yield
        return
    over = TimeIsOverError(f"the time limit was over while {work}")
    if left_s <= 0:
        raise over
    due = time.monotonic() + left_s
    main = threading.current_thread() is threading.main_thread()
    armed = main and hasattr(signal, "setitimer")

    def ring(*_: object) -> None:
        if armed:
            raise over

    if not armed:
        yield
    else:
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, left_s, _AGAIN_S)
        try:
            yield
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    if time.monotonic() > due:
        raise over
