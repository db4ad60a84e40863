"""Makespan: how long the operations of a workload take on a ring of devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from lightloom.core.errors import InputError
from lightloom.validate.certificates.witness import (
    InapplicableError,
    Objective,
    WitnessError,
    keys,
    require,
    rows,
)

if TYPE_CHECKING:
    from lightloom.core.certificate import Number, Witness
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Workload
    from lightloom.instances.instance import AnyFabric


_PATH, _CROWD = "critical-path", "crowded-operations"


@dataclass(frozen=True)
class PlacementQuestion:
    """Least makespan of a workload on its ring of devices, in picoseconds."""

    workload: Workload

    @property
    def kinds(self) -> tuple[str, ...]:
        """A path, or operations on few devices."""
        return (_PATH, _CROWD)

    def prove(self, kind: str, witness: Witness, bound: Number) -> None:
        """See `lightloom.validate.certificates.witness.Question.prove`."""
        claimed = self._path(witness) if kind == _PATH else self._crowds(witness)
        require(bound, check_placement_witness(self.workload, claimed))

    def _path(self, witness: Witness) -> CriticalPath:
        keys(witness, "operations")
        return CriticalPath(tuple(rows(witness, "operations", 0).tolist()))

    def _crowds(self, witness: Witness) -> CrowdsInCases:
        keys(witness, "cases", "crowds", "operations")
        members: list[list[int]] = [[] for _ in rows(witness, "crowds", 4)]
        for crowd, op in rows(witness, "operations", 2).tolist():
            if not 0 <= crowd < len(members):
                message = f"crowd {crowd} is not among 0 to {len(members) - 1}"
                raise WitnessError(message)
            members[crowd].append(op)
        crowd_rows = rows(witness, "crowds", 4).tolist()
        crowds = tuple(
            CrowdedOps(tuple(ops), None if centre < 0 else centre, reach, case, part)
            for ops, (case, part, centre, reach) in zip(
                members, crowd_rows, strict=True
            )
        )
        cases = rows(witness, "cases", 6).tolist()
        return CrowdsInCases(crowds, tuple(Case(*case) for case in cases))


def placement_witness(witness: PlacementWitness) -> tuple[str, Witness]:
    """Return the kind of a placement's witness, and how a certificate states it."""
    if isinstance(witness, CriticalPath):
        return _PATH, {"operations": [*witness.ops]}
    crowds = [
        [crowd.case, crowd.part, -1 if crowd.centre is None else crowd.centre]
        for crowd in witness.crowds
    ]
    members = enumerate(crowd.ops for crowd in witness.crowds)
    return _CROWD, {
        "cases": [[*astuple(case)] for case in witness.cases],
        "crowds": [
            [*row, crowd.reach]
            for row, crowd in zip(crowds, witness.crowds, strict=True)
        ],
        "operations": [[crowd, op] for crowd, ops in members for op in ops],
    }


def measure(fabric: AnyFabric, schedule: Schedule) -> NoReturn:
    """Raise `InapplicableError`: a placement is no schedule."""
    del fabric, schedule
    message = "the makespan is that of a placement, not of a schedule"
    raise InapplicableError(message)


OBJECTIVE = Objective("makespan", largest=False, measure=measure)


