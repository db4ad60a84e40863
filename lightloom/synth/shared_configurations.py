"""The choice of consecutive pieces of traffic that share a configuration."""

from __future__ import annotations

import functools
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class SharedConfiguration(Protocol):
    """Pieces that are served on circuits which stay throughout."""

    @property
    def duration_ps(self) -> int:
        """How long they take, a reconfiguration before them left out."""


SharedT = TypeVar("SharedT", bound=SharedConfiguration)


def best_configurations(
    count: int,
    serve: Callable[[int, int], SharedT | None],
    reconfiguration_ps: int,
    least_ps: Sequence[int] = (),
) -> list[SharedT]:
    """Return the configurations that serve pieces 0 to `count` - 1 in the least time.

    `count`: number of pieces, 1 or more. `serve`: returns the configuration of pieces
    ``first .. last`` (inclusive), ``None`` where they find no circuits together, and
    then no more of them do. One piece always does. `reconfiguration_ps`: paid between
    configurations; among equals the fewest are taken, the last of them as long as can
    be. `least_ps`: what each piece takes at least, on any circuits; by default nothing
    is known. The more, the fewer calls of `serve`: what cannot be part of the best is
    left out.

    A dynamic program with at most ``count (count + 1) / 2`` calls of `serve`.
    """
    before_ps = [0, *accumulate(least_ps or [0] * count)]
    served = functools.lru_cache(maxsize=None)(serve)
    whole = served(0, count - 1)
    most_ps = None if whole is None else whole.duration_ps
    best: list[tuple[int, list[SharedT]] | None] = [(-reconfiguration_ps, [])]
    start = 0  # no more pieces before this one are served with the last
    for last in range(count):
        after_ps = before_ps[-1] - before_ps[last + 1]
        after_ps += reconfiguration_ps if last < count - 1 else 0
        found: tuple[int, int, int, list[SharedT]] | None = None
        farthest = start
        for first in (start, *range(last, start, -1)):
            so_far = best[first]
            if so_far is None:
                continue
            time_ps = so_far[0] + reconfiguration_ps
            least = time_ps + before_ps[last + 1] - before_ps[first]
            if found is not None and least > found[0]:
                continue
            if most_ps is not None and least + after_ps > most_ps:
                continue
            one = served(first, last)
            if one is not None:
                rank = (time_ps + one.duration_ps, len(so_far[1]), first)
                if found is None or rank < found[:3]:
                    found = (*rank, [*so_far[1], one])
                continue
            if whole is None:
                start = max(start, first + 1)
            if first > farthest:
                break
        best.append(None if found is None else (found[0], found[3]))
    assert best[-1] is not None
    return best[-1][1]
