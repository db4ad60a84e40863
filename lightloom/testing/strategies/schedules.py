"""Strategies for valid schedules: random, and right by the way they are made.

Circuits are set up as the random steps need them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from hypothesis import strategies as st

from lightloom.core.circuit import ALONE
from lightloom.core.columns import column
from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Op,
    Schedule,
    SealedSchedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import op_of
from lightloom.testing.conformance.judge import best_bound
from lightloom.testing.strategies.candidate_circuits import (
    circuits_of,
    joined_pairs,
    light,
    with_listeners,
)
from lightloom.testing.strategies.fabrics import instances
from lightloom.validate.seal import seal

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lightloom.core.task import Task
    from lightloom.instances.collectives import Holdings
    from lightloom.instances.instance import AnyFabric, Instance
    from lightloom.testing.strategies.candidate_circuits import Pair


MOST_PIECES = 3
"""Most pieces that the bytes of a pair are cut into."""

_Held = set[tuple[int, int]]
"""(node, chunk) pairs."""
_Part = tuple[int, int, int]
"""Node, origin and final node of bytes of a demand."""


def schedules(
    kinds: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    *,
    multicast: bool = True,
) -> st.SearchStrategy[SealedSchedule]:
    """Return a strategy for schedules that obey every rule, with true footers.

    They are far from fast, and have what fast ones rarely have: circuits that nobody
    uses, several planes and segments in a step, pairs on several wavelengths, ranks
    told what they never asked for.

    Parameters
    ----------
    kinds
        Kinds of fabric, as in `fabrics`.
    names
        Tasks, as in `tasks`.
    multicast
        Whether circuits may have several destinations, on fabrics that have such.
    """
    drawn = instances(kinds, names, chunks_chosen=True)
    seeds = st.integers(0, 2**32 - 1)
    return st.builds(random_schedule, drawn, seeds, multicast=st.just(multicast))


def random_schedule(
    instance: Instance, seed: int, *, multicast: bool = True
) -> SealedSchedule:
    """Return a random valid schedule of an instance, sealed with a certificate.

    Nodes tell each other what they know until all is done. Values that have to be
    combined are first added up along a random tree. The work is about the cube of
    the ranks; deterministic.

    `instance`: with a task as `tasks` draws them: ranks that reach each other over
    ranks, or pairs one hop apart. A number of chunks that is open is chosen as the
    least.

    Raises `ValueError` if the fabric cannot serve the task by those means.
    """
    rng = seeded_random(seed)
    steps = RandomSteps(instance.fabric, rng, multicast=multicast)
    bound = best_bound(instance.fabric, instance.communication)
    bounds = () if bound is None else (bound,)
    task = instance.communication
    if isinstance(task, Demand):
        _serve(steps, task, set(joined_pairs(instance.fabric)), rng)
        return seal(steps.schedule(task, "random", seed), bounds)
    if task.chunks is None:
        least = task.rank_count if op_of(task).uses_blocks else 1
        task = msgspec.structs.replace(task, chunks=least)
    links = [pair for pair in joined_pairs(instance.fabric) if _inside(task, pair)]
    if op_of(task).reduces:
        hub = task.nodes[task.root_rank] if op_of(task).rooted else None
        hub = rng.choice(task.nodes) if hub is None else hub
        _add_up(steps, task, links, hub, rng)
        held = {(hub, chunk) for chunk in range(task.chunk_count)}
    else:
        held = _cells(task, op_of(task).initial(task))
    _tell(steps, task, links, held, rng)
    return seal(steps.schedule(task, "random", seed), bounds)


def _inside(task: Collective, pair: Pair) -> bool:
    return pair[0] in task.nodes and pair[1] in task.nodes


def _cells(task: Collective, rows: Holdings) -> _Held:
    """Return (node, chunk) of what ranks hold."""
    return {
        (task.nodes[rank], chunk)
        for rank, lo, hi in zip(
            rows.rank.tolist(),
            rows.chunk_lo.tolist(),
            rows.chunk_hi.tolist(),
            strict=True,
        )
        for chunk in range(lo, hi)
    }


def _tell(
    steps: RandomSteps,
    task: Collective,
    links: list[Pair],
    held: _Held,
    rng: random.Random,
) -> None:
    """Copy until everyone has what they want; each step brings that nearer."""
    wanted, copy = _cells(task, op_of(task).final(task)), int(Op.COPY)
    while missing := sorted(wanted - held):
        node, chunk = rng.choice(missing)
        holders = {who for who, what in held if what == chunk}
        first = _next_hop(links, holders, node)
        open_ = steps.connect(steps.preferences(first, task.nodes))
        told: _Held = set()
        rows: dict[Place, list[Row]] = {}
        units = [
            (place, unit)
            for place, pairs in open_.items()
            for unit in steps.sending(place, pairs)
        ]
        units.sort(key=lambda placed: first not in placed[1])
        for place, unit in units:
            said = []
            for what in sorted(what for who, what in held if who == unit[0][0]):
                # One listener is told news alone; several all hear the same.
                heard = len(unit) == 1 and (unit[0][1], what) in held | told
                must = first in unit and what == chunk
                if not heard and (must or _worth(unit, what, wanted - held, rng)):
                    said.append(what)
            for src, dst in unit:
                news = {(dst, what) for what in said}
                if not news & told:
                    told |= news
                    copies = [(src, dst, what, what + 1, copy) for what in said]
                    rows.setdefault(place, []).extend(copies)
        steps.step(rows, chunk_columns)
        held |= told


def _worth(
    unit: tuple[Pair, ...], what: int, missing: _Held, rng: random.Random
) -> bool:
    """Return whether a chunk is said to those who listen; idle talk is rare."""
    asked = any((dst, what) in missing for _, dst in unit)
    return rng.random() < (0.8 if asked else 0.2)


def _next_hop(links: list[Pair], holders: set[int], node: int) -> Pair:
    """Return the first link of a shortest way from any holder to a node."""
    known, layer = {node}, [node]
    while layer:
        into = [pair for pair in links if pair[1] in layer and pair[0] not in known]
        for pair in into:
            if pair[0] in holders:
                return pair
        layer = sorted({src for src, _ in into})
        known.update(layer)
    message = f"no rank that holds the data reaches node {node}"
    raise ValueError(message)


def _add_up(
    steps: RandomSteps,
    task: Collective,
    links: list[Pair],
    hub: int,
    rng: random.Random,
) -> None:
    """Add everything up at the hub, along a random tree that leads to it."""
    parent = _tree(task, links, hub, rng)
    waiting = dict(parent)
    everything = (0, task.chunk_count, int(Op.REDUCE))
    while waiting:
        ready = [pair for pair in waiting.items() if pair[0] not in waiting.values()]
        ready = rng.sample(ready, len(ready))
        open_ = steps.connect(ready)
        rows: dict[Place, list[Row]] = {}
        for place, pairs in open_.items():
            for src, dst in pairs:
                if src in waiting and (src, dst) in ready:
                    del waiting[src]
                    rows.setdefault(place, []).append((src, dst, *everything))
        steps.step(rows, chunk_columns)


def _tree(
    task: Collective, links: list[Pair], hub: int, rng: random.Random
) -> dict[int, int]:
    """Return the parent of every node but the hub."""
    parent: dict[int, int] = {}
    while len(parent) < task.rank_count - 1:
        joined = {hub, *parent}
        into = [pair for pair in links if pair[1] in joined and pair[0] not in joined]
        if not into:
            message = f"not every rank reaches node {hub}"
            raise ValueError(message)
        src, dst = rng.choice(into)
        parent[src] = dst
    return parent


def _serve(
    steps: RandomSteps, task: Demand, links: set[Pair], rng: random.Random
) -> None:
    """Move the bytes of a demand, what a node has of a pair in a few pieces at most.

    Where the demand allows relays, some go over a node with links from and to the ends.
    """
    asked_for = zip(task.src, task.dst, task.bytes, strict=True)
    left = {(src, src, dst): size for src, dst, size in asked_for}
    pieces = dict.fromkeys(left, MOST_PIECES)
    while left:
        preferred = [
            (at, final) for at, _, final in rng.sample(sorted(left), len(left))
        ]
        open_ = steps.connect(list(dict.fromkeys(preferred)))
        rows: dict[Place, list[Row]] = {}
        arrived: Counter[_Part] = Counter()
        for place, lit in open_.items():
            for unit in steps.sending(place, lit):
                asked = list(_may_move(unit, left, links if task.relays else set()))
                if not asked:
                    continue
                pair, part = rng.choice(asked)
                pieces[part] -= 1
                last = not pieces[part] or rng.random() < 0.5
                size = left[part] if last else rng.randint(1, left[part])
                ends = part[1:] if task.relays else ()
                rows.setdefault(place, []).append((*pair, size, *ends))
                left[part] -= size
                if not left[part]:
                    del left[part]
                if pair[1] != part[2]:
                    arrived[pair[1], part[1], part[2]] += size
        for part, size in arrived.items():
            left[part] = left.get(part, 0) + size
            pieces[part] = MOST_PIECES
        steps.step(rows, fluid_columns)


def _may_move(
    unit: tuple[Pair, ...], left: dict[_Part, int], links: set[Pair]
) -> Iterator[tuple[Pair, _Part]]:
    """Yield what pairs that share a circuit may move: to its end, or to a relay."""
    for pair in unit:
        for at, origin, final in sorted(left):
            onward = at == origin and (pair[1], final) in links
            if at == pair[0] and (pair[1] == final or onward):
                yield pair, (at, origin, final)


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
