"""The choice of consecutive pieces of traffic that share a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SharedConfiguration", "best_configurations"]


class SharedConfiguration(Protocol):
    """Pieces that are served on circuits which stay throughout."""

    @property
    def duration_ps(self) -> int:
        """How long they take, a reconfiguration before them left out."""


SharedT = TypeVar("SharedT", bound=SharedConfiguration)


def best_configurations(
    count: int, serve: Callable[[int, int], SharedT | None], reconfiguration_ps: int
) -> list[SharedT]:
    """Return the configurations that serve pieces 0 to `count` - 1 in the least time.

    Parameters
    ----------
    count
        Number of pieces, 1 or more.
    serve
        Returns the configuration of pieces ``first .. last`` (inclusive), ``None``
        where they find no circuits together, and then no more of them do. One piece
        always does.
    reconfiguration_ps
        Paid between configurations; among equals the fewest are taken, the last of
        them as long as can be.

    Notes
    -----
    A dynamic program with at most ``count (count + 1) / 2`` calls of `serve`.
    """
    best: list[tuple[int, list[SharedT]]] = [(-reconfiguration_ps, [])]
    for last in range(count):
        choices: list[tuple[int, int, list[SharedT]]] = []
        for first in range(last, -1, -1):
            one = serve(first, last)
            if one is None:
                break
            before_ps, before = best[first]
            time_ps = before_ps + reconfiguration_ps + one.duration_ps
            choices.append((time_ps, len(before), [*before, one]))
        time_ps, _, found = min(reversed(choices), key=lambda choice: choice[:2])
        best.append((time_ps, found))
    return best[-1][1]