_WHERE_CROWDS, _CASE = "crowded operations", "case of a placement"


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
        raise InputError("no crowd", where=_WHERE_CROWDS)
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
        raise InputError(
            "a crowd of no undivided case", where=_WHERE_CROWDS, found=found
        )
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
            raise InputError("invalid part or reach", where=_WHERE_CROWDS, found=found)
        if crowd.part != NOWHERE:
            _refuse_rows(workload, crowd.ops)
        if crowd.centre is not None:
            _refuse_rows(workload, (crowd.centre,))
        elif crowd.part != ALL:
            raise InputError("a crowd without a centre", where=_WHERE_CROWDS)
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
    range_of_other = places.get(near.other)
    if range_of_other is None or near.reach != far.reach:
        return False
    pair, turned = (near.one, near.other), (far.other, far.one)
    if near.reach:
        whole = near.low <= range_of_other[0] and range_of_other[1] <= far.high
        return whole and pair == turned[::-1] and near.high + 1 == far.low
    lasts = graph.workload.duration_ps
    return (
        range_of_other == (0, 0)
        and pair == turned
        and min(lasts[op] for op in pair) > 0
    )


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
        raise InputError(what, where=_WHERE_CROWDS, found=found) from None
    _refuse_others(workload, crowd, ranges, "too far from the centre")
    return room(ranges, crowd.ops, workload.devices)


def _refuse_others(
    workload: Workload, crowd: CrowdedOps, known: Mapping[int, object], why: str
) -> None:
    """Raise unless all of a crowd are known."""
    for op in crowd.ops:
        if op not in known:
            what = f"an operation {why}"
            raise InputError(what, where=_WHERE_CROWDS, found=workload.op[op])


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


BEFORE, AFTER, ALL, NOWHERE = range(4)
"""What a crowd of a case is for: a head, a tail, the bound, or a contradiction."""


@dataclass(frozen=True)
class CriticalPath:
    """A witness: operations that each need the one before."""

    ops: tuple[int, ...]

    def __str__(self) -> str:
        """Return what takes so long, in words."""
        return f"a path of {len(self.ops)} operations"


@dataclass(frozen=True)
class CrowdedOps:
    """Operations that few devices have to run, or hold.

    `ops`: rows of the workload, all different. `centre`: an operation near all of them;
    ``None`` where any device may run them. `reach`: edges, whichever their direction,
    from the centre to each of them at most. `case`, `part`: in which case, and what
    for: ``BEFORE``: all of them lead to the centre, which starts after they have ended;
    ``AFTER``: the centre leads to all of them; ``ALL``: they bound the makespan;
    ``NOWHERE``: no operation, but one within reach of the centre has no place.
    """

    ops: tuple[int, ...]
    centre: int | None = None
    reach: int = 0
    case: int = 0
    part: int = ALL


@dataclass(frozen=True)
class Case:
    """One of two cases that another is divided into.

    `parent`: number of the case that is divided; 0 is all placements. `low`, `high`:
    devices from the one down the ring to the other, at least and at most. `reach`:
    edges from the one within which it is known where the other can be; 0 if the two
    share a device, and in this case the one comes first.
    """

    parent: int
    one: int
    other: int
    low: int
    high: int
    reach: int


@dataclass(frozen=True)
class CrowdsInCases:
    """A witness: crowds that are one after another, in cases that leave none out.

    `crowds`: of the cases that are not divided, in any order. `cases`: case i + 1 is
    entry i, after the one that it is a part of.
    """

    crowds: tuple[CrowdedOps, ...]
    cases: tuple[Case, ...] = ()

    @property
    def undivided(self) -> tuple[int, ...]:
        """Numbers of the cases that are not divided."""
        divided = {case.parent for case in self.cases}
        return tuple(n for n in range(len(self.cases) + 1) if n not in divided)

    def __str__(self) -> str:
        """Return what is crowded, in words."""
        crowds = [crowd for crowd in self.crowds if crowd.part != NOWHERE]
        if len(crowds) == 1 and crowds[0].centre is None:
            return f"the work of {len(crowds[0].ops)} operations on all devices"
        words = "a crowd" if len(crowds) == 1 else f"{len(crowds)} crowds"
        words += f" of up to {max((len(crowd.ops) for crowd in crowds), default=0)}"
        words += " operations"
        return f"{words} in {len(self.undivided)} cases" if self.cases else words


PlacementWitness: TypeAlias = CriticalPath | CrowdsInCases


Job: TypeAlias = tuple[int, int, int]
"""An operation's head, duration and tail."""

