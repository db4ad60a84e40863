"""The search for a placement of operations: list placements, then local search."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError, NoAnswerError
from lightloom.core.seed import seeded_random
from lightloom.training.placement.list_placement import (
    DeadEndError,
    Listed,
    ListRule,
    Urgency,
    WorkLimit,
    depth_first_placement,
    list_placement,
)
from lightloom.training.placement.local_search import LocalSearch
from lightloom.training.placement.makespan_bounds import (
    best_witness,
    refuse_unplaceable,
    worth_cases,
)
from lightloom.training.placement.operation_graph import op_graph, timed
from lightloom.training.placement.sipml_algorithm_1 import algorithm_one
from lightloom.validate.placement import check_placement

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from lightloom.core.placement import Placement
    from lightloom.core.task import Workload
    from lightloom.training.placement.operation_graph import WorkloadGraph
    from lightloom.validate.certificates.makespan import (
        PlacementWitness,
    )


@dataclass(frozen=True)
class _Limits:
    """How much work a search does.

    `small`: operations of a graph that gets all rules and moves; a larger one has no
    second try with every window heeded. `lists`, `large_lists`: operations placed,
    devices compared and edges followed by all rules together, in small and in large
    graphs. `first`: the same until a first placement is there. `packing`: where memory
    is short. `moves`: operations and edges that moves go through. `runs`, `most_moves`:
    of these no more, however small the graph. `fewest_moves`: with fewer none is worth
    its start. `starts`: placements that moves begin with. `wider`: windows heeded where
    rules came to dead ends, in distances.
    """

    small: int = 2000
    lists: int = 2_500_000
    large_lists: int = 3_200_000
    first: int = 12_000_000
    packing: int = 20_000_000
    moves: int = 12_000_000
    runs: int = 400
    most_moves: int = 80_000
    fewest_moves: int = 500
    starts: int = 18
    wider: int = 8


_LIMITS = _Limits()


@dataclass(frozen=True, eq=False)
class PlacementPlan:
    """A placement with its proof.

    `placement`: it keeps to every rule of `lightloom.validate.placement`. `bound_ps`:
    no placement has a makespan below. `method`: what made it, in words.
    """

    placement: Placement
    bound_ps: int
    witness: PlacementWitness
    method: str


@dataclass(frozen=True)
class _Start:
    makespan_ps: int
    listed: Listed
    method: str


def place_operations(
    workload: Workload, *, seed: int, effort_percent: int = 100
) -> PlacementPlan:
    """Return a placement of a workload with a makespan as small as we can.

    Operations are placed by several rules, and by SiP-ML's Algorithm 1; the best of
    these placements are improved by moves, unless a bound proves the first of them
    optimal. Limited by work, not by seconds: large workloads get fewer rules and no
    moves. With the usual effort the bound is raised by cases where the answer is above.

    Raises `InputError` if the workload, see `op_graph`, or the effort makes no sense;
    `InfeasibleError` if its memory plainly fits no placement; `NoAnswerError` if no
    placement was found that fits the memory.

    About 20 us an operation and run, for up to 400 runs.
    """
    if not 0 <= effort_percent <= 100:
        place, allowed = "effort_percent", "0 to 100"
        what, found = "invalid share of the usual work", effort_percent
        raise InputError(what, where=place, found=found, allowed=allowed)
    graph = op_graph(workload)
    refuse_unplaceable(graph)
    bound, witness = best_witness(graph, cases_percent=0)
    rng = seeded_random(seed)
    starts = _starts(graph, bound, rng, effort_percent)
    best = _improved(graph, starts, bound, rng, effort_percent)
    placement = timed(graph, best.listed.device, best.listed.order)
    for violation in check_placement(placement):
        raise AssertionError(violation)
    makespan = placement.makespan_ps
    if bound < makespan and effort_percent == 100 and worth_cases(graph):
        bound, witness = best_witness(graph, enough_ps=makespan)
    return PlacementPlan(placement, bound, witness, best.method)


def _rules(*, large: bool) -> Iterator[ListRule]:
    """Yield rules without end, those that did best first."""
    yield ListRule("ready")
    yield ListRule("sweep", 0, "first")
    yield ListRule("tail", 50)
    yield ListRule("row", 50, "first")
    if large:
        yield ListRule("ready", 0, "idle")
    both: tuple[Urgency, ...] = ("ready", "tail")
    for room, urgency in itertools.product((50, 33, 67, 0, 100), both):
        yield ListRule(urgency, room, "first")
        yield ListRule(urgency, room)
    yield ListRule("tail", band=True)
    for noise, room in itertools.cycle(
        itertools.product((20, 40, 10), (0, 50, 33, 67, 25, 75, 100))
    ):
        yield ListRule("tail", room, noise_percent=noise)
        yield ListRule("ready", room, "first", noise_percent=noise)
        yield ListRule("tail", room, "first", noise_percent=noise)


def _starts(
    graph: WorkloadGraph, bound: int, rng: random.Random, effort_percent: int
) -> list[_Start]:
    """Return the best placements of the rules, best first."""
    starts: list[_Start] = []
    large = len(graph.order) > _LIMITS.small
    most = _LIMITS.large_lists if large else _LIMITS.lists
    used, share = 0, most * effort_percent // 100
    more = (_LIMITS.first - most) * effort_percent // 100 if large else 0
    for number, rule in enumerate(itertools.islice(_rules(large=large), _LIMITS.runs)):
        allowed = most - used + (0 if starts else more)
        limit = WorkLimit(allowed)
        listed = _listed(graph, rule, rng, limit)
        used += allowed - limit.left
        if listed is not None:
            makespan = timed(graph, listed.device, listed.order).makespan_ps
            name = f"{rule.urgency}, {rule.choice}, room {rule.room_percent} %"
            start = _Start(makespan, listed, f"list placement ({name})")
            if makespan <= bound:
                return [start]
            starts.append(start)
        if number == 1:
            starts.extend(_algorithm_one_start(graph))
        if used >= share:
            break
    if not starts:
        starts = _careful(graph, rng)
    starts.extend(_depth_first_start(graph))
    different = {tuple(start.listed.device): start for start in reversed(starts)}
    best = sorted(different.values(), key=lambda start: start.makespan_ps)
    return best[: _LIMITS.starts]


def _listed(
    graph: WorkloadGraph, rule: ListRule, rng: random.Random, limit: WorkLimit
) -> Listed | None:
    """Return a list placement, all windows heeded if need be, or ``None``."""
    for heeded in (rule.heeded, None):
        try:
            return list_placement(graph, replace(rule, heeded=heeded), rng, limit)
        except DeadEndError:
            if len(graph.order) > _LIMITS.small:
                break
    return None


def _algorithm_one_start(graph: WorkloadGraph) -> list[_Start]:
    """Return the answer of Algorithm 1, unless its repair did not end."""
    try:
        answer = algorithm_one(graph)
    except NoAnswerError:
        return []
    if answer.chained:
        return []
    placement = answer.placement
    listed = Listed(placement.device.tolist(), list(graph.order))
    return [_Start(placement.makespan_ps, listed, "SiP-ML Algorithm 1")]


def _depth_first_start(graph: WorkloadGraph) -> list[_Start]:
    """Return equal parts of a depth-first order, if they fit the memory."""
    listed = depth_first_placement(graph)
    placement = timed(graph, listed.device, listed.order)
    if any(check_placement(placement)):
        return []
    return [_Start(placement.makespan_ps, listed, "parts of a depth-first order")]


def _careful(graph: WorkloadGraph, rng: random.Random) -> list[_Start]:
    """Return placements with wider windows heeded; if none fits, any that does."""
    starts: list[_Start] = []
    limit = WorkLimit(_LIMITS.packing)
    for rule in (
        ListRule("ready", heeded=_LIMITS.wider),
        ListRule("ready", 50, "first", heeded=_LIMITS.wider),
        ListRule("ready", 50, "first", heeded=None),
        ListRule("tail", band=True, heeded=None),
    ):
        if starts and rule.heeded is None:
            break
        try:
            listed = list_placement(graph, rule, rng, limit)
        except DeadEndError:
            continue
        makespan = timed(graph, listed.device, listed.order).makespan_ps
        starts.append(_Start(makespan, listed, f"list placement ({rule.urgency})"))
    return starts or _packed(graph, rng)


def _packed(graph: WorkloadGraph, rng: random.Random) -> list[_Start]:
    """Return a placement that fits the memory, whatever its makespan.

    Raises `NoAnswerError` if none was found.
    """
    limit = WorkLimit(_LIMITS.packing)
    urgencies: tuple[Urgency, ...] = ("row", "sweep", "tail")
    for noise, band, room, urgency in itertools.product(
        (0, 20, 40, 60), (False, True), (0, 50, 100), urgencies
    ):
        rule = ListRule(urgency, room, "fill", noise, band, None if band else 3)
        try:
            listed = list_placement(graph, rule, rng, limit)
        except DeadEndError:
            continue
        makespan = timed(graph, listed.device, listed.order).makespan_ps
        return [_Start(makespan, listed, "first device with memory")]
    what = "no placement was found that fits the memory of the devices"
    fix = "give devices more memory, or ask a solver: --solver cp-sat"
    raise NoAnswerError(what, where="workload.device_memory_bytes", fix=fix)


def _improved(
    graph: WorkloadGraph,
    starts: list[_Start],
    bound: int,
    rng: random.Random,
    effort_percent: int,
) -> _Start:
    """Return the best after a search from each start, and on from the best."""
    size = len(graph.parents) + len(graph.workload.src)
    moves = min(_LIMITS.most_moves, _LIMITS.moves // size) * effort_percent // 100
    best = starts[0]
    if best.makespan_ps <= bound or moves < _LIMITS.fewest_moves:
        return best
    # A short search from each start, then on from the best of them.
    searches = []
    for start in starts:
        searches.append(LocalSearch(graph, start.listed, rng, bound))
        searches[-1].run(moves * 3 // (4 * len(starts)))
    search = min(searches, key=lambda search: search.best_ps)
    search.run(moves // 4)
    if search.best_ps >= best.makespan_ps:
        return best
    return _Start(search.best_ps, search.best, f"moves on {best.method}")
