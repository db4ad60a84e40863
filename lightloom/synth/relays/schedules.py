"""Schedules in which bytes of a demand take one circuit or two, on any fabric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import NearCircuits
from lightloom.core.schedule import Algorithm, Schedule, Segment, StepPart
from lightloom.core.task import Demand
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_rounds import RELAYS
from lightloom.synth.realisation import Realisation
from lightloom.synth.relays.relay_moves import RelayMoves, named_parts
from lightloom.synth.relays.two_rounds import TwoRounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from lightloom.core.schedule import ParameterValue
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.fabrics.realiser import Realiser

_MOST_BYTES = 2**62
_MOST_NODES = 1024
"""Of a fabric, whose pairs are looked at one by one."""
_MOST_PAIRS = 2**12
"""Pairs of a round up to which all algorithms for demands are tried on it."""


def relayed_schedules(
    realiser: Realiser[Any],
    demand: Demand,
    serve: Callable[[Demand], Schedule],
    limit_ps: float = math.inf,
) -> Iterator[Schedule]:
    """Yield schedules of a demand whose bytes may take one circuit or two.

    `demand`: bytes of each pair; it allows relays.

    Returns without footer; none where nothing is relayed or no circuits are found.
    Deterministic.
    """
    if not demand.src:
        yield _schedule(realiser, demand, Realisation((), ()), {})
    if not demand.src or sum(demand.bytes) >= _MOST_BYTES:
        return
    for made, told in realiser.relayed(demand, limit_ps):
        yield _schedule(realiser, demand, made, told)
    if realiser.fabric.node_count <= _MOST_NODES:
        for made in _in_two_rounds(realiser, demand, serve, limit_ps):
            yield _schedule(realiser, demand, made, {})


def _in_two_rounds(
    realiser: Realiser[Any],
    demand: Demand,
    serve: Callable[[Demand], Schedule],
    limit_ps: float,
) -> Iterator[Realisation]:
    """Yield a demand in few rounds, as a linear program divides it."""
    ways = _two_rounds(realiser, demand)
    fabric = realiser.fabric
    if fabric.initial_configuration_charged:
        limit_ps -= fabric.reconfiguration_ps
    for every in [True] if ways.straight.all() else [False, True]:
        for piped in (False, True):
            moves = ways.moves(
                every=every, piped=piped, round_ps=fabric.alpha_ps, limit_ps=limit_ps
            )
            if moves is None:
                continue
            made = [realiser.relay(moves)]
            if not piped:
                made.append(realiser.relay(moves, together=False))
            if every and not piped:  # what takes longest, for the larger choice
                made.append(_one_after_the_other(moves, serve))
            for one in made:
                if one is not None:
                    yield one


def require_two_circuits(realiser: Realiser[Any], demand: Demand) -> None:
    """Raise if two circuits do not lead from end to end of some pair.

    `demand`: bytes of each pair; it allows relays.

    Raises `InfeasibleError`: naming the first such pair.
    """
    fabric = realiser.fabric
    if fabric.node_count > _MOST_NODES or not isinstance(fabric, NearCircuits):
        return
    for row in _two_rounds(realiser, demand).out_of_reach()[:1].tolist():
        src, dst = demand.src[row], demand.dst[row]
        raise InfeasibleError(
            "no two circuits lead from end to end, and bytes of a demand take two at"
            " most",
            where=f"demand, row {row}",
            found=f"{src} -> {dst}",
            fix="send over a node in between in two demands, one after the other, or"
            " state the task as a collective",
        )


def _schedule(
    realiser: Realiser[Any],
    demand: Demand,
    made: Realisation,
    told: dict[str, ParameterValue],
) -> Schedule:
    """Return the schedule of segments and steps that serve a demand over relays."""
    algorithm = Algorithm(RELAYS, {**realiser.parameters, **told}, realiser.seed)
    table = realiser.fabric.table()
    return Schedule(table, demand, algorithm, made.segments, made.parts)


def _two_rounds(realiser: Realiser[Any], demand: Demand) -> TwoRounds:
    columns = demand_columns(demand, realiser.fabric.node_count)
    return TwoRounds(columns, _joined(realiser.fabric), realiser.lines)


def _joined(fabric: AnyFabric) -> npt.NDArray[np.bool_]:
    """Return between which nodes there may be circuits, shape (nodes, nodes)."""
    count = fabric.node_count
    joined = ~np.eye(count, dtype=np.bool_)
    if isinstance(fabric, NearCircuits):
        src, dst = np.nonzero(joined)
        joined[src, dst] = fabric.circuits_apart(src, dst) == 1
    return joined


def _one_after_the_other(
    moves: RelayMoves, serve: Callable[[Demand], Schedule]
) -> Realisation | None:
    """Return moves whose rounds are served as a demand each, one after the other.

    A plane begins a round with the circuits that it holds, if they are the first.
    """
    segments: list[Segment] = []
    parts: list[StepPart] = []
    held: dict[int, Segment] = {}
    for one in moves.rounds:
        src, dst, size_bytes = (column.tolist() for column in one.pairs())
        if len(src) > _MOST_PAIRS:
            return None
        try:
            made = serve(Demand(tuple(src), tuple(dst), tuple(size_bytes)))
        except (InfeasibleError, NoAnswerError):
            return None
        first = parts[-1].index + 1 if parts else 0
        offset = dict.fromkeys({one.plane for one in made.segments}, 0)
        for plane in offset:
            if plane in held:
                offset[plane] = held[plane].index + 1
        for segment in made.segments:
            plane = segment.plane
            circuits = segment.circuits
            if (
                not segment.index
                and plane in held
                and circuits.same_as(held[plane].circuits)
            ):
                offset[plane] -= 1
                continue
            held[plane] = Segment(
                plane, offset[plane] + segment.index, segment.circuits
            )
            segments.append(held[plane])
        shifted = [
            StepPart(
                first + part.index,
                part.plane,
                offset[part.plane] + part.segment,
                part.transfers,
            )
            for part in made.parts
            if part.plane is not None and part.segment is not None
        ]
        parts += named_parts(shifted, one)
    segments.sort(key=lambda one: (one.plane, one.index))
    return Realisation(tuple(segments), tuple(parts))
