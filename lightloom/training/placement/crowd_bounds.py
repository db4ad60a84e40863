"""Crowds of operations that bound the makespan of a case: heads, tails, and both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lightloom.validate.certificates.makespan import (
    AFTER,
    BEFORE,
    NOWHERE,
    CrowdedOps,
    NowhereError,
    crowd_ps,
    displacements,
    lags_ps,
    room,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.validate.certificates.makespan import Job, RingGraph

Lags: TypeAlias = "list[dict[int, int]]"
"""For each operation, what `lags_ps` returns."""
_Ranges: TypeAlias = "dict[int, tuple[int, int]]"
_Near: TypeAlias = "Callable[[int, int], _Ranges]"
"""Returns the displacements near a centre, and within a reach."""

_LEVELS = 12
_WINDOWS = 6


@dataclass(frozen=True, eq=False)
class CaseBound:
    """What bounds the makespan of a case.

    `bound_ps`: ``None``: nothing can be placed in this case. `crowds`: those that prove
    it, as of case 0. `critical`: operations that the bound is made of: dividing where
    these are may raise it.
    """

    bound_ps: int | None
    crowds: tuple[CrowdedOps, ...]
    critical: frozenset[int]


def lags_of(graph: RingGraph, reach: int) -> tuple[Lags, Lags]:
    """Return the lags of each operation's ancestors, and of its descendants.

    `reach`: edges on a path at most.
    """
    ops, turned = range(len(graph.parents)), graph.reversed()
    return (
        [lags_ps(graph, op, reach) for op in ops],
        [lags_ps(turned, op, reach) for op in ops],
    )


def bound_case(
    graph: RingGraph,
    lags: tuple[Lags, Lags],
    reach: int,
    centres: Mapping[int, Sequence[int]],
) -> CaseBound:
    """Return the best bound of a case that chains of crowds are found to prove.

    `centres`: operations near which a crowd that bounds the makespan is looked for, and
    within which reaches.
    """
    ranges: dict[tuple[int, int], _Ranges] = {}

    def near(centre: int, within: int) -> _Ranges:
        key = centre, within
        if key not in ranges:
            try:
                ranges[key] = displacements(graph, centre, within)
            except NowhereError:
                raise _ImpossibleError(centre, within) from None
        return ranges[key]

    try:
        before = _Heads(graph, lags[0], reach, BEFORE)
        after = _Heads(graph.reversed(), lags[1], reach, AFTER)
        before.run(near)
        after.run(near)
        jobs = list(
            zip(before.head, graph.workload.duration_ps, after.head, strict=True)
        )
        best, crowd = _best_crowd(graph, jobs, centres, near)
    except _ImpossibleError as error:
        nowhere = CrowdedOps((), error.centre, error.reach, part=NOWHERE)
        return CaseBound(None, (nowhere,), frozenset())
    if crowd is None:
        ends = [op for op, job in enumerate(jobs) if sum(job) == best]
        used = ends[:1]
    else:
        ends = used = list(crowd.ops)
    crowds = [*before.used(used), *after.used(used), *([crowd] if crowd else [])]
    near_it = [some.centre for some in crowds if some.centre is not None]
    critical = {*ends, *near_it, *(op for some in crowds for op in some.ops)}
    return CaseBound(best, tuple(crowds), frozenset(critical))


class _ImpossibleError(Exception):
    """Near some centre an operation has no place."""

    def __init__(self, centre: int, reach: int) -> None:
        super().__init__(centre)
        self.centre, self.reach = centre, reach


class _Heads:
    """Heads by paths and by crowds, and which crowd makes which; or tails."""

    def __init__(self, graph: RingGraph, lags: Lags, reach: int, part: int) -> None:
        self._graph, self._lags, self._reach, self._part = graph, lags, reach, part
        self._crowd: dict[int, CrowdedOps] = {}
        self.head = [0] * len(graph.parents)

    def run(self, near: _Near) -> None:
        """Find all heads."""
        graph, head = self._graph, self.head
        lasts, devices = graph.workload.duration_ps, graph.workload.devices
        least = graph.workload.distance + 1 if graph.limited else devices
        for op in graph.order:
            paths = [head[parent] + lasts[parent] for parent in graph.parents[op]]
            head[op] = max(paths, default=0)
            lags = self._lags[op]
            if not lags or (len(lags) <= least and not _tight(graph, op)):
                continue
            ranges = near(op, self._reach)
            known = [one for one in lags if one in ranges]
            for several in _around(ranges, known):
                places = room(ranges, several, devices)
                if len(several) <= places:
                    continue
                jobs = {one: (head[one], lasts[one], lags[one]) for one in several}
                found, kept = best_part(jobs, places)
                if found > head[op]:
                    head[op] = found
                    self._crowd[op] = CrowdedOps(kept, op, self._reach, 0, self._part)

    def used(self, ops: Sequence[int]) -> Iterator[CrowdedOps]:
        """Yield the crowds that the heads of some operations rest on."""
        graph, lasts = self._graph, self._graph.workload.duration_ps
        wanted = set(ops)
        for op in reversed(graph.order):
            if op not in wanted:
                continue
            if op in self._crowd:
                yield self._crowd[op]
                wanted.update(self._crowd[op].ops)
            elif graph.parents[op]:
                ends = [(self.head[one] + lasts[one], one) for one in graph.parents[op]]
                wanted.add(max(ends)[1])


def _tight(graph: RingGraph, op: int) -> bool:
    """Return whether a case says more of where an operation is than its edges do."""
    far = graph.workload.distance
    return any(high - low < far for _, low, high in graph.near[op])


def _around(ranges: _Ranges, ops: Sequence[int]) -> Iterator[list[int]]:
    """Yield operations up to some displacement, for each one that there is."""
    far = {op: max(abs(end) for end in ranges[op]) for op in ops}
    for most in sorted(set(far.values()))[:_WINDOWS]:
        yield [op for op in ops if far[op] <= most]


def crowd_windows(
    ranges: Mapping[int, tuple[int, int]], devices: int
) -> Iterator[tuple[list[int], int]]:
    """Yield operations near a centre that have less than all devices, and how many."""
    lows = sorted({min(0, low) for low, _ in ranges.values()}, reverse=True)
    highs = sorted({max(0, high) for _, high in ranges.values()})
    for first in lows[:_WINDOWS]:
        for last in highs[:_WINDOWS]:
            places = last - first + 1
            if places >= devices:
                break
            ops = [
                op
                for op, (low, high) in ranges.items()
                if first <= low and high <= last
            ]
            if len(ops) > places:
                yield ops, places


def _best_crowd(
    graph: RingGraph,
    jobs: Sequence[Job],
    centres: Mapping[int, Sequence[int]],
    near: _Near,
) -> tuple[int, CrowdedOps | None]:
    """Return the best bound of a single operation or crowd, and the crowd."""
    devices = graph.workload.devices
    best, crowd = max(sum(job) for job in jobs), None
    found, kept = best_part(dict(enumerate(jobs)), devices)
    if found > best:
        best, crowd = found, CrowdedOps(kept)
    if not graph.limited:
        return best, crowd
    seen: dict[frozenset[int], int] = {}
    for centre, reaches in centres.items():
        for reach in reaches:
            ranges = near(centre, reach)
            for ops, places in crowd_windows(ranges, devices):
                if seen.setdefault(frozenset(ops), devices) <= places:
                    continue
                seen[frozenset(ops)] = places
                found, kept = best_part({op: jobs[op] for op in ops}, places)
                if found > best:
                    best, crowd = found, CrowdedOps(kept, centre, reach)
    return best, crowd


def best_part(jobs: Mapping[int, Job], devices: int) -> tuple[int, tuple[int, ...]]:
    """Return the best bound of some of a crowd, and of whom.

    `jobs`: head, duration and tail of each operation.

    Returns bound_ps, operations -1 and nothing where there is a device for each.
    """
    if len(jobs) <= devices:
        return -1, ()
    by_head = sorted(jobs, key=lambda op: (-jobs[op][0], op))
    levels = sorted({job[2] for job in jobs.values()})
    levels = levels[:: -(-len(levels) // _LEVELS)]
    best, cut = -1, (0, 0)
    for level in levels:
        work = count = 0
        heads = [0]
        for op in by_head:
            head, last, tail = jobs[op]
            if tail < level:
                continue
            count += 1
            work += last
            heads.append(heads[-1] + head)
            if count > devices:
                least = heads[count] - heads[count - devices] + work
                value = -(-least // devices) + level
                if value > best:
                    best, cut = value, (level, count)
    kept = [op for op in by_head if jobs[op][2] >= cut[0]][: cut[1]]
    chosen = [kept] if kept else []
    by_time = sorted(jobs, key=lambda op: (-jobs[op][1], op))
    if devices > 1:  # else the sum of durations says it
        several = range(devices + 1, min(len(jobs), 2 * devices + 1) + 1)
        chosen += [by_time[:count] for count in several[:_LEVELS]]
    values = [crowd_ps([jobs[op] for op in part], devices) for part in chosen]
    place = max(range(len(values)), key=lambda one: (values[one], -one))
    return values[place], tuple(sorted(chosen[place]))
