"""Witnesses for placements: what bounds the makespan, or makes it impossible."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from lightloom.core.errors import InfeasibleError
from lightloom.core.units import format_bytes
from lightloom.validate.certificates.makespan import (
    AFTER,
    BEFORE,
    NOWHERE,
    Case,
    CriticalPath,
    CrowdedOps,
    CrowdsInCases,
    NowhereError,
    RingGraph,
    case_graph,
    check_memory_witness,
    check_placement_witness,
    crowd_ps,
    displacements,
    lags_ps,
    ring_graph,
    room,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.training.placement.operation_graph import WorkloadGraph
    from lightloom.validate.certificates.makespan import Job, PlacementWitness


Lags: TypeAlias = "list[dict[int, int]]"
"""For each operation, what `lags_ps` returns."""
_Ranges: TypeAlias = "dict[int, tuple[int, int]]"
_Near: TypeAlias = "Callable[[int, int], _Ranges]"
"""Returns the displacements near a centre, and within a reach."""


@dataclass(frozen=True)
class _Limits:
    """How far crowds and cases are looked for.

    `small`: operations and edges of a graph that is looked at from every operation, and
    `reach` edges far; in larger ones from the `centres` with most neighbours, 1 edge
    far. `windows`: ranges of devices near a centre, on each side of it. `levels`: tails
    that a crowd is cut at. `case_work`: operations and edges, times the cases in which
    each is looked at; a case costs 0.1 ms for each of them. `bounds`: cases at most,
    however small the graph. `patience`: cases in a row that do not, after
    which to stop.
    """

    small: int = 400
    reach: int = 4
    centres: int = 24
    windows: int = 6
    levels: int = 12
    case_work: int = 20_000
    bounds: int = 600
    patience: int = 150


_LIMITS = _Limits()


@dataclass(frozen=True, eq=False)
class _Open:
    """A case with its bound, what it assumes, and its number once it is divided."""

    number: int
    graph: RingGraph
    lags: tuple[Lags, Lags]
    bound: CaseBound


def best_witness(
    graph: WorkloadGraph, *, enough_ps: int | None = None, cases_percent: int = 100
) -> tuple[int, PlacementWitness]:
    """Return the largest lower bound found on the makespan, with its witness.

    A longest path, or crowds that follow each other. In small graphs the case with
    the least bound is divided, where operations of its crowds run or which of two is
    first, as long as the limits on work allow. The bound is recomputed from the
    witness alone.

    `enough_ps`: no bound above is of use; ``None``: any is.

    About 0.1 ms an operation or edge and case, in small graphs; 20 us in large ones.
    """
    search = _CaseSearch(graph, enough_ps)
    search.run(cases_percent)
    witness = search.witness()
    best: PlacementWitness = CriticalPath(_longest_path(graph))
    bound = check_placement_witness(graph.workload, best)
    if witness.crowds or witness.cases:
        proven_ps = check_placement_witness(graph.workload, witness)
        if proven_ps > bound:
            bound, best = proven_ps, witness
    return bound, best


def worth_cases(graph: WorkloadGraph) -> bool:
    """Return whether a graph is so small that the usual work divides some case."""
    return _LIMITS.case_work // (len(graph.parents) + len(graph.workload.src)) > 2


class _CaseSearch:
    """Cases that are divided, the one with the least bound first."""

    def __init__(self, graph: WorkloadGraph, enough_ps: int | None) -> None:
        workload = graph.workload
        self._enough_ps = enough_ps
        self._size = len(workload.op) + len(workload.src)
        self._reach = _LIMITS.reach if self._size <= _LIMITS.small else 1
        self._centres = _centres(graph)
        self._cases: list[Case] = []
        self._impossible: list[tuple[int, CaseBound]] = []
        self._bounds = 0
        whole = ring_graph(workload)
        lags = lags_of(whole, self._reach)
        self._heap: list[tuple[int, int, _Open]] = []
        self._add(_Open(0, whole, lags, self._bound(whole, lags)))

    def run(self, percent: int) -> None:
        """Divide cases while the work and the bound allow."""
        most = min(_LIMITS.bounds, _LIMITS.case_work // self._size) * percent // 100
        least, raised = -1, 0
        while self._heap and self._bounds < most:
            value, _, case = self._heap[0]
            if value > least:
                least, raised = value, self._bounds
            if self._bounds - raised > _LIMITS.patience:
                return
            parts = None if self._is_enough(value) else self._split(case)
            if parts is None:
                return
            heapq.heappop(self._heap)
            for assumed in parts:
                graph = case_graph(case.graph, assumed)
                lags = case.lags if assumed.reach else lags_of(graph, self._reach)
                self._cases.append(assumed)
                self._add(
                    _Open(len(self._cases), graph, lags, self._bound(graph, lags))
                )

    def witness(self) -> CrowdsInCases:
        """Return what proves the least bound."""
        left = [(case.number, case.bound) for _, _, case in self._heap]
        return CrowdsInCases(
            tuple(
                replace(crowd, case=number)
                for number, bound in sorted(
                    left + self._impossible, key=lambda one: one[0]
                )
                for crowd in bound.crowds
            ),
            tuple(self._cases),
        )

    def _bound(self, graph: RingGraph, lags: tuple[Lags, Lags]) -> CaseBound:
        self._bounds += 1
        return bound_case(graph, lags, self._reach, self._centres)

    def _add(self, case: _Open) -> None:
        if case.bound.bound_ps is None:
            self._impossible.append((case.number, case.bound))
        else:
            heapq.heappush(self._heap, (case.bound.bound_ps, case.number, case))

    def _is_enough(self, bound_ps: int) -> bool:
        return self._enough_ps is not None and bound_ps >= self._enough_ps

    def _split(self, case: _Open) -> tuple[Case, Case] | None:
        """Return the parts of a case, ``None`` if there is nothing to divide it by."""
        critical = sorted(case.bound.critical)
        everyone = range(len(case.graph.parents))
        return self._split_of(case, critical) or self._split_of(case, everyone)

    def _split_of(
        self, case: _Open, operations: Sequence[int]
    ) -> tuple[Case, Case] | None:
        """Return the parts by where two operations are, or which of them is first.

        Rather of two that are both critical, and that last long.
        """
        graph, critical, number = case.graph, case.bound.critical, case.number
        lasts = graph.workload.duration_ps
        above, longest = _ancestors(graph), max(*lasts, 1)
        best: tuple[int, Case, Case] | None = None
        for one in operations:
            close = {entry[0] for entry in graph.near[one]} | critical
            for other, (low, high) in displacements(graph, one, self._reach).items():
                if one == other or other not in close:
                    continue
                if other < one and other in operations:
                    continue  # looked at from the other
                both = one in critical and other in critical
                urgent = 80 * both + 20 * (lasts[one] + lasts[other]) // longest
                if low < high:
                    urgent -= high - low
                    middle = (low + high) // 2
                    near = Case(number, one, other, low, middle, self._reach)
                    far = Case(number, one, other, middle + 1, high, self._reach)
                elif low == 0 and _may_be_ordered(graph, above, one, other):
                    urgent += 40
                    near = Case(number, one, other, 0, 0, 0)
                    far = Case(number, other, one, 0, 0, 0)
                else:
                    continue
                if best is None or urgent > best[0]:
                    best = urgent, near, far
        return best and best[1:]


def _may_be_ordered(
    graph: RingGraph, above: Sequence[int], one: int, other: int
) -> bool:
    """Return whether two operations take time, and no path says which is first."""
    lasts = graph.workload.duration_ps
    related = (above[one] >> other | above[other] >> one) & 1
    return not related and min(lasts[one], lasts[other]) > 0


def _ancestors(graph: RingGraph) -> list[int]:
    """Return the ancestors of each operation as a bit set."""
    above = [0] * len(graph.parents)
    for op in graph.order:
        for parent in graph.parents[op]:
            above[op] |= above[parent] | 1 << parent
    return above


def refuse_unplaceable(graph: WorkloadGraph) -> None:
    """Raise if memory plainly suffices for no placement, naming what does not fit.

    Raises `InfeasibleError`: an operation is larger than a device, or operations that
    the distance keeps together are larger than their devices. What it names is a
    checked witness; not to raise proves nothing.
    """
    workload = graph.workload
    most = workload.device_memory_bytes
    if most is None:
        return
    where, allowed = "workload", f"{format_bytes(most)} a device"
    for op, needed in zip(workload.op, workload.memory_bytes, strict=True):
        if needed > most:
            what = f"operation {op!r} fits no device"
            raise InfeasibleError(
                what, where=where, found=format_bytes(needed), allowed=allowed
            )
    if sum(workload.memory_bytes) <= most:
        return
    for found, devices in _crowds(graph):
        needed = sum(workload.memory_bytes[op] for op in found.ops)
        if needed > most * devices:
            check_memory_witness(workload, found)
            names = ", ".join(repr(workload.op[op]) for op in found.ops[:4])
            more = ", ..." if len(found.ops) > 4 else ""
            holders = "one device" if devices == 1 else f"{devices} devices"
            what = f"operations that {holders} must hold do not fit: "
            raise InfeasibleError(
                what + names + more,
                where=where,
                found=format_bytes(needed),
                allowed=allowed,
            )


def _longest_path(graph: WorkloadGraph) -> tuple[int, ...]:
    """Return the first of the longest paths."""
    lasts, tail = graph.workload.duration_ps, graph.tail_ps
    op = max(range(len(tail)), key=lambda row: (lasts[row] + tail[row], -row))
    path = [op]
    while graph.children[op]:
        op = max(graph.children[op], key=lambda row: (lasts[row] + tail[row], -row))
        path.append(op)
    return tuple(path)


def _crowds(graph: WorkloadGraph) -> Iterator[tuple[CrowdedOps, int]]:
    """Yield sets of operations, all of them first, and how many devices they have."""
    workload = graph.workload
    yield CrowdedOps(tuple(range(len(workload.op)))), workload.devices
    if graph.unlimited:
        return
    near = ring_graph(workload)
    for centre, reaches in _centres(graph).items():
        for reach in reaches:
            ranges = displacements(near, centre, reach)
            for ops, places in crowd_windows(ranges, workload.devices):
                yield CrowdedOps(tuple(ops), centre, reach), places


def _centres(graph: WorkloadGraph) -> dict[int, tuple[int, ...]]:
    """Return operations to look for crowds from, and within which reaches.

    All in small graphs, else those with most neighbours. All that is near only one
    device, where the distance is 0, is so however far.
    """
    ops = len(graph.parents)
    size = ops + len(graph.workload.src)
    if size <= _LIMITS.small:
        return dict.fromkeys(range(ops), (_LIMITS.reach,))
    most = sorted(
        range(ops),
        key=lambda op: (-len(graph.parents[op]) - len(graph.children[op]), op),
    )
    reaches = (1, 2, 3, 4)
    return {
        op: (*reaches, ops) if place < 2 else reaches
        for place, op in enumerate(most[: _LIMITS.centres])
    }


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
            near_enough = [one for one in lags if one in ranges]
            for several in _around(ranges, near_enough):
                places = room(ranges, several, devices)
                if len(several) <= places:
                    continue
                jobs = {one: (head[one], lasts[one], lags[one]) for one in several}
                bound_ps, kept = best_part(jobs, places)
                if bound_ps > head[op]:
                    head[op] = bound_ps
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
    for most in sorted(set(far.values()))[: _LIMITS.windows]:
        yield [op for op in ops if far[op] <= most]


def crowd_windows(
    ranges: Mapping[int, tuple[int, int]], devices: int
) -> Iterator[tuple[list[int], int]]:
    """Yield operations near a centre that have less than all devices, and how many."""
    lows = sorted({min(0, low) for low, _ in ranges.values()}, reverse=True)
    highs = sorted({max(0, high) for _, high in ranges.values()})
    for first in lows[: _LIMITS.windows]:
        for last in highs[: _LIMITS.windows]:
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
    bound_ps, kept = best_part(dict(enumerate(jobs)), devices)
    if bound_ps > best:
        best, crowd = bound_ps, CrowdedOps(kept)
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
                bound_ps, kept = best_part({op: jobs[op] for op in ops}, places)
                if bound_ps > best:
                    best, crowd = bound_ps, CrowdedOps(kept, centre, reach)
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
    levels = levels[:: -(-len(levels) // _LIMITS.levels)]
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
        chosen += [by_time[:count] for count in several[: _LIMITS.levels]]
    values = [crowd_ps([jobs[op] for op in part], devices) for part in chosen]
    place = max(range(len(values)), key=lambda one: (values[one], -one))
    return values[place], tuple(sorted(chosen[place]))
