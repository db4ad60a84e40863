"""Random steps, on circuits that are set up as the steps need them.

Mutable while a schedule is being made; what comes out is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import ALONE
from lightloom.core.columns import column
from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.testing.strategies.candidate_circuits import (
    circuits_of,
    joined_pairs,
    light,
    with_listeners,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.testing.strategies.candidate_circuits import Pair

Place = tuple[int | None, int | None]
"""(plane, segment) of a part of a step."""
Row = tuple[int, ...]
"""A transfer: src, dst, then chunk_lo, chunk_hi and op, or bytes and perhaps ends."""


class RandomSteps:
    """Makes a schedule step by step: asks what may be connected, is told what moves.

    `rng`: decides which pairs are connected, where, and for how many steps.
    `multicast`: whether circuits may have several destinations, on fabrics that have
    such.
    """

    def __init__(
        self, fabric: AnyFabric, rng: random.Random, *, multicast: bool
    ) -> None:
        self._fabric, self._rng, self._multicast = fabric, rng, multicast
        self._shared: dict[Place, list[tuple[Pair, ...]]] = {}
        self._segments: list[Segment] = []
        self._parts: list[StepPart] = []
        self._steps = 0
        self._now: dict[int, int] = {}
        self._held: dict[tuple[int, int], tuple[Pair, ...]] = {}

    def connect(self, preferred: Sequence[Pair]) -> dict[Place, tuple[Pair, ...]]:
        """Return the pairs that the next step may use, by plane and segment.

        The first preferred pair, one of `joined_pairs`, is among them, and some others.
        """
        if not isinstance(self._fabric, CircuitFabric):
            most = self._rng.randint(1, len(preferred))
            return {(None, None): tuple(preferred[:most])}
        planes = self._fabric.plane_count
        chosen = self._rng.sample(range(planes), self._rng.randint(1, planes))
        open_: dict[Place, tuple[Pair, ...]] = {}
        for plane in sorted(chosen):
            for _ in range(self._rng.choice([1, 1, 2])):
                place = self._segment(self._fabric, plane, preferred)
                open_[place] = self._held[place]
        if not any(preferred[0] in pairs for pairs in open_.values()):
            place = self._light(self._fabric, chosen[0], preferred)
            open_[place] = self._held[place]
        return open_

    def _segment(
        self, fabric: CircuitFabric, plane: int, preferred: Sequence[Pair]
    ) -> tuple[int, int]:
        """Return the segment that a plane holds, or the next one."""
        if plane in self._now and self._rng.random() < 0.4:
            return plane, self._now[plane]
        return self._light(fabric, plane, preferred)

    def _light(
        self, fabric: CircuitFabric, plane: int, preferred: Sequence[Pair]
    ) -> tuple[int, int]:
        lit = light(fabric, preferred, self._rng)
        if self._multicast:
            inside = {node for pair in preferred for node in pair}
            lit = with_listeners(fabric, lit, self._rng, inside)
        index = self._now.get(plane, -1) + 1
        self._now[plane] = index
        self._held[plane, index] = tuple(sorted({(p.src, p.dst) for p in lit}))
        groups: dict[int, list[Pair]] = {}
        for path in lit:
            if path.multicast != ALONE:
                groups.setdefault(path.multicast, []).append((path.src, path.dst))
        self._shared[plane, index] = [tuple(group) for group in groups.values()]
        self._segments.append(Segment(plane, index, circuits_of(fabric, lit)))
        return plane, index

    def sending(self, place: Place, pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
        """Return pairs in random order, those that share a circuit together.

        `place`: plane and segment, ``None`` both on packet fabrics. `pairs`: pairs
        (src, dst) that the place connects.
        """
        groups = self._shared.get(place, [])
        shared = {pair for group in groups for pair in group}
        units = [*groups, *((pair,) for pair in pairs if pair not in shared)]
        return self._rng.sample(units, len(units))

    def step(
        self,
        rows: dict[Place, list[Row]],
        columns: Callable[[list[Row]], Transfers | FluidTransfers],
    ) -> None:
        """Add a step of the given transfers; none at all is no step.

        `rows`: plane and segment -> rows of the transfers that they carry. `columns`:
        makes transfers of rows: `chunk_columns` or `fluid_columns`.
        """
        filled = {place: moved for place, moved in rows.items() if moved}
        for (plane, segment), moved in filled.items():
            part = StepPart(self._steps, plane, segment, columns(moved))
            self._parts.append(part)
        self._steps += bool(filled)

    def schedule(self, task: Task, name: str, seed: int) -> Schedule:
        """Return the schedule, without footer."""
        return Schedule(
            self._fabric.table(),
            task,
            Algorithm(name, seed=seed),
            tuple(self._segments),
            tuple(self._parts),
        )

    def preferences(self, first: Pair, nodes: Sequence[int]) -> list[Pair]:
        """Return a pair, then all others between some nodes in random order.

        `first`: the pair (src, dst) that has to be connected.
        """
        inside = set(nodes)
        others = [
            pair
            for pair in joined_pairs(self._fabric)
            if pair != first and inside.issuperset(pair)
        ]
        self._rng.shuffle(others)
        return [first, *others]


def chunk_columns(rows: list[Row]) -> Transfers:
    """Return (src, dst, chunk_lo, chunk_hi, op) rows as columns."""
    return Transfers(*np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy())


def fluid_columns(rows: list[Row]) -> FluidTransfers:
    """Return (src, dst, bytes) rows as columns; some say origin and final node too."""
    return FluidTransfers(*map(column, zip(*rows, strict=True)))
