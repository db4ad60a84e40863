"""Steps round a ring by which two circuits lead wherever a demand has to go."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import numpy.typing as npt

    from lightloom.instances.fabrics.ring import Ring


def relay_steps(ring: Ring, apart: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Yield sets of steps of which one, or two together, lead as far as is asked.

    A circuit from every node so many steps on, and back where light runs both ways,
    takes as many wavelengths of each span as it has steps. First comes a set that takes
    few: to the least steps with their multiples, one is added and another left out as
    long as that takes fewer. Then as many more as the wavelengths hold, near ones
    first.

    `apart`: how far bytes have to go in direction 0, each from 1 to ``nodes - 1``.
    """
    far = min(ring.reach, ring.nodes // 2 if ring.directions > 1 else ring.nodes - 1)
    found: set[int] | None = None
    for near in range(1, far + 1):
        step = 2 * near + 1 if ring.directions > 1 else near + 1
        start = {*range(1, near + 1), *range(step, far + 1, step)}
        if _covers(ring, start, apart):
            small = _thinned(ring, start, apart, far)
            if found is None or sum(small) < sum(found):
                found = small
    if found is None:
        return
    yield tuple(sorted(found))
    more = set(found)
    for step in range(1, far + 1):
        if step not in more and sum(more) + step <= ring.wavelengths:
            more.add(step)
    if more != found:
        yield tuple(sorted(more))


def joined_by(ring: Ring, steps: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Return which nodes circuits of steps join, shape (nodes, nodes)."""
    node = np.arange(ring.nodes)
    joined = np.zeros((ring.nodes, ring.nodes), dtype=np.bool_)
    for step in _both_ways(ring, steps):
        joined[node, (node + step) % ring.nodes] = True
    return joined


def _thinned(ring: Ring, steps: set[int], apart: Collection[int], far: int) -> set[int]:
    """Return steps that lead as far, and sum to less, by single exchanges."""
    changed = True
    while changed:
        changed = False
        for old in sorted(steps, reverse=True):
            others = steps - {old}
            for new in (0, *range(1, old)):
                fewer = (others | {new}) - {0}
                if new <= far and new not in others and _covers(ring, fewer, apart):
                    steps, changed = fewer, True
                    break
            if changed:
                break
    return steps


def _covers(ring: Ring, steps: Collection[int], apart: Collection[int]) -> bool:
    """Tell whether one step or two lead as far as is asked."""
    one = _both_ways(ring, steps)
    two = {(a + b) % ring.nodes for a, b in combinations_with_replacement(one, 2)}
    return two.union(one).issuperset(apart)


def _both_ways(ring: Ring, steps: Collection[int]) -> list[int]:
    back = [-step % ring.nodes for step in steps] if ring.directions > 1 else []
    return sorted({*steps, *back})
