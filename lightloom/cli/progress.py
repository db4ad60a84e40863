"""Progress on stderr, for whatever takes longer than a second."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lightloom.cli.console import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATIENCE_S = 1.0
"""Nothing is said before this, and where stderr is no terminal not more often."""
_QUIET_S = 10.0


@contextmanager
def progress(label: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done; yields a function that takes the next message.

    A terminal gets a live line. Anything else gets plain lines, one every ten
    seconds at most and none in the first second.
    """
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(label) as status:
            yield lambda message: status.update(f"{label}: {message}")
        return
    due = time.monotonic() + _PATIENCE_S

    def tell(message: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + _QUIET_S
            say(f"{label}: {message}")

    yield tell
