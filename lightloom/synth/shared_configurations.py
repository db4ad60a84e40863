"""Turns: which consecutive pieces of traffic share circuits, where each pays light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Turn", "best_turns"]


class Turn(Protocol):
    """Pieces that are served on circuits which stay throughout."""

    @property
    def duration_ps(self) -> int:
        """How long they take, a reconfiguration before them left out."""


TurnT = TypeVar("TurnT", bound=Turn)


def best_turns(
    count: int, serve: Callable[[int, int], TurnT | None], reconfiguration_ps: int
) -> list[TurnT]:
    """Return the turns that serve pieces 0 to `count` - 1 in the least time.

    Parameters
    ----------
    count
        Number of pieces, 1 or more.
    serve
        Returns pieces ``first .. last`` (inclusive) as one turn, ``None`` where they
        find no circuits together, and then no more of them do. One piece always does.
    reconfiguration_ps
        Paid between turns; among equals the fewest turns are taken, the last of them
        as long as can be.

    Notes
    -----
    A dynamic program with at most ``count (count + 1) / 2`` calls of `serve`.
    """
    best: list[tuple[int, list[TurnT]]] = [(-reconfiguration_ps, [])]
    for last in range(count):
        choices: list[tuple[int, int, list[TurnT]]] = []
        for first in range(last, -1, -1):
            one = serve(first, last)
            if one is None:
                break
            before_ps, before = best[first]
            time_ps = before_ps + reconfiguration_ps + one.duration_ps
            choices.append((time_ps, len(before), [*before, one]))
        time_ps, _, turns = min(reversed(choices), key=lambda choice: choice[:2])
        best.append((time_ps, turns))
    return best[-1][1]