Ranges: TypeAlias = Mapping[int, tuple[int, int]]
"""First and last displacement of operations, by their rows."""


class NowhereError(Exception):
    """An operation has no place: the case that was assumed cannot be."""


@dataclass(frozen=True, eq=False)
class RingGraph:
    """A workload with neighbours at hand, and with what a case assumes.

    `parents`, `children`: whom each operation hears from, and who hears from it.
    `order`: operations, each after its parents. `near`: for each operation: another,
    and how many devices further down the ring that one runs, at least and at most
    (negative: up the ring).
    """

    workload: Workload
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    near: tuple[tuple[tuple[int, int, int], ...], ...]

    @property
    def limited(self) -> bool:
        """Whether the distance keeps some devices from talking to each other."""
        return self.workload.distance < self.workload.devices - 1

    def reversed(self) -> RingGraph:
        """Return the graph with time turned round."""
        order = tuple(reversed(self.order))
        return replace(self, parents=self.children, children=self.parents, order=order)

    def within(self, one: int, other: int, low: int, high: int) -> RingGraph:
        """Return the graph where `other` is `low` to `high` devices after `one`."""
        near = list(self.near)
        near[one] = (*_without(near[one], other), (other, low, high))
        near[other] = (*_without(near[other], one), (one, -high, -low))
        return replace(self, near=tuple(near))

    def ordered(self, one: int, other: int) -> RingGraph:
        """Return the graph where `one` ends before `other` starts.

        Raises `graphlib.CycleError` if `other` leads to `one`.
        """
        parents, children = list(self.parents), list(self.children)
        parents[other] = tuple(sorted({*parents[other], one}))
        children[one] = tuple(sorted({*children[one], other}))
        return replace(
            self,
            parents=tuple(parents),
            children=tuple(children),
            order=_sorted(parents),
        )


def ring_graph(workload: Workload) -> RingGraph:
    """Return the graph of a workload."""
    parents: list[list[int]] = [[] for _ in workload.op]
    children: list[list[int]] = [[] for _ in workload.op]
    near: list[list[tuple[int, int, int]]] = [[] for _ in workload.op]
    far = workload.distance
    for src, dst in sorted(set(zip(workload.src, workload.dst, strict=True))):
        parents[dst].append(src)
        children[src].append(dst)
        near[src].append((dst, 0, far))
        near[dst].append((src, -far, 0))
    return RingGraph(
        workload,
        tuple(tuple(some) for some in parents),
        tuple(tuple(some) for some in children),
        _sorted(parents),
        tuple(tuple(some) for some in near),
    )


def _sorted(parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())


def _without(
    near: tuple[tuple[int, int, int], ...], other: int
) -> tuple[tuple[int, int, int], ...]:
    return tuple(entry for entry in near if entry[0] != other)


def displacements(
    graph: RingGraph, centre: int, reach: int
) -> dict[int, tuple[int, int]]:
    """Return how far down the ring operations can be from a centre.

    In whatever placement, each operation that is returned is some whole number of
    devices within its range down the ring from the centre, modulo the devices.

    *Proof.* Give the centre the place 0. An operation that is first met from another,
    `low` to `high` devices down the ring, gets the place so far from the other's that
    this difference has: it is on its device. Of two operations that have places, the
    difference is `low` to `high` modulo the devices; where their ranges leave no
    multiple of the devices but 0, it is so without the modulo, and narrows both
    ranges. All else that is known is left out.

    Returns of operations within reach: first and last place; fewer places than devices.

    Raises `NowhereError` if an operation has no place left: what the graph assumes is
    impossible.
    """
    devices = graph.workload.devices
    ranges = {centre: (0, 0)}
    frontier = [centre]
    for _ in range(reach):
        fresh: list[int] = []
        for op in frontier:
            low, high = ranges[op]
            for other, first, last in graph.near[op]:
                if other not in ranges and high - low + last - first + 1 < devices:
                    ranges[other] = low + first, high + last
                    fresh.append(other)
        if not fresh:
            break
        _narrow(graph, ranges, fresh)
        frontier = fresh
    return ranges


