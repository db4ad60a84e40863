"""2D rings: algorithms whose transfers go along a row or a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ring_2d import Ring2d
from lightloom.synth.algorithms import make_algorithm
from lightloom.synth.auto.search import AUTO
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.demand_rounds import EDGE_COLOURING, demand_traffic
from lightloom.synth.fabrics import FabricSynthesiser
from lightloom.synth.rank_mapping import mapped_traffic, reordered
from lightloom.synth.ring_2d.realisation import weave_grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Task
    from lightloom.instances.instance import Instance
    from lightloom.synth.traffic import TrafficRound

Proposal: TypeAlias = tuple[str, dict[str, object]]

_SHAPED = ("levels", "torus-rings")
_RINGS = ("all-gather", "all-reduce", "reduce-scatter")


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[Schedule]:
    """Yield schedules for a collective or a demand on a 2D ring, without footers.

    ``auto`` compares rings along rows and columns (`torus-rings`, where they do the
    task) with direct exchange along rows, then columns (`levels`); with one part, and
    with one that begins with rows and one with columns. Any other algorithm of the
    catalogue will do whose transfers all go along a row or a column; `levels` and
    `torus-rings` get their shape from the nodes if none is given.

    Raises
    ------
    InputError
        An unknown algorithm or parameter, one that does not do the task, or nodes that
        are not all places where some rows and columns meet.
    InfeasibleError
        Transfers between nodes that share no ring, or out of reach of light.
    NoAnswerError
        No wavelengths were found.
    """
    fabric, task = instance.fabric, instance.communication
    assert isinstance(fabric, Ring2d)
    if not isinstance(task, Collective):
        if parameters:
            what = "algorithms for demands take no parameters"
            raise InputError(what, where="parameters", found=sorted(parameters))
        name = EDGE_COLOURING if algorithm == AUTO else algorithm
        ports = fabric.row_wavelengths + fabric.column_wavelengths
        rounds = demand_traffic(name, task, ports, seed)
        yield _woven(fabric, task, rounds, Algorithm(name, {}, seed))
        return
    if algorithm != AUTO:
        yield _schedule(fabric, task, (algorithm, dict(parameters)), seed)
        return
    if parameters:
        what = "auto takes no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    yield from _all_that_light_up(fabric, task, seed)


def _all_that_light_up(
    fabric: Ring2d, task: Collective, seed: int
) -> Iterator[Schedule]:
    """Yield the schedules of all proposals that find circuits; raise if none does."""
    problem: InfeasibleError | NoAnswerError | None = None
    found = False
    for proposal in _proposals(fabric, task):
        try:
            yield _schedule(fabric, task, proposal, seed)
            found = True
        except (InfeasibleError, NoAnswerError) as failed:
            problem = failed
    if not found and problem is not None:
        raise problem


def _proposals(fabric: Ring2d, task: Collective) -> Iterator[Proposal]:
    """Yield algorithms with their parameters, the shape left out."""
    _, shape = _box_of(fabric, task.nodes)
    parts = sorted({1, max(1, sum(size > 1 for size in shape))}, reverse=True)
    for number in parts:
        if task.op in _RINGS:
            for both_ways in range(fabric.directions):
                yield "torus-rings", {"parts": number, "both_ways": both_ways}
        yield "levels", {"parts": number}
        if task.op in ("broadcast", "reduce"):
            yield "levels", {"parts": number, "through_blocks": 1}


def _schedule(
    fabric: Ring2d, task: Collective, proposal: Proposal, seed: int
) -> Schedule:
    name, given = proposal
    order, shape = _box_of(fabric, task.nodes)
    if name in _SHAPED:
        given.setdefault("shape", list(shape))
    made = make_algorithm(name, given, op=task.op)
    granularity = made.granularity(task.rank_count, fabric.ports_per_node)
    chunked = choose_chunks(task, granularity)
    plan = made.plan(reordered(chunked, order), fabric.ports_per_node)
    rounds = mapped_traffic(plan, chunked)
    parameters = cast("dict[str, ParameterValue]", dict(sorted(given.items())))
    return _woven(fabric, chunked, rounds, Algorithm(name, parameters, seed))


def _woven(
    fabric: Ring2d, task: Task, rounds: tuple[TrafficRound, ...], made: Algorithm
) -> Schedule:
    woven = weave_grid(fabric, rounds, made.seed)
    return Schedule(fabric.table(), task, made, woven.segments, woven.parts)


def _box_of(
    fabric: Ring2d, nodes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return nodes row by row, and how many rows and columns they are on.

    Raises
    ------
    InputError
        They are not all places where those rows and columns meet.
    """
    node = np.sort(np.array(nodes, dtype=np.int64))
    rows, cols = (np.unique(fabric.line(node, axis)) for axis in range(2))
    if len(rows) * len(cols) != len(node):
        raise InputError(
            "no algorithm for these nodes: they are no grid of whole rows and columns",
            where="collective.nodes",
            found=f"{len(node)} nodes on {len(rows)} rows and {len(cols)} columns",
            allowed=f"all {len(rows) * len(cols)} nodes where these meet",
        )
    return tuple(node.tolist()), (len(rows), len(cols))


SYNTHESISER = FabricSynthesiser("ring-2d", schedules)
