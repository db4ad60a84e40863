"""A figure that breaks, one whose process ends, one that is well."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.papers.cheap.figures import FIGURE as CHEAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.reproduction import Row, Tell


def _break(tell: Tell) -> Iterator[Row]:
    tell("breaking")
    yield 1, 1, "one"
    message = "no such <thing>"
    raise ValueError(message)


def _die(tell: Tell) -> Iterator[Row]:
    tell("dying")
    os._exit(7)
    yield ()


FIGURE = (
    replace(CHEAP[0], name="overlap-fig4", compute=_break, takes_s=9),
    replace(CHEAP[0], name="overlap-fig5", compute=_die, takes_s=8),
    CHEAP[0],
)
