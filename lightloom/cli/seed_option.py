"""``--seed``: the seed of everything random in a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from lightloom.core.seed import MOST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable

CommandT = TypeVar("CommandT", bound="Callable[..., object]")


def seed_option(what: str) -> Callable[[CommandT], CommandT]:
    """Return the option ``--seed`` of a command, 0 by default."""
    return click.option(
        "--seed",
        type=click.IntRange(0, MOST_SEED),
        default=0,
        show_default=True,
        help=what,
    )
