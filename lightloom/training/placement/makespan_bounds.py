"""Witnesses for placements: what bounds the makespan, or makes it impossible."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError
from lightloom.core.units import format_bytes
from lightloom.training.placement.crowd_bounds import (
    CaseBound,
    Lags,
    bound_case,
    crowd_windows,
    lags_of,
)
from lightloom.validate.certificates.makespan import (
    Case,
    CriticalPath,
    CrowdedOps,
    CrowdsInCases,
    RingGraph,
    case_graph,
    check_memory_witness,
    check_placement_witness,
    displacements,
    ring_graph,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.training.placement.operation_graph import WorkloadGraph
    from lightloom.validate.certificates.makespan import (
        PlacementWitness,
    )

_SMALL = 400
"""Operations and edges of a graph that is looked at from every operation."""
_REACH = 4
_CENTRES = 24
_CASE_WORK = 20_000
"""Operations and edges, each times the cases in which it is looked at."""
_MOST_BOUNDS = 600
_PATIENCE = 150
"""Cases in a row that do not raise the least bound, after which to stop."""


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
        found = check_placement_witness(graph.workload, witness)
        if found > bound:
            bound, best = found, witness
    return bound, best


def worth_cases(graph: WorkloadGraph) -> bool:
    """Return whether a graph is so small that the usual work divides some case."""
    return _CASE_WORK // (len(graph.parents) + len(graph.workload.src)) > 2


class _CaseSearch:
    """Cases that are divided, the one with the least bound first."""

    def __init__(self, graph: WorkloadGraph, enough_ps: int | None) -> None:
        workload = graph.workload
        self._enough_ps = enough_ps
        self._size = len(workload.op) + len(workload.src)
        self._reach = _REACH if self._size <= _SMALL else 1
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
        most = min(_MOST_BOUNDS, _CASE_WORK // self._size) * percent // 100
        least, raised = -1, 0
        while self._heap and self._bounds < most:
            value, _, case = self._heap[0]
            if value > least:
                least, raised = value, self._bounds
            if self._bounds - raised > _PATIENCE:
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
    if size <= _SMALL:
        return dict.fromkeys(range(ops), (_REACH,))
    most = sorted(
        range(ops),
        key=lambda op: (-len(graph.parents[op]) - len(graph.children[op]), op),
    )
    reaches = (1, 2, 3, 4)
    return {
        op: (*reaches, ops) if place < 2 else reaches
        for place, op in enumerate(most[:_CENTRES])
    }
