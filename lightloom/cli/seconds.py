"""Seconds as an option: more than none, and no more than timers take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click import Context, Parameter

MOST = 10**8
"""Three years."""


class Seconds(click.FloatRange):
    """Seconds for a limit; "not a number" is none."""

    def __init__(self, *, zero: bool) -> None:
        super().__init__(0, MOST, min_open=not zero)

    def convert(
        self,
        value: Any,  # noqa: ANN401  (click's own signature)
        param: Parameter | None,
        ctx: Context | None,
    ) -> float:
        """Return the number of seconds.

        Raises `click.BadParameter` if it is no number, or out of range.
        """
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid number", param, ctx)
        return seconds
