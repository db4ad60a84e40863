"""Placements: what no placement can beat, by a path, or by operations too close."""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.validate.certificates.proofs.crowd_times import (
    NowhereError,
    RingGraph,
    crowd_ps,
    displacements,
    lags_ps,
    ring_graph,
    room,
)
from lightloom.validate.certificates.proofs.placement_witnesses import (
    AFTER,
    ALL,
    BEFORE,
    NOWHERE,
    CriticalPath,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightloom.core.task import Workload
    from lightloom.validate.certificates.proofs.placement_witnesses import (
        Case,
        CrowdedOps,
        PlacementWitness,
    )

_CROWD, _CASE = "crowded operations", "case of a placement"


def check_placement_witness(workload: Workload, witness: PlacementWitness) -> int:
    """Return the makespan in picoseconds that a witness proves nothing can beat.

    - The operations of a path run one after another: the sum of their durations.
    - A crowd near a centre is on as many devices as there are places in the ranges of
      `displacements`, and `crowd_ps` bounds when it is done, from heads and tails:
      times that pass before an operation starts, and after it ends, in any placement.
    - A head is the longest path that leads to an operation, each operation on it no
      earlier than its own head. If all of a crowd lead to its centre, it is also no
      less than the time before which the crowd is not done, where the tail of each of
      the crowd is the longest path from it to the centre. Crowds so follow each other.
      Tails are heads with time turned round.
    - The makespan is at least head, duration and tail of any operation, and the time
      of any crowd on those.
    - A case may be divided in two that leave nothing out: some operation is up to so
      many devices after another, or more; or of two that share a device one comes
      first, or the other. In some case every placement is, so the bound is the least
      of the cases that are not divided; those in which an operation has no place are
      impossible.

    Raises `InputError`: an operation there is not or named twice, an edge there is not,
    one too far from its centre or not before it, cases that leave something out,
    nothing at all.

    Integers alone; O(operations + edges) a crowd at most, and a case.
    """
    if isinstance(witness, CriticalPath):
        return _path_ps(workload, witness)
    if not witness.crowds and not witness.cases:
        raise InputError("no crowd", where=_CROWD)
    graphs: dict[int, RingGraph] = {0: ring_graph(workload)}
    children: dict[int, list[int]] = defaultdict(list)
    for number, case in enumerate(witness.cases, start=1):
        if not 0 <= case.parent < number:
            raise InputError("invalid parent", where=_CASE, found=case.parent)
        _refuse_rows(workload, (case.one, case.other))
        children[case.parent].append(number)
        graphs[number] = case_graph(graphs[case.parent], case)
    for parent, parts in children.items():
        _refuse_gaps(graphs[parent], [witness.cases[part - 1] for part in parts])
    crowds: dict[int, list[CrowdedOps]] = defaultdict(list)
    for crowd in witness.crowds:
        crowds[crowd.case].append(crowd)
    undivided = witness.undivided
    if not set(crowds) <= set(undivided):
        found = sorted(set(crowds) - set(undivided))
        raise InputError("a crowd of no undivided case", where=_CROWD, found=found)
    proven = [_case_ps(graphs[number], crowds[number]) for number in undivided]
    least = min((some for some in proven if some is not None), default=None)
    if least is None:
        raise InputError("all cases are called impossible", where=_CASE)
    return least


def case_graph(graph: RingGraph, case: Case) -> RingGraph:
    """Return what a case makes of the graph of the case that it is a part of.

    Raises `InputError` if it puts an operation before one that leads to it.
    """
    if case.reach:
        return graph.within(case.one, case.other, case.low, case.high)
    try:
        return graph.ordered(case.one, case.other)
    except CycleError:
        found = (case.one, case.other)
        raise InputError("an order against a path", where=_CASE, found=found) from None


def _heads_ps(
    graph: RingGraph, crowds: Mapping[int, Sequence[CrowdedOps]]
) -> list[int]:
    """Return the head of each operation, by paths and by the crowds that lead to it.

    Raises `InputError`: as `check_placement_witness`.
    """
    lasts, head = graph.workload.duration_ps, [0] * len(graph.parents)
    for op in graph.order:
        heads = [head[parent] + lasts[parent] for parent in graph.parents[op]]
        for crowd in crowds.get(op, ()):
            lags = lags_ps(graph, op, crowd.reach)
            _refuse_others(graph.workload, crowd, lags, "not before the centre")
            jobs = [(head[one], lasts[one], lags[one]) for one in crowd.ops]
            heads.append(crowd_ps(jobs, _devices(graph, crowd)))
        head[op] = max(heads, default=0)
    return head


def check_memory_witness(workload: Workload, witness: CrowdedOps) -> tuple[int, int]:
    """Return the bytes a set needs and those it may have, which proves it unplaceable.

    Raises `InputError`: as `check_placement_witness`, and where the memory suffices or
    has no limit.
    """
    _refuse_rows(workload, witness.ops)
    needed = sum(workload.memory_bytes[op] for op in witness.ops)
    most = workload.device_memory_bytes
    if most is None:
        raise InputError("memory has no limit", where="crowded memory")
    allowed = most * _devices(ring_graph(workload), witness)
    if needed <= allowed:
        place = "crowded memory"
        what, more = "the operations fit", f"more than {allowed}"
        raise InputError(what, where=place, found=needed, allowed=more)
    return needed, allowed


def _path_ps(workload: Workload, witness: CriticalPath) -> int:
    """Return how long a path takes, after checking it."""
    _refuse_rows(workload, witness.ops)
    edges = set(zip(workload.src, workload.dst, strict=True))
    for pair in zip(witness.ops, witness.ops[1:], strict=False):
        if pair not in edges:
            raise InputError("unknown edge", where="critical path", found=pair)
    return sum(workload.duration_ps[op] for op in witness.ops)


def _case_ps(graph: RingGraph, crowds: Sequence[CrowdedOps]) -> int | None:
    """Return the bound of a case; ``None`` if nothing can be placed in it."""
    workload = graph.workload
    by_part: list[dict[int, list[CrowdedOps]]] = [defaultdict(list) for _ in range(4)]
    for crowd in crowds:
        if not BEFORE <= crowd.part <= NOWHERE or crowd.reach < 0:
            found = (crowd.part, crowd.reach)
            raise InputError("invalid part or reach", where=_CROWD, found=found)
        if crowd.part != NOWHERE:
            _refuse_rows(workload, crowd.ops)
        if crowd.centre is not None:
            _refuse_rows(workload, (crowd.centre,))
        elif crowd.part != ALL:
            raise InputError("a crowd without a centre", where=_CROWD)
        by_part[crowd.part][-1 if crowd.centre is None else crowd.centre].append(crowd)
    for crowd in (one for some in by_part[NOWHERE].values() for one in some):
        _refuse_places(graph, crowd)
    if by_part[NOWHERE]:
        return None
    head = _heads_ps(graph, by_part[BEFORE])
    tail = _heads_ps(graph.reversed(), by_part[AFTER])
    jobs = list(zip(head, workload.duration_ps, tail, strict=True))
    best = max(sum(job) for job in jobs)
    for crowd in (one for some in by_part[ALL].values() for one in some):
        several = [jobs[op] for op in crowd.ops]
        best = max(best, crowd_ps(several, _devices(graph, crowd)))
    return best


def _refuse_gaps(graph: RingGraph, parts: Sequence[Case]) -> None:
    """Raise unless a case is divided in two that leave nothing out."""
    found = [(part.one, part.other, part.low, part.high) for part in parts]
    if len(parts) != 2 or not _leave_nothing_out(graph, *parts):
        what = "two cases that leave nothing out are asked for"
        raise InputError(what, where=_CASE, found=found)


def _leave_nothing_out(graph: RingGraph, near: Case, far: Case) -> bool:
    """Return whether two cases are all there are: by distance, or by order."""
    try:
        places = displacements(graph, near.one, near.reach or len(graph.near))
    except NowhereError:
        return False
    known = places.get(near.other)
    if known is None or near.reach != far.reach:
        return False
    pair, turned = (near.one, near.other), (far.other, far.one)
    if near.reach:
        whole = near.low <= known[0] and known[1] <= far.high
        return whole and pair == turned[::-1] and near.high + 1 == far.low
    lasts = graph.workload.duration_ps
    return known == (0, 0) and pair == turned and min(lasts[op] for op in pair) > 0


def _refuse_places(graph: RingGraph, crowd: CrowdedOps) -> None:
    """Raise if all operations near a centre have a place."""
    assert crowd.centre is not None
    try:
        displacements(graph, crowd.centre, crowd.reach)
    except NowhereError:
        return
    name = graph.workload.op[crowd.centre]
    raise InputError("operations that have places", where=_CASE, found=name)


def _devices(graph: RingGraph, crowd: CrowdedOps) -> int:
    """Return how many devices the operations of a crowd have, after checking it."""
    workload = graph.workload
    if crowd.centre is None:
        return workload.devices
    _refuse_rows(workload, (crowd.centre,))
    try:
        ranges = displacements(graph, crowd.centre, crowd.reach)
    except NowhereError:
        found = workload.op[crowd.centre]
        what = "a crowd where nothing can be placed"
        raise InputError(what, where=_CROWD, found=found) from None
    _refuse_others(workload, crowd, ranges, "too far from the centre")
    return room(ranges, crowd.ops, workload.devices)


def _refuse_others(
    workload: Workload, crowd: CrowdedOps, known: Mapping[int, object], why: str
) -> None:
    """Raise unless all of a crowd are known."""
    for op in crowd.ops:
        if op not in known:
            what = f"an operation {why}"
            raise InputError(what, where=_CROWD, found=workload.op[op])


def _refuse_rows(workload: Workload, ops: Sequence[int]) -> None:
    """Raise unless `ops` are different rows, at least one."""
    where, allowed = "placement witness", f"rows 0 to {len(workload.op) - 1}"
    if not ops or len(set(ops)) != len(ops):
        raise InputError(
            "no operation, or one twice",
            where=where,
            allowed=allowed,
        )
    for op in ops:
        if type(op) is not int or not 0 <= op < len(workload.op):
            raise InputError("unknown operation", where=where, found=op)