def _narrow(
    graph: RingGraph, ranges: dict[int, tuple[int, int]], fresh: Sequence[int]
) -> None:
    """Cut ranges by all that is near each other without the modulo."""
    devices = graph.workload.devices
    stack = list(fresh)
    while stack:
        op = stack.pop()
        for other, first, last in graph.near[op]:
            if other not in ranges:
                continue
            (low, high), (least, most) = ranges[op], ranges[other]
            if least - high <= last - devices or most - low >= first + devices:
                continue
            here = max(low, least - last), min(high, most - first)
            there = max(least, low + first), min(most, high + last)
            if here[0] > here[1] or there[0] > there[1]:
                raise NowhereError
            if here != (low, high):
                ranges[op] = here
                stack.append(op)
            if there != (least, most):
                ranges[other] = there
                stack.append(other)


def room(ranges: Ranges, ops: Iterable[int], devices: int) -> int:
    """Return on how many devices operations can be at most, one or more."""
    lows, highs = zip(*(ranges[op] for op in ops), strict=True)
    return int(max(1, min(devices, max(highs) - min(lows) + 1)))


def lags_ps(graph: RingGraph, op: int, reach: int) -> dict[int, int]:
    """Return how long before the start of an operation its ancestors end at least.

    `reach`: edges on a path to it at most.

    Returns of each ancestor within reach: the longest such path, without its two ends.
    """
    lasts = graph.workload.duration_ps
    lags: dict[int, int] = {}
    frontier = {op: 0}
    for _ in range(reach):
        following: dict[int, int] = {}
        for near, lag in frontier.items():
            before = lag + (lasts[near] if near != op else 0)
            for parent in graph.parents[near]:
                if before > lags.get(parent, -1):
                    lags[parent] = following[parent] = before
        frontier = following
    return lags


def crowd_ps(jobs: Sequence[Job], devices: int) -> int:
    r"""Return the time before which not all of a crowd are done, tails included.

    The largest of three bounds on n operations with heads $r$, durations $p$ and tails
    $q$ on at most m devices, of which j = min(m, n) count:

    - the largest $r + p + q$;
    - the sum of the j least heads, of all durations and of the j least tails, over j.
      On each device that runs something, the time holds the head of the first that it
      runs, all of them, and the tail of the last. If one of j devices runs nothing,
      another runs two or more, one of which may as well run there. (Carlier 1987, of
      parallel machines.) An operation that takes no time may run in the midst of
      another: it is first or last only on a device where all take none, and there its
      own head and tail bound the time;
    - the least head and tail, and between them what some device takes at least: it has
      ceil(n / m) operations or more. If n = m + e <= 2 m, either some device has three,
      or e or more have two: then the e pairs take no less than the 2 e shortest would,
      the longest of these paired with the shortest, and so on inwards.

    `devices`: how many may run them, at least one.
    """
    heads, lasts, tails = (sorted(column) for column in zip(*jobs, strict=True))
    count = min(devices, len(lasts))
    work: int = sum(lasts) + sum(heads[:count]) + sum(tails[:count])
    longest = max(head + last + tail for head, last, tail in jobs)
    shared: int = heads[0] + _shared_ps(lasts, devices) + tails[0]
    return max(longest, -(-work // count), shared)


def _shared_ps(lasts: Sequence[int], devices: int) -> int:
    """Return what some device takes at least; durations in ascending order."""
    excess = len(lasts) - devices
    if excess <= 0:
        return lasts[-1]
    if excess > devices:
        return sum(lasts[: -(-len(lasts) // devices)])
    pairs = max(lasts[one] + lasts[2 * excess - 1 - one] for one in range(excess))
    return min(pairs, sum(lasts[:3])) if len(lasts) > 2 else pairs
